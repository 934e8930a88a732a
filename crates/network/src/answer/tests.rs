//! The replies of a member whose engine does not run: without a record in the journal, after a fault, and to false
//! messages.

use std::fs::File;

use arc_malachitebft_app::types::core::{CommitSignature, NilOrVal, VoteType};
use arc_malachitebft_signing::Signer as _;
use parking_lot::Mutex;
use ractor::concurrency::{OneshotReceiver, oneshot};
use silica_chain::{
    Genesis, Producer,
    state::{Store, StoreOptions},
};
use silica_council::{Content, NetworkFile, SessionId, proposer};
use silica_crypto::KeyPair;
use silica_protocol::{Account, Address, BlockNumber, Qa};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use super::*;
use crate::{
    ballot::Ballot,
    certificates::Certificates,
    first_start::FirstStart,
    journal::Journal,
    part::Assembler,
    places::Places,
    shared::{Driver, Status, Work},
    signer::VoteSigner,
    simulation::{network::network, ready},
    types::{EngineProposal, EngineSignature, EngineVote},
};

fn key(index: usize) -> KeyPair {
    KeyPair::from_hex(&format!("{:064x}", 0x0101_0101 + index)).unwrap()
}

/// Opens a chain in which one account has this balance.
fn open(network: &NetworkFile, balance: u128) -> (silica_chain::Chain, Producer) {
    let account = Account::with_balance(Qa::new(balance));
    let genesis = Genesis::new([(Address::new([8; 20]), account)].into()).unwrap();
    let (store, parameters) = (Store::ephemeral(StoreOptions::default()), network.parameters());
    silica_chain::open(store, parameters.chain_config(), &genesis, network.committees(), parameters.genesis_time)
        .unwrap()
}

/// A driver that does all work at once.
struct AtOnce {
    producer: Mutex<Producer>,
    now: Timestamp,
}

impl Driver for AtOnce {
    fn run(&self, work: Work) {
        work(&mut *self.producer.lock());
    }

    fn now(&self) -> Timestamp {
        self.now
    }

    fn received(&self, _: usize, _: Vec<u8>) {}

    fn confirmed(&self, _: usize, _: [u8; 32], _: &[u16]) {}
}

/// A member at height 1, whose engine does not run.
struct Member {
    shared: Arc<Shared>,
    network: Arc<NetworkFile>,
    directory: TempDir,
    /// Tasks for a later time wait forever.
    _runtime: Runtime,
}

type Answer<T> = (RpcReplyPort<T>, OneshotReceiver<T>);

fn port<T: Send + 'static>() -> Answer<T> {
    let (sender, receiver) = oneshot();
    (sender.into(), receiver)
}

impl Member {
    /// Creates the proposer of round 0.
    fn new() -> Self {
        let network = network(4);
        let directory = tempfile::tempdir().unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (chain, producer) = open(&network, 1);
        let index = proposer(4, Height::new(1).unwrap(), 0);
        let now = Timestamp::new(network.parameters().genesis_time.get() + 60_000_000);
        let committee = network.committee();
        let shared = Shared {
            directory: directory.path().to_owned(),
            network: network.id(),
            parameters: network.parameters().clone(),
            names: Vec::new(),
            peer_ids: Vec::new(),
            index: MemberIndex(u16::try_from(index).unwrap()),
            key: key(index),
            quorum: network.quorum(),
            chain,
            driver: Arc::new(AtOnce { producer: Mutex::new(producer), now }),
            council: Mutex::new(Council::new(&network, key(index)).unwrap()),
            journal: Mutex::new(Journal::create(directory.path(), network.id()).unwrap()),
            certificates: Certificates::open(&directory.path().join("certificates")).unwrap(),
            table: Mutex::default(),
            assembler: Mutex::new(Assembler::new(network.id(), committee.clone(), 1 << 20)),
            entries: Places::new(4, 4),
            cosign: Places::new(4, 4),
            committee,
            peers: Mutex::default(),
            tips: Mutex::default(),
            connected: tokio::sync::Notify::new(),
            wake: watch::Sender::new(()),
            status: Mutex::default(),
            first_start: Mutex::default(),
            own: Mutex::default(),
            links: std::sync::OnceLock::new(),
            runtime: runtime.handle().clone(),
            streams: Mutex::default(),
            turn: Mutex::default(),
        };
        shared.table.lock().start_round(EngineHeight(1), 0);
        Self { shared: Arc::new(shared), network, directory, _runtime: runtime }
    }

