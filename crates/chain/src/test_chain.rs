//! A chain for tests of programs and contracts: a network with one node, a store in memory, and a clock of its own.

use std::collections::BTreeMap;

use silica_crypto::{KeyPair, SecretKey, SignError};
use silica_protocol::{
    Account, Address, BlockNumber, ChainId, Nonce, Qa, Receipt, SignTransactionError, Timestamp, Transaction,
    TransactionBuilder, TransitionCall, TxHash, sha256,
};
use silica_scilla::{CompileError, CompileOptions, Contract, IntoParams, ParamError};
use silica_state::{ArchiveError, StateError, Store, StoreOptions};

use crate::{
    accounts_file::GenesisError,
    admission::AdmissionError,
    config::ChainConfig,
    consensus::{
        Application, CommitError, Effect, Engine, EngineError, Input, SealError, Solo, range_signer, seal_with,
    },
    executor::InterfaceError,
    genesis::{GENESIS_TOKENS, Genesis},
    handle::{Chain, SubmissionError},
    load::OpenError,
    open::open,
    pool::DropReason,
    producer::Producer,
    savepoint::{ChainSavepoint, RevertError},
    stage::{InvalidBlock, Proposal},
};

/// Genesis time of a chain without another start time, in microseconds since 1970.
const START: Timestamp = Timestamp::new(1_700_000_000_000_000);
/// Time between two actions, in microseconds.
const SECOND: u64 = 1_000_000;

/// A chain for tests: a network with one node and a store in memory.
///
/// The chain executes each transaction at once, in a separate block. All keys are deterministic, and the chain has its
/// own clock, which advances by one second for each action. Therefore each run of a test gives the same blocks.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use silica_chain::{TestChain, protocol::{Address, Qa}};
///
/// const CODE: &str = r#"
/// scilla_version 0
/// contract Counter (owner : ByStr20)
/// field count : Uint32 = Uint32 0
/// transition Set (value : Uint32)
///   count := value
/// end
/// "#;
///
/// let mut chain = TestChain::new();
/// let alice = chain.funded_account(Qa::from_zil(1_000)?)?;
/// chain.pay(&alice, Address::new([7; 20]), Qa::parse("1.5 ZIL")?)?;
///
/// let counter = chain.deploy(&alice, CODE, json!({ "owner": alice.address() }))?;
/// let called = chain.call(&alice, counter.address, "Set", json!({ "value": 5 }))?;
/// assert!(called.receipt.success);
/// assert_eq!(chain.contract_field(&counter.address, "count"), Some("5".into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TestChain {
    chain: Chain,
    producer: Producer,
    engine: Solo,
    node: KeyPair,
    genesis: Genesis,
    start: Timestamp,
    /// The time of the next action.
    next: Timestamp,
    faucet: KeyPair,
    /// Number of accounts that [`TestChain::funded_account`] has made.
    accounts: u64,
}

/// The values of a [`TestChain`] before it starts.
#[derive(Debug)]
#[must_use]
pub struct TestChainBuilder {
    config: ChainConfig,
    accounts: BTreeMap<Address, Account>,
    genesis: Option<Genesis>,
    node: KeyPair,
    store: Option<Store>,
    start: Timestamp,
}

/// An executed transaction.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Executed {
    /// The hash of the transaction.
    pub hash: TxHash,
    /// The receipt. It has the number of the block. Its member `success` states whether the transaction succeeded.
    pub receipt: Receipt,
}

/// A successful deployment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Deployed {
    /// The address of the contract.
    pub address: Address,
    /// The hash of the transaction.
    pub hash: TxHash,
    /// The receipt of the transaction.
    pub receipt: Receipt,
}

/// A state of a [`TestChain`], to which the chain can revert.
#[derive(Debug)]
pub struct TestSnapshot {
    savepoint: ChainSavepoint,
    next: Timestamp,
}

