//! Transactions between the members of a network.
//!
//! A member sends the transactions of its clients to all other members, in batches. The other members add the
//! transactions to their pools, and confirm the batch. If a transaction stays pending, the member sends the transaction
//! again, up to three times, because a member can lose messages.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, OnceLock, Weak},
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use silica_chain::{Chain, ModificationState, TransactionStatus, TxStatus};
use silica_council::TransactionBatch;
use silica_network::Agreement;
use silica_protocol::{Signature, Transaction, TxHash, sha256};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use crate::{batch_queue::BatchQueue, clock};

/// Time for which a batch collects transactions.
const COLLECT: Duration = Duration::from_millis(25);
/// Maximum time for which a member waits for the confirmations of other members.
const CONFIRM: Duration = Duration::from_millis(250);
/// Number of latest sent batches whose confirmations the relay counts.
const SENT: usize = 256;
/// Maximum number of accepted transactions that the relay does not verify again when another member repeats them.
const SEEN: usize = 1 << 18;
/// Times after which a pending transaction is sent again.
const AGAIN: [Duration; 3] = [Duration::from_secs(3), Duration::from_secs(10), Duration::from_secs(30)];
/// Largest number of transactions that can be sent again.
const OWN: usize = 100_000;

/// The members that have confirmed a batch, each with the positions of the transactions that its pool has rejected.
#[derive(Debug, Default)]
struct Confirmations {
    members: Mutex<BTreeMap<usize, BTreeSet<u16>>>,
    changed: Notify,
}

impl Confirmations {
    /// Notes the confirmation of a member for a batch with `count` transactions.
    fn add(&self, member: usize, count: usize, except: &[u16]) {
        let except = except.iter().copied().filter(|position| usize::from(*position) < count).collect();
        self.members.lock().insert(member, except);
        self.changed.notify_waiters();
    }

    /// Returns the number of members that have confirmed the transaction at a position of the batch.
    fn count(&self, position: u16) -> usize {
        self.members.lock().values().filter(|except| !except.contains(&position)).count()
    }

    /// Waits until this number of members has confirmed the transaction at a position of the batch.
    async fn reach(&self, position: u16, count: usize) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on, a notification wakes this task.
            changed.as_mut().enable();
            if self.count(position) >= count {
                return;
            }
            changed.await;
        }
    }
}

/// A sent batch.
#[derive(Debug)]
struct Sent {
    hash: [u8; 32],
    count: usize,
    confirmations: Arc<Confirmations>,
}

/// A transaction of a client of this member.
#[derive(Debug)]
struct Own {
    hash: TxHash,
    transaction: Transaction,
    sent: Instant,
    attempt: usize,
}

/// Exchanges transactions with the other members of the network.
pub(crate) struct Relay {
    chain: Chain,
    /// Weak, because the agreement owns the relay, and passes the batches of other members to it.
    agreement: OnceLock<Weak<Agreement>>,
    batch: Mutex<(TransactionBatch, Arc<Confirmations>)>,
    sent: Mutex<VecDeque<Sent>>,
    own: Mutex<VecDeque<Own>>,
    queue: Arc<BatchQueue>,
}

impl std::fmt::Debug for Relay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Relay").field("own", &self.own.lock().len()).finish_non_exhaustive()
    }
}

impl Relay {
    /// Starts the thread that verifies the transactions of other members, and the task that sends transactions again.
    /// Both end with the last reference to the relay.
    pub(crate) fn start(chain: Chain, members: usize) -> std::io::Result<Arc<Self>> {
        let relay = Arc::new(Self::new(chain, members));
        let batches = Arc::clone(&relay.queue);
        let weak = Arc::downgrade(&relay);
        thread::Builder::new().name("relay".to_owned()).spawn(move || receive(&weak, &batches))?;
        let weak = Arc::downgrade(&relay);
        tokio::spawn(async move {
            loop {
                sleep(Duration::from_secs(1)).await;
                let Some(relay) = weak.upgrade() else { return };
                relay.send_again();
            }
        });
        Ok(relay)
    }

    fn new(chain: Chain, members: usize) -> Self {
        Self {
            chain,
            agreement: OnceLock::new(),
            batch: Mutex::default(),
            sent: Mutex::default(),
            own: Mutex::default(),
            queue: Arc::new(BatchQueue::new(members)),
        }
    }

