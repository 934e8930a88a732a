//! All checks of `CreateTransaction`, in the order of the reference (Reference: execution#admission-checks).

use serde_json::{Value, json};
use silica_protocol::Address;
use silica_tests::{
    Node, Payment, Wallet,
    wallet::{FUNDS, GAS_PRICE},
};

use crate::{INVALID_PARAMS, balance, check_error};

/// Returns the parameter of a signed payment. Before the signature, `change` changes the valid payment.
fn payment(change: impl FnOnce(&mut Payment)) -> Value {
    let payer = Wallet::funded(0);
    let mut payment = payer.payment(1, Wallet::funded(1).address(), 5);
    change(&mut payment);
    payment.json()
}

/// Returns the parameter of a signed payment. After the signature, `change` changes the valid parameter.
fn request(change: impl FnOnce(&mut Value)) -> Value {
    let mut request = payment(|_| {});
    change(&mut request);
    request
}

/// Checks that the node rejects a request, and that the request has no effect.
#[track_caller]
fn check_refused(node: &Node, request: &Value, code: i64, message: &str) {
    check_error(node, "CreateTransaction", &json!([request]), (code, message));
    assert_eq!(balance(node, &Wallet::funded(0).hex()), (FUNDS, 0), "{request}");
}

const MISSING: &str = "Missing components in Json Data Object";

#[test]
fn unchanged_request_is_accepted() {
    let node = Node::start(&[]);
    node.result("CreateTransaction", &json!([request(|_| {})]));
    assert_eq!(balance(&node, &Wallet::funded(0).hex()).1, 1);
}

#[test]
fn parameter_is_exactly_one_object() {
    let node = Node::start(&[]);
    let good = request(|_| {});
    for params in
        [json!([]), json!([good, good]), json!([[good]]), json!(["x"]), json!([null]), json!(good), json!(null)]
    {
        check_error(&node, "CreateTransaction", &params, INVALID_PARAMS);
    }
}

#[test]
fn every_member_but_three_is_required() {
    let node = Node::start(&[]);
    for member in ["version", "nonce", "toAddr", "amount", "pubKey", "gasPrice", "gasLimit", "signature"] {
        let without = request(|request| drop(request.as_object_mut().unwrap().remove(member)));
        check_refused(&node, &without, -8, MISSING);
    }
    check_refused(&node, &json!({}), -8, MISSING);
}

#[test]
fn unknown_members_are_refused() {
    let node = Node::start(&[]);
    for member in ["Version", "from", "", "receipt"] {
        check_refused(&node, &request(|request| request[member] = json!("")), -8, MISSING);
    }
}

#[test]
fn nonce_is_an_integral_number() {
    let node = Node::start(&[]);
    for value in [json!("1"), json!(1.5), json!(null), json!(true), json!([1]), json!({})] {
        check_refused(&node, &request(|request| request["nonce"] = value), -8, "Nonce is not integral");
    }
}

#[test]
fn amount_is_an_integer_in_text() {
    let node = Node::start(&[]);
    let values = [
        json!(5),
        json!(null),
        json!("five"),
        json!("1.5"),
        json!("-1"),
        json!("1e3"),
        json!("340282366920938463463374607431768211456"),
        json!("9".repeat(100)),
    ];
    for value in values {
        check_refused(&node, &request(|request| request["amount"] = value), -8, "Amount invalid string");
    }
}

#[test]
fn version_is_an_integral_number() {
    let node = Node::start(&[]);
    for value in [json!("14548993"), json!(1.5), json!(null), json!([])] {
        check_refused(&node, &request(|request| request["version"] = value), -8, "Version not integral");
    }
    for value in [json!(-1), json!(u64::from(u32::MAX) + 1)] {
        check_refused(&node, &request(|request| request["version"] = value), -1, "Unable to Process");
    }
}

