//! A member: its chain, its journal, the log of its engine, its council and its engine.

use std::{collections::BTreeMap, convert::Infallible, sync::Arc};

use arc_malachitebft_app::metrics::Metrics;
use arc_malachitebft_core_consensus::{
    Effect, Input, Params, ProposedValue, Resumable as _, Resume, SignedConsensusMsg, State, ThresholdParams, process,
};
use arc_malachitebft_core_types::{CommitCertificate, Round, Validity, ValueOrigin, ValuePayload, VoteExtensionPolicy};
use silica_chain::{
    Chain, Producer,
    consensus::Application as _,
    state::{Store, StoreOptions},
};
use silica_council::{Council, DecideError, Decided, Entry, EntryId, EntryKind, Height, NetworkFile, Rule, Verdict};
use silica_crypto::{KeyPair, cosign::quorum};
use silica_protocol::Timestamp;

use crate::{
    context::{Committee, Context, EngineHeight, Position, Value, Vote},
    network::{self, Digests},
};

/// An entry that a member has found valid, before it votes for the entry.
#[derive(Clone, Debug)]
pub(crate) struct Journalled {
    pub(crate) height: Height,
    pub(crate) entry: Entry,
    round: Round,
    proposer: usize,
    is_decided: bool,
}

/// The memory of a running member.
pub(crate) struct Running {
    pub(crate) chain: Chain,
    pub(crate) producer: Producer,
    pub(crate) council: Council,
    pub(crate) engine: State<Context>,
    metrics: Metrics,
    /// The round of a seal in which the engine waits for the value of this member.
    pub(crate) waits: Option<u32>,
}

pub(crate) enum Status {
    Running(Box<Running>),
    /// Starts again at this time, in milliseconds.
    Down(Box<Store>, u64),
    Moving,
}

pub(crate) struct Member {
    pub(crate) index: usize,
    pub(crate) key: KeyPair,
    pub(crate) context: Context,
    network: Arc<NetworkFile>,
    pub(crate) status: Status,
    pub(crate) journal: Vec<Journalled>,
    /// The log of the engine, with the number of entries that are on disk.
    log: Vec<Input<Context>>,
    flushed: usize,
    log_height: Option<Height>,
    pub(crate) certificates: BTreeMap<Height, CommitCertificate<Context>>,
    /// All votes that the member has sent.
    votes: BTreeMap<String, Vote>,
    pub(crate) rng: Digests,
    pub(crate) starts: u64,
    pub(crate) skew: i64,
}

impl Member {
    pub(crate) fn new(network: &Arc<NetworkFile>, context: &Context, index: usize, seed: u64, skew: i64) -> Self {
        let store = Store::ephemeral(StoreOptions::default());
        Self {
            index,
            key: network::key(index),
            context: context.clone(),
            network: Arc::clone(network),
            status: Status::Down(Box::new(store), 0),
            journal: Vec::new(),
            log: Vec::new(),
            flushed: 0,
            log_height: None,
            certificates: BTreeMap::new(),
            votes: BTreeMap::new(),
            rng: Digests(seed << 32 | u64::try_from(index).unwrap() << 24),
            starts: 0,
            skew,
        }
    }

    pub(crate) fn running(&mut self) -> Option<&mut Running> {
        if let Status::Running(running) = &mut self.status { Some(running) } else { None }
    }

    /// Stops the member. Its memory and the entries of the log that are not flushed are lost.
    pub(crate) fn crash(&mut self, until: u64) {
        if self.running().is_none() {
            return;
        }
        self.log.truncate(self.flushed);
        if let Status::Running(running) = std::mem::replace(&mut self.status, Status::Moving) {
            self.status = Status::Down(Box::new(running.producer.into_store()), until);
        }
    }

