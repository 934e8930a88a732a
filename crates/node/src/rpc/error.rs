//! The error of a method, and the errors that many methods share.
//!
//! The conversion of a shared error names each variant with its error code. The lint `wildcard_enum_match_arm` reports
//! a new variant without an error code. The file of a method has the errors that only this method has. Texts with a
//! capital letter at the start are texts of the reference, misspellings included, since clients compare them
//! (Reference: interface#error-codes).

use std::borrow::Cow;

use serde_json::Value;
use silica_chain::{AdmissionError, BlockTransactionsError, DropReason, ListingError, PoolError, SubmissionError};
use silica_protocol::{
    AddressError, HexError,
    rpc::{
        error::{RpcError, RpcErrorCode},
        simulation::SimulatedTransactionError,
        transaction::TransactionRequestError,
    },
};
use silica_state::{ArchiveError, HistoryError, StateError};

use super::params::{HashFault, NumberFault};
use crate::{
    blocking::BlockingError,
    driver::{DriverError, SubmitError},
};

/// A fault of the node.
type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Reason why a call of a method has no result.
#[derive(Debug)]
pub(crate) enum CallError {
    /// An error in the request, or a state of the chain in which the request has no result. The client gets this error.
    Api(RpcError),
    /// A fault of the node. The client gets no details.
    Internal(Fault),
}

impl CallError {
    /// Returns an error for the client, with this code and text.
    pub(crate) fn api(code: RpcErrorCode, text: impl Into<Cow<'static, str>>) -> Self {
        Self::Api(RpcError::new(code, text))
    }

    /// Returns the error with this code and the text of `error`.
    pub(crate) fn with_text_of(code: RpcErrorCode, error: &impl ToString) -> Self {
        Self::api(code, error.to_string())
    }

    /// Returns a fault of the node.
    pub(crate) fn internal(fault: impl Into<Fault>) -> Self {
        Self::Internal(fault.into())
    }

    /// Returns the error for an invalid parameter. Only methods that are not in the reference use this error.
    pub(crate) fn parameter(name: &'static str, problem: &impl ToString) -> Self {
        Self::api(RpcErrorCode::INVALID_PARAMETER, format!("{name}: {}", problem.to_string()))
    }

    /// Returns the error for the client. Logs a fault of the node, unless its cause is a revert of the chain.
    pub(crate) fn into_rpc(self, method: &'static str) -> RpcError {
        match self {
            Self::Api(error) => error,
            Self::Internal(fault) if is_of_reverted_blocks(&*fault) => {
                RpcError::from_static(RpcErrorCode::MISC_ERROR, "The chain was reverted meanwhile, try again")
            }
            Self::Internal(fault) => {
                tracing::error!(method, error = &*fault, "a method failed; the client gets an internal error");
                RpcError::INTERNAL_ERROR
            }
        }
    }
}

/// Returns whether a read failed because a developer reverted the chain during the read.
fn is_of_reverted_blocks(fault: &(dyn std::error::Error + 'static)) -> bool {
    let is_retired = |error: &(dyn std::error::Error + 'static)| {
        let history = |error: &HistoryError| matches!(error, HistoryError::State(error) if error.is_retired());
        error.downcast_ref::<ArchiveError>().is_some_and(ArchiveError::is_retired)
            || error.downcast_ref::<StateError>().is_some_and(StateError::is_retired)
            || error.downcast_ref::<HistoryError>().is_some_and(history)
    };
    std::iter::successors(Some(fault), |error| error.source()).any(is_retired)
}

impl From<RpcError> for CallError {
    fn from(error: RpcError) -> Self {
        Self::Api(error)
    }
}

/// The errors of a method for a text that is not a hash. Many methods have texts of their own.
#[derive(Clone, Debug)]
pub(crate) struct HashErrors {
    /// The error for a character that is not hexadecimal.
    pub(crate) digit: RpcError,
    /// The error for a wrong number of characters.
    pub(crate) size: RpcError,
}

impl HashErrors {
    /// Returns the error for a hash with this fault.
    pub(crate) fn of(self, fault: HashFault) -> CallError {
        CallError::Api(match fault {
            HashFault::Digit => self.digit,
            HashFault::Size => self.size,
        })
    }
}

impl NumberFault {
    /// Returns the error for a block number. `invalid` is the text of the method for [`NumberFault::Invalid`].
    pub(crate) const fn with_text(self, invalid: &'static str) -> RpcError {
        let text = match self {
            Self::Invalid => invalid,
            Self::OutOfRange => "Out of range",
        };
        RpcError::from_static(RpcErrorCode::INVALID_PARAMS, text)
    }
}

impl From<StateError> for CallError {
    fn from(error: StateError) -> Self {
        Self::internal(error)
    }
}

impl From<ArchiveError> for CallError {
    fn from(error: ArchiveError) -> Self {
        Self::internal(error)
    }
}

impl From<BlockingError> for CallError {
    fn from(error: BlockingError) -> Self {
        match error {
            // The error of a failed simulation has another code. So a client recognizes this error, and can repeat the
            // request.
            BlockingError::Busy => Self::with_text_of(RpcErrorCode::SERVER_ERROR, &error),
            BlockingError::Panicked => Self::internal(error),
        }
    }
}

impl From<DriverError> for CallError {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::Paused => Self::api(RpcErrorCode::INTERNAL_ERROR, "IsoServer is paused"),
            DriverError::Failed | DriverError::Stopping => Self::internal(error),
        }
    }
}

