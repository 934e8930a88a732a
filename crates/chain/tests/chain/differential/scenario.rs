//! Random transactions: payments, valid and invalid deployments, and calls of deployed contracts.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use silica_chain::CommittedBlock;
use silica_protocol::{Address, Gas, Nonce, TxHash, UnsignedTransaction};

use crate::{
    contracts::{HELLO, RELAY},
    harness::{Net, PRICE, USERS, payment, signed, user},
};

const REGISTRY: &str = include_str!("registry.scilla");
const CALLER: &str = include_str!("caller.scilla");
const TOKEN: &str = include_str!("../../data/contracts/fungible_token/fungible_token.scilla");
const LIBRARY: &str = "scilla_version 0\nlibrary Numbers\nlet step = Uint32 42\n";
const IMPORTER: &str = "scilla_version 0\nimport Numbers\ncontract Importer ()\nfield f : Uint32 = step\n\
    transition Add (n : Uint32)\n  old <- f;\n  more = builtin add old n;\n  new = builtin add more step;\n  f := new\nend\n";
/// Invalid programs: with a syntax error, with a type error, with an unknown name, and with a field whose value fails.
const BROKEN: [&str; 4] = [
    "scilla_version 0\ncontract",
    "scilla_version 0\ncontract C ()\nfield f : Uint32 = \"one\"\n",
    "scilla_version 0\ncontract C ()\ntransition T ()\n  f := x\nend\n",
    "scilla_version 0\ncontract C ()\nfield f : Uint32 =\n  let a = Uint32 4294967295 in\n  builtin add a a\n",
];

/// A gas limit that is enough for every transaction here.
const PLENTY: u64 = 30_000;

/// The programs that can be deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Caller,
    Hello,
    Importer,
    Library,
    Registry,
    Relay,
    Token,
}

const KINDS: [Kind; 7] =
    [Kind::Caller, Kind::Hello, Kind::Importer, Kind::Library, Kind::Registry, Kind::Relay, Kind::Token];

/// The random generator, and the results of its transactions so far.
pub(super) struct Scenario {
    state: u64,
    deployed: Vec<(Kind, Address)>,
    contracts: Vec<Address>,
    /// The pending transactions, with their senders and deployed programs.
    waiting: BTreeMap<TxHash, Sent>,
    succeeded: BTreeMap<&'static str, u32>,
    failed: BTreeMap<&'static str, u32>,
}

#[derive(Clone, Copy)]
struct Sent {
    from: u8,
    nonce: u64,
    kind: Option<Kind>,
    what: &'static str,
}

/// The content of a transaction.
struct Intent {
    to: Address,
    amount: u128,
    gas: u64,
    code: String,
    data: String,
    kind: Option<Kind>,
    what: &'static str,
}