    /// Returns the body that this member would propose on a chain in which one account has this balance.
    fn body(&self, balance: u128) -> Entry {
        let mut council = Council::new(&self.network, self.shared.key.clone()).unwrap();
        let mut producer = open(&self.network, balance).1;
        council.propose(&mut producer, Height::new(1).unwrap(), 0, self.shared.driver.now()).unwrap()
    }

    /// Returns the certificate of a decision at height 1, with the votes of these members.
    fn certificate(&self, id: EntryId, members: &[usize]) -> CommitCertificate<Ctx> {
        self.certificate_at(EngineHeight(1), id, members)
    }

    fn certificate_at(&self, height: EngineHeight, id: EntryId, members: &[usize]) -> CommitCertificate<Ctx> {
        let vote = |member: &usize| {
            let address = MemberIndex(u16::try_from(*member).unwrap());
            let value = NilOrVal::Val(id.into());
            let (kind, round) = (VoteType::Precommit, Round::ZERO);
            let vote = EngineVote { kind, height, round, value, member: address };
            let signer = VoteSigner { network: self.network.id(), key: key(*member) };
            let signed = ready(signer.sign_vote(vote)).unwrap();
            CommitSignature::new(address, signed.signature)
        };
        CommitCertificate {
            height,
            round: Round::ZERO,
            value_id: id.into(),
            commit_signatures: members.iter().map(vote).collect(),
        }
    }

    /// Returns the outcome for an entry that another member sends as decided.
    fn synced(&self, certificate: &CommitCertificate<Ctx>, body: &Entry) -> SyncedValueOutcome<Ctx> {
        let (reply, mut answer) = port();
        let value = SyncedValue { certificate: certificate.clone(), bytes: body.bytes.to_vec() };
        let place = (EngineHeight(1), Round::ZERO, self.shared.index);
        self.shared.judge_synced(place, &borsh::to_vec(&value).unwrap(), reply);
        answer.try_recv().unwrap()
    }

    /// Makes each write to the journal fail. Returns the writable file.
    fn fail(&self) -> File {
        let file = File::open(self.directory.path().join("journal")).unwrap();
        self.shared.journal.lock().replace_file(file)
    }

    /// Returns the number of records in the journal on disk.
    fn records(&self) -> usize {
        Journal::open(self.directory.path(), self.network.id()).unwrap().unwrap().1.len()
    }
}

#[test]
fn member_sends_no_proposal_without_a_record() {
    let member = Member::new();
    let propose = || {
        let (reply, mut answer) = port();
        member.shared.propose(Turn { height: EngineHeight(1), round: 0, reply });
        answer.try_recv().ok()
    };
    let writable = member.fail();
    assert_eq!(propose(), None);
    member.shared.journal.lock().replace_file(writable);
    let value = propose().unwrap().value;
    assert_eq!((value, member.records()), (member.body(1).id.into(), 1));
}

#[test]
fn member_returns_no_verdict_without_a_record() {
    let member = Member::new();
    let body = member.body(1);
    let judge = || {
        let (reply, mut answer) = port();
        let header = header(EngineHeight(1), 0, None, body.id.into(), body.bytes.len());
        let complete =
            Complete { proposer: usize::from(member.shared.index.0), header, bytes: Arc::clone(&body.bytes) };
        member.shared.judge(Open { complete, place: None, reply: Some(reply) });
        answer.try_recv().ok()
    };
    let certificate = member.certificate(body.id, &[0, 1, 2]);
    let writable = member.fail();
    assert_eq!(judge(), None);
    assert!(matches!(member.synced(&certificate, &body), SyncedValueOutcome::LocalTransientError));
    member.shared.journal.lock().replace_file(writable);
    assert_eq!(judge().map(|value| value.validity), Some(Validity::Valid));
    assert_eq!(member.records(), 1);
}

