//! Scenarios of the crowdfunding campaign, which uses a library of the examples.

use crate::world::{Scenario, World, check_scenarios};

const CAMPAIGN_OVER: &str = "Error(code: -1)";
const CAMPAIGN_RUNNING: &str = "Error(code: -2)";
const NOTHING_GIVEN: &str = "Error(code: -3)";
const NOT_OWNER: &str = "Error(code: -4)";
const GOAL_MISSED: &str = "Error(code: -5)";
const GOAL_REACHED: &str = "Error(code: -6)";
const ALREADY_CLAIMED: &str = "Error(code: -7)";

const SCENARIOS: &[Scenario] = &[("Donate", donate), ("Claim", claim), ("TakeBack", take_back)];

/// Returns a world with a campaign that has a goal of 500 Qa and ends at block 200.
fn prepare() -> World {
    let mut world = World::with(&["owner", "alice", "bob"]);
    world.deploy("well", "crowdfunding", &[("owner", "owner"), ("last_block", "200"), ("goal", "500")]);
    world
}

fn donate(world: &mut World) {
    world
        .pay("alice", 300, "well", "Donate", &[])
        .gives(&[
            "well: accept 300 of alice",
            "well: event Donated(donor: alice, amount: 300, raised: 300)",
            "balance of alice = 700",
            "balance of well = 300",
            "well.donations[alice] = 300",
            "well.raised = 300",
        ])
        .costs(299);
    world.block = 200;
    world.pay("alice", 50, "well", "Donate", &[]).gives(&[
        "well: accept 50 of alice",
        "well: event Donated(donor: alice, amount: 50, raised: 350)",
        "balance of alice = 650",
        "balance of well = 350",
        "well.donations[alice] = 350",
        "well.raised = 350",
    ]);
    world.pay("alice", 0, "well", "Donate", &[]).fails(NOTHING_GIVEN);
    world
        .pay("alice", 651, "well", "Donate", &[])
        .fails("Insufficient sender balance for acceptance: Incoming vs sender_balance: 651 vs 650");
    world.block = 201;
    world.pay("bob", 50, "well", "Donate", &[]).fails(CAMPAIGN_OVER);
}

fn claim(world: &mut World) {
    world.pay("alice", 499, "well", "Donate", &[]).succeeds();
    let mut missed = world.clone();
    world.pay("bob", 1, "well", "Donate", &[]).succeeds();
    world.call("owner", "well", "Claim", &[]).fails(CAMPAIGN_RUNNING);
    for world in [&mut *world, &mut missed] {
        world.block = 201;
        world.call("alice", "well", "Claim", &[]).fails(NOT_OWNER);
    }
    missed.call("owner", "well", "Claim", &[]).fails(GOAL_MISSED);
    world.call("owner", "well", "Claim", &[]).gives(&[
        "well: event Claimed(amount: 500)",
        "well: send owner 500 AddFunds()",
        "balance of owner = 1500",
        "balance of well = 0",
        "well.is_claimed = True",
    ]);
    world.call("owner", "well", "Claim", &[]).fails(ALREADY_CLAIMED);
}

fn take_back(world: &mut World) {
    world.pay("alice", 499, "well", "Donate", &[]).succeeds();
    world.call("alice", "well", "TakeBack", &[]).fails(CAMPAIGN_RUNNING);
    let mut reached = world.clone();
    reached.pay("bob", 1, "well", "Donate", &[]).succeeds();
    reached.block = 201;
    reached.call("alice", "well", "TakeBack", &[]).fails(GOAL_REACHED);
    world.block = 201;
    world.call("bob", "well", "TakeBack", &[]).fails(NOTHING_GIVEN);
    world.call("alice", "well", "TakeBack", &[]).gives(&[
        "well: event TakenBack(donor: alice, amount: 499)",
        "well: send alice 499 AddFunds()",
        "balance of alice = 1000",
        "balance of well = 0",
        "well.donations[alice] is gone",
    ]);
    world.call("alice", "well", "TakeBack", &[]).fails(NOTHING_GIVEN);
}

#[test]
fn every_transition_runs() {
    check_scenarios("crowdfunding", prepare, SCENARIOS);
}

#[test]
fn a_campaign_has_a_goal() {
    let parameters = [("owner", "owner"), ("last_block", "200"), ("goal", "0")];
    let deployed = World::with(&[]).try_deploy("well", "crowdfunding", &parameters);
    assert_eq!(deployed, Err("Contract constraint violation".to_owned()));
}
