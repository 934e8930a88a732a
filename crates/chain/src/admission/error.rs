//! The errors of admission.
//!
//! The texts of [`AdmissionError`], except the text of [`AdmissionError::State`], are the texts of the reference
//! (Reference: execution#admission-checks), word for word, because clients compare them. Therefore some texts begin
//! with a capital letter.

use silica_crypto::VerifyError;
use silica_protocol::{Address, ChainId, Gas, GasPrice, Nonce, Qa, ShardId, TxHash};
use silica_state::StateError;

/// Reason why admission rejects a transaction.
///
/// The variants, except [`State`](Self::State), are in the order of the checks. Each of these variants cites the row of
/// its check (Reference: execution#admission-checks).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdmissionError {
    /// The chain id of the transaction is not the chain id of this network (Reference: execution#admission-16).
    #[error("CHAIN_ID incorrect")]
    ChainId {
        /// The given chain id.
        got: ChainId,
        /// Chain id of this network.
        expected: ChainId,
    },
    /// The message version is not supported (Reference: execution#admission-17).
    #[error("Transaction version incorrect, Expected:{expected} Actual:{got}")]
    MessageVersion {
        /// The given version.
        got: u16,
        /// The only supported version.
        expected: u16,
    },
    /// The code is too long (Reference: execution#admission-18).
    #[error("Code size is too large")]
    CodeTooLarge {
        /// Length of the code in bytes.
        got: usize,
        /// Maximum in bytes.
        most: u64,
    },
    /// The gas price is below the minimum gas price (Reference: execution#admission-19).
    #[error("GasPrice {got} lower than minimum allowable {minimum}")]
    GasPriceTooLow {
        /// The given gas price.
        got: GasPrice,
        /// Lowest gas price that admission accepts.
        minimum: GasPrice,
    },
    /// The signature is invalid, or the key is not a point of the curve (Reference: execution#admission-20).
    #[error("Unable to verify transaction")]
    Signature(#[source] VerifyError),
    /// The sender is the null account (Reference: execution#admission-21).
    #[error("Invalid address for issuing transactions")]
    NullSender,
    /// The sender has no account (Reference: execution#admission-22).
    #[error("The sender of the txn has no balance")]
    UnknownSender {
        /// Address that no account has.
        sender: Address,
    },
    /// The gas limit is too low for a call (Reference: execution#admission-23). The error text always has the lowest
    /// charge of a call, even if long data require more gas.
    #[error("Gas limit ({got}) lower than minimum for invoking contract ({minimum})")]
    CallGasTooLow {
        /// The given gas limit.
        got: Gas,
        /// Lowest charge of a call.
        minimum: Gas,
    },
    /// The gas limit is too low for a deployment (Reference: execution#admission-24).
    #[error("Gas limit ({got}) lower than minimum for creating contract ({minimum})")]
    DeploymentGasTooLow {
        /// The given gas limit.
        got: Gas,
        /// Lowest gas limit for code and data of this length.
        minimum: Gas,
    },
    /// The gas limit is too low for a payment (Reference: execution#admission-25).
    #[error("Gas limit ({got}) lower than minimum for payment transaction ({minimum})")]
    PaymentGasTooLow {
        /// The given gas limit.
        got: Gas,
        /// Gas of a payment.
        minimum: Gas,
    },
    /// The nonce is used (Reference: execution#admission-26).
    #[error("Nonce ({got}) lower than current ({current})")]
    NonceTooLow {
        /// The given nonce.
        got: Nonce,
        /// Nonce of the account.
        current: Nonce,
    },
    /// The nonce leaves a gap, and the policy accepts only the next nonce (Reference: execution#admission-26a).
    #[error("Expected Nonce: {expected}")]
    NonceGap {
        /// The given nonce.
        got: Nonce,
        /// The only accepted nonce.
        expected: Nonce,
    },
    /// The deposit exceeds 128 bits (Reference: execution#admission-27).
    #[error("tx.GetGasLimit() * tx.GetGasPrice() overflow!")]
    DepositOverflow,
    /// The sum of deposit and amount exceeds 128 bits (Reference: execution#admission-28).
    #[error("tx.GetGasLimit() * tx.GetGasPrice() + tx.GetAmount() overflow!")]
    TotalOverflow,
    /// The balance is below the sum of deposit and amount (Reference: execution#admission-29).
    #[error("Insufficient funds in source account!")]
    InsufficientFunds {
        /// Sum of deposit and amount.
        needed: Qa,
        /// Balance of the sender.
        balance: Qa,
    },
    /// The gas limit is above the gas limit of a micro block (Reference: execution#admission-30).
    #[error("Txn gas limit {got} greater than microblock gas limit{most}")]
    GasLimitTooHigh {
        /// The given gas limit.
        got: Gas,
        /// Gas limit of the micro block of a shard.
        most: Gas,
    },
    /// The recipient of a payment is a contract. A contract accepts money only in a call
    /// (Reference: execution#admission-31).
    #[error("Contract account won't accept normal txn")]
    RecipientIsContract {
        /// Address of the contract.
        recipient: Address,
    },
    /// The chain executes no contracts (Reference: execution#admission-32).
    #[error("Smart contract is disabled")]
    ContractsDisabled,
    /// The called contract does not exist (Reference: execution#admission-33).
    #[error("To addr is null")]
    UnknownContract {
        /// The address in `toAddr` of the call.
        recipient: Address,
    },
    /// The called account is not a contract (Reference: execution#admission-34).
    #[error("Non - contract address called")]
    NotAContract {
        /// The address in `toAddr` of the call.
        recipient: Address,
    },
    /// The gas limit is above the limit of the shard of the sender (Reference: execution#admission-35).
    #[error("txn gas limit exceeding shard maximum limit")]
    ShardGasLimit {
        /// The given gas limit.
        got: Gas,
        /// Gas limit of the micro block of a shard.
        most: Gas,
    },
    /// The gas limit is above the limit of the DS committee (Reference: execution#admission-35).
    #[error("txn gas limit exceeding ds maximum limit")]
    DsGasLimit {
        /// The given gas limit.
        got: Gas,
        /// Gas limit of the micro block of the DS committee.
        most: Gas,
    },
    /// The transaction is neither a payment, nor a deployment, nor a call (Reference: execution#admission-36).
    #[error("Code is empty and To addr is null")]
    NoKind,
    /// A read of the state failed.
    #[error("failed to read state")]
    State(#[from] StateError),
}

/// Reason why a transaction of a block is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTransaction {
    /// The transaction does not pass a check of admission that does not depend on the state.
    #[error("admission rejects the transaction")]
    Form {
        /// Reason why admission rejects the transaction of the block.
        source: Box<AdmissionError>,
    },
    /// The transaction is neither a payment, nor a deployment, nor a call.
    #[error("expected a payment, a deployment or a call, got a transaction of none of these kinds")]
    NoKind,
    /// The transaction does not belong to the committee of its micro block.
    #[error("committee: expected {expected}, got {got}")]
    Committee {
        /// The committee of the transaction.
        expected: ShardId,
        /// The committee of the micro block.
        got: ShardId,
    },
    /// The hash in the micro block is not the hash of the transaction.
    #[error("hash: expected {expected}, got {got}")]
    Hash {
        /// Hash in the micro block.
        expected: TxHash,
        /// Hash of the transaction.
        got: TxHash,
    },
    /// The execution drops the transaction.
    #[error("the execution dropped the transaction with status {status}")]
    Dropped {
        /// Code of the status.
        status: u8,
    },
    /// A lower nonce of the sender is missing.
    #[error("a lower nonce of the sender is missing")]
    NonceGap,
    /// The gas limit is above the remaining gas of the micro block, or the work of the transaction is above the
    /// remaining work of the block.
    #[error("the block has too little gas or work left for the transaction")]
    GasExceeded,
}
