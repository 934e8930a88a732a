//! The start and the stop of the agreement of a member.

use std::{
    fmt,
    fs::{self, File, TryLockError},
    io,
    net::TcpListener,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, mpsc},
    thread,
    time::{Duration, Instant},
};

use arc_malachitebft_app::{
    config::ConsensusConfig,
    engine::{
        network::{NetworkIdentity, NetworkMsg},
        util::{events::TxEvent, output_port::OutputPort},
    },
    metrics::{Metrics, Registry, SharedRegistry},
    spawn::{spawn_consensus_actor, spawn_network_actor, spawn_node_actor, spawn_sync_actor, spawn_wal_actor},
    types::{Keypair, codec::Codec as _},
};
use arc_malachitebft_engine::util::output_port::OutputPortSubscriberTrait as _;
use arc_malachitebft_signing::Signer as _;
use parking_lot::Mutex;
use ractor::{Actor as _, ActorCell, ActorStatus};
use silica_chain::Chain;
use silica_council::{Council, EntryKind, Height, NetworkFile, NetworkId, NotMember, Rule, Verdict};
use silica_crypto::KeyPair;
use silica_protocol::Timestamp;
use tokio::{
    runtime::{Builder, Runtime},
    sync::{Notify, watch},
};
use zeroize::Zeroizing;

use crate::{
    ballot::{Ballot, Gate},
    certificates::Certificates,
    codec::EngineCodec,
    config::{self, AddressError},
    context::Ctx,
    first_start::{FirstStart, REMEDY},
    host::Host,
    journal::{Journal, JournalError, JournalRecord, RecordKind},
    log::{self, LogError},
    part::Assembler,
    peers::Peers,
    places::Places,
    shared::{Driver, Links, Shared, Status, peer_ids, time_of_start},
    signer::{VoteSigner, VoteVerifier},
    types::MemberIndex,
};

/// Number of threads of the runtime.
const THREADS: usize = 2;
/// Maximum time for the end of the engine's current message at a stop.
const ENGINE_STOP: Duration = Duration::from_secs(2);
/// Maximum time for the end of the other tasks at a stop.
const RUNTIME_STOP: Duration = Duration::from_secs(3);
/// Largest number of complete entries from one member that wait for a verdict.
const ENTRIES: usize = 4;
/// Largest number of co-signature messages of one member that wait. An attempt has five messages of a signer.
const COSIGN: usize = 16;
/// Name of the engine's log in the directory of the agreement.
const WAL: &str = "wal";

/// The parameters of [`start`].
pub struct Settings<D> {
    /// The network file.
    pub network: NetworkFile,
    /// The key with which the member signs votes and blocks.
    pub key: KeyPair,
    /// The secret Ed25519 key of the member's connections, 32 bytes.
    pub peer_key: Zeroizing<[u8; 32]>,
    /// Directory of the agreement, which is created if it does not exist.
    pub directory: PathBuf,
    /// Address to listen on, as host and port; `None` for the address of the member in the network file.
    pub listen: Option<String>,
    /// The chain.
    pub chain: Chain,
    /// The node.
    pub driver: Arc<D>,
}

impl<D> fmt::Debug for Settings<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("directory", &self.directory).finish_non_exhaustive()
    }
}

