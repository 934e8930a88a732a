//! A member: its chain, its journal, the log of its engine, its council and its engine.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    convert::Infallible,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use arc_malachitebft_app::consensus::{
    ConsensusMsg, Effect, Input, Params, ProposedValue, Resumable as _, Resume, SignedConsensusMsg, State,
    ThresholdParams, process,
};
use arc_malachitebft_app::metrics::Metrics;
use arc_malachitebft_app::types::core::{
    CommitCertificate, Round, SignedMessage, Validity, ValueOrigin, ValuePayload, VoteExtensionPolicy,
};
use arc_malachitebft_signing::{Signer as _, Verifier as _, VerifierExt as _};
use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
use silica_chain::{
    Chain, Producer,
    consensus::Application as _,
    state::{Store, StoreOptions},
};
use silica_council::{
    Council, DecideError, Decided, Entry, EntryId, EntryKind, Height, NetworkFile, NewFiles, Rule, Verdict,
};
use silica_protocol::Timestamp;

use crate::{
    context::Ctx,
    own::OwnVotes,
    shared::time_of_start,
    signer::VoteSigner,
    simulation::{network, verifier::SharedVerifier},
    timeouts::HeightTimeouts,
    types::{EngineSignature, MemberIndex, Members},
};

/// The signature of a vote that a member does not send.
const NONE: EngineSignature = EngineSignature([0; 64]);

/// An entry that a member has found valid, before it votes for the entry.
#[derive(Clone, Debug)]
pub(super) struct Journalled {
    pub(super) height: Height,
    pub(super) entry: Entry,
    is_own: bool,
    is_decided: bool,
}

/// The memory of a running member.
pub(super) struct Running {
    pub(super) chain: Chain,
    pub(super) producer: Producer,
    pub(super) council: Council,
    pub(super) engine: State<Ctx>,
    metrics: Metrics,
    /// The round of a seal in which the engine waits for the value of this member.
    pub(super) waits: Option<u32>,
    pub(super) timeouts: HeightTimeouts,
}

pub(super) enum Status {
    Running(Box<Running>),
    /// Starts again at this time, in milliseconds.
    Down(Box<Store>, u64),
    Moving,
}

pub(super) struct Member {
    pub(super) index: usize,
    pub(super) signer: VoteSigner,
    verifier: SharedVerifier,
    network: Arc<NetworkFile>,
    pub(super) status: Status,
    pub(super) journal: Vec<Journalled>,
    /// The log of the engine.
    log: Vec<Input<Ctx>>,
    log_height: Option<Height>,
    /// The number of records of the journal and of entries of the log that a power failure cannot erase.
    flushed: [usize; 2],
    /// The clock at the next start, if the files of the agreement are new then.
    new_files: Option<Timestamp>,
    /// The first start with new files, until the member votes again.
    first_start: Option<Timestamp>,
    /// Whether the member votes.
    pub(super) votes: bool,
    /// The precommits of the running process.
    own: OwnVotes,
    pub(super) certificates: BTreeMap<Height, CommitCertificate<Ctx>>,
    pub(super) rng: ChaCha8Rng,
    pub(super) starts: u64,
    /// A restart sets this flag if a faulty member starts without its log. The world clears the flag.
    pub(super) has_forgotten: bool,
    pub(super) skew: i64,
    /// The highest height of which an entry has arrived.
    pub(super) seen: Option<Height>,
    /// The members to which this member has no connection, in its own view.
    pub(super) absent: Vec<bool>,
}

impl Member {
    pub(super) fn new(network: &Arc<NetworkFile>, index: usize, seed: u64, verifier: SharedVerifier) -> Self {
        let store = Store::ephemeral(StoreOptions::default());
        Self {
            index,
            signer: VoteSigner { network: network.id(), key: network::key(index) },
            verifier,
            network: Arc::clone(network),
            status: Status::Down(Box::new(store), 0),
            journal: Vec::new(),
            log: Vec::new(),
            log_height: None,
            flushed: [0; 2],
            // At the first start, the clock of the member is right. It can become wrong later.
            new_files: Some(start_of(network)),
            first_start: None,
            votes: true,
            own: OwnVotes::default(),
            certificates: BTreeMap::new(),
            rng: ChaCha8Rng::seed_from_u64(seed << 32 | u64::try_from(index).unwrap() << 24),
            starts: 0,
            has_forgotten: false,
            skew: 0,
            seen: None,
            absent: vec![false; network.members().len()],
        }
    }

    /// Returns the position of the member, for the engine.
    pub(super) fn index(&self) -> MemberIndex {
        member_index(self.index)
    }

