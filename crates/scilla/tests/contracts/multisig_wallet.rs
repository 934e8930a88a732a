//! Scenarios of the wallet of several owners.

use crate::world::{Arguments, Scenario, World, check_scenarios};

const NOT_OWNER: &str = "Error(code: -1)";
const UNKNOWN_PROPOSAL: &str = "Error(code: -2)";
const VOID_PROPOSAL: &str = "Error(code: -3)";
const ALREADY_SIGNED: &str = "Error(code: -4)";
const NOT_SIGNED: &str = "Error(code: -5)";
const TOO_FEW_SIGNATURES: &str = "Error(code: -6)";
const TOO_LITTLE_MONEY: &str = "Error(code: -7)";
const ALREADY_OWNER: &str = "Error(code: -8)";
const NO_OWNER: &str = "Error(code: -9)";
const WRONG_THRESHOLD: &str = "Error(code: -10)";

const SCENARIOS: &[Scenario] = &[
    ("AddFunds", add_funds),
    ("ProposePayment", propose_payment),
    ("ProposeOwner", propose_owner),
    ("ProposeRemoval", propose_removal),
    ("ProposeThreshold", propose_threshold),
    ("Sign", sign),
    ("Revoke", revoke),
    ("Execute", execute),
];

const FIRST: Arguments<'_> = &[("id", "1")];

/// Returns a world with a wallet that has 400 Qa. Alice, Bob and Carol own the wallet, and two of them have to sign.
fn prepare() -> World {
    let mut world = World::with(&["alice", "bob", "carol", "dave"]);
    let parameters = [("initial_owners", "[alice, bob, carol]"), ("initial_threshold", "2")];
    world.deploy("wallet", "multisig_wallet", &parameters);
    world.pay("dave", 400, "wallet", "AddFunds", &[]).succeeds();
    world
}

/// Proposes a transaction, and executes it with the signatures of Alice and Bob.
fn decide(world: &mut World, transition: &str, arguments: Arguments<'_>) -> crate::world::Response {
    world.call("alice", "wallet", transition, arguments).succeeds();
    world.call("bob", "wallet", "Sign", FIRST).succeeds();
    world.call("carol", "wallet", "Execute", FIRST)
}

fn add_funds(world: &mut World) {
    world.pay("dave", 100, "wallet", "AddFunds", &[]).gives(&[
        "wallet: accept 100 of dave",
        "wallet: event FundsAdded(from: dave, amount: 100)",
        "balance of dave = 500",
        "balance of wallet = 500",
    ]);
}

const PAYMENT: Arguments<'_> = &[("to", "dave"), ("amount", "400"), ("tag", "")];

fn propose_payment(world: &mut World) {
    world.call("dave", "wallet", "ProposePayment", PAYMENT).fails(NOT_OWNER);
    world
        .call("alice", "wallet", "ProposePayment", PAYMENT)
        .gives(&[
            "wallet: event Proposed(id: 1, owner: alice)",
            "wallet: event Signed(id: 1, owner: alice)",
            "wallet.next_id = 2",
            r#"wallet.proposals[1] = Proposal(Pay(dave, 400, ""), 0)"#,
            "wallet.signature_counts[1] = 1",
            "wallet.signatures[1][alice] = True",
        ])
        .costs(341);
}

fn propose_owner(world: &mut World) {
    world.call("dave", "wallet", "ProposeOwner", &[("owner", "dave")]).fails(NOT_OWNER);
    let mut twice = world.clone();
    decide(&mut twice, "ProposeOwner", &[("owner", "bob")]).fails(ALREADY_OWNER);
    decide(world, "ProposeOwner", &[("owner", "dave")]).gives(&[
        "wallet: event Executed(id: 1, owner: carol)",
        "wallet.era = 1",
        "wallet.owner_count = 4",
        "wallet.owners[dave] = True",
        "wallet.proposals[1] is gone",
        "wallet.signature_counts[1] is gone",
        "wallet.signatures[1][alice] is gone",
        "wallet.signatures[1][bob] is gone",
    ]);
    world.call("dave", "wallet", "ProposePayment", PAYMENT).succeeds();
}

fn propose_removal(world: &mut World) {
    world.call("dave", "wallet", "ProposeRemoval", &[("owner", "alice")]).fails(NOT_OWNER);
    let mut other = world.clone();
    decide(&mut other, "ProposeRemoval", &[("owner", "dave")]).fails(NO_OWNER);
    decide(world, "ProposeRemoval", &[("owner", "bob")]).gives(&[
        "wallet: event Executed(id: 1, owner: carol)",
        "wallet.era = 1",
        "wallet.owner_count = 2",
        "wallet.owners[bob] is gone",
        "wallet.proposals[1] is gone",
        "wallet.signature_counts[1] is gone",
        "wallet.signatures[1][alice] is gone",
        "wallet.signatures[1][bob] is gone",
    ]);
    world.call("bob", "wallet", "ProposePayment", PAYMENT).fails(NOT_OWNER);
    // The wallet needs two signatures, so it must keep two owners.
    world.call("alice", "wallet", "ProposeRemoval", &[("owner", "carol")]).succeeds();
    world.call("carol", "wallet", "Sign", &[("id", "2")]).succeeds();
    world.call("carol", "wallet", "Execute", &[("id", "2")]).fails(WRONG_THRESHOLD);
}

