//! Wire types, units and envelopes of the Zilliqa protocol, generation 8.1.
#![warn(clippy::arithmetic_side_effects)]

mod account;
mod address;
mod amount;
mod block;
mod bytes;
mod contract;
mod gas;
mod hash;
mod key;
mod number;
mod receipt;
pub mod rpc;
mod transaction;
mod version;

pub use crate::{
    account::{Account, ContractAccount},
    address::{Address, AddressError},
    amount::Qa,
    block::{
        CoSignatures, DsBlock, DsBlockHeader, MbInfo, MicroBlock, MicroBlockHeader, Peer, Reserved, ShardMember,
        SwInfo, SwVersion, TxBlock, TxBlockHeader, Votes,
    },
    bytes::HexError,
    contract::ContractParam,
    gas::{Gas, GasPrice},
    hash::{
        BlockHash, CodeHash, CommitteeHash, MbInfoHash, ReceiptsHash, ShardingHash, StateDeltaHash, StateRoot,
        StorageRoot, TxHash, TxRoot, VariableHash, sha256,
    },
    key::{PublicKey, Signature},
    number::{BlockNumber, DsBlockNumber, Nonce, NumberError, ShardId, Timestamp},
    receipt::{ContractMessage, EventLog, Exception, Receipt, ReceiptError, Transition},
    transaction::{Transaction, TransactionKind},
    version::{ChainId, Version},
};
