//! The error codes of receipts.

use core::fmt;

/// Reason why a transaction failed.
///
/// ```
/// assert_eq!(silica_protocol::ReceiptError::CallContractFailed.to_string(), "the transition failed");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ReceiptError {
    /// The checker rejected the code.
    CheckerFailed = 0,
    /// The deployment run failed.
    RunnerFailed = 1,
    /// A transfer of money failed: the payer has too little money, or the balance of the recipient would exceed 128
    /// bits.
    BalanceTransferFailed = 2,
    /// The reference declares this code, and does not use it.
    ExecuteCmdFailed = 3,
    /// The interpreter exceeded its time limit.
    ExecuteCmdTimeout = 4,
    /// The output of the interpreter does not state the remaining gas.
    NoGasRemainingFound = 5,
    /// The output of the interpreter does not state whether the contract accepted the money.
    NoAcceptedFound = 6,
    /// The called transition failed.
    CallContractFailed = 7,
    /// The deployment run reported errors.
    CreateContractFailed = 8,
    /// In the reference: the output of the interpreter is not JSON. In this node: events and messages are too large, or
    /// nested too deeply, for a receipt.
    JsonOutputCorrupted = 9,
    /// The account of the contract does not exist.
    ContractNotExist = 10,
    /// The reference declares this code, and does not use it.
    StateCorrupted = 11,
    /// An event lacks its name or parameters.
    LogEntryInstallFailed = 12,
    /// A message lacks its tag, amount, parameters or recipient.
    MessageCorrupted = 13,
    /// The recipient of a message is the null address.
    ReceiptIsNull = 14,
    /// The transaction has too many chained calls.
    MaxEdgesReached = 15,
    /// The callee of a chained call belongs to another shard.
    ChainCallDiffShard = 16,
    /// The node could not prepare the input of a chained call.
    PreparationFailed = 17,
    /// The reference declares this code, and does not use it.
    NoOutput = 18,
    /// The output of the interpreter has neither results nor errors.
    OutputIllegal = 19,
    /// The reference declares this code, and does not use it.
    MapDepthMissing = 20,
    /// The remaining gas is too little for the next run. In this node also: the transaction exceeds a work limit.
    GasNotSufficient = 21,
    /// Metadata of the callee are unreadable.
    InternalError = 22,
    /// The callee of a chained call is a library.
    LibraryAsRecipient = 23,
    /// Caller and callee have different versions of Scilla.
    VersionInconsistent = 24,
    /// A library of the callee is missing, or has the wrong version.
    LibraryExtractionFailed = 25,
}

impl ReceiptError {
    /// All error codes. The position of a code is its number.
    pub const ALL: [Self; 26] = [
        Self::CheckerFailed,
        Self::RunnerFailed,
        Self::BalanceTransferFailed,
        Self::ExecuteCmdFailed,
        Self::ExecuteCmdTimeout,
        Self::NoGasRemainingFound,
        Self::NoAcceptedFound,
        Self::CallContractFailed,
        Self::CreateContractFailed,
        Self::JsonOutputCorrupted,
        Self::ContractNotExist,
        Self::StateCorrupted,
        Self::LogEntryInstallFailed,
        Self::MessageCorrupted,
        Self::ReceiptIsNull,
        Self::MaxEdgesReached,
        Self::ChainCallDiffShard,
        Self::PreparationFailed,
        Self::NoOutput,
        Self::OutputIllegal,
        Self::MapDepthMissing,
        Self::GasNotSufficient,
        Self::InternalError,
        Self::LibraryAsRecipient,
        Self::VersionInconsistent,
        Self::LibraryExtractionFailed,
    ];

    /// Returns the number of the code in receipts.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the code with this number, or `None` for a number above 25.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

impl fmt::Display for ReceiptError {
    /// Writes the meaning of the code for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CheckerFailed => "the code is rejected",
            Self::RunnerFailed => "the deployment failed",
            Self::BalanceTransferFailed => {
                "a transfer of money failed: the payer has too little money, or the recipient would exceed 128 bits"
            }
            Self::ExecuteCmdFailed | Self::ExecuteCmdTimeout => "the execution of the contract failed or was stopped",
            Self::CallContractFailed => "the transition failed",
            Self::CreateContractFailed => "the contract was not created",
            Self::ContractNotExist => "the contract does not exist",
            Self::LogEntryInstallFailed => "an event has no name or no parameters",
            Self::MessageCorrupted => "a message lacks a required member",
            Self::ReceiptIsNull => "a message is for the null address",
            Self::MaxEdgesReached => "too many contracts call each other",
            Self::ChainCallDiffShard => "a contract of another shard is called",
            Self::GasNotSufficient => "the gas limit is too low",
            Self::LibraryAsRecipient => "a library is called",
            Self::VersionInconsistent => "a contract of another version is called",
            Self::LibraryExtractionFailed => "libraries are missing",
            Self::NoGasRemainingFound
            | Self::NoAcceptedFound
            | Self::JsonOutputCorrupted
            | Self::StateCorrupted
            | Self::PreparationFailed
            | Self::NoOutput
            | Self::OutputIllegal
            | Self::MapDepthMissing
            | Self::InternalError => "the output of the interpreter was invalid",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_positions() {
        for (position, error) in ReceiptError::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(error.code()), position);
            assert_eq!(ReceiptError::from_code(error.code()), Some(error));
        }
        assert_eq!(ReceiptError::from_code(26), None);
    }
}
