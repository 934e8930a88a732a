//! The senders of a load, with their money, tokens and signed transactions.

use std::{
    thread,
    time::{Duration, Instant},
};

use silica_chain::{PUBLISHED_ACCOUNTS, PublishedAccount};
use silica_crypto::{KeyPair, SecretKey};
use silica_protocol::{Address, Nonce, Qa, Transaction, rpc::transaction::SubmittedTransaction, sha256};
use tokio::time::sleep;

use super::{
    CHECK, LoadError, PAUSE,
    order::{Order, Terms, request},
    rpc::{RpcClient, SignedRequest, Submission},
    token::Token,
};
use crate::client::load::LoadArgs;

/// Amount of each payment, in Qa.
const AMOUNT: Qa = Qa::new(1_000_000);

/// Number of tokens that each sender gets before the load.
const GRANT: u64 = 1 << 40;

/// Number of transactions in one request that funds senders or distributes tokens.
const BATCH: usize = 50;

/// The signed transactions of one connection, in batches.
pub(super) type Share = Vec<Vec<SignedRequest>>;

/// The senders of a load.
#[derive(Debug)]
pub(super) struct Plan {
    senders: Vec<Sender>,
    terms: Terms,
    /// The token, or `None` for a load of payments.
    token: Option<Token>,
}

#[derive(Debug)]
struct Sender {
    key: KeyPair,
    address: Address,
    /// Nonce of the account before the load.
    nonce: Nonce,
    balance: Qa,
    /// Number of transactions of this sender.
    share: u64,
}

impl Sender {
    async fn of(key: KeyPair, share: u64, client: &mut RpcClient) -> Result<Self, LoadError> {
        let address = key.address();
        let (balance, nonce) = client.account(&address).await?;
        Ok(Self { key, address, nonce, balance, share })
    }

    /// Reads the balance and the nonce of the account.
    async fn update(&mut self, client: &mut RpcClient) -> Result<(), LoadError> {
        (self.balance, self.nonce) = client.account(&self.address).await?;
        Ok(())
    }

    /// Returns the nonce of the last transaction of this sender.
    fn last(&self) -> Nonce {
        Nonce::new(self.nonce.get() + self.share)
    }
}

impl Plan {
    /// Distributes the transactions over the senders. For a load of token transfers, also deploys the token contract
    /// and transfers tokens to each sender.
    ///
    /// The keys of the senders are constant, so that a second load does not need to fund them again.
    pub(super) async fn new(args: &LoadArgs, client: &mut RpcClient, limit: Duration) -> Result<Self, LoadError> {
        let terms = Terms::of(client).await?;
        let (total, count) = (u64::from(args.payments), u64::from(args.senders.min(args.payments)));
        let mut senders = Vec::new();
        for index in 0..count {
            let share = total / count + u64::from(index < total % count);
            senders.push(Sender::of(sender_key(index), share, client).await?);
        }
        let token = if args.tokens { Some(hand_out(terms, &senders, client, limit).await?) } else { None };
        Ok(Self { senders, terms, token })
    }

    /// Returns the number of transactions of all senders.
    pub(super) fn total(&self) -> u64 {
        self.senders.iter().map(|sender| sender.share).sum()
    }

    fn order(&self, to: Address) -> Order {
        self.token.map_or(Order::payment(to, AMOUNT), |token| token.transfer(&to, 1))
    }