    pub(super) fn running(&mut self) -> Option<&mut Running> {
        if let Status::Running(running) = &mut self.status { Some(running) } else { None }
    }

    /// Stops the member. Its memory is lost. The journal and the log keep these numbers of records that are not
    /// flushed.
    pub(super) fn crash(&mut self, until: u64, kept: [usize; 2]) {
        if self.running().is_none() {
            return;
        }
        let [journal, log] = self.flushed;
        self.journal.truncate(journal + kept[0]);
        self.log.truncate(log + kept[1]);
        self.flush();
        if let Status::Running(running) = std::mem::replace(&mut self.status, Status::Moving) {
            self.status = Status::Down(Box::new(running.producer.into_store()), until);
        }
    }

    /// Returns the numbers of records of the journal and of entries of the log that are not flushed.
    pub(super) fn unflushed(&self) -> [usize; 2] {
        [self.journal.len() - self.flushed[0], self.log.len() - self.flushed[1]]
    }

    /// Deletes the files of the agreement of a member that is down, and its chain if the loss is `whole`. The clock at
    /// the next start is `now`.
    pub(super) fn lose_files(&mut self, now: Timestamp, whole: bool) {
        (self.journal, self.log, self.log_height) = (Vec::new(), Vec::new(), None);
        self.certificates.clear();
        (self.flushed, self.new_files) = ([0; 2], Some(now));
        if let (true, Status::Down(store, _)) = (whole, &mut self.status) {
            **store = Store::ephemeral(StoreOptions::default());
        }
    }

    /// Returns whether the files of the member are new, so that it can have lost votes.
    pub(super) fn has_new_files(&self) -> bool {
        self.new_files.is_some() || self.first_start.is_some()
    }

    /// Decides whether the member votes from a height on, if its files are new.
    fn judge_new_files(&mut self, height: Height) {
        let Some(since) = self.first_start else { return self.own.begin(height.into()) };
        let drift = self.network.parameters().drift;
        let Some(running) = self.running() else { return };
        let head = running.producer.head();
        match NewFiles::after(head.header.number, head.timestamp, since, drift) {
            NewFiles::Begin => self.votes = true,
            NewFiles::Wait => self.votes = false,
            NewFiles::Vote => {
                (self.votes, self.first_start) = (true, None);
                self.own.begin(height.into());
            }
        }
    }

    /// Starts the member from its chain, its journal and its log. Returns the effects of the engine. `lies`: whether the
    /// member is faulty.
    pub(super) fn restart(&mut self, lies: bool) -> Vec<Effect<Ctx>> {
        let Status::Down(store, _) = std::mem::replace(&mut self.status, Status::Moving) else {
            panic!("member {} is running", self.index)
        };
        let (chain, mut producer) = network::open(*store, &self.network);
        if let Some(now) = self.new_files.take() {
            self.first_start = Some(time_of_start(&producer.head(), now));
        }
        let mut council = Council::new(&self.network, self.signer.key.clone()).unwrap();
        let first = council.next_height(producer.head().header.number).unwrap();
        self.journal.retain(|record| record.height >= first);
        self.flushed[0] = self.journal.len();
        if let Some(record) = self.journal.iter().find(|record| record.is_decided) {
            council.decide(&mut producer, record.height, record.entry.id, Some(&record.entry.bytes)).unwrap();
        }
        let due = council.next_height(producer.head().header.number).unwrap();
        let mut inputs = Vec::new();
        for record in self.journal.iter().filter(|record| record.height == due) {
            let verdict = if record.is_own {
                council.restore_own(&mut producer, due, &record.entry.bytes)
            } else {
                council.judge(&mut producer, due, &record.entry.bytes, Rule::Accepted)
            };
            assert!(matches!(verdict, Verdict::Valid(id) if id == record.entry.id), "{verdict:?}");
            // The journal has neither the round nor the proposer.
            inputs.push(proposed(due, Round::ZERO, self.index, record.entry.id, Validity::Valid));
        }
        let params = Params {
            address: self.index(),
            threshold_params: ThresholdParams::default(),
            value_payload: ValuePayload::ProposalAndParts,
            enabled: true,
        };
        let members = Members::new(&self.network.committee());
        let engine = State::new(Ctx, due.into(), members, params, 100, 1_000);
        self.starts += 1;
        self.own = OwnVotes::default();
        self.status = Status::Running(Box::new(Running {
            chain,
            producer,
            council,
            engine,
            metrics: Metrics::new(),
            waits: None,
            timeouts: HeightTimeouts::default(),
        }));
        let log = if self.log_height == Some(due) { std::mem::take(&mut self.log) } else { Vec::new() };
        let mut effects = self.start(due);
        // While the member waits, another member can send it a vote from before the loss of its files.
        let log = if self.votes { log } else { Vec::new() };
        self.running().unwrap().engine.index_wal_entries(&log);
        for input in &log {
            // The log has these inputs already.
            let replayed = match self.try_process(input.clone()) {
                Ok(replayed) => replayed,
                // A certificate of another member can have a false vote of this member. The engine logs this vote, and
                // stops at the next replay. A faulty member can also forget its votes.
                Err(_) if lies => {
                    self.crash(0, [0; 2]);
                    self.log_height = None;
                    self.has_forgotten = true;
                    return self.restart(lies);
                }
                Err(error) => panic!("member {}: {error}", self.index),
            };
            effects.extend(replayed.into_iter().filter(|effect| !matches!(effect, Effect::WalAppend(..))));
        }
        self.running().unwrap().engine.reset_entries_index();
        self.flushed[1] = log.len();
        self.log = log;
        for input in inputs {
            effects.extend(self.process(input));
        }
        effects
    }

