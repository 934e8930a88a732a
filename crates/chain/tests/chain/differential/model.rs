//! A naive executor: accounts in a map, and the fields of each contract as whole values. It copies everything before a
//! transaction, and restores the copy after a failure. It has no gas, no journal and no trie.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value as Json, json};
use silica_chain::VerifiedTransaction;
use silica_protocol::{Address, BlockNumber, Receipt, ReceiptError, StorageKey, TransactionKind, sha256};
use silica_scilla::{
    check,
    code::Code,
    eval::{Argument, IncomingMessage, Settings},
    gas::Meter,
    host::{MemoryHost, StateField},
    json::{MessageInput, read_document, read_init, read_origin},
    report::Failure,
    resolve::{self, FoundLibrary, LibrarySource, Origin},
    rules::{LibraryCalls, Rules},
    stdlib,
    syntax::{parse_contract, parse_library},
    types::{Primitive, Type, Width},
    value::{Integer, Value},
};

use super::storage::{Entries, ModelHost, compact};

/// More gas than any transaction here uses.
const GAS: u64 = 10_000_000;
/// Maximum number of chained calls of a transaction.
const EDGES: u32 = 20;

/// All accounts.
#[derive(Clone, Default)]
pub(crate) struct Model {
    pub(crate) accounts: BTreeMap<Address, Account>,
    /// The Scilla rules.
    pub(crate) rules: Rules,
}

/// An account.
#[derive(Clone, Default)]
pub(crate) struct Account {
    pub(crate) balance: u128,
    pub(crate) nonce: u64,
    pub(crate) program: Option<Program>,
}

/// A contract or library.
#[derive(Clone)]
pub(crate) struct Program {
    text: String,
    origin: Origin,
    /// `None` for libraries.
    code: Option<Arc<Code>>,
    init: Vec<Argument>,
    fields: Vec<StateField>,
    entries: Entries,
}

/// The reason why a transaction fails in the model.
type Refusal = String;

/// The effects of a transaction that its receipt contains.
#[derive(Debug, Default, PartialEq)]
struct Emitted {
    accepted: Option<bool>,
    /// Contract and name of each event.
    events: Vec<(Address, String)>,
    /// For each transition: sender, depth, recipient, tag, amount, and whether the recipient accepted.
    transitions: Vec<(Address, u32, Address, String, u128, Option<bool>)>,
}

impl Emitted {
    fn of(receipt: &Receipt) -> Self {
        let transition = |it: &silica_protocol::Transition| {
            let message = &it.message;
            (it.address, it.depth, message.recipient, message.tag.clone(), message.amount.get(), it.accepted)
        };
        Self {
            accepted: receipt.accepted,
            events: receipt.event_logs.iter().map(|event| (event.address, event.name.clone())).collect(),
            transitions: receipt.transitions.iter().map(transition).collect(),
        }
    }
}

impl Model {
    fn settings(&self) -> Settings {
        Settings { rules: self.rules, ..Settings::default() }
    }

    /// Returns an error if a message to a library fails under the rules. Otherwise the message has no effect.
    fn ignore_call_of_library(&self) -> Result<(), Refusal> {
        match self.rules.library_calls() {
            LibraryCalls::Ignored => Ok(()),
            LibraryCalls::Refused => Err("a library is called".into()),
        }
    }

    /// Executes a transaction in the model, and compares the result with its receipt.
    pub(crate) fn apply(&mut self, block: BlockNumber, transaction: &VerifiedTransaction, receipt: &Receipt) {
        let tx = transaction.transaction();
        let fee = u128::from(receipt.cumulative_gas.get()) * tx.gas_price.get().get();
        let sender = self.accounts.get_mut(&transaction.sender()).unwrap();
        sender.balance -= fee;
        sender.nonce += 1;
        let nonce = sender.nonce - 1;
        let before = self.accounts.clone();
        let result = match transaction.kind() {
            TransactionKind::Payment => self.pay(transaction).map(|()| Emitted::default()),
            TransactionKind::Deployment => self.deploy(block, nonce, transaction).map(|()| Emitted::default()),
            TransactionKind::Call => self.call(transaction),
        };
        match (receipt.success, result) {
            (true, Ok(emitted)) => assert_eq!(emitted, Emitted::of(receipt), "the receipt of {}", transaction.hash()),
            (true, Err(why)) => panic!("{} succeeds where the model does not: {why}", transaction.hash()),
            (false, result) => {
                assert!(result.is_err() || ran_out_of_gas(receipt), "{receipt:?}, and the model succeeds");
                self.accounts = before;
            }
        }
    }

