//! The replies to the requests of the engine. Each reply is the result of work on the thread of the chain.

#[cfg(test)]
mod tests;

use std::{ops::RangeInclusive, sync::Arc, time::Duration};

use arc_malachitebft_app::{
    consensus::{LocallyProposedValue, ProposedValue},
    engine::host::{Next, SyncedValueOutcome},
    types::core::{CommitCertificate, HeightParams, Round, ThresholdParams, Validity},
};
use arc_malachitebft_signing::VerifierExt as _;
use arc_malachitebft_sync::RawDecidedValue;
use borsh::{BorshDeserialize, BorshSerialize};
use ractor::RpcReplyPort;
use silica_chain::consensus::Application;
use silica_council::{
    BlockTiming, CoSignMessage, Council, Decided, Effect, Entry, EntryId, Height, InvalidEntry, ProposalError,
    Recipient, Rule, TimerKind, Verdict, Withheld, entry_bytes, propose_timeout_of,
};
use silica_protocol::Timestamp;
use tokio::{sync::watch, time::sleep};

use crate::{
    codec::{MAX_VALUES, extended},
    context::Ctx,
    journal::{JournalRecord, RecordKind},
    part::{Complete, EntryHeader, Part, divide},
    places::Place,
    shared::{Shared, Turn, council_height, is_body, system_rng},
    signer::VoteVerifier,
    table::Known,
    timeouts::session_time_of,
    types::{EngineHeight, MemberIndex, Members, ValueId},
};

/// Time between two attempts to process a decision, for example on a full disk.
const RETRY: Duration = Duration::from_secs(1);
/// Time between two checks whether a decision is durable.
const CHECK: Duration = Duration::from_millis(200);

/// An entry of another member that has no verdict yet, and the port for the verdict.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) complete: Complete,
    /// The place of the proposer; `None` for an entry that was early, because the table limits these entries.
    pub(crate) place: Option<Place>,
    /// `None` if the engine gets the verdict in a separate message.
    pub(crate) reply: Option<RpcReplyPort<ProposedValue<Ctx>>>,
}

/// A decided entry for a member that is behind, with the certificate of its decision.
#[derive(BorshSerialize, BorshDeserialize)]
struct SyncedValue {
    certificate: CommitCertificate<Ctx>,
    bytes: Vec<u8>,
}

impl Shared {
    /// Returns the next height to the engine.
    pub(crate) fn begin(self: &Arc<Self>, reply: RpcReplyPort<(EngineHeight, HeightParams<Ctx>)>) {
        self.run(move |shared, council, application| {
            let Some(height) = council.next_height(application.head().header.number) else {
                return shared.fail("the chain has reached the highest block number");
            };
            shared.judge_new_files(&application.head(), height);
            tracing::info!(%height, "the agreement begins");
            drop(reply.send((height.into(), shared.height_params(height))));
        });
    }

    /// Proposes an entry.
    pub(crate) fn propose(self: &Arc<Self>, turn: Turn) {
        self.run(move |shared, council, application| shared.propose_now(turn, council, application));
    }

