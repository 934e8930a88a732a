//! Unsigned transactions of a load, and their signatures.

use serde_json::value::to_raw_value;
use silica_crypto::KeyPair;
use silica_protocol::{
    Address, Gas, GasPrice, Nonce, Qa, Transaction, UnsignedTransaction, Version, rpc::transaction::TransactionRequest,
};

use super::{
    LoadError,
    rpc::{RpcClient, SignedRequest},
};

/// Gas limit of a payment, in gas units.
const PAYMENT_GAS: Gas = Gas::new(50);

/// The part of a transaction that depends neither on its sender nor on the chain.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) to: Address,
    pub(super) amount: Qa,
    pub(super) gas_limit: Gas,
    pub(super) code: String,
    pub(super) data: String,
}

impl Order {
    /// Creates a payment.
    pub(super) const fn payment(to: Address, amount: Qa) -> Self {
        Self { to, amount, gas_limit: PAYMENT_GAS, code: String::new(), data: String::new() }
    }
}

/// The chain id and the gas price, which all transactions of a load have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    version: Version,
    gas_price: GasPrice,
}

impl Terms {
    /// Gets the chain id and the minimum gas price from a node.
    pub(super) async fn of(client: &mut RpcClient) -> Result<Self, LoadError> {
        let version = Version::of_chain(client.chain_id().await?);
        Ok(Self { version, gas_price: client.minimum_gas_price().await? })
    }

    /// Returns the maximum cost of a transaction: amount plus gas limit × gas price.
    pub(super) fn cost(&self, order: &Order) -> Qa {
        let fee = order.gas_limit.checked_cost(self.gas_price).unwrap_or(Qa::MAX);
        fee.checked_add(order.amount).unwrap_or(Qa::MAX)
    }

    /// Signs a transaction.
    pub(super) fn sign(&self, key: &KeyPair, nonce: Nonce, order: Order) -> Transaction {
        let Order { to, amount, gas_limit, code, data } = order;
        let transaction = UnsignedTransaction {
            version: self.version,
            nonce,
            to,
            amount,
            gas_price: self.gas_price,
            gas_limit,
            code,
            data,
            sender_key: key.public_key(),
        };
        transaction.sign(key).expect("the bytes of a transaction are not empty")
    }

    /// Signs a transaction, and returns it as JSON.
    pub(super) fn signed(&self, key: &KeyPair, nonce: Nonce, order: Order) -> SignedRequest {
        request(self.sign(key, nonce, order))
    }
}

/// Returns a transaction as JSON.
pub(super) fn request(transaction: Transaction) -> SignedRequest {
    to_raw_value(&TransactionRequest { transaction, priority: false }).expect("a request has a JSON form")
}