    fn transfer(&mut self, from: &Address, to: &Address, amount: u128) -> Result<(), Refusal> {
        let payer = self.accounts.get_mut(from).ok_or("the payer does not exist")?;
        payer.balance = payer.balance.checked_sub(amount).ok_or("there is not enough to pay")?;
        if amount > 0 {
            self.accounts.entry(*to).or_default().balance += amount;
        }
        Ok(())
    }

    fn pay(&mut self, transaction: &VerifiedTransaction) -> Result<(), Refusal> {
        let tx = transaction.transaction();
        self.transfer(&transaction.sender(), &tx.to, tx.amount.get())
    }

    fn deploy(&mut self, block: BlockNumber, nonce: u64, transaction: &VerifiedTransaction) -> Result<(), Refusal> {
        let (tx, sender) = (transaction.transaction(), transaction.sender());
        let address = Address::of_contract(&sender, silica_protocol::Nonce::new(nonce));
        let mut init: Vec<Json> = serde_json::from_str(&tx.data).map_err(|error| error.to_string())?;
        let is_library =
            init.iter().any(|param| param["vname"] == "_library" && param["value"]["constructor"] == "True");
        init.push(json!({ "vname": "_creation_block", "type": "BNum", "value": block.to_string() }));
        init.push(json!({ "vname": "_this_address", "type": "ByStr20", "value": format!("0x{address}") }));
        let text = Json::from(init).to_string();
        let document = read_document("init", text.as_bytes()).map_err(|error| format!("{error:?}"))?;
        let origin = read_origin("init", document.root(), self.rules).map_err(|error| format!("{error:?}"))?;
        let mut program = Program {
            text: tx.code.clone(),
            origin,
            code: None,
            init: Vec::new(),
            fields: Vec::new(),
            entries: Entries::default(),
        };
        let options = check::Options::with_limit(GAS);
        if is_library {
            let module = parse_library("library", tx.code.as_bytes()).map_err(|error| error.to_string())?;
            let resolved = resolve::library(module, &program.origin, self).map_err(|error| format!("{error:?}"))?;
            check::library(&resolved, &options).map_err(|error| format!("{error:?}"))?;
        } else {
            let module = parse_contract("contract", tx.code.as_bytes()).map_err(|error| error.to_string())?;
            let resolved = resolve::contract(module, &program.origin, self).map_err(|error| format!("{error:?}"))?;
            let checked = check::contract(&resolved, &options).map_err(|error| format!("{error:?}"))?;
            let code = Arc::new(Code::of_contract(&checked));
            let named = read_init("init", document.root(), code.data_types()).map_err(|error| format!("{error:?}"))?;
            program.init = named.into_iter().map(Argument::from).collect();
            let loaded = code.load(self.settings(), Meter::with_limit(GAS)).map_err(|error| error.to_string())?;
            program.fields = loaded.deploy(&program.init, None).map_err(|error| error.to_string())?.fields;
            for field in &program.fields {
                program.entries.store(&address, &field.name, &[], &field.value);
            }
            program.code = Some(code);
        }
        self.accounts.entry(address).or_default().program = Some(program);
        self.transfer(&sender, &address, tx.amount.get())
    }

