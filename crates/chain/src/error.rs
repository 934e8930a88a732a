//! What can go wrong, one type for each operation that fails in its own way.
//!
//! Texts that clients know are word for word those of the reference (rpc.md 3.3); their spelling is part of the
//! interface, which is why some begin with a capital letter.

use silica_crypto::{CoSignatureError, SignError, VerifyError};
use silica_protocol::{
    Address, BlockNumber, ChainId, DsBlockNumber, Gas, GasPrice, Nonce, PublicKey, Qa, Receipt, ShardId, TxHash,
};
use silica_scilla::{
    json::{JsonError, ValueError},
    rules::{Rules as ScillaRules, UnknownRules},
};
use silica_state::{ArchiveError, HistoryError, StateError};

use crate::drop_reason::DropReason;

/// Reason why a chain cannot run with some parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// There are no virtual shards, or too many.
    #[error("shards: expected 1 to {most}, got {got}")]
    Shards {
        /// Number that came.
        got: u32,
        /// Largest number.
        most: u32,
    },
    /// A DS epoch has no room for a block beside the vacuous one.
    #[error("blocks per DS epoch: expected at least 2, got {got}")]
    BlocksPerDsEpoch {
        /// Number that came.
        got: u64,
    },
    /// A micro block has no room for a payment.
    #[error("{name} gas limit: expected at least {least}, got {got}")]
    GasLimit {
        /// Whose limit.
        name: &'static str,
        /// Limit that came.
        got: Gas,
        /// Gas of a payment.
        least: Gas,
    },
    /// The gas limits of all micro blocks together exceed 64 bits.
    #[error("gas limits: the sum over all shards exceeds 64 bits")]
    GasLimitSum,
    /// A rule of execution is set to what this implementation does not carry out.
    #[error("rules: only the profile of generation 8.1 is carried out")]
    Rules,
}

/// Reason why a text does not hold the accounts of a genesis.
#[derive(Debug, thiserror::Error)]
pub enum GenesisError {
    /// The text is not a JSON object. What it is instead stays unsaid: it may be a secret key.
    #[error("accounts: expected an object of accounts by address, at line {line}, column {column}")]
    Json {
        /// Where the reader stopped.
        line: usize,
        /// Where in the line.
        column: usize,
    },
    /// A key is not an address.
    #[error("accounts: expected an address of 40 hexadecimal digits as key, got {got:?}")]
    Address {
        /// The key.
        got: String,
    },
    /// A member of an account is missing or of another kind.
    #[error("account {address}: {member}: expected {expected}, got {got}")]
    Member {
        /// Whose member.
        address: Address,
        /// Which one.
        member: &'static str,
        /// What it has to be.
        expected: &'static str,
        /// Of what kind it is; its content stays unsaid.
        got: &'static str,
    },
    /// An amount is not a number of Qa.
    #[error("account {address}: amount")]
    Amount {
        /// Whose amount.
        address: Address,
        /// What is wrong with it.
        source: silica_protocol::NumberError,
    },
    /// The money of all accounts exceeds 128 bits.
    #[error("accounts: the sum of all amounts exceeds 2^128 - 1 Qa")]
    Supply,
}

impl GenesisError {
    pub(crate) fn json(error: &serde_json::Error) -> Self {
        Self::Json { line: error.line(), column: error.column() }
    }
}

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

