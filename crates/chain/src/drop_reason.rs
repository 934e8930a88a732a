//! The statuses of dropped transactions, with the numbers of the interface (Reference: execution#statuses).

/// Reason why a transaction was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// A sum or product is out of the range of its type (`MATH_ERROR`).
    Arithmetic = 10,
    /// The init data, the message, the contract or a library is invalid or missing (`FAIL_SCILLA_LIB`).
    Libraries = 11,
    /// The Scilla version of the contract is not supported (`FAIL_CONTRACT_INIT`).
    Preparation = 12,
    /// The sender does not exist or is the null account (`INVALID_FROM_ACCOUNT`).
    InvalidSender = 13,
    /// The gas limit is above the gas limit of the micro block (`HIGH_GAS_LIMIT`).
    HighGasLimit = 14,
    /// The chain does not execute transactions of this kind, for example a call on a chain without contracts
    /// (`INCORRECT_TXN_TYPE`).
    IncorrectType = 15,
    /// The code is too large (`HIGH_BYTE_SIZE_CODE`).
    CodeTooLarge = 18,
    /// The signature, the chain id or the version is wrong (`VERIF_ERROR`).
    Verification = 19,
    /// The gas limit is below the minimum for this transaction kind (`INSUFFICIENT_GAS_LIMIT`).
    InsufficientGasLimit = 20,
    /// The balance of the sender is too low (`INSUFFICIENT_BALANCE`).
    InsufficientBalance = 21,
    /// The gas price is below the minimum, or the gas limit is below the charge for starting the checker or the
    /// interpreter (`INSUFFICIENT_GAS`).
    InsufficientGas = 22,
    /// A transaction with the same sender and nonce has a better rank (`MEMPOOL_SAME_NONCE_LOWER_GAS`).
    Outbid = 24,
    /// The recipient of a payment is a contract, or the recipient of a call does not exist (`INVALID_TO_ACCOUNT`).
    InvalidRecipient = 25,
    /// The address of the new contract already has a contract (`FAIL_CONTRACT_ACCOUNT_CREATION`).
    AddressTaken = 26,
    /// The nonce is used (`NONCE_TOO_LOW`).
    NonceTooLow = 27,
    /// The pool was full and evicted the transaction (`ERROR`).
    Evicted = 252,
    /// A developer withdrew the transaction from the pool (`ERROR`).
    Withdrawn = 253,
    /// The node failed to execute the transaction (`ERROR`).
    Internal = 254,
    /// The transaction was pending for longer than the pool permits (`ERROR`).
    Expired = 255,
}

impl DropReason {
    /// Returns the status code that clients get.
    pub const fn code(self) -> u8 {
        // The table of the reference has one code for these reasons: 255, an unspecified error.
        if matches!(self, Self::Evicted | Self::Internal | Self::Withdrawn) { Self::Expired as u8 } else { self as u8 }
    }
}
