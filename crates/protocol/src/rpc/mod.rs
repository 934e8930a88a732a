//! JSON forms of requests and responses, and the envelope around them.
//!
//! The domain types do not have the JSON of JSON-RPC, except [`Transaction`](crate::Transaction). Most types of this
//! module are the JSON form of a domain type, together with the conversion. The modules, in reading order:
//!
//! - [`envelope`] (request, response, batch), [`error`] (error codes), [`text`] (JSON forms of numbers and bytes) and
//!   [`number`] (the rules for numbers in requests). `plain` reads the most common bodies fast;
//! - the resources: [`transaction`], [`receipt`], [`block`], [`account`], [`address_history`], [`contract`],
//!   [`contract_state`], [`list`], [`network`], [`simulation`], [`trace`];
//! - the cursors of lists: [`cursor`]; notifications: [`subscription`].
//!
//! Members are declared in the alphabetical order of their wire names. The C++ node writes them in this order.
//!
//! # Examples
//!
//! ```
//! use silica_protocol::{
//!     Gas, BlockNumber, Receipt,
//!     rpc::{envelope::{Id, write_result}, receipt::ReceiptJson},
//! };
//! let receipt = Receipt::payment(Gas::new(50), BlockNumber::new(7));
//! let mut answer = Vec::new();
//! write_result(&mut answer, &Id::from(1), &ReceiptJson::from(receipt))?;
//! let expected = r#"{"id":1,"jsonrpc":"2.0","result":{"cumulative_gas":"50","epoch_num":"7","success":true}}"#;
//! assert_eq!(String::from_utf8(answer)?, expected);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod account;
pub mod address_history;
pub mod block;
pub mod contract;
pub mod contract_state;
pub mod cursor;
pub mod envelope;
pub mod error;
pub mod list;
pub mod network;
pub mod number;
mod plain;
pub mod receipt;
pub mod simulation;
pub mod subscription;
pub mod text;
pub mod trace;
pub mod transaction;

#[cfg(test)]
mod tests;