impl Scenario {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            deployed: Vec::new(),
            contracts: Vec::new(),
            waiting: BTreeMap::new(),
            succeeded: BTreeMap::new(),
            failed: BTreeMap::new(),
        }
    }

    /// Returns a pseudorandom number below a bound (`SplitMix64`).
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    pub(super) fn choose<T: Copy>(&mut self, among: &[T]) -> T {
        among[usize::try_from(self.below(among.len() as u64)).unwrap()]
    }

    /// Returns the addresses of all deployed contracts and libraries.
    pub(super) fn contracts(&self) -> &[Address] {
        &self.contracts
    }

    /// Submits random transactions of all kinds.
    pub(super) fn submit(&mut self, net: &mut Net) {
        if self.deployed.is_empty() {
            return self.submit_deployments(net);
        }
        for _ in 0..3 + self.below(14) {
            let intent = match self.below(12) {
                0 => {
                    let kind = self.choose(&KINDS);
                    self.deployment(kind)
                }
                1 => self.bad_deployment(),
                2 | 3 => self.payment(),
                _ => self.call(),
            };
            self.send(net, intent);
        }
    }

    /// Submits random transactions without valid deployments.
    pub(super) fn submit_without_deployments(&mut self, net: &mut Net) {
        for _ in 0..3 + self.below(14) {
            let intent = match self.below(12) {
                0 => self.bad_deployment(),
                1 | 2 => self.payment(),
                _ => self.call(),
            };
            self.send(net, intent);
        }
    }

    /// Submits a deployment of each kind.
    pub(super) fn submit_deployments(&mut self, net: &mut Net) {
        for kind in KINDS {
            let intent = Intent { gas: PLENTY, ..self.deployment(kind) };
            self.send(net, intent);
        }
    }

    /// Submits a transaction of a random user with the lowest nonce that is neither used nor pending.
    fn send(&mut self, net: &mut Net, intent: Intent) {
        let from = u8::try_from(1 + self.below(u64::from(USERS))).unwrap();
        let used = net.nonce(&user(from));
        let is_free = |nonce: &u64| !self.waiting.values().any(|sent| (sent.from, sent.nonce) == (from, *nonce));
        let nonce = (used + 1..=u64::MAX).find(is_free).unwrap();
        let price = PRICE + u128::from(self.below(3));
        let transaction = UnsignedTransaction {
            gas_limit: Gas::new(intent.gas),
            code: intent.code,
            data: intent.data,
            ..payment(from, nonce, intent.to, intent.amount, price).into_unsigned()
        };
        // Admission may reject the transaction.
        if let Ok(hash) = net.try_submit(signed(from, transaction)) {
            self.waiting.insert(hash, Sent { from, nonce, kind: intent.kind, what: intent.what });
        }
    }

    /// Adds a pending payment without a signature, which the caller sent.
    pub(super) fn note(&mut self, hash: TxHash) {
        self.waiting.insert(hash, Sent { from: 0, nonce: 0, kind: None, what: "payment" });
    }

    /// Records the results of a block.
    pub(super) fn settle(&mut self, block: &CommittedBlock) {
        for (transaction, receipt) in block.transactions() {
            let sent = self.waiting.remove(&transaction.hash()).expect("it was sent");
            let count = if receipt.success { &mut self.succeeded } else { &mut self.failed };
            *count.entry(sent.what).or_default() += 1;
            if let (Some(kind), true) = (sent.kind, receipt.success) {
                let address = Address::of_contract(&transaction.sender(), Nonce::new(sent.nonce - 1));
                self.deployed.push((kind, address));
                self.contracts.push(address);
            }
        }
        for (transaction, _) in block.dropped() {
            self.waiting.remove(&transaction.hash());
        }
    }

    /// Checks that calls, deployments and payments succeeded, and that a call failed.
    pub(super) fn check_variety(&self, seed: u64) {
        for what in ["call", "deployment", "payment"] {
            assert!(self.succeeded.contains_key(what), "seed {seed}: no {what} succeeded");
        }
        assert!(self.failed.contains_key("call"), "seed {seed}: no call failed");
    }

    fn payment(&mut self) -> Intent {
        let to = self.someone();
        let amount = if self.below(10) == 0 { u128::MAX / 2 } else { u128::from(self.below(1_000_000)) };
        Intent { to, amount, gas: 50, code: String::new(), data: String::new(), kind: None, what: "payment" }
    }

    /// Returns the address of a user or a contract, or an address without an account.
    fn someone(&mut self) -> Address {
        match self.below(6) {
            0 => Address::new([u8::try_from(self.below(6)).unwrap(); 20]),
            1 | 2 if !self.contracts.is_empty() => {
                let contracts = self.contracts.clone();
                self.choose(&contracts)
            }
            _ => user(u8::try_from(1 + self.below(12)).unwrap()),
        }
    }

    fn of_kind(&mut self, kind: Kind) -> Option<Address> {
        let found: Vec<Address> = self.deployed.iter().filter(|(it, _)| *it == kind).map(|(_, at)| *at).collect();
        if found.is_empty() { None } else { Some(self.choose(&found)) }
    }

    fn deployment(&mut self, kind: Kind) -> Intent {
        let owner = self.someone();
        let text = |name: &str, value: &str| json!({"vname": name, "type": "String", "value": value});
        let (code, params) = match kind {
            Kind::Caller => (CALLER, vec![]),
            Kind::Hello => (HELLO, vec![address("owner", &owner)]),
            Kind::Importer => match self.of_kind(Kind::Library) {
                Some(library) => {
                    let name = format!("0x{library}");
                    let pair = json!({
                        "constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": ["Numbers", name]
                    });
                    let list = json!({"vname": "_extlibs", "type": "List (Pair String ByStr20)", "value": [pair]});
                    (IMPORTER, vec![list])
                }
                // This deployment fails, because no library exists.
                None => (IMPORTER, vec![]),
            },
            Kind::Library => {
                let yes = json!({"constructor": "True", "argtypes": [], "arguments": []});
                (LIBRARY, vec![json!({"vname": "_library", "type": "Bool", "value": yes})])
            }
            Kind::Registry => (REGISTRY, vec![]),
            Kind::Relay => (RELAY, vec![]),
            Kind::Token => {
                let params = vec![
                    address("contract_owner", &user(1)),
                    text("name", "Token"),
                    text("symbol", "TOK"),
                    json!({"vname": "decimals", "type": "Uint32", "value": "12"}),
                    json!({"vname": "init_supply", "type": "Uint128", "value": "1000000"}),
                    json!({"vname": "default_operators", "type": "List ByStr20", "value": []}),
                ];
                (TOKEN, params)
            }
        };
        Intent {
            to: Address::ZERO,
            amount: u128::from(self.below(3) * self.below(500)),
            gas: PLENTY,
            code: code.to_owned(),
            data: init(params).to_string(),
            kind: Some(kind),
            what: "deployment",
        }
    }

    /// Returns a deployment that fails, or that can fail because of too little gas.
    fn bad_deployment(&mut self) -> Intent {
        let kind = self.choose(&KINDS);
        let good = self.deployment(kind);
        match self.below(4) {
            0 => Intent { code: self.choose(&BROKEN).to_owned(), kind: None, ..good },
            1 => Intent { data: init(vec![address("unused", &user(1))]).to_string(), kind: None, ..good },
            2 => Intent { data: json!([address("owner", &user(1))]).to_string(), kind: None, ..good },
            _ => Intent { gas: 300 + self.below(12_000), ..good },
        }
    }

    fn call(&mut self) -> Intent {
        let deployed = self.deployed.clone();
        let (kind, to) = self.choose(&deployed);
        let (tag, mut params) = match kind {
            Kind::Caller => self.call_of_caller(),
            Kind::Hello => match self.below(2) {
                0 => ("Greet", vec![]),
                _ => ("SetGreeting", vec![self.text("text")]),
            },
            Kind::Importer => ("Add", vec![self.small("n")]),
            Kind::Library => ("Any", vec![]),
            Kind::Registry => self.call_of_registry(),
            Kind::Relay => self.call_of_relay(),
            Kind::Token => self.call_of_token(),
        };
        let tag = if self.below(40) == 0 { "Nothing" } else { tag };
        match self.below(40) {
            0 => drop(params.pop()),
            1 => params.push(self.text("surplus")),
            2 => params.iter_mut().take(1).for_each(|param| param["type"] = json!("Int32")),
            _ => {}
        }
        let gas = if self.below(4) == 0 { 300 + self.below(2_500) } else { PLENTY };
        let amount = u128::from(self.below(2) * self.below(1_000));
        let data = json!({ "_tag": tag, "params": params }).to_string();
        Intent { to, amount, gas, code: String::new(), data, kind: None, what: "call" }
    }

    fn call_of_caller(&mut self) -> (&'static str, Vec<Json>) {
        let through = self.target(Kind::Caller);
        let to = self.target(Kind::Registry);
        let rest = [self.party("a"), self.text("b"), self.small("c")];
        match self.below(5) {
            0 => ("Forget", vec![self.party("a")]),
            1 | 2 => ("Pass", [vec![address("through", &through), address("to", &to)], rest.to_vec()].concat()),
            _ => ("Store", [vec![address("to", &to)], rest.to_vec()].concat()),
        }
    }

    fn call_of_registry(&mut self) -> (&'static str, Vec<Json>) {
        let (a, b, c) = (self.party("a"), self.text("b"), self.small("c"));
        let (to, key, value) = (self.party("to"), self.text("key"), self.amount("value"));
        match self.below(14) {
            0 => ("Clear", vec![]),
            1 => ("Drop", vec![key]),
            2 => ("DropDeep", vec![a, b, c]),
            3 => ("DropMiddle", vec![a, b]),
            4 => ("DropOuter", vec![a]),
            5 => ("Copy", vec![a, b, to]),
            6 => ("Whole", vec![a, to]),
            7 => ("Rewrite", vec![key, value]),
            8 => ("Has", vec![a, b]),
            9 => ("Note", vec![self.text("name")]),
            10 => ("Put", vec![key, value]),
            _ => ("PutDeep", vec![a, b, c, self.text("value")]),
        }
    }

    fn call_of_relay(&mut self) -> (&'static str, Vec<Json>) {
        let (relay, anyone) = (self.target(Kind::Relay), self.someone());
        match self.below(9) {
            0 => ("Forget", vec![address("to", &relay)]),
            1 => ("Take", vec![]),
            2 => ("Refuse", vec![]),
            3 => ("Fail", vec![]),
            4 => ("Loop", vec![]),
            5 => ("Look", vec![address("at", &anyone)]),
            6 => ("Look", vec![address("at", &relay)]),
            7 => {
                let tag = self.choose(&["Take", "Refuse", "Fail", "", "Loop", "Nothing"]);
                ("Ask", vec![address("to", &relay), json!({"vname": "tag", "type": "String", "value": tag})])
            }
            _ => ("Forward", vec![address("to", &relay), address("payee", &anyone)]),
        }
    }

    fn call_of_token(&mut self) -> (&'static str, Vec<Json>) {
        let (to, amount) = (self.party("to"), self.amount("amount"));
        match self.below(8) {
            0 => ("Burn", vec![amount]),
            1 => ("Mint", vec![self.party("recipient"), amount]),
            2 => ("IncreaseAllowance", vec![self.party("spender"), amount]),
            3 => ("TransferFrom", vec![self.party("from"), to, amount]),
            4 => ("AuthorizeOperator", vec![self.party("operator")]),
            _ => ("Transfer", vec![to, amount]),
        }
    }

    /// Returns a contract of this kind, or sometimes another address.
    fn target(&mut self, kind: Kind) -> Address {
        match self.of_kind(kind) {
            Some(contract) if self.below(8) != 0 => contract,
            _ => self.someone(),
        }
    }

    fn party(&mut self, name: &str) -> Json {
        address(name, &user(u8::try_from(1 + self.below(4)).unwrap()))
    }

    fn text(&mut self, name: &str) -> Json {
        json!({"vname": name, "type": "String", "value": self.choose(&["", "a", "ab", "b\"c", "d\\e", "x y"])})
    }

    fn small(&mut self, name: &str) -> Json {
        json!({"vname": name, "type": "Uint32", "value": self.below(3).to_string()})
    }

    fn amount(&mut self, name: &str) -> Json {
        json!({"vname": name, "type": "Uint128", "value": self.below(2_000).to_string()})
    }
}

fn address(name: &str, value: &Address) -> Json {
    json!({"vname": name, "type": "ByStr20", "value": format!("0x{value}")})
}

fn init(params: Vec<Json>) -> Json {
    let version = json!({"vname": "_scilla_version", "type": "Uint32", "value": "0"});
    std::iter::once(version).chain(params).collect()
}