    /// Connects the relay to the agreement.
    pub(crate) fn connect(&self, agreement: &Arc<Agreement>) {
        self.agreement.get_or_init(|| Arc::downgrade(agreement));
    }

    /// Returns the agreement; `None` before the start of the agreement and after its stop.
    pub(crate) fn agreement(&self) -> Option<Arc<Agreement>> {
        self.agreement.get()?.upgrade()
    }

    /// Sends a transaction to the other members. Returns when `others` of them have confirmed it, or after 250 ms.
    pub(crate) async fn send(self: &Arc<Self>, hash: TxHash, transaction: Transaction, others: usize) {
        let (confirmations, position) = self.push(&transaction);
        {
            let mut own = self.own.lock();
            if own.len() < OWN {
                own.push_back(Own { hash, transaction, sent: Instant::now(), attempt: 0 });
            }
        }
        if let Some(agreement) = self.agreement() {
            agreement.notify_candidates();
        }
        if others > 0 {
            // After a timeout, at least the pool of this member has the transaction.
            let _: Result<(), _> = timeout(CONFIRM, confirmations.reach(position, others)).await;
        }
    }

    /// Adds a transaction to the batch. Returns the confirmations of the batch, and the position of the transaction in
    /// the batch.
    fn push(self: &Arc<Self>, transaction: &Transaction) -> (Arc<Confirmations>, u16) {
        let mut current = self.batch.lock();
        let is_first = current.0.is_empty();
        if !current.0.push(transaction) {
            self.flush(&mut current);
            current.0.push(transaction);
        }
        let confirmations = Arc::clone(&current.1);
        // A batch of 128 KiB has far fewer than 2^16 transactions.
        let position = u16::try_from(current.0.len().saturating_sub(1)).unwrap_or(u16::MAX);
        if current.0.is_full() {
            self.flush(&mut current);
        } else if is_first {
            let relay = Arc::clone(self);
            tokio::spawn(async move {
                sleep(COLLECT).await;
                relay.flush(&mut relay.batch.lock());
            });
        }
        (confirmations, position)
    }

    /// Sends the batch, and begins a new one.
    fn flush(&self, current: &mut (TransactionBatch, Arc<Confirmations>)) {
        if current.0.is_empty() {
            return;
        }
        let count = current.0.len();
        let (bytes, confirmations) = (current.0.take(), std::mem::take(&mut current.1));
        let mut sent = self.sent.lock();
        if sent.len() >= SENT {
            sent.pop_front();
        }
        sent.push_back(Sent { hash: sha256(&[&bytes]), count, confirmations });
        drop(sent);
        if let Some(agreement) = self.agreement() {
            agreement.send_batch(bytes);
        }
    }

    /// Sends again the transactions that are still pending after a time of [`AGAIN`].
    fn send_again(self: &Arc<Self>) {
        let snapshot = self.chain.snapshot();
        let mut own = std::mem::take(&mut *self.own.lock());
        own.retain_mut(|own| {
            let Some(wait) = AGAIN.get(own.attempt) else { return false };
            if own.sent.elapsed() < *wait {
                return true;
            }
            let is_pending = matches!(
                snapshot.status(&own.hash),
                Ok(Some(TransactionStatus { status, .. })) if status.state() != ModificationState::Final
            );
            if is_pending {
                self.push(&own.transaction);
                own.attempt = own.attempt.saturating_add(1);
            }
            is_pending
        });
        let mut current = self.own.lock();
        own.append(&mut current);
        *current = own;
    }

    /// Notes that a member has confirmed a batch, except the transactions at some positions.
    pub(crate) fn confirmed(&self, member: usize, batch: [u8; 32], except: &[u16]) {
        let sent = self.sent.lock();
        if let Some(Sent { count, confirmations, .. }) = sent.iter().find(|sent| sent.hash == batch) {
            confirmations.add(member, *count, except);
        }
    }

    /// Queues a batch of another member for verification. Drops the batch if too many batches of this member wait.
    pub(crate) fn received(&self, member: usize, batch: Vec<u8>) {
        if !self.queue.push(member, batch) {
            tracing::debug!(member, "dropped a batch of transactions: too many of this member wait for verification");
        }
    }

