//! Protobuf transactions: the decoder accepts only canonical bytes, and encoding returns the same bytes.

use sha2::{Digest, Sha256};
use silica_protocol::Transaction;

/// Decodes bytes as a transaction, and as core information with the correct hash.
pub fn check(data: &[u8]) {
    read(data);
    // A fuzzer cannot guess a hash, so this transaction gets the correct hash.
    let (signature, core) = data.split_at_checked(64).unwrap_or((&[0; 64], data));
    read(&wrap(core, signature));
}

fn read(bytes: &[u8]) {
    let Ok(transaction) = Transaction::decode(bytes) else { return };
    assert_eq!(transaction.encode(), bytes, "one transaction has one encoding");
    assert_eq!(transaction.hash().as_bytes()[..], Sha256::digest(transaction.signing_payload())[..]);
    // These functions accept any decoded transaction without a panic.
    transaction.kind();
    transaction.sender();
    transaction.contract_address();
}

/// Returns the message `ProtoTransaction { tranid, info, signature }`.
fn wrap(core: &[u8], signature: &[u8]) -> Vec<u8> {
    let mut message = vec![0x0a, 32];
    message.extend_from_slice(&Sha256::digest(core));
    message.push(0x12);
    let mut length = core.len();
    while length >= 0x80 {
        message.push(length as u8 | 0x80);
        length >>= 7;
    }
    message.push(length as u8);
    message.extend_from_slice(core);
    message.extend_from_slice(&[0x1a, 66, 0x0a, 64]);
    message.extend_from_slice(signature);
    message
}

/// Returns inputs from the test vectors: each serialised transaction, and each core information with a signature in
/// front.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for case in crate::cases(include_str!("../../tests/data/vectors/transactions.json")) {
        let bytes = |member: &str| case[member].as_str().and_then(|text| hex::decode(text).ok());
        seeds.extend(bytes("transaction_message"));
        seeds.extend(bytes("core_info").map(|core| [vec![0x11; 64], core].concat()));
    }
    seeds
}