#[test]
fn public_key_is_66_digits() {
    let node = Node::start(&[]);
    let key = Wallet::funded(0).public_key();
    for value in [String::new(), key[..64].to_owned(), format!("{key}00"), format!("0x{key}")] {
        check_refused(&node, &request(|request| request["pubKey"] = json!(value)), -8, "Invalid PubKey Size");
    }
    let value = format!("{}zz", &key[..64]);
    check_refused(&node, &request(|request| request["pubKey"] = json!(value)), -8, "Invalid Hex Str for PubKey");
}

#[test]
fn signature_is_128_digits() {
    let node = Node::start(&[]);
    let signature = request(|_| {})["signature"].as_str().unwrap().to_owned();
    for value in [String::new(), signature[..126].to_owned(), format!("{signature}00"), format!("{signature}0000")] {
        check_refused(&node, &request(|request| request["signature"] = json!(value)), -8, "Invalid Signature size");
    }
    let value = format!("{}zz", &signature[..126]);
    check_refused(&node, &request(|request| request["signature"] = json!(value)), -8, "Invalid Hex Str for Signature");
}

#[test]
fn recipient_is_checksummed() {
    let node = Node::start(&[]);
    let address = Wallet::funded(1).address();
    let checksummed = address.to_checksum();
    assert_ne!(checksummed, address.to_string());
    let flipped: String = checksummed
        .chars()
        .map(|c| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() })
        .collect();
    for spelling in [
        address.to_string(),
        format!("0x{address}"),
        format!("{address:X}"),
        flipped,
        address.to_bech32(),
        checksummed[1..].to_owned(),
        format!("{checksummed}0"),
        format!("0x0x{checksummed}"),
        String::new(),
        "0x".to_owned(),
    ] {
        let request = request(|request| request["toAddr"] = json!(spelling));
        check_refused(&node, &request, -8, "To Addr checksum wrong");
    }
}

#[test]
fn published_checksums_are_accepted() {
    let node = Node::start(&[]);
    let payer = Wallet::funded(0);
    let published = [
        "4BAF5faDA8e5Db92C3d3242618c5B47133AE003C",
        "0xf61477D7919478e5AfFe1fbd9A0CDCeee9fdE42d",
        "4d76f701E16D7d481dE292499718db36450d6A18",
        "0x6e1757590ce532Ff0F0e100139e36b7eE8049ce1",
        // An address with the checksum of Ethereum, which generation 9 accepts.
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    ];
    for (nonce, spelling) in (1..).zip(published) {
        let to: Address = spelling.parse().unwrap();
        let mut request = payer.payment(nonce, to, 1).json();
        request["toAddr"] = json!(spelling);
        node.result("CreateTransaction", &json!([request]));
    }
}

#[test]
fn priority_is_boolean() {
    let node = Node::start(&[]);
    for value in [json!("true"), json!(1), json!(null)] {
        check_refused(&node, &request(|request| request["priority"] = value), -8, "Priority should be boolean");
    }
    node.result("CreateTransaction", &json!([request(|request| request["priority"] = json!(true))]));
}

#[test]
fn gas_price_is_an_integer_in_text() {
    let node = Node::start(&[]);
    for value in [json!("cheap"), json!("-1"), json!("340282366920938463463374607431768211456")] {
        check_refused(&node, &request(|request| request["gasPrice"] = value), -1, "Unable to Process");
    }
    // The reference also accepts a number. The signed bytes are the same.
    let price = u64::try_from(GAS_PRICE).unwrap();
    node.result("CreateTransaction", &json!([request(|request| request["gasPrice"] = json!(price))]));
}

#[test]
fn texts_given_as_objects_are_refused() {
    let node = Node::start(&[]);
    for member in ["toAddr", "pubKey", "signature", "gasPrice", "gasLimit", "code", "data"] {
        for value in [json!({}), json!([])] {
            let request = request(|request| request[member] = value);
            let (code, message) = node.error("CreateTransaction", &json!([request]));
            assert!([-1, -8].contains(&code), "{member}: {code} {message}");
        }
    }
    assert_eq!(balance(&node, &Wallet::funded(0).hex()), (FUNDS, 0));
}

