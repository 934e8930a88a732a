//! The list of reasons for failure in receipts.

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
    /// The output of the interpreter lacks the flag whether the contract accepted the money.
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

impl ReceiptError {
    /// Every reason; its position is its code.
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

    /// Returns the number that stands in the receipt.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the reason with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
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
