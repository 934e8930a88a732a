//! The state that the parts of the agreement share.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, io, mem,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use arc_malachitebft_app::{
    consensus::{LocallyProposedValue, MisbehaviorEvidence},
    engine::{consensus::ConsensusRef, network::NetworkMsg, network::NetworkRef},
    streaming::{StreamContent, StreamId, StreamMessage},
    types::{
        PeerId,
        core::{CommitCertificate, HeightParams},
    },
};
use parking_lot::Mutex;
use ractor::RpcReplyPort;
use rand_core::UnwrapErr;
use silica_chain::{Chain, consensus::Application};
use silica_council::{Council, EntryKind, Height, NetworkFile, NetworkId, NewFiles, Parameters};
use silica_crypto::KeyPair;
use silica_protocol::{PublicKey, Timestamp, TxBlock};
use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
    time::sleep,
};

use crate::{
    certificates::Certificates,
    context::Ctx,
    first_start::FirstStart,
    journal::{Journal, JournalError, JournalRecord},
    own::{OwnVotes, has_vote},
    part::{Assembler, Part},
    places::Places,
    table::Table,
    timeouts::{HeightTimeouts, is_behind},
    types::{EngineHeight, MemberIndex, Members},
};

/// Work with the chain, on the thread that owns it.
pub type Work = Box<dyn FnOnce(&mut dyn Application) + Send>;

/// The node around the agreement.
pub trait Driver: Send + Sync + 'static {
    /// Runs work on the thread that owns the chain, after all earlier work. Returns at once. If this thread has ended,
    /// the driver drops the work. Then the member no longer votes.
    fn run(&self, work: Work);

    /// Returns the time of the clock.
    fn now(&self) -> Timestamp;

    /// Processes a batch of transactions of another member. Returns at once.
    fn received(&self, member: usize, batch: Vec<u8>);

    /// Notes that a member has added the transactions of the batch with this hash to its pool, except those at some
    /// positions.
    fn confirmed(&self, member: usize, batch: [u8; 32], except: &[u16]);
}

/// The state of the agreement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Height of the engine; 0 before the first height.
    pub height: u64,
    /// Round of the height.
    pub round: u32,
    /// Number of members that are connected, without this one.
    pub peers: usize,
    /// Number of co-signature sessions that this member has led to a seal.
    pub sealed: u64,
    /// Number of co-signature sessions that this member has led, and that failed.
    pub unsealed: u64,
    /// Number of messages of other members that this member has dropped because they are invalid, or because too many
    /// messages of their sender wait. Messages that come late do not count.
    pub dropped: u64,
    /// Number of pairs of different votes or proposals that a member has signed for one round.
    pub double_votes: u64,
    /// For each member, by its name: the number of decisions whose certificate has no vote of this member.
    pub absent: BTreeMap<String, u64>,
    /// Number of flushes of the journal.
    pub flushes: u64,
    /// Time of all flushes of the journal.
    pub flush_time: Duration,
    /// Whether this member does not vote yet: its files are new, so it can have voted before at the present height.
    pub waits: bool,
    /// The reason why this member no longer votes; `None` without a failure or a stop.
    pub failed: Option<String>,
}

impl Status {
    /// Returns whether this member votes.
    pub fn votes(&self) -> bool {
        !self.waits && self.failed.is_none()
    }
}

/// A round in which this member proposes, and the port for its entry.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) height: EngineHeight,
    pub(crate) round: u32,
    pub(crate) reply: RpcReplyPort<LocallyProposedValue<Ctx>>,
}

/// The actors of the engine.
pub(crate) struct Links {
    pub(crate) network: NetworkRef<Ctx>,
    pub(crate) consensus: ConsensusRef<Ctx>,
}

