//! The builder of payments, deployments and calls.

use alloc::string::{String, ToString};

use super::{Signer, Transaction, UnsignedTransaction};
use crate::{
    address::Address,
    amount::Qa,
    contract::{InitData, TransitionCall},
    gas::{Gas, GasPrice},
    key::PublicKey,
    number::Nonce,
    version::{ChainId, Version},
};

/// Reason why a transaction cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A value without default is absent.
    #[error("transaction has no {member}")]
    Missing {
        /// The method of [`TransactionBuilder`] that sets the value.
        member: &'static str,
    },
}

/// Reason why a transaction cannot be built and signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignTransactionError<E: core::error::Error + 'static> {
    /// The transaction is not complete.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The signer did not sign.
    #[error("cannot sign the transaction")]
    Signer(#[source] E),
}

/// The values of a transaction before the sender signs it.
///
/// [`chain_id`](Self::chain_id) and [`nonce`](Self::nonce) are required. The default gas price is 2000 Li, the floor of
/// the gas price (Reference: execution#gas-price). The default gas limit is 50 for a payment, 10000 for a call and
/// 50000 for a deployment.
///
/// # Examples
///
/// ```
/// use silica_protocol::{Address, BuildError, Gas, PublicKey, Qa, Transaction};
/// let payment = Transaction::payment(Address::new([7; 20]), Qa::parse("1.5 ZIL")?).chain_id(222);
/// let sender = PublicKey::new([2; 33]);
/// assert_eq!(payment.clone().build(sender), Err(BuildError::Missing { member: "nonce" }));
/// assert_eq!(payment.nonce(7).build(sender)?.gas_limit, Gas::new(50));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct TransactionBuilder {
    chain_id: Option<ChainId>,
    nonce: Option<Nonce>,
    to: Address,
    amount: Qa,
    gas_price: GasPrice,
    gas_limit: Gas,
    code: String,
    data: String,
}

impl Transaction {
    /// Begins a payment of `amount` to `to`.
    pub const fn payment(to: Address, amount: Qa) -> TransactionBuilder {
        TransactionBuilder {
            chain_id: None,
            nonce: None,
            to,
            amount,
            gas_price: GasPrice::new(Qa::new(2_000_000_000)),
            gas_limit: Gas::new(50),
            code: String::new(),
            data: String::new(),
        }
    }

    /// Begins the deployment of a contract or library with this source code.
    pub fn deploy(code: impl Into<String>, init: &InitData) -> TransactionBuilder {
        TransactionBuilder {
            gas_limit: Gas::new(50_000),
            code: code.into(),
            data: init.to_string(),
            ..Self::payment(Address::ZERO, Qa::ZERO)
        }
    }

    /// Begins the call of a transition of `contract`.
    pub fn call(contract: Address, call: &TransitionCall) -> TransactionBuilder {
        TransactionBuilder { gas_limit: Gas::new(10_000), data: call.to_string(), ..Self::payment(contract, Qa::ZERO) }
    }
}

impl TransactionBuilder {
    /// Sets the chain id of the network.
    pub fn chain_id(mut self, id: impl Into<ChainId>) -> Self {
        self.chain_id = Some(id.into());
        self
    }

    /// Sets the nonce of the transaction: the nonce of the account of the sender plus 1.
    pub fn nonce(mut self, nonce: impl Into<Nonce>) -> Self {
        self.nonce = Some(nonce.into());
        self
    }

    /// Sets the amount of the transaction. A deployment or call has amount 0 without this function.
    pub const fn amount(mut self, amount: Qa) -> Self {
        self.amount = amount;
        self
    }

    /// Sets the gas price.
    pub fn gas_price(mut self, price: impl Into<GasPrice>) -> Self {
        self.gas_price = price.into();
        self
    }

    /// Sets the gas limit.
    pub fn gas_limit(mut self, limit: impl Into<Gas>) -> Self {
        self.gas_limit = limit.into();
        self
    }

    /// Returns the transaction without a signature.
    ///
    /// # Errors
    ///
    /// [`BuildError::Missing`] names a required value that is absent.
    pub fn build(self, sender: PublicKey) -> Result<UnsignedTransaction, BuildError> {
        let Self { chain_id, nonce, to, amount, gas_price, gas_limit, code, data } = self;
        let missing = |member| BuildError::Missing { member };
        Ok(UnsignedTransaction {
            version: Version::of_chain(chain_id.ok_or(missing("chain_id"))?),
            nonce: nonce.ok_or(missing("nonce"))?,
            to,
            amount,
            gas_price,
            gas_limit,
            code,
            data,
            sender_key: sender,
        })
    }

    /// Returns the transaction with a signature of `signer`. The sender is the account of the key of `signer`.
    ///
    /// # Errors
    ///
    /// [`SignTransactionError`]: a required value is absent, or the signer did not sign.
    pub fn sign<S: Signer + ?Sized>(self, signer: &S) -> Result<Transaction, SignTransactionError<S::Error>> {
        self.build(signer.public_key())?.sign(signer).map_err(SignTransactionError::Signer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{key::Signature, transaction::TransactionKind};

    #[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
    #[error("device is locked")]
    struct Locked;

    /// Signs with bytes that equal the length of the payload, or returns an error if the device is locked.
    struct Device {
        is_locked: bool,
    }

    impl Signer for Device {
        type Error = Locked;

        fn public_key(&self) -> PublicKey {
            PublicKey::new([3; 33])
        }

        fn sign(&self, payload: &[u8]) -> Result<Signature, Locked> {
            let last = u8::try_from(payload.len()).unwrap();
            if self.is_locked { Err(Locked) } else { Ok(Signature::new([last; 64])) }
        }
    }

    fn payment() -> TransactionBuilder {
        Transaction::payment(Address::new([7; 20]), Qa::new(5))
    }

    #[test]
    fn missing_values_are_named() {
        let chain_id = SignTransactionError::Build(BuildError::Missing { member: "chain_id" });
        assert_eq!(payment().nonce(1).sign(&Device { is_locked: false }), Err(chain_id));
        assert_eq!(chain_id.to_string(), "transaction has no chain_id");
        let nonce = BuildError::Missing { member: "nonce" };
        assert_eq!(payment().chain_id(ChainId::new(1)).build(PublicKey::ZERO), Err(nonce));
    }

    #[test]
    fn signer_is_the_sender() {
        let complete = payment().chain_id(ChainId::new(1)).nonce(1);
        let signed = complete.clone().sign(&Device { is_locked: false }).unwrap();
        assert_eq!(signed.sender_key, PublicKey::new([3; 33]));
        assert_eq!(usize::from(signed.signature().to_bytes()[0]), signed.signing_payload().len());
        assert_eq!(complete.sign(&Device { is_locked: true }), Err(SignTransactionError::Signer(Locked)));
    }

    #[test]
    fn kinds_have_their_gas_limits() {
        let check = |builder: TransactionBuilder, kind, limit| {
            let built = builder.chain_id(ChainId::new(1)).nonce(1).build(PublicKey::ZERO).unwrap();
            assert_eq!((built.kind(), built.gas_limit), (Some(kind), Gas::new(limit)));
            assert_eq!(built.gas_price, GasPrice::new(Qa::from_li(2000).unwrap()));
        };
        let call = TransitionCall::new("Go");
        check(payment(), TransactionKind::Payment, 50);
        check(Transaction::deploy("code", &InitData::builder().build()), TransactionKind::Deployment, 50_000);
        check(Transaction::call(Address::new([7; 20]), &call), TransactionKind::Call, 10_000);
        check(payment().gas_limit(9), TransactionKind::Payment, 9);
    }
}