#[test]
fn chain_id_and_message_version_are_this_networks() {
    let node = Node::start(&[]);
    for chain_id in [0u32, 1, 221, 223, 333, 65535] {
        let other = payment(|payment| payment.version = (chain_id << 16) | 1);
        check_refused(&node, &other, -26, "CHAIN_ID incorrect");
    }
    for version in [0u32, 5, 65535] {
        let other = payment(|payment| payment.version = (222 << 16) | version);
        let message = format!("Transaction version incorrect, Expected:1 Actual:{version}");
        check_refused(&node, &other, -26, &message);
    }
}

#[test]
fn code_is_limited_in_size() {
    let node = Node::start(&[]);
    let large = payment(|payment| {
        payment.to = Address::ZERO;
        payment.code = "x".repeat(76_801);
    });
    check_refused(&node, &large, -26, "Code size is too large");
}

#[test]
fn gas_price_is_at_least_the_minimum() {
    let node = Node::start(&[]);
    for price in [0, 1, GAS_PRICE - 1] {
        let cheap = payment(|payment| payment.gas_price = price);
        let message = format!("GasPrice {price} lower than minimum allowable {GAS_PRICE}");
        check_refused(&node, &cheap, -26, &message);
    }
}

#[test]
fn signature_covers_every_field() {
    let node = Node::start(&[]);
    let stranger = Wallet::stranger(1);
    let other = stranger.payment(1, Wallet::funded(1).address(), 5).json();
    let changes: [(&str, Value); 8] = [
        ("nonce", json!(2)),
        ("toAddr", json!(Wallet::funded(2).address().to_checksum())),
        ("amount", json!("6")),
        ("gasPrice", json!((GAS_PRICE + 1).to_string())),
        ("gasLimit", json!("51")),
        ("data", json!("{}")),
        ("pubKey", other["pubKey"].clone()),
        ("signature", other["signature"].clone()),
    ];
    for (member, value) in changes {
        let changed = request(|request| request[member] = value);
        check_refused(&node, &changed, -26, "Unable to verify transaction");
    }
}

#[test]
fn values_that_are_no_key_or_signature_do_not_verify() {
    let node = Node::start(&[]);
    let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
    let good = request(|_| {})["signature"].as_str().unwrap().to_owned();
    let (r, s) = good.split_at(64);
    let zero = "0".repeat(64);
    for value in [
        format!("{zero}{s}"),
        format!("{r}{zero}"),
        format!("{zero}{zero}"),
        format!("{order}{s}"),
        format!("{r}{order}"),
        "f".repeat(128),
    ] {
        let request = request(|request| request["signature"] = json!(value));
        check_refused(&node, &request, -26, "Unable to verify transaction");
    }
    for key in [
        "0".repeat(66),
        format!("02{}", "f".repeat(64)),
        // The curve has no point with x = 5.
        format!("02{:064x}", 5),
        format!("04{}", &Wallet::funded(0).public_key()[2..]),
        format!("05{}", &Wallet::funded(0).public_key()[2..]),
    ] {
        let request = request(|request| request["pubKey"] = json!(key));
        check_refused(&node, &request, -26, "Unable to verify transaction");
    }
}

#[test]
fn sender_needs_an_account() {
    let node = Node::start(&[]);
    let stranger = Wallet::stranger(1);
    let payment = stranger.payment(1, Wallet::funded(1).address(), 5).json();
    check_refused(&node, &payment, -5, "The sender of the txn has no balance");
}

