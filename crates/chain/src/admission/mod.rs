//! Admission: checks a `Transaction`, and returns a `VerifiedTransaction` or the reason of a rejection.
//!
//! The checks and their order are those of a lookup node of the reference (Reference: execution#admission-16). So a
//! transaction with several faults gets the same error as on the reference. The check of row 15 applies only to
//! generation 9.3, where Ethereum transactions have their own message versions. Generation 8.1 rejects these message
//! versions in the check of row 17.
//!
//! The signature is verified before any account is read, and no lock is held during the verification. So invalid
//! signatures do not delay other requests.

mod error;

use std::sync::Arc;

use silica_protocol::{
    Account, Address, Gas, GasPrice, Nonce, PublicKey, Qa, ShardId, Signature, Transaction, TransactionKind, TxHash,
    UnsignedTransaction, Version, sha256,
};

pub use self::error::{AdmissionError, InvalidTransaction};
use crate::{
    accounts::Accounts,
    config::{ChainConfig, NoncePolicy},
};

/// A transaction that passed all checks of admission, with the results of the checks.
///
/// A clone is cheap, because it shares the transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedTransaction {
    transaction: Arc<Transaction>,
    hash: TxHash,
    sender: Address,
    kind: TransactionKind,
    routing: Routing,
    committee: ShardId,
}

/// A transaction without a signature. It passed all checks of admission except the check of the signature.
///
/// Only a simulation can execute this type. It is not a [`VerifiedTransaction`], so neither the pool nor a block
/// accepts it.
#[derive(Debug)]
pub(crate) struct SimulatedTransaction(VerifiedTransaction);

impl SimulatedTransaction {
    /// Returns the transaction in the form that the executor needs.
    pub(crate) fn assume_verified(&self) -> &VerifiedTransaction {
        &self.0
    }
}

/// The committee of a transaction, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// A payment. The shard of the sender executes it.
    Payment,
    /// A deployment. The shard of the sender executes it.
    Deployment,
    /// A call without priority whose sender and contract have the same shard. This shard executes the call.
    CallInShard,
    /// A call whose sender and contract have different shards, or a call with priority. The DS committee executes the
    /// call.
    CallToDs,
}

impl VerifiedTransaction {
    /// Returns the transaction that passed admission.
    pub fn transaction(&self) -> &Arc<Transaction> {
        &self.transaction
    }

    /// Returns the hash of the transaction.
    pub fn hash(&self) -> TxHash {
        self.hash
    }

    /// Returns the address of the sender.
    pub fn sender(&self) -> Address {
        self.sender
    }

    /// Returns the transaction kind.
    pub fn kind(&self) -> TransactionKind {
        self.kind
    }

    /// Returns the committee of the transaction, and the reason.
    pub fn routing(&self) -> Routing {
        self.routing
    }

    /// Returns the sum of amount and deposit, which admission compares with the balance.
    pub(crate) fn cost(&self) -> Qa {
        // Admission rejects a sum above 128 bits.
        cost(&self.transaction).unwrap_or(Qa::MAX)
    }

    /// Returns the committee that executes the transaction. The DS committee has the number after the last shard.
    pub fn committee(&self) -> ShardId {
        self.committee
    }
}

#[cfg(test)]
impl VerifiedTransaction {
    /// Returns a transaction for `committee` without any check.
    pub(crate) fn unchecked(transaction: Transaction, committee: ShardId) -> Self {
        let (hash, sender) = (transaction.hash(), transaction.sender());
        let kind = transaction.kind().unwrap();
        let routing = if committee.get() == 0 { Routing::Payment } else { Routing::CallToDs };
        Self { transaction: Arc::new(transaction), hash, sender, kind, routing, committee }
    }
}