/// The execution of a body takes time. A proposer could send many bodies under one header.
#[test]
fn body_without_the_id_of_its_header_is_not_executed() {
    let member = Member::new();
    let body = member.body(1);
    let judge = |id| {
        let (reply, _answer) = port();
        let header = header(EngineHeight(1), 0, None, id, body.bytes.len());
        let complete =
            Complete { proposer: usize::from(member.shared.index.0), header, bytes: Arc::clone(&body.bytes) };
        member.shared.judge(Open { complete, place: None, reply: Some(reply) });
    };
    // A member can decide an executed body without its bytes.
    let is_executed = || {
        let (reply, mut answer) = port();
        member.shared.decide(member.certificate(body.id, &[0, 1, 2]), reply);
        answer.try_recv().is_ok()
    };
    judge(ValueId([9; 32]));
    assert!(!is_executed());
    assert_eq!(member.shared.status.lock().dropped, 1);
    judge(body.id.into());
    assert!(is_executed());
}

/// By repeating messages of another member, a member could use up the places of that member.
#[test]
fn co_signature_message_of_another_member_is_dropped() {
    let member = Member::new();
    let session = SessionId { height: Height::new(2).unwrap(), round: 0, attempt: 0 };
    let content = Content::Ready { body: member.body(1).id, hashes: Vec::new() };
    let message = CoSignMessage::new(&member.network.id(), session, 3, content, &key(3)).encode();
    member.shared.co_sign(3, &message);
    assert_eq!(member.shared.status.lock().dropped, 0);
    member.shared.co_sign(2, &message);
    assert_eq!(member.shared.status.lock().dropped, 1);
}

#[test]
fn member_that_waits_or_has_failed_signs_no_vote() {
    type Change = fn(&mut Status);

    let is_signed = |change: Change| {
        let member = Member::new();
        change(&mut member.shared.status.lock());
        let (height, round, index) = (EngineHeight(1), Round::ZERO, member.shared.index);
        let vote = EngineVote { kind: VoteType::Prevote, height, round, value: NilOrVal::Nil, member: index };
        let proposal =
            EngineProposal { height, round, value: ValueId([1; 32]), valid_round: Round::Nil, member: index };
        let signer = VoteSigner { network: member.network.id(), key: key(usize::from(index.0)) };
        let ballot = Ballot { shared: Arc::clone(&member.shared), signer };
        let signatures = [
            ready(ballot.sign_vote(vote)).unwrap().signature,
            ready(ballot.sign_proposal(proposal)).unwrap().signature,
        ];
        signatures.map(|signature| signature != EngineSignature([0; 64]))
    };
    assert_eq!(is_signed(|_| {}), [true; 2]);
    assert_eq!(is_signed(|status| status.waits = true), [false; 2]);
    assert_eq!(is_signed(|status| status.failed = Some("a fault".to_owned())), [false; 2]);
}

/// The block that ends the wait has a vote that this member, with new files, has not sent.
#[test]
fn block_with_a_vote_of_this_member_does_not_end_its_wait() {
    for height in [3, 4] {
        for is_own in [false, true] {
            let member = Member::new();
            let shared = &member.shared;
            let genesis = Arc::clone(shared.chain.snapshot().latest_tx_block());
            let mut block = (*genesis).clone();
            block.header.number = BlockNumber::new(2);
            block.timestamp = Timestamp::new(shared.driver.now().get() + 60_000_000);
            let first = FirstStart::create(member.directory.path(), shared.driver.now()).unwrap();
            *shared.first_start.lock() = Some(first);
            let (own, next) = (usize::from(shared.index.0), Height::new(5).unwrap());
            let voters: Vec<_> = (0..4).filter(|voter| is_own || *voter != own).collect();
            let id = EntryId::new([1; 32]);
            let others: Vec<_> = (0..4).filter(|voter| *voter != own).collect();
            shared.certificates.add(&member.certificate_at(EngineHeight(7 - height), id, &others));
            // Without one of the certificates, the member has no proof.
            shared.judge_new_files(&block, next);
            assert!(shared.status.lock().waits);
            shared.certificates.add(&member.certificate_at(EngineHeight(height), id, &voters));
            shared.judge_new_files(&block, next);
            assert_eq!(shared.status.lock().votes(), !is_own);
            let file = FirstStart::open(member.directory.path()).unwrap();
            assert_eq!(file.is_some(), is_own, "height {height}");
            let failed = shared.status.lock().failed.clone();
            let expected = "block 2: expected no vote of this member except those of this process, got another one; ";
            assert!(failed.is_none_or(|reason| reason.starts_with(expected)));
            // New blocks arrive until the engine has stopped.
            shared.certificates.add(&member.certificate_at(EngineHeight(height), id, &[]));
            shared.judge_new_files(&block, next);
            assert_eq!(FirstStart::open(member.directory.path()).unwrap().is_some(), is_own);
        }
    }
}