#[test]
fn gas_limit_has_a_floor() {
    let node = Node::start(&[]);
    for limit in [0, 1, 49] {
        let message = format!("Gas limit ({limit}) lower than minimum for payment transaction (50)");
        check_refused(&node, &payment(|payment| payment.gas_limit = limit), -8, &message);
    }
    let call = payment(|payment| {
        payment.data = "{}".repeat(10);
        payment.gas_limit = 19;
    });
    check_refused(&node, &call, -8, "Gas limit (19) lower than minimum for invoking contract (10)");
    let call = payment(|payment| {
        payment.data = "{}".to_owned();
        payment.gas_limit = 9;
    });
    check_refused(&node, &call, -8, "Gas limit (9) lower than minimum for invoking contract (10)");
    let deployment = payment(|payment| {
        payment.to = Address::ZERO;
        payment.code = "x".repeat(60);
        payment.data = "[]".to_owned();
        payment.gas_limit = 61;
    });
    check_refused(&node, &deployment, -8, "Gas limit (61) lower than minimum for creating contract (62)");
    let deployment = payment(|payment| {
        payment.to = Address::ZERO;
        payment.code = "x".to_owned();
        payment.gas_limit = 49;
    });
    check_refused(&node, &deployment, -8, "Gas limit (49) lower than minimum for creating contract (50)");
}

#[test]
fn nonce_below_the_next_is_refused() {
    let node = Node::start(&[]);
    check_refused(&node, &payment(|payment| payment.nonce = 0), -8, "Nonce (0) lower than current (0)");
    node.result("CreateTransaction", &json!([payment(|_| {})]));
    let again = payment(|payment| payment.amount = 6);
    check_error(&node, "CreateTransaction", &json!([again]), (-8, "Nonce (1) lower than current (1)"));
    check_error(&node, "CreateTransaction", &json!([payment(|_| {})]), (-8, "Nonce (1) lower than current (1)"));
}

#[test]
fn nonce_above_the_next_is_refused_in_instant_mode() {
    let node = Node::start(&[]);
    for nonce in [2, 3, u64::MAX] {
        check_refused(&node, &payment(|payment| payment.nonce = nonce), -8, "Expected Nonce: 1");
    }
}

#[test]
fn sums_beyond_128_bits_are_refused() {
    let node = Node::start(&[]);
    let product = payment(|payment| payment.gas_price = u128::MAX);
    check_refused(&node, &product, -8, "tx.GetGasLimit() * tx.GetGasPrice() overflow!");
    let sum = payment(|payment| payment.amount = u128::MAX);
    check_refused(&node, &sum, -8, "tx.GetGasLimit() * tx.GetGasPrice() + tx.GetAmount() overflow!");
}

#[test]
fn balance_covers_amount_and_the_whole_gas_limit() {
    let node = Node::start(&[]);
    let message = "Insufficient funds in source account!";
    check_refused(&node, &payment(|payment| payment.amount = FUNDS), -8, message);
    check_refused(&node, &payment(|payment| payment.amount = u128::MAX / 2), -8, message);
    let fee_of_limit = GAS_PRICE * 1000;
    let short = payment(|payment| {
        payment.gas_limit = 1000;
        payment.amount = FUNDS - fee_of_limit + 1;
    });
    check_refused(&node, &short, -8, message);
    let exact = payment(|payment| {
        payment.gas_limit = 1000;
        payment.amount = FUNDS - fee_of_limit;
    });
    node.result("CreateTransaction", &json!([exact]));
}

#[test]
fn gas_limit_has_a_ceiling() {
    let node = Node::start(&[]);
    let high = payment(|payment| payment.gas_limit = 400_001);
    check_refused(&node, &high, -8, "Txn gas limit 400001 greater than microblock gas limit400000");
    let highest = payment(|payment| {
        payment.gas_limit = u64::MAX;
        payment.amount = 0;
    });
    let (code, message) = node.error("CreateTransaction", &json!([highest]));
    assert_eq!((code, message.as_str()), (-8, "Insufficient funds in source account!"));
}