impl VerifiedTransaction {
    /// Checks a transaction of a block that another node made. The transaction is in the micro block of `committee`.
    /// The execution makes the checks that read the state.
    ///
    /// `admitted` is a transaction that this node admitted, or `None`. If the two transactions are equal, including the
    /// bytes of their signatures, the signature is not verified again.
    pub(crate) fn in_block(
        transaction: &Transaction,
        admitted: Option<&Self>,
        committee: ShardId,
        config: &ChainConfig,
    ) -> Result<Self, InvalidTransaction> {
        let form = |source| InvalidTransaction::Form { source: Box::new(source) };
        check_form(transaction, config).map_err(form)?;
        let (hash, transaction) = match admitted.filter(|admitted| admitted.proves(transaction)) {
            Some(admitted) => (admitted.hash, Arc::clone(&admitted.transaction)),
            None => (check_author(transaction, config).map_err(form)?, Arc::new(transaction.clone())),
        };
        let kind = transaction.kind().ok_or(InvalidTransaction::NoKind)?;
        let sender = transaction.sender();
        let priority = committee.get() == config.shards;
        let (routing, expected) = Routing::new(kind, &sender, &transaction.to, priority, config.shards);
        if committee != expected {
            return Err(InvalidTransaction::Committee { expected, got: committee });
        }
        Ok(Self { transaction, hash, sender, kind, routing, committee })
    }

    /// Returns whether the admission of this transaction verified the signature of `transaction`.
    fn proves(&self, transaction: &Transaction) -> bool {
        // The hash does not cover the signature, so the comparison includes the signature. The configuration decides
        // whether a transaction without a signature is valid, so its admission proves nothing.
        *self.transaction == *transaction && transaction.sender_key.impersonated().is_none()
    }
}

impl VerifiedTransaction {
    /// Returns a transaction of the micro block of `committee` in the record, or `None` if the transaction is neither a
    /// payment, nor a deployment, nor a call. There are no other checks, because the node verified the block of the
    /// transaction before the write.
    pub(crate) fn recorded(
        transaction: Transaction,
        hash: TxHash,
        committee: ShardId,
        config: &ChainConfig,
    ) -> Option<Self> {
        let (kind, sender) = (transaction.kind()?, transaction.sender());
        let priority = committee.get() == config.shards;
        let (routing, _) = Routing::new(kind, &sender, &transaction.to, priority, config.shards);
        Some(Self { transaction: Arc::new(transaction), hash, sender, kind, routing, committee })
    }
}

impl Routing {
    /// Routes a transaction on a chain of `shards` virtual shards (Reference: execution#routing).
    fn new(kind: TransactionKind, sender: &Address, to: &Address, priority: bool, shards: u32) -> (Self, ShardId) {
        let home = sender.shard(shards);
        match kind {
            TransactionKind::Payment => (Self::Payment, home),
            TransactionKind::Deployment => (Self::Deployment, home),
            TransactionKind::Call if !priority && to.shard(shards) == home => (Self::CallInShard, home),
            TransactionKind::Call => (Self::CallToDs, ShardId::new(shards)),
        }
    }
}

/// The input of admission: the parameters of the chain, the minimum gas price, and a state.
pub(crate) struct AdmissionContext<'a, A> {
    pub(crate) config: &'a ChainConfig,
    pub(crate) minimum_price: GasPrice,
    pub(crate) nonces: NoncePolicy,
    pub(crate) accounts: &'a A,
}

