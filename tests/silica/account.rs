//! `GetBalance`, and the forms of an address (Reference: interface#balance, interface#address-parameter).

use serde_json::json;
use silica_tests::{
    Node, Wallet,
    wallet::{FEE, FUNDS},
};

use crate::{check_error, check_result, documented, pay_once};

#[test]
fn every_published_account_is_funded() {
    let node = Node::start(&[]);
    for wallet in Wallet::all_funded() {
        let account = documented(&node, "GetBalance", &json!([wallet.hex()]));
        assert_eq!(account, json!({"balance": FUNDS.to_string(), "nonce": 0}));
    }
}

#[test]
fn payment_moves_money_and_nonce() {
    let node = Node::start(&[]);
    pay_once(&node, 0);
    let paid = 1_000_000_000_000;
    let payer = json!({"balance": (FUNDS - paid - FEE).to_string(), "nonce": 1});
    check_result(&node, "GetBalance", &json!([Wallet::funded(0).hex()]), &payer);
    let payee = json!({"balance": paid.to_string(), "nonce": 0});
    check_result(&node, "GetBalance", &json!([Wallet::stranger(7).hex()]), &payee);
}

#[test]
fn address_may_have_any_case_a_prefix_or_be_bech32() {
    let node = Node::start(&[]);
    let address = Wallet::funded(0).address();
    let expected = json!({"balance": FUNDS.to_string(), "nonce": 0});
    for spelling in [
        address.to_string(),
        format!("0x{address}"),
        format!("{address:X}"),
        format!("0x{address:X}"),
        address.to_checksum(),
        format!("0x{}", address.to_checksum()),
        address.to_bech32(),
    ] {
        check_result(&node, "GetBalance", &json!([spelling]), &expected);
    }
}

#[test]
fn null_account_holds_the_mining_reserve() {
    let node = Node::start(&[]);
    let expected = json!({"balance": "8400000000000000000000", "nonce": 0});
    check_result(&node, "GetBalance", &json!(["0".repeat(40)]), &expected);
}

#[test]
fn account_without_payments_does_not_exist() {
    let node = Node::start(&[]);
    let stranger = Wallet::stranger(1).hex();
    check_error(&node, "GetBalance", &json!([stranger]), (-5, "Account is not created"));
    check_error(&node, "GetBalance", &json!(["1".repeat(40)]), (-5, "Account is not created"));
}

#[test]
fn payment_of_zero_creates_no_account() {
    let node = Node::start(&[]);
    let stranger = Wallet::stranger(1);
    let payment = Wallet::funded(0).payment(1, stranger.address(), 0);
    node.result("CreateTransaction", &json!([payment.json()]));
    check_error(&node, "GetBalance", &json!([stranger.hex()]), (-5, "Account is not created"));
}

#[test]
fn misspelt_address_is_refused() {
    let node = Node::start(&[]);
    let address = Wallet::funded(0).address();
    let hex = address.to_string();
    let bech32 = address.to_bech32();
    let wrong_size = (-8, "Address size not appropriate");
    for spelling in [
        String::new(),
        "0x".to_owned(),
        hex[1..].to_owned(),
        format!("{hex}0"),
        format!(" {hex}"),
        format!("0X{hex}"),
        bech32.to_uppercase(),
        "zil".to_owned(),
        "é".repeat(20),
    ] {
        check_error(&node, "GetBalance", &json!([spelling]), wrong_size);
    }
    for spelling in [format!("{}g", &hex[1..]), format!("0x{}z", &hex[1..]), "-".repeat(40)] {
        check_error(&node, "GetBalance", &json!([spelling]), (-5, "invalid address"));
    }
    let last = if bech32.ends_with('q') { 'p' } else { 'q' };
    let changed = format!("{}{last}", &bech32[..bech32.len() - 1]);
    for spelling in [
        changed,
        "zil1".to_owned(),
        bech32[..bech32.len() - 1].to_owned(),
        format!("{bech32}q"),
        format!("zil1{}", "é".repeat(19)),
    ] {
        check_error(&node, "GetBalance", &json!([spelling]), (-5, "Bech32 address is invalid"));
    }
}
