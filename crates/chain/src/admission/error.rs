//! The errors of admission.
//!
//! The texts are those of the reference (Reference: execution#admission-checks), word for word, because clients know
//! them. Therefore some begin with a capital letter.

use silica_crypto::VerifyError;
use silica_protocol::{Address, ChainId, Gas, GasPrice, Nonce, Qa, ShardId, TxHash};
use silica_state::StateError;

/// Reason why a transaction is refused at the entrance.
///
/// The variants stand in the order of the checks; each names its row (Reference: execution#admission-checks).
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// Signed for another network (Reference: execution#admission-16).
    #[error("CHAIN_ID incorrect")]
    ChainId {
        /// The given chain id.
        got: ChainId,
        /// Chain id of this network.
        expected: ChainId,
    },
    /// A message version of another generation (Reference: execution#admission-17).
    #[error("Transaction version incorrect, Expected:{expected} Actual:{got}")]
    MessageVersion {
        /// The given version.
        got: u16,
        /// The only version there is.
        expected: u16,
    },
    /// Too much code (Reference: execution#admission-18).
    #[error("Code size is too large")]
    CodeTooLarge {
        /// Bytes of code.
        got: usize,
        /// Largest number of bytes.
        most: u64,
    },
    /// The price is below the one in force (Reference: execution#admission-19).
    #[error("GasPrice {got} lower than minimum allowable {minimum}")]
    GasPriceTooLow {
        /// Price offered.
        got: GasPrice,
        /// The minimum gas price.
        minimum: GasPrice,
    },
    /// The signature does not verify, or the key is not a point of the curve (Reference: execution#admission-20).
    #[error("Unable to verify transaction")]
    Signature(#[source] VerifyError),
    /// The null account cannot send (Reference: execution#admission-21).
    #[error("Invalid address for issuing transactions")]
    NullSender,
    /// The sender has no account (Reference: execution#admission-22).
    #[error("The sender of the txn has no balance")]
    UnknownSender {
        /// The sender.
        sender: Address,
    },
    /// Too little gas for a call (Reference: execution#admission-23). The text also has the constant if the length of
    /// the data requires more gas.
    #[error("Gas limit ({got}) lower than minimum for invoking contract ({minimum})")]
    CallGasTooLow {
        /// The given gas limit.
        got: Gas,
        /// Lowest charge of a call.
        minimum: Gas,
    },
    /// Too little gas for a deployment (Reference: execution#admission-24).
    #[error("Gas limit ({got}) lower than minimum for creating contract ({minimum})")]
    DeploymentGasTooLow {
        /// The given gas limit.
        got: Gas,
        /// Lowest gas limit for code and data of this length.
        minimum: Gas,
    },
    /// Too little gas for a payment (Reference: execution#admission-25).
    #[error("Gas limit ({got}) lower than minimum for payment transaction ({minimum})")]
    PaymentGasTooLow {
        /// The given gas limit.
        got: Gas,
        /// Gas of a payment.
        minimum: Gas,
    },
    /// The nonce is used up (Reference: execution#admission-26).
    #[error("Nonce ({got}) lower than current ({current})")]
    NonceTooLow {
        /// The given nonce.
        got: Nonce,
        /// Nonce of the account.
        current: Nonce,
    },
    /// There is a gap, where only the next nonce is accepted (Reference: execution#admission-26a).
    #[error("Expected Nonce: {expected}")]
    NonceGap {
        /// The given nonce.
        got: Nonce,
        /// The only nonce accepted.
        expected: Nonce,
    },
    /// The price of all the gas exceeds 128 bits (Reference: execution#admission-27).
    #[error("tx.GetGasLimit() * tx.GetGasPrice() overflow!")]
    DepositOverflow,
    /// The price of all the gas and the amount together exceed 128 bits (Reference: execution#admission-28).
    #[error("tx.GetGasLimit() * tx.GetGasPrice() + tx.GetAmount() overflow!")]
    TotalOverflow,
    /// The sender cannot pay (Reference: execution#admission-29).
    #[error("Insufficient funds in source account!")]
    InsufficientFunds {
        /// Deposit for gas and amount.
        needed: Qa,
        /// Money of the sender.
        balance: Qa,
    },
    /// No micro block has room for so much gas (Reference: execution#admission-30).
    #[error("Txn gas limit {got} greater than microblock gas limit{most}")]
    GasLimitTooHigh {
        /// The given gas limit.
        got: Gas,
        /// Gas limit of a shard's micro block.
        most: Gas,
    },
    /// A contract accepts money only in a call (Reference: execution#admission-31).
    #[error("Contract account won't accept normal txn")]
    RecipientIsContract {
        /// The contract.
        recipient: Address,
    },
    /// This chain executes no contracts (Reference: execution#admission-32).
    #[error("Smart contract is disabled")]
    ContractsDisabled,
    /// The called contract does not exist (Reference: execution#admission-33).
    #[error("To addr is null")]
    UnknownContract {
        /// The recipient.
        recipient: Address,
    },
    /// The called account is not a contract (Reference: execution#admission-34).
    #[error("Non - contract address called")]
    NotAContract {
        /// The recipient.
        recipient: Address,
    },
    /// The sender's shard has no room for so much gas (Reference: execution#admission-35).
    #[error("txn gas limit exceeding shard maximum limit")]
    ShardGasLimit {
        /// The given gas limit.
        got: Gas,
        /// Gas limit of a shard's micro block.
        most: Gas,
    },
    /// The DS committee has no room for so much gas (Reference: execution#admission-35).
    #[error("txn gas limit exceeding ds maximum limit")]
    DsGasLimit {
        /// The given gas limit.
        got: Gas,
        /// Gas limit of the DS committee's micro block.
        most: Gas,
    },
    /// Neither payment nor deployment nor call (Reference: execution#admission-36).
    #[error("Code is empty and To addr is null")]
    NoKind,
    /// The state could not be read.
    #[error("failed to read state")]
    State(#[from] StateError),
}

/// Reason why a transaction cannot be where it is in a block.
#[derive(Debug, thiserror::Error)]
pub enum InvalidTransaction {
    /// It does not pass the checks of the entrance.
    #[error("not admissible")]
    Form {
        /// The error of admission.
        source: Box<AdmissionError>,
    },
    /// It is neither payment nor deployment nor call.
    #[error("expected a payment, a deployment or a call")]
    NoKind,
    /// It belongs to another committee.
    #[error("committee: expected {expected}, got {got}")]
    Committee {
        /// Where it belongs.
        expected: ShardId,
        /// Where it is.
        got: ShardId,
    },
    /// The micro block names another one in its place.
    #[error("hash: expected {expected}, got {got}")]
    Hash {
        /// Hash in the micro block.
        expected: TxHash,
        /// Hash of the transaction.
        got: TxHash,
    },
    /// It leaves no trace when executed.
    #[error("dropped with status {status}")]
    Dropped {
        /// Number of the status.
        status: u8,
    },
    /// A lower nonce of its sender is missing.
    #[error("the nonce is higher than expected")]
    NonceGap,
    /// The micro block has too little gas left for its gas limit.
    #[error("the gas limit exceeds the remaining gas of the micro block")]
    GasExceeded,
}
