//! A member: its chain, its journal, the log of its engine, its council and its engine.

use std::{
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
use silica_council::{Council, DecideError, Decided, Entry, EntryId, EntryKind, Height, NetworkFile, Rule, Verdict};
use silica_protocol::Timestamp;

use crate::{
    context::Ctx,
    signer::{VoteSigner, VoteVerifier},
    simulation::network,
    timeouts::HeightTimeouts,
    types::{EngineVote, MemberIndex, Members},
};

/// An entry that a member has found valid, before it votes for the entry.
#[derive(Clone, Debug)]
pub(super) struct Journalled {
    pub(super) height: Height,
    pub(super) entry: Entry,
    round: Round,
    proposer: usize,
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
    network: Arc<NetworkFile>,
    pub(super) status: Status,
    pub(super) journal: Vec<Journalled>,
    /// The log of the engine, with the number of entries that are on disk.
    log: Vec<Input<Ctx>>,
    flushed: usize,
    log_height: Option<Height>,
    pub(super) certificates: BTreeMap<Height, CommitCertificate<Ctx>>,
    /// All votes that the member has sent.
    votes: BTreeMap<String, EngineVote>,
    pub(super) rng: ChaCha8Rng,
    pub(super) starts: u64,
    pub(super) skew: i64,
    /// The members to which this member believes to have no connection.
    pub(super) absent: Vec<bool>,
}

impl Member {
    pub(super) fn new(network: &Arc<NetworkFile>, index: usize, seed: u64, skew: i64) -> Self {
        let store = Store::ephemeral(StoreOptions::default());
        Self {
            index,
            signer: VoteSigner { network: network.id(), key: network::key(index) },
            network: Arc::clone(network),
            status: Status::Down(Box::new(store), 0),
            journal: Vec::new(),
            log: Vec::new(),
            flushed: 0,
            log_height: None,
            certificates: BTreeMap::new(),
            votes: BTreeMap::new(),
            rng: ChaCha8Rng::seed_from_u64(seed << 32 | u64::try_from(index).unwrap() << 24),
            starts: 0,
            skew,
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

    /// Stops the member. Its memory and the entries of the log that are not flushed are lost.
    pub(super) fn crash(&mut self, until: u64) {
        if self.running().is_none() {
            return;
        }
        self.log.truncate(self.flushed);
        if let Status::Running(running) = std::mem::replace(&mut self.status, Status::Moving) {
            self.status = Status::Down(Box::new(running.producer.into_store()), until);
        }
    }

    /// Starts the member from its chain, its journal and its log. Returns the effects of the engine.
    pub(super) fn restart(&mut self) -> Vec<Effect<Ctx>> {
        let Status::Down(store, _) = std::mem::replace(&mut self.status, Status::Moving) else {
            panic!("member {} is running", self.index)
        };
        let (chain, mut producer) = network::open(*store, &self.network);
        let mut council = Council::new(&self.network, self.signer.key.clone()).unwrap();
        let first = council.next_height(producer.head().header.number).unwrap();
        self.journal.retain(|record| record.height >= first);
        if let Some(record) = self.journal.iter().find(|record| record.is_decided) {
            council.decide(&mut producer, record.height, record.entry.id, Some(&record.entry.bytes)).unwrap();
        }
        let due = council.next_height(producer.head().header.number).unwrap();
        let mut inputs = Vec::new();
        for record in self.journal.iter().filter(|record| record.height == due) {
            let verdict = if record.proposer == self.index {
                council.restore_own(&mut producer, due, &record.entry.bytes)
            } else {
                council.judge(&mut producer, due, &record.entry.bytes, Rule::Accepted)
            };
            assert!(matches!(verdict, Verdict::Valid(id) if id == record.entry.id), "{verdict:?}");
            inputs.push(proposed(due, record.round, record.proposer, record.entry.id, Validity::Valid));
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
        self.running().unwrap().engine.index_wal_entries(&log);
        for input in &log {
            // The log has these inputs already.
            let replayed = self.process(input.clone());
            effects.extend(replayed.into_iter().filter(|effect| !matches!(effect, Effect::WalAppend(..))));
        }
        self.running().unwrap().engine.reset_entries_index();
        self.flushed = log.len();
        self.log = log;
        for input in inputs {
            effects.extend(self.process(input));
        }
        effects
    }

    /// Begins a height with an empty log.
    pub(super) fn start(&mut self, height: Height) -> Vec<Effect<Ctx>> {
        (self.log, self.flushed, self.log_height) = (Vec::new(), 0, Some(height));
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
        let (signer, index) = (self.signer.clone(), self.index);
        let Some(running) = self.running() else { return Vec::new() };
        let mut effects = Vec::new();
        let result: Result<(), arc_malachitebft_app::consensus::Error<Ctx>> = process!(
            input: input,
            state: &mut running.engine,
            metrics: &running.metrics,
            with: effect => Ok::<_, Infallible>(answer(&signer, effect, &mut effects))
        );
        if let Err(error) = result {
            panic!("member {index}: {error}");
        }
        effects
    }

    pub(super) fn append(&mut self, input: Input<Ctx>) {
        self.log.push(input);
    }

    pub(super) fn flush(&mut self) {
        self.flushed = self.log.len();
    }

    /// Checks that the member sends no two different votes of one kind in a round.
    pub(super) fn watch(&mut self, message: &SignedConsensusMsg<Ctx>) {
        if let SignedConsensusMsg::Vote(vote) = message {
            let vote = &vote.message;
            let place = format!("{:?} {} {}", vote.kind, vote.height, vote.round);
            let earlier = self.votes.insert(place, vote.clone());
            assert!(earlier.is_none_or(|earlier| earlier == *vote), "member {}: {vote:?}", self.index);
        }
    }

    pub(super) fn clock(&self, time: u64) -> Timestamp {
        let start = self.network.parameters().genesis_time.get() + 60_000_000;
        Timestamp::new((start + time * 1_000).saturating_add_signed(self.skew * 1_000))
    }

    pub(super) fn height(&mut self) -> Option<Height> {
        let Running { producer, council, .. } = self.running()?;
        council.next_height(producer.head().header.number)
    }

    /// Keeps an entry before the member votes for it.
    pub(super) fn write(&mut self, height: Height, entry: Entry, round: Round, proposer: usize) {
        self.journal.push(Journalled { height, entry, round, proposer, is_decided: false });
    }

    /// Processes a decision of the engine. Returns whether the next height can begin.
    pub(super) fn decide(&mut self, certificate: CommitCertificate<Ctx>) -> Result<(), Box<DecideError>> {
        let (height, id) = (certificate.height.council().unwrap(), EntryId::from(certificate.value_id));
        let bytes = self.journal.iter().find(|record| record.entry.id == id).map(|record| record.entry.bytes.clone());
        let Running { producer, council, .. } = self.running().unwrap();
        let decided = council.decide(producer, height, id, bytes.as_deref())?;
        match decided {
            Decided::Body => {
                let record = self.journal.iter_mut().find(|record| record.entry.id == id);
                record.expect("a decided body was written before the vote").is_decided = true;
            }
            Decided::Block(_) => self.journal.retain(|record| record.height > height),
        }
        self.certificates.insert(height, certificate);
        Ok(())
    }

    /// Returns the bytes of an entry that the member has decided.
    pub(super) fn decided_bytes(&mut self, height: Height) -> Option<Vec<u8>> {
        let running = self.running()?;
        let snapshot = running.producer.store().snapshot();
        let committed = silica_council::entry_bytes(&snapshot, height).unwrap();
        let is_body = height.kind() == EntryKind::Body;
        let decided = || running.council.decided_body().filter(|_| is_body).map(|entry| entry.bytes.to_vec());
        committed.or_else(decided)
    }
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

/// Answers an effect that needs an answer. Keeps all others.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other effects are for the scheduler")]
fn answer(signer: &VoteSigner, effect: Effect<Ctx>, effects: &mut Vec<Effect<Ctx>>) -> Resume<Ctx> {
    let verifier = VoteVerifier { network: signer.network };
    match effect {
        Effect::SignVote(vote, r) => r.resume_with(ready(signer.sign_vote(vote)).unwrap()),
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