/// The parts of a member's agreement.
pub(crate) struct Shared {
    /// The directory of the agreement.
    pub(crate) directory: PathBuf,
    pub(crate) network: NetworkId,
    pub(crate) parameters: Parameters,
    pub(crate) committee: Vec<PublicKey>,
    /// The names of the members.
    pub(crate) names: Vec<String>,
    /// The identities of the members' connections.
    pub(crate) peer_ids: Vec<PeerId>,
    pub(crate) index: MemberIndex,
    pub(crate) key: KeyPair,
    pub(crate) quorum: usize,
    pub(crate) chain: Chain,
    pub(crate) driver: Arc<dyn Driver>,
    /// Only work locks the council, so no thread waits for the lock.
    pub(crate) council: Mutex<Council>,
    pub(crate) journal: Mutex<Journal>,
    pub(crate) certificates: Certificates,
    pub(crate) table: Mutex<Table>,
    pub(crate) assembler: Mutex<Assembler>,
    /// Places for complete entries without a verdict.
    pub(crate) entries: Places,
    /// Places for co-signature messages.
    pub(crate) cosign: Places,
    /// The members that are connected, and can receive messages.
    pub(crate) peers: Mutex<BTreeSet<PeerId>>,
    /// The height of the last decision that each member has announced.
    pub(crate) tips: Mutex<BTreeMap<usize, u64>>,
    /// Notified when a member connects.
    pub(crate) connected: Notify,
    /// Changes when the next body can be due: a transaction, an entry or the height of another member has arrived.
    pub(crate) wake: watch::Sender<()>,
    pub(crate) status: Mutex<Status>,
    /// The first start, while the files of this member are new.
    pub(crate) first_start: Mutex<Option<FirstStart>>,
    pub(crate) own: Mutex<OwnVotes>,
    pub(crate) links: OnceLock<Links>,
    pub(crate) runtime: Handle,
    pub(crate) streams: Mutex<u64>,
    /// The round in which this member proposes, while it has no entry: the session of the seal is not complete, or the
    /// pool has no transaction.
    pub(crate) turn: Mutex<Option<Turn>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("index", &self.index)
            .field("status", &*self.status.lock())
            .finish_non_exhaustive()
    }
}

/// The random number generator of the operating system. Without it, no nonce is safe, so a failure ends the thread.
pub(crate) type SystemRng = UnwrapErr<getrandom::SysRng>;

pub(crate) const fn system_rng() -> SystemRng {
    UnwrapErr(getrandom::SysRng)
}

/// Work that has not ended. Its drop stops the votes of the member: the work has panicked, or the thread of the chain
/// has ended before the work.
struct Unfinished(Option<Arc<Shared>>);

impl Unfinished {
    fn end(mut self) {
        drop(self.0.take());
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            shared.fail("the thread of the chain has ended; the log has the reason; start this member again");
        }
    }
}

