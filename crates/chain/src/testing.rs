//! Keys, accounts and transactions for the unit tests of this crate.
//!
//! Most of these tests have a single transaction or an overlay, without a chain. Tests with a whole chain use
//! [`TestChain`](crate::TestChain).

use silica_crypto::{KeyPair, SecretKey};
use silica_protocol::{
    Account, Address, ChainId, CodeHash, ContractAccount, Nonce, Qa, ShardId, Signature, Transaction,
    UnsignedTransaction,
};

use crate::admission::VerifiedTransaction;

/// Lowest gas price of the default network in Qa.
pub(crate) const PRICE: u128 = 2_000_000_000;

/// Returns the key number `number`, from 1.
pub(crate) fn key(number: u8) -> KeyPair {
    let mut bytes = [0; 32];
    bytes[31] = number;
    KeyPair::from(SecretKey::from_bytes(bytes).unwrap())
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
pub(crate) fn payment(from: u8, to: Address) -> UnsignedTransaction {
    let payment = Transaction::payment(to, Qa::new(1)).chain_id(ChainId::new(222)).nonce(1);
    payment.gas_price(Qa::new(PRICE)).build(key(from).public_key()).unwrap()
}

/// Signs a transaction with the key number `from`.
pub(crate) fn signed(from: u8, transaction: UnsignedTransaction) -> Transaction {
    transaction.sign(&key(from)).unwrap()
}

/// Returns a transaction as if it had passed admission for `committee`. Its signature is zero.
pub(crate) fn unchecked(transaction: UnsignedTransaction, committee: ShardId) -> VerifiedTransaction {
    VerifiedTransaction::unchecked(transaction.with_signature(Signature::ZERO), committee)
}

/// Panics if the field has this name, as a fault in the interpreter or its host would.
pub(crate) fn panic_at(field: &str, name: &str) {
    assert!(field != name, "as the test wants: {name}");
}
