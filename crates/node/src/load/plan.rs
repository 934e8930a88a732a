//! Who pays whom: senders, their money, and their payments signed beforehand.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::value::to_raw_value;
use silica_chain::PUBLISHED_ACCOUNTS;
use silica_crypto::{KeyPair, SecretKey, sign};
use silica_protocol::{
    Address, Gas, GasPrice, Nonce, Qa, Signature, Transaction, Version, rpc::transaction::TransactionRequest, sha256,
};
use tokio::time::sleep;

use super::{
    LoadError, PAUSE,
    rpc::{RpcClient, SignedPayment, Submission},
};
use crate::config::LoadArgs;

/// Gas of a payment.
const GAS: Gas = Gas::new(50);

/// What each payment moves.
const AMOUNT: Qa = Qa::new(1_000_000);

/// Funding payments in one request.
const FUNDING_BATCH: usize = 50;

/// The payments of one connection, in batches.
pub(super) type Share = Vec<Vec<SignedPayment>>;

/// The senders of a load.
#[derive(Debug)]
pub(super) struct Plan {
    senders: Vec<Sender>,
    version: Version,
    gas_price: GasPrice,
}

#[derive(Debug)]
struct Sender {
    key: KeyPair,
    address: Address,
    /// Nonce of the account before the load.
    nonce: Nonce,
    balance: Qa,
    payments: u64,
}

impl Sender {
    async fn of(key: KeyPair, payments: u64, client: &mut RpcClient) -> Result<Self, LoadError> {
        let address = key.address();
        let (balance, nonce) = client.account(&address).await?;
        Ok(Self { key, address, nonce, balance, payments })
    }
}

impl Plan {
    /// Spreads the payments over senders whose keys are always the same, so that a second load finds them funded.
    pub(super) async fn new(args: &LoadArgs, client: &mut RpcClient) -> Result<Self, LoadError> {
        let version = Version::of_chain(client.chain_id().await?);
        let gas_price = client.minimum_gas_price().await?;
        let (payments, count) = (u64::from(args.payments), u64::from(args.senders.min(args.payments)));
        let mut senders = Vec::new();
        for index in 0..count {
            let share = payments / count + u64::from(index < payments % count);
            senders.push(Sender::of(sender_key(index), share, client).await?);
        }
        Ok(Self { senders, version, gas_price })
    }

    pub(super) fn payments(&self) -> u64 {
        self.senders.iter().map(|sender| sender.payments).sum()
    }

    /// Gives the senders what they need from the published test accounts, and waits until they have it.
    pub(super) async fn fund(&mut self, client: &mut RpcClient, limit: Duration) -> Result<(), LoadError> {
        let fee = GAS.checked_cost(self.gas_price).unwrap_or(Qa::MAX);
        let cost = fee.checked_add(AMOUNT).unwrap_or(Qa::MAX).get();
        let poor = |sender: &Sender| sender.balance.get() < cost.saturating_mul(sender.payments.into());
        let in_need: Vec<_> = self.senders.iter().filter(|sender| poor(sender)).map(|sender| sender.address).collect();
        if in_need.is_empty() {
            return Ok(());
        }
        let most = self.senders.iter().map(|sender| sender.payments).max().unwrap_or(0);
        // Enough for ten loads like this one.
        let grant = Qa::new(cost.saturating_mul(most.into()).saturating_mul(10));
        let mut funders = Vec::new();
        for published in PUBLISHED_ACCOUNTS {
            let key: SecretKey = published.secret_key().parse().expect("a test of the chain reads every key");
            funders.push(Sender::of(KeyPair::from_secret(key), 0, client).await?);
        }
        let error = || LoadError::Funds { senders: in_need.len() };
        let each = in_need.len().div_ceil(funders.len());
        let needed = grant.get().saturating_add(fee.get()).saturating_mul(each as u128);
        if funders.iter().any(|funder| funder.balance.get() < needed) {
            return Err(error());
        }
        for (funder, addresses) in funders.iter().zip(in_need.chunks(each)) {
            for (batch, addresses) in addresses.chunks(FUNDING_BATCH).enumerate() {
                let first = funder.nonce.get() + 1 + (batch * FUNDING_BATCH) as u64;
                let payments: Vec<_> = (first..)
                    .zip(addresses)
                    .map(|(nonce, to)| self.signed(&funder.key, Nonce::new(nonce), *to, grant))
                    .collect();
                if client.submit(&payments).await? != Submission::Accepted {
                    return Err(error());
                }
            }
        }
        let deadline = Instant::now() + limit;
        for sender in &mut self.senders {
            while poor(sender) {
                (sender.balance, sender.nonce) = client.account(&sender.address).await?;
                if Instant::now() > deadline {
                    return Err(LoadError::TimeLimit { limit, missing: in_need.len() as u64 });
                }
                if poor(sender) {
                    sleep(PAUSE).await;
                }
            }
        }
        Ok(())
    }

