//! Tests of a node in this process, with requests over HTTP.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that fails says where")]

mod create_transaction;
mod harness;
mod lifecycle;
mod payment;
mod reads;