    /// Begins a height with an empty log.
    pub(super) fn start(&mut self, height: Height) -> Vec<Effect<Ctx>> {
        (self.log, self.flushed[1], self.log_height) = (Vec::new(), 0, Some(height));
        self.judge_new_files(height);
        let committee = self.network.committee();
        let is_absent = |member: usize| self.absent[member];
        let timeouts = HeightTimeouts::new(self.network.parameters(), committee.len(), height, is_absent);
        let members = Members::new(&committee);
        let running = self.running().unwrap();
        (running.waits, running.timeouts) = (None, timeouts);
        self.process(Input::StartHeight(height.into(), members, false, None, VoteExtensionPolicy::Disabled))
    }

    /// Gives an input to the engine. Returns the effects that need no answer.
    pub(super) fn process(&mut self, input: Input<Ctx>) -> Vec<Effect<Ctx>> {
        self.try_process(input).unwrap_or_else(|error| panic!("member {}: {error}", self.index))
    }

    /// Processes an input as [`process`](Self::process) does. Returns an error of the engine as text.
    fn try_process(&mut self, input: Input<Ctx>) -> Result<Vec<Effect<Ctx>>, String> {
        let (signer, verifier) = (self.signer.clone(), self.verifier.clone());
        if self.running().is_none() {
            return Ok(Vec::new());
        }
        let own = RefCell::new(std::mem::take(&mut self.own));
        let ballot = Ballot { signer, verifier, votes: self.votes, own };
        let running = self.running().unwrap();
        let mut effects = Vec::new();
        let result: Result<(), arc_malachitebft_app::consensus::Error<Ctx>> = process!(
            input: input,
            state: &mut running.engine,
            metrics: &running.metrics,
            with: effect => Ok::<_, Infallible>(answer(&ballot, effect, &mut effects))
        );
        self.own = ballot.own.into_inner();
        result.map(|()| effects).map_err(|error| error.to_string())
    }

    pub(super) fn append(&mut self, input: Input<Ctx>) {
        self.log.push(input);
    }

    /// Makes the journal and the log durable.
    pub(super) fn flush(&mut self) {
        self.flushed = [self.journal.len(), self.log.len()];
    }

    pub(super) fn clock(&self, time: u64) -> Timestamp {
        let true_time = start_of(&self.network).get() + time * 1_000;
        Timestamp::new(true_time.saturating_add_signed(self.skew * 1_000))
    }

    pub(super) fn height(&mut self) -> Option<Height> {
        let Running { producer, council, .. } = self.running()?;
        council.next_height(producer.head().header.number)
    }

    /// Adds an entry to the journal. Without a flush, a crash can erase it.
    pub(super) fn write(&mut self, height: Height, entry: Entry, is_own: bool) {
        if !self.journal.iter().any(|record| record.height == height && record.entry.id == entry.id) {
            self.journal.push(Journalled { height, entry, is_own, is_decided: false });
        }
    }

    /// Passes a decision of the engine to the council.
    pub(super) fn decide(&mut self, height: Height, id: EntryId) -> Result<Decided, Box<DecideError>> {
        let bytes = self.journal.iter().find(|record| record.entry.id == id).map(|record| record.entry.bytes.clone());
        let Running { producer, council, .. } = self.running().unwrap();
        council.decide(producer, height, id, bytes.as_deref()).map_err(Box::new)
    }

    /// Returns whether a certificate has a vote of this member that another process has sent.
    pub(super) fn has_other_vote(&mut self, certificate: &CommitCertificate<Ctx>) -> bool {
        self.own.has_other_vote(certificate, member_index(self.index))
    }

