//! Methods of the status server (Reference: interface#status-server).
//!
//! The reference serves these methods on a separate port. docs/interface.md lists the omitted methods with the reasons.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use silica_chain::TxStatus;
use silica_protocol::{
    BlockNumber, Peer, TxHash,
    rpc::{
        error::{RpcError, RpcErrorCode},
        network::NodeInfo,
        text::Dec,
    },
};

use crate::{
    head::Context,
    rpc::{
        CallError, Entry, HashErrors, Method,
        params::{BareTxHash, Text},
    },
    statistics,
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[
    Entry::per_head::<GetAverageBlockTime>(),
    Entry::per_head::<GetDsCommittee>(),
    Entry::per_head::<GetEpochFin>(),
    Entry::per_head::<GetLatestEpochStatesUpdated>(),
    Entry::per_head::<Healthcheck>(),
    Entry::of::<IsTxnInMemPool>(),
];

/// Methods that the reference rejects on a lookup node (Reference: interface#status-server).
pub(crate) const NOT_ON_LOOKUP: [&str; 3] = ["DisablePoW", "GetNodeState", "SetVoteInPow"];

/// Returns the text `ok`. A response means that the node serves requests.
#[derive(Debug, Deserialize, JsonSchema)]
struct Healthcheck {}

impl Method for Healthcheck {
    const NAME: &'static str = "healthcheck";
    type Output = String;

    fn call(self, _: &Context) -> Result<String, CallError> {
        Ok("ok".to_owned())
    }
}

/// Number of the last completely processed Tx block. On this node it is the latest Tx block.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetEpochFin {}

impl Method for GetEpochFin {
    const NAME: &'static str = "GetEpochFin";
    type Output = Dec<BlockNumber>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        Ok(at.head().into())
    }
}

/// Number of the last Tx block with a durable state. On this node it is the latest Tx block.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetLatestEpochStatesUpdated {}

impl Method for GetLatestEpochStatesUpdated {
    const NAME: &'static str = "GetLatestEpochStatesUpdated";
    type Output = Dec<BlockNumber>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        Ok(at.head().into())
    }
}

/// Average time from one Tx block to the next since Tx block 1, in whole seconds.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetAverageBlockTime {}

impl Method for GetAverageBlockTime {
    const NAME: &'static str = "GetAverageBlockTime";
    type Output = Dec<u64>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        Ok(statistics::average_block_time(&at.snapshot.statistics()).into())
    }
}

/// The members of the DS committee.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetDsCommittee {}

impl Method for GetDsCommittee {
    const NAME: &'static str = "GetDSCommittee";
    type Output = Vec<NodeInfo>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        // The addresses of members are not published.
        let node = |key| NodeInfo { network: format!("<{}>", Peer::default()), key };
        Ok(at.snapshot.ds_committee().into_iter().map(Into::into).map(node).collect())
    }
}

/// Whether a transaction is in the pool, and whether it is pending.
///
/// A transaction in a block is not in the pool.
#[derive(Debug, Deserialize, JsonSchema)]
struct IsTxnInMemPool {
    /// Hash of the transaction.
    hash: Text<BareTxHash>,
}

/// The presence of a transaction in the pool, and its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct PoolPlace {
    /// Status of the transaction, as in the table of `GetTransactionStatus`; 0 for an unknown transaction.
    code: u8,
    /// Whether the transaction is pending.
    pending: bool,
    /// Whether the pool has the transaction, or a record that it was dropped.
    present: bool,
}

/// The errors for a text that is not a hash.
const HASH: HashErrors = HashErrors {
    digit: RpcError::from_static(RpcErrorCode::MISC_ERROR, "Unable to process"),
    size: RpcError::from_static(RpcErrorCode::INVALID_PARAMETER, "Txn Hash size not appropriate"),
};

impl Method for IsTxnInMemPool {
    const NAME: &'static str = "IsTxnInMemPool";
    type Output = PoolPlace;

    fn call(self, at: &Context) -> Result<PoolPlace, CallError> {
        let BareTxHash(hash): BareTxHash = self.hash.get().map_err(|fault| HASH.of(fault))?;
        place(at, &hash)
    }
}

fn place(at: &Context, hash: &TxHash) -> Result<PoolPlace, CallError> {
    let status = at.snapshot.status(hash)?.map(|found| found.status);
    let place = |code, pending| PoolPlace { code, pending, present: true };
    Ok(match status {
        None | Some(TxStatus::Confirmed) => PoolPlace { code: 0, pending: false, present: false },
        Some(status @ (TxStatus::Dispatched | TxStatus::NonceHigh | TxStatus::GasExceeded)) => {
            place(status.code(), true)
        }
        Some(TxStatus::Dropped(reason)) => place(reason.code(), false),
    })
}
