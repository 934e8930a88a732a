//! Members with chains in memory.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
        mpsc::{Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use silica_chain::{Chain, ChainConfig, Genesis, Producer, config::NoncePolicy, open};
use silica_council::{Member as FileMember, NetworkFile, PeerId, TransactionBatch};
use silica_crypto::KeyPair;
use silica_network::{Agreement, Driver, Settings, StartError, Work, start};
use silica_protocol::{Account, Address, BlockNumber, ChainId, Qa, Timestamp, Transaction, sha256};
use silica_state::{Store, StoreOptions};

use crate::{disk::Disk, relay::Relays};

const CHAIN: u16 = 333;

/// A batch on which the driver of a test panics.
pub(crate) const PANIC: &[u8] = b"panic";

/// The end of the errors about lost votes.
pub(crate) const REMEDY: &str = "; the member has no record of its votes; once the first block is older than twice the \
                                 drift, start the member with its keys in a new data directory";

/// The right of a test to run a network. The test runner limits the number of tests at a time. A test that waits for
/// [`Turn::Alone`] delays all other tests, so no test has two networks at the same time.
#[derive(Debug)]
enum Turn {
    Shared { _lock: RwLockReadGuard<'static, ()> },
    Alone { _lock: RwLockWriteGuard<'static, ()> },
}

static TURN: RwLock<()> = RwLock::new(());

/// Longest time for an event that must come.
const PATIENCE: Duration = Duration::from_mins(2);

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn wait(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "no {what} in {PATIENCE:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn key(number: usize) -> KeyPair {
    KeyPair::from_hex(&format!("{:064x}", 0x0202_0202 + number)).unwrap()
}

pub(crate) fn peer_key(number: usize) -> [u8; 32] {
    sha256(&[b"peer", &number.to_be_bytes()])
}

/// Returns the peer id of a secret key.
fn peer_id(number: usize) -> PeerId {
    let public = arc_malachitebft_app::types::Keypair::ed25519_from_bytes(&mut peer_key(number)).unwrap().public();
    public.to_peer_id().to_string().parse().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the members of a test have the clock of the system")]
pub(crate) fn now() -> Timestamp {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::new(u64::try_from(time.as_micros()).unwrap())
}

/// A network file, and the directories of its members.
pub(crate) struct Network {
    pub(crate) file: NetworkFile,
    /// The text of `file`.
    text: String,
    /// The relays between the members, if they have no direct connections.
    pub(crate) relays: Option<Relays>,
    directory: tempfile::TempDir,
    _turn: Turn,
}

/// The driver of a member: a thread that owns its producer.
struct TestDriver {
    work: Mutex<Option<Sender<Work>>>,
    chain: Chain,
    /// The steps that this member still does.
    steps: AtomicU64,
    /// The work after the last step. Its drop would stop the votes.
    left: Mutex<Vec<Work>>,
    /// Whether the next commit of a block panics.
    panics: Arc<AtomicBool>,
    /// Microseconds by which the clock of this member is ahead.
    ahead: i64,
}

impl Driver for TestDriver {
    fn run(&self, work: Work) {
        // A member that is killed does no work after a number of steps.
        let left = self.steps.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if left.is_err() {
            return self.left.lock().push(work);
        }
        if let Some(sender) = &*self.work.lock() {
            drop(sender.send(work));
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp::new(now().get().checked_add_signed(self.ahead).unwrap())
    }

    fn received(&self, _: usize, batch: Vec<u8>) {
        assert_ne!(batch, PANIC, "a batch that ends the host");
        for transaction in TransactionBatch::decode(&batch).into_iter().flatten() {
            if let Ok(verified) = self.chain.admit(transaction, false) {
                drop(self.chain.submit(verified, now()));
            }
        }
    }

    fn confirmed(&self, _: usize, _: [u8; 32], _: &[u16]) {}
}

/// A running member.
pub(crate) struct Member {
    agreement: Option<Agreement>,
    driver: Arc<TestDriver>,
    thread: Option<JoinHandle<Producer>>,
}

/// The settings of a member of which some are false.
#[derive(Clone, Copy)]
pub(crate) struct FalseSettings {
    key: usize,
    peer: usize,
    steps: u64,
    /// The reward of a DS epoch in Qa, if it is not the true one.
    reward: Option<u128>,
    /// Whether the member has a directory and an address of its own.
    twin: bool,
    /// Microseconds by which the clock of the member is ahead.
    ahead: i64,
    /// Whether the member can execute no block at its start.
    fails_at_start: bool,
    /// The first block with other Scilla rules in the network file of the member, if there is one.
    rules_from: Option<u64>,
    /// Changes the network file of the member.
    change: fn(&str) -> String,
}

impl FalseSettings {
    /// Returns the true settings of a member.
    pub(crate) fn of(index: usize) -> Self {
        Self {
            key: index,
            peer: index,
            steps: u64::MAX,
            reward: None,
            twin: false,
            ahead: 0,
            fails_at_start: false,
            rules_from: None,
            change: str::to_owned,
        }
    }

    /// Changes the clock of the member by this number of milliseconds.
    pub(crate) fn clock(self, milliseconds: i64) -> Self {
        Self { ahead: milliseconds * 1_000, ..self }
    }

    /// Lets the disk of the member fail while it reads its journal.
    pub(crate) fn fails_at_start(self) -> Self {
        Self { fails_at_start: true, ..self }
    }

    /// Lets the member do this number of steps, and then nothing.
    pub(crate) fn steps(self, steps: u64) -> Self {
        Self { steps, ..self }
    }

    /// Lets the member pay another reward, so that it computes other state roots.
    pub(crate) fn reward(self, reward: u128) -> Self {
        Self { reward: Some(reward), ..self }
    }

    /// Gives the member a directory and an address of its own, as if it had been copied to another machine.
    pub(crate) fn twin(self) -> Self {
        Self { twin: true, ..self }
    }

    /// Gives the member a network file in which the Scilla rules change at this block.
    pub(crate) fn rules_from(self, block: u64) -> Self {
        Self { rules_from: Some(block), ..self }
    }

    /// Changes the network file of the member.
    pub(crate) fn file(self, change: fn(&str) -> String) -> Self {
        Self { change, ..self }
    }

    pub(crate) fn key(self, key: usize) -> Self {
        Self { key, ..self }
    }

    pub(crate) fn peer_key(self, peer: usize) -> Self {
        Self { peer, ..self }
    }
}

/// Returns an address that no other member has. Its port is below those of outgoing connections, which are usually
/// 32768 to 60999, so a member that starts again finds its port free.
fn free_address() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let ports = 12_000..32_000_u32;
    // Test processes that run at the same time begin at different ports.
    let first = std::process::id().wrapping_mul(100);
    let mut addresses = ports.clone().map(|_| {
        let step = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % (ports.end - ports.start);
        SocketAddr::from(([127, 0, 0, 1], u16::try_from(ports.start + step).unwrap()))
    });
    addresses.find(|address| TcpListener::bind(address).is_ok()).expect("a port is free")
}

impl Network {
    /// Creates a network with this number of members on free ports of loopback.
    pub(crate) fn new(members: usize, timing: &str) -> Self {
        Self::with_turn(members, timing, Turn::Shared { _lock: TURN.read() })
    }

    /// Creates a network that runs while no other test has one, because the test measures rounds.
    pub(crate) fn alone(members: usize, timing: &str) -> Self {
        Self::with_turn(members, timing, Turn::Alone { _lock: TURN.write() })
    }

    fn with_turn(members: usize, timing: &str, turn: Turn) -> Self {
        static NAMES: AtomicU64 = AtomicU64::new(0);
        let name = format!("test-{}", NAMES.fetch_add(1, Ordering::Relaxed));
        let propose = if timing.contains("propose-timeout") { "" } else { "propose-timeout = \"2s\"\n" };
        let blocks = if timing.starts_with("interval") { "interval" } else { "on-demand" };
        let mut text = format!(
            "[network]\nname = \"{name}\"\nchain-id = {CHAIN}\ngenesis-time = {}\nshards = 1\n\
             blocks-per-ds-epoch = 5\nshard-gas-limit = 400000\nds-gas-limit = 500000\n\
             minimum-gas-price = 2000000000\ncoinbase-reward = \"176000000000000000\"\n\
             accounts = {{ file = \"accounts.json\", sha256 = \"{}\" }}\nblocks = \"{blocks}\"\n{timing}\n\
             drift = \"2s\"\n{propose}max-body = \"4MiB\"\n",
            now().get() - 60_000_000,
            "11".repeat(32),
        );
        for index in 0..members {
            let peer = peer_id(index);
            let member = FileMember::new(format!("m{index}"), &key(index), peer, &name, ChainId::new(CHAIN));
            write!(
                text,
                "\n[[member]]\nname = \"m{index}\"\nkey = \"{}\"\npossession = \"{}\"\npeer = \"{peer}\"\n\
                 \n[[address]]\nname = \"m{index}\"\nagreement = \"{}\"\n",
                member.key,
                member.possession,
                free_address()
            )
            .unwrap();
        }
        let file = NetworkFile::parse(&text).unwrap();
        Self { file, text, relays: None, directory: tempfile::tempdir().unwrap(), _turn: turn }
    }

    fn config() -> ChainConfig {
        let mut config = ChainConfig {
            chain_id: ChainId::new(CHAIN),
            blocks_per_ds_epoch: 5,
            operator_price: false,
            edits: false,
            ..ChainConfig::isolated()
        };
        config.policy.nonces = NoncePolicy::Queue;
        config
    }

    /// Returns the network file of a member.
    pub(crate) fn text_of(&self, index: usize) -> String {
        self.relays.as_ref().map_or_else(|| self.text.clone(), |relays| relays.route(index, &self.text))
    }

    pub(crate) fn directory_of(&self, index: usize) -> PathBuf {
        self.directory.path().join(format!("m{index}"))
    }

    pub(crate) fn journal(&self, index: usize) -> PathBuf {
        self.directory_of(index).join("journal")
    }

    /// Starts a network of four members with a block each 20 ms, and waits until all of them vote.
    pub(crate) fn voting() -> (Self, Vec<Member>) {
        let network = Self::new(4, "interval = \"20ms\"");
        let members: Vec<_> = (0..4).map(|index| network.start(index)).collect();
        wait_for_height(&members, 3);
        network.wait_for_votes(&members);
        (network, members)
    }

    /// Waits for more than twice the drift. If a member then loses its directory, it votes only after a newer block.
    pub(crate) fn wait_past_drift(&self) {
        thread::sleep(2 * self.file.parameters().drift + Duration::from_secs(1));
    }

    /// Waits until all members vote. Then stops the first one, and checks that the other three make equal blocks. So
    /// each of them votes.
    pub(crate) fn check_quorum(&self, mut members: Vec<Member>) {
        self.wait_for_votes(&members);
        drop(members.remove(0));
        let target = wait_for_blocks(&members, 4);
        self.check_equal(&members, target);
    }

    /// Waits until all members vote, and none has a file `first-start`. With this file, a member could wait at its next
    /// start.
    #[track_caller]
    pub(crate) fn wait_for_votes(&self, members: &[Member]) {
        wait("vote", || {
            (0..self.file.members().len()).all(|index| !self.directory_of(index).join("first-start").exists())
                && members.iter().all(|member| member.status().votes())
        });
    }

    /// Starts a member with a new chain.
    pub(crate) fn start(&self, index: usize) -> Member {
        self.start_with(index, FalseSettings::of(index)).unwrap()
    }

    pub(crate) fn start_with(&self, index: usize, settings: FalseSettings) -> Result<Member, StartError> {
        let store = Store::ephemeral(StoreOptions::default());
        self.start_over(index, store, settings)
    }

    /// Opens a chain at its genesis.
    pub(crate) fn chain(&self, store: Store) -> (Chain, Producer) {
        self.chain_with(store, Self::config())
    }

    fn chain_with(&self, store: Store, config: ChainConfig) -> (Chain, Producer) {
        let account = Account::with_balance(Qa::new(1_000 * Qa::PER_ZIL));
        let genesis = Genesis::new(BTreeMap::from([(key(100).address(), account)])).unwrap();
        open(store, config, &genesis, self.file.committees(), self.file.parameters().genesis_time).unwrap()
    }

    /// Starts a member again with its store and directory.
    pub(crate) fn start_again(&self, index: usize, store: Store) -> Member {
        self.start_over(index, store, FalseSettings::of(index)).unwrap()
    }

    pub(crate) fn error_again(&self, index: usize, store: Store) -> String {
        self.start_over(index, store, FalseSettings::of(index)).err().unwrap().to_string()
    }

    /// Starts a second process for a running member.
    pub(crate) fn try_start(&self, index: usize, _: &Member) -> Result<Member, StartError> {
        self.start_with(index, FalseSettings::of(index))
    }

    pub(crate) fn start_over(&self, index: usize, store: Store, settings: FalseSettings) -> Result<Member, StartError> {
        let change = |block| format!("\n[[rules-from]]\nblock = {block}\nscilla-rules = \"latest/3\"\n");
        let text = (settings.change)(&self.text_of(index)) + &settings.rules_from.map_or_else(String::new, change);
        let file = NetworkFile::parse(&text);
        let file = file.unwrap();
        let mut config = Self::config();
        config.coinbase_reward = settings.reward.map_or(config.coinbase_reward, Qa::new);
        config.rule_changes.clone_from(&file.parameters().rule_changes);
        let (chain, producer) = self.chain_with(store, config);
        let (sender, queue) = channel::<Work>();
        let panics = Arc::<AtomicBool>::default();
        let mut disk = Disk { producer, fails: settings.fails_at_start, panics: Arc::clone(&panics) };
        let thread = thread::spawn(move || {
            // The first work is the restoration of the journal.
            while let Ok(work) = queue.recv() {
                work(&mut disk);
                disk.fails = false;
            }
            disk.producer
        });
        let driver = Arc::new(TestDriver {
            work: Mutex::new(Some(sender)),
            chain: chain.clone(),
            steps: AtomicU64::new(settings.steps),
            left: Mutex::default(),
            panics,
            ahead: settings.ahead,
        });
        let directory = self.directory_of(index);
        let agreement = start(Settings {
            network: file,
            key: key(settings.key),
            peer_key: peer_key(settings.peer).into(),
            directory: if settings.twin { directory.with_extension("twin") } else { directory },
            listen: settings.twin.then(|| "127.0.0.1:0".to_owned()),
            chain,
            driver: Arc::clone(&driver),
        });
        let agreement = agreement.inspect_err(|_| drop(driver.work.lock().take()))?;
        Ok(Member { agreement: Some(agreement), driver, thread: Some(thread) })
    }

    /// Checks that all members have equal records up to a block, and that every block has the signatures of a quorum.
    #[track_caller]
    pub(crate) fn check_equal(&self, members: &[Member], height: u64) {
        for number in (0..=height).map(BlockNumber::new) {
            let records = members.iter().map(|member| member.driver.chain.snapshot().state().record(number).unwrap());
            let records: Vec<_> = records.map(Option::unwrap).collect();
            assert!(records.iter().all(|record| *record == records[0]), "block {number}");
            if number.get() > 0 {
                let signed = &records[0].tx_block.cosignatures.b2;
                assert_eq!(signed.iter().filter(|bit| **bit).count(), self.file.quorum(), "block {number}");
            }
        }
    }
}

/// Submits a payment at one member, which sends it to all others.
pub(crate) fn pay(members: &[Member], nonce: u64, amount: u128) {
    let payment = Transaction::payment(Address::new([7; 20]), Qa::new(amount)).chain_id(ChainId::new(CHAIN));
    let payment = payment.nonce(nonce).sign(&key(100)).unwrap();
    let member = &members[usize::try_from(nonce).unwrap() % members.len()];
    let chain = &member.driver.chain;
    chain.submit(chain.admit(payment.clone(), false).unwrap(), now()).unwrap();
    let mut batch = TransactionBatch::default();
    assert!(batch.push(&payment));
    let agreement = member.agreement.as_ref().unwrap();
    agreement.send_batch(batch.take());
    agreement.notify_candidates();
}

/// Submits a payment at each member, as if the transaction had reached all of them.
pub(crate) fn pay_everywhere(members: &[Member], nonce: u64, amount: u128) {
    let payment = Transaction::payment(Address::new([7; 20]), Qa::new(amount)).chain_id(ChainId::new(CHAIN));
    let payment = payment.nonce(nonce).sign(&key(100)).unwrap();
    for member in members {
        let chain = &member.driver.chain;
        chain.submit(chain.admit(payment.clone(), false).unwrap(), now()).unwrap();
        member.agreement.as_ref().unwrap().notify_candidates();
    }
}

/// Waits until all members have a block.
#[track_caller]
pub(crate) fn wait_for_height(members: &[Member], height: u64) {
    for member in members {
        member.wait_for_height(height);
    }
}

/// Waits until all members have this number of blocks after the head of the first member. Returns the newest of them.
#[track_caller]
pub(crate) fn wait_for_blocks(members: &[Member], count: u64) -> u64 {
    let target = members[0].height() + count;
    wait_for_height(members, target);
    target
}

impl Member {
    pub(crate) fn height(&self) -> u64 {
        self.driver.chain.snapshot().latest_tx_block().header.number.get()
    }

    #[track_caller]
    pub(crate) fn wait_for_height(&self, height: u64) {
        wait("block", || {
            assert_eq!(self.agreement.as_ref().unwrap().status().failed, None);
            self.height() >= height
        });
    }

    /// Waits until the payer has this number of payments in blocks.
    #[track_caller]
    pub(crate) fn wait_for_payments(&self, count: u64) {
        wait("payment", || self.payments() >= count);
    }

    /// Returns the number of payments of the payer in blocks.
    pub(crate) fn payments(&self) -> u64 {
        let payer = self.driver.chain.snapshot().account(&key(100).address()).unwrap();
        payer.map_or(0, |account| account.nonce.get())
    }

    /// Waits until the member no longer votes, and returns the reason.
    #[track_caller]
    pub(crate) fn wait_for_failure(&self) -> String {
        wait("failure", || self.status().failed.is_some());
        self.status().failed.unwrap()
    }

    /// Waits until the member has done all its steps.
    #[track_caller]
    pub(crate) fn wait_for_steps(&self) {
        wait("end of the steps", || self.driver.steps.load(Ordering::Relaxed) == 0);
    }

    pub(crate) fn status(&self) -> silica_network::Status {
        self.agreement.as_ref().unwrap().status()
    }

    /// Sends a batch to all other members.
    pub(crate) fn send_batch(&self, batch: Vec<u8>) {
        self.agreement.as_ref().unwrap().send_batch(batch);
    }

    /// Lets the next commit of a block panic.
    pub(crate) fn panic_at_the_next_block(&self) {
        self.driver.panics.store(true, Ordering::Relaxed);
    }

    /// Runs work on the thread of the chain.
    pub(crate) fn run(&self, work: Work) {
        self.driver.run(work);
    }

    /// Lets the thread of the chain panic, outside of the work of the agreement.
    pub(crate) fn panic_now(&self) {
        self.run(Box::new(|_| panic!("work that ends the thread of the chain")));
    }

    /// Waits until the thread of the chain has panicked.
    pub(crate) fn wait_for_panic(&mut self) {
        assert!(self.thread.take().unwrap().join().is_err());
    }

    /// Stops the member, and returns its store.
    pub(crate) fn stop(mut self) -> Store {
        self.end().into_store()
    }

    fn end(&mut self) -> Producer {
        drop(self.agreement.take());
        drop(self.driver.work.lock().take());
        self.driver.left.lock().clear();
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if self.thread.is_some() && !thread::panicking() {
            drop(self.end());
        }
    }
}
