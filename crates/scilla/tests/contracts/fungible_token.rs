//! Scenarios of the fungible token, by the standard ZRC-2.

use crate::world::{Arguments, Scenario, World, check_scenarios, interface};

const IS_SENDER: &str = "Error(code: -1)";
const INSUFFICIENT_FUNDS: &str = "Error(code: -2)";
const INSUFFICIENT_ALLOWANCE: &str = "Error(code: -3)";
const NOT_OWNER: &str = "Error(code: -4)";
const NOT_OPERATOR: &str = "Error(code: -5)";
/// The largest amount, as a literal.
const MOST: &str = "340282366920938463463374607431768211455";

const SCENARIOS: &[Scenario] = &[
    ("IsOperatorFor", is_operator_for),
    ("Mint", mint),
    ("Burn", burn),
    ("AuthorizeOperator", authorize_operator),
    ("RevokeOperator", revoke_operator),
    ("IncreaseAllowance", increase_allowance),
    ("DecreaseAllowance", decrease_allowance),
    ("Transfer", transfer),
    ("TransferFrom", transfer_from),
    ("OperatorSend", operator_send),
];

const PARAMETERS: [(&str, &str); 6] = [
    ("contract_owner", "owner"),
    ("name", "Gold"),
    ("symbol", "GLD"),
    ("decimals", "12"),
    ("init_supply", "100"),
    ("default_operators", "[agent]"),
];

/// Returns a world with the token Gold. Alice has 60 units of Gold, and the owner of the token has 40. The world also
/// has a contract without the interface of a token.
fn prepare() -> World {
    let mut world = World::with(&["owner", "alice", "bob", "carol", "agent"]);
    world.deploy("gold", "fungible_token", &PARAMETERS);
    world.deploy("hello", "hello_world", &[("owner", "alice")]);
    let moved = world.call("owner", "gold", "Transfer", &[("to", "alice"), ("amount", "60")]);
    moved.gives(&[
        "gold: event TransferSuccess(sender: owner, recipient: alice, amount: 60)",
        "gold: send alice RecipientAcceptTransfer(sender: owner, recipient: alice, amount: 60)",
        "gold: send owner TransferSuccessCallBack(sender: owner, recipient: alice, amount: 60)",
        "gold.balances[alice] = 60",
        "gold.balances[owner] = 40",
    ]);
    world
}

fn is_operator_for(world: &mut World) {
    let query = |operator| [("token_owner", "alice"), ("operator", operator)];
    world
        .call("carol", "gold", "IsOperatorFor", &query("agent"))
        .gives(&["gold: send carol IsOperatorForCallBack(token_owner: alice, operator: agent)"]);
    world.call("carol", "gold", "IsOperatorFor", &query("bob")).fails(NOT_OPERATOR);
    world.call("carol", "gold", "IsOperatorFor", &query("alice")).fails(NOT_OPERATOR);
}

fn mint(world: &mut World) {
    let to_bob: Arguments<'_> = &[("recipient", "bob"), ("amount", "7")];
    world
        .call("owner", "gold", "Mint", to_bob)
        .gives(&[
            "gold: event Minted(minter: owner, recipient: bob, amount: 7)",
            "gold: send bob RecipientAcceptMint(minter: owner, recipient: bob, amount: 7)",
            "gold: send owner MintSuccessCallBack(minter: owner, recipient: bob, amount: 7)",
            "gold.balances[bob] = 7",
            "gold.total_supply = 107",
        ])
        .costs(771);
    world.call("alice", "gold", "Mint", to_bob).fails(NOT_OWNER);
    world
        .call("owner", "gold", "Mint", &[("recipient", "hello"), ("amount", "1")])
        .fails("No contract transition for tag found: RecipientAcceptMint");
    // A mint above the largest amount fails.
    world.call("owner", "gold", "Mint", &[("recipient", "bob"), ("amount", MOST)]).fails(&format!(
        "Cannot apply built-in Uint.add: an overflow/underflow occurred to a list of arguments: [  (Uint128 107),\n  (Uint128 {MOST})]"
    ));
}

fn burn(world: &mut World) {
    world.call("alice", "gold", "Burn", &[("amount", "10")]).gives(&[
        "gold: event Burnt(burner: alice, burn_account: alice, amount: 10)",
        "gold: send alice BurnSuccessCallBack(burner: alice, amount: 10)",
        "gold.balances[alice] = 50",
        "gold.total_supply = 90",
    ]);
    world.call("alice", "gold", "Burn", &[("amount", "51")]).fails(INSUFFICIENT_FUNDS);
    world.call("bob", "gold", "Burn", &[("amount", "1")]).fails(INSUFFICIENT_FUNDS);
}

