//! The share of the work limit that the contracts of the repository use.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};
use silica_protocol::{Account, Address, BlockNumber, ChainId, CodeHash, Gas, Nonce, Qa, ShardId, UnsignedTransaction};
use silica_scilla::work::{EVALUATION_PER_GAS, FIXED, PER_BLOCK, PER_GAS, TRANSACTION, weight};

use super::{Context, ContractCache, Executed, LoadedContract, Outcome, Overlay, Recorded};
use crate::{
    config::Rules,
    executor,
    testing::{account, address, payment, unchecked},
};

const SENDER: u8 = 1;

macro_rules! contract {
    ($path:literal) => {
        include_str!(concat!("../../tests/data/", $path))
    };
}

struct StateReader {
    overlay: Overlay<BTreeMap<Address, Account>>,
    contract_cache: ContractCache,
    nonce: u64,
    /// The contracts that count as loaded, because the gas of a call does not limit their loading.
    loaded: BTreeMap<CodeHash, LoadedContract>,
}

fn param(name: &str, kind: &str, value: impl Into<Json>) -> Json {
    json!({"vname": name, "type": kind, "value": value.into()})
}

fn hex(address: Address) -> String {
    format!("0x{address}")
}

impl StateReader {
    fn new() -> Self {
        let accounts = BTreeMap::from([(address(SENDER), account(1_000_000_000 * Qa::PER_ZIL, 0))]);
        Self {
            overlay: Overlay::new(accounts),
            contract_cache: ContractCache::new("0.13/3".parse().unwrap()),
            nonce: 0,
            loaded: BTreeMap::new(),
        }
    }

    /// Executes a transaction in a block that has the work `work_limit` left.
    fn execute(&mut self, work_limit: u64, transaction: UnsignedTransaction) -> Executed {
        let rules = Rules::V8_1;
        let context = Context {
            work_limit,
            loaded: &self.loaded,
            block: BlockNumber::new(7),
            chain_id: ChainId::new(222),
            contract_cache: &self.contract_cache,
            tracer: None,
            gas_limit: Gas::new(400_000),
            minimum_price: None,
            rules: &rules,
        };
        let nonce = Nonce::new(self.nonce + 1);
        let transaction = UnsignedTransaction { nonce, gas_limit: Gas::new(100_000), ..transaction };
        let executed = executor::execute(&unchecked(transaction, ShardId::new(1)), context, &mut self.overlay).unwrap();
        if matches!(executed.outcome, Outcome::Recorded(_)) {
            self.nonce += 1;
        }
        executed
    }

    /// Executes a transaction, and returns the used share of its work limit in thousandths.
    fn share(&mut self, name: &str, transaction: UnsignedTransaction) -> u64 {
        // A successful deployment reports units as gas, so its receipt does not show the gas for its texts.
        let bytes = (transaction.code.len() + transaction.data.len()) as u64;
        let texts = bytes / 8 + 400;
        let is_deployment = !transaction.code.is_empty();
        let Executed { outcome, work, .. } = self.execute(PER_BLOCK, transaction);
        let Outcome::Recorded(Recorded { receipt, .. }) = outcome else { panic!("{name}: {outcome:?}") };
        assert!(receipt.success, "{name}: {receipt:?}");
        let gas = if is_deployment { texts } else { receipt.cumulative_gas.get() };
        // The gas does not limit the second part of the work for the texts. The imports of a deployment count here as
        // if the gas limited them.
        let checked = if is_deployment { 2 * bytes * weight::LOADED_BYTE } else { 0 };
        let done = work.saturating_sub(TRANSACTION + checked + gas * EVALUATION_PER_GAS);
        let share = done * 1_000 / (FIXED + gas * (PER_GAS - EVALUATION_PER_GAS));
        println!("| {name} | {gas} | {} µs | {}.{} % |", work / 1_000, share / 10, share % 10);
        share
    }

