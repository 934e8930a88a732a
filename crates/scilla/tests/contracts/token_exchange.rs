//! Scenarios of the exchange, which reads the balances of its users from the token contracts.

use crate::world::{Scenario, World, check_scenarios};

const NOTHING_OFFERED: &str = "Error(code: -1)";
const NOT_TOKEN: &str = "Error(code: -2)";
const SAME_TOKEN: &str = "Error(code: -3)";
const TOO_LATE: &str = "Error(code: -4)";
const TOO_FEW_TOKENS: &str = "Error(code: -5)";
const UNKNOWN_ORDER: &str = "Error(code: -6)";
const NOT_MAKER: &str = "Error(code: -7)";

const SCENARIOS: &[Scenario] = &[
    ("OpenOrder", open_order),
    ("CancelOrder", cancel_order),
    ("FillOrder", fill_order),
    ("TransferFromSuccessCallBack", callback),
];

/// Returns a world in which Alice has 100 gold, and Bob has 100 silver. Both allow the exchange to take 80 of their
/// tokens.
fn prepare() -> World {
    let mut world = World::with(&["alice", "bob"]);
    world.deploy("exchange", "token_exchange", &[]);
    for (token, owner) in [("gold", "alice"), ("silver", "bob")] {
        let parameters = [
            ("contract_owner", owner),
            ("name", token),
            ("symbol", token),
            ("decimals", "0"),
            ("init_supply", "100"),
            ("default_operators", "[]"),
        ];
        world.deploy(token, "fungible_token", &parameters);
        allow(&mut world, owner, token, "80");
    }
    world
}

fn allow(world: &mut World, owner: &str, token: &str, amount: &str) {
    world.call(owner, token, "IncreaseAllowance", &[("spender", "exchange"), ("amount", amount)]).succeeds();
}

fn order<'a>(give: &'a str, give_amount: &'a str, want: &'a str, want_amount: &'a str) -> [(&'a str, &'a str); 5] {
    [("give", give), ("give_amount", give_amount), ("want", want), ("want_amount", want_amount), ("last_block", "200")]
}

fn open(world: &mut World, give_amount: &str, want_amount: &str) {
    world.call("alice", "exchange", "OpenOrder", &order("gold", give_amount, "silver", want_amount)).succeeds();
}

fn open_order(world: &mut World) {
    world
        .call("alice", "exchange", "OpenOrder", &order("gold", "80", "silver", "30"))
        .gives(&[
            "exchange: event OrderOpened(id: 1, maker: alice, give: gold, give_amount: 80, \
             want: silver, want_amount: 30, last_block: 200)",
            "exchange.next_id = 2",
            "exchange.orders[1] = Order(alice, gold, 80, silver, 30, 200)",
        ])
        .costs(689);
    let mut fails = |order: [(&str, &str); 5], why| world.call("alice", "exchange", "OpenOrder", &order).fails(why);
    fails(order("gold", "0", "silver", "30"), NOTHING_OFFERED);
    fails(order("gold", "80", "silver", "0"), NOTHING_OFFERED);
    fails(order("gold", "80", "gold", "30"), SAME_TOKEN);
    // Alice allows at most 80 gold, and has no silver.
    fails(order("gold", "81", "silver", "30"), TOO_FEW_TOKENS);
    fails(order("silver", "1", "gold", "30"), TOO_FEW_TOKENS);
    let alice = "0x616c696365000000000000000000000000000000";
    fails(order("alice", "80", "silver", "30"), &format!("No contract found at address: {alice}"));
    world.block = 201;
    world.call("alice", "exchange", "OpenOrder", &order("gold", "80", "silver", "30")).fails(TOO_LATE);
}

fn cancel_order(world: &mut World) {
    open(world, "80", "30");
    world.call("bob", "exchange", "CancelOrder", &[("id", "1")]).fails(NOT_MAKER);
    world
        .call("alice", "exchange", "CancelOrder", &[("id", "1")])
        .gives(&["exchange: event OrderCancelled(id: 1)", "exchange.orders[1] is gone"]);
    world.call("alice", "exchange", "CancelOrder", &[("id", "1")]).fails(UNKNOWN_ORDER);
}

fn fill_order(world: &mut World) {
    world.call("bob", "exchange", "FillOrder", &[("id", "1")]).fails(UNKNOWN_ORDER);
    open(world, "80", "30");
    let mut late = world.clone();
    late.block = 201;
    late.call("bob", "exchange", "FillOrder", &[("id", "1")]).fails(TOO_LATE);

    // The taker has no silver.
    world.call("carol", "exchange", "FillOrder", &[("id", "1")]).fails(TOO_FEW_TOKENS);
    // The maker has less gold than the order offers.
    let mut poorer = world.clone();
    poorer.call("alice", "gold", "Transfer", &[("to", "carol"), ("amount", "21")]).succeeds();
    poorer.call("bob", "exchange", "FillOrder", &[("id", "1")]).fails(TOO_FEW_TOKENS);

    world
        .call("bob", "exchange", "FillOrder", &[("id", "1")])
        .gives(&[
            "exchange: event OrderFilled(id: 1, maker: alice, taker: bob)",
            "exchange: send gold TransferFrom(from: alice, to: bob, amount: 80)",
            "gold: event TransferFromSuccess(initiator: exchange, sender: alice, recipient: bob, amount: 80)",
            "gold: send bob RecipientAcceptTransferFrom(initiator: exchange, sender: alice, recipient: bob, amount: 80)",
            "gold: send exchange TransferFromSuccessCallBack(initiator: exchange, sender: alice, recipient: bob, amount: 80)",
            "exchange: send silver TransferFrom(from: bob, to: alice, amount: 30)",
            "silver: event TransferFromSuccess(initiator: exchange, sender: bob, recipient: alice, amount: 30)",
            "silver: send alice RecipientAcceptTransferFrom(initiator: exchange, sender: bob, recipient: alice, amount: 30)",
            "silver: send exchange TransferFromSuccessCallBack(initiator: exchange, sender: bob, recipient: alice, amount: 30)",
            "exchange.orders[1] is gone",
            "gold.allowances[alice][exchange] = 0",
            "gold.balances[alice] = 20",
            "gold.balances[bob] = 80",
            "silver.allowances[bob][exchange] = 50",
            "silver.balances[alice] = 30",
            "silver.balances[bob] = 70",
        ])
        .costs(1004);
    world.call("bob", "exchange", "FillOrder", &[("id", "1")]).fails(UNKNOWN_ORDER);

    // Only token contracts can be exchanged.
    allow(world, "alice", "gold", "20");
    world.call("alice", "exchange", "OpenOrder", &order("gold", "20", "exchange", "1")).succeeds();
    world.call("bob", "exchange", "FillOrder", &[("id", "2")]).fails(NOT_TOKEN);
}

/// Checks that a callback has an effect only if the sender is a token contract.
fn callback(world: &mut World) {
    let expected = [("initiator", "exchange"), ("sender", "alice"), ("recipient", "bob"), ("amount", "1")];
    world.call("bob", "exchange", "TransferFromSuccessCallBack", &expected).gives(&[]);
}

#[test]
fn every_transition_runs() {
    check_scenarios("token_exchange", prepare, SCENARIOS);
}
