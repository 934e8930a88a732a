//! The errors of admission.
//!
//! The texts are those of the reference (rpc.md 3.3), word for word, because clients know them. Therefore some begin with a
//! capital letter.

use silica_crypto::VerifyError;
use silica_protocol::{Address, ChainId, Gas, GasPrice, Nonce, Qa, ShardId, TxHash};
use silica_state::StateError;

/// Reason why a transaction is refused at the entrance.
///
/// The variants stand in the order of the checks; the numbers are the rows of rpc.md 3.3.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// 16: signed for another network.
    #[error("CHAIN_ID incorrect")]
    ChainId {
        /// Chain id that came.
        got: ChainId,
        /// Chain id of this network.
        expected: ChainId,
    },
    /// 17: a message version of another generation.
    #[error("Transaction version incorrect, Expected:{expected} Actual:{got}")]
    MessageVersion {
        /// Version that came.
        got: u16,
        /// The only version there is.
        expected: u16,
    },
    /// 18: too much code.
    #[error("Code size is too large")]
    CodeTooLarge {
        /// Bytes of code.
        got: usize,
        /// Largest number of bytes.
        most: u64,
    },
    /// 19: the price is below the one in force.
    #[error("GasPrice {got} lower than minimum allowable {minimum}")]
    GasPriceTooLow {
        /// Price offered.
        got: GasPrice,
        /// Price asked.
        minimum: GasPrice,
    },
    /// 20: the signature does not verify, or the key is not a point of the curve.
    #[error("Unable to verify transaction")]
    Signature(#[source] VerifyError),
    /// 21: the null account cannot send.
    #[error("Invalid address for issuing transactions")]
    NullSender,
    /// 22: the sender has no account.
    #[error("The sender of the txn has no balance")]
    UnknownSender {
        /// The sender.
        sender: Address,
    },
    /// 23: too little gas for a call. The text names the constant also where the length of the data asks for more.
    #[error("Gas limit ({got}) lower than minimum for invoking contract ({minimum})")]
    CallGasTooLow {
        /// Gas limit that came.
        got: Gas,
        /// Lowest charge of a call.
        minimum: Gas,
    },
    /// 24: too little gas for a deployment.
    #[error("Gas limit ({got}) lower than minimum for creating contract ({minimum})")]
    DeploymentGasTooLow {
        /// Gas limit that came.
        got: Gas,
        /// Lowest gas limit for code and data of this length.
        minimum: Gas,
    },
    /// 25: too little gas for a payment.
    #[error("Gas limit ({got}) lower than minimum for payment transaction ({minimum})")]
    PaymentGasTooLow {
        /// Gas limit that came.
        got: Gas,
        /// Gas of a payment.
        minimum: Gas,
    },
    /// 26: the nonce is used up.
    #[error("Nonce ({got}) lower than current ({current})")]
    NonceTooLow {
        /// Nonce that came.
        got: Nonce,
        /// Nonce of the account.
        current: Nonce,
    },
    /// After 26, where only the next nonce is accepted: there is a gap.
    #[error("Expected Nonce: {expected}")]
    NonceGap {
        /// Nonce that came.
        got: Nonce,
        /// The only nonce accepted.
        expected: Nonce,
    },
    /// 27: the price of all the gas exceeds 128 bits.
    #[error("tx.GetGasLimit() * tx.GetGasPrice() overflow!")]
    DepositOverflow,
    /// 28: the price of all the gas and the amount together exceed 128 bits.
    #[error("tx.GetGasLimit() * tx.GetGasPrice() + tx.GetAmount() overflow!")]
    TotalOverflow,
    /// 29: the sender cannot pay.
    #[error("Insufficient funds in source account!")]
    InsufficientFunds {
        /// Deposit for gas and amount.
        needed: Qa,
        /// Money of the sender.
        balance: Qa,
    },
    /// 30: no micro block has room for so much gas.
    #[error("Txn gas limit {got} greater than microblock gas limit{most}")]
    GasLimitTooHigh {
        /// Gas limit that came.
        got: Gas,
        /// Gas limit of a shard's micro block.
        most: Gas,
    },
    /// 31: a contract accepts money only in a call.
    #[error("Contract account won't accept normal txn")]
    RecipientIsContract {
        /// The contract.
        recipient: Address,
    },
    /// 32: this chain executes no contracts.
    #[error("Smart contract is disabled")]
    ContractsDisabled,
    /// 33: the called contract does not exist.
    #[error("To addr is null")]
    UnknownContract {
        /// The recipient.
        recipient: Address,
    },
    /// 34: the called account is not a contract.
    #[error("Non - contract address called")]
    NotAContract {
        /// The recipient.
        recipient: Address,
    },
    /// 35: the sender's shard has no room for so much gas.
    #[error("txn gas limit exceeding shard maximum limit")]
    ShardGasLimit {
        /// Gas limit that came.
        got: Gas,
        /// Gas limit of a shard's micro block.
        most: Gas,
    },
    /// 35: the DS committee has no room for so much gas.
    #[error("txn gas limit exceeding ds maximum limit")]
    DsGasLimit {
        /// Gas limit that came.
        got: Gas,
        /// Gas limit of the DS committee's micro block.
        most: Gas,
    },
    /// 36: neither payment nor deployment nor call.
    #[error("Code is empty and To addr is null")]
    NoKind,
    /// The state could not be read.
    #[error("reading state")]
    State(#[from] StateError),
}

/// Reason why a transaction cannot be where it is in a block.
#[derive(Debug, thiserror::Error)]
pub enum InvalidTransaction {
    /// It does not pass the checks of the entrance.
    #[error("not admissible")]
    Form {
        /// What the entrance says.
        source: Box<AdmissionError>,
    },
    /// It is neither payment nor deployment nor call.
    #[error("neither payment nor deployment nor call")]
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
    #[error("nonce is ahead of its turn")]
    NonceGap,
    /// The micro block has too little gas left for its gas limit.
    #[error("gas limit exceeds what is left of the micro block's")]
    GasExceeded,
}