/// Without the file, each start of an old copy would vote at one more height.
#[test]
fn member_waits_again_after_a_vote_of_another_process() {
    let member = Member::new();
    let (shared, (reply, _answer)) = (&member.shared, port());
    shared.own.lock().begin(EngineHeight(0));
    let certificate = member.certificate(member.body(1).id, &[0, 1, 2, 3]);
    shared.decide(certificate, reply);
    let failed = shared.status.lock().failed.clone().unwrap();
    assert!(failed.starts_with("height 1: expected no vote of this member "), "{failed}");
    let first = FirstStart::open(member.directory.path()).unwrap().unwrap();
    assert_eq!(first.at, shared.driver.now());
}

/// The next height erases the votes of this one, so the decision must be on disk before.
#[test]
fn decision_is_acknowledged_when_the_journal_has_it() {
    let member = Member::new();
    let body = member.body(1);
    let certificate = member.certificate(body.id, &[0, 1, 2]);
    assert!(
        matches!(member.synced(&certificate, &body), SyncedValueOutcome::Verdict(value) if value.validity.is_valid())
    );
    let decide = || {
        let (reply, mut answer) = port();
        member.shared.decide(certificate.clone(), reply);
        let (reply, mut next) = port();
        member.shared.go_on(EngineHeight(1), reply);
        (answer.try_recv().is_ok(), next.try_recv().is_ok())
    };
    let writable = member.fail();
    assert_eq!((decide(), member.records()), ((false, false), 1));
    member.shared.journal.lock().replace_file(writable);
    assert_eq!((decide().0, member.records()), (true, 2));
}

#[test]
fn only_a_true_certificate_proves_that_a_quorum_has_another_state() {
    let member = Member::new();
    let other = member.body(2);
    for false_certificate in [
        member.certificate(other.id, &[]),
        member.certificate(other.id, &[0, 1]),
        member.certificate(member.body(1).id, &[0, 1, 2]),
        CommitCertificate { height: EngineHeight(3), ..member.certificate(other.id, &[0, 1, 2]) },
        CommitCertificate { round: Round::new(1), ..member.certificate(other.id, &[0, 1, 2]) },
    ] {
        let outcome = member.synced(&false_certificate, &other);
        assert!(matches!(outcome, SyncedValueOutcome::Verdict(value) if !value.validity.is_valid()));
        assert_eq!(member.shared.status.lock().failed, None, "{false_certificate:?}");
    }
    member.synced(&member.certificate(other.id, &[0, 1, 2]), &other);
    let failed = member.shared.status.lock().failed.clone().unwrap();
    assert!(failed.contains(" is invalid here"), "{failed}");
}

#[test]
fn a_member_whose_program_does_not_support_the_rules_of_a_quorum_stops() {
    let member = Member::new();
    let name = b"0.13/999";
    let bytes = [&member.body(1).bytes[..], &[0, 0, 0, 8], name].concat();
    let id = EntryId::of_body(&member.network.id(), Height::new(1).unwrap(), &bytes);
    let body = Entry { id, bytes: bytes.into() };
    assert!(matches!(member.synced(&member.certificate(id, &[0, 1]), &body), SyncedValueOutcome::PeerFault));
    assert_eq!(member.shared.status.lock().failed, None);
    member.synced(&member.certificate(id, &[0, 1, 2]), &body);
    let failed = member.shared.status.lock().failed.clone().unwrap();
    let expected = "Body.scilla_rules: expected Scilla rules that this program supports, got 0.13/999";
    assert!(failed.starts_with("height 1: ") && failed.ends_with(expected), "{failed}");
}
