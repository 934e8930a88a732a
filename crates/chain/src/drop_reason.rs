//! The statuses of dropped transactions, by the numbers of the interface.

/// Why a transaction was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// A sum or product left the range of the formats (`MATH_ERROR`).
    Arithmetic = 10,
    /// Init data, message, contract or libraries cannot be used (`FAIL_SCILLA_LIB`).
    Libraries = 11,
    /// There is no interpreter for the contract's version (`FAIL_CONTRACT_INIT`).
    Preparation = 12,
    /// The sender does not exist or is the null account (`INVALID_FROM_ACCOUNT`).
    InvalidSender = 13,
    /// The gas limit is above that of the micro block (`HIGH_GAS_LIMIT`).
    HighGasLimit = 14,
    /// The transaction is of no kind that is executed (`INCORRECT_TXN_TYPE`).
    IncorrectType = 15,
    /// The code is too large (`HIGH_BYTE_SIZE_CODE`).
    CodeTooLarge = 18,
    /// Signature, chain id or version are wrong (`VERIF_ERROR`).
    Verification = 19,
    /// The gas limit is below the minimum of the transaction's kind (`INSUFFICIENT_GAS_LIMIT`).
    InsufficientGasLimit = 20,
    /// The sender cannot pay (`INSUFFICIENT_BALANCE`).
    InsufficientBalance = 21,
    /// The gas price is below the minimum (`INSUFFICIENT_GAS`).
    InsufficientGas = 22,
    /// Another transaction with this nonce pays more (`MEMPOOL_SAME_NONCE_LOWER_GAS`).
    Outbid = 24,
    /// The recipient cannot receive (`INVALID_TO_ACCOUNT`).
    InvalidRecipient = 25,
    /// Another contract has the address (`FAIL_CONTRACT_ACCOUNT_CREATION`).
    AddressTaken = 26,
    /// The nonce is used up (`NONCE_TOO_LOW`).
    NonceTooLow = 27,
    /// The pool was full, and another transaction was worth more (`ERROR`).
    Evicted = 252,
    /// A developer withdrew it from the pool (`ERROR`).
    Withdrawn = 253,
    /// A fault of ours kept it from being executed (`ERROR`).
    Internal = 254,
    /// The transaction waited longer than the pool keeps any (`ERROR`).
    Expired = 255,
}

impl DropReason {
    /// The number of this status.
    pub const fn code(self) -> u8 {
        // To clients it is the same unspecified error.
        if matches!(self, Self::Evicted | Self::Internal | Self::Withdrawn) { Self::Expired as u8 } else { self as u8 }
    }
}