    /// Adds the transactions of a batch to the pool. Returns the positions of the transactions that neither the pool
    /// nor a block has.
    fn add(&self, transactions: Vec<Transaction>, seen: &mut Seen) -> Vec<u16> {
        let mut except = Vec::new();
        for (position, transaction) in (0..).zip(transactions) {
            let key = (transaction.hash(), transaction.signature());
            if !seen.has(&key) {
                let Ok(verified) = self.chain.admit(transaction, false) else {
                    except.push(position);
                    continue;
                };
                // A rejected transaction can be valid later, so only an accepted one is not verified again.
                if self.chain.submit(verified, clock::now()).is_ok() {
                    seen.insert(key);
                }
            }
            if !self.has(&key.0) {
                except.push(position);
            }
        }
        except
    }

    /// Returns whether the pool, or a block, has the transaction with this hash.
    fn has(&self, hash: &TxHash) -> bool {
        matches!(
            self.chain.snapshot().status(hash),
            Ok(Some(TransactionStatus { status, .. })) if !matches!(status, TxStatus::Dropped(_))
        )
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// The latest transactions of other members that the pool has accepted, with their signatures. Two signatures of one
/// transaction are possible.
#[derive(Default)]
struct Seen {
    known: BTreeSet<(TxHash, Signature)>,
    order: VecDeque<(TxHash, Signature)>,
}

impl Seen {
    /// Returns whether the pool has accepted a transaction.
    fn has(&self, key: &(TxHash, Signature)) -> bool {
        self.known.contains(key)
    }

    /// Adds an accepted transaction.
    fn insert(&mut self, key: (TxHash, Signature)) {
        if !self.known.insert(key) {
            return;
        }
        if self.order.len() >= SEEN
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.order.push_back(key);
    }
}

/// Processes the batches of other members, until the relay ends.
fn receive(relay: &Weak<Relay>, batches: &BatchQueue) {
    let mut seen = Seen::default();
    while let Some(batch) = batches.pop() {
        let Some(relay) = relay.upgrade() else { return };
        let transactions = match TransactionBatch::decode(&batch) {
            Ok(transactions) => transactions,
            Err(error) => {
                tracing::warn!(%error, "dropped a batch of transactions");
                continue;
            }
        };
        let count = transactions.len();
        let except = relay.add(transactions, &mut seen);
        if let Some(agreement) = relay.agreement() {
            agreement.notify_candidates();
            if except.len() < count {
                agreement.confirm(sha256(&[&batch]), except);
            }
        }
    }
}

/// Returns the final status of a transaction: a block has the transaction, or the pool dropped it. Returns `None` for a
/// transaction that is pending or unknown.
pub(crate) fn outcome(chain: &Chain, hash: &TxHash) -> Option<TxStatus> {
    let TransactionStatus { status, .. } = chain.snapshot().status(hash).ok()??;
    (status.state() == ModificationState::Final).then_some(status)
}

#[cfg(test)]
mod tests {
    use silica_chain::{ChainConfig, Genesis, PUBLISHED_ACCOUNTS, Producer};
    use silica_crypto::KeyPair;
    use silica_protocol::{Address, ChainId, Qa};
    use silica_state::{Store, StoreOptions};

    use super::*;
    use crate::config::Profile;

    /// Returns the relay of a new chain with this capacity of the pool. Without the producer, the store closes.
    fn relay(capacity: usize) -> (Relay, Producer) {
        let mut config = ChainConfig::isolated();
        config.policy.pool.transactions = capacity;
        let genesis = Genesis::from_accounts_json(&Profile::Isolated.accounts()).unwrap();
        let (store, key) = (Store::ephemeral(StoreOptions::default()), crate::data_dir::draw_key().unwrap());
        let (chain, producer) = silica_chain::open(store, config, &genesis, key.public_key(), clock::now()).unwrap();
        (Relay::new(chain, 4), producer)
    }

    /// Returns a payment of a published account.
    fn payment(account: usize, nonce: u64) -> Transaction {
        let key = KeyPair::from_hex(PUBLISHED_ACCOUNTS[account].secret_key()).unwrap();
        let payment = Transaction::payment(Address::new([7; 20]), Qa::new(1)).chain_id(ChainId::new(222)).nonce(nonce);
        payment.sign(&key).unwrap()
    }

    #[test]
    fn member_confirms_what_its_pool_has() {
        let (relay, _producer) = relay(10);
        let mut seen = Seen::default();
        let batch = vec![payment(0, 1), payment(1, 1)];
        assert_eq!(relay.add(batch.clone(), &mut seen), [0_u16; 0]);
        assert_eq!(relay.chain.waiting(), 2);
        // The other member sends the batch again, because it has lost the confirmation.
        assert_eq!(relay.add(batch, &mut seen), [0_u16; 0]);
        assert_eq!(relay.chain.waiting(), 2);
    }

    #[test]
    fn member_confirms_a_transaction_of_its_own_client() {
        let (relay, _producer) = relay(10);
        let verified = relay.chain.admit(payment(0, 1), false).unwrap();
        relay.chain.submit(verified, clock::now()).unwrap();
        assert_eq!(relay.add(vec![payment(0, 1)], &mut Seen::default()), [0_u16; 0]);
    }

    #[test]
    fn member_confirms_no_rejected_transaction_and_none_that_comes_again() {
        let (relay, _producer) = relay(1);
        let mut seen = Seen::default();
        assert_eq!(relay.add(vec![payment(0, 1)], &mut seen), [0_u16; 0]);
        for _ in 0..2 {
            // The pool is full.
            assert_eq!(relay.add(vec![payment(1, 1), payment(0, 1), payment(2, 1)], &mut seen), [0, 2]);
        }
        let forged = payment(2, 1).into_unsigned().with_signature(payment(3, 1).signature());
        for _ in 0..2 {
            assert_eq!(relay.add(vec![forged.clone()], &mut seen), [0]);
        }
        assert_eq!(relay.chain.waiting(), 1);
    }

    #[tokio::test]
    async fn rejected_transaction_delays_no_other() {
        let (relay, _producer) = relay(10);
        let relay = Arc::new(relay);
        let (confirmations, positions): (Vec<_>, Vec<_>) =
            (0..3).map(|account| relay.push(&payment(account, 1))).unzip();
        assert_eq!(positions, [0, 1, 2]);
        relay.flush(&mut relay.batch.lock());
        let hash = relay.sent.lock()[0].hash;
        relay.confirmed(1, hash, &[0, u16::MAX]);
        relay.confirmed(2, hash, &[0, 2]);
        relay.confirmed(2, [7; 32], &[]);
        assert_eq!(positions.iter().map(|at| confirmations[0].count(*at)).collect::<Vec<_>>(), [0, 2, 1]);
        confirmations[1].reach(1, 2).await;
        // The next batch begins at 0.
        assert_eq!(relay.push(&payment(3, 1)).1, 0);
    }

    /// Sends a payment, whose batch member 2 confirms after 100 ms, except the transactions at these positions. Returns
    /// the time until the relay no longer waits for one confirmation.
    async fn time_of_confirmation(except: &'static [u16]) -> Duration {
        let (relay, _producer) = relay(10);
        let relay = Arc::new(relay);
        let member = Arc::clone(&relay);
        tokio::spawn(async move {
            sleep(Duration::from_millis(100)).await;
            let batch = member.sent.lock()[0].hash;
            member.confirmed(2, batch, except);
        });
        let (begun, payment) = (tokio::time::Instant::now(), payment(0, 1));
        relay.send(payment.hash(), payment, 1).await;
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn confirmation_ends_the_wait_for_its_transactions() {
        let time = time_of_confirmation(&[]).await;
        assert!(time >= Duration::from_millis(100) && time < Duration::from_millis(110), "{time:?}");
        let time = time_of_confirmation(&[0]).await;
        assert!(time >= CONFIRM && time < CONFIRM + Duration::from_millis(10), "{time:?}");
    }

    #[test]
    fn oldest_transaction_of_many_is_verified_again() {
        let mut seen = Seen::default();
        let (hash, signature) = (payment(0, 1).hash(), payment(0, 1).signature());
        seen.insert((hash, signature));
        assert!(seen.has(&(hash, signature)));
        for number in 0..SEEN {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&(number as u64).to_be_bytes());
            seen.insert((TxHash::new(bytes), signature));
        }
        assert!(!seen.has(&(hash, signature)));
        assert_eq!((seen.known.len(), seen.order.len()), (SEEN, SEEN));
    }
}