    fn deploy(&mut self, name: &str, code: &str, params: &[Json]) -> (Address, u64) {
        let version = param("_scilla_version", "Uint32", "0");
        let init: Vec<_> = [version].iter().chain(params).cloned().collect();
        let created = Address::of_contract(&address(SENDER), Nonce::new(self.nonce));
        let (code, data) = (code.to_owned(), Json::Array(init).to_string());
        let share = self.share(
            &format!("deployment of {name}"),
            UnsignedTransaction { code, data, ..payment(SENDER, Address::ZERO) },
        );
        let contract = self.overlay.account(&created).unwrap().unwrap().contract.unwrap();
        let module = self.contract_cache.get(&created, &mut self.overlay).unwrap().unwrap();
        self.loaded
            .insert(contract.code_hash, self.contract_cache.ready(&module, &mut self.overlay, |_| Ok(())).unwrap());
        (created, share)
    }

    fn call(&mut self, to: Address, tag: &str, params: &[Json]) -> u64 {
        let data = json!({ "_tag": tag, "params": params }).to_string();
        self.share(tag, UnsignedTransaction { data, amount: Qa::ZERO, ..payment(SENDER, to) })
    }
}

#[test]
fn contracts_of_the_repository_stay_far_below_their_limit() {
    let mut world = StateReader::new();
    let (me, other) = (hex(address(SENDER)), hex(address(2)));
    let mut shares = BTreeSet::new();
    let owner = param("owner", "ByStr20", me.as_str());

    let (hello, share) = world.deploy(
        "hello_world",
        contract!("contracts/hello_world/hello_world.scilla"),
        std::slice::from_ref(&owner),
    );
    shares.insert(share);
    shares.insert(world.call(hello, "Greet", &[]));
    shares.insert(world.call(hello, "SetGreeting", &[param("text", "String", "Good morning")]));

    let token = contract!("contracts/fungible_token/fungible_token.scilla");
    let described = [
        param("contract_owner", "ByStr20", me.as_str()),
        param("name", "String", "Token"),
        param("symbol", "String", "TOK"),
        param("decimals", "Uint32", "12"),
        param("init_supply", "Uint128", "1000000"),
        param("default_operators", "List ByStr20", json!([])),
    ];
    let (token, share) = world.deploy("fungible_token", token, &described);
    shares.insert(share);
    let amount = param("amount", "Uint128", "10");
    let to = param("to", "ByStr20", other.as_str());
    shares.insert(world.call(token, "Mint", &[param("recipient", "ByStr20", me.as_str()), amount.clone()]));
    shares.insert(world.call(token, "Transfer", &[to.clone(), amount.clone()]));
    shares.insert(world.call(token, "Transfer", &[to.clone(), amount.clone()]));
    let operator = param("operator", "ByStr20", other.as_str());
    shares.insert(world.call(token, "AuthorizeOperator", std::slice::from_ref(&operator)));
    shares.insert(world.call(token, "IsOperatorFor", &[param("token_owner", "ByStr20", me.as_str()), operator]));
    shares.insert(world.call(token, "Burn", &[amount]));

    let (_, share) = world.deploy(
        "non_fungible_token",
        contract!("contracts/non_fungible_token/non_fungible_token.scilla"),
        &[
            param("initial_contract_owner", "ByStr20", me.as_str()),
            param("initial_base_uri", "String", "https://example.org/"),
            param("name", "String", "Token"),
            param("symbol", "String", "TOK"),
        ],
    );
    shares.insert(share);

    let (_, share) = world.deploy("token_exchange", contract!("contracts/token_exchange/token_exchange.scilla"), &[]);
    shares.insert(share);
    let (wallet, share) = world.deploy(
        "multisig_wallet",
        contract!("contracts/multisig_wallet/multisig_wallet.scilla"),
        &[param("initial_owners", "List ByStr20", json!([me, other])), param("initial_threshold", "Uint32", "1")],
    );
    shares.insert(share);
    let payment = [to, param("amount", "Uint128", "1"), param("tag", "String", "")];
    shares.insert(world.call(wallet, "ProposePayment", &payment));
    shares.insert(world.call(wallet, "Revoke", &[param("id", "Uint32", "1")]));

    let (admins, share) = world.deploy("admins", contract!("small/admins.scilla"), &[owner]);
    shares.insert(share);
    shares.insert(world.call(admins, "Touch", &[]));
    let (_, share) = world.deploy("shout", contract!("small/shout.scilla"), &[]);
    shares.insert(share);
    let (_, share) = world.deploy("relay", contract!("small/relay.scilla"), &[]);
    shares.insert(share);

    assert!(shares.last().is_some_and(|share| *share < 700), "{shares:?}");
}

