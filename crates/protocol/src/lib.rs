//! Wire types, units and envelopes of the Zilliqa protocol, generation 8.1.
#![warn(clippy::arithmetic_side_effects)]

mod address;
mod amount;
mod bytes;
mod gas;
mod hash;
mod key;
mod number;
mod version;

pub use crate::{
    address::{Address, AddressError},
    amount::{AmountError, Qa},
    bytes::HexError,
    gas::{Gas, GasPrice},
    hash::{
        BlockHash, CodeHash, CommitteeHash, MbInfoHash, ReceiptsHash, ShardingHash, StateDeltaHash, StateRoot,
        StorageRoot, TxHash, TxRoot, VariableHash, sha256,
    },
    key::{PublicKey, Signature},
    number::{BlockNumber, DsBlockNumber, Nonce, ShardId, Timestamp},
    version::{ChainId, Version},
};
