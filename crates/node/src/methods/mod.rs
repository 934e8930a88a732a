//! The methods, one file per family.
//!
//! The doc comments of the structs and of their fields are what the OpenRPC document tells callers.

pub(crate) mod account;
pub(crate) mod contract;
pub(crate) mod developer;
pub(crate) mod ds_block;
pub(crate) mod edit;
pub(crate) mod eth;
pub(crate) mod isolated;
pub(crate) mod network;
pub(crate) mod simulation;
pub(crate) mod status;
pub(crate) mod status_server;
pub(crate) mod trace;
pub(crate) mod transaction;
pub(crate) mod tx_block;
pub(crate) mod written;
