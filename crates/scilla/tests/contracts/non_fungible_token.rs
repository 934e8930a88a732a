//! Scenarios of the non-fungible token, by the standard ZRC-6.

use crate::world::{Arguments, Scenario, World, check_scenarios, interface};

const NOT_PAUSED: &str = "Error(code: -1)";
const PAUSED: &str = "Error(code: -2)";
const IS_SELF: &str = "Error(code: -3)";
const NOT_CONTRACT_OWNER: &str = "Error(code: -4)";
const NOT_TOKEN_OWNER: &str = "Error(code: -5)";
const NOT_MINTER: &str = "Error(code: -6)";
const NOT_OWNER_OR_OPERATOR: &str = "Error(code: -7)";
const MINTER_NOT_FOUND: &str = "Error(code: -8)";
const MINTER_FOUND: &str = "Error(code: -9)";
const SPENDER_FOUND: &str = "Error(code: -10)";
const OPERATOR_NOT_FOUND: &str = "Error(code: -11)";
const OPERATOR_FOUND: &str = "Error(code: -12)";
const NOT_ALLOWED_TO_TRANSFER: &str = "Error(code: -13)";
const TOKEN_NOT_FOUND: &str = "Error(code: -14)";
const INVALID_FEE: &str = "Error(code: -15)";
const ZERO_ADDRESS: &str = "Error(code: -16)";
const THIS_ADDRESS: &str = "Error(code: -17)";
const NOT_OWNERSHIP_RECIPIENT: &str = "Error(code: -18)";

const SCENARIOS: &[Scenario] = &[
    ("Pause", pause),
    ("Unpause", unpause),
    ("SetRoyaltyRecipient", set_royalty_recipient),
    ("SetRoyaltyFeeBPS", set_royalty_fee),
    ("SetBaseURI", set_base_uri),
    ("Mint", mint),
    ("BatchMint", batch_mint),
    ("Burn", burn),
    ("BatchBurn", batch_burn),
    ("AddMinter", add_minter),
    ("RemoveMinter", remove_minter),
    ("SetSpender", set_spender),
    ("AddOperator", add_operator),
    ("RemoveOperator", remove_operator),
    ("TransferFrom", transfer_from),
    ("BatchTransferFrom", batch_transfer_from),
    ("SetContractOwnershipRecipient", set_ownership_recipient),
    ("AcceptContractOwnership", accept_ownership),
];

const PARAMETERS: [(&str, &str); 4] =
    [("initial_contract_owner", "owner"), ("initial_base_uri", "https://a/"), ("name", "Art"), ("symbol", "ART")];

/// Returns a world in which Alice has the tokens 1 and 2. Bob may transfer both as an operator, and Carol is the
/// spender of token 2.
fn prepare() -> World {
    let mut world = World::with(&["owner", "alice", "bob", "carol", "dave"]);
    world.deploy("art", "non_fungible_token", &PARAMETERS);
    world.deploy("hello", "hello_world", &[("owner", "alice")]);
    for uri in ["", "ipfs://2"] {
        world.call("owner", "art", "Mint", &[("to", "alice"), ("token_uri", uri)]).succeeds();
    }
    world.call("alice", "art", "AddOperator", &[("operator", "bob")]).succeeds();
    world.call("alice", "art", "SetSpender", &[("spender", "carol"), ("token_id", "2")]).succeeds();
    world
}

fn paused(world: &World) -> World {
    let mut paused = world.clone();
    paused.call("owner", "art", "Pause", &[]).succeeds();
    paused
}

fn pause(world: &mut World) {
    world.call("alice", "art", "Pause", &[]).fails(NOT_CONTRACT_OWNER);
    world.call("owner", "art", "Pause", &[]).gives(&[
        "art: event Pause(is_paused: True)",
        "art: send owner ZRC6_PauseCallback(is_paused: True)",
        "art.is_paused = True",
    ]);
    world.call("owner", "art", "Pause", &[]).fails(PAUSED);
}

fn unpause(world: &mut World) {
    world.call("owner", "art", "Unpause", &[]).fails(NOT_PAUSED);
    world.call("owner", "art", "Pause", &[]).succeeds();
    world.call("alice", "art", "Unpause", &[]).fails(NOT_CONTRACT_OWNER);
    world.call("owner", "art", "Unpause", &[]).gives(&[
        "art: event Unpause(is_paused: False)",
        "art: send owner ZRC6_UnpauseCallback(is_paused: False)",
        "art.is_paused = False",
    ]);
}

