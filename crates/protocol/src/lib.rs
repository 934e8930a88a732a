//! Wire types, units and envelopes of the Zilliqa protocol, generation 8.1.
#![warn(clippy::arithmetic_side_effects)]

mod account;
mod address;
mod amount;
#[cfg(test)]
mod arbitrary;
mod block;
mod bytes;
mod contract;
mod error;
mod gas;
mod hash;
mod key;
mod number;
mod proto;
mod receipt;
pub mod rpc;
mod state_delta;
mod styled_json;
mod transaction;
mod version;

pub use crate::{
    account::{Account, ContractAccount},
    address::{Address, AddressError},
    amount::Qa,
    block::{
        CoSignatures, DsBlock, DsBlockHeader, MbInfo, MicroBlock, MicroBlockHeader, Peer, Reserved, ShardMember,
        SwInfo, SwVersion, TxBlock, TxBlockHeader, Votes, pack_bits,
    },
    bytes::HexError,
    contract::{ContractParam, InitData, InitDataError, StorageKey},
    error::DecodeError,
    gas::{Gas, GasPrice},
    hash::{
        BlockHash, CodeHash, CommitteeHash, MbInfoHash, ReceiptsHash, ShardingHash, StateDeltaHash, StateRoot,
        StorageRoot, TxHash, TxRoot, VariableHash, sha256,
    },
    key::{PublicKey, Signature},
    number::{BlockNumber, DsBlockNumber, Nonce, NumberError, ShardId, Timestamp},
    receipt::{ContractMessage, EventLog, Exception, Receipt, ReceiptError, ReceiptTextError, Transition},
    state_delta::{AccountDelta, BalanceChange, DeployedContract, StateDelta},
    styled_json::to_styled_json,
    transaction::{Transaction, TransactionKind},
    version::{ChainId, Version},
};