fn propose_threshold(world: &mut World) {
    world.call("dave", "wallet", "ProposeThreshold", &[("number", "1")]).fails(NOT_OWNER);
    for wrong in ["0", "4"] {
        decide(&mut world.clone(), "ProposeThreshold", &[("number", wrong)]).fails(WRONG_THRESHOLD);
    }
    decide(world, "ProposeThreshold", &[("number", "3")]).gives(&[
        "wallet: event Executed(id: 1, owner: carol)",
        "wallet.proposals[1] is gone",
        "wallet.signature_counts[1] is gone",
        "wallet.signatures[1][alice] is gone",
        "wallet.signatures[1][bob] is gone",
        "wallet.threshold = 3",
    ]);
}

fn sign(world: &mut World) {
    world.call("bob", "wallet", "Sign", FIRST).fails(UNKNOWN_PROPOSAL);
    world.call("alice", "wallet", "ProposePayment", PAYMENT).succeeds();
    world.call("dave", "wallet", "Sign", FIRST).fails(NOT_OWNER);
    world.call("alice", "wallet", "Sign", FIRST).fails(ALREADY_SIGNED);
    world.call("bob", "wallet", "Sign", FIRST).gives(&[
        "wallet: event Signed(id: 1, owner: bob)",
        "wallet.signature_counts[1] = 2",
        "wallet.signatures[1][bob] = True",
    ]);
}

fn revoke(world: &mut World) {
    world.call("alice", "wallet", "Revoke", FIRST).fails(UNKNOWN_PROPOSAL);
    world.call("alice", "wallet", "ProposePayment", PAYMENT).succeeds();
    world.call("bob", "wallet", "Sign", FIRST).succeeds();
    world.call("dave", "wallet", "Revoke", FIRST).fails(NOT_OWNER);
    world.call("carol", "wallet", "Revoke", FIRST).fails(NOT_SIGNED);
    world.call("bob", "wallet", "Revoke", FIRST).gives(&[
        "wallet: event Revoked(id: 1, owner: bob)",
        "wallet.signature_counts[1] = 1",
        "wallet.signatures[1][bob] is gone",
    ]);
    world.call("alice", "wallet", "Execute", FIRST).fails(TOO_FEW_SIGNATURES);
}

fn execute(world: &mut World) {
    world.call("alice", "wallet", "Execute", FIRST).fails(UNKNOWN_PROPOSAL);
    world.call("alice", "wallet", "ProposePayment", PAYMENT).succeeds();
    world.call("alice", "wallet", "Execute", FIRST).fails(TOO_FEW_SIGNATURES);
    world.call("bob", "wallet", "Sign", FIRST).succeeds();
    world.call("dave", "wallet", "Execute", FIRST).fails(NOT_OWNER);

    let mut changed = world.clone();
    for (owner, transition) in [("alice", "ProposeOwner"), ("bob", "Sign"), ("bob", "Execute")] {
        let arguments: Arguments<'_> = if transition == "ProposeOwner" { &[("owner", "dave")] } else { &[("id", "2")] };
        changed.call(owner, "wallet", transition, arguments).succeeds();
    }
    changed.call("bob", "wallet", "Execute", FIRST).fails(VOID_PROPOSAL);
    changed.call("carol", "wallet", "Sign", FIRST).fails(VOID_PROPOSAL);
    changed.call("bob", "wallet", "Revoke", FIRST).fails(VOID_PROPOSAL);

    world
        .call("carol", "wallet", "Execute", FIRST)
        .gives(&[
            "wallet: event Executed(id: 1, owner: carol)",
            "wallet: send dave 400 ()",
            "balance of dave = 1000",
            "balance of wallet = 0",
            "wallet.proposals[1] is gone",
            "wallet.signature_counts[1] is gone",
            "wallet.signatures[1][alice] is gone",
            "wallet.signatures[1][bob] is gone",
        ])
        .costs(446);
    world.call("carol", "wallet", "Execute", FIRST).fails(UNKNOWN_PROPOSAL);

    world.call("alice", "wallet", "ProposePayment", &[("to", "dave"), ("amount", "1"), ("tag", "")]).succeeds();
    world.call("bob", "wallet", "Sign", &[("id", "2")]).succeeds();
    world.call("bob", "wallet", "Execute", &[("id", "2")]).fails(TOO_LITTLE_MONEY);
}

#[test]
fn every_transition_runs() {
    check_scenarios("multisig_wallet", prepare, SCENARIOS);
}

#[test]
fn a_wallet_pays_a_wallet() {
    let mut world = prepare();
    world.deploy("savings", "multisig_wallet", &[("initial_owners", "[dave]"), ("initial_threshold", "1")]);
    let payment = [("to", "savings"), ("amount", "150"), ("tag", "AddFunds")];
    decide(&mut world, "ProposePayment", &payment).gives(&[
        "wallet: event Executed(id: 1, owner: carol)",
        "wallet: send savings 150 AddFunds()",
        "savings: accept 150 of wallet",
        "savings: event FundsAdded(from: wallet, amount: 150)",
        "balance of savings = 150",
        "balance of wallet = 250",
        "wallet.proposals[1] is gone",
        "wallet.signature_counts[1] is gone",
        "wallet.signatures[1][alice] is gone",
        "wallet.signatures[1][bob] is gone",
    ]);
}

#[test]
fn deployment_needs_enough_owners() {
    for (owners, threshold) in [("[alice]", "0"), ("[alice, bob]", "3"), ("[alice, alice]", "2"), ("[]", "0")] {
        let parameters = [("initial_owners", owners), ("initial_threshold", threshold)];
        let deployed = World::with(&[]).try_deploy("wallet", "multisig_wallet", &parameters);
        assert_eq!(deployed, Err("Contract constraint violation".to_owned()), "{owners} {threshold}");
    }
}