fn set_royalty_recipient(world: &mut World) {
    world.call("alice", "art", "SetRoyaltyRecipient", &[("to", "alice")]).fails(NOT_CONTRACT_OWNER);
    world.call("owner", "art", "SetRoyaltyRecipient", &[("to", "null")]).fails(ZERO_ADDRESS);
    world.call("owner", "art", "SetRoyaltyRecipient", &[("to", "art")]).fails(THIS_ADDRESS);
    world.call("owner", "art", "SetRoyaltyRecipient", &[("to", "dave")]).gives(&[
        "art: event SetRoyaltyRecipient(to: dave)",
        "art: send owner ZRC6_SetRoyaltyRecipientCallback(to: dave)",
        "art.royalty_recipient = dave",
    ]);
}

fn set_royalty_fee(world: &mut World) {
    world.call("alice", "art", "SetRoyaltyFeeBPS", &[("fee_bps", "1")]).fails(NOT_CONTRACT_OWNER);
    for wrong in ["0", "10001"] {
        world.call("owner", "art", "SetRoyaltyFeeBPS", &[("fee_bps", wrong)]).fails(INVALID_FEE);
    }
    for right in ["1", "10000"] {
        world.call("owner", "art", "SetRoyaltyFeeBPS", &[("fee_bps", right)]).gives(&[
            &format!("art: event SetRoyaltyFeeBPS(royalty_fee_bps: {right})"),
            &format!("art: send owner ZRC6_SetRoyaltyFeeBPSCallback(royalty_fee_bps: {right})"),
            &format!("art.royalty_fee_bps = {right}"),
        ]);
    }
}

fn set_base_uri(world: &mut World) {
    world.call("alice", "art", "SetBaseURI", &[("uri", "https://b/")]).fails(NOT_CONTRACT_OWNER);
    world.call("owner", "art", "SetBaseURI", &[("uri", "https://b/")]).gives(&[
        r#"art: event SetBaseURI(base_uri: "https://b/")"#,
        r#"art: send owner ZRC6_SetBaseURICallback(base_uri: "https://b/")"#,
        r#"art.base_uri = "https://b/""#,
    ]);
}

fn mint(world: &mut World) {
    let to = |to| [("to", to), ("token_uri", "ipfs://3")];
    paused(world).call("owner", "art", "Mint", &to("dave")).fails(PAUSED);
    world.call("alice", "art", "Mint", &to("dave")).fails(NOT_MINTER);
    world.call("owner", "art", "Mint", &to("null")).fails(ZERO_ADDRESS);
    world.call("owner", "art", "Mint", &to("art")).fails(THIS_ADDRESS);
    world
        .call("owner", "art", "Mint", &to("hello"))
        .fails("No contract transition for tag found: ZRC6_RecipientAcceptMint");
    world
        .call("owner", "art", "Mint", &to("dave"))
        .gives(&[
            r#"art: event Mint(to: dave, token_id: 3, token_uri: "ipfs://3")"#,
            "art: send dave ZRC6_RecipientAcceptMint()",
            r#"art: send owner ZRC6_MintCallback(to: dave, token_id: 3, token_uri: "ipfs://3")"#,
            "art.balances[dave] = 1",
            "art.token_id_count = 3",
            "art.token_owners[3] = dave",
            r#"art.token_uris[3] = "ipfs://3""#,
            "art.total_supply = 3",
        ])
        .costs(980);
}

fn batch_mint(world: &mut World) {
    let pairs = |pairs| [("to_token_uri_pair_list", pairs)];
    let both = pairs("[(dave, ), (alice, ipfs://4)]");
    paused(world).call("owner", "art", "BatchMint", &both).fails(PAUSED);
    world.call("alice", "art", "BatchMint", &both).fails(NOT_MINTER);
    world.call("owner", "art", "BatchMint", &pairs("[(dave, a), (null, b)]")).fails(ZERO_ADDRESS);
    world.call("owner", "art", "BatchMint", &pairs("[(dave, a), (art, b)]")).fails(THIS_ADDRESS);
    world.call("owner", "art", "BatchMint", &both).gives(&[
        r#"art: event BatchMint(to_token_uri_pair_list: [(dave, ""), (alice, "ipfs://4")], start_id: 3, end_id: 4)"#,
        "art: send owner ZRC6_BatchMintCallback()",
        "art.balances[alice] = 3",
        "art.balances[dave] = 1",
        "art.token_id_count = 4",
        "art.token_owners[3] = dave",
        "art.token_owners[4] = alice",
        r#"art.token_uris[4] = "ipfs://4""#,
        "art.total_supply = 4",
    ]);
}