#[test]
fn empty_deployments_and_calls_are_rejected() {
    let node = Node::start(&[]);
    let deployment = payment(|payment| {
        payment.to = Address::ZERO;
        payment.code = "scilla_version 0".to_owned();
        payment.data = "[]".to_owned();
        payment.gas_limit = 10_000;
    });
    check_refused(&node, &deployment, -8, "Error Code: 11");
    let call = payment(|payment| {
        payment.data = r#"{"_tag":"Pay","params":[]}"#.to_owned();
        payment.gas_limit = 10_000;
    });
    check_refused(&node, &call, -5, "Non - contract address called");
}

#[test]
fn fields_that_mean_nothing_together_are_refused() {
    let node = Node::start(&[]);
    let message = "Code is empty and To addr is null";
    check_refused(&node, &payment(|payment| payment.to = Address::ZERO), -5, message);
    let code_for_an_account = payment(|payment| {
        payment.code = "scilla_version 0".to_owned();
        payment.gas_limit = 10_000;
    });
    check_refused(&node, &code_for_an_account, -5, message);
}

#[test]
fn payment_that_waits_already_is_refused() {
    let node = Node::start(&["--block-mode", "manual"]);
    node.result("CreateTransaction", &json!([payment(|_| {})]));
    let message = "Txn could not be added as database exceeded limit or the txn was already present";
    check_error(&node, "CreateTransaction", &json!([payment(|_| {})]), (-20, message));
}

#[test]
fn first_failing_check_answers() {
    let node = Node::start(&[]);
    // Each request has more than one fault.
    check_refused(
        &node,
        &request(|request| {
            request["nonce"] = json!("1");
            request["amount"] = json!(5);
        }),
        -8,
        "Nonce is not integral",
    );
    check_refused(
        &node,
        &request(|request| {
            request["amount"] = json!(5);
            request["version"] = json!("x");
        }),
        -8,
        "Amount invalid string",
    );
    check_refused(
        &node,
        &request(|request| {
            request["version"] = json!("x");
            request["pubKey"] = json!("");
        }),
        -8,
        "Version not integral",
    );
    check_refused(
        &node,
        &request(|request| {
            request["pubKey"] = json!("");
            request["signature"] = json!("");
        }),
        -8,
        "Invalid PubKey Size",
    );
    check_refused(
        &node,
        &request(|request| {
            request["signature"] = json!("");
            request["toAddr"] = json!("");
        }),
        -8,
        "Invalid Signature size",
    );
    check_refused(
        &node,
        &request(|request| {
            request["toAddr"] = json!("");
            request["priority"] = json!(1);
        }),
        -8,
        "To Addr checksum wrong",
    );
    check_refused(
        &node,
        &request(|request| {
            request["priority"] = json!(1);
            request["version"] = json!(-1);
        }),
        -8,
        "Priority should be boolean",
    );
    check_refused(
        &node,
        &payment(|payment| {
            payment.version = 1 << 16;
            payment.gas_price = 1;
        }),
        -26,
        "CHAIN_ID incorrect",
    );
    check_refused(
        &node,
        &request(|request| {
            request["gasPrice"] = json!("1");
        }),
        -26,
        "GasPrice 1 lower than minimum allowable 2000000000",
    );
    check_refused(
        &node,
        &payment(|payment| {
            payment.gas_limit = 1;
            payment.nonce = 0;
        }),
        -8,
        "Gas limit (1) lower than minimum for payment transaction (50)",
    );
    check_refused(
        &node,
        &payment(|payment| {
            payment.nonce = 0;
            payment.amount = u128::MAX;
        }),
        -8,
        "Nonce (0) lower than current (0)",
    );
}

/// Sends all payments, one call for each, and returns the codes and messages of the errors.
fn refusals(node: &Node, payments: impl Iterator<Item = Payment>) -> Vec<(i64, String)> {
    let calls: Vec<_> = payments.map(|payment| ("CreateTransaction", json!([payment.json()]))).collect();
    let answers = node.call_all(&calls).into_iter();
    answers.filter_map(Result::err).map(|refusal| (refusal.code, refusal.message)).collect()
}

const POOL_FULL: &str = "Txn could not be added as database exceeded limit or the txn was already present";