fn authorize_operator(world: &mut World) {
    world.call("alice", "gold", "AuthorizeOperator", &[("operator", "bob")]).gives(&[
        "gold: event AuthorizeOperatorSuccess(authorizer: alice, authorized_operator: bob)",
        "gold.operators[alice][bob] = Unit",
    ]);
    world.call("alice", "gold", "AuthorizeOperator", &[("operator", "alice")]).fails(IS_SENDER);
    // A revoked default operator can be authorised again.
    world.call("alice", "gold", "RevokeOperator", &[("operator", "agent")]).succeeds();
    world.call("alice", "gold", "AuthorizeOperator", &[("operator", "agent")]).gives(&[
        "gold: event AuthorizeOperatorSuccess(authorizer: alice, authorized_operator: agent)",
        "gold.revoked_default_operators[alice][agent] is gone",
    ]);
}

fn revoke_operator(world: &mut World) {
    world.call("alice", "gold", "RevokeOperator", &[("operator", "bob")]).fails(NOT_OPERATOR);
    world.call("alice", "gold", "AuthorizeOperator", &[("operator", "bob")]).succeeds();
    world.call("alice", "gold", "RevokeOperator", &[("operator", "bob")]).gives(&[
        "gold: event RevokeOperatorSuccess(revoker: alice, revoked_operator: bob)",
        "gold.operators[alice][bob] is gone",
    ]);
    world.call("alice", "gold", "RevokeOperator", &[("operator", "agent")]).gives(&[
        "gold: event RevokeOperatorSuccess(revoker: alice, revoked_operator: agent)",
        "gold.revoked_default_operators[alice][agent] = Unit",
    ]);
    world.call("alice", "gold", "RevokeOperator", &[("operator", "agent")]).fails(NOT_OPERATOR);
}

fn allowance(world: &mut World, transition: &str, event: &str, amount: &str, after: &str) {
    world.call("alice", "gold", transition, &[("spender", "bob"), ("amount", amount)]).gives(&[
        &format!("gold: event {event}(token_owner: alice, spender: bob, new_allowance: {after})"),
        &format!("gold.allowances[alice][bob] = {after}"),
    ]);
}

fn increase_allowance(world: &mut World) {
    allowance(world, "IncreaseAllowance", "IncreasedAllowance", "20", "20");
    allowance(world, "IncreaseAllowance", "IncreasedAllowance", "5", "25");
    let own: Arguments<'_> = &[("spender", "alice"), ("amount", "5")];
    world.call("alice", "gold", "IncreaseAllowance", own).fails(IS_SENDER);
    world.call("alice", "gold", "IncreaseAllowance", &[("spender", "bob"), ("amount", MOST)]).fails(&format!(
        "Cannot apply built-in Uint.add: an overflow/underflow occurred to a list of arguments: [  (Uint128 25),\n  (Uint128 {MOST})]"
    ));
}

fn decrease_allowance(world: &mut World) {
    allowance(world, "IncreaseAllowance", "IncreasedAllowance", "20", "20");
    allowance(world, "DecreaseAllowance", "DecreasedAllowance", "5", "15");
    allowance(world, "DecreaseAllowance", "DecreasedAllowance", "16", "0");
    let own: Arguments<'_> = &[("spender", "alice"), ("amount", "5")];
    world.call("alice", "gold", "DecreaseAllowance", own).fails(IS_SENDER);
}

fn transfer(world: &mut World) {
    world
        .call("alice", "gold", "Transfer", &[("to", "bob"), ("amount", "25")])
        .gives(&[
            "gold: event TransferSuccess(sender: alice, recipient: bob, amount: 25)",
            "gold: send bob RecipientAcceptTransfer(sender: alice, recipient: bob, amount: 25)",
            "gold: send alice TransferSuccessCallBack(sender: alice, recipient: bob, amount: 25)",
            "gold.balances[alice] = 35",
            "gold.balances[bob] = 25",
        ])
        .costs(775);
    // A transfer to the sender itself reports success, and changes nothing.
    world.call("alice", "gold", "Transfer", &[("to", "alice"), ("amount", "35")]).gives(&[
        "gold: event TransferSuccess(sender: alice, recipient: alice, amount: 35)",
        "gold: send alice RecipientAcceptTransfer(sender: alice, recipient: alice, amount: 35)",
        "gold: send alice TransferSuccessCallBack(sender: alice, recipient: alice, amount: 35)",
    ]);
    world.call("alice", "gold", "Transfer", &[("to", "bob"), ("amount", "36")]).fails(INSUFFICIENT_FUNDS);
    world.call("carol", "gold", "Transfer", &[("to", "bob"), ("amount", "1")]).fails(INSUFFICIENT_FUNDS);
    world
        .call("alice", "gold", "Transfer", &[("to", "hello"), ("amount", "1")])
        .fails("No contract transition for tag found: RecipientAcceptTransfer");
}