    /// Keeps the decision of a body, durably.
    pub(super) fn keep_decision(&mut self, id: EntryId) {
        let record = self.journal.iter_mut().find(|record| record.entry.id == id);
        record.expect("a decided body was written before the vote").is_decided = true;
        self.flush();
    }

    /// Removes all entries of the journal.
    pub(super) fn clear_journal(&mut self) {
        self.journal.clear();
        self.flushed[0] = 0;
    }

    /// Returns the bytes of an entry that the member has decided.
    pub(super) fn decided_bytes(&mut self, height: Height) -> Option<Vec<u8>> {
        let network = Arc::clone(&self.network);
        let running = self.running()?;
        let snapshot = running.producer.store().snapshot();
        let committed = silica_council::entry_bytes(&snapshot, height, network.parameters()).unwrap();
        let is_body = height.kind() == EntryKind::Body;
        let decided = || running.council.decided_body().filter(|_| is_body).map(|entry| entry.bytes.to_vec());
        committed.or_else(decided)
    }
}

/// Returns whether a message has the signature of a vote that a member does not send.
pub(super) fn is_unsigned(message: &SignedConsensusMsg<Ctx>) -> bool {
    match message {
        SignedConsensusMsg::Vote(vote) => vote.signature == NONE,
        SignedConsensusMsg::Proposal(proposal) => proposal.signature == NONE,
    }
}

/// Returns the start of a simulation.
pub(super) fn start_of(network: &NetworkFile) -> Timestamp {
    Timestamp::new(network.parameters().genesis_time.get() + 60_000_000)
}

fn member_index(index: usize) -> MemberIndex {
    MemberIndex(index.try_into().unwrap())
}

/// Returns the input of the engine for the verdict on an entry.
pub(super) fn proposed(height: Height, round: Round, proposer: usize, id: EntryId, validity: Validity) -> Input<Ctx> {
    let (height, proposer, value) = (height.into(), member_index(proposer), id.into());
    let value = ProposedValue { height, round, valid_round: Round::Nil, proposer, value, validity };
    Input::ProposedValue(value, ValueOrigin::Consensus)
}

/// Signs the votes of a member, while it votes, and verifies those of others.
struct Ballot {
    signer: VoteSigner,
    verifier: SharedVerifier,
    votes: bool,
    own: RefCell<OwnVotes>,
}

/// Answers an effect that needs an answer. Keeps all others.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other effects are for the scheduler")]
fn answer(ballot: &Ballot, effect: Effect<Ctx>, effects: &mut Vec<Effect<Ctx>>) -> Resume<Ctx> {
    let Ballot { signer, verifier, .. } = ballot;
    match effect {
        Effect::SignVote(vote, r) if !ballot.votes => r.resume_with(SignedMessage::new(vote, NONE)),
        Effect::SignProposal(proposal, r) if !ballot.votes => r.resume_with(SignedMessage::new(proposal, NONE)),
        Effect::SignVote(vote, r) => {
            ballot.own.borrow_mut().add(&vote);
            r.resume_with(ready(signer.sign_vote(vote)).unwrap())
        }
        Effect::SignProposal(proposal, r) => r.resume_with(ready(signer.sign_proposal(proposal)).unwrap()),
        Effect::VerifySignature(SignedMessage { message, signature }, key, r) => {
            let result = match &message {
                ConsensusMsg::Vote(vote) => ready(verifier.verify_signed_vote(vote, &signature, &key)),
                ConsensusMsg::Proposal(proposal) => ready(verifier.verify_signed_proposal(proposal, &signature, &key)),
            };
            r.resume_with(result.unwrap().is_valid())
        }
        Effect::VerifyCommitCertificate(certificate, members, thresholds, r) => {
            r.resume_with(ready(verifier.verify_commit_certificate(&Ctx, &certificate, &members, thresholds)))
        }
        Effect::VerifyExtendedCommitCertificate(certificate, members, thresholds, policy, r) => r.resume_with(ready(
            verifier.verify_extended_commit_certificate(&Ctx, &certificate, &members, thresholds, policy),
        )),
        Effect::VerifyPolkaCertificate(certificate, members, thresholds, r) => {
            r.resume_with(ready(verifier.verify_polka_certificate(&Ctx, &certificate, &members, thresholds)))
        }
        Effect::VerifyRoundCertificate(certificate, members, thresholds, r) => {
            r.resume_with(ready(verifier.verify_round_certificate(&Ctx, &certificate, &members, thresholds)))
        }
        other => {
            effects.push(other);
            Resume::Continue
        }
    }
}

/// Returns the result of a future that never waits.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("the future waits"),
    }
}
