//! JSON shapes of requests and answers, and the envelope that carries them.
//!
//! Domain types know no JSON; each shape here is what clients see of one, with its conversion beside it. Modules in
//! reading order: [`envelope`] (request, answer, batch), [`error`] (codes, each named once), [`text`] (how numbers and
//! bytes are spelled) and [`number`] (how they are read), then the resources: [`transaction`], [`receipt`], [`block`],
//! [`account`], [`address_history`], [`contract`], [`network`], [`simulation`], [`trace`], and what is sent unasked:
//! [`subscription`].
//!
//! Members are declared, and so written, in the alphabetical order of their wire names, as the C++ node writes them.
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
pub mod envelope;
pub mod error;
pub mod network;
pub mod number;
pub mod receipt;
pub mod simulation;
pub mod subscription;
pub mod text;
pub mod trace;
pub mod transaction;

#[cfg(test)]
mod tests;