/// 10 accounts with 1 ZIL each send nonces with a gap. The pool has room for 40 transactions.
#[test]
fn nonce_gaps_of_poor_senders_do_not_keep_others_out_of_the_pool() {
    let node = Node::start(&["--block-mode", "manual", "--max-pending", "40"]);
    let poor: Vec<_> = (1..=10).map(Wallet::stranger).collect();
    for wallet in &poor {
        node.result("silica_setBalance", &json!([wallet.hex(), (10_u128.pow(12)).to_string()]));
    }
    let to = Wallet::stranger(99).address();
    let gapped: Vec<_> = poor.iter().flat_map(|poor| (2..=6).map(|nonce| poor.payment(nonce, to, 1))).collect();
    let refused = refusals(&node, gapped.iter().cloned());
    assert_eq!(refused, vec![(-20, POOL_FULL.to_owned()); 10]);

    let payer = Wallet::funded(0);
    let payments: Vec<_> = (1..=40).map(|nonce| payer.payment(nonce, to, 1)).collect();
    assert_eq!(refusals(&node, payments.into_iter()), []);
    let evicted = gapped[0].hash();
    let status = node.result("GetTransactionStatus", &json!([evicted]));
    assert_eq!((&status["modificationState"], &status["status"]), (&json!(2), &json!(255)));
    let pending = node.result("GetPendingTxn", &json!([evicted]));
    assert_eq!((&pending["confirmed"], &pending["code"]), (&json!(false), &json!(255)));
    assert_eq!(
        node.result("IsTxnInMemPool", &json!([evicted])),
        json!({"code": 255, "pending": false, "present": true})
    );

    // The pool is full of executable payments. A payment with a higher gas price evicts the last of them.
    let mut other = Wallet::funded(1).payment(1, to, 1);
    check_error(&node, "CreateTransaction", &json!([other.json()]), (-20, POOL_FULL));
    other.gas_price += 1;
    node.result("CreateTransaction", &json!([other.json()]));
    node.result("IncreaseBlocknum", &json!([1]));
    assert_eq!(balance(&node, &Wallet::stranger(99).hex()).0, 40);
    assert_eq!(balance(&node, &payer.hex()).1, 39);
    assert_eq!(balance(&node, &Wallet::funded(1).hex()).1, 1);
}

#[test]
fn transactions_with_gaps_or_without_cover_are_limited_for_each_sender() {
    let message = |limit| {
        format!(
            "Txn could not be added as the sender has {limit} pending transactions that need a lower nonce or more balance"
        )
    };
    let node = Node::start(&["--block-mode", "manual"]);
    let (payer, to) = (Wallet::funded(0), Wallet::stranger(99).address());
    let gapped = (2..=66).map(|nonce| payer.payment(nonce, to, 1));
    assert_eq!(refusals(&node, gapped), [(-20, message(64))]);
    // The missing nonce makes all pending transactions executable.
    let rest = [1, 66, 67].map(|nonce| payer.payment(nonce, to, 1));
    assert_eq!(refusals(&node, rest.into_iter()), []);
    node.result("IncreaseBlocknum", &json!([1]));
    assert_eq!(balance(&node, &payer.hex()).1, 67);

    let node = Node::start(&["--block-mode", "manual", "--max-gapped", "3"]);
    // The balance covers each transaction alone. The reference checks each transaction alone.
    let uncovered = (1..=6).map(|nonce| payer.payment(nonce, to, FUNDS * 2 / 5));
    assert_eq!(refusals(&node, uncovered), [(-20, message(3))]);
    // The check of the reference comes first.
    let funds = (-8, "Insufficient funds in source account!");
    check_error(&node, "CreateTransaction", &json!([payer.payment(7, to, FUNDS).json()]), funds);
    node.result("IncreaseBlocknum", &json!([1]));
    assert_eq!(balance(&node, &Wallet::stranger(99).hex()).0, FUNDS * 2 / 5 * 2);
}
