//! The chain on which the programs run.

use std::{collections::BTreeMap, time::Duration};

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value as Json, json};
use silica_chain::{
    Chain, ChainConfig, Genesis, Producer,
    config::NoncePolicy,
    consensus::{Application as _, Cause, Effect, Engine, Input, Solo, run_seal},
    open,
};
use silica_crypto::{KeyPair, SecretKey, sign};
use silica_protocol::{
    Account, Address, Gas, GasPrice, Nonce, Qa, Receipt, Signature, Timestamp, Transaction, Version,
};
use silica_scilla::{gas::UNITS_PER_GAS, rules::Rules};
use silica_state::{Store, StoreOptions};

use super::{Case, Deployment, Message};

/// Gas for what comes before the measured transaction.
const PREPARATION_GAS: u64 = 390_000;
const PRICE: u128 = 2_000_000_000;

/// The outcome of a transaction, and the processor time of its block without signatures and disk.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its receipt.
    pub receipt: Receipt,
    /// Gas of its texts, which a deployment has to have and a receipt does not show.
    pub text_gas: u64,
    /// The time of the first block, for which no program was ready.
    pub cold: Duration,
    /// The least time of all blocks.
    pub time: Duration,
}

impl Measured {
    /// Returns the gas that the transaction used.
    ///
    /// The receipt of a deployment that succeeds has less than that, since the interpreter reports units as gas.
    pub fn gas(&self) -> u64 {
        self.receipt.cumulative_gas.get().max(self.text_gas)
    }

    /// Returns the nanoseconds beyond those that each transaction has, for each gas.
    pub fn beyond_per_gas(&self) -> u64 {
        self.nanos().saturating_sub(silica_scilla::work::FIXED).checked_div(self.gas()).unwrap_or(0)
    }

    /// Returns the nanoseconds for each gas.
    pub fn per_gas(&self) -> u64 {
        self.nanos().checked_div(self.gas()).unwrap_or(0)
    }

    fn nanos(&self) -> u64 {
        u64::try_from(self.time.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A chain in memory with one sender.
#[derive(Debug)]
pub struct Net {
    chain: Chain,
    producer: Producer,
    engine: Solo,
    sender: KeyPair,
    nonce: u64,
    now: u64,
}

/// A chain to which a case is deployed.
#[derive(Debug)]
pub struct Prepared {
    net: Net,
    program: Deployment,
    contract: Option<Address>,
    measured: Option<Message>,
}

/// The time for which this thread has run.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn key(number: u8) -> KeyPair {
    KeyPair::from_secret(SecretKey::from_bytes([number; 32]).expect("the number is a key"))
}

fn hex(address: &Address) -> String {
    format!("0x{address}")
}

impl Net {
    /// A new chain.
    ///
    /// # Panics
    ///
    /// If it cannot be opened, which would be a fault of this program.
    pub fn new(rules: Rules) -> Self {
        let mut config = ChainConfig { blocks_per_ds_epoch: 1_000_000, ..ChainConfig::isolated() };
        config.rules.scilla = rules;
        config.policy.nonces = NoncePolicy::Exact;
        let (sender, node) = (key(7), key(9));
        let account = Account { balance: Qa::new(10_u128.pow(30)), ..Account::default() };
        let genesis = Genesis::new(BTreeMap::from([(sender.address(), account)])).expect("the balance fits 128 bits");
        let store = Store::ephemeral(StoreOptions::default());
        store.seal_with(run_seal(&node));
        let engine = Solo::new(node);
        let now = 1_700_000_000_000_000;
        let (chain, producer) =
            open(store, config, &genesis, engine.public(), Timestamp::new(now)).expect("a new chain opens");
        Self { chain, producer, engine, sender, nonce: 0, now }
    }

    fn later(&mut self) -> Timestamp {
        self.now += 1_000_000;
        Timestamp::new(self.now)
    }

    fn signed(&mut self, transaction: Transaction) -> Transaction {
        self.nonce += 1;
        let mut signed = Transaction {
            version: Version::of_chain(self.chain.config().chain_id),
            nonce: Nonce::new(self.nonce),
            gas_price: GasPrice::new(Qa::new(PRICE)),
            sender_key: self.sender.public(),
            ..transaction
        };
        signed.signature = sign(&signed.core_bytes(), &self.sender).expect("a core is not empty");
        signed
    }

    fn submit(&mut self, transaction: Transaction) -> Result<(), String> {
        let transaction = self.signed(transaction);
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

    fn run(&mut self, transaction: Transaction) -> Result<Receipt, String> {
        self.submit(transaction)?;
        let receipt = self.commit();
        if receipt.success { Ok(receipt) } else { Err(format!("{receipt:?}")) }
    }

    /// Proposes a block with the transaction several times, and commits it.
    fn measure(&mut self, transaction: Transaction, runs: u32) -> Result<Measured, String> {
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

    fn created(&self) -> Address {
        Address::of_contract(&self.sender.address(), Nonce::new(self.nonce - 1))
    }

    fn deploy(&mut self, program: &Deployment) -> Result<Address, String> {
        self.run(deployment(program, PREPARATION_GAS))?;
        Ok(self.created())
    }
}

fn empty(gas: u64) -> Transaction {
    Transaction {
        version: Version::of_chain(ChainConfig::isolated().chain_id),
        nonce: Nonce::new(0),
        to: Address::ZERO,
        amount: Qa::ZERO,
        gas_price: GasPrice::new(Qa::new(PRICE)),
        gas_limit: Gas::new(gas),
        code: String::new(),
        data: String::new(),
        sender_key: key(7).public(),
        signature: Signature::ZERO,
    }
}

fn deployment(program: &Deployment, gas: u64) -> Transaction {
    let version = json!({"vname": "_scilla_version", "type": "Uint32", "value": "0"});
    let init: Vec<Json> = [version].into_iter().chain(program.init.iter().cloned()).collect();
    Transaction { code: program.code.clone(), data: Json::Array(init).to_string(), ..empty(gas) }
}

fn call(to: Address, message: &Message, gas: u64) -> Transaction {
    let data = json!({ "_tag": message.tag, "params": message.params }).to_string();
    // A call needs a limit of a gas for each byte.
    let least = data.len() as u64;
    Transaction { to, data, ..empty(gas.max(least)) }
}

impl Prepared {
    /// Deploys all but a deployment that is measured.
    ///
    /// # Errors
    ///
    /// What failed, with its receipt.
    pub fn new(case: Case, rules: Rules) -> Result<Self, String> {
        let mut net = Net::new(rules);
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

    /// Executes the measured transaction with a number of repeats, and a limit of gas.
    ///
    /// # Errors
    ///
    /// Why the chain refuses it.
    pub fn measure(&mut self, times: u32, gas: u64, runs: u32) -> Result<Measured, String> {
        let transaction = match (&self.contract, &self.measured) {
            (Some(to), Some(message)) => {
                let mut message = message.clone();
                message.params.push(json!({"vname": "times", "type": "Uint32", "value": times.to_string()}));
                call(*to, &message, gas)
            }
            _ => deployment(&self.program, gas),
        };
        self.net.measure(transaction, runs)
    }
}