impl<A: Accounts> AdmissionContext<'_, A> {
    /// Checks a signed transaction. `priority` requests the DS committee.
    pub(crate) fn admit(
        &self,
        transaction: Transaction,
        priority: bool,
    ) -> Result<VerifiedTransaction, AdmissionError> {
        check_form(&transaction, self.config)?;
        self.check_price(&transaction)?;
        let hash = check_signature(&transaction)?;
        let sender = transaction.sender();
        let account = self.sender(&sender)?;
        let (kind, routing, committee) = self.check_state(&transaction, &sender, &account, priority)?;
        Ok(VerifiedTransaction { transaction: Arc::new(transaction), hash, sender, kind, routing, committee })
    }

    /// Checks a transaction that was pending before a restart, with or without a signature.
    pub(crate) fn admit_again(
        &self,
        transaction: Transaction,
        priority: bool,
    ) -> Result<VerifiedTransaction, AdmissionError> {
        match transaction.sender_key.impersonated() {
            Some(sender) => self.impersonate(transaction.into_unsigned(), sender, priority),
            None => self.admit(transaction, priority),
        }
    }

    /// Checks a transaction of `sender` without a signature. Fails if the network does not permit such transactions.
    pub(crate) fn impersonate(
        &self,
        mut transaction: UnsignedTransaction,
        sender: Address,
        priority: bool,
    ) -> Result<VerifiedTransaction, AdmissionError> {
        check_form(&transaction, self.config)?;
        self.check_price(&transaction)?;
        transaction.sender_key = PublicKey::in_place_of(&sender);
        let transaction = transaction.with_signature(Signature::ZERO);
        let hash = check_author(&transaction, self.config)?;
        let account = self.sender(&sender)?;
        let (kind, routing, committee) = self.check_state(&transaction, &sender, &account, priority)?;
        Ok(VerifiedTransaction { transaction: Arc::new(transaction), hash, sender, kind, routing, committee })
    }

    /// Checks a transaction of `sender` without a signature for a simulation. The transaction gets the next nonce of
    /// the account.
    pub(crate) fn admit_simulated(
        &self,
        mut transaction: UnsignedTransaction,
        sender: Address,
        priority: bool,
    ) -> Result<SimulatedTransaction, AdmissionError> {
        check_form(&transaction, self.config)?;
        self.check_price(&transaction)?;
        let account = self.sender(&sender)?;
        transaction.nonce = account.nonce.next().unwrap_or(account.nonce);
        let (kind, routing, committee) = self.check_state(&transaction, &sender, &account, priority)?;
        let transaction = transaction.with_signature(Signature::ZERO);
        let hash = transaction.hash();
        Ok(SimulatedTransaction(VerifiedTransaction {
            transaction: Arc::new(transaction),
            hash,
            sender,
            kind,
            routing,
            committee,
        }))
    }

    fn check_price(&self, transaction: &UnsignedTransaction) -> Result<(), AdmissionError> {
        let (got, minimum) = (transaction.gas_price, self.minimum_price);
        if got < minimum { Err(AdmissionError::GasPriceTooLow { got, minimum }) } else { Ok(()) }
    }

    /// Makes the checks that follow the look-up of the sender.
    fn check_state(
        &self,
        transaction: &UnsignedTransaction,
        sender: &Address,
        account: &Account,
        priority: bool,
    ) -> Result<(TransactionKind, Routing, ShardId), AdmissionError> {
        let kind = transaction.kind();
        self.check_gas_minimum(transaction, kind)?;
        self.check_nonce(transaction.nonce, account.nonce)?;
        check_funds(transaction, account)?;
        let kind = self.check_kind(transaction, kind)?;
        let (routing, committee) = Routing::new(kind, sender, &transaction.to, priority, self.config.shards);
        self.check_call(transaction, kind, routing)?;
        Ok((kind, routing, committee))
    }

    /// Returns the lowest gas limit that the kind of the transaction permits, and the highest that its committee
    /// permits.
    pub(crate) fn gas_limits(&self, tx: &UnsignedTransaction, sender: &Address, priority: bool) -> (Gas, Gas) {
        let ChainConfig { rules, shards, shard_gas_limit, ds_gas_limit, .. } = self.config;
        let Some(kind) = tx.kind() else { return (rules.payment_gas, *shard_gas_limit) };
        let least = rules.least_gas(kind, tx);
        match Routing::new(kind, sender, &tx.to, priority, *shards).0 {
            Routing::CallToDs => (least, *ds_gas_limit),
            Routing::Payment | Routing::Deployment | Routing::CallInShard => (least, *shard_gas_limit),
        }
    }

    fn sender(&self, sender: &Address) -> Result<Account, AdmissionError> {
        if sender.is_zero() {
            return Err(AdmissionError::NullSender);
        }
        self.accounts.account(sender)?.ok_or(AdmissionError::UnknownSender { sender: *sender })
    }

    fn check_gas_minimum(&self, tx: &UnsignedTransaction, kind: Option<TransactionKind>) -> Result<(), AdmissionError> {
        let Some(kind) = kind else { return Ok(()) };
        let (rules, got) = (&self.config.rules, tx.gas_limit);
        let minimum = rules.least_gas(kind, tx);
        if got >= minimum {
            return Ok(());
        }
        Err(match kind {
            // The text of the reference has the constant, although the bytes of the data can require more.
            TransactionKind::Call => AdmissionError::CallGasTooLow { got, minimum: rules.call_gas },
            TransactionKind::Deployment => AdmissionError::DeploymentGasTooLow { got, minimum },
            TransactionKind::Payment => AdmissionError::PaymentGasTooLow { got, minimum },
        })
    }

    fn check_nonce(&self, got: Nonce, current: Nonce) -> Result<(), AdmissionError> {
        if got <= current {
            return Err(AdmissionError::NonceTooLow { got, current });
        }
        match (self.nonces, current.next()) {
            (NoncePolicy::Exact, Some(expected)) if got != expected => Err(AdmissionError::NonceGap { got, expected }),
            (NoncePolicy::Exact | NoncePolicy::Queue, _) => Ok(()),
        }
    }

    /// Makes the checks that depend on the transaction kind. The check whether the chain executes contracts comes last.
    fn check_kind(
        &self,
        tx: &UnsignedTransaction,
        kind: Option<TransactionKind>,
    ) -> Result<TransactionKind, AdmissionError> {
        let kind = kind.ok_or(AdmissionError::NoKind)?;
        let most = self.config.shard_gas_limit;
        if kind != TransactionKind::Call && tx.gas_limit > most {
            return Err(AdmissionError::GasLimitTooHigh { got: tx.gas_limit, most });
        }
        match kind {
            TransactionKind::Payment if self.is_contract(&tx.to)?.unwrap_or(false) => {
                Err(AdmissionError::RecipientIsContract { recipient: tx.to })
            }
            TransactionKind::Deployment | TransactionKind::Call if !self.config.rules.contracts => {
                Err(AdmissionError::ContractsDisabled)
            }
            TransactionKind::Payment | TransactionKind::Deployment | TransactionKind::Call => Ok(kind),
        }
    }

    fn check_call(
        &self,
        tx: &UnsignedTransaction,
        kind: TransactionKind,
        routing: Routing,
    ) -> Result<(), AdmissionError> {
        if kind != TransactionKind::Call {
            return Ok(());
        }
        match self.is_contract(&tx.to)? {
            None => return Err(AdmissionError::UnknownContract { recipient: tx.to }),
            Some(false) => return Err(AdmissionError::NotAContract { recipient: tx.to }),
            Some(true) => {}
        }
        let (got, shard, ds) = (tx.gas_limit, self.config.shard_gas_limit, self.config.ds_gas_limit);
        match routing {
            Routing::CallInShard if got > shard => Err(AdmissionError::ShardGasLimit { got, most: shard }),
            Routing::CallToDs if got > ds => Err(AdmissionError::DsGasLimit { got, most: ds }),
            Routing::Payment | Routing::Deployment | Routing::CallInShard | Routing::CallToDs => Ok(()),
        }
    }

    /// Returns whether the account has code, or `None` if the account does not exist.
    fn is_contract(&self, address: &Address) -> Result<Option<bool>, AdmissionError> {
        Ok(self.accounts.account(address)?.map(|account| account.contract.is_some()))
    }
}