#[test]
fn programs_of_a_block_need_no_cache() {
    let mut world = StateReader::new();
    let (shout, _) = world.deploy("shout", contract!("small/shout.scilla"), &[]);
    let call = || {
        let data = json!({ "_tag": "Shout", "params": [] }).to_string();
        UnsignedTransaction { data, amount: Qa::ZERO, ..payment(SENDER, shout) }
    };
    let expected = world.execute(PER_BLOCK, call());
    world.contract_cache = ContractCache::new("0.13/3".parse().unwrap());
    let executed = world.execute(PER_BLOCK, call());
    assert_eq!((executed.work, world.contract_cache.usage().programs), (expected.work, 0));
    world.loaded.clear();
    let fresh = world.execute(PER_BLOCK, call());
    assert!(fresh.work > executed.work && world.contract_cache.usage().programs == 1);
}

/// A contract with events of long texts, and with patterns of many columns.
const REPORTS: &str = "scilla_version 0
library Reports
let five = fun (a : Bool) => fun (b : Bool) => fun (c : Bool) => fun (d : Bool) => fun (e : Bool) =>
  let ab = Pair {Bool Bool} a b in
  let cd = Pair {Bool Bool} c d in
  let abcd = Pair {(Pair Bool Bool) (Pair Bool Bool)} ab cd in
  match abcd with
  | Pair (Pair True True) (Pair True True) => e
  | Pair (Pair False b) (Pair True d) => b
  | Pair (Pair a False) (Pair c False) => c
  | Pair x y => a
  end
contract Reports ()
transition Report (text : String)
  e = { _eventname : \"Report\"; a : text; b : text; c : text; d : text };
  event e; event e; event e; event e
end
";

#[test]
fn room_of_a_block_decides_only_when_a_transaction_is_executed() {
    let mut world = StateReader::new();
    let (reports, _) = world.deploy("reports", REPORTS, &[]);
    let text = param("text", "String", "x".repeat(2_000));
    let data = json!({ "_tag": "Report", "params": [text] }).to_string();
    let call = UnsignedTransaction { data, amount: Qa::ZERO, ..payment(SENDER, reports) };
    let data = json!([param("_scilla_version", "Uint32", "0")]).to_string();
    let deployment = UnsignedTransaction { code: REPORTS.to_owned(), data, ..payment(SENDER, Address::ZERO) };
    for transaction in [call, deployment, payment(SENDER, address(2))] {
        let expected = world.execute(PER_BLOCK, transaction.clone());
        assert!(matches!(&expected.outcome, Outcome::Recorded(it) if it.receipt.success), "{expected:?}");
        for work_limit in (0..expected.work).step_by(5_000) {
            let executed = world.execute(work_limit, transaction.clone());
            assert_eq!(executed.outcome, Outcome::Full, "room for {work_limit} of {}", expected.work);
        }
        let executed = world.execute(expected.work, transaction);
        assert_eq!((executed.outcome, executed.work), (expected.outcome, expected.work));
        assert!(executed.loaded.keys().eq(expected.loaded.keys()));
    }
}
