//! Questions about contracts, asked of accounts that are none (rpc page, section 2.7).

use serde_json::json;
use silica_tests::{Node, Wallet};

use crate::check_error;

const NO_CONTRACT: (i64, &str) = (-5, "Address not contract address");

#[test]
fn account_without_code_has_no_init_parameters() {
    let node = Node::start(&[]);
    let address = Wallet::funded(0).address();
    for spelling in [address.to_string(), format!("0x{address}"), address.to_checksum(), address.to_bech32()] {
        check_error(&node, "GetSmartContractInit", &json!([spelling]), NO_CONTRACT);
    }
    let stranger = Wallet::stranger(1).hex();
    check_error(&node, "GetSmartContractInit", &json!([stranger]), (-5, "Address does not exist"));
}

#[test]
fn misspelt_address_has_no_init_parameters() {
    let node = Node::start(&[]);
    for (spelling, refusal) in [
        (String::new(), (-8, "Address size not appropriate")),
        ("00".to_owned(), (-8, "Address size not appropriate")),
        ("g".repeat(40), (-5, "invalid address")),
        ("zil1abc".to_owned(), (-5, "Bech32 address is invalid")),
    ] {
        check_error(&node, "GetSmartContractInit", &json!([spelling]), refusal);
    }
}

#[test]
fn state_proof_is_refused_in_the_order_of_the_reference() {
    let node = Node::start(&["--block-mode", "manual"]);
    node.result("IncreaseBlocknum", &json!([80]));
    let address = Wallet::funded(0).hex();
    let key = "A0BD91DE66D97E6930118179BA4F1836C366C4CB3309A6B354D26F52ABB2AAC6";
    let stranger = Wallet::stranger(1).hex();
    for (params, refusal) in [
        // The block comes first.
        (json!(["", "", "x"]), (-32602, "Invalid arugment")),
        (json!(["", "", ""]), (-32602, "Invalid arugment")),
        (json!(["", "", "18446744073709551616"]), (-32602, "Out of range")),
        (json!(["", "", "81"]), (-1, "Requested txBlock not mined yet")),
        (json!(["", "", "0"]), (-1, "Proof from requested txBlock is expired, earliest: 31")),
        (json!(["", "", "30"]), (-1, "Proof from requested txBlock is expired, earliest: 31")),
        // Then the sizes, then the digits.
        (json!(["", "", "31"]), (-8, "Address size not appropriate")),
        (json!([&address[1..], "", "latest"]), (-8, "Address size not appropriate")),
        (json!([address, "", "latest"]), (-8, "Key size not appropriate")),
        (json!([address, &key[1..], "latest"]), (-8, "Key size not appropriate")),
        (json!(["g".repeat(40), key, "latest"]), (-5, "invalid address")),
        (json!([address, "g".repeat(64), "latest"]), (-5, "invalid key")),
        // Then the account.
        (json!([stranger, key, "latest"]), (-5, "Address does not exist in requested epoch")),
        (json!([address, key, "latest"]), NO_CONTRACT),
        (json!([address.to_uppercase(), key.to_lowercase(), "80"]), NO_CONTRACT),
        (json!([address, key, "31"]), NO_CONTRACT),
    ] {
        check_error(&node, "GetStateProof", &params, refusal);
    }
}

#[test]
fn state_proof_takes_what_clients_send() {
    let node = Node::start(&[]);
    let address = Wallet::funded(0).address();
    let key = "0".repeat(64);
    // zilliqa-rs writes a prefix; the rule for addresses takes bech32 as well.
    for spelling in [format!("0x{address}"), address.to_bech32()] {
        check_error(&node, "GetStateProof", &json!([spelling, key, "latest"]), NO_CONTRACT);
    }
}

#[test]
fn account_of_the_future_is_not_in_an_older_state() {
    let node = Node::start(&["--block-mode", "manual"]);
    node.result("IncreaseBlocknum", &json!([1]));
    let payment = Wallet::funded(0).payment(1, Wallet::stranger(1).address(), 5);
    node.result("CreateTransaction", &json!([payment.json()]));
    node.result("IncreaseBlocknum", &json!([1]));
    let (address, key) = (Wallet::stranger(1).hex(), "0".repeat(64));
    let not_yet = (-5, "Address does not exist in requested epoch");
    check_error(&node, "GetStateProof", &json!([address, key, "1"]), not_yet);
    check_error(&node, "GetStateProof", &json!([address, key, "2"]), NO_CONTRACT);
}
