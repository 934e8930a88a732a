//! Scenarios of the auction of a non-fungible token. The auction reads the owner from the token contract.

use crate::world::{Arguments, Scenario, World, check_scenarios};

const ALREADY_SETTLED: &str = "Error(code: -1)";
const AUCTION_OVER: &str = "Error(code: -2)";
const AUCTION_RUNNING: &str = "Error(code: -3)";
const BID_TOO_LOW: &str = "Error(code: -4)";
const HAS_BIDS: &str = "Error(code: -5)";
const IS_CONTRACT: &str = "Error(code: -6)";
const IS_SELLER: &str = "Error(code: -7)";
const NOT_DELIVERABLE: &str = "Error(code: -8)";
const NOT_SELLER: &str = "Error(code: -9)";
const NOTHING_TO_WITHDRAW: &str = "Error(code: -10)";

const SCENARIOS: &[Scenario] = &[
    ("PlaceBid", place_bid),
    ("Withdraw", withdraw),
    ("Settle", settle),
    ("CallOff", call_off),
    ("ZRC6_TransferFromCallback", callback),
];

const TOKEN: Arguments<'_> =
    &[("initial_contract_owner", "owner"), ("initial_base_uri", "https://a/"), ("name", "Art"), ("symbol", "ART")];

/// Returns a world in which the seller's first token is in an auction until block 200. The least bid is 100 Qa.
fn prepare() -> World {
    let mut world = World::with(&["owner", "seller", "alice", "bob"]);
    world.deploy("art", "non_fungible_token", TOKEN);
    world.call("owner", "art", "Mint", &[("to", "seller"), ("token_uri", "")]).succeeds();
    let auction =
        [("seller", "seller"), ("token", "art"), ("token_number", "1"), ("last_block", "200"), ("least_bid", "100")];
    world.deploy("auction", "auction", &auction);
    name_spender(&mut world, "auction");
    world
}

fn name_spender(world: &mut World, spender: &str) {
    world.call("seller", "art", "SetSpender", &[("spender", spender), ("token_id", "1")]).succeeds();
}

fn bid(world: &mut World, bidder: &str, amount: u128) {
    world.pay(bidder, amount, "auction", "PlaceBid", &[]).succeeds();
}

fn place_bid(world: &mut World) {
    world.pay("alice", 99, "auction", "PlaceBid", &[]).fails(BID_TOO_LOW);
    world.pay("alice", 100, "auction", "PlaceBid", &[]).gives(&[
        "auction: accept 100 of alice",
        "auction: event BidPlaced(bidder: alice, amount: 100)",
        "auction.highest = Some(Bid(alice, 100))",
        "balance of alice = 900",
        "balance of auction = 100",
    ]);
    world.pay("bob", 100, "auction", "PlaceBid", &[]).fails(BID_TOO_LOW);
    world
        .pay("bob", 101, "auction", "PlaceBid", &[])
        .gives(&[
            "auction: accept 101 of bob",
            "auction: event BidPlaced(bidder: bob, amount: 101)",
            "auction.highest = Some(Bid(bob, 101))",
            "auction.refunds[alice] = 100",
            "balance of auction = 201",
            "balance of bob = 899",
        ])
        .costs(481);
    world.pay("seller", 500, "auction", "PlaceBid", &[]).fails(IS_SELLER);
    bid_of_contract(&mut world.clone());
    name_spender(world, "bob");
    world.pay("alice", 500, "auction", "PlaceBid", &[]).fails(NOT_DELIVERABLE);
    name_spender(world, "auction");
    world.block = 200;
    bid(world, "alice", 500);
    world.block = 201;
    world.pay("bob", 600, "auction", "PlaceBid", &[]).fails(AUCTION_OVER);
}

fn withdraw(world: &mut World) {
    bid(world, "alice", 100);
    world.call("alice", "auction", "Withdraw", &[]).fails(NOTHING_TO_WITHDRAW);
    bid(world, "bob", 200);
    bid(world, "alice", 300);
    bid(world, "bob", 400);
    world.call("alice", "auction", "Withdraw", &[]).gives(&[
        "auction: event Withdrawn(bidder: alice, amount: 400)",
        "auction: send alice 400 AddFunds()",
        "auction.refunds[alice] is gone",
        "balance of alice = 1000",
        "balance of auction = 600",
    ]);
    world.call("alice", "auction", "Withdraw", &[]).fails(NOTHING_TO_WITHDRAW);
}