fn burn(world: &mut World) {
    let token = |id| [("token_id", id)];
    paused(world).call("alice", "art", "Burn", &token("1")).fails(PAUSED);
    world.call("alice", "art", "Burn", &token("3")).fails(TOKEN_NOT_FOUND);
    // A spender may transfer a token, but may not burn it.
    world.call("carol", "art", "Burn", &token("2")).fails(NOT_OWNER_OR_OPERATOR);
    world.call("alice", "art", "Burn", &token("1")).gives(&[
        "art: event Burn(token_owner: alice, token_id: 1)",
        "art: send alice ZRC6_BurnCallback(token_owner: alice, token_id: 1)",
        "art.balances[alice] = 1",
        "art.token_owners[1] is gone",
        "art.total_supply = 1",
    ]);
    world.call("bob", "art", "Burn", &token("2")).gives(&[
        "art: event Burn(token_owner: alice, token_id: 2)",
        "art: send bob ZRC6_BurnCallback(token_owner: alice, token_id: 2)",
        "art.balances[alice] = 0",
        "art.spenders[2] is gone",
        "art.token_owners[2] is gone",
        "art.token_uris[2] is gone",
        "art.total_supply = 0",
    ]);
    world.call("alice", "art", "Burn", &token("1")).fails(TOKEN_NOT_FOUND);
}

fn batch_burn(world: &mut World) {
    let tokens = |ids| [("token_id_list", ids)];
    paused(world).call("alice", "art", "BatchBurn", &tokens("[1, 2]")).fails(PAUSED);
    world.call("alice", "art", "BatchBurn", &tokens("[1, 3]")).fails(TOKEN_NOT_FOUND);
    world.call("alice", "art", "BatchBurn", &tokens("[1, 1]")).fails(TOKEN_NOT_FOUND);
    world.call("carol", "art", "BatchBurn", &tokens("[2]")).fails(NOT_OWNER_OR_OPERATOR);
    world.call("alice", "art", "BatchBurn", &tokens("[1, 2]")).gives(&[
        "art: event Burn(token_owner: alice, token_id: 1)",
        "art: event Burn(token_owner: alice, token_id: 2)",
        "art: send alice ZRC6_BatchBurnCallback()",
        "art.balances[alice] = 0",
        "art.spenders[2] is gone",
        "art.token_owners[1] is gone",
        "art.token_owners[2] is gone",
        "art.token_uris[2] is gone",
        "art.total_supply = 0",
    ]);
}

fn add_minter(world: &mut World) {
    world.call("alice", "art", "AddMinter", &[("minter", "alice")]).fails(NOT_CONTRACT_OWNER);
    world.call("owner", "art", "AddMinter", &[("minter", "owner")]).fails(MINTER_FOUND);
    world.call("owner", "art", "AddMinter", &[("minter", "alice")]).gives(&[
        "art: event AddMinter(minter: alice)",
        "art: send owner ZRC6_AddMinterCallback(minter: alice)",
        "art.minters[alice] = True",
    ]);
    world.call("alice", "art", "Mint", &[("to", "dave"), ("token_uri", "")]).succeeds();
}

fn remove_minter(world: &mut World) {
    world.call("alice", "art", "RemoveMinter", &[("minter", "owner")]).fails(NOT_CONTRACT_OWNER);
    world.call("owner", "art", "RemoveMinter", &[("minter", "alice")]).fails(MINTER_NOT_FOUND);
    world.call("owner", "art", "RemoveMinter", &[("minter", "owner")]).gives(&[
        "art: event RemoveMinter(minter: owner)",
        "art: send owner ZRC6_RemoveMinterCallback(minter: owner)",
        "art.minters[owner] is gone",
    ]);
    world.call("owner", "art", "Mint", &[("to", "dave"), ("token_uri", "")]).fails(NOT_MINTER);
}

fn set_spender(world: &mut World) {
    let spender = |spender, id| [("spender", spender), ("token_id", id)];
    world.call("alice", "art", "SetSpender", &spender("dave", "3")).fails(TOKEN_NOT_FOUND);
    world.call("carol", "art", "SetSpender", &spender("dave", "2")).fails(NOT_OWNER_OR_OPERATOR);
    world.call("alice", "art", "SetSpender", &spender("alice", "1")).fails(IS_SELF);
    world.call("alice", "art", "SetSpender", &spender("carol", "2")).fails(SPENDER_FOUND);
    world.call("alice", "art", "SetSpender", &spender("null", "1")).fails(SPENDER_FOUND);
    world.call("bob", "art", "SetSpender", &spender("dave", "2")).gives(&[
        "art: event SetSpender(token_owner: alice, spender: dave, token_id: 2)",
        "art: send bob ZRC6_SetSpenderCallback(spender: dave, token_id: 2)",
        "art.spenders[2] = dave",
    ]);
    world.call("alice", "art", "SetSpender", &spender("null", "2")).gives(&[
        "art: event SetSpender(token_owner: alice, spender: null, token_id: 2)",
        "art: send alice ZRC6_SetSpenderCallback(spender: null, token_id: 2)",
        "art.spenders[2] is gone",
    ]);
}