    /// Starts the member from its chain, its journal and its log. Returns the effects of the engine.
    pub(crate) fn restart(&mut self) -> Vec<Effect<Context>> {
        let Status::Down(store, _) = std::mem::replace(&mut self.status, Status::Moving) else {
            panic!("member {} is running", self.index)
        };
        let (chain, mut producer) = network::open(*store, &self.network);
        let mut council = Council::new(&self.network, self.key.clone()).unwrap();
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
            address: Position(self.index),
            threshold_params: ThresholdParams::default(),
            value_payload: ValuePayload::ProposalAndParts,
            enabled: true,
        };
        let committee = Committee(Arc::clone(&self.context.members));
        let engine = State::new(self.context.clone(), due.into(), committee, params, 100, 1_000);
        self.starts += 1;
        self.status = Status::Running(Box::new(Running {
            chain,
            producer,
            council,
            engine,
            metrics: Metrics::new(),
            waits: None,
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
    pub(crate) fn start(&mut self, height: Height) -> Vec<Effect<Context>> {
        (self.log, self.flushed, self.log_height) = (Vec::new(), 0, Some(height));
        let committee = Committee(Arc::clone(&self.context.members));
        let running = self.running().unwrap();
        running.waits = None;
        self.process(Input::StartHeight(height.into(), committee, false, None, VoteExtensionPolicy::Disabled))
    }

    /// Gives an input to the engine. Returns the effects that need no answer.
    pub(crate) fn process(&mut self, input: Input<Context>) -> Vec<Effect<Context>> {
        let (context, key, index) = (self.context.clone(), self.key.clone(), self.index);
        let Some(running) = self.running() else { return Vec::new() };
        let mut effects = Vec::new();
        let result: Result<(), arc_malachitebft_core_consensus::Error<Context>> = process!(
            input: input,
            state: &mut running.engine,
            metrics: &running.metrics,
            with: effect => Ok::<_, Infallible>(answer(&context, &key, effect, &mut effects))
        );
        if let Err(error) = result {
            panic!("member {index}: {error}");
        }
        effects
    }

    pub(crate) fn append(&mut self, input: Input<Context>) {
        self.log.push(input);
    }

    pub(crate) fn flush(&mut self) {
        self.flushed = self.log.len();
    }

    /// Checks that the member sends no two different votes of one kind in a round.
    pub(crate) fn watch(&mut self, message: &SignedConsensusMsg<Context>) {
        if let SignedConsensusMsg::Vote(vote) = message {
            let vote = &vote.message;
            let place = format!("{:?} {} {}", vote.kind, vote.height, vote.round);
            let earlier = self.votes.insert(place, vote.clone());
            assert!(earlier.is_none_or(|earlier| earlier == *vote), "member {}: {vote:?}", self.index);
        }
    }

    pub(crate) fn clock(&self, time: u64) -> Timestamp {
        let start = self.network.parameters().genesis_time.get() + 60_000_000;
        Timestamp::new((start + time * 1_000).saturating_add_signed(self.skew * 1_000))
    }

    pub(crate) fn height(&mut self) -> Option<Height> {
        let Running { producer, council, .. } = self.running()?;
        council.next_height(producer.head().header.number)
    }

    /// Keeps an entry before the member votes for it.
    pub(crate) fn write(&mut self, height: Height, entry: Entry, round: Round, proposer: usize) {
        self.journal.push(Journalled { height, entry, round, proposer, is_decided: false });
    }

    /// Processes a decision of the engine. Returns whether the next height can begin.
    pub(crate) fn decide(&mut self, certificate: CommitCertificate<Context>) -> Result<(), Box<DecideError>> {
        let (height, id) = (certificate.height.get(), certificate.value_id);
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
    pub(crate) fn decided_bytes(&mut self, height: Height) -> Option<Vec<u8>> {
        let running = self.running()?;
        let snapshot = running.producer.store().snapshot();
        let committed = silica_council::entry_bytes(&snapshot, height).unwrap();
        let is_body = height.kind() == EntryKind::Body;
        let decided = || running.council.decided_body().filter(|_| is_body).map(|entry| entry.bytes.to_vec());
        committed.or_else(decided)
    }
}

/// Returns the input of the engine for the verdict on an entry.
pub(crate) fn proposed(
    height: Height,
    round: Round,
    proposer: usize,
    id: EntryId,
    validity: Validity,
) -> Input<Context> {
    let (height, proposer, value) = (height.into(), Position(proposer), Value(id));
    let value = ProposedValue { height, round, valid_round: Round::Nil, proposer, value, validity };
    Input::ProposedValue(value, ValueOrigin::Consensus)
}

/// Answers an effect that needs an answer. Keeps all others.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other effects are for the scheduler")]
fn answer(
    context: &Context,
    key: &KeyPair,
    effect: Effect<Context>,
    effects: &mut Vec<Effect<Context>>,
) -> Resume<Context> {
    let needed = quorum(context.members.len());
    let precommits = |certificate: &CommitCertificate<Context>| {
        let CommitCertificate { height, round, value_id, commit_signatures } = certificate.clone();
        commit_signatures.into_iter().map(move |signature| {
            let vote = context_vote(height, round, value_id, signature.address);
            (vote, signature.signature)
        })
    };
    match effect {
        Effect::SignVote(vote, r) => r.resume_with(context.sign_vote(vote, key)),
        Effect::SignProposal(proposal, r) => r.resume_with(context.sign_proposal(proposal, key)),
        Effect::VerifySignature(message, key, r) => r.resume_with(context.verify(&message, &key)),
        Effect::VerifyCommitCertificate(certificate, _, _, r) => {
            r.resume_with(context.verify_votes(precommits(&certificate), needed))
        }
        Effect::VerifyExtendedCommitCertificate(certificate, _, _, _, r) => {
            r.resume_with(context.verify_votes(precommits(&certificate.trim_vote_extensions()), needed))
        }
        Effect::VerifyPolkaCertificate(certificate, _, _, r) => {
            let votes: Vec<_> = certificate.votes(context).map(|vote| (vote.message, vote.signature)).collect();
            r.resume_with(context.verify_votes(votes, needed))
        }
        Effect::VerifyRoundCertificate(certificate, _, _, r) => {
            let votes: Vec<_> = certificate.votes(context).map(|vote| (vote.message, vote.signature)).collect();
            let is_skip = certificate.cert_type == arc_malachitebft_core_types::RoundCertificateType::Skip;
            let needed = if is_skip { (context.members.len() - 1) / 3 + 1 } else { needed };
            r.resume_with(context.verify_votes(votes, needed))
        }
        other => {
            effects.push(other);
            Resume::Continue
        }
    }
}

fn context_vote(height: EngineHeight, round: Round, id: EntryId, address: Position) -> Vote {
    let (kind, value) =
        (arc_malachitebft_core_types::VoteType::Precommit, arc_malachitebft_core_types::NilOrVal::Val(id));
    Vote { kind, height, round, value, address }
}