fn settle(world: &mut World) {
    let mut unsold = world.clone();
    unsold.block = 201;
    unsold.call("bob", "auction", "Settle", &[]).gives(&["auction: event Unsold()", "auction.is_settled = True"]);

    bid(world, "alice", 100);
    world.block = 200;
    world.call("seller", "auction", "Settle", &[]).fails(AUCTION_RUNNING);
    world.block = 201;

    let mut undelivered = world.clone();
    undelivered.call("seller", "art", "TransferFrom", &[("to", "bob"), ("token_id", "1")]).succeeds();
    undelivered.call("bob", "auction", "Settle", &[]).gives(&[
        "auction: event NotDelivered(to: alice)",
        "auction.is_settled = True",
        "auction.refunds[alice] = 100",
    ]);
    undelivered.call("alice", "auction", "Withdraw", &[]).succeeds();

    world
        .call("bob", "auction", "Settle", &[])
        .gives(&[
            "auction: event Sold(to: alice, amount: 100)",
            "auction: send art TransferFrom(to: alice, token_id: 1)",
            "art: event TransferFrom(from: seller, to: alice, token_id: 1)",
            "art: send alice ZRC6_RecipientAcceptTransferFrom(from: seller, to: alice, token_id: 1)",
            "art: send auction ZRC6_TransferFromCallback(from: seller, to: alice, token_id: 1)",
            "auction: send seller 100 AddFunds()",
            "art.balances[alice] = 1",
            "art.balances[seller] = 0",
            "art.spenders[1] is gone",
            "art.token_owners[1] = alice",
            "auction.is_settled = True",
            "balance of auction = 0",
            "balance of seller = 1100",
        ])
        .costs(668);
    world.call("bob", "auction", "Settle", &[]).fails(ALREADY_SETTLED);
}

fn call_off(world: &mut World) {
    world.call("bob", "auction", "CallOff", &[]).fails(NOT_SELLER);
    let mut late = world.clone();
    late.block = 201;
    late.call("seller", "auction", "CallOff", &[]).fails(AUCTION_OVER);
    let mut with_bid = world.clone();
    bid(&mut with_bid, "alice", 100);
    with_bid.call("seller", "auction", "CallOff", &[]).fails(HAS_BIDS);
    world.call("seller", "auction", "CallOff", &[]).gives(&["auction: event CalledOff()", "auction.is_settled = True"]);
    world.call("seller", "auction", "CallOff", &[]).fails(ALREADY_SETTLED);
    world.pay("alice", 100, "auction", "PlaceBid", &[]).fails(ALREADY_SETTLED);
}

/// Checks that a callback has an effect only if the sender is the token contract.
fn callback(world: &mut World) {
    let expected = [("from", "alice"), ("to", "bob"), ("token_id", "1")];
    world.call("bob", "auction", "ZRC6_TransferFromCallback", &expected).gives(&[]);
}

#[test]
fn every_transition_runs() {
    check_scenarios("auction", prepare, SCENARIOS);
}

/// Checks a bid of a contract, which is a wallet.
fn bid_of_contract(world: &mut World) {
    world.deploy("wallet", "multisig_wallet", &[("initial_owners", "[alice]"), ("initial_threshold", "1")]);
    world.pay("alice", 400, "wallet", "AddFunds", &[]).succeeds();
    let payment = [("to", "auction"), ("amount", "400"), ("tag", "PlaceBid")];
    world.call("alice", "wallet", "ProposePayment", &payment).succeeds();
    world.call("alice", "wallet", "Execute", &[("id", "1")]).fails(IS_CONTRACT);
}

#[test]
fn sold_address_must_be_a_token() {
    let mut world = prepare();
    world.deploy("hello", "hello_world", &[("owner", "alice")]);
    let with = |token| {
        [("seller", "seller"), ("token", token), ("token_number", "1"), ("last_block", "200"), ("least_bid", "100")]
    };
    let of_person = world.try_deploy("other", "auction", &with("alice"));
    let address = "0x616c696365000000000000000000000000000000";
    assert_eq!(of_person, Err(format!("No contract found at address: {address}")));
    let of_greeting = world.try_deploy("other", "auction", &with("hello"));
    let address = "0x68656c6c6f000000000000000000000000000000";
    assert_eq!(
        of_greeting,
        Err(format!(
            "Address does not satisfy type: address is {address}, expected type is ByStr20 with contract \
             field spenders : Map (Uint256) (ByStr20), field token_owners : Map (Uint256) (ByStr20) end"
        ))
    );
}
