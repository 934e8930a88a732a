//! Receipts: what became of an executed transaction.

use std::collections::BTreeMap;

use crate::{address::Address, amount::Qa, contract::ContractParam, gas::Gas, number::BlockNumber};

/// What became of an executed transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Gas charged for this transaction (not summed over the block, in spite of the name).
    pub cumulative_gas: Gas,
    /// Tx block in which the transaction was executed.
    pub epoch: BlockNumber,
    /// Whether the transaction took effect.
    pub success: bool,
    /// Whether the called contract accepted the money; `None` unless the transaction was a call that was evaluated.
    pub accepted: Option<bool>,
    /// Why the transaction failed, by the number of chained calls attempted before.
    pub errors: BTreeMap<u32, Vec<ReceiptError>>,
    /// What the interpreter reported, from the throw outward.
    pub exceptions: Vec<Exception>,
    /// Events, in the order in which they were emitted.
    pub event_logs: Vec<EventLog>,
    /// Messages, in the order in which they were emitted.
    pub transitions: Vec<Transition>,
}

/// An error that the interpreter reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Line of the source, counted from 1; 0 when unknown.
    pub line: u32,
    /// Text of the report.
    pub message: String,
}

/// An event that a contract emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLog {
    /// The emitting contract.
    pub address: Address,
    /// Name of the event.
    pub name: String,
    /// Parameters, as the interpreter printed them.
    pub params: Vec<ContractParam>,
}

/// A message that a contract emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The emitting contract.
    pub address: Address,
    /// Depth of the emitting run; the contract that the transaction calls runs at depth 0.
    pub depth: u32,
    /// The message.
    pub message: ContractMessage,
    /// Whether the called contract accepted the money; `None` when the message ran no contract.
    pub accepted: Option<bool>,
}

/// The body of a message from a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractMessage {
    /// Money sent along.
    pub amount: Qa,
    /// Account or contract that the message is for.
    pub recipient: Address,
    /// Transition to run; may be empty.
    pub tag: String,
    /// Parameters, as the interpreter printed them.
    pub params: Vec<ContractParam>,
}

/// Why a transaction failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ReceiptError {
    /// The checker rejected the code.
    CheckerFailed = 0,
    /// The deployment run failed.
    RunnerFailed = 1,
    /// An accept or a message lacked the money.
    BalanceTransferFailed = 2,
    /// Not used.
    ExecuteCmdFailed = 3,
    /// The interpreter took longer than allowed.
    ExecuteCmdTimeout = 4,
    /// The interpreter's output lacks the gas that remains.
    NoGasRemainingFound = 5,
    /// The interpreter's output does not say whether the money was accepted.
    NoAcceptedFound = 6,
    /// The called transition failed.
    CallContractFailed = 7,
    /// The deployment run reported errors.
    CreateContractFailed = 8,
    /// The interpreter's output is not JSON.
    JsonOutputCorrupted = 9,
    /// The contract's account vanished.
    ContractNotExist = 10,
    /// Not used.
    StateCorrupted = 11,
    /// An event lacks its name or parameters.
    LogEntryInstallFailed = 12,
    /// A message lacks its tag, amount, parameters or recipient.
    MessageCorrupted = 13,
    /// A message is for the null address.
    ReceiptIsNull = 14,
    /// Too many chained calls.
    MaxEdgesReached = 15,
    /// A chained call to a contract of another shard.
    ChainCallDiffShard = 16,
    /// The input of a chained call could not be prepared.
    PreparationFailed = 17,
    /// Not used.
    NoOutput = 18,
    /// The interpreter's output has neither results nor errors.
    OutputIllegal = 19,
    /// Not used.
    MapDepthMissing = 20,
    /// Too little gas left for the next run.
    GasNotSufficient = 21,
    /// Auxiliary data of the callee is unreadable.
    InternalError = 22,
    /// A chained call to a library.
    LibraryAsRecipient = 23,
    /// The callee has another language version than the caller.
    VersionInconsistent = 24,
    /// Libraries of the callee are missing or do not fit.
    LibraryExtractionFailed = 25,
}