    fn propose_now(self: &Arc<Self>, turn: Turn, council: &mut Council, application: &mut dyn Application) {
        let Turn { height, round, reply } = turn;
        let Some(at) = council_height(height) else { return };
        if !self.votes() {
            return;
        }
        // A transaction can arrive while the member builds a body without it.
        let woken = self.wake.subscribe();
        match council.propose(application, at, round, self.driver.now()) {
            Ok(entry) => self.publish_own(&entry, height, round, reply),
            // The port gets the seal when the session of this round ends with a seal.
            Err(ProposalError::NoSeal) => *self.turn.lock() = Some(Turn { height, round, reply }),
            Err(ProposalError::Empty { due }) => {
                *self.turn.lock() = Some(Turn { height, round, reply });
                self.propose_later(due, woken);
            }
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(%height, round, error, "failed to make a proposal; the next round has another proposer");
            }
        }
    }

    /// Proposes in the open round when there is a transaction, or when a body without transactions is due.
    fn propose_later(self: &Arc<Self>, due: Timestamp, mut woken: watch::Receiver<()>) {
        let shared = Arc::clone(self);
        self.runtime.spawn(async move {
            let mut is_due = false;
            while !is_due && shared.turn.lock().is_some() {
                is_due = tokio::select! {
                    _ = woken.changed() => shared.chain.has_candidates(),
                    () = sleep(until(due, shared.driver.now())) => true,
                };
            }
            // The start of another round removes the turn.
            let turn = shared.turn.lock().take();
            if let Some(turn) = turn {
                shared.propose(turn);
            }
        });
    }

    /// Makes an own entry durable, returns it to the engine, and sends it to all members.
    fn publish_own(
        &self,
        entry: &Entry,
        height: EngineHeight,
        round: u32,
        reply: RpcReplyPort<LocallyProposedValue<Ctx>>,
    ) {
        let (Some(at), value) = (council_height(height), ValueId::from(entry.id)) else { return };
        if !self.keep(RecordKind::Own, at, entry.id, &entry.bytes) {
            return;
        }
        let header = header(height, round, None, value, entry.bytes.len());
        let signature = header.sign(&self.network, &self.key);
        let proposed = ProposedValue {
            height,
            round: Round::new(round),
            valid_round: Round::Nil,
            proposer: self.index,
            value,
            validity: Validity::Valid,
        };
        let parts = divide(&header, &signature, &entry.bytes);
        let known = Known { value: proposed, bytes: Arc::clone(&entry.bytes), header: Some(header) };
        self.table.lock().add(known);
        drop(reply.send(LocallyProposedValue::new(height, Round::new(round), value)));
        self.publish_all(parts);
    }

    /// Makes the bytes of an entry durable. Without them, this member does not vote for the entry. Returns whether the
    /// journal has the entry.
    fn keep(&self, kind: RecordKind, height: Height, id: EntryId, bytes: &[u8]) -> bool {
        if self.table.lock().get(height.into(), id.into()).is_some() {
            return true;
        }
        self.append(&JournalRecord { kind, height, id, content: bytes.into() })
    }

    /// Sends an entry again in a later round of its height.
    pub(crate) fn send_again(&self, height: EngineHeight, round: u32, valid_round: Option<u32>, id: ValueId) {
        let Some(known) = self.table.lock().get(height, id).cloned() else { return };
        if !self.votes() {
            return;
        }
        let header = header(height, round, valid_round, id, known.bytes.len());
        let signature = header.sign(&self.network, &self.key);
        self.publish_all(divide(&header, &signature, &known.bytes));
    }

    /// Judges a complete entry of another member.
    pub(crate) fn judge(self: &Arc<Self>, open: Open) {
        let mut table = self.table.lock();
        if table.is_early(&open.complete.header) {
            return table.add_early(open.complete);
        }
        drop(table);
        self.run(move |shared, council, application| {
            let next = council.next_height(application.head().header.number);
            if next.is_some_and(|next| next.get() < open.complete.header.height) {
                return shared.table.lock().add_early(open.complete);
            }
            // The hash of a large entry takes time, so the engine's requests do not wait for it. An early entry is
            // hashed when it is due.
            if let Err(error) = open.complete.check_id(&shared.network) {
                tracing::warn!(error = &error as &dyn std::error::Error, "dropped an entry");
                return shared.count_dropped();
            }
            shared.judge_now(open, council, application);
        });
    }

    fn judge_now(self: &Arc<Self>, open: Open, council: &mut Council, application: &mut dyn Application) {
        let Complete { header, bytes, .. } = &open.complete;
        let Some(height) = Height::new(header.height) else { return };
        let (round, now) = (header.round, self.driver.now());
        let (verdict, is_full) = {
            let table = self.table.lock();
            (table.verdict(header), table.is_full(header))
        };
        match verdict {
            // The entry was sent again. The engine has the verdict.
            Some(Validity::Valid) => return,
            None if !is_full => {}
            Some(Validity::Invalid) | None => return self.count_dropped(),
        }
        let rule = match header.valid_round {
            Some(_) => Rule::Repeated { now },
            None => Rule::FirstProposal { round, now },
        };
        let validity = match council.judge(application, height, bytes, rule) {
            Verdict::Valid(id) if ValueId::from(id).0 == header.id => {
                if !self.keep(RecordKind::Entry, height, id, bytes) {
                    return;
                }
                Validity::Valid
            }
            Verdict::Invalid { id, reason } if ValueId::from(id).0 == header.id => {
                tracing::warn!(%height, round, error = &reason as &dyn std::error::Error, "rejected the proposal");
                Validity::Invalid
            }
            Verdict::Valid(_) | Verdict::Invalid { .. } => return self.count_dropped(),
            Verdict::Later(at) => {
                let (wait, longest) = (until(at, now), propose_timeout_of(self.parameters.propose_timeout, round));
                if wait > longest {
                    tracing::info!(%height, round, ?wait, ?longest, "dropped a proposal: its time is after the end of its round");
                    return self.count_dropped();
                }
                // The table limits the entries that wait, and drops those of lower heights.
                let header = header.clone();
                self.table.lock().add_early(open.complete);
                return self.run_later(wait, move |shared, council, application| {
                    let due = shared.table.lock().take_early(&header);
                    if let Some(complete) = due {
                        shared.judge_now(Open { complete, place: None, reply: None }, council, application);
                    }
                });
            }
            // The height is decided.
            Verdict::Withheld(Withheld::Height { .. }) => return,
            Verdict::Withheld(reason) => {
                return tracing::info!(%height, round, error = &reason as &dyn std::error::Error, "no verdict on the proposal");
            }
        };
        let Open { complete: Complete { proposer, header, bytes }, place, reply } = open;
        drop(place);
        let proposer = u16::try_from(proposer).unwrap_or_default();
        let value = ProposedValue {
            height: height.into(),
            round: Round::new(round),
            valid_round: header.valid_round.into(),
            proposer: MemberIndex(proposer),
            value: ValueId(header.id),
            validity,
        };
        self.table.lock().add(Known { value: value.clone(), bytes, header: Some(header) });
        match reply {
            Some(reply) => drop(reply.send(value)),
            None => self.deliver(value),
        }
    }

    /// Judges a decided entry from a member that is ahead.
    pub(crate) fn judge_synced(
        self: &Arc<Self>,
        (height, round, proposer): (EngineHeight, Round, MemberIndex),
        value: &[u8],
        reply: RpcReplyPort<SyncedValueOutcome<Ctx>>,
    ) {
        let Ok(SyncedValue { certificate, bytes }) = borsh::from_slice(value) else {
            tracing::warn!(%height, "cannot read the decided entry of a member; the engine asks another member");
            return drop(reply.send(SyncedValueOutcome::PeerFault));
        };
        self.run(move |shared, council, application| {
            let Some(at) = council_height(height) else { return };
            let (id, validity) = match council.judge(application, at, &bytes, Rule::Accepted) {
                Verdict::Valid(id) if shared.keep(RecordKind::Entry, at, id, &bytes) => (id, Validity::Valid),
                Verdict::Invalid { id, reason } => {
                    if shared.is_decided(&certificate, height, id) {
                        // The members of a quorum have another state, other rules, or rules that this program does not
                        // support. The error names the difference.
                        let error = council.decide(application, at, id, Some(&bytes));
                        let error = error.map_or_else(|error| with_sources(&error), |_| with_sources(&reason));
                        shared.fail(&error);
                    } else if let InvalidEntry::Decode(error) = reason {
                        tracing::warn!(%height, %error, "dropped an entry; the engine asks another member");
                        return drop(reply.send(SyncedValueOutcome::PeerFault));
                    }
                    (id, Validity::Invalid)
                }
                Verdict::Valid(_) | Verdict::Later(_) | Verdict::Withheld(_) => {
                    return drop(reply.send(SyncedValueOutcome::LocalTransientError));
                }
            };
            let value = ProposedValue { height, round, valid_round: Round::Nil, proposer, value: id.into(), validity };
            shared.table.lock().add(Known { value: value.clone(), bytes: bytes.into(), header: None });
            drop(reply.send(SyncedValueOutcome::Verdict(value)));
        });
    }

    /// Returns whether a certificate proves that a quorum has decided an entry at a height. The engine verifies the
    /// certificates too, and does not show their ids to the host.
    fn is_decided(&self, certificate: &CommitCertificate<Ctx>, height: EngineHeight, id: EntryId) -> bool {
        let (verifier, members) = (VoteVerifier { network: self.network }, Members::new(&self.committee));
        let verified = verifier.verify_commit_certificate(&Ctx, certificate, &members, ThresholdParams::default());
        // The thread of the chain is outside the runtime, so it can wait for the result.
        certificate.height == height && certificate.value_id == id.into() && self.runtime.block_on(verified).is_ok()
    }

    /// Processes a decision, and acknowledges it when it is durable.
    pub(crate) fn decide(self: &Arc<Self>, certificate: CommitCertificate<Ctx>, reply: RpcReplyPort<()>) {
        self.run(move |shared, council, application| shared.decide_now(certificate, reply, council, application));
    }

    fn decide_now(
        self: &Arc<Self>,
        certificate: CommitCertificate<Ctx>,
        reply: RpcReplyPort<()>,
        council: &mut Council,
        application: &mut dyn Application,
    ) {
        let (Some(height), id) = (council_height(certificate.height), certificate.value_id) else { return };
        if self.own.lock().has_other_vote(&certificate, self.index) {
            return self.fail_for_other_votes(&format!("height {height}"));
        }
        let bytes = self.bytes_of(height, id);
        self.certificates.add(&certificate);
        if !is_body(certificate.height)
            && let Err(error) = self.certificates.flush()
        {
            tracing::error!(%height, error = &error as &dyn std::error::Error,
                "failed to store a certificate; this member tries again in 1 s");
            return self.decide_later(RETRY, certificate, reply);
        }
        match council.decide(application, height, id.into(), bytes.as_deref()) {
            Ok(Decided::Body) => {
                let content = borsh::to_vec(&certificate).unwrap_or_default();
                let record = JournalRecord { kind: RecordKind::Decided, height, id: id.into(), content };
                if !self.append(&record) {
                    return self.decide_later(RETRY, certificate, reply);
                }
                self.count_absent(&certificate);
                let body = council.decided_body().map(|entry| Arc::clone(&entry.bytes));
                self.table.lock().decided = body.map(|bytes| (height, bytes));
                drop(reply.send(()));
            }
            Ok(Decided::Block(block)) => {
                self.count_absent(&certificate);
                self.table.lock().decided = None;
                self.clear_journal();
                let header = &block.tx_block().header;
                let transactions = block.transactions().len();
                tracing::debug!(number = %header.number, transactions, round = %certificate.round, "block committed");
                drop(reply.send(()));
            }
            Err(error) if error.is_fatal() => self.fail(&with_sources(&error)),
            Err(error) => {
                tracing::error!(%height, error = &error as &dyn std::error::Error,
                    "failed to process a decision; this member tries again in 1 s");
                self.decide_later(RETRY, certificate, reply);
            }
        }
    }

    /// Returns the bytes of a decided entry; `None` if neither the table nor the journal has them. The engine decides
    /// only valid entries. The table can have dropped the entry. It can also lack the entry because this member could
    /// not execute the entry at its start, for example after a failure of the disk. The bytes then come from the
    /// journal.
    fn bytes_of(&self, height: Height, id: ValueId) -> Option<Arc<[u8]>> {
        let known = self.table.lock().get(height.into(), id).map(|known| Arc::clone(&known.bytes));
        known.or_else(|| match self.journal.lock().entry(height, id.into()) {
            Ok(bytes) => bytes,
            Err(error) => {
                tracing::error!(%height, error = &error as &dyn std::error::Error,
                    "failed to read an entry of the journal; without another copy, this member tries again in 1 s");
                None
            }
        })
    }

    fn decide_later(self: &Arc<Self>, after: Duration, certificate: CommitCertificate<Ctx>, reply: RpcReplyPort<()>) {
        self.run_later(after, move |shared, council, application| {
            shared.decide_now(certificate, reply, council, application);
        });
    }

    /// Begins the height after a decided one: at once for a seal, and for a body when the next block is due.
    pub(crate) fn go_on(self: &Arc<Self>, height: EngineHeight, reply: RpcReplyPort<Next<Ctx>>) {
        self.run(move |shared, council, application| {
            let Some(next) = council_height(height).and_then(Height::next) else { return };
            let is_durable = !is_body(height) || shared.table.lock().has_decided(height);
            if !is_durable || council.next_height(application.head().header.number) != Some(next) {
                // The member has not processed the decision yet, for example on a full disk. The next height erases the
                // votes of this one from the engine's log, so the journal must have the decided body first.
                return shared.run_later(CHECK, move |shared, _, _| shared.go_on(height, reply));
            }
            shared.judge_new_files(&application.head(), next);
            let shared = Arc::clone(shared);
            let runtime = shared.runtime.clone();
            runtime.spawn(async move {
                if is_body(next.into()) {
                    shared.next_body_is_due(next).await;
                }
                // After the wait, because the timeouts depend on the members that are absent now.
                drop(reply.send(Next::Start(next.into(), shared.height_params(next))));
            });
        });
    }

    /// Waits until the next body is due, or until other members have decided it. The clock of this member can be slow,
    /// and a member that is behind takes the block from others.
    async fn next_body_is_due(&self, next: Height) {
        let (first, last) = match self.parameters.blocks {
            BlockTiming::Interval(interval) => (interval, interval),
            BlockTiming::OnDemand { max_idle, min_gap } => (min_gap, max_idle),
        };
        let head = self.chain.snapshot().latest_tx_block().timestamp;
        let after = |time: Duration| head.get().saturating_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        let (first, last) = (Timestamp::new(after(first)), Timestamp::new(after(last)));
        let mut woken = self.wake.subscribe();
        loop {
            let now = self.driver.now();
            let has_entry = || self.chain.has_candidates() || self.table.lock().seen >= next.get();
            let is_due = now >= first && (now >= last || has_entry());
            if is_due || self.is_decided_by_others(next.get()) {
                return;
            }
            tokio::select! {
                _ = woken.changed() => {}
                () = sleep(until(if now < first { first } else { last }, now)) => {}
            }
        }
    }

    /// Returns the decided entries of a range, for a member that is behind. The list ends before the first entry that
    /// this member does not have or cannot read. Several entries have at most [`MAX_VALUES`] bytes together.
    pub(crate) fn decided_values(&self, range: RangeInclusive<EngineHeight>) -> Vec<RawDecidedValue<Ctx>> {
        let (mut values, mut size) = (Vec::new(), 0_usize);
        let snapshot = self.chain.snapshot();
        for height in range.start().0..=range.end().0 {
            let Some(at) = Height::new(height) else { continue };
            let decided = self.table.lock().decided.clone().filter(|(known, _)| *known == at);
            let bytes = match decided {
                Some((_, bytes)) => bytes.to_vec(),
                None => match entry_bytes(snapshot.state(), at, &self.parameters) {
                    Ok(Some(bytes)) => bytes,
                    Ok(None) => break,
                    Err(error) => {
                        tracing::warn!(
                            height,
                            error = &error as &dyn std::error::Error,
                            "failed to read a decided entry; the list for another member ends before it"
                        );
                        break;
                    }
                },
            };
            let Some(certificate) = self.certificates.get(height) else { break };
            size = size.saturating_add(bytes.len());
            if size > MAX_VALUES && !values.is_empty() {
                break;
            }
            let Ok(value) = borsh::to_vec(&SyncedValue { certificate: certificate.clone(), bytes }) else { break };
            values.push(RawDecidedValue::new(value.into(), extended(certificate)));
        }
        values
    }

    /// Begins a round of a seal.
    pub(crate) fn start_session(self: &Arc<Self>, height: EngineHeight, round: u32) {
        self.run(move |shared, council, application| {
            let Some(height) = council_height(height) else { return };
            let effects = council.start_round(height, round, &mut system_rng());
            shared.apply(effects, council, application);
        });
    }

    /// Handles a co-signature message of a member.
    pub(crate) fn co_sign(self: &Arc<Self>, publisher: usize, message: &[u8]) {
        let Some(place) = self.cosign.take(publisher) else {
            tracing::debug!(member = self.name_of(publisher), "dropped a co-signature message: too many wait");
            return self.count_dropped();
        };
        let message = match CoSignMessage::decode(message) {
            Ok(message) if message.from == publisher => message,
            Ok(message) => {
                let (member, from) = (self.name_of(publisher), message.from);
                tracing::warn!(member, from, "dropped a co-signature message: its publisher is not its sender");
                return self.count_dropped();
            }
            Err(error) => {
                tracing::warn!(%error, "dropped a co-signature message");
                return self.count_dropped();
            }
        };
        self.run(move |shared, council, application| {
            let received = council.receive(message, &mut system_rng());
            drop(place);
            match received {
                Ok(effects) => shared.apply(effects, council, application),
                Err(reason) => {
                    tracing::debug!(error = &reason as &dyn std::error::Error, "dropped a co-signature message");
                    if !reason.is_ordinary() {
                        shared.count_dropped();
                    }
                }
            }
        });
    }

    /// Executes the effects of a co-signature session.
    fn apply(self: &Arc<Self>, effects: Vec<Effect>, council: &mut Council, application: &mut dyn Application) {
        for effect in effects {
            match effect {
                Effect::Send(to, message) => {
                    let to = match to {
                        Recipient::All => None,
                        Recipient::One(member) => u16::try_from(member).ok().map(MemberIndex),
                    };
                    self.publish(Part::CoSign { to, message: message.encode() });
                }
                Effect::Timer(timer) => {
                    let after = match timer.kind {
                        // No member can be late if only a quorum is connected.
                        TimerKind::Stragglers if self.is_quorum_only() => Duration::ZERO,
                        TimerKind::Stragglers | TimerKind::Step => session_time_of(timer),
                    };
                    self.run_later(after, move |shared, council, application| {
                        let effects = council.timer(timer, &mut system_rng());
                        shared.apply(effects, council, application);
                    });
                }
                Effect::Sealed(_) => {
                    let mut status = self.status.lock();
                    status.sealed = status.sealed.saturating_add(1);
                    drop(status);
                    let turn = self.turn.lock().take();
                    if let Some(turn) = turn {
                        self.propose_now(turn, council, application);
                    }
                }
                Effect::Failed(reason) => {
                    let mut status = self.status.lock();
                    status.unsealed = status.unsealed.saturating_add(1);
                    tracing::info!(%reason, "the co-signature session failed; another member leads the next session");
                }
                Effect::Fault { member, reason } => {
                    tracing::warn!(
                        member = self.name_of(member),
                        error = &reason as &dyn std::error::Error,
                        "a member sent a false co-signature value"
                    );
                    self.count_dropped();
                }
            }
        }
    }

    /// Sends a verdict to the engine in a separate message, and not as the reply to a request.
    fn deliver(&self, value: ProposedValue<Ctx>) {
        use arc_malachitebft_app::{engine::consensus::Msg, types::core::ValueOrigin};
        if let Some(links) = self.links.get() {
            drop(links.consensus.cast(Msg::ReceivedProposedValue(value, ValueOrigin::Consensus)));
        }
    }
}

/// Returns the header of an entry.
fn header(height: EngineHeight, round: u32, valid_round: Option<u32>, id: ValueId, len: usize) -> EntryHeader {
    EntryHeader { height: height.0, round, valid_round, id: id.0, len: u32::try_from(len).unwrap_or(u32::MAX) }
}

/// Returns the time from `now` until `at`, or zero if `at` is not later.
fn until(at: Timestamp, now: Timestamp) -> Duration {
    Duration::from_micros(at.get().saturating_sub(now.get()))
}

/// Returns the text of an error with its causes.
fn with_sources(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |error| error.source());
    sources.fold(error.to_string(), |text, source| format!("{text}: {source}"))
}