    fn call(&mut self, transaction: &VerifiedTransaction) -> Result<Emitted, Refusal> {
        let (tx, sender) = (transaction.transaction(), transaction.sender());
        let mut body: Json = serde_json::from_str(&tx.data).map_err(|error| error.to_string())?;
        body["_sender"] = json!(format!("0x{sender}"));
        body["_origin"] = json!(format!("0x{sender}"));
        body["_amount"] = json!(tx.amount.to_string());
        let text = body.to_string();
        let document = read_document("message", text.as_bytes()).map_err(|error| format!("{error:?}"))?;
        let program = self.accounts.get(&tx.to).and_then(|account| account.program.as_ref()).ok_or("no contract")?;
        let Some(code) = &program.code else {
            self.ignore_call_of_library()?;
            return Ok(Emitted { accepted: Some(false), ..Emitted::default() });
        };
        let message = MessageInput::read("message", document.root(), code.data_types());
        let message = message.map_err(|error| format!("{error:?}"))?.into();
        let mut run = Run { model: self, origin: sender, edges: 0, emitted: Emitted::default() };
        run.run(&tx.to, &sender, &message, tx.amount.get(), 0)?;
        Ok(run.emitted)
    }

    /// Returns the entries of contract storage that belong to fields.
    pub(crate) fn entries(&self, contract: &Address) -> BTreeMap<StorageKey, Vec<u8>> {
        let program = self.accounts.get(contract).and_then(|account| account.program.as_ref());
        program.map(|program| program.entries.0.clone()).unwrap_or_default()
    }

    /// Returns the fields of a contract in the form that clients get.
    pub(crate) fn fields(&self, contract: &Address) -> serde_json::Map<String, Json> {
        let program = self.accounts.get(contract).and_then(|account| account.program.as_ref());
        let fields = program.into_iter().flat_map(|program| &program.fields);
        fields.map(|field| (field.name.to_string(), shown(&field.value))).collect()
    }
}

/// The libraries of the chain.
impl LibrarySource for Model {
    fn find(&self, target: &str) -> Result<Option<FoundLibrary>, Failure> {
        let address = target.strip_prefix("0x").and_then(|digits| digits.parse::<Address>().ok());
        let deployed = address.and_then(|address| self.accounts.get(&address)?.program.as_ref());
        let file = format!("{target}.scillib").into();
        Ok(match deployed {
            Some(program) => {
                Some(FoundLibrary { file, text: program.text.as_bytes().into(), origin: program.origin.clone() })
            }
            None => stdlib::text(target).map(|text| FoundLibrary {
                file,
                text: text.as_bytes().into(),
                origin: Origin::default(),
            }),
        })
    }
}

/// A call with its chained calls.
struct Run<'a> {
    model: &'a mut Model,
    origin: Address,
    edges: u32,
    emitted: Emitted,
}