fn transfer_from(world: &mut World) {
    let take = |amount| [("from", "alice"), ("to", "carol"), ("amount", amount)];
    world.call("bob", "gold", "TransferFrom", &take("1")).fails(INSUFFICIENT_ALLOWANCE);
    allowance(world, "IncreaseAllowance", "IncreasedAllowance", "100", "100");
    world
        .call("bob", "gold", "TransferFrom", &take("25"))
        .gives(&[
            "gold: event TransferFromSuccess(initiator: bob, sender: alice, recipient: carol, amount: 25)",
            "gold: send carol RecipientAcceptTransferFrom(initiator: bob, sender: alice, recipient: carol, amount: 25)",
            "gold: send bob TransferFromSuccessCallBack(initiator: bob, sender: alice, recipient: carol, amount: 25)",
            "gold.allowances[alice][bob] = 75",
            "gold.balances[alice] = 35",
            "gold.balances[carol] = 25",
        ])
        .costs(966);
    world.call("bob", "gold", "TransferFrom", &take("36")).fails(INSUFFICIENT_FUNDS);
    world.call("bob", "gold", "TransferFrom", &take("76")).fails(INSUFFICIENT_ALLOWANCE);
    // Only the spender of an allowance can use it.
    world.call("carol", "gold", "TransferFrom", &take("1")).fails(INSUFFICIENT_ALLOWANCE);
    world
        .call("bob", "gold", "TransferFrom", &[("from", "alice"), ("to", "hello"), ("amount", "1")])
        .fails("No contract transition for tag found: RecipientAcceptTransferFrom");
}

fn operator_send(world: &mut World) {
    let send = |amount| [("from", "alice"), ("to", "carol"), ("amount", amount)];
    world.call("agent", "gold", "OperatorSend", &send("25")).gives(&[
        "gold: event OperatorSendSuccess(initiator: agent, sender: alice, recipient: carol, amount: 25)",
        "gold: send carol RecipientAcceptOperatorSend(initiator: agent, sender: alice, recipient: carol, amount: 25)",
        "gold: send agent OperatorSendSuccessCallBack(initiator: agent, sender: alice, recipient: carol, amount: 25)",
        "gold.balances[alice] = 35",
        "gold.balances[carol] = 25",
    ]);
    world.call("agent", "gold", "OperatorSend", &send("36")).fails(INSUFFICIENT_FUNDS);
    world.call("bob", "gold", "OperatorSend", &send("1")).fails(NOT_OPERATOR);
    world.call("alice", "gold", "RevokeOperator", &[("operator", "agent")]).succeeds();
    world.call("agent", "gold", "OperatorSend", &send("1")).fails(NOT_OPERATOR);
    world.call("alice", "gold", "AuthorizeOperator", &[("operator", "bob")]).succeeds();
    world.call("bob", "gold", "OperatorSend", &send("1")).gives(&[
        "gold: event OperatorSendSuccess(initiator: bob, sender: alice, recipient: carol, amount: 1)",
        "gold: send carol RecipientAcceptOperatorSend(initiator: bob, sender: alice, recipient: carol, amount: 1)",
        "gold: send bob OperatorSendSuccessCallBack(initiator: bob, sender: alice, recipient: carol, amount: 1)",
        "gold.balances[alice] = 34",
        "gold.balances[carol] = 26",
    ]);
}

#[test]
fn every_transition_runs() {
    check_scenarios("fungible_token", prepare, SCENARIOS);
}

#[test]
fn the_interface_is_that_of_the_standard() {
    let expected = "\
IsOperatorFor(token_owner: ByStr20, operator: ByStr20)
Mint(recipient: ByStr20, amount: Uint128)
Burn(amount: Uint128)
AuthorizeOperator(operator: ByStr20)
RevokeOperator(operator: ByStr20)
IncreaseAllowance(spender: ByStr20, amount: Uint128)
DecreaseAllowance(spender: ByStr20, amount: Uint128)
Transfer(to: ByStr20, amount: Uint128)
TransferFrom(from: ByStr20, to: ByStr20, amount: Uint128)
OperatorSend(from: ByStr20, to: ByStr20, amount: Uint128)
";
    assert_eq!(interface("fungible_token"), expected);
}

#[test]
fn a_token_is_described() {
    for (name, wrong) in [("name", ""), ("symbol", ""), ("decimals", "39")] {
        let parameters = PARAMETERS.map(|(given, text)| (given, if given == name { wrong } else { text }));
        let deployed = World::with(&[]).try_deploy("gold", "fungible_token", &parameters);
        assert_eq!(deployed, Err("Contract constraint violation".to_owned()), "{name}");
    }
}
