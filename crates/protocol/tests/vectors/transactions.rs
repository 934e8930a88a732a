use silica_protocol::{
    Address, ChainId, GasPrice, Nonce, Transaction, TransactionKind, TxHash, UnsignedTransaction, Version, sha256,
};

use crate::case::{Case, for_each_case};

#[test]
fn transaction_vectors_hold() {
    for_each_case("transactions.json", |case| {
        let name = case.text("name");
        let transaction = case.object("request", transaction);
        assert_eq!(transaction.kind(), Some(kind(&name)), "{name}");
        assert_eq!(transaction.version.chain_id().get(), u16::try_from(case.number("chain_id")).unwrap());
        assert_eq!(transaction.version.message_version(), u16::try_from(case.number("msg_version")).unwrap());
        assert_eq!(transaction.sender(), case.parse("sender_address"), "{name}");
        assert_eq!(transaction.signing_payload(), case.bytes("core_info"), "{name}");
        assert_eq!(transaction.hash(), case.parse("hash"), "{name}");
        assert_eq!(transaction.hash().to_bytes(), sha256(&[&transaction.signing_payload()]));
        // Some published transactions have altered values. Their hash and signature do not match.
        let valid = case.flag("signature_valid");
        if case.has("published_hash") {
            assert_eq!(transaction.hash() == case.parse::<TxHash>("published_hash"), valid, "{name}");
        }
        if case.has("transaction_message") {
            let message = case.bytes("transaction_message");
            assert_eq!(transaction.encode(), message, "{name}");
            assert_eq!(Transaction::decode(&message).as_ref(), Ok(&transaction), "{name}");
        }
        assert_eq!(Transaction::decode(&transaction.encode()), Ok(transaction), "{name}");
        // The commitment is a curve point, which the crate `crypto` checks.
        case.skip("commitment");
    });
}

/// Returns the kind of transaction that the name of a case states.
fn kind(name: &str) -> TransactionKind {
    let says = |word| name.split('-').any(|part| part == word);
    if says("call") || name == "invalid-data-added" {
        TransactionKind::Call
    } else if says("deployment") {
        TransactionKind::Deployment
    } else {
        TransactionKind::Payment
    }
}

fn transaction(request: &mut Case) -> Transaction {
    let unsigned = UnsignedTransaction {
        version: Version::from_packed(request.small("version")),
        nonce: Nonce::new(request.number("nonce")),
        to: Address::from_checksum(&request.text("toAddr")).unwrap(),
        amount: request.parse("amount"),
        gas_price: request.parse::<GasPrice>("gasPrice"),
        gas_limit: request.parse("gasLimit"),
        code: request.text("code"),
        data: request.text("data"),
        sender_key: request.parse("pubKey"),
    };
    unsigned.with_signature(request.parse("signature"))
}

#[test]
fn version_has_chain_id_and_message_version() {
    for (chain, version) in [(1, 65_537), (333, 21_823_489), (222, 14_548_993), (2, 131_073), (9, 589_825)] {
        assert_eq!(Version::of_chain(ChainId::new(chain)).packed(), version);
    }
}