fn add_operator(world: &mut World) {
    world.call("dave", "art", "AddOperator", &[("operator", "bob")]).fails(NOT_TOKEN_OWNER);
    world.call("alice", "art", "AddOperator", &[("operator", "alice")]).fails(IS_SELF);
    world.call("alice", "art", "AddOperator", &[("operator", "bob")]).fails(OPERATOR_FOUND);
    world.call("alice", "art", "AddOperator", &[("operator", "dave")]).gives(&[
        "art: event AddOperator(token_owner: alice, operator: dave)",
        "art: send alice ZRC6_AddOperatorCallback(operator: dave)",
        "art.operators[alice][dave] = True",
    ]);
}

fn remove_operator(world: &mut World) {
    world.call("alice", "art", "RemoveOperator", &[("operator", "dave")]).fails(OPERATOR_NOT_FOUND);
    world.call("alice", "art", "RemoveOperator", &[("operator", "bob")]).gives(&[
        "art: event RemoveOperator(token_owner: alice, operator: bob)",
        "art: send alice ZRC6_RemoveOperatorCallback(operator: bob)",
        "art.operators[alice][bob] is gone",
    ]);
    world.call("bob", "art", "Burn", &[("token_id", "1")]).fails(NOT_OWNER_OR_OPERATOR);
}

fn transfer_from(world: &mut World) {
    let token = |to, id| [("to", to), ("token_id", id)];
    paused(world).call("alice", "art", "TransferFrom", &token("dave", "1")).fails(PAUSED);
    world.call("alice", "art", "TransferFrom", &token("null", "1")).fails(ZERO_ADDRESS);
    world.call("alice", "art", "TransferFrom", &token("art", "1")).fails(THIS_ADDRESS);
    world.call("alice", "art", "TransferFrom", &token("dave", "3")).fails(TOKEN_NOT_FOUND);
    // Carol is the spender of token 2 only.
    world.call("carol", "art", "TransferFrom", &token("dave", "1")).fails(NOT_ALLOWED_TO_TRANSFER);
    world.call("alice", "art", "TransferFrom", &token("alice", "1")).fails(IS_SELF);
    world
        .call("alice", "art", "TransferFrom", &token("hello", "1"))
        .fails("No contract transition for tag found: ZRC6_RecipientAcceptTransferFrom");
    world
        .call("alice", "art", "TransferFrom", &token("dave", "1"))
        .gives(&[
            "art: event TransferFrom(from: alice, to: dave, token_id: 1)",
            "art: send dave ZRC6_RecipientAcceptTransferFrom(from: alice, to: dave, token_id: 1)",
            "art: send alice ZRC6_TransferFromCallback(from: alice, to: dave, token_id: 1)",
            "art.balances[alice] = 1",
            "art.balances[dave] = 1",
            "art.token_owners[1] = dave",
        ])
        .costs(1120);
    let mut by_operator = world.clone();
    by_operator.call("bob", "art", "TransferFrom", &token("dave", "2")).succeeds();
    world.call("carol", "art", "TransferFrom", &token("dave", "2")).gives(&[
        "art: event TransferFrom(from: alice, to: dave, token_id: 2)",
        "art: send dave ZRC6_RecipientAcceptTransferFrom(from: alice, to: dave, token_id: 2)",
        "art: send carol ZRC6_TransferFromCallback(from: alice, to: dave, token_id: 2)",
        "art.balances[alice] = 0",
        "art.balances[dave] = 2",
        "art.spenders[2] is gone",
        "art.token_owners[2] = dave",
    ]);
    // The operators of the previous owner are not operators of the new owner.
    world.call("bob", "art", "TransferFrom", &token("alice", "2")).fails(NOT_ALLOWED_TO_TRANSFER);
}

