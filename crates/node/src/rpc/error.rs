//! From what went wrong to the code and text that clients know.
//!
//! Numbers are chosen here, by matches without a wildcard: a new variant does not compile until its code is decided. A
//! method with faults of its own chooses theirs beside its body ([`CallError::Chosen`]). Texts that start with a
//! capital letter are the reference's, misspellings included, since clients compare them
//! (Reference: interface#error-codes).

use std::borrow::Cow;

use serde_json::Value;
use silica_chain::{
    AdmissionError, BlockTransactionsError, DropReason, EditError, GasPriceError, InterfaceError, ListingError,
    MinerInfoError, PastStateError, PoolError, ProofError, SimulationError, SubmissionError, TraceError,
};
use silica_protocol::{
    AddressError, HexError,
    rpc::{
        error::{RpcError, RpcErrorCode},
        simulation::SimulatedTransactionError,
        transaction::TransactionRequestError,
    },
};
use silica_state::{ArchiveError, HistoryError, StateError};

use super::params::{HashFault, NumberFault, PriceFault};
use crate::{
    blocking::BlockingError,
    driver::{DriverError, SubmitError},
    dump::DumpError,
    http::Foreign,
};

/// Reason why a method does not answer.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The answer is made as a whole and has too many bytes.
    AnswerTooLarge {
        /// Most bytes of one.
        most: usize,
    },
    /// No account was ever made at the address whose balance is asked for.
    AccountNotCreated,
    /// Something that has a thread of its own was not done.
    Blocking(BlockingError),
    /// An address cannot be read.
    Address(AddressError),
    /// No account was ever made at the address of which a contract is expected.
    AddressUnknown,
    /// Blocks could not be read.
    Archive(ArchiveError),
    /// The transactions of a block cannot be listed.
    BlockTransactions(BlockTransactionsError),
    /// A fault that only one method has. The method chooses its code and text.
    Chosen {
        /// The code.
        code: RpcErrorCode,
        /// The text.
        text: Cow<'static, str>,
    },
    /// A contract was asked for its contracts.
    ContractQueried,
    /// Methods for developers are switched off.
    DeveloperOff,
    /// The method is for developers, and the caller is foreign.
    Foreign(Foreign),
    /// The hash of a deployment cannot be read.
    DeploymentHash(HashFault),
    /// The transaction of a deployment is in no block.
    DeploymentUnknown,
    /// The driver did not do what it was asked.
    Driver(DriverError),
    /// The chain is not written to a file.
    Dump(DumpError),
    /// The number of a DS block, or of the block of a proof, cannot be read.
    DsBlockNumber(NumberFault),
    /// The state is not edited.
    Edit(EditError),
    /// The price of gas is not changed.
    GasPrice(GasPriceError),
    /// A key of a map is no text.
    IndexNotText,
    /// Init data that were deployed cannot be read.
    InitData,
    /// It is not known what the contract offers.
    Interface(InterfaceError),
    /// There is no such page of blocks.
    Listing(ListingError),
    /// Blocks are made at intervals, and neither they nor their price by hand.
    ManualTriggerDisallowed,
    /// There was no such DS epoch yet.
    MinerInfo(MinerInfoError),
    /// The account has no code.
    NotAContract,
    /// There is no such method where blocks are made as they are.
    NotInThisMode,
    /// The operator has listed the methods that are answered, and this one is not among them.
    NotListed,
    /// The transaction is in no block, and was accepted for none.
    NotSoftConfirmed,
    /// The transaction deploys nothing.
    NoDeployment,
    /// A parameter of a method of ours is wrong.
    Parameter {
        /// Its name.
        name: &'static str,
        /// What was expected, and what came.
        problem: String,
    },
    /// The state after a block is not to be had.
    PastState(PastStateError),
    /// The request to pause the node has a wrong secret.
    PauseId,
    /// The hash of a transaction that may be in the pool cannot be read.
    PoolHash(HashFault),
    /// A price of gas cannot be read.
    Price(PriceFault),
    /// There is no proof.
    Proof(ProofError),
    /// The transaction is not admitted.
    Refused(AdmissionError),
    /// The object is not a transaction.
    Request(TransactionRequestError),
    /// The object is not a transaction to be simulated.
    Simulated(SimulatedTransactionError),
    /// The simulated transaction would not get into a block.
    Simulation(SimulationError),
    /// There is no such shard.
    ShardUnknown,
    /// The hash of a transaction that may be soft-confirmed cannot be read.
    SoftTxHash(HashFault),
    /// The state could not be read.
    State(StateError),
    /// The hash of a transaction whose status is asked for cannot be read.
    StatusHash(HashFault),
    /// The transaction did not get into a block, or into the pool.
    Submit(SubmitError),
    /// There is no trace of the transaction.
    Trace(TraceError),
    /// The transaction is in no block, or nothing is known of it.
    TransactionUnknown,
    /// The number of a Tx block cannot be read.
    TxBlockNumber(NumberFault),
    /// The hash of a transaction cannot be read.
    TxHash(HashFault),
    /// The answer has no JSON form.
    Unwritten(serde_json::Error),
    /// The hash of a contract's variable cannot be read.
    VariableHash(HashFault),
}