/// Reason why a simulated transaction would not get into a block, or why there is no gas limit for it.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// It would be refused at the entrance.
    #[error(transparent)]
    Refused(#[from] AdmissionError),
    /// It would be dropped when it is executed.
    #[error("Error Code: {}, {why}", .reason.code())]
    Dropped {
        /// Why, in the way that clients know.
        reason: DropReason,
        /// Why, in words that name the member at fault.
        why: String,
    },
    /// It would fail with every gas limit that was tried.
    #[error("the transaction fails with a gas limit of {limit}: {}", failure(.receipt))]
    Fails {
        /// The highest gas limit.
        limit: Gas,
        /// What became of it with that.
        receipt: Box<Receipt>,
    },
    /// The state could not be read.
    #[error("reading state")]
    State(#[from] StateError),
}

/// What a receipt says of a failure.
fn failure(receipt: &Receipt) -> String {
    let codes = receipt.errors.values().flatten().map(|error| format!("error {}", error.code()));
    let exceptions =
        receipt.exceptions.iter().map(|exception| format!("line {}: {}", exception.line, exception.message));
    codes.chain(exceptions).collect::<Vec<_>>().join("; ")
}

/// Reason why an admitted transaction does not enter the pool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// 37: it is in the pool already.
    #[error("Txn could not be added as database exceeded limit or the txn was already present")]
    Known {
        /// The transaction.
        hash: TxHash,
    },
    /// 37: the pool is full, and the transaction is better than none in it.
    #[error("Txn could not be added as database exceeded limit or the txn was already present")]
    Full {
        /// Transactions that the pool holds at most.
        limit: usize,
    },
    /// 37: the pool holds as many transactions of this sender as it takes from one.
    #[error("Txn could not be added as database exceeded limit or the txn was already present")]
    SenderFull {
        /// The sender.
        sender: Address,
        /// Transactions that the pool holds of one sender at most.
        limit: usize,
    },
    /// After 37: the pool holds as many gapped transactions of this sender as it takes from one.
    #[error(
        "Txn could not be added as the sender has {limit} pending transactions that need a lower nonce or more balance"
    )]
    SenderGapped {
        /// The sender.
        sender: Address,
        /// Gapped transactions that the pool holds of one sender at most.
        limit: usize,
    },
    /// A transaction with the same sender and nonce pays at least as much. The text is the isolated server's for a
    /// transaction that is rejected with a status.
    #[error("Error Code: {}", DropReason::Outbid.code())]
    Outbid {
        /// The transaction that stays.
        by: TxHash,
    },
}