/// Makes the checks that do not depend on the state: chain id, message version, size of the code.
fn check_form(tx: &UnsignedTransaction, config: &ChainConfig) -> Result<(), AdmissionError> {
    if tx.version.chain_id() != config.chain_id {
        return Err(AdmissionError::ChainId { got: tx.version.chain_id(), expected: config.chain_id });
    }
    if tx.version.message_version() != Version::MESSAGE {
        return Err(AdmissionError::MessageVersion { got: tx.version.message_version(), expected: Version::MESSAGE });
    }
    let most = config.rules.max_code_bytes;
    match u64::try_from(tx.code.len()) {
        Ok(got) if got <= most => Ok(()),
        Ok(_) | Err(_) => Err(AdmissionError::CodeTooLarge { got: tx.code.len(), most }),
    }
}

/// Verifies the signature, and returns the hash of the transaction.
fn check_signature(tx: &Transaction) -> Result<TxHash, AdmissionError> {
    let signed = tx.signing_payload();
    silica_crypto::verify(&signed, &tx.signature(), &tx.sender_key).map_err(AdmissionError::Signature)?;
    Ok(TxHash::new(sha256(&[&signed])))
}

/// Verifies the signature, and returns the hash of the transaction. On a network with edits, a transaction without a
/// signature is valid too.
fn check_author(tx: &Transaction, config: &ChainConfig) -> Result<TxHash, AdmissionError> {
    let needs_none = config.edits && tx.sender_key.impersonated().is_some() && tx.signature() == Signature::ZERO;
    if needs_none { Ok(tx.hash()) } else { check_signature(tx) }
}

/// Returns the sum of deposit and amount.
fn cost(tx: &UnsignedTransaction) -> Result<Qa, AdmissionError> {
    let deposit = tx.gas_limit.checked_cost(tx.gas_price).ok_or(AdmissionError::DepositOverflow)?;
    deposit.checked_add(tx.amount).ok_or(AdmissionError::TotalOverflow)
}