/// Reason why a [`TestChain`] did not execute an action.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestChainError {
    /// The genesis accounts are invalid.
    #[error(transparent)]
    Genesis(#[from] GenesisError),
    /// The chain cannot start with this configuration and this store.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A transaction is not complete or cannot be signed.
    #[error(transparent)]
    Sign(#[from] SignTransactionError<SignError>),
    /// A transaction is invalid.
    #[error(transparent)]
    Admission(#[from] AdmissionError),
    /// The pool rejected a transaction.
    #[error(transparent)]
    Submission(#[from] SubmissionError),
    /// No block could be made.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The code of a deployment is not a valid contract.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The called address has no contract.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// The parameters of a deployment or call do not match the contract.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// The called contract has no transition with this name.
    #[error("the contract has no transition {0}")]
    UnknownTransition(String),
    /// The chain dropped a transaction without a receipt.
    #[error("transaction {hash} was dropped: {reason:?}")]
    Dropped {
        /// The hash of the transaction.
        hash: TxHash,
        /// The reason of the drop.
        reason: DropReason,
    },
    /// A transaction is pending, for example because its nonce leaves a gap.
    #[error("transaction {hash} is pending")]
    Pending {
        /// The hash of the transaction.
        hash: TxHash,
    },
    /// A deployment, or the payment to a new account, failed. The receipt has the reason.
    #[error("transaction {hash} failed: {:?} {:?}", receipt.errors, receipt.exceptions)]
    Failed {
        /// The hash of the transaction.
        hash: TxHash,
        /// The receipt of the transaction.
        receipt: Box<Receipt>,
    },
    /// The state cannot be saved or restored.
    #[error(transparent)]
    Revert(#[from] RevertError),
}

/// Reason why a [`Replica`] rejects a block.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplicaError {
    /// A read of blocks failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The block does not follow the head of the replica, or its execution has another result.
    #[error(transparent)]
    Invalid(#[from] InvalidBlock),
    /// A signature is invalid.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The replica could not write the block.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl TestChain {
    /// Starts a chain with the configuration [`ChainConfig::isolated`].
    #[expect(clippy::missing_panics_doc, reason = "a test starts this chain")]
    pub fn new() -> Self {
        Self::builder().build().expect("a test starts this chain")
    }

    /// Returns a builder for a chain with other values.
    pub fn builder() -> TestChainBuilder {
        TestChainBuilder {
            config: ChainConfig::isolated(),
            accounts: BTreeMap::new(),
            genesis: None,
            node: key(b"node", 0),
            store: None,
            start: START,
        }
    }

    /// Creates an account with this balance. The key of the nth account of a chain is always the same.
    ///
    /// # Errors
    ///
    /// [`TestChainError`]: the sum of all these balances and of the fees of these payments exceeds [`GENESIS_TOKENS`],
    /// or the chain has [another genesis](TestChainBuilder::genesis).
    pub fn funded_account(&mut self, balance: Qa) -> Result<KeyPair, TestChainError> {
        let key = key(b"account", self.accounts);
        self.accounts = self.accounts.saturating_add(1);
        let faucet = self.faucet.clone();
        let Executed { hash, receipt } = self.pay(&faucet, key.address(), balance)?;
        if receipt.success { Ok(key) } else { Err(TestChainError::Failed { hash, receipt: Box::new(receipt) }) }
    }

    /// Pays `amount`.
    ///
    /// # Errors
    ///
    /// [`TestChainError`]: the transaction has no receipt.
    pub fn pay(&mut self, from: &KeyPair, to: Address, amount: Qa) -> Result<Executed, TestChainError> {
        self.send(from, Transaction::payment(to, amount))
    }

    /// Deploys a contract that imports only the standard library. The parameters get their declared types.
    /// [`send`](Self::send) deploys with other values, such as a gas limit, init data with other types, or invalid
    /// code.
    ///
    /// # Errors
    ///
    /// [`TestChainError::Compile`] and [`TestChainError::Params`]: the code or a parameter is invalid.
    /// [`TestChainError::Failed`]: the deployment failed. Another [`TestChainError`]: the transaction has no receipt.
    pub fn deploy(&mut self, from: &KeyPair, code: &str, params: impl IntoParams) -> Result<Deployed, TestChainError> {
        let address = Address::of_contract(&from.address(), self.nonce(&from.address()));
        let rules = self.chain.snapshot().next_scilla_rules();
        // The chain checks the gas, so this check has no limit.
        let options = CompileOptions::default().address(address).rules(rules).gas_limit(u64::MAX);
        let init = Contract::compile_with(code, &options)?.init_data(params)?;
        let Executed { hash, receipt } = self.send(from, Transaction::deploy(code, &init))?;
        if !receipt.success {
            return Err(TestChainError::Failed { hash, receipt: Box::new(receipt) });
        }
        Ok(Deployed { address, hash, receipt })
    }

    /// Calls a transition without money. The parameters get their declared types. [`send`](Self::send) calls with other
    /// values, such as an amount. The receipt states whether the call succeeded.
    ///
    /// # Errors
    ///
    /// [`TestChainError::Interface`], [`TestChainError::UnknownTransition`] and [`TestChainError::Params`]: the
    /// contract, the transition or a parameter does not exist. Another [`TestChainError`]: the transaction has no
    /// receipt.
    pub fn call(
        &mut self,
        from: &KeyPair,
        contract: Address,
        transition: &str,
        params: impl IntoParams,
    ) -> Result<Executed, TestChainError> {
        let interface = self.chain.snapshot().contract_interface(&contract)?;
        let declared = interface.transitions.iter().find(|declared| *declared.name == *transition);
        let declared = declared.ok_or_else(|| TestChainError::UnknownTransition(transition.to_owned()))?;
        let typed = params.into_params().typed(&declared.parameters, &interface.data_types)?;
        self.send(from, Transaction::call(contract, &TransitionCall::new(transition).params(typed)))
    }

    /// Completes, signs and executes a transaction. Sets its chain id, the next nonce of the sender, and the minimum
    /// gas price.
    ///
    /// # Errors
    ///
    /// [`TestChainError`]: the transaction has no receipt.
    pub fn send(&mut self, from: &KeyPair, transaction: TransactionBuilder) -> Result<Executed, TestChainError> {
        let nonce = Nonce::new(self.nonce(&from.address()).get().saturating_add(1));
        let price = self.chain.snapshot().minimum_gas_price();
        let transaction = transaction.chain_id(self.chain.config().chain_id).nonce(nonce).gas_price(price);
        self.submit(transaction.sign(from)?)
    }

    /// Executes a signed transaction.
    ///
    /// # Errors
    ///
    /// [`TestChainError`]: the transaction has no receipt.
    pub fn submit(&mut self, transaction: Transaction) -> Result<Executed, TestChainError> {
        let at = self.advance();
        let verified = self.chain.admit(transaction, false)?;
        let hash = self.chain.submit(verified, at)?.hash;
        for effect in self.engine.step(Input::Arrival(at), &mut self.producer)? {
            let (executed, dropped) = match &effect {
                Effect::Committed(block) => (block.transactions(), block.dropped()),
                Effect::Dropped(dropped) => (&[][..], &dropped[..]),
                Effect::Passed(_) => continue,
            };
            if let Some((_, receipt)) = executed.iter().find(|(transaction, _)| transaction.hash() == hash) {
                return Ok(Executed { hash, receipt: receipt.clone() });
            }
            if let Some((_, reason)) = dropped.iter().find(|(transaction, _)| transaction.hash() == hash) {
                return Err(TestChainError::Dropped { hash, reason: *reason });
            }
        }
        Err(TestChainError::Pending { hash })
    }

    /// Makes this number of blocks.
    ///
    /// # Errors
    ///
    /// [`TestChainError::Engine`]: the number exceeds [`MAX_DEMAND`](crate::consensus::MAX_DEMAND), or a block could
    /// not be made.
    pub fn mine(&mut self, blocks: u64) -> Result<(), TestChainError> {
        let at = self.advance();
        self.engine.step(Input::Demand { at, blocks }, &mut self.producer)?;
        Ok(())
    }

    /// Gives the engine an input, with its time. Returns the effects. The clock of the chain does not change.
    ///
    /// A test makes blocks this way if one block has several transactions. [`chain`](Self::chain) accepts them first.
    ///
    /// # Errors
    ///
    /// [`EngineError`]: the engine rejects the input, or the block cannot be made.
    pub fn step(&mut self, input: Input) -> Result<Vec<Effect>, EngineError> {
        self.engine.step(input, &mut self.producer)
    }

    /// Returns the time of the next action.
    pub fn next_time(&self) -> Timestamp {
        self.next
    }

    /// Sets the time of the next action. A block is always later than the block before it.
    pub fn set_time(&mut self, at: Timestamp) {
        self.next = at;
    }

    /// Returns the handle of the chain, for queries and submissions.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Returns the producer, which has the store.
    pub fn producer(&self) -> &Producer {
        &self.producer
    }

    /// Returns the producer, which proposes, verifies and commits blocks without the engine.
    pub fn producer_mut(&mut self) -> &mut Producer {
        &mut self.producer
    }

    /// Closes the chain, and returns its store. A [builder](TestChainBuilder::store) opens it again.
    pub fn into_store(self) -> Store {
        self.producer.into_store()
    }

    /// Returns the key pair that signs all blocks.
    pub fn node_key(&self) -> &KeyPair {
        &self.node
    }

    /// Returns the number of the latest block.
    pub fn height(&self) -> BlockNumber {
        self.chain.snapshot().latest_tx_block().header.number
    }

    /// Returns the balance of an account; 0 if the account does not exist.
    pub fn balance(&self, address: &Address) -> Qa {
        in_memory(self.chain.snapshot().balance(address))
    }

    /// Returns the nonce of an account; 0 if the account does not exist.
    pub fn nonce(&self, address: &Address) -> Nonce {
        in_memory(self.chain.snapshot().nonce(address))
    }

    /// Returns the fields of a contract, and its balance as `_balance`. Returns `None` if no contract has this address.
    #[expect(clippy::missing_panics_doc, reason = "the writer of the state writes JSON")]
    pub fn contract_state(&self, contract: &Address) -> Option<serde_json::Value> {
        let text = in_memory(self.chain.snapshot().contract_state_json(contract))?;
        Some(serde_json::from_str(&text).expect("the writer of the state writes JSON"))
    }

    /// Returns a field of a contract. Returns `None` if no contract has this address, or the contract has no such
    /// field.
    pub fn contract_field(&self, contract: &Address, name: &str) -> Option<serde_json::Value> {
        self.contract_state(contract)?.get_mut(name).map(serde_json::Value::take)
    }

    /// Saves the state of the chain and of its clock.
    ///
    /// # Errors
    ///
    /// [`TestChainError::Revert`]: an earlier action failed in the store.
    pub fn snapshot(&self) -> Result<TestSnapshot, TestChainError> {
        Ok(TestSnapshot { savepoint: self.producer.save()?, next: self.next })
    }

    /// Reverts blocks, pending transactions and the clock to a snapshot. The number of
    /// [funded accounts](Self::funded_account) does not decrease, so each later account has a new key.
    ///
    /// # Errors
    ///
    /// [`TestChainError::Revert`]: the snapshot is of a removed block.
    pub fn revert(&mut self, to: &TestSnapshot) -> Result<(), TestChainError> {
        self.producer.revert(&to.savepoint)?;
        self.next = to.next;
        Ok(())
    }

    /// Returns a second node with the same genesis and without further blocks.
    ///
    /// # Errors
    ///
    /// [`TestChainError::Open`]: the node cannot start.
    pub fn replica(&self) -> Result<Replica<'_>, TestChainError> {
        let (config, member) = (self.chain.config().clone(), self.node.public_key());
        let (chain, producer) = open(memory(&self.node), config, &self.genesis, member, self.start)?;
        Ok(Replica { source: self, chain, producer })
    }

    fn advance(&mut self) -> Timestamp {
        let at = self.next;
        self.next = Timestamp::new(at.get().saturating_add(SECOND));
        at
    }
}

impl Default for TestChain {
    fn default() -> Self {
        Self::new()
    }
}

impl TestChainBuilder {
    /// Sets the whole configuration.
    pub fn config(mut self, config: ChainConfig) -> Self {
        self.config = config;
        self
    }

    /// Sets the identifier of the network.
    pub fn chain_id(mut self, chain_id: impl Into<ChainId>) -> Self {
        self.config.chain_id = chain_id.into();
        self
    }

    /// Gives an account this balance at genesis.
    pub fn genesis_account(mut self, address: Address, balance: Qa) -> Self {
        self.accounts.insert(address, Account::with_balance(balance));
        self
    }

    /// Sets the whole genesis. It replaces all [genesis accounts](Self::genesis_account), and the account that pays for
    /// [funded accounts](TestChain::funded_account).
    pub fn genesis(mut self, genesis: Genesis) -> Self {
        self.genesis = Some(genesis);
        self
    }

    /// Sets the key pair that signs all blocks.
    pub fn node_key(mut self, key: KeyPair) -> Self {
        self.node = key;
        self
    }

    /// Sets the store, for example a store on disk or the [store of another chain](TestChain::into_store). If the store
    /// has no [signer](Store::set_signer), the chain writes each empty block separately.
    pub fn store(mut self, store: Store) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the genesis time.
    pub fn start_time(mut self, start: Timestamp) -> Self {
        self.start = start;
        self
    }

    /// Starts the chain.
    ///
    /// # Errors
    ///
    /// [`TestChainError`]: the configuration is invalid, the sum of the balances exceeds 128 bits, or the store has the
    /// chain of another configuration or key.
    pub fn build(self) -> Result<TestChain, TestChainError> {
        let Self { config, mut accounts, genesis, node, store, start } = self;
        let faucet = key(b"faucet", 0);
        let genesis = if let Some(genesis) = genesis {
            genesis
        } else {
            accounts.insert(faucet.address(), Account::with_balance(GENESIS_TOKENS));
            Genesis::new(accounts)?
        };
        let store = store.unwrap_or_else(|| memory(&node));
        let (chain, producer) = open(store, config, &genesis, node.public_key(), start)?;
        let head = chain.snapshot().latest_tx_block().timestamp;
        let next = Timestamp::new(head.get().saturating_add(SECOND));
        let engine = Solo::new(node.clone());
        Ok(TestChain { chain, producer, engine, node, genesis, start, next, faucet, accounts: 0 })
    }
}

/// A second node of a [`TestChain`]. It executes the blocks of the chain again, and compares each member of their
/// headers.
#[derive(Debug)]
pub struct Replica<'a> {
    source: &'a TestChain,
    chain: Chain,
    producer: Producer,
}

impl Replica<'_> {
    /// Verifies and commits all blocks of the chain that the replica does not have. Returns their number.
    ///
    /// # Errors
    ///
    /// [`ReplicaError`] of the first block that the replica rejects.
    pub fn verify_all(&mut self) -> Result<u64, ReplicaError> {
        let records = self.source.producer.store();
        let mut verified = 0_u64;
        let mut number = self.chain.snapshot().latest_tx_block().header.number.next();
        while let Some(record) = number.map(|number| records.record(number)).transpose()?.flatten() {
            self.import(&record.into())?;
            verified = verified.saturating_add(1);
            number = number.and_then(BlockNumber::next);
        }
        Ok(verified)
    }

    /// Verifies and commits a block.
    ///
    /// # Errors
    ///
    /// [`ReplicaError`]: the block does not follow the head, its execution has another result, a signature is invalid,
    /// or the write of the block failed.
    pub fn import(&mut self, block: &Proposal) -> Result<(), ReplicaError> {
        let executed = self.producer.verify(block)?;
        self.producer.commit(seal_with(executed, block, &self.source.node.public_key().into())?)?;
        Ok(())
    }

    /// Returns the producer of the replica, which has its store.
    pub fn producer(&self) -> &Producer {
        &self.producer
    }

    /// Returns the handle of the chain of the replica.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }
}

/// Returns an empty store in memory, in which `node` signs the blocks of empty block ranges.
fn memory(node: &KeyPair) -> Store {
    let store = Store::ephemeral(StoreOptions::default());
    store.set_signer(range_signer(node));
    store
}

/// Returns the key with this name and number.
fn key(name: &[u8], number: u64) -> KeyPair {
    let seed = sha256(&[b"test chain", name, &number.to_be_bytes()]);
    KeyPair::from(SecretKey::from_bytes(seed).expect("a digest is a key except once in 2^128"))
}

/// Returns the result of a read. The reads of a store in memory do not fail at its head.
fn in_memory<T>(read: Result<T, StateError>) -> T {
    read.expect("the head of a store in memory can be read")
}
