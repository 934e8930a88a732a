//! The chain that executes the programs.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use rustix::time::ClockId;
use serde_json::{Value as Json, json};
use silica_chain::{
    Chain, ChainConfig, Genesis, Producer, check,
    config::NoncePolicy,
    consensus::{Application as _, Cause, Effect, Engine, Input, Solo, range_signer, seal_alone},
    open,
};
use silica_crypto::{KeyPair, SecretKey};
use silica_protocol::{
    Account, Address, Gas, GasPrice, Nonce, Qa, Receipt, Timestamp, UnsignedTransaction, Version, sha256,
};
use silica_scilla::{gas::UNITS_PER_GAS, rules::Rules, work::PER_BLOCK};
use silica_state::{Store, StoreOptions};

use super::{Case, Deployment, Message};
use crate::measure::time_of;

/// Gas limit of the transactions before the measured transaction.
const PREPARATION_GAS: u64 = 390_000;
/// Gas price, in Qa.
const PRICE: u128 = 2_000_000_000;
/// Gas limit of a micro block. It is so high that it never ends a block.
const BLOCK_GAS: u64 = 1_000_000_000_000;

/// The receipt of a transaction, and the processor time of its block without signatures and disk.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The receipt of the transaction.
    pub receipt: Receipt,
    /// Gas for the texts of a deployment, which the receipt does not contain; 0 for a call.
    pub text_gas: u64,
    /// Time of the first measured block.
    pub cold: Duration,
    /// Shortest time of all measured blocks.
    pub time: Duration,
}

impl Measured {
    /// Returns the gas that the transaction used.
    ///
    /// The receipt of a successful deployment shows less gas, because the interpreter reports units as gas.
    pub fn gas(&self) -> u64 {
        self.receipt.cumulative_gas.get().max(self.text_gas)
    }

    /// Returns the time per gas, in nanoseconds, without the fixed time of each transaction.
    pub fn beyond_per_gas(&self) -> u64 {
        self.nanos().saturating_sub(silica_scilla::work::FIXED).checked_div(self.gas()).unwrap_or(0)
    }

    /// Returns the time per gas, in nanoseconds.
    pub fn per_gas(&self) -> u64 {
        self.nanos().checked_div(self.gas()).unwrap_or(0)
    }