/// Reason why the agreement did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The key is not that of a member.
    #[error(transparent)]
    NotMember(#[from] NotMember),
    /// The identity of the connections is not that of the network file.
    #[error("peer key: expected the key of {expected}, the peer of member {member}, got the key of {got}")]
    Peer {
        /// Name of the member.
        member: String,
        /// Peer id of the network file.
        expected: String,
        /// Peer id of the key.
        got: String,
    },
    /// The network file has no address of this member, and the settings have no address to listen on.
    #[error("address: expected an address of member {member} in the network file, got none")]
    NoAddress {
        /// Name of the member.
        member: String,
    },
    /// An address is invalid.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The member could not listen at its address.
    #[error("agreement address: expected an address at which this member can listen, got {address}")]
    Listen {
        /// The address.
        address: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another process uses the directory.
    #[error("agreement directory {} is in use by another process", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The directory could not be used.
    #[error("cannot use the agreement directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The journal could not be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The log of the engine could not be used.
    #[error(transparent)]
    Log(#[from] LogError),
    /// One of the two files with the votes of this member is missing: the journal, or the log of the engine.
    #[error(
        "agreement directory {}: expected the file {file} with the votes of this member, got none; {REMEDY}",
        path.display()
    )]
    NoVotes {
        /// The directory.
        path: PathBuf,
        /// Name of the missing file.
        file: &'static str,
    },
    /// The journal has a record of a block after the next block of the chain. The chain is an old copy.
    #[error("agreement journal: expected records of blocks up to {expected}, got a record of block {got}; {REMEDY}")]
    Ahead {
        /// Number of the block after the head.
        expected: u64,
        /// Number of the block of the record.
        got: u64,
    },
    /// A decided body in the journal is not the next block of the chain.
    #[error("agreement journal: the decided body of block {block} is not the next block of the chain: {reason}")]
    Decided {
        /// Number of the block.
        block: u64,
        /// The reason.
        reason: String,
    },
    /// The certificates could not be read.
    #[error(
        "cannot read the agreement certificates {}; if the database is damaged, delete it, and start the member again; \
         the votes of the member are in other files",
        path.display()
    )]
    Certificates {
        /// The directory of the database.
        path: PathBuf,
        /// The error of the database.
        source: sled::Error,
    },
    /// The engine did not start.
    #[error("the consensus engine did not start: {reason}")]
    Engine {
        /// The reason.
        reason: String,
    },
    /// The thread of the chain ended before the agreement had started.
    #[error("the agreement did not start, because the thread of the chain ended")]
    Stopping,
}

/// The agreement of a member, which runs until its stop or drop.
#[derive(Debug)]
pub struct Agreement {
    shared: Arc<Shared>,
    runtime: Mutex<Option<Runtime>>,
    /// Other processes cannot use the directory while the file is open.
    _lock: File,
}

impl Agreement {
    /// Returns the state of the agreement.
    pub fn status(&self) -> Status {
        self.shared.status.lock().clone()
    }

    /// Notes that the pool has a new transaction, for blocks on demand.
    pub fn notify_candidates(&self) {
        self.shared.wake.send_replace(());
    }

    /// Sends a batch of transactions to all other members.
    pub fn send_batch(&self, batch: Vec<u8>) {
        self.shared.publish(crate::part::Part::Transactions(batch));
    }

    /// Confirms that this member has added the transactions of the batch with this hash to its pool, except those at
    /// some positions.
    pub fn confirm(&self, batch: [u8; 32], except: Vec<u16>) {
        self.shared.publish(crate::part::Part::Confirmed { batch, except });
    }

    /// Ends the agreement. The member no longer votes. Blocks the thread for at most 5 s.
    pub fn stop(&self) {
        let runtime = self.runtime.lock().take();
        if let Some(runtime) = runtime {
            // After this line, the end of an actor is not a failure.
            self.shared.status.lock().failed.get_or_insert_with(|| "the node is stopping".to_owned());
            let shared = Arc::clone(&self.shared);
            // The caller can be a task of another runtime. Such a task must not end a runtime on its thread.
            let ended = thread::spawn(move || {
                if let Some(links) = shared.links.get() {
                    end(&links.consensus.get_cell());
                }
                runtime.shutdown_timeout(RUNTIME_STOP);
            });
            let ended = ended.join();
            if ended.is_err() {
                tracing::error!("the runtime of the agreement panicked at its end; the stop continues");
            }
        }
    }
}

