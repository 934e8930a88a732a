//! Traces of messages to libraries, and of messages that are not delivered. A message that is not delivered has no run
//! in the trace.

use serde_json::{Value, json};
use silica_chain::TracedCall;
use silica_protocol::{Address, Gas, Qa, Receipt, UnsignedTransaction};
use silica_scilla::rules::{Edition, Rules};

use crate::{
    contracts::{World, address_param, errors, init, text_param},
    harness::{signed, user},
};

/// Calls a contract, and returns the receipt and the trace of the call.
fn trace(
    world: &mut World,
    to: Address,
    (tag, params): (&str, &[Value]),
    amount: u128,
    gas: u64,
) -> (Receipt, TracedCall) {
    let data = json!({ "_tag": tag, "params": params }).to_string();
    let (amount, gas_limit) = (Qa::new(amount), Gas::new(gas));
    let transaction = signed(2, UnsignedTransaction { to, data, amount, gas_limit, ..world.transaction(2) });
    let hash = transaction.hash();
    let receipt = world.run(2, transaction.into_unsigned()).unwrap();
    let trace = world.net.snapshot().trace(&hash).unwrap();
    assert_eq!(trace.receipt, receipt);
    (receipt, trace.calls.root.unwrap())
}

/// Returns recipient, amount and tag of each message, and whether it caused a run.
fn sent(call: &TracedCall) -> Vec<(Address, u128, &str, bool)> {
    call.calls.iter().map(|it| (it.recipient, it.amount.get(), it.tag.as_str(), it.run.is_some())).collect()
}

#[test]
fn message_to_a_library_is_not_delivered_where_it_is_refused() {
    let mut world = World::with_rules(Rules::current(Edition::V0_11));
    let library = world.library();
    let relay = world.relay();
    let params = [address_param("to", &library), text_param("tag", "Take")];
    let (receipt, root) = trace(&mut world, relay, ("Ask", &params), 3, 20_000);
    assert_eq!(errors(&receipt), [(1, vec![23])]);
    assert_eq!(sent(&root), [(library, 3, "Take", false)]);
    let run = root.run.unwrap();
    assert!(run.completed && run.accepted && !run.steps.is_empty());
}

#[test]
fn message_to_a_library_is_a_run_without_steps() {
    let mut world = World::new();
    let (library, relay) = (world.library(), world.relay());
    let params = [address_param("to", &library), text_param("tag", "Take")];
    let (receipt, root) = trace(&mut world, relay, ("Ask", &params), 3, 20_000);
    assert!(receipt.success, "{receipt:?}");
    assert_eq!(sent(&root), [(library, 3, "Take", true)]);
    let run = root.calls[0].run.as_ref().unwrap();
    assert!(run.completed && !run.accepted && run.steps.is_empty());
}

/// A contract that sends the same money twice. The message to itself spends the money before the other message of
/// `Pay` is delivered.
const PURSE: &str = r#"scilla_version 0
library Purse
let nil = Nil {Message}
let zero = Uint128 0
let five = Uint128 5
contract Purse ()
transition Pay (payee : ByStr20, to : ByStr20, tag : String)
  accept;
  a = { _tag : "Back"; _recipient : _this_address; _amount : zero; payee : payee };
  b = { _tag : tag; _recipient : to; _amount : five };
  last = Cons {Message} b nil;
  messages = Cons {Message} a last;
  send messages
end
transition Back (payee : ByStr20)
  m = { _tag : ""; _recipient : payee; _amount : five };
  messages = Cons {Message} m nil;
  send messages
end
"#;

#[test]
fn transfer_beyond_the_balance_is_not_made() {
    let mut world = World::new();
    let (purse, relay) = (world.deployed(1, PURSE, &init(&[])), world.relay());
    let params =
        |to: &Address, tag: &str| [address_param("payee", &user(9)), address_param("to", to), text_param("tag", tag)];
    let (receipt, root) = trace(&mut world, purse, ("Pay", &params(&user(10), "")), 5, 20_000);
    assert_eq!(errors(&receipt), [(1, vec![2])]);
    assert_eq!(sent(&root), [(purse, 0, "Back", true), (user(10), 5, "", false)]);
    assert_eq!(sent(&root.calls[0]), [(user(9), 5, "", false)]);
    assert_eq!((world.net.balance(&user(9)), world.net.balance(&user(10))), (None, None));
    // The sender does not have the money that the contract accepts, so the run of the contract fails.
    let (receipt, root) = trace(&mut world, purse, ("Pay", &params(&relay, "Take")), 5, 20_000);
    assert_eq!(errors(&receipt), [(2, vec![7])]);
    assert_eq!(sent(&root), [(purse, 0, "Back", true), (relay, 5, "Take", true)]);
    let run = root.calls[1].run.as_ref().unwrap();
    assert!(!run.completed && !run.accepted && run.steps.iter().all(|step| step.failed));
}

#[test]
fn gas_that_does_not_pay_for_another_contract_ends_before_it() {
    let mut world = World::new();
    let (relay, other) = (world.relay(), world.relay());
    let params = [address_param("to", &other), text_param("tag", "Take")];
    let ask = ("Ask", &params[..]);
    let (receipt, _) = trace(&mut world, relay, ask, 3, 20_000);
    assert!(receipt.success);
    let needed = receipt.cumulative_gas.get();
    let ended = (300..needed).rev().step_by(20).find_map(|gas| {
        let (receipt, root) = trace(&mut world, relay, ask, 3, gas);
        (errors(&receipt) == [(1, vec![21])]).then_some(root)
    });
    let root = ended.expect("with some limit the gas is used up between the two");
    assert_eq!(sent(&root), [(other, 3, "Take", false)]);
    let run = root.run.unwrap();
    assert!(run.completed && run.gas_after < 300 && run.gas_after < run.gas_before);
}