fn batch_transfer_from(world: &mut World) {
    let pairs = |pairs| [("to_token_id_pair_list", pairs)];
    let both = pairs("[(dave, 1), (owner, 2)]");
    paused(world).call("alice", "art", "BatchTransferFrom", &both).fails(PAUSED);
    let mut fails = |sender, list, why| world.call(sender, "art", "BatchTransferFrom", &pairs(list)).fails(why);
    fails("alice", "[(dave, 1), (null, 2)]", ZERO_ADDRESS);
    fails("alice", "[(dave, 1), (art, 2)]", THIS_ADDRESS);
    fails("alice", "[(dave, 1), (owner, 3)]", TOKEN_NOT_FOUND);
    fails("carol", "[(dave, 2), (dave, 1)]", NOT_ALLOWED_TO_TRANSFER);
    fails("alice", "[(dave, 1), (alice, 2)]", IS_SELF);
    world.call("alice", "art", "BatchTransferFrom", &both).gives(&[
        "art: event TransferFrom(from: alice, to: dave, token_id: 1)",
        "art: event TransferFrom(from: alice, to: owner, token_id: 2)",
        "art: send alice ZRC6_BatchTransferFromCallback()",
        "art.balances[alice] = 0",
        "art.balances[dave] = 1",
        "art.balances[owner] = 1",
        "art.spenders[2] is gone",
        "art.token_owners[1] = dave",
        "art.token_owners[2] = owner",
    ]);
}

const RECIPIENT: Arguments<'_> = &[("to", "dave")];

fn set_ownership_recipient(world: &mut World) {
    world.call("alice", "art", "SetContractOwnershipRecipient", RECIPIENT).fails(NOT_CONTRACT_OWNER);
    world.call("owner", "art", "SetContractOwnershipRecipient", &[("to", "owner")]).fails(IS_SELF);
    world.call("owner", "art", "SetContractOwnershipRecipient", RECIPIENT).gives(&[
        "art: event SetContractOwnershipRecipient(to: dave)",
        "art: send owner ZRC6_SetContractOwnershipRecipientCallback(to: dave)",
        "art.contract_ownership_recipient = dave",
    ]);
    world.call("owner", "art", "SetContractOwnershipRecipient", &[("to", "null")]).succeeds();
    world.call("dave", "art", "AcceptContractOwnership", &[]).fails(NOT_OWNERSHIP_RECIPIENT);
}

fn accept_ownership(world: &mut World) {
    world.call("dave", "art", "AcceptContractOwnership", &[]).fails(NOT_OWNERSHIP_RECIPIENT);
    world.call("owner", "art", "SetContractOwnershipRecipient", RECIPIENT).succeeds();
    world.call("alice", "art", "AcceptContractOwnership", &[]).fails(NOT_OWNERSHIP_RECIPIENT);
    world.call("dave", "art", "AcceptContractOwnership", &[]).gives(&[
        "art: event AcceptContractOwnership(contract_owner: dave)",
        "art: send dave ZRC6_AcceptContractOwnershipCallback(contract_owner: dave)",
        "art.contract_owner = dave",
        "art.contract_ownership_recipient = null",
    ]);
    world.call("owner", "art", "Pause", &[]).fails(NOT_CONTRACT_OWNER);
}

#[test]
fn every_transition_runs() {
    check_scenarios("non_fungible_token", prepare, SCENARIOS);
}

#[test]
fn the_interface_is_that_of_the_standard() {
    let expected = "\
Pause()
Unpause()
SetRoyaltyRecipient(to: ByStr20)
SetRoyaltyFeeBPS(fee_bps: Uint128)
SetBaseURI(uri: String)
Mint(to: ByStr20, token_uri: String)
BatchMint(to_token_uri_pair_list: List (Pair (ByStr20) (String)))
Burn(token_id: Uint256)
BatchBurn(token_id_list: List (Uint256))
AddMinter(minter: ByStr20)
RemoveMinter(minter: ByStr20)
SetSpender(spender: ByStr20, token_id: Uint256)
AddOperator(operator: ByStr20)
RemoveOperator(operator: ByStr20)
TransferFrom(to: ByStr20, token_id: Uint256)
BatchTransferFrom(to_token_id_pair_list: List (Pair (ByStr20) (Uint256)))
SetContractOwnershipRecipient(to: ByStr20)
AcceptContractOwnership()
";
    assert_eq!(interface("non_fungible_token"), expected);
}

#[test]
fn a_token_is_described() {
    for (name, wrong) in [("initial_contract_owner", "null"), ("name", ""), ("symbol", "")] {
        let parameters = PARAMETERS.map(|(given, text)| (given, if given == name { wrong } else { text }));
        let deployed = World::with(&[]).try_deploy("art", "non_fungible_token", &parameters);
        assert_eq!(deployed, Err("Contract constraint violation".to_owned()), "{name}");
    }
}
