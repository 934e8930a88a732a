//! The methods, one file for each family, and the table of all of them.
//!
//! To add a method is to add a struct to the file of its family, and a row to the table. The doc comments of the structs
//! and of their fields are the descriptions of the OpenRPC document.

pub(crate) mod account;
pub(crate) mod contract;
pub(crate) mod developer;
pub(crate) mod ds_block;
pub(crate) mod edit;
pub(crate) mod eth;
pub(crate) mod isolated;
mod list;
pub(crate) mod network;
mod openrpc;
pub(crate) mod simulation;
pub(crate) mod status;
pub(crate) mod status_server;
pub(crate) mod trace;
pub(crate) mod transaction;
pub(crate) mod tx_block;
pub(crate) mod written;

use std::sync::LazyLock;

use silica_protocol::rpc::error::{RpcError, RpcErrorCode};

#[cfg(test)]
pub(crate) use self::openrpc::document;
pub use self::{
    list::{MethodList, MethodListError},
    openrpc::openrpc,
};
use crate::rpc::{Action, Entry, MethodTable, Shape};

/// Every method, in the order of the names.
const METHODS: &[Entry] = &[
    Entry::command::<isolated::CheckPause>().of_weight(10),
    Entry::command::<transaction::CreateTransaction>().of_weight(5),
    Entry::of::<ds_block::DsBlockListing>().of_weight(5),
    Entry::per_head::<eth::EthAccounts>(),
    Entry::per_head::<eth::EthBlockNumber>(),
    Entry::per_head::<eth::EthChainId>(),
    Entry::per_head::<eth::EthGasPrice>(),
    Entry::slow::<eth::EthGetBalance>(),
    Entry::command::<eth::EthGetBlockByHash>().of_weight(20),
    Entry::slow::<eth::EthGetBlockByNumber>().of_weight(10),
    Entry::slow::<eth::EthGetCode>(),
    Entry::about::<eth::EthGetTransactionByHash>(),
    Entry::slow::<eth::EthGetTransactionCount>(),
    Entry::slow::<eth::EthGetTransactionReceipt>(),
    Entry::per_head::<eth::EthSyncing>(),
    Entry::per_head::<status_server::GetAverageBlockTime>(),
    Entry::of::<account::GetBalance>(),
    Entry::per_head::<network::GetBlockchainInfo>(),
    Entry::per_head::<isolated::GetBlocknum>(),
    Entry::of::<contract::GetContractAddressFromTransactionID>(),
    Entry::per_head::<ds_block::GetCurrentDsComm>(),
    Entry::per_head::<ds_block::GetCurrentDsEpoch>(),
    Entry::per_head::<tx_block::GetCurrentMiniEpoch>(),
    Entry::of::<ds_block::GetDsBlock>(),
    Entry::per_head::<ds_block::GetDsBlockRate>(),
    Entry::of::<ds_block::GetDsBlockVerbose>(),
    Entry::per_head::<status_server::GetDsCommittee>(),
    Entry::per_head::<status_server::GetEpochFin>(),
    Entry::per_head::<ds_block::GetLatestDsBlock>(),
    Entry::per_head::<status_server::GetLatestEpochStatesUpdated>(),
    Entry::per_head::<tx_block::GetLatestTxBlock>(),
    Entry::of::<ds_block::GetMinerInfo>(),
    Entry::per_head::<network::GetMinimumGasPrice>(),
    Entry::per_head::<network::GetNetworkId>(),
    Entry::per_head::<network::GetNodeType>(),
    Entry::per_head::<ds_block::GetNumDsBlocks>(),
    Entry::per_head::<network::GetNumPeers>(),
    Entry::per_head::<tx_block::GetNumTransactions>(),
    Entry::per_head::<tx_block::GetNumTxBlocks>(),
    Entry::per_head::<tx_block::GetNumTxnsDsEpoch>(),
    Entry::per_head::<tx_block::GetNumTxnsTxEpoch>(),
    Entry::about::<status::GetPendingTxn>(),
    Entry::of::<status::GetPendingTxns>().of_weight(10),
    Entry::per_head::<ds_block::GetPrevDifficulty>(),
    Entry::per_head::<ds_block::GetPrevDsDifficulty>(),
    Entry::of::<ds_block::GetRawDsBlock>(),
    Entry::of::<tx_block::GetRawTxBlock>(),
    Entry::per_head::<transaction::GetRecentTransactions>(),
    Entry::per_head::<network::GetShardingStructure>(),
    Entry::of::<network::GetShardMembers>(),
    Entry::of::<contract::GetSmartContractCode>(),
    Entry::of::<contract::GetSmartContractInit>(),
    Entry::slow::<contract::GetSmartContracts>().of_weight(5),
    Entry::streamed::<contract::GetSmartContractState>().of_weight(10),
    Entry::streamed::<contract::GetSmartContractSubState>().of_weight(5),
    Entry::about::<transaction::GetSoftConfirmedTransaction>(),
    Entry::slow::<contract::GetStateProof>().of_weight(5),
    Entry::per_head::<network::GetTotalCoinSupply>(),
    Entry::per_head::<network::GetTotalCoinSupplyAsInt>(),
    Entry::about::<transaction::GetTransaction>(),
    Entry::per_head::<tx_block::GetTransactionRate>(),
    Entry::of::<tx_block::GetTransactionsForTxBlock>().of_weight(5),
    Entry::of::<tx_block::GetTransactionsForTxBlockEx>().of_weight(5),
    Entry::about::<status::GetTransactionStatus>(),
    Entry::of::<tx_block::GetTxBlock>(),
    Entry::per_head::<tx_block::GetTxBlockRate>(),
    Entry::of::<tx_block::GetTxBlockVerbose>(),
    Entry::streamed::<tx_block::GetTxnBodiesForTxBlock>().of_weight(20),
    Entry::streamed::<tx_block::GetTxnBodiesForTxBlockEx>().of_weight(20),
    Entry::per_head::<network::GetVersion>(),
    Entry::per_head::<status_server::Healthcheck>(),
    Entry::for_developers::<isolated::IncreaseBlocknum>(),
    Entry::of::<status_server::IsTxnInMemPool>(),
    Entry::per_head::<eth::NetListening>(),
    Entry::per_head::<eth::NetVersion>(),
    Entry::new(openrpc::DISCOVER, Action::Discover, Shape::of::<openrpc::Discover, openrpc::Document>()).of_weight(20),
    Entry::for_developers::<isolated::SetMinimumGasPrice>(),
    Entry::for_developers::<edit::AddBalance>(),
    Entry::for_developers::<developer::DropAllTransactions>(),
    Entry::for_developers::<developer::DropTransaction>(),
    Entry::for_developers::<developer::Dump>(),
    Entry::command::<simulation::EstimateGas>().of_weight(50),
    Entry::slow::<contract::GetContractInterface>().of_weight(10),
    Entry::slow::<contract::GetSmartContractStatePage>().of_weight(5),
    Entry::slow::<transaction::GetTransactionsForAddress>().of_weight(10),
    Entry::for_developers::<developer::IncreaseTime>(),
    Entry::for_developers::<developer::Mine>(),
    Entry::for_developers::<developer::Revert>(),
    Entry::for_developers::<developer::SendTransaction>(),
    Entry::for_developers::<edit::SetBalance>(),
    Entry::for_developers::<developer::SetBlockMode>(),
    Entry::for_developers::<edit::SetContractField>(),
    Entry::for_developers::<developer::SetNextBlockTimestamp>(),
    Entry::for_developers::<edit::SetNonce>(),
    Entry::command::<simulation::SimulateTransaction>().of_weight(20),
    Entry::for_developers::<developer::TakeSnapshot>(),
    Entry::command::<trace::TraceCall>().of_weight(50),
    Entry::command::<trace::TraceTransaction>().of_weight(50),
    Entry::command::<isolated::TogglePause>().of_weight(10),
    Entry::of::<tx_block::TxBlockListing>().of_weight(5),
    Entry::per_head::<eth::Web3ClientVersion>(),
    Entry::of::<eth::Web3Sha3>(),
];