impl From<AddressError> for CallError {
    fn from(error: AddressError) -> Self {
        let (code, text) = match &error {
            AddressError::Bech32(_) => (RpcErrorCode::INVALID_ADDRESS_OR_KEY, "Bech32 address is invalid"),
            AddressError::Hex(HexError::Length { .. }) => {
                (RpcErrorCode::INVALID_PARAMETER, "Address size not appropriate")
            }
            AddressError::Hex(_) | AddressError::Checksum { .. } => {
                (RpcErrorCode::INVALID_ADDRESS_OR_KEY, "invalid address")
            }
            _ => (RpcErrorCode::INVALID_ADDRESS_OR_KEY, "invalid address"),
        };
        Self::Api(RpcError::from_static(code, text).with_expected(error.expected(), error.got()))
    }
}

impl From<ListingError> for CallError {
    fn from(error: ListingError) -> Self {
        match error {
            ListingError::Page { .. } => Self::with_text_of(RpcErrorCode::INVALID_PARAMETER, &error),
            ListingError::Archive(error) => error.into(),
            error => Self::internal(error),
        }
    }
}

impl From<BlockTransactionsError> for CallError {
    fn from(error: BlockTransactionsError) -> Self {
        match error {
            BlockTransactionsError::UnknownBlock { .. } => Self::with_text_of(RpcErrorCode::INVALID_PARAMS, &error),
            BlockTransactionsError::Empty => Self::with_text_of(RpcErrorCode::MISC_ERROR, &error),
            BlockTransactionsError::Archive(error) => error.into(),
            error => Self::internal(error),
        }
    }
}

impl From<SubmitError> for CallError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Submission(SubmissionError::Pool(error)) => Self::with_text_of(code_of_pool(&error), &error),
            SubmitError::Submission(SubmissionError::State(error)) => error.into(),
            SubmitError::Submission(error) => Self::internal(error),
            SubmitError::Dropped(reason) => dropped(reason),
            #[cfg(feature = "network")]
            error @ SubmitError::TooLarge { .. } => Self::with_text_of(RpcErrorCode::INVALID_PARAMETER, &error),
            SubmitError::Driver(error) => error.into(),
        }
    }
}

const fn code_of_pool(error: &PoolError) -> RpcErrorCode {
    match error {
        PoolError::Known { .. }
        | PoolError::Full { .. }
        | PoolError::SenderFull { .. }
        | PoolError::SenderGapped { .. } => RpcErrorCode::DATABASE_ERROR,
        PoolError::Outbid { .. } => RpcErrorCode::INVALID_PARAMETER,
        _ => RpcErrorCode::INTERNAL_ERROR,
    }
}

/// Returns the error of the isolated server for a transaction that execution rejects.
fn dropped(reason: DropReason) -> CallError {
    CallError::api(RpcErrorCode::INVALID_PARAMETER, format!("Error Code: {}", reason.code()))
}

impl From<AdmissionError> for CallError {
    fn from(error: AdmissionError) -> Self {
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
            Error::State(_) => return Self::internal(error),
            _ => return Self::internal(error),
        };
        let rejected = RpcError::new(code, error.to_string());
        Self::Api(match details(&error) {
            Some((expected, got)) => rejected.with_expected(expected, got),
            None => rejected,
        })
    }
}

/// Returns the expected and the given value for an error whose text, from the reference, has neither value. Returns
/// `None` for other errors.
fn details(error: &AdmissionError) -> Option<(Value, Value)> {
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

impl From<TransactionRequestError> for CallError {
    fn from(error: TransactionRequestError) -> Self {
        use TransactionRequestError as Error;
        let code = match &error {
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
            _ => RpcErrorCode::INVALID_PARAMETER,
        };
        let rejected = RpcError::new(code, error.to_string());
        Self::Api(if let Error::Checksum(error) = error {
            rejected.with_expected(error.expected(), error.got())
        } else {
            rejected
        })
    }
}

impl From<SimulatedTransactionError> for CallError {
    fn from(error: SimulatedTransactionError) -> Self {
        Self::with_text_of(RpcErrorCode::INVALID_PARAMETER, &error)
    }
}