    /// Sends money from the test accounts to the senders that have too little money, and waits until their balances
    /// suffice.
    pub(super) async fn fund(&mut self, client: &mut RpcClient, limit: Duration) -> Result<(), LoadError> {
        let cost = self.terms.cost(&self.order(Address::ZERO)).get();
        let poor = |sender: &Sender| sender.balance.get() < cost.saturating_mul(sender.share.into());
        let in_need: Vec<_> = self.senders.iter().filter(|sender| poor(sender)).map(|sender| sender.address).collect();
        if in_need.is_empty() {
            return Ok(());
        }
        let most = self.senders.iter().map(|sender| sender.share).max().unwrap_or(0);
        // Each sender gets the cost of ten such loads, so that the next loads need no funding.
        let grant = Qa::new(cost.saturating_mul(most.into()).saturating_mul(10));
        let mut funders = Vec::new();
        for published in &PUBLISHED_ACCOUNTS {
            funders.push(Sender::of(key_of(published), 0, client).await?);
        }
        let error = || LoadError::Funds { senders: in_need.len() };
        let each = in_need.len().div_ceil(funders.len());
        let needed = self.terms.cost(&Order::payment(Address::ZERO, grant)).get().saturating_mul(each as u128);
        if funders.iter().any(|funder| funder.balance.get() < needed) {
            return Err(error());
        }
        for (funder, addresses) in funders.iter().zip(in_need.chunks(each)) {
            for (batch, addresses) in addresses.chunks(BATCH).enumerate() {
                let first = funder.nonce.get() + 1 + (batch * BATCH) as u64;
                let payments: Vec<_> = (first..)
                    .zip(addresses)
                    .map(|(nonce, to)| self.terms.signed(&funder.key, Nonce::new(nonce), Order::payment(*to, grant)))
                    .collect();
                if client.submit(&payments).await? != Submission::Accepted {
                    return Err(error());
                }
            }
        }
        let deadline = Instant::now() + limit;
        let mut senders = self.senders.iter_mut();
        while let Some(sender) = senders.next() {
            while poor(sender) {
                sender.update(client).await?;
                if !poor(sender) {
                    break;
                }
                if Instant::now() > deadline {
                    let mut missing = 1;
                    for sender in senders.filter(|sender| poor(sender)) {
                        sender.update(client).await?;
                        missing += u64::from(poor(sender));
                    }
                    return Err(LoadError::TimeLimit { limit, missing });
                }
                sleep(PAUSE).await;
            }
        }
        Ok(())
    }