/// Returns the table of all methods.
pub(crate) fn table() -> &'static MethodTable {
    static TABLE: LazyLock<MethodTable> = LazyLock::new(|| MethodTable::new(METHODS, refusal));
    &TABLE
}

/// Returns the error for a method that the reference or Ethereum has, and this node does not have.
fn refusal(name: &str) -> Option<RpcError> {
    if status_server::NOT_ON_LOOKUP.contains(&name) {
        return Some(RpcError::new(RpcErrorCode::INVALID_REQUEST, "Not to be queried on lookup"));
    }
    eth::refusal(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_of_methods_that_are_offered() {
        let nearest = |name: &str| table().similar(name, |_| true);
        assert_eq!(nearest("getbalance"), Some("GetBalance"));
        assert_eq!(nearest("GetBalnce"), Some("GetBalance"));
        assert_eq!(nearest("silica_snapshoot"), Some("silica_snapshot"));
        assert_eq!(nearest("eth_getBlockByNum"), Some("eth_getBlockByNumber"));
        assert_eq!(nearest("CheckPause"), None);
        assert_eq!(nearest("x"), None);
        assert_eq!(nearest(""), None);
        assert_eq!(nearest(&"GetBalance".repeat(7)), None);
        assert_eq!(nearest("GetMinimumGasPrise"), Some("GetMinimumGasPrice"));
        let position = table().find("GetMinimumGasPrice").unwrap().position;
        assert_eq!(table().similar("GetMinimumGasPrise", |row| row != position), Some("SetMinimumGasPrice"));
    }
}
