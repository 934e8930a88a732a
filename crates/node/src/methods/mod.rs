//! The methods, one file for each family, and the table of all methods.
//!
//! The file of a family has the parameter structs of its methods, the errors that only these methods return, and their
//! rows in `ENTRIES`. The doc comments of the structs and of their fields are the descriptions in the OpenRPC document.
//! `CONTRIBUTING.md` lists the steps to add a method.

mod account;
mod blocks;
mod chain_list;
mod contract;
mod developer;
mod developer_list;
mod ds_block;
mod edit;
pub(crate) mod eth;
mod event;
#[cfg(test)]
mod example;
#[cfg(test)]
mod guide;
mod interface;
mod isolated;
mod list;
mod network;
mod openrpc;
mod search;
mod simulation;
mod status;
mod status_server;
mod trace;
mod transaction;
pub(crate) mod transfer;
pub(crate) mod tx_block;
mod written;

use std::sync::LazyLock;

use silica_protocol::rpc::error::{RpcError, RpcErrorCode};

#[cfg(test)]
pub(crate) use self::openrpc::document;
pub use self::{
    list::{MethodList, MethodListError},
    openrpc::openrpc,
};
use crate::rpc::{Entry, MethodTable};

/// Rows of the method table, one list for each family.
const FAMILIES: &[&[Entry]] = &[
    account::ENTRIES,
    blocks::ENTRIES,
    chain_list::ENTRIES,
    contract::ENTRIES,
    developer::ENTRIES,
    developer_list::ENTRIES,
    ds_block::ENTRIES,
    edit::ENTRIES,
    eth::ENTRIES,
    eth::LOG_ENTRIES,
    event::ENTRIES,
    interface::ENTRIES,
    isolated::ENTRIES,
    network::ENTRIES,
    openrpc::ENTRIES,
    search::ENTRIES,
    simulation::ENTRIES,
    status::ENTRIES,
    status_server::ENTRIES,
    trace::ENTRIES,
    transaction::ENTRIES,
    transfer::ENTRIES,
    tx_block::ENTRIES,
];

/// Returns the table of all methods.
pub(crate) fn table() -> &'static MethodTable {
    static TABLE: LazyLock<MethodTable> = LazyLock::new(|| MethodTable::new(FAMILIES.concat(), refusal));
    &TABLE
}

/// Returns the error for a method that exists in the reference or in Ethereum but not in this node. Returns `None` for
/// every other name.
fn refusal(name: &str) -> Option<RpcError> {
    if status_server::NOT_ON_LOOKUP.contains(&name) {
        return Some(RpcError::new(RpcErrorCode::INVALID_REQUEST, "Not to be queried on lookup"));
    }
    eth::refusal(name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_in_order() {
        let entries = table().entries();
        let names: Vec<_> = entries.iter().flat_map(Entry::names).collect();
        let unique: HashSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len(), "{names:?}");
        let order: Vec<_> = entries.iter().map(|entry| entry.name.to_lowercase()).collect();
        assert!(order.is_sorted(), "{order:?}");
    }

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