    fn nanos(&self) -> u64 {
        u64::try_from(self.time.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// The time of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Processor time of all threads.
    pub processor: Duration,
    /// Wall-clock time.
    pub wall: Duration,
}

/// The start of an operation, for a [`Cost`].
#[derive(Clone, Copy, Debug)]
struct Start {
    processor: Duration,
    wall: Instant,
}

impl Start {
    fn now() -> Self {
        Self { processor: time_of(ClockId::ProcessCPUTime), wall: Instant::now() }
    }

    fn until(self, end: Self) -> Cost {
        let processor = end.processor.saturating_sub(self.processor);
        Cost { processor, wall: end.wall.saturating_duration_since(self.wall) }
    }
}

/// A block without room for another transaction of its kind.
#[derive(Clone, Copy, Debug)]
pub struct FullBlock {
    /// Number of transactions in the block.
    pub transactions: usize,
    /// Number of successful transactions.
    pub succeeded: usize,
    /// Gas of the receipts.
    pub gas: u64,
    /// Work of the block, in nanoseconds.
    pub work: u64,
    /// The cost of selection, execution, state root and headers.
    pub execute: Cost,
    /// The cost for a node that verifies and writes the block: signatures of transactions, execution, state root and
    /// headers.
    pub verify: Cost,
}

/// A block that has a transaction of each sender, or of as many senders as fit.
enum Attempt {
    Full(FullBlock),
    HasRoom { work: u64 },
}

/// A chain in memory. One account sends the preparation, and other accounts send one transaction each.
#[derive(Debug)]
pub struct Net {
    genesis: Genesis,
    chain: Chain,
    producer: Producer,
    engine: Solo,
    sender: KeyPair,
    nonce: u64,
    now: u64,
}

/// A chain with the deployed programs of a case.
#[derive(Debug)]
pub struct Prepared {
    net: Net,
    program: Deployment,
    contract: Option<Address>,
    measured: Option<Message>,
}

/// Returns the processor time of this thread.
fn processor_time() -> Duration {
    time_of(ClockId::ThreadCPUTime)
}

fn key(number: u8) -> KeyPair {
    KeyPair::from(SecretKey::from_bytes([number; 32]).expect("the number is a key"))
}

/// Returns the key that signs blocks.
fn node() -> KeyPair {
    key(9)
}

/// Returns the key of a sender of one transaction.
fn sender(number: usize) -> KeyPair {
    let seed = sha256(&[b"sender", &number.to_be_bytes()]);
    KeyPair::from(SecretKey::from_bytes(seed).expect("a digest is a key"))
}

fn hex(address: &Address) -> String {
    format!("0x{address}")
}

impl Net {
    /// Creates a chain with `senders` accounts that send one transaction each.
    ///
    /// # Panics
    ///
    /// If the chain does not open, which is a fault of this program.
    pub fn new(rules: Rules, senders: usize) -> Self {
        let mut config = ChainConfig {
            blocks_per_ds_epoch: 1_000_000,
            shard_gas_limit: Gas::new(BLOCK_GAS),
            ds_gas_limit: Gas::new(BLOCK_GAS),
            ..ChainConfig::isolated()
        };
        config.rules.scilla = rules;
        config.policy.nonces = NoncePolicy::Exact;
        let preparing = key(7);
        let account = Account::with_balance(Qa::new(10_u128.pow(30)));
        let addresses = (0..senders).map(|number| sender(number).address()).chain([preparing.address()]);
        let accounts: BTreeMap<_, _> = addresses.map(|address| (address, account)).collect();
        let genesis = Genesis::new(accounts).expect("the balances fit 128 bits");
        let store = Store::ephemeral(StoreOptions::default());
        store.set_signer(range_signer(&node()));
        let engine = Solo::new(node());
        let now = 1_700_000_000_000_000;
        let (chain, producer) =
            open(store, config, &genesis, engine.public_key(), Timestamp::new(now)).expect("a new chain opens");
        Self { genesis, chain, producer, engine, sender: preparing, nonce: 0, now }
    }

    fn later(&mut self) -> Timestamp {
        self.now += 1_000_000;
        Timestamp::new(self.now)
    }

    fn submit(&mut self, transaction: UnsignedTransaction) -> Result<(), String> {
        self.nonce += 1;
        self.submit_as(&self.sender, self.nonce, transaction)
    }

    fn submit_as(&self, sender: &KeyPair, nonce: u64, transaction: UnsignedTransaction) -> Result<(), String> {
        let transaction =
            UnsignedTransaction { nonce: Nonce::new(nonce), sender_key: sender.public_key(), ..transaction };
        let transaction = transaction.sign(sender).expect("a core is not empty");
        let verified = self.chain.admit(transaction, false).map_err(|error| error.to_string())?;
        let at = Timestamp::new(self.now);
        self.chain.submit(verified, at).map(drop).map_err(|error| error.to_string())
    }

    fn commit(&mut self) -> Receipt {
        let at = self.later();
        let effects = self.engine.step(Input::Tick(at), &mut self.producer).expect("a block is made");
        let [Effect::Committed(block)] = effects.as_slice() else { panic!("a tick makes a block") };
        let [(_, receipt)] = block.transactions() else { panic!("the transaction is dropped") };
        receipt.clone()
    }

    fn run(&mut self, transaction: UnsignedTransaction) -> Result<Receipt, String> {
        self.submit(transaction)?;
        let receipt = self.commit();
        if receipt.success { Ok(receipt) } else { Err(format!("{receipt:?}")) }
    }

    /// Proposes a block with the transaction `runs` times, at least once, and commits the block once. Returns the
    /// receipt, the first time and the shortest time.
    fn measure(&mut self, transaction: UnsignedTransaction, runs: u32) -> Result<Measured, String> {
        let text_gas = match transaction.code.len() {
            0 => 0,
            bytes => 400 + (bytes + transaction.data.len()) as u64 / UNITS_PER_GAS,
        };
        self.submit(transaction)?;
        let at = self.later();
        let mut blocks: Vec<_> = (0..runs.max(1))
            .map(|_| {
                let start = processor_time();
                let proposed = self.producer.propose(at, Cause::Event);
                let time = processor_time().saturating_sub(start);
                let proposed = proposed.expect("a block is built");
                let [(_, receipt)] = proposed.transactions() else { panic!("the transaction is not executed") };
                (time, receipt.clone())
            })
            .collect();
        let (cold, first) = blocks.swap_remove(0);
        let time = blocks.iter().map(|(time, _)| *time).min().map_or(cold, |least| least.min(cold));
        let receipt = self.commit();
        assert_eq!(receipt, first, "an outcome does not depend on what is ready");
        Ok(Measured { receipt, text_gas, cold, time })
    }

    /// Makes a block with one transaction of each sender. If not all of them fit, verifies the block by executing the
    /// chain again. If all fit, the block can have room for more.
    fn block_of(
        &mut self,
        senders: usize,
        transaction: impl Fn(usize) -> UnsignedTransaction,
    ) -> Result<Attempt, String> {
        for number in 0..senders {
            self.submit_as(&sender(number), 1, transaction(number))?;
        }
        let at = self.later();
        let start = Start::now();
        let block = self.producer.propose(at, Cause::Event).map_err(|error| error.to_string())?;
        let execute = start.until(Start::now());
        let (receipts, work) = (block.transactions(), block.work());
        let transactions = receipts.len();
        if !block.dropped().is_empty() {
            return Err("a transaction is dropped".into());
        }
        if transactions == senders {
            return Ok(Attempt::HasRoom { work });
        }
        let succeeded = receipts.iter().filter(|(_, receipt)| receipt.success).count();
        let gas = block.tx_block().header.gas_used.get();
        let sealed = seal_alone(block, &node()).map_err(|error| error.to_string())?;
        self.producer.commit(sealed).map_err(|error| error.to_string())?;
        let verify = self.verify_last()?;
        Ok(Attempt::Full(FullBlock { transactions, succeeded, gas, work, execute, verify }))
    }

    /// Executes all blocks again in a new store. Returns the cost of the last block.
    fn verify_last(&self) -> Result<Cost, String> {
        let scratch = Store::ephemeral(StoreOptions::default());
        let config = self.chain.config().clone();
        let mut ends = [Start::now(); 2];
        check(self.producer.store(), &scratch, config, &self.genesis, node().public_key(), &mut |_, _| {
            ends = [ends[1], Start::now()];
        })
        .map_err(|error| error.to_string())?;
        let [before, after] = ends;
        Ok(before.until(after))
    }

    fn created(&self) -> Address {
        Address::of_contract(&self.sender.address(), Nonce::new(self.nonce - 1))
    }

    fn deploy(&mut self, program: &Deployment) -> Result<Address, String> {
        self.run(deployment(program, PREPARATION_GAS))?;
        Ok(self.created())
    }
}

fn empty(gas: u64) -> UnsignedTransaction {
    UnsignedTransaction {
        version: Version::of_chain(ChainConfig::isolated().chain_id),
        nonce: Nonce::new(0),
        to: Address::ZERO,
        amount: Qa::ZERO,
        gas_price: GasPrice::new(Qa::new(PRICE)),
        gas_limit: Gas::new(gas),
        code: String::new(),
        data: String::new(),
        sender_key: key(7).public_key(),
    }
}

fn deployment(program: &Deployment, gas: u64) -> UnsignedTransaction {
    let version = json!({"vname": "_scilla_version", "type": "Uint32", "value": "0"});
    let init: Vec<Json> = [version].into_iter().chain(program.init.iter().cloned()).collect();
    UnsignedTransaction { code: program.code.clone(), data: Json::Array(init).to_string(), ..empty(gas) }
}

fn call(to: Address, message: &Message, gas: u64) -> UnsignedTransaction {
    let data = json!({ "_tag": message.tag, "params": message.params }).to_string();
    // Admission requires a gas limit of at least one gas for each byte of the message.
    let least = data.len() as u64;
    UnsignedTransaction { to, data, ..empty(gas.max(least)) }
}

impl Prepared {
    /// Deploys the programs of a case, and sends the setup messages. A measured deployment is left out.
    ///
    /// # Errors
    ///
    /// The error of the failed transaction, with its receipt.
    pub fn new(case: Case, rules: Rules) -> Result<Self, String> {
        Self::with_senders(case, rules, 0)
    }

    /// Deploys the programs of a case, and sends the setup messages, on a chain with `senders` accounts that send one
    /// transaction each.
    fn with_senders(case: Case, rules: Rules, senders: usize) -> Result<Self, String> {
        let mut net = Net::new(rules, senders);
        let Case { others, mut program, setup, measured } = case;
        for (number, other) in others.iter().enumerate() {
            let address = hex(&net.deploy(other)?);
            let name = format!("OTHER{number}");
            program.code = program.code.replace(&name, &address);
            let init = Json::Array(program.init).to_string().replace(&name, &address);
            program.init = serde_json::from_str(&init).unwrap_or_default();
        }
        let contract = if measured.is_some() { Some(net.deploy(&program)?) } else { None };
        for message in &setup {
            let Some(to) = contract else { break };
            net.run(call(to, message, PREPARATION_GAS))?;
        }
        Ok(Self { net, program, contract, measured })
    }

    /// Measures the transaction of the case with `times` repetitions and a gas limit, in `runs` blocks.
    ///
    /// # Errors
    ///
    /// The reason for the rejection of the transaction.
    pub fn measure(&mut self, times: u32, gas: u64, runs: u32) -> Result<Measured, String> {
        let transaction = self.transaction(times, gas);
        self.net.measure(transaction, runs)
    }

    fn transaction(&self, times: u32, gas: u64) -> UnsignedTransaction {
        match (&self.contract, &self.measured) {
            (Some(to), Some(message)) => {
                let mut message = message.clone();
                message.params.push(json!({"vname": "times", "type": "Uint32", "value": times.to_string()}));
                call(*to, &message, gas)
            }
            _ => deployment(&self.program, gas),
        }
    }
}

/// Makes a block full of the measured transaction of a case.
///
/// # Errors
///
/// The reason why a transaction cannot be in the block.
pub fn block_of_case(case: &Case, rules: Rules, times: u32, gas: u64) -> Result<FullBlock, String> {
    full_block(|senders| {
        let mut prepared = Prepared::with_senders(case.clone(), rules, senders)?;
        let transaction = prepared.transaction(times, gas);
        prepared.net.block_of(senders, |number| {
            let mut transaction = transaction.clone();
            if !transaction.code.is_empty() {
                // A changed comment makes each program new, because a program that was deployed before is already
                // compiled.
                transaction.code = format!("{}\n(*{number}*)", transaction.code);
            }
            transaction
        })
    })
}

/// Makes a block full of payments, each to a new account.
///
/// # Errors
///
/// The reason why a payment cannot be in the block.
pub fn block_of_payments(rules: Rules) -> Result<FullBlock, String> {
    full_block(|senders| {
        Net::new(rules, senders).block_of(senders, |number| {
            let [to @ .., _, _, _, _, _, _, _, _, _, _, _, _] = sha256(&[b"recipient", &number.to_be_bytes()]);
            UnsignedTransaction { to: Address::new(to), amount: Qa::new(1), ..empty(50) }
        })
    })
}

/// Calls `make` with more senders until some transactions do not fit into the block.
fn full_block(make: impl Fn(usize) -> Result<Attempt, String>) -> Result<FullBlock, String> {
    let mut senders = 8;
    loop {
        let work = match make(senders)? {
            Attempt::Full(block) => return Ok(block),
            Attempt::HasRoom { work } => work,
        };
        let share = PER_BLOCK / (work / senders as u64).max(1);
        senders = usize::try_from(share).unwrap_or(usize::MAX).max(senders) + 8;
    }
}