fn check_funds(tx: &UnsignedTransaction, account: &Account) -> Result<(), AdmissionError> {
    let needed = cost(tx)?;
    if account.balance < needed {
        return Err(AdmissionError::InsufficientFunds { needed, balance: account.balance });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use silica_protocol::{ChainId, Gas};

    use super::*;
    use crate::testing::{PRICE, account, address, contract, key, payment, signed};

    const SENDER: u8 = 1;
    const CONTRACT: Address = Address::new([0xc0; 20]);
    const STRANGER: Address = Address::new([0x0b; 20]);

    fn config() -> ChainConfig {
        let mut config = ChainConfig::isolated();
        config.policy.nonces = NoncePolicy::Queue;
        config.rules.contracts = false;
        config
    }

    fn with_contracts() -> ChainConfig {
        let mut config = config();
        config.rules.contracts = true;
        config
    }

    fn state() -> BTreeMap<Address, Account> {
        BTreeMap::from([
            (address(SENDER), account(10_u128.pow(18), 4)),
            (address(2), account(5, 0)),
            (CONTRACT, contract()),
        ])
    }

    fn admit_on(config: &ChainConfig, transaction: Transaction, priority: bool) -> Result<VerifiedTransaction, String> {
        let minimum_price = GasPrice::new(Qa::new(PRICE));
        let admission_context =
            AdmissionContext { config, minimum_price, nonces: config.policy.nonces, accounts: &state() };
        admission_context.admit(transaction, priority).map_err(|error| error.to_string())
    }

    fn check_on(config: &ChainConfig, transaction: UnsignedTransaction, expected: &str) {
        assert_eq!(admit_on(config, signed(SENDER, transaction), false).unwrap_err(), expected);
    }

    /// Returns a payment that passes admission.
    fn good() -> UnsignedTransaction {
        UnsignedTransaction { nonce: Nonce::new(5), ..payment(SENDER, address(2)) }
    }

    /// Returns a call that passes admission on a chain with contracts.
    fn call() -> UnsignedTransaction {
        UnsignedTransaction { to: CONTRACT, data: "{}".to_owned(), gas_limit: Gas::new(1_000), ..good() }
    }

    fn deployment() -> UnsignedTransaction {
        let code = "scilla_version 0".to_owned();
        UnsignedTransaction { to: Address::ZERO, code, data: "[]".to_owned(), gas_limit: Gas::new(1_000), ..good() }
    }

    fn check(transaction: UnsignedTransaction, expected: &str) {
        check_on(&config(), transaction, expected);
    }

    #[test]
    fn a_good_payment_is_admitted_with_what_was_computed() {
        let transaction = signed(SENDER, good());
        let verified = admit_on(&config(), transaction.clone(), false).unwrap();
        assert_eq!(verified.hash(), transaction.hash());
        assert_eq!(verified.sender(), address(SENDER));
        assert_eq!(verified.kind(), TransactionKind::Payment);
        assert_eq!(verified.committee(), ShardId::new(0));
        assert_eq!(**verified.transaction(), transaction);
    }

    #[test]
    fn row_16_chain_id() {
        check(UnsignedTransaction { version: Version::of_chain(ChainId::new(1)), ..good() }, "CHAIN_ID incorrect");
    }

    #[test]
    fn row_17_message_version_and_with_it_row_15_of_another_generation() {
        for (low, text) in [(0, "0"), (2, "2"), (3, "3"), (9, "9")] {
            let version = Version::from_packed(222 << 16 | low);
            check(
                UnsignedTransaction { version, ..good() },
                &format!("Transaction version incorrect, Expected:1 Actual:{text}"),
            );
        }
    }

    #[test]
    fn row_18_code_size() {
        let with_code =
            |length| UnsignedTransaction { code: "x".repeat(length), gas_limit: Gas::new(100_000), ..deployment() };
        check(with_code(76_801), "Code size is too large");
        check_on(&config(), with_code(76_800), "Smart contract is disabled");
    }

    #[test]
    fn row_19_gas_price() {
        let gas_price = GasPrice::new(Qa::new(PRICE - 1));
        check(
            UnsignedTransaction { gas_price, ..good() },
            "GasPrice 1999999999 lower than minimum allowable 2000000000",
        );
    }

    #[test]
    fn row_20_signature_and_key() {
        let text = "Unable to verify transaction";
        let signature = signed(SENDER, good()).signature();
        let changed = UnsignedTransaction { amount: Qa::new(2), ..good() }.with_signature(signature);
        assert_eq!(admit_on(&config(), changed, false).unwrap_err(), text);
        let unsigned = good().with_signature(Signature::ZERO);
        assert_eq!(admit_on(&config(), unsigned, false).unwrap_err(), text);
        let sender_key = PublicKey::new([5; 33]);
        let no_point = UnsignedTransaction { sender_key, ..good() }.with_signature(signature);
        assert_eq!(admit_on(&config(), no_point, false).unwrap_err(), text);
    }

    #[test]
    fn block_needs_no_signature_again_that_admission_verified() {
        let config = ChainConfig { shards: 1, ..config() };
        let home = ShardId::new(0);
        let check = |transaction: UnsignedTransaction, admitted: UnsignedTransaction, config: &ChainConfig| {
            let admitted = VerifiedTransaction::unchecked(admitted.with_signature(Signature::ZERO), home);
            let transaction = transaction.with_signature(Signature::ZERO);
            let checked = VerifiedTransaction::in_block(&transaction, Some(&admitted), home, config);
            checked.map_err(|error| std::error::Error::source(&error).unwrap().to_string())
        };
        assert_eq!(check(good(), good(), &config).unwrap().hash(), good().hash());
        // All bytes must be equal, and the checks of the form remain.
        let text = "Unable to verify transaction";
        let changed = UnsignedTransaction { amount: Qa::new(2), ..good() };
        assert_eq!(check(changed, good(), &config).unwrap_err(), text);
        let foreign = UnsignedTransaction { version: Version::of_chain(ChainId::new(1)), ..good() };
        assert_eq!(check(foreign.clone(), foreign, &config).unwrap_err(), "CHAIN_ID incorrect");
        // Only a chain with edits permits transactions without a signature, whatever the pool contains.
        let impersonated = UnsignedTransaction { sender_key: PublicKey::in_place_of(&address(SENDER)), ..good() };
        let without_edits = ChainConfig { edits: false, ..config };
        assert_eq!(check(impersonated.clone(), impersonated.clone(), &without_edits).unwrap_err(), text);
        let with_edits = ChainConfig { edits: true, ..without_edits };
        check(impersonated.clone(), impersonated, &with_edits).unwrap();
    }

    #[test]
    fn row_21_the_null_account_cannot_send() {
        // No key has this address, so the test calls the check directly.
        let config = config();
        let admission_context = AdmissionContext {
            config: &config,
            minimum_price: GasPrice::default(),
            nonces: NoncePolicy::Queue,
            accounts: &state(),
        };
        let error = admission_context.sender(&Address::ZERO).unwrap_err();
        assert_eq!(error.to_string(), "Invalid address for issuing transactions");
    }

    #[test]
    fn row_22_unknown_sender() {
        let error = admit_on(&config(), signed(9, good()), false).unwrap_err();
        assert_eq!(error, "The sender of the txn has no balance");
    }

    #[test]
    fn row_23_gas_of_a_call() {
        let text = "Gas limit (9) lower than minimum for invoking contract (10)";
        check(UnsignedTransaction { gas_limit: Gas::new(9), ..call() }, text);
        let long = UnsignedTransaction { data: "x".repeat(20), gas_limit: Gas::new(19), ..call() };
        check(long, "Gas limit (19) lower than minimum for invoking contract (10)");
        check_on(&config(), UnsignedTransaction { gas_limit: Gas::new(10), ..call() }, "Smart contract is disabled");
    }

    #[test]
    fn row_24_gas_of_a_deployment() {
        let text = "Gas limit (49) lower than minimum for creating contract (50)";
        check(UnsignedTransaction { gas_limit: Gas::new(49), ..deployment() }, text);
        let long =
            |gas| UnsignedTransaction { code: "x".repeat(60), data: "y".repeat(40), gas_limit: gas, ..deployment() };
        check(long(Gas::new(99)), "Gas limit (99) lower than minimum for creating contract (100)");
        check(long(Gas::new(100)), "Smart contract is disabled");
    }

    #[test]
    fn row_25_gas_of_a_payment() {
        let text = "Gas limit (49) lower than minimum for payment transaction (50)";
        check(UnsignedTransaction { gas_limit: Gas::new(49), ..good() }, text);
    }

    #[test]
    fn row_26_used_nonces() {
        check(UnsignedTransaction { nonce: Nonce::new(4), ..good() }, "Nonce (4) lower than current (4)");
        check(UnsignedTransaction { nonce: Nonce::new(0), ..good() }, "Nonce (0) lower than current (4)");
    }

    #[test]
    fn after_row_26_gaps_wait_or_are_refused() {
        let gap = || signed(SENDER, UnsignedTransaction { nonce: Nonce::new(6), ..good() });
        assert!(admit_on(&config(), gap(), false).is_ok());
        let exact = ChainConfig::isolated();
        assert_eq!(admit_on(&exact, gap(), false).unwrap_err(), "Expected Nonce: 5");
        assert!(admit_on(&exact, signed(SENDER, good()), false).is_ok());
    }

    #[test]
    fn row_27_deposit_overflow() {
        let gas_price = GasPrice::new(Qa::new(u128::MAX / 50 + 1));
        check(UnsignedTransaction { gas_price, ..good() }, "tx.GetGasLimit() * tx.GetGasPrice() overflow!");
    }

    #[test]
    fn row_28_total_overflow() {
        let gas_price = GasPrice::new(Qa::new(u128::MAX / 50));
        let text = "tx.GetGasLimit() * tx.GetGasPrice() + tx.GetAmount() overflow!";
        check(UnsignedTransaction { gas_price, amount: Qa::new(100), ..good() }, text);
    }

    #[test]
    fn row_29_funds_for_all_the_gas_and_the_amount() {
        let deposit = 50 * PRICE;
        let all = 10_u128.pow(18) - deposit;
        check(UnsignedTransaction { amount: Qa::new(all + 1), ..good() }, "Insufficient funds in source account!");
        assert!(
            admit_on(&config(), signed(SENDER, UnsignedTransaction { amount: Qa::new(all), ..good() }), false).is_ok()
        );
    }

    #[test]
    fn row_30_gas_limit_of_payments_and_deployments() {
        let text = "Txn gas limit 400001 greater than microblock gas limit400000";
        check(UnsignedTransaction { gas_limit: Gas::new(400_001), ..good() }, text);
        check(UnsignedTransaction { gas_limit: Gas::new(400_001), ..deployment() }, text);
        let most = UnsignedTransaction { gas_limit: Gas::new(400_000), ..good() };
        assert!(admit_on(&config(), signed(SENDER, most), false).is_ok());
    }

    #[test]
    fn row_31_payment_to_a_contract() {
        check(UnsignedTransaction { to: CONTRACT, ..good() }, "Contract account won't accept normal txn");
    }

    #[test]
    fn row_32_contracts_are_disabled() {
        check(deployment(), "Smart contract is disabled");
        check(call(), "Smart contract is disabled");
        assert!(admit_on(&with_contracts(), signed(SENDER, deployment()), false).is_ok());
        assert!(admit_on(&with_contracts(), signed(SENDER, call()), false).is_ok());
    }

    #[test]
    fn row_33_call_to_nothing() {
        check_on(&with_contracts(), UnsignedTransaction { to: STRANGER, ..call() }, "To addr is null");
    }

    #[test]
    fn row_34_call_to_a_user() {
        check_on(&with_contracts(), UnsignedTransaction { to: address(2), ..call() }, "Non - contract address called");
    }

    #[test]
    fn row_35_gas_limit_of_calls_by_committee() {
        let config = with_contracts();
        let large = |gas| signed(SENDER, UnsignedTransaction { gas_limit: Gas::new(gas), ..call() });
        let shard = "txn gas limit exceeding shard maximum limit";
        let ds = "txn gas limit exceeding ds maximum limit";
        assert_eq!(admit_on(&config, large(400_001), false).unwrap_err(), shard);
        assert_eq!(admit_on(&config, large(500_001), true).unwrap_err(), ds);
        assert!(admit_on(&config, large(500_000), true).is_ok());
    }

    #[test]
    fn row_36_neither_payment_nor_deployment_nor_call() {
        let text = "Code is empty and To addr is null";
        check(UnsignedTransaction { to: Address::ZERO, ..good() }, text);
        check(UnsignedTransaction { to: Address::ZERO, data: "{}".to_owned(), ..good() }, text);
        check(UnsignedTransaction { to: address(2), ..deployment() }, text);
    }

    /// Starts with a payment that has all faults, and repairs one fault after the other.
    #[test]
    fn of_several_faults_the_first_in_the_order_of_rows_is_reported() {
        let mut tx = UnsignedTransaction {
            version: Version::from_packed(1 << 16 | 7),
            code: "x".repeat(76_801),
            gas_price: GasPrice::default(),
            gas_limit: Gas::new(49),
            nonce: Nonce::new(0),
            amount: Qa::MAX,
            to: CONTRACT,
            ..good()
        };
        // The transaction has another key and no signature.
        tx.sender_key = key(9).public_key();
        let mut steps = Vec::new();
        let mut note = |tx: Transaction| {
            steps.push(admit_on(&ChainConfig::isolated(), tx, false).unwrap_err());
        };
        let unsigned = |tx: &UnsignedTransaction| tx.clone().with_signature(Signature::ZERO);
        note(unsigned(&tx));
        tx.version = Version::from_packed(222 << 16 | 7);
        note(unsigned(&tx));
        tx.version = Version::of_chain(ChainId::new(222));
        note(unsigned(&tx));
        tx.code.clear();
        note(unsigned(&tx));
        tx.gas_price = GasPrice::new(Qa::new(PRICE));
        note(unsigned(&tx));
        note(signed(9, tx.clone()));
        note(signed(SENDER, tx.clone()));
        tx.gas_limit = Gas::new(400_001);
        note(signed(SENDER, tx.clone()));
        tx.nonce = Nonce::new(7);
        note(signed(SENDER, tx.clone()));
        tx.nonce = Nonce::new(5);
        tx.gas_price = GasPrice::new(Qa::MAX);
        note(signed(SENDER, tx.clone()));
        tx.gas_price = GasPrice::new(Qa::new(PRICE));
        note(signed(SENDER, tx.clone()));
        tx.amount = Qa::new(10_u128.pow(18));
        note(signed(SENDER, tx.clone()));
        tx.amount = Qa::new(1);
        note(signed(SENDER, tx.clone()));
        tx.gas_limit = Gas::new(50);
        note(signed(SENDER, tx.clone()));
        assert_eq!(
            steps,
            [
                "CHAIN_ID incorrect",
                "Transaction version incorrect, Expected:1 Actual:7",
                "Code size is too large",
                "GasPrice 0 lower than minimum allowable 2000000000",
                "Unable to verify transaction",
                "The sender of the txn has no balance",
                "Gas limit (49) lower than minimum for payment transaction (50)",
                "Nonce (0) lower than current (4)",
                "Expected Nonce: 5",
                "tx.GetGasLimit() * tx.GetGasPrice() overflow!",
                "tx.GetGasLimit() * tx.GetGasPrice() + tx.GetAmount() overflow!",
                "Insufficient funds in source account!",
                "Txn gas limit 400001 greater than microblock gas limit400000",
                "Contract account won't accept normal txn",
            ]
        );
    }

    #[test]
    fn of_several_faults_of_a_call_the_first_is_reported() {
        let config = with_contracts();
        let mut tx = UnsignedTransaction { gas_limit: Gas::new(500_001), to: STRANGER, ..call() };
        let text = |tx: &UnsignedTransaction| admit_on(&config, signed(SENDER, tx.clone()), true).unwrap_err();
        assert_eq!(text(&tx), "To addr is null");
        tx.to = address(2);
        assert_eq!(text(&tx), "Non - contract address called");
        tx.to = CONTRACT;
        assert_eq!(text(&tx), "txn gas limit exceeding ds maximum limit");
    }

    #[test]
    fn routing_follows_shards_and_priority() {
        let sender = Address::new([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4]);
        let same = Address::new([9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 0, 7]);
        let other = Address::new([9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 0, 5]);
        let check = |kind, to, priority, expected: Routing, committee| {
            let routed = Routing::new(kind, &sender, &to, priority, 3);
            assert_eq!(routed, (expected, ShardId::new(committee)), "{kind:?} to {to}");
        };
        check(TransactionKind::Payment, other, false, Routing::Payment, 1);
        check(TransactionKind::Payment, other, true, Routing::Payment, 1);
        check(TransactionKind::Deployment, Address::ZERO, false, Routing::Deployment, 1);
        check(TransactionKind::Call, same, false, Routing::CallInShard, 1);
        check(TransactionKind::Call, same, true, Routing::CallToDs, 3);
        check(TransactionKind::Call, other, false, Routing::CallToDs, 3);
    }
}