impl Run<'_> {
    fn run(
        &mut self,
        contract: &Address,
        sender: &Address,
        message: &IncomingMessage,
        amount: u128,
        depth: u32,
    ) -> Result<(), Refusal> {
        let account = &self.model.accounts[contract];
        let (program, balance) = (account.program.clone().unwrap(), account.balance);
        let Some(code) = program.code else {
            self.model.ignore_call_of_library()?;
            self.note_accepted(false, depth);
            return Ok(());
        };
        let values = MemoryHost { fields: program.fields, accounts: self.others(), ..MemoryHost::default() };
        let mut host = ModelHost { contract, values, entries: program.entries };
        let loaded = code.load(self.model.settings(), Meter::with_limit(GAS)).map_err(|error| error.to_string())?;
        let outcome = loaded.call(&program.init, message, balance, &mut host).map_err(|error| error.to_string())?;
        let program = self.model.accounts.get_mut(contract).unwrap().program.as_mut().unwrap();
        (program.fields, program.entries) = (host.values.fields, host.entries);
        if outcome.accepted {
            self.model.transfer(sender, contract, amount)?;
        }
        self.note_accepted(outcome.accepted, depth);
        for event in &outcome.events {
            self.emitted.events.push((*contract, text(event.get("_eventname"))));
        }
        for message in &outcome.messages {
            let Some(Value::ByStrX(recipient)) = message.get("_recipient") else { return Err("no recipient".into()) };
            let recipient = Address::new((&**recipient).try_into().unwrap());
            let amount = message.get("_amount").and_then(Value::as_integer).and_then(Integer::to_u128).unwrap();
            let tag = text(message.get("_tag"));
            let labels = ["_tag", "_amount", "_recipient"];
            let params = message.entries().iter().filter(|entry| !labels.contains(&&*entry.label));
            let params = params.map(|entry| (Arc::clone(&entry.label), entry.value.clone()));
            self.send(contract, &recipient, &tag, amount, params.collect(), depth)?;
        }
        Ok(())
    }

    fn note_accepted(&mut self, accepted: bool, depth: u32) {
        match self.emitted.transitions.last_mut() {
            Some(cause) if depth > 0 => cause.5 = Some(accepted),
            _ => self.emitted.accepted = Some(accepted),
        }
    }

    fn send(
        &mut self,
        from: &Address,
        to: &Address,
        tag: &str,
        amount: u128,
        params: Vec<(Arc<str>, Value)>,
        depth: u32,
    ) -> Result<(), Refusal> {
        if to.is_zero() {
            return Err("a message to the null account".into());
        }
        let is_contract = self.model.accounts.entry(*to).or_default().program.is_some();
        if !is_contract {
            self.model.transfer(from, to, amount)?;
        }
        self.emitted.transitions.push((*from, depth, *to, tag.to_owned(), amount, None));
        if !is_contract || tag.is_empty() {
            return Ok(());
        }
        self.edges += 1;
        if self.edges > EDGES {
            return Err("too many calls".into());
        }
        let own = [
            ("_amount".into(), Value::from(amount)),
            ("_origin".into(), Value::bystrx(self.origin.to_bytes())),
            ("_sender".into(), Value::bystrx(from.to_bytes())),
        ];
        let entries = own.into_iter().chain(params).map(|(name, value)| Argument { name, value });
        let message = IncomingMessage { tag: tag.into(), entries: entries.collect() };
        self.run(to, from, &message, amount, depth + 1)
    }

    /// Returns the fields that contracts can read from other accounts.
    fn others(&self) -> BTreeMap<Address, Vec<StateField>> {
        let accounts = self.model.accounts.iter();
        accounts.map(|(address, account)| (*address, readable(address, account))).collect()
    }
}

fn readable(address: &Address, account: &Account) -> Vec<StateField> {
    let field = |name: &str, ty, value| StateField { name: name.into(), ty, value };
    let uint = |width| Type::Primitive(Primitive::Uint(width));
    let mut fields = vec![
        field("_balance", uint(Width::W128), Value::from(account.balance)),
        field("_nonce", uint(Width::W64), Value::Integer(Integer::from_u64(account.nonce))),
    ];
    if let Some(program) = &account.program {
        let hash = sha256(&[program.text.as_bytes()]);
        fields.push(field("_codehash", Type::bystr(32), Value::bystrx(hash)));
        if program.code.is_some() {
            fields.push(field("_this_address", Type::bystr(20), Value::bystrx(address.to_bytes())));
        }
        fields.extend(program.fields.iter().cloned());
    }
    fields
}

/// Returns whether a transaction failed because of gas, which the model does not have.
fn ran_out_of_gas(receipt: &Receipt) -> bool {
    let short = [ReceiptError::GasNotSufficient, ReceiptError::NoGasRemainingFound];
    receipt.errors.values().flatten().any(|error| short.contains(error))
        || receipt.exceptions.iter().any(|exception| exception.message.to_lowercase().contains("gas"))
}

fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.to_string(),
        _ => panic!("a label is a text"),
    }
}

/// Returns a value in the form that clients get: maps are objects.
fn shown(value: &Value) -> Json {
    let Value::Map(map) = value else { return serde_json::from_str(&compact(value)).unwrap() };
    let key = |key: &Value| {
        let json: Json = serde_json::from_str(&compact(key)).unwrap();
        json.as_str().map_or_else(|| json.to_string(), str::to_owned)
    };
    map.into_iter().map(|(name, value)| (key(name.value()), shown(value))).collect()
}
