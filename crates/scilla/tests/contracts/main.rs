//! Tests of the example contracts: each transition succeeds and fails.

mod auction;
mod crowdfunding;
mod fungible_token;
mod hello_world;
#[path = "../gas/model/mod.rs"]
mod model;
mod multisig_wallet;
mod non_fungible_token;
mod token_exchange;
mod world;