macro_rules! from {
    ($($source:ty => $variant:ident,)*) => {
        $(impl From<$source> for CallError {
            fn from(source: $source) -> Self {
                Self::$variant(source)
            }
        })*
    };
}

from! {
    AddressError => Address,
    AdmissionError => Refused,
    ArchiveError => Archive,
    BlockingError => Blocking,
    BlockTransactionsError => BlockTransactions,
    DriverError => Driver,
    DumpError => Dump,
    EditError => Edit,
    GasPriceError => GasPrice,
    InterfaceError => Interface,
    ListingError => Listing,
    MinerInfoError => MinerInfo,
    PastStateError => PastState,
    PriceFault => Price,
    ProofError => Proof,
    SimulatedTransactionError => Simulated,
    SimulationError => Simulation,
    StateError => State,
    SubmitError => Submit,
    TraceError => Trace,
    TransactionRequestError => Request,
}

/// A code and a text, as this module chooses them.
type Choice = (RpcErrorCode, Cow<'static, str>);

impl CallError {
    /// What is wrong with a parameter of a method of ours.
    pub(crate) fn parameter(name: &'static str, problem: &impl ToString) -> Self {
        Self::Parameter { name, problem: problem.to_string() }
    }

    /// Returns the error of the response. A fault of the node is logged, and the response has no details of it.
    pub(crate) fn into_rpc(self, method: &'static str) -> RpcError {
        let details = self.details();
        match self.choose(method) {
            // Whatever the protocol layer would say.
            Ok((RpcErrorCode::METHOD_NOT_FOUND, _)) => RpcError::METHOD_NOT_FOUND,
            Ok((code, message)) => {
                let error = RpcError::new(code, message);
                match details {
                    Some((expected, got)) => error.with_expected(expected, got),
                    None => error,
                }
            }
            Err(fault) if is_of_gone_blocks(&*fault) => {
                RpcError::new(RpcErrorCode::MISC_ERROR, "The chain was taken back meanwhile, ask again")
            }
            Err(fault) => {
                tracing::error!(method, error = &*fault, "a method failed");
                RpcError::INTERNAL_ERROR
            }
        }
    }

    /// Returns what was expected and what came, where the text that clients know says neither.
    fn details(&self) -> Option<(Value, Value)> {
        if let Self::Address(error) | Self::Request(TransactionRequestError::Checksum(error)) = self {
            return Some((error.expected().into(), error.got().into()));
        }
        let (Self::Refused(error) | Self::Simulation(SimulationError::Refused(error))) = self else { return None };
        if let AdmissionError::ChainId { expected, got } = error {
            Some((expected.get().into(), got.get().into()))
        } else if let AdmissionError::NonceGap { expected, got } = error {
            Some((expected.get().into(), got.get().into()))
        } else if let AdmissionError::NonceTooLow { current, got } = error {
            Some((current.next()?.get().into(), got.get().into()))
        } else {
            None
        }
    }

    /// Returns what the caller did wrong, or the node's own fault.
    fn choose(self, method: &str) -> Result<Choice, Fault> {
        use RpcErrorCode as Code;
        Ok(match self {
            Self::AnswerTooLarge { most } => {
                (Code::MISC_ERROR, format!("The answer has more than {most} bytes, ask for less at once").into())
            }
            Self::AccountNotCreated => text(Code::INVALID_ADDRESS_OR_KEY, "Account is not created"),
            Self::Address(error) => address(&error),
            Self::AddressUnknown => text(Code::INVALID_ADDRESS_OR_KEY, "Address does not exist"),
            Self::Archive(error) => return Err(error.into()),
            // Not the code of a simulation that fails.
            Self::Blocking(error @ BlockingError::Busy) => told(Code::SERVER_ERROR, &error),
            Self::Blocking(error @ BlockingError::Panicked) => return Err(error.into()),
            Self::BlockTransactions(error) => return block_transactions(error),
            Self::ContractQueried => text(Code::INVALID_ADDRESS_OR_KEY, "A contract account queried"),
            Self::DeploymentHash(HashFault::Digit) => text(Code::MISC_ERROR, "Unable To Process"),
            Self::DeploymentHash(HashFault::Size) => text(Code::INVALID_PARAMETER, "Address size not appropriate"),
            Self::DeveloperOff => {
                let text = format!("{method} is for developers and switched off, start the node with --developer on");
                (Code::INVALID_REQUEST, text.into())
            }
            Self::Foreign(foreign) => {
                (Code::INVALID_REQUEST, format!("{method} is for developers on this machine: {foreign}").into())
            }
            Self::DeploymentUnknown => text(Code::INVALID_ADDRESS_OR_KEY, "Txn Hash not Present"),
            Self::Driver(error) => return driver(error),
            Self::Dump(error) => return dump(error),
            Self::DsBlockNumber(error) => number(error, "Invalid arugment"),
            Self::Edit(error) => return edit(error),
            Self::Chosen { code, text } => (code, text),
            Self::GasPrice(error) => gas_price(error),
            Self::IndexNotText => text(Code::INVALID_PARAMETER, "Every array value should be a string"),
            Self::InitData => text(Code::PARSE_ERROR, "Unable to convert initData into Json"),
            Self::Interface(error) => return interface(error),
            Self::Listing(error) => return listing(error),
            Self::ManualTriggerDisallowed => text(Code::INVALID_PARAMETER, "Manual trigger disallowed"),
            Self::MinerInfo(error) => (Code::MISC_ERROR, error.to_string().into()),
            Self::NotAContract => text(Code::INVALID_ADDRESS_OR_KEY, "Address not contract address"),
            Self::NotInThisMode => text(Code::METHOD_NOT_FOUND, ""),
            Self::NotListed => text(Code::METHOD_NOT_FOUND, ""),
            Self::NotSoftConfirmed => text(Code::DATABASE_ERROR, "Txn Hash not soft confirmed"),
            Self::NoDeployment => text(Code::INVALID_ADDRESS_OR_KEY, "ID is not a contract txn"),
            Self::Parameter { name, problem } => (Code::INVALID_PARAMETER, format!("{name}: {problem}").into()),
            Self::PastState(error) => return past_state(error),
            Self::PauseId => text(Code::INVALID_ADDRESS_OR_KEY, "Invalid UUID"),
            Self::PoolHash(HashFault::Digit) => text(Code::MISC_ERROR, "Unable to process"),
            Self::PoolHash(HashFault::Size) => text(Code::INVALID_PARAMETER, "Txn Hash size not appropriate"),
            Self::Price(PriceFault) => text(Code::INVALID_PARAMETER, "Gas price should be numeric"),
            Self::Proof(error) => return proof(error),
            Self::Refused(error) => return admission(error),
            Self::Request(error) => request(&error),
            Self::Simulated(error) => told(Code::INVALID_PARAMETER, &error),
            Self::Simulation(error) => return simulation(error),
            Self::ShardUnknown => text(Code::INVALID_PARAMETER, "Invalid shard ID"),
            Self::SoftTxHash(HashFault::Digit) => text(Code::MISC_ERROR, "Unable to Process"),
            Self::SoftTxHash(HashFault::Size) => text(Code::INVALID_PARAMS, "Size not appropriate"),
            Self::State(error) => return Err(error.into()),
            Self::StatusHash(HashFault::Digit) => text(Code::MISC_ERROR, "Unable To Process: hash is not hexadecimal"),
            Self::StatusHash(HashFault::Size) => text(Code::INVALID_PARAMETER, "Txn Hash size not appropriate"),
            Self::Submit(error) => return submit(error),
            Self::Trace(error) => return trace(error),
            Self::TransactionUnknown => text(Code::DATABASE_ERROR, "Txn Hash not Present"),
            Self::TxBlockNumber(error) => number(error, "Invalid argument"),
            Self::TxHash(HashFault::Digit) => text(Code::MISC_ERROR, "Unable to Process"),
            Self::TxHash(HashFault::Size) => text(Code::DATABASE_ERROR, "Txn Hash not Present"),
            Self::Unwritten(error) => return Err(error.into()),
            Self::VariableHash(HashFault::Digit) => text(Code::INVALID_ADDRESS_OR_KEY, "invalid key"),
            Self::VariableHash(HashFault::Size) => text(Code::INVALID_PARAMETER, "Key size not appropriate"),
        })
    }
}

/// Whether something could not be read since a developer took the chain back while it was read.
fn is_of_gone_blocks(fault: &(dyn std::error::Error + 'static)) -> bool {
    let is_retired = |error: &(dyn std::error::Error + 'static)| {
        let history = |error: &HistoryError| matches!(error, HistoryError::State(error) if error.is_retired());
        error.downcast_ref::<ArchiveError>().is_some_and(ArchiveError::is_retired)
            || error.downcast_ref::<StateError>().is_some_and(StateError::is_retired)
            || error.downcast_ref::<HistoryError>().is_some_and(history)
    };
    std::iter::successors(Some(fault), |error| error.source()).any(is_retired)
}

/// Something that is the node's own fault.
type Fault = Box<dyn std::error::Error + Send + Sync>;

fn text(code: RpcErrorCode, text: &'static str) -> Choice {
    (code, text.into())
}

/// An error whose text is the one that clients know.
fn told(code: RpcErrorCode, error: &impl ToString) -> Choice {
    (code, error.to_string().into())
}

fn address(error: &AddressError) -> Choice {
    match error {
        AddressError::Bech32(_) => text(RpcErrorCode::INVALID_ADDRESS_OR_KEY, "Bech32 address is invalid"),
        AddressError::Hex(HexError::Digit { .. }) | AddressError::Checksum { .. } => {
            text(RpcErrorCode::INVALID_ADDRESS_OR_KEY, "invalid address")
        }
        AddressError::Hex(HexError::Length { .. }) => {
            text(RpcErrorCode::INVALID_PARAMETER, "Address size not appropriate")
        }
    }
}

fn number(error: NumberFault, invalid: &'static str) -> Choice {
    match error {
        NumberFault::Invalid => text(RpcErrorCode::INVALID_PARAMS, invalid),
        NumberFault::OutOfRange => text(RpcErrorCode::INVALID_PARAMS, "Out of range"),
    }
}

fn interface(error: InterfaceError) -> Result<Choice, Fault> {
    match error {
        InterfaceError::UnknownAccount | InterfaceError::NotAContract => {
            Ok(told(RpcErrorCode::INVALID_ADDRESS_OR_KEY, &error))
        }
        InterfaceError::Unusable | InterfaceError::State(_) => Err(error.into()),
    }
}

fn listing(error: ListingError) -> Result<Choice, Fault> {
    match error {
        ListingError::Page { .. } => Ok(told(RpcErrorCode::INVALID_PARAMETER, &error)),
        ListingError::Archive(error) => Err(error.into()),
    }
}

fn block_transactions(error: BlockTransactionsError) -> Result<Choice, Fault> {
    match error {
        BlockTransactionsError::UnknownBlock { .. } => Ok(told(RpcErrorCode::INVALID_PARAMS, &error)),
        BlockTransactionsError::Empty => Ok(told(RpcErrorCode::MISC_ERROR, &error)),
        BlockTransactionsError::Archive(error) => Err(error.into()),
    }
}

fn proof(error: ProofError) -> Result<Choice, Fault> {
    match error {
        ProofError::NotMined { .. } | ProofError::Expired { .. } => Ok(told(RpcErrorCode::MISC_ERROR, &error)),
        ProofError::UnknownAccount | ProofError::NotAContract => Ok(told(RpcErrorCode::INVALID_ADDRESS_OR_KEY, &error)),
        ProofError::NoStorage => Ok(told(RpcErrorCode::DATABASE_ERROR, &error)),
        ProofError::History(error) => Err(error.into()),
        ProofError::State(error) => Err(error.into()),
    }
}

fn past_state(error: PastStateError) -> Result<Choice, Fault> {
    match error {
        PastStateError::Outside { .. } => Ok((RpcErrorCode::INVALID_PARAMETER, format!("block: {error}").into())),
        PastStateError::History(error) => Err(error.into()),
    }
}

fn trace(error: TraceError) -> Result<Choice, Fault> {
    match error {
        TraceError::Unknown => Ok(told(RpcErrorCode::DATABASE_ERROR, &error)),
        TraceError::Outside { .. } => Ok(told(RpcErrorCode::MISC_ERROR, &error)),
        TraceError::Archive(_) | TraceError::Differs | TraceError::History(_) | TraceError::State(_) => {
            Err(error.into())
        }
    }
}

fn gas_price(error: GasPriceError) -> Choice {
    match error {
        GasPriceError::Zero => told(RpcErrorCode::INVALID_PARAMETER, &error),
        GasPriceError::NotAllowed => text(RpcErrorCode::INVALID_PARAMETER, "Manual trigger disallowed"),
    }
}

fn edit(error: EditError) -> Result<Choice, Fault> {
    use EditError as Error;
    let code = match &error {
        Error::NullAccount | Error::UnknownAccount | Error::NotAContract => RpcErrorCode::INVALID_ADDRESS_OR_KEY,
        Error::Balance { .. }
        | Error::Amount { .. }
        | Error::NonceTooLow { .. }
        | Error::NonceTooHigh { .. }
        | Error::NonceOfContract
        | Error::UnknownField { .. }
        | Error::FieldRemoved
        | Error::TooManyKeys { .. }
        | Error::Key(_)
        | Error::NotJson(_)
        | Error::Value(_)
        | Error::TooLarge => RpcErrorCode::INVALID_PARAMETER,
        Error::Unusable | Error::State(_) | Error::Build(_) => return Err(error.into()),
    };
    // What is wrong with a value may be all of it.
    let told: String = error.to_string().chars().take(TOLD).collect();
    Ok((code, told.into()))
}

/// Characters of an error that holds what the caller sent.
const TOLD: usize = 300;

fn submit(error: SubmitError) -> Result<Choice, Fault> {
    match error {
        SubmitError::Submission(SubmissionError::Pool(error)) => Ok(pool(&error)),
        SubmitError::Submission(SubmissionError::State(error)) => Err(error.into()),
        SubmitError::Dropped(reason) => Ok(dropped(reason)),
        SubmitError::Driver(error) => driver(error),
    }
}

fn driver(error: DriverError) -> Result<Choice, Fault> {
    match error {
        DriverError::Paused => Ok(text(RpcErrorCode::INTERNAL_ERROR, "IsoServer is paused")),
        DriverError::Failed | DriverError::Stopping => Err(error.into()),
    }
}

/// The isolated server's answer to a transaction that is rejected when it is executed.
fn dropped(reason: DropReason) -> Choice {
    (RpcErrorCode::INVALID_PARAMETER, format!("Error Code: {}", reason.code()).into())
}

fn dump(error: DumpError) -> Result<Choice, Fault> {
    let code = RpcErrorCode::MISC_ERROR;
    match &error {
        DumpError::Record(_) | DumpError::Source(_) => Err(error.into()),
        DumpError::Write { source, .. } => Ok((code, format!("{error}: {source}").into())),
        DumpError::Empty | DumpError::InMemory | DumpError::StandardOutput | DumpError::Exists { .. } => {
            Ok(told(code, &error))
        }
    }
}

fn simulation(error: SimulationError) -> Result<Choice, Fault> {
    match error {
        SimulationError::Refused(error) => admission(error),
        SimulationError::Dropped { reason: DropReason::Internal, .. } => Err(Box::new(error)),
        SimulationError::Dropped { .. } => Ok(told(RpcErrorCode::INVALID_PARAMETER, &error)),
        SimulationError::Fails { .. } => Ok(told(RpcErrorCode::MISC_ERROR, &error)),
        SimulationError::State(error) => Err(error.into()),
    }
}

fn pool(error: &PoolError) -> Choice {
    match error {
        PoolError::Known { .. }
        | PoolError::Full { .. }
        | PoolError::SenderFull { .. }
        | PoolError::SenderGapped { .. } => told(RpcErrorCode::DATABASE_ERROR, error),
        PoolError::Outbid { .. } => told(RpcErrorCode::INVALID_PARAMETER, error),
    }
}

fn admission(error: AdmissionError) -> Result<Choice, Fault> {
    use AdmissionError as Error;
    let code = match &error {
        Error::ChainId { .. }
        | Error::MessageVersion { .. }
        | Error::CodeTooLarge { .. }
        | Error::GasPriceTooLow { .. }
        | Error::Signature(_) => RpcErrorCode::VERIFY_REJECTED,
        Error::NullSender | Error::UnknownSender { .. } => RpcErrorCode::INVALID_ADDRESS_OR_KEY,
        Error::CallGasTooLow { .. }
        | Error::DeploymentGasTooLow { .. }
        | Error::PaymentGasTooLow { .. }
        | Error::NonceTooLow { .. }
        | Error::NonceGap { .. }
        | Error::DepositOverflow
        | Error::TotalOverflow
        | Error::InsufficientFunds { .. }
        | Error::GasLimitTooHigh { .. }
        | Error::RecipientIsContract { .. } => RpcErrorCode::INVALID_PARAMETER,
        Error::ContractsDisabled => RpcErrorCode::MISC_ERROR,
        Error::UnknownContract { .. } | Error::NotAContract { .. } => RpcErrorCode::INVALID_ADDRESS_OR_KEY,
        Error::ShardGasLimit { .. } | Error::DsGasLimit { .. } => RpcErrorCode::INVALID_PARAMETER,
        Error::NoKind => RpcErrorCode::INVALID_ADDRESS_OR_KEY,
        Error::State(_) => return Err(error.into()),
    };
    Ok(told(code, &error))
}

fn request(error: &TransactionRequestError) -> Choice {
    use TransactionRequestError as Error;
    let code = match error {
        Error::Missing { .. }
        | Error::Unexpected { .. }
        | Error::Nonce { .. }
        | Error::Amount { .. }
        | Error::Version { .. }
        | Error::PublicKeySize { .. }
        | Error::SignatureSize { .. }
        | Error::Checksum(_)
        | Error::Priority { .. }
        | Error::PublicKey(_)
        | Error::Signature(_) => RpcErrorCode::INVALID_PARAMETER,
        Error::Range { .. } | Error::NotText { .. } | Error::GasPrice { .. } => RpcErrorCode::MISC_ERROR,
    };
    told(code, error)
}