    /// Signs all payments, on all processors, and deals them out to the connections.
    pub(super) fn sign(&self, args: &LoadArgs) -> Vec<Share> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let chunk = self.senders.len().div_ceil(processors).max(1);
        let signed: Vec<Vec<SignedPayment>> = thread::scope(|scope| {
            let workers: Vec<_> = self
                .senders
                .chunks(chunk)
                .enumerate()
                .map(|(position, senders)| scope.spawn(move || self.sign_chunk(position * chunk, senders)))
                .collect();
            workers.into_iter().flat_map(|worker| worker.join().expect("signing does not panic")).collect()
        });
        deal(signed, args.connections as usize, args.batch as usize)
    }

    fn sign_chunk(&self, first: usize, senders: &[Sender]) -> Vec<Vec<SignedPayment>> {
        let payments = |(index, sender): (usize, &Sender)| {
            let recipient = self.senders.get((index + 1) % self.senders.len()).unwrap_or(sender).address;
            (1..=sender.payments)
                .map(|step| self.signed(&sender.key, Nonce::new(sender.nonce.get() + step), recipient, AMOUNT))
                .collect()
        };
        (first..).zip(senders).map(payments).collect()
    }

    fn signed(&self, key: &KeyPair, nonce: Nonce, to: Address, amount: Qa) -> SignedPayment {
        let mut transaction = Transaction {
            version: self.version,
            nonce,
            to,
            amount,
            gas_price: self.gas_price,
            gas_limit: GAS,
            code: String::new(),
            data: String::new(),
            sender_key: key.public(),
            signature: Signature::ZERO,
        };
        transaction.signature = sign(&transaction.core_bytes(), key).expect("the bytes of a transaction are not empty");
        to_raw_value(&TransactionRequest { transaction, priority: false }).expect("a request has a JSON form")
    }

    /// Waits until the nonce of each sender says that all its payments are in blocks.
    pub(super) async fn wait_until_landed(
        &self,
        client: &mut RpcClient,
        deadline: Instant,
        limit: Duration,
    ) -> Result<(), LoadError> {
        for sender in &self.senders {
            loop {
                let (_, nonce) = client.account(&sender.address).await?;
                let missing = (sender.nonce.get() + sender.payments).saturating_sub(nonce.get());
                match missing {
                    0 => break,
                    missing if Instant::now() > deadline => return Err(LoadError::TimeLimit { limit, missing }),
                    _ => sleep(PAUSE).await,
                }
            }
        }
        Ok(())
    }
}

fn sender_key(index: u64) -> KeyPair {
    let bytes = sha256(&[b"silica load sender", &index.to_be_bytes()]);
    KeyPair::from_secret(SecretKey::from_bytes(bytes).expect("a hash is out of range once in 2^128"))
}

/// Deals the senders out to connections. A connection takes one payment of each of its senders in turn, so that a
/// batch has as many senders as there are.
fn deal<T>(by_sender: Vec<Vec<T>>, connections: usize, batch: usize) -> Vec<Vec<Vec<T>>> {
    let connections = connections.min(by_sender.len()).max(1);
    let mut shares: Vec<Vec<std::vec::IntoIter<T>>> = (0..connections).map(|_| Vec::new()).collect();
    for (index, payments) in by_sender.into_iter().enumerate() {
        if let Some(share) = shares.get_mut(index % connections) {
            share.push(payments.into_iter());
        }
    }
    let in_turn = |mut senders: Vec<std::vec::IntoIter<T>>| {
        let mut order = Vec::new();
        loop {
            let before = order.len();
            order.extend(senders.iter_mut().filter_map(Iterator::next));
            if order.len() == before {
                return order;
            }
        }
    };
    shares.into_iter().map(|senders| batches(in_turn(senders), batch)).collect()
}

fn batches<T>(payments: Vec<T>, size: usize) -> Vec<Vec<T>> {
    let mut payments = payments.into_iter();
    let batches = std::iter::from_fn(|| Some(payments.by_ref().take(size).collect::<Vec<_>>()));
    batches.take_while(|batch| !batch.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sender_keeps_its_order_and_its_connection() {
        let shares = deal(vec![vec!["a1", "a2", "a3"], vec!["b1", "b2"], vec!["c1"]], 2, 2);
        assert_eq!(shares, vec![vec![vec!["a1", "c1"], vec!["a2", "a3"]], vec![vec!["b1", "b2"]]]);
    }

    #[test]
    fn no_connection_is_idle() {
        assert_eq!(deal(vec![vec![1], vec![2]], 16, 1).len(), 2);
        assert_eq!(deal(Vec::<Vec<u8>>::new(), 16, 1), vec![Vec::<Vec<u8>>::new()]);
    }

    #[test]
    fn senders_are_always_the_same() {
        assert_eq!(sender_key(3).address(), sender_key(3).address());
        assert_ne!(sender_key(3).address(), sender_key(4).address());
    }
}