impl Shared {
    /// Runs work with the council on the thread of the chain. The caller holds no lock of the status.
    pub(crate) fn run(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Self>, &mut Council, &mut dyn Application) + Send + 'static,
    ) {
        let (shared, unfinished) = (Arc::clone(self), Unfinished(Some(Arc::clone(self))));
        self.driver.run(Box::new(move |application| {
            let mut council = shared.council.lock();
            work(&shared, &mut council, application);
            unfinished.end();
        }));
    }

    /// Runs work with the council after some time, if this member has not failed.
    pub(crate) fn run_later(
        self: &Arc<Self>,
        after: Duration,
        work: impl FnOnce(&Arc<Self>, &mut Council, &mut dyn Application) + Send + 'static,
    ) {
        let shared = Arc::clone(self);
        self.runtime.spawn(async move {
            sleep(after).await;
            if shared.status.lock().failed.is_none() {
                shared.run(work);
            }
        });
    }

    /// Sends a message to all other members.
    pub(crate) fn publish(&self, part: Part) {
        let Some(links) = self.links.get() else { return };
        let stream = {
            let mut streams = self.streams.lock();
            *streams = streams.wrapping_add(1);
            *streams
        };
        // Members identify a stream by its publisher and this number. Each message is a stream of its own.
        let id = StreamId::new(stream.to_be_bytes().to_vec().into());
        let message = StreamMessage::new(id, 0, StreamContent::Data(part));
        // The network actor has ended only if the agreement is stopping.
        drop(links.network.cast(NetworkMsg::PublishProposalPart(message)));
    }

    /// Sends messages to all other members.
    pub(crate) fn publish_all(&self, parts: Vec<Part>) {
        for part in parts {
            self.publish(part);
        }
    }

    /// Returns the number of the last committed block as an engine height: the height of its seal.
    pub(crate) fn tip(&self) -> u64 {
        self.chain.snapshot().latest_tx_block().header.number.get().saturating_mul(2)
    }

    /// Returns the parameters of a height. Votes have no extensions.
    pub(crate) fn height_params(&self, height: Height) -> HeightParams<Ctx> {
        let (peers, tips) = (self.peers.lock(), self.tips.lock());
        let is_absent = |member: usize| {
            let is_connected = self.peer_ids.get(member).is_some_and(|peer| peers.contains(peer));
            let is_behind = tips.get(&member).is_some_and(|tip| is_behind(*tip, height));
            member != usize::from(self.index.0) && (!is_connected || is_behind)
        };
        let timeouts = HeightTimeouts::new(&self.parameters, self.committee.len(), height, is_absent);
        HeightParams::new(Members::new(&self.committee), timeouts, None)
    }

    /// Returns whether the connected members, with this one, are at most a quorum.
    pub(crate) fn is_quorum_only(&self) -> bool {
        self.peers.lock().len().saturating_add(1) <= self.quorum
    }

    /// Returns whether this member votes.
    pub(crate) fn votes(&self) -> bool {
        self.status.lock().votes()
    }

    /// Determines whether this member votes at `next`, the first height after `head`, if its files are new.
    pub(crate) fn judge_new_files(&self, head: &TxBlock, next: Height) {
        // The file `first-start` that a failure has written is for the next process.
        if self.status.lock().failed.is_some() {
            return;
        }
        let mut first = self.first_start.lock();
        let Some(start) = &*first else { return self.own.lock().begin(next.into()) };
        let number = head.header.number;
        let files = NewFiles::after(number, head.timestamp, start.at, self.parameters.drift);
        match files {
            NewFiles::Begin => self.status.lock().waits = false,
            NewFiles::Wait => {
                if !mem::replace(&mut self.status.lock().waits, true) {
                    tracing::warn!(
                        since = %start.at,
                        "the files of the agreement are new, so this member can lack a record of its votes; it votes after a newer \
                         block"
                    );
                }
            }
            NewFiles::Vote => {
                let removed = match self.has_voted_for(number.get()) {
                    Some(true) => return self.fail_for_other_votes(&format!("block {number}")),
                    Some(false) => FirstStart::remove(&self.directory),
                    None => Err(io::Error::other("the certificates of the latest block cannot be read")),
                };
                match removed {
                    Ok(()) => {
                        if mem::take(&mut self.status.lock().waits) {
                            tracing::info!(%number, "this member votes");
                        }
                        *first = None;
                        self.own.lock().begin(next.into());
                    }
                    Err(error) => {
                        self.status.lock().waits = true;
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(
                            error,
                            "failed to end the wait of a member with new files; this member votes after a newer block"
                        );
                    }
                }
            }
        }
    }

    /// Returns whether a certificate of a block has a vote of this member; `None` if a certificate cannot be read.
    fn has_voted_for(&self, block: u64) -> Option<bool> {
        // The members of a new network vote for the first block in the process that has new files.
        if block <= 1 {
            return Some(false);
        }
        let seal = block.saturating_mul(2);
        let [body, seal] = [seal.saturating_sub(1), seal].map(|height| self.certificates.get(height));
        Some(has_vote(&body?, self.index) || has_vote(&seal?, self.index))
    }

    /// Stops the votes of this member, because another process has voted with its key. The next process waits for a
    /// newer block. Otherwise, each start of an old copy would vote at one more height, up to the present one.
    pub(crate) fn fail_for_other_votes(&self, at: &str) {
        let now = time_of_start(self.chain.snapshot().latest_tx_block(), self.driver.now());
        if let Err(error) = FirstStart::create(&self.directory, now) {
            let error = &error as &dyn std::error::Error;
            tracing::error!(error, "failed to write the file first-start; do not start this member in this directory");
        }
        self.fail(&format!(
            "{at}: expected no vote of this member except those of this process, got another one; a \
             second process uses the key of the member, the data directory is an old copy, or the member has lost \
             files; stop the second process, if there is one, and start this member again: the member then votes after \
             a newer block"
        ));
    }

    /// Stops the votes of this member. From here on, it signs no vote.
    pub(crate) fn fail(&self, reason: &str) {
        let is_first = {
            let mut status = self.status.lock();
            let is_first = status.failed.is_none();
            status.failed.get_or_insert_with(|| reason.to_owned());
            is_first
        };
        if is_first {
            tracing::error!(reason, "this member has stopped voting");
            // The engine stops all its actors when one of them ends.
            if let Some(links) = self.links.get() {
                links.consensus.stop(None);
            }
        }
    }

    /// Makes a record of the journal durable. Returns whether the journal has the record.
    pub(crate) fn append(&self, record: &JournalRecord) -> bool {
        self.flush(|journal| journal.append(record))
    }

    /// Removes all records of the journal. The chain has the block, so old records in the journal have no effect.
    pub(crate) fn clear_journal(&self) {
        self.flush(Journal::clear);
    }

    /// Writes to the journal, and measures the time. Returns whether the write is durable.
    fn flush(&self, write: impl FnOnce(&mut Journal) -> Result<(), JournalError>) -> bool {
        let begun = Instant::now();
        let written = write(&mut self.journal.lock());
        let mut status = self.status.lock();
        status.flushes = status.flushes.saturating_add(1);
        status.flush_time = status.flush_time.saturating_add(begun.elapsed());
        drop(status);
        if let Err(error) = &written {
            let error = error as &dyn std::error::Error;
            tracing::error!(
                error,
                "failed to write the journal; this member does not vote before a successful write; if the disk is \
                 full, free space"
            );
        }
        written.is_ok()
    }

    /// Counts the members without a vote in the certificate of a decision.
    pub(crate) fn count_absent(&self, certificate: &CommitCertificate<Ctx>) {
        let mut status = self.status.lock();
        for (name, index) in self.names.iter().zip(0_u16..) {
            let count = status.absent.entry(name.clone()).or_default();
            if !has_vote(certificate, MemberIndex(index)) {
                *count = count.saturating_add(1);
            }
        }
    }

    /// Logs and counts the pairs of different votes and of different proposals that a member has signed for one round.
    /// The engine keeps at most three pairs of each kind, member and height.
    pub(crate) fn note_evidence(&self, evidence: &MisbehaviorEvidence<Ctx>) {
        let votes = evidence.votes.iter().flat_map(|(_, pairs)| pairs);
        let votes = votes.map(|(vote, _)| ("votes", vote.member, vote.height, vote.round));
        let proposals = evidence.proposals.iter().flat_map(|(_, pairs)| pairs);
        let proposals = proposals.map(|(it, _)| ("proposals", it.member, it.height, it.round));
        for (what, member, height, round) in votes.chain(proposals) {
            let member = self.name_of(usize::from(member.0));
            tracing::warn!(member, %height, %round, "a member has signed two different {what} of one round");
            let mut status = self.status.lock();
            status.double_votes = status.double_votes.saturating_add(1);
        }
    }

    /// Returns the name of a member.
    pub(crate) fn name_of(&self, member: usize) -> &str {
        self.names.get(member).map_or("unknown", String::as_str)
    }

    /// Returns the name of the member with this identity.
    pub(crate) fn name_of_peer(&self, peer: &PeerId) -> &str {
        self.member_of(peer).map_or("unknown", |member| self.name_of(member))
    }

    /// Counts a message that is dropped because it is invalid, or because too many wait.
    pub(crate) fn count_dropped(&self) {
        let mut status = self.status.lock();
        status.dropped = status.dropped.saturating_add(1);
    }

    /// Returns whether more members than can be faulty have announced the decision of a height. So at least one correct
    /// member has decided it.
    pub(crate) fn is_decided_by_others(&self, height: u64) -> bool {
        let ahead = self.tips.lock().values().filter(|tip| **tip >= height).count();
        ahead > self.committee.len().saturating_sub(self.quorum)
    }

    /// Returns the position of the member with this identity.
    pub(crate) fn member_of(&self, peer: &PeerId) -> Option<usize> {
        self.peer_ids.iter().position(|known| known == peer)
    }
}

/// Returns the time of a first start after a head. With a slow clock and without this minimum, the member could vote on
/// top of a block that existed before its first start.
pub(crate) fn time_of_start(head: &TxBlock, now: Timestamp) -> Timestamp {
    now.max(head.timestamp)
}

/// Returns whether a height decides a body.
pub(crate) fn is_body(height: EngineHeight) -> bool {
    height.council().is_some_and(|height| height.kind() == EntryKind::Body)
}

/// Returns the identities of the members' connections.
pub(crate) fn peer_ids(network: &NetworkFile) -> Vec<PeerId> {
    network.members().iter().filter_map(|member| member.peer.to_string().parse().ok()).collect()
}

/// Converts a height of the engine to a height of the council. Returns `None` for height 0.
pub(crate) fn council_height(height: EngineHeight) -> Option<Height> {
    height.council()
}