    /// Signs all transactions with one thread for each processor, and distributes the transactions over the
    /// connections.
    pub(super) fn sign(&self, args: &LoadArgs) -> Vec<Share> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let chunk = self.senders.len().div_ceil(processors).max(1);
        let signed: Vec<Vec<SignedRequest>> = thread::scope(|scope| {
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

    fn sign_chunk(&self, first: usize, senders: &[Sender]) -> Vec<Vec<SignedRequest>> {
        let of_sender = |(index, sender): (usize, &Sender)| {
            let nonces = sender.nonce.get() + 1..=sender.last().get();
            nonces.map(|nonce| request(self.transaction(index, sender, Nonce::new(nonce)))).collect()
        };
        (first..).zip(senders).map(of_sender).collect()
    }

    /// Returns the transaction of a sender with this nonce. `index` is the position of the sender. Calls with equal
    /// arguments return transactions with the same hash.
    fn transaction(&self, index: usize, sender: &Sender, nonce: Nonce) -> Transaction {
        let recipient = self.senders.get((index + 1) % self.senders.len()).unwrap_or(sender).address;
        self.terms.sign(&sender.key, nonce, self.order(recipient))
    }

    /// Waits until the nonce of each sender shows that all its transactions are in blocks. Sends dropped transactions
    /// again, and returns their number.
    pub(super) async fn wait_until_landed(
        &self,
        client: &mut RpcClient,
        deadline: Instant,
        limit: Duration,
    ) -> Result<u64, LoadError> {
        let (mut repeated, mut checked) = (0, Instant::now());
        for (position, sender) in self.senders.iter().enumerate() {
            while missing(sender, client).await? > 0 {
                if Instant::now() > deadline {
                    return Err(LoadError::TimeLimit { limit, missing: self.missing(client).await? });
                }
                if checked.elapsed() > CHECK {
                    for (index, sender) in self.senders.iter().enumerate().skip(position) {
                        repeated += self.repeat(client, index, sender, sender.last(), deadline).await?;
                    }
                    checked = Instant::now();
                }
                sleep(PAUSE).await;
            }
        }
        Ok(repeated)
    }

    /// Returns the number of transactions of all senders that are in no block.
    async fn missing(&self, client: &mut RpcClient) -> Result<u64, LoadError> {
        let mut sum = 0;
        for sender in &self.senders {
            sum += missing(sender, client).await?;
        }
        Ok(sum)
    }

    /// Sends the dropped transactions before `rejected` again, and returns their number. `rejected` is a transaction
    /// that the node has rejected. The node has accepted all earlier transactions of its sender.
    pub(super) async fn repeat_before(
        &self,
        client: &mut RpcClient,
        rejected: &SignedRequest,
        deadline: Instant,
    ) -> Result<u64, LoadError> {
        let Ok(SubmittedTransaction(Ok(request))) = serde_json::from_str(rejected.get()) else { return Ok(0) };
        let (address, nonce) = (request.transaction.sender(), request.transaction.nonce);
        match self.senders.iter().enumerate().find(|(_, sender)| sender.address == address) {
            Some((index, sender)) => {
                self.repeat(client, index, sender, nonce.previous().unwrap_or(nonce), deadline).await
            }
            None => Ok(0),
        }
    }

    /// Sends the dropped transactions of a sender again, from the next nonce of the account on. Ends at `last`, at the
    /// first transaction that the pool has not dropped, when the pool is full, or at `deadline`. Returns the number of
    /// transactions that were sent again. The node has accepted each of them before.
    async fn repeat(
        &self,
        client: &mut RpcClient,
        index: usize,
        sender: &Sender,
        last: Nonce,
        deadline: Instant,
    ) -> Result<u64, LoadError> {
        let mut repeated = 0;
        if Instant::now() > deadline {
            return Ok(repeated);
        }
        let (_, used) = client.account(&sender.address).await?;
        for nonce in used.get() + 1..=last.get() {
            let transaction = self.transaction(index, sender, Nonce::new(nonce));
            if Instant::now() > deadline || !client.is_dropped(&transaction.hash()).await? {
                break;
            }
            match client.submit(&[request(transaction)]).await {
                Ok(Submission::Accepted) => repeated += 1,
                Ok(Submission::PoolFull { .. }) => break,
                Err(error @ LoadError::Refused { .. }) => {
                    // Another member of a network can have put the transaction into a block since the request above.
                    // Then its nonce is too low.
                    let (_, used) = client.account(&sender.address).await?;
                    return if used.get() >= nonce { Ok(repeated) } else { Err(error) };
                }
                Err(error) => return Err(error),
            }
        }
        Ok(repeated)
    }

    /// Checks the token balance of each sender. Does nothing for a load of payments.
    pub(super) async fn check(&self, client: &mut RpcClient) -> Result<(), LoadError> {
        let Some(token) = self.token else { return Ok(()) };
        let payers = self.senders.iter().cycle().skip(self.senders.len().saturating_sub(1));
        for (sender, payer) in self.senders.iter().zip(payers) {
            let tokens = u128::from(GRANT) + u128::from(payer.share) - u128::from(sender.share);
            token.check(client, &sender.address, tokens).await?;
        }
        Ok(())
    }
}

/// Returns the number of transactions of a sender that are in no block.
async fn missing(sender: &Sender, client: &mut RpcClient) -> Result<u64, LoadError> {
    let (_, nonce) = client.account(&sender.address).await?;
    Ok(sender.last().get().saturating_sub(nonce.get()))
}

/// Deploys the token contract, and transfers [`GRANT`] tokens to each sender.
async fn hand_out(
    terms: Terms,
    senders: &[Sender],
    client: &mut RpcClient,
    limit: Duration,
) -> Result<Token, LoadError> {
    let deadline = Instant::now() + limit;
    let [deployer, ..] = &PUBLISHED_ACCOUNTS;
    let deployer = Sender::of(key_of(deployer), 0, client).await?;
    let (token, deployment) = Token::of(&deployer.key, deployer.nonce);
    let mut nonce = deployer.nonce.get();
    let mut send = async |orders: &mut dyn Iterator<Item = Order>| {
        let mut requests = Vec::new();
        for order in orders {
            nonce += 1;
            requests.push(terms.signed(&deployer.key, Nonce::new(nonce), order));
        }
        client.submit_all(&requests).await?;
        client.wait_for_nonce(&deployer.address, Nonce::new(nonce), deadline, limit).await
    };
    send(&mut std::iter::once(deployment)).await?;
    for senders in senders.chunks(BATCH) {
        send(&mut senders.iter().map(|sender| token.transfer(&sender.address, GRANT))).await?;
    }
    Ok(token)
}

fn key_of(account: &PublishedAccount) -> KeyPair {
    KeyPair::from_hex(account.secret_key()).expect("a test of the chain reads every key")
}

fn sender_key(index: u64) -> KeyPair {
    let bytes = sha256(&[b"silica load sender", &index.to_be_bytes()]);
    KeyPair::from(SecretKey::from_bytes(bytes).expect("a hash is out of range once in 2^128"))
}

/// Distributes the senders over the connections. A connection takes one transaction of each of its senders in turn.
/// Therefore a batch has transactions of as many senders as possible.
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