/// Stops the consensus actor after its current message. If the runtime ended during a message, the request to write a
/// vote to the engine's log would get no reply, and the engine would log an error.
fn end(consensus: &ActorCell) {
    // The engine logs the end of a linked actor as a failure.
    if let Some(node) = consensus.try_get_supervisor() {
        consensus.unlink(node);
    }
    consensus.stop(None);
    // The runtime cannot measure this time: a timer of the runtime does not fire while its threads are blocked. After a
    // failure of its log, the actor never ends.
    let begun = Instant::now();
    while consensus.get_status() != ActorStatus::Stopped {
        if begun.elapsed() > ENGINE_STOP {
            tracing::debug!("the consensus engine did not end in time; the stop continues");
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

impl Drop for Agreement {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Starts the agreement of a member. Returns when the engine runs. The engine begins when a quorum is connected.
///
/// # Errors
///
/// [`StartError`] names the reason.
pub fn start<D: Driver>(settings: Settings<D>) -> Result<Agreement, StartError> {
    let Settings { network, key, peer_key, directory, listen, chain, driver } = settings;
    let Checked { council, listen, mut consensus, peer_key } = check(&network, &key, &peer_key, listen)?;
    let index = council.index();
    let in_directory = |source| StartError::Directory { path: directory.clone(), source };
    fs::create_dir_all(&directory).map_err(in_directory)?;
    // Two processes can listen at one address without an error, so the lock comes first.
    let lock = File::create(directory.join("lock")).map_err(in_directory)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(StartError::Locked { path: directory }),
        Err(TryLockError::Error(source)) => return Err(in_directory(source)),
    }
    // If the engine cannot listen, it only logs this, and continues without connections.
    let bound = TcpListener::bind(&listen).and_then(|listener| listener.local_addr());
    let bound = bound.map_err(|source| StartError::Listen { address: listen, source })?;
    // The engine resolves names only to connect, not to listen.
    consensus.p2p.listen_addr = config::multiaddr(&bound.to_string())?;
    let head = Arc::clone(chain.snapshot().latest_tx_block());
    let (is_first, now) = (head.header.number.get() == 0, time_of_start(&head, driver.now()));
    let Files { journal, records, first_start } = files(&directory, network.id(), is_first, now)?;
    let path = directory.join("certificates");
    let certificates = Certificates::open(&path).map_err(|source| StartError::Certificates { path, source })?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("agreement")
        .enable_all()
        .build()
        .map_err(|error| StartError::Engine { reason: error.to_string() })?;
    let committee = network.committee();
    let limits = network.parameters().body_limits();
    let wal = directory.join(WAL);
    let shared = Arc::new(Shared {
        directory,
        network: network.id(),
        parameters: network.parameters().clone(),
        peer_ids: peer_ids(&network),
        index: MemberIndex(u16::try_from(index).unwrap_or(u16::MAX)),
        key,
        quorum: network.quorum(),
        chain,
        driver,
        council: Mutex::new(council),
        journal: Mutex::new(journal),
        certificates,
        table: Mutex::default(),
        assembler: Mutex::new(Assembler::new(network.id(), committee.clone(), limits.bytes)),
        entries: Places::new(committee.len(), ENTRIES),
        cosign: Places::new(committee.len(), COSIGN),
        committee,
        names: network.members().iter().map(|member| member.name.clone()).collect(),
        peers: Mutex::default(),
        tips: Mutex::default(),
        connected: Notify::new(),
        wake: watch::Sender::new(()),
        status: Mutex::default(),
        first_start: Mutex::new(first_start),
        own: Mutex::default(),
        links: OnceLock::new(),
        runtime: runtime.handle().clone(),
        streams: Mutex::new(first_stream()),
        turn: Mutex::default(),
    });
    // At the first block, a member with new files votes at once. Later it does not vote before the removal of
    // `first-start`.
    let is_new = (is_first || shared.first_start.lock().is_some()) && records.is_empty();
    if let Some(next) = restore(&shared, records)? {
        log::check(&wal, next, is_new)?;
        // Otherwise, before the engine begins, the status would state that this member votes.
        shared.judge_new_files(&head, next);
        if shared.status.lock().waits {
            log::clear(&wal)?;
        }
    }
    let name = name_of(&network, index);
    runtime
        .block_on(engine(&shared, name, peer_key, consensus, &wal))
        .map_err(|reason| StartError::Engine { reason })?;
    Ok(Agreement { shared, runtime: Mutex::new(Some(runtime)), _lock: lock })
}

/// The files with the votes of a member.
struct Files {
    journal: Journal,
    records: Vec<JournalRecord>,
    first_start: Option<FirstStart>,
}

/// Opens the files of a directory, or creates them. `is_first`: whether the chain has no block. `now`: the time of a
/// first start.
fn files(directory: &Path, network: NetworkId, is_first: bool, now: Timestamp) -> Result<Files, StartError> {
    let in_directory = |source| StartError::Directory { path: directory.to_owned(), source };
    let no_votes = |file| StartError::NoVotes { path: directory.to_owned(), file };
    let wal = directory.join(WAL);
    let first_start = || FirstStart::open(directory).map_err(in_directory);
    let begin = || FirstStart::create(directory, now).map_err(in_directory);
    match Journal::open(directory, network)? {
        Some(_) if !wal.exists() => Err(no_votes(WAL)),
        Some((journal, records)) => {
            let first_start = match first_start()? {
                // The engine has begun no height with these files. They can be an old copy of new files.
                Some(_) if !log::has_header(&wal).map_err(in_directory)? => Some(begin()?),
                first_start => first_start,
            };
            Ok(Files { journal, records, first_start })
        }
        // Without any file, the directory is new. With the file `first-start`, the creation of the files was
        // interrupted.
        None if !is_first && wal.exists() && first_start()?.is_none() => Err(no_votes("journal")),
        None => {
            // The member can have voted before the loss of another directory.
            let first_start = begin()?;
            // A first start creates the log before the journal. So a journal without a log means that the log is lost.
            File::options().append(true).create(true).open(&wal).map_err(in_directory)?;
            Ok(Files {
                journal: Journal::create(directory, network)?,
                records: Vec::new(),
                first_start: Some(first_start),
            })
        }
    }
}

/// The settings of a member after the check.
struct Checked {
    council: Council,
    listen: String,
    consensus: ConsensusConfig,
    peer_key: Keypair,
}

/// Checks the keys and the addresses of a member against the network file.
fn check(
    network: &NetworkFile,
    key: &KeyPair,
    peer_key: &[u8; 32],
    listen: Option<String>,
) -> Result<Checked, StartError> {
    let council = Council::new(network, key.clone())?;
    let index = council.index();
    let listen = match (listen, network.addresses().iter().find(|address| address.member == index)) {
        (Some(listen), _) => listen,
        (None, Some(address)) => address.agreement.clone(),
        (None, None) => return Err(StartError::NoAddress { member: name_of(network, index) }),
    };
    let consensus = config::consensus(network, index, &listen)?;
    let peer_key = connection_key(network, index, *peer_key)?;
    Ok(Checked { council, listen, consensus, peer_key })
}

/// Checks that the keys are those of a member of the network file, and that the file has its address.
///
/// # Errors
///
/// [`StartError`] names the difference.
pub fn check_member(network: &NetworkFile, key: &KeyPair, peer_key: &[u8; 32]) -> Result<(), StartError> {
    check(network, key, peer_key, None).map(drop)
}

fn name_of(network: &NetworkFile, index: usize) -> String {
    network.members().get(index).map(|member| member.name.clone()).unwrap_or_default()
}

/// Returns a random number for the first stream, so that the streams after a restart have other numbers than before.
fn first_stream() -> u64 {
    getrandom::u64().unwrap_or_default()
}

/// Returns the key of the member's connections, if it is that of the network file.
fn connection_key(network: &NetworkFile, index: usize, mut secret: [u8; 32]) -> Result<Keypair, StartError> {
    let keypair =
        Keypair::ed25519_from_bytes(&mut secret).map_err(|error| StartError::Engine { reason: error.to_string() })?;
    let (got, member) = (keypair.public().to_peer_id().to_string(), network.members().get(index));
    match member {
        Some(member) if member.peer.to_string() == got => Ok(keypair),
        member => Err(StartError::Peer {
            member: name_of(network, index),
            expected: member.map(|member| member.peer.to_string()).unwrap_or_default(),
            got,
        }),
    }
}

/// Restores the entries for which this member can have voted, and a decided body, from the journal. Returns the next
/// height; `None` at the end of the range.
fn restore(shared: &Arc<Shared>, records: Vec<JournalRecord>) -> Result<Option<Height>, StartError> {
    let (reply, answer) = mpsc::channel();
    shared.run(move |shared, council, application| {
        let restored = restore_now(shared, council, application, records);
        let _ = reply.send(restored.map(|()| council.next_height(application.head().header.number)));
    });
    answer.recv().map_err(|_| StartError::Stopping)?
}

fn restore_now(
    shared: &Shared,
    council: &mut Council,
    application: &mut dyn silica_chain::consensus::Application,
    records: Vec<JournalRecord>,
) -> Result<(), StartError> {
    let next = application.head().header.number.get().saturating_add(1);
    // Records up to the head belong to committed blocks.
    let records: Vec<_> = records.into_iter().filter(|record| record.height.block().get() >= next).collect();
    for JournalRecord { kind, height, id, content } in &records {
        let (block, is_body) = (height.block().get(), height.kind() == EntryKind::Body);
        if block > next {
            return Err(StartError::Ahead { expected: next, got: block });
        }
        match kind {
            RecordKind::Own => {
                let verdict = council.restore_own(application, *height, content);
                restore_entry(shared, *height, content, verdict);
            }
            RecordKind::Entry => {
                let verdict = council.judge(application, *height, content, Rule::Accepted);
                restore_entry(shared, *height, content, verdict);
            }
            RecordKind::Decided if is_body => {
                let of = |record: &&JournalRecord| {
                    record.kind != RecordKind::Decided && record.height == *height && record.id == *id
                };
                let bytes = records.iter().find(of).map(|record| &*record.content);
                let decided = council.decide(application, *height, *id, bytes);
                decided.map_err(|error| StartError::Decided { block, reason: error.to_string() })?;
                let body = council.decided_body().map(|entry| Arc::clone(&entry.bytes));
                shared.table.lock().decided = body.map(|bytes| (*height, bytes));
                if let Ok(certificate) = borsh::from_slice(content) {
                    shared.certificates.add(&certificate);
                }
            }
            RecordKind::Decided => {}
        }
    }
    Ok(())
}

/// Restores an entry of the journal. The engine gets the verdict at the start of the height.
fn restore_entry(shared: &Shared, height: Height, bytes: &[u8], verdict: Verdict) {
    use arc_malachitebft_app::{
        consensus::ProposedValue,
        types::core::{Round, Validity},
    };
    match verdict {
        Verdict::Valid(id) => {
            let value = ProposedValue {
                height: height.into(),
                round: Round::ZERO,
                valid_round: Round::Nil,
                proposer: shared.index,
                value: id.into(),
                validity: Validity::Valid,
            };
            shared.table.lock().add(crate::table::Known { value, bytes: bytes.into(), header: None });
        }
        Verdict::Invalid { reason, .. } => {
            tracing::warn!(%height, error = &reason as &dyn std::error::Error, "dropped an entry of the journal");
        }
        Verdict::Withheld(reason) => {
            let error: &dyn std::error::Error = &reason;
            tracing::warn!(%height, error, "no verdict on an entry of the journal; a decision can still use its bytes");
        }
        // The verdict on an entry of the journal does not depend on the clock.
        Verdict::Later(_) => {}
    }
}

/// Starts the actors of the engine.
async fn engine(
    shared: &Arc<Shared>,
    name: String,
    peer_key: Keypair,
    consensus: ConsensusConfig,
    wal: &Path,
) -> Result<(), String> {
    let failed = |error: &dyn fmt::Display| error.to_string();
    let (signer, verifier) =
        (VoteSigner { network: shared.network, key: shared.key.clone() }, VoteVerifier { network: shared.network });
    // Each agreement has a registry of its own: a process can have several of them in tests.
    let registry = SharedRegistry::new(Registry::default(), None);
    let metrics = Metrics::register(&registry);
    let sync_config = config::value_sync(shared.parameters.body_limits().bytes);
    let public = shared.key.public_key().as_bytes().to_vec();
    let proof = signer.sign_validator_proof(public, peer_key.public().to_peer_id().to_bytes()).await;
    let proof = EngineCodec.encode(&proof.map_err(|error| failed(&error))?).map_err(|error| failed(&error))?;
    let identity = NetworkIdentity::new_validator(name, peer_key, shared.index.to_string(), proof);
    let (node, _) = spawn_node_actor(metrics.clone()).await.map_err(|error| failed(&error))?;
    let network = spawn_network_actor::<Ctx, _>(&consensus, &sync_config, identity, &registry, EngineCodec);
    let network = network.await.map_err(|error| failed(&error))?;
    let log = spawn_wal_actor(&Ctx, EngineCodec, wal, &registry, node.clone()).await;
    let log = log.map_err(|error| failed(&error))?;
    let (host, end) =
        ractor::Actor::spawn(None, Host { shared: Arc::clone(shared) }, ()).await.map_err(|error| failed(&error))?;
    // The engine stops all its actors after a failure of one of them, also after a panic.
    tokio::spawn({
        let shared = Arc::clone(shared);
        async move {
            drop(end.await);
            shared.fail("the consensus engine has stopped; the log has the reason");
        }
    });
    let peers = Peers {
        shared: Arc::clone(shared),
        network: network.clone(),
        addresses: consensus.p2p.persistent_peers.clone(),
    };
    let (peers, _) = Peers::spawn(None, peers, ()).await.map_err(|error| failed(&error))?;
    drop(network.cast(NetworkMsg::Subscribe(Box::new(peers.clone()))));
    let (gate, _) = Gate::spawn(None, Gate { network: network.clone() }, ()).await.map_err(|error| failed(&error))?;
    let sync_port = Arc::new(OutputPort::with_capacity(128));
    let engine = spawn_consensus_actor(
        Ctx,
        shared.index,
        consensus,
        Box::new(verifier),
        Some(Box::new(Ballot { shared: Arc::clone(shared), signer })),
        gate.clone(),
        host.clone(),
        log.clone(),
        Arc::clone(&sync_port),
        metrics,
        TxEvent::new(),
        node.clone(),
    );
    let engine = engine.await.map_err(|error| failed(&error))?;
    let sync =
        spawn_sync_actor(Ctx, network.clone(), host.clone(), engine.clone(), EngineCodec, &sync_config, &registry);
    let sync = sync.await.map_err(|error| failed(&error))?;
    if let Some(sync) = &sync {
        sync.subscribe_to_port(&sync_port);
        sync.link(node.get_cell());
    }
    let cells =
        [network.get_cell(), log.get_cell(), host.get_cell(), peers.get_cell(), gate.get_cell(), engine.get_cell()];
    for cell in cells {
        cell.link(node.get_cell());
    }
    // The engine begins after the reply of the host, and the host replies after this line.
    drop(shared.links.set(Links { network, consensus: engine }));
    shared.connected.notify_waiters();
    Ok(())
}

#[cfg(test)]
mod tests;
