//! Keys and transactions for the tests of this crate.

use silica_crypto::{KeyPair, SecretKey, sign};
use silica_protocol::{
    Account, Address, ChainId, CodeHash, ContractAccount, Gas, GasPrice, Nonce, Qa, ShardId, Signature, Transaction,
    Version,
};

use crate::admission::VerifiedTransaction;

/// Lowest gas price of the default network in Qa.
pub(crate) const PRICE: u128 = 2_000_000_000;

/// Returns the key number `number`, from 1.
pub(crate) fn key(number: u8) -> KeyPair {
    let mut bytes = [0; 32];
    bytes[31] = number;
    KeyPair::from_secret(SecretKey::from_bytes(bytes).unwrap())
}

/// Returns the address of the key number `number`.
pub(crate) fn address(number: u8) -> Address {
    key(number).address()
}

/// Returns an account with a balance in Qa.
pub(crate) fn account(balance: u128, nonce: u64) -> Account {
    Account { balance: Qa::new(balance), nonce: Nonce::new(nonce), contract: None }
}

/// Returns an account with code.
pub(crate) fn contract() -> Account {
    let contract = ContractAccount { code_hash: CodeHash::new([1; 32]), storage_root: None };
    Account { contract: Some(contract), ..Account::default() }
}

/// Returns an unsigned payment of 1 Qa from the key number `from`, with nonce 1.
pub(crate) fn payment(from: u8, to: Address) -> Transaction {
    Transaction {
        version: Version::of_chain(ChainId::new(222)),
        nonce: Nonce::new(1),
        to,
        amount: Qa::new(1),
        gas_price: GasPrice::new(Qa::new(PRICE)),
        gas_limit: Gas::new(50),
        code: String::new(),
        data: String::new(),
        sender_key: key(from).public(),
        signature: Signature::ZERO,
    }
}

/// Signs a transaction with the key number `from`.
pub(crate) fn signed(from: u8, mut transaction: Transaction) -> Transaction {
    transaction.sender_key = key(from).public();
    transaction.signature = sign(&transaction.core_bytes(), &key(from)).unwrap();
    transaction
}

/// Returns a transaction as if it had passed admission for `committee`.
pub(crate) fn unchecked(transaction: Transaction, committee: ShardId) -> VerifiedTransaction {
    VerifiedTransaction::unchecked(transaction, committee)
}

/// Panics if the field has this name, as a fault in the interpreter or its host would.
pub(crate) fn panic_at(field: &str, name: &str) {
    assert!(field != name, "as the test wants: {name}");
}