/// Reason why an admitted transaction is not pending.
#[derive(Debug, thiserror::Error)]
pub enum SubmissionError {
    /// The pool refused it.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The sender's account could not be read.
    #[error("reading state")]
    State(#[from] StateError),
}

/// Reason why a block could not be built. None of them is the fault of a transaction.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The state could not be read.
    #[error("reading state")]
    State(#[from] StateError),
    /// Blocks could not be read.
    #[error("reading blocks")]
    Archive(#[from] ArchiveError),
    /// An earlier block could not be written, and the chain has not [recovered](crate::Producer::recover).
    #[error("an earlier block could not be written, and the chain has not recovered from that yet")]
    Failed,
    /// The chain reached the largest block number or timestamp.
    #[error("the chain is at the end of its numbers")]
    End,
    /// Gas or the number of transactions left the range of the formats.
    #[error("gas of a block exceeds 64 bits")]
    Gas,
    /// Money left the range of the formats, which the supply of the genesis excludes.
    #[error("money of a block exceeds 128 bits")]
    Supply,
}

/// Reason why no block was proposed.
#[derive(Debug, thiserror::Error)]
#[error("building a block")]
pub struct ProposeError(#[from] pub BuildError);

/// Reason why another node's block is not the next block of this chain.
#[derive(Debug, thiserror::Error)]
pub enum InvalidBlock {
    /// A member of a block is not what executing it yields.
    #[error("{block}: {field}: expected {expected}, got {got}")]
    Field {
        /// The block.
        block: &'static str,
        /// The member.
        field: &'static str,
        /// Its value as computed here.
        expected: String,
        /// Its value as it came.
        got: String,
    },
    /// The number of the block, or its place in time, does not follow the head.
    #[error("Tx block: {field}: expected {expected}, got {got}")]
    Order {
        /// The member.
        field: &'static str,
        /// What follows the head.
        expected: String,
        /// What came.
        got: String,
    },
    /// A DS block is missing, or there is one where none is made.
    #[error("DS block before Tx block {number}: expected {}, got {}", presence(*.expected), presence(!*.expected))]
    DsBlock {
        /// Number of the Tx block.
        number: BlockNumber,
        /// Whether one is due.
        expected: bool,
    },
    /// There are more or fewer micro blocks than committees.
    #[error("micro blocks: expected {expected}, got {got}")]
    MicroBlocks {
        /// Number of committees.
        expected: usize,
        /// Number of micro blocks.
        got: usize,
    },
    /// There are more or fewer transactions than hashes in the micro blocks.
    #[error("transactions: expected {expected}, got {got}")]
    Transactions {
        /// Number of hashes in the micro blocks.
        expected: usize,
        /// Number of transactions.
        got: usize,
    },
    /// A transaction does not belong where it is.
    #[error("transaction {hash}")]
    Transaction {
        /// The transaction.
        hash: TxHash,
        /// Why not.
        #[source]
        reason: InvalidTransaction,
    },
    /// The state is edited by hand where the network does not let the leader do that, or together with something else.
    #[error("edits of the state: {reason}")]
    Edits {
        /// Why there must be none.
        reason: &'static str,
    },
    /// The logical block number is repeated where the network does not let the leader do that.
    #[error("logical block number: expected one that moves with each block, got one that is repeated")]
    RepeatedNumber,
    /// The block could not be judged.
    #[error("executing a block")]
    Build(#[from] BuildError),
}

fn presence(present: bool) -> &'static str {
    if present { "one" } else { "none" }
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

/// Reason why a block was not sealed.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// A header could not be signed.
    #[error("signing a header")]
    Sign(#[from] SignError),
    /// A block is not signed by its committee.
    #[error("signatures of the {block}")]
    Signature {
        /// Which block.
        block: &'static str,
        /// What is wrong.
        source: CoSignatureError,
    },
    /// The signatures are those of another block.
    #[error("signatures are of another block")]
    Mismatch,
}

/// Reason why a block was not committed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// The block does not follow the head.
    #[error("block {number} does not follow block {head}")]
    NotNext {
        /// The block.
        number: BlockNumber,
        /// Number of the head.
        head: BlockNumber,
    },
    /// The store could not be written.
    #[error("writing block {number}")]
    Store {
        /// The block.
        number: BlockNumber,
        /// What the store says.
        source: silica_state::CommitError,
    },
}

/// Names with commas between them, as far as they can be taken in.
fn listed(names: &[String]) -> String {
    const MOST: usize = 160;
    let all = names.join(", ");
    match all.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", all.get(..end).unwrap_or_default()),
        None => all,
    }
}

/// Reason why the state is not edited.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The null account holds what is not in circulation, and pays the rewards.
    #[error("the null account cannot be edited: it holds the reserve")]
    NullAccount,
    /// The account would have too much money.
    #[error("balance: expected at most {most} Qa, got {got}")]
    Balance {
        /// The balance that was asked for.
        got: Qa,
        /// Most that an edit gives.
        most: Qa,
    },
    /// The account would have too much money, with what it has.
    #[error("amount: expected at most {most} Qa for this account, got {got}")]
    Amount {
        /// What was to be added.
        got: Qa,
        /// Most that an edit adds to this account.
        most: Qa,
    },
    /// The transactions between could be executed again.
    #[error("nonce: expected at least {least}, which the account has, got {got}")]
    NonceTooLow {
        /// The nonce that was asked for.
        got: Nonce,
        /// That of the account.
        least: Nonce,
    },
    /// The nonce is too large.
    #[error("nonce: expected at most {most}, got {got}")]
    NonceTooHigh {
        /// The nonce that was asked for.
        got: Nonce,
        /// Largest nonce.
        most: Nonce,
    },
    /// A contract sends no transactions.
    #[error("a contract has no nonce")]
    NonceOfContract,
    /// There is no account.
    #[error("Address does not exist")]
    UnknownAccount,
    /// The account has no contract.
    #[error("Address not contract address")]
    NotAContract,
    /// The contract has no such field.
    #[error("field: expected one of {}, got {got:?}", listed(.known))]
    UnknownField {
        /// The name that came, or its beginning.
        got: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// A field is always there.
    #[error("value: expected one, for only entries of maps can be removed")]
    FieldRemoved,
    /// There are more keys than maps in the type of the field.
    #[error("keys: expected at most {most}, got {got}")]
    TooManyKeys {
        /// Keys that came.
        got: usize,
        /// Maps in the type.
        most: usize,
    },
    /// A key is none of the map's type.
    #[error("keys: {0}")]
    Key(#[source] ValueError),
    /// The text of the value is no JSON.
    #[error("value: {0}")]
    NotJson(#[source] JsonError),
    /// The value is none of the field's type.
    #[error("value: {0}")]
    Value(#[source] ValueError),
    /// The value, or the keys to it, are larger than what a transaction may write.
    #[error("value: larger than what a transaction may write, with its keys")]
    TooLarge,
    /// The contract, or its storage, cannot be read as what it was deployed as.
    #[error("the contract cannot be made ready")]
    Unusable,
    /// The state could not be read.
    #[error("reading state")]
    State(#[from] StateError),
    /// The block that has the edit could not be built.
    #[error("building a block")]
    Build(#[from] BuildError),
}

impl EditError {
    /// Whether the edit is refused for what it says; otherwise something failed that is not the caller's.
    pub const fn is_refusal(&self) -> bool {
        !matches!(self, Self::Unusable | Self::State(_) | Self::Build(_))
    }
}

/// Reason why empty blocks were not made together.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    /// They could not be built.
    #[error("building empty blocks")]
    Build(#[from] BuildError),
    /// They could not be committed.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// Reason why an engine did not do what follows from its input.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// More blocks were demanded than are made at once.
    #[error("blocks demanded: expected at most {most}, got {got}")]
    Demand {
        /// Blocks demanded.
        got: u64,
        /// Most at once.
        most: u64,
    },
    /// The state is not edited.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// No block was proposed.
    #[error(transparent)]
    Propose(#[from] ProposeError),
    /// A block was not sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A block was not committed.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// Empty blocks were not made.
    #[error(transparent)]
    Pass(#[from] PassError),
}

/// Reason why a chain is not continued by some rules of the contract language.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// Its blocks were made by other rules.
    #[error("the data directory holds blocks made by the Scilla rules {stored}, expected {asked}")]
    Other {
        /// The rules of the record.
        stored: ScillaRules,
        /// The rules of the configuration.
        asked: ScillaRules,
    },
    /// The record has rules that this version does not know.
    #[error("the blocks in the data directory")]
    Unknown(#[source] UnknownRules),
    /// The record cannot be read or written.
    #[error("Scilla rules of the record")]
    Archive(#[from] ArchiveError),
}

/// Reason why a chain could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The chain cannot run with these parameters.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The chain has other rules of the contract language.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// The newest block was made with another parameter.
    #[error("the chain in the data directory was made with {name} {stored}, and is asked to run with {asked}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// Its value in the newest block.
        stored: String,
        /// Its value now.
        asked: String,
    },
    /// The chain in the store is led by another key.
    #[error("the chain in the data directory is signed by {stored}, and the key of this node is {asked}")]
    Key {
        /// Key of the chain.
        stored: PublicKey,
        /// Key of this node.
        asked: PublicKey,
    },
    /// The newest block does not have the form, links and signatures that it must have.
    #[error("block {number} in the data directory: {what}")]
    Head {
        /// The block.
        number: BlockNumber,
        /// What is wrong.
        what: &'static str,
    },
    /// The newest block is not signed by its committee.
    #[error("block {number} in the data directory")]
    Signature {
        /// The block.
        number: BlockNumber,
        /// What is wrong with the signatures.
        source: CoSignatureError,
    },
    /// The state could not be read or computed.
    #[error("reading state")]
    State(#[from] StateError),
    /// Blocks could not be read.
    #[error("reading blocks")]
    Archive(#[from] ArchiveError),
    /// The genesis could not be written.
    #[error("writing the genesis block")]
    Commit(#[source] silica_state::CommitError),
    /// The state was lost, and executing the blocks again did not yield it. So it may be if a build with other rules of
    /// execution made them.
    #[error("executing the blocks again, by the rules of this version")]
    Replay(#[from] ReplayError),
}

/// Reason why a chain was not taken back to an earlier point.
#[derive(Debug, thiserror::Error)]
pub enum RevertError {
    /// The store could not be taken back.
    #[error("taking the store back")]
    Store(#[from] silica_state::RevertError),
    /// The store is back, and the chain could not be opened in it.
    #[error("opening the chain again")]
    Open(#[from] OpenError),
}

impl RevertError {
    /// Whether the chain is as it was, and goes on.
    pub const fn leaves_chain(&self) -> bool {
        match self {
            Self::Store(error) => error.leaves_store(),
            Self::Open(_) => false,
        }
    }
}

/// Reason why a chain does not go on after a block could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The store cannot go on.
    #[error("taking up the store again")]
    Store(#[from] silica_state::RecoverError),
    /// The store is there again, and the chain could not be continued in it.
    #[error("opening the chain again")]
    Open(#[from] OpenError),
}

/// Reason why executing blocks again did not yield what they say.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The chain cannot run with these parameters.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The chain has other rules of the contract language.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// Block 0 is not that of the accounts and the key.
    #[error("block 0: {what} is not that of the given accounts and key")]
    Genesis {
        /// The header that differs.
        what: &'static str,
    },
    /// A block is missing.
    #[error("block {number} is missing")]
    Missing {
        /// Its number.
        number: BlockNumber,
    },
    /// A block is not what executing it yields.
    #[error("block {number}")]
    Block {
        /// Its number.
        number: BlockNumber,
        /// What is wrong.
        source: InvalidBlock,
    },
    /// A receipt is not what executing its transaction yields.
    #[error("block {number}: receipt of transaction {hash}")]
    Receipt {
        /// Number of the block.
        number: BlockNumber,
        /// The transaction.
        hash: TxHash,
    },
    /// A block is not signed by its committee.
    #[error("block {number}")]
    Seal {
        /// Its number.
        number: BlockNumber,
        /// What is wrong.
        source: SealError,
    },
    /// The state could not be computed.
    #[error("reading state")]
    State(#[from] StateError),
    /// Blocks could not be read.
    #[error("reading blocks")]
    Archive(#[from] ArchiveError),
    /// The state of a block could not be written.
    #[error("writing the state of block {number}")]
    Commit {
        /// Its number.
        number: BlockNumber,
        /// What the store says.
        source: silica_state::CommitError,
    },
}

/// Reason why there is no such page of a listing.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    /// The page is 0, or beyond the last.
    #[error("Pages out of limit")]
    Page {
        /// Page that was asked for.
        got: u64,
        /// The last page.
        last: u64,
    },
    /// Blocks could not be read.
    #[error("reading blocks")]
    Archive(#[from] ArchiveError),
}

/// Reason why the transactions of a block cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum BlockTransactionsError {
    /// There is no such block.
    #[error("Tx Block does not exist")]
    UnknownBlock {
        /// Number that was asked for.
        number: BlockNumber,
    },
    /// The block, or the page of it, has no transactions.
    #[error("TxBlock has no transactions")]
    Empty,
    /// Blocks could not be read.
    #[error("reading blocks")]
    Archive(#[from] ArchiveError),
}

/// Reason why there is no state proof.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// The block is still to come.
    #[error("Requested txBlock not mined yet")]
    NotMined {
        /// The block.
        block: BlockNumber,
    },
    /// The block is older than the window for which proofs are served.
    #[error("Proof from requested txBlock is expired, earliest: {earliest}")]
    Expired {
        /// The oldest block of the window.
        earliest: BlockNumber,
    },
    /// The account does not exist in the state of that block.
    #[error("Address does not exist in requested epoch")]
    UnknownAccount,
    /// The account is no contract.
    #[error("Address not contract address")]
    NotAContract,
    /// The contract has no storage.
    #[error("Proof not found")]
    NoStorage,
    /// The state of that block could not be computed again.
    #[error("reading the state of a block")]
    History(#[source] HistoryError),
    /// The state could not be read.
    #[error("reading state")]
    State(#[from] StateError),
}

impl From<HistoryError> for ProofError {
    /// The store may keep fewer blocks than are served: those before it was told to keep more are gone.
    fn from(error: HistoryError) -> Self {
        if let HistoryError::Expired { earliest } = error { Self::Expired { earliest } } else { Self::History(error) }
    }
}

/// Reason why the state after a block is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum PastStateError {
    /// The block is still to come, or its state is no longer kept.
    #[error("expected a Tx block whose state is kept, from {earliest} to {latest}, got {block}")]
    Outside {
        /// The block that was asked for.
        block: BlockNumber,
        /// The oldest block whose state is kept.
        earliest: BlockNumber,
        /// The latest block.
        latest: BlockNumber,
    },
    /// The state of that block could not be computed again.
    #[error("reading the state of a block")]
    History(#[source] HistoryError),
}

/// Reason why it is not known what a contract offers.
#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    /// There is no account at the address.
    #[error("Address does not exist")]
    UnknownAccount,
    /// The account has no code, or that of a library.
    #[error("Address not contract address")]
    NotAContract,
    /// The contract is not accepted any more. No contract that was deployed is like that.
    #[error("the code of a deployed contract is not accepted")]
    Unusable,
    /// The state or the record could not be read.
    #[error("reading state")]
    State(#[from] StateError),
}

/// Reason why there is no trace of a transaction.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// It is in no block.
    #[error("Txn Hash not Present")]
    Unknown,
    /// The state before its block is no longer kept.
    #[error("the transaction is in Tx block {block}, and only those of blocks {earliest} to {latest} can be traced")]
    Outside {
        /// The block of the transaction.
        block: BlockNumber,
        /// The oldest block whose transactions can be traced.
        earliest: BlockNumber,
        /// The latest block.
        latest: BlockNumber,
    },
    /// Executing it again did not lead to the recorded receipt.
    #[error("executing the transaction again does not lead to its receipt")]
    Differs,
    /// The state before the block could not be computed again.
    #[error("reading the state of a block")]
    History(#[source] HistoryError),
    /// The record could not be read.
    #[error("reading the record")]
    Archive(#[from] ArchiveError),
    /// The state could not be read.
    #[error("reading state")]
    State(#[from] StateError),
}

impl TraceError {
    /// Turns the error that a past state is not to be had into the one that a transaction cannot be traced; the function
    /// knows which one, by the oldest block whose state is kept.
    pub(crate) fn from_past(outside: &impl Fn(BlockNumber) -> Self) -> impl FnOnce(PastStateError) -> Self {
        move |error| match error {
            PastStateError::Outside { earliest, .. } => outside(earliest),
            PastStateError::History(error) => Self::History(error),
        }
    }
}

/// Reason why there is no page of a contract's state.
#[derive(Debug, thiserror::Error)]
pub enum StatePageError {
    /// The state after the block is not to be had.
    #[error(transparent)]
    Past(#[from] PastStateError),
    /// There is no account at the address.
    #[error("Address does not exist")]
    UnknownAccount,
    /// The account is no contract.
    #[error("Address not contract address")]
    NotAContract,
    /// The contract has no field of this name.
    #[error("there is no field of this name")]
    UnknownField,
    /// No page of this field ends there.
    #[error("expected what another page of the same field has as next")]
    Cursor,
    /// The state could not be read.
    #[error("reading state")]
    State(#[from] StateError),
}

/// Reason why there is no such list of miners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Requested data not found")]
pub struct MinerInfoError {
    /// DS block that was asked for.
    pub got: DsBlockNumber,
    /// The latest DS block.
    pub latest: DsBlockNumber,
}

/// Reason why the minimum gas price was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GasPriceError {
    /// Gas cannot be free.
    #[error("Gas price cannot be less than 1")]
    Zero,
    /// This network does not let a leader choose the price.
    #[error("gas price is not for the operator to set on this network")]
    NotAllowed,
}

/// Reason why bytes do not hold the contents of a pool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolImportError {
    /// The bytes were not written by a pool, or by another version of it.
    #[error("pool contents: expected the mark {expected:?} at the start")]
    Mark {
        /// What the bytes begin with.
        expected: &'static str,
    },
    /// The bytes are not those that were written, and no transaction can be read from them.
    #[error("pool contents: checksum does not match")]
    Checksum,
    /// The bytes end early or hold a value that cannot be.
    #[error("pool contents: {what} of entry {entry}")]
    Entry {
        /// Number of the entry, counted from 0.
        entry: u64,
        /// What could not be read.
        what: &'static str,
    },
}
