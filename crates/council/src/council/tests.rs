//! Tests of one member with its chain.

use std::{collections::BTreeSet, ops::RangeInclusive};

use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
use silica_chain::Chain;
use silica_protocol::{StateRoot, Timestamp};

use super::*;
use crate::{
    cosign::{CoSignRound, Content, Recipient},
    entry::{EntryKind, ItemSignatures, Seal},
    record::entry_bytes,
    testing::{self, Disk},
};

/// A member of a network with its chain.
struct Member {
    network: NetworkFile,
    chain: Chain,
    disk: Disk,
    council: Council,
    now: u64,
}

impl Member {
    fn new() -> Self {
        Self::of(testing::network(4, &[]))
    }

    fn of(network: NetworkFile) -> Self {
        Self::at(network, 0)
    }

    fn at(network: NetworkFile, index: usize) -> Self {
        let (chain, producer) = testing::new_chain(&network);
        let council = Council::new(&network, testing::keys(4).remove(index)).unwrap();
        let now = network.parameters().genesis_time.get() + 5_000_000;
        Self { network, chain, disk: Disk::new(producer), council, now }
    }

    fn restart(self) -> Self {
        let (chain, producer) = testing::open(self.disk.producer.into_store(), &self.network);
        let council = Council::new(&self.network, testing::keys(1).remove(0)).unwrap();
        Self { chain, disk: Disk::new(producer), council, ..self }
    }

    fn pay(&self, nonces: RangeInclusive<u64>) {
        for nonce in nonces {
            let payment = testing::payment(0, nonce, 1);
            self.chain.submit(self.chain.admit(payment, false).unwrap(), Timestamp::new(self.now)).unwrap();
        }
    }

    fn height(&self) -> Height {
        self.council.next_height(self.disk.head().header.number).unwrap()
    }

    /// Proposes at the next height in a round. `after` is the time in microseconds after the start.
    fn propose(&mut self, round: u32, after: u64) -> Result<Entry, ProposalError> {
        let height = self.height();
        self.council.propose(&mut self.disk, height, round, Timestamp::new(self.now + after))
    }

    fn judge(&mut self, bytes: &[u8], rule: Rule) -> Verdict {
        let height = self.height();
        self.council.judge(&mut self.disk, height, bytes, rule)
    }

    /// Judges the first proposal of round 0. `after` is the time in microseconds after the start.
    fn judge_at(&mut self, bytes: &[u8], after: u64) -> Verdict {
        let now = Timestamp::new(self.now + after);
        self.judge(bytes, Rule::FirstProposal { round: 0, now })
    }

    fn decide(&mut self, id: EntryId, bytes: Option<&[u8]>) -> Result<Decided, DecideError> {
        let height = self.height();
        self.council.decide(&mut self.disk, height, id, bytes)
    }

    /// Returns a valid seal of the decided body.
    fn seal(&self, seed: u64) -> Seal {
        let items = &self.council.next.decided.as_ref().unwrap().session.task().items;
        testing::seal_with_seed(&testing::keys(4), &[true, true, false, true], items, seed)
    }

    fn seal_id(&self, bytes: &[u8]) -> EntryId {
        EntryId::of_seal(&self.network.id(), self.height(), &self.council.decided_body().unwrap().id, bytes)
    }

    /// Decides and seals the next body.
    fn make_block(&mut self) -> [Entry; 2] {
        let body = self.propose(0, 0).unwrap();
        assert!(matches!(self.decide(body.id, None), Ok(Decided::Body)));
        let bytes = self.seal(1).encode();
        let id = self.seal_id(&bytes);
        assert!(matches!(self.decide(id, Some(&bytes)), Ok(Decided::Block(_))));
        self.now += 1_000_000;
        [body, Entry { id, bytes: bytes.into() }]
    }

    /// Returns a changed copy of a body, as bytes.
    fn changed(&self, body: &Entry, change: impl FnOnce(&mut Body)) -> Vec<u8> {
        let limits = self.network.parameters().body_limits();
        let mut body = Body::decode(self.height(), &body.bytes, &limits).unwrap();
        change(&mut body);
        body.encode()
    }
}

/// Returns an error with its sources.
fn text(error: &dyn std::error::Error) -> String {
    let source = error.source().map(|source| format!(": {}", text(source)));
    format!("{error}{}", source.unwrap_or_default())
}

fn reason(verdict: Verdict) -> String {
    match verdict {
        Verdict::Invalid { reason, .. } => text(&reason),
        Verdict::Withheld(reason) => format!("withheld: {}", text(&reason)),
        Verdict::Valid(_) | Verdict::Later(_) => format!("{verdict:?}"),
    }
}

#[test]
fn only_a_member_has_a_council() {
    let (network, stranger) = (testing::network(4, &[]), testing::keys(5).remove(4));
    let error = Council::new(&network, stranger.clone()).unwrap_err();
    assert_eq!(error, NotMember { got: stranger.public_key() });
    let council = Council::new(&network, testing::keys(4).remove(2)).unwrap();
    assert_eq!(council.index(), 2);
    // The thread that owns the chain takes the council.
    std::thread::spawn(move || drop(council)).join().unwrap();
}

/// The chain has DS blocks, vacuous blocks, and blocks with and without transactions.
#[test]
fn the_record_has_the_decided_bytes() {
    let mut member = Member::new();
    let mut entries = Vec::new();
    for block in 1..=12_u64 {
        if block % 2 == 0 {
            member.pay(block - 1..=block);
        }
        entries.extend(member.make_block());
    }
    let snapshot = member.disk.producer.store().snapshot();
    for (number, entry) in (1..).zip(&entries) {
        let height = Height::new(number).unwrap();
        assert_eq!(
            entry_bytes(&snapshot, height, member.network.parameters()).unwrap().as_deref(),
            Some(&*entry.bytes),
            "height {height}"
        );
    }
    assert_eq!(entry_bytes(&snapshot, Height::new(25).unwrap(), member.network.parameters()).unwrap(), None);
    assert_eq!(snapshot.head().unwrap().number.get(), 12);
    assert!(snapshot.head().unwrap().totals.transactions >= 8);
}

#[test]
fn heights_alternate_and_survive_a_restart() {
    let mut member = Member::new();
    member.pay(1..=3);
    assert_eq!(member.height().get(), 1);
    let body = member.propose(0, 0).unwrap();
    member.decide(body.id, None).unwrap();
    assert_eq!((member.height().get(), member.council.decided_body()), (2, Some(&body)));
    // The same decision again has no effect, and another decision is a conflict.
    let first = Height::new(1).unwrap();
    assert!(matches!(member.council.decide(&mut member.disk, first, body.id, None), Ok(Decided::Body)));
    let error = member.council.decide(&mut member.disk, first, EntryId::new([1; 32]), None).unwrap_err();
    assert!(matches!(error, DecideError::Conflict { .. }) && error.is_fatal(), "{error}");

    let mut member = member.restart();
    assert_eq!(member.height().get(), 1);
    assert!(matches!(member.decide(body.id, None), Err(DecideError::Missing { .. })));
    member.decide(body.id, Some(&body.bytes)).unwrap();
    assert_eq!(member.height().get(), 2);
    let bytes = member.seal(7).encode();
    assert!(matches!(member.propose(0, 0), Err(ProposalError::NoSeal)));
    let second = member.height();
    let verdict = member.council.restore_own(&mut member.disk, second, &bytes);
    assert!(matches!(verdict, Verdict::Valid(id) if id == member.seal_id(&bytes)));
    assert_eq!(&*member.propose(3, 0).unwrap().bytes, &bytes[..]);
    let Ok(Decided::Block(block)) = member.decide(member.seal_id(&bytes), Some(&bytes)) else { panic!("no block") };
    assert_eq!((block.tx_block().header.number.get(), block.transactions().len()), (1, 3));
    assert_eq!(member.height().get(), 3);
    let mut member = member.restart();
    assert_eq!(member.height().get(), 3);
    assert!(matches!(member.decide(body.id, Some(&body.bytes)), Err(DecideError::Bytes { .. })));
    let error = member.council.decide(&mut member.disk, first, body.id, Some(&body.bytes)).unwrap_err();
    assert_eq!(error.to_string(), "height: expected 3, got 1");
    member.make_block();
}

#[test]
fn errors_about_heights_name_the_end_of_the_range() {
    let (expected, got) = (None, Height::new(1).unwrap());
    let text = "height: expected none at the end of the range, got 1";
    assert_eq!(ProposalError::Height { expected, got }.to_string(), text);
    assert_eq!(DecideError::Height { expected, got }.to_string(), text);
    assert_eq!(Withheld::Height { expected, got }.to_string(), text);
}

#[test]
fn a_body_is_proposed_again_while_it_is_young() {
    let mut member = Member::new();
    member.pay(1..=2);
    let body = member.propose(0, 0).unwrap();
    member.pay(3..=4);
    // The same round has the same body at any time.
    assert_eq!(member.propose(0, 60_000_000).unwrap(), body);
    // In round 4, a proposal has 3 s, and the drift is 2 s.
    assert_eq!(member.propose(4, 5_000_000).unwrap(), body);
    assert_eq!(member.propose(4, 60_000_000).unwrap(), body);
    let newer = member.propose(8, 60_000_000).unwrap();
    assert_ne!(newer, body);
    assert!(matches!(member.judge_at(&newer.bytes, 60_000_000), Verdict::Valid(id) if id == newer.id));
    // After a restart, the caller restores the body.
    let mut member = member.restart();
    let height = member.height();
    let verdict = member.council.restore_own(&mut member.disk, height, &body.bytes);
    assert!(matches!(verdict, Verdict::Valid(id) if id == body.id));
    assert_eq!(member.propose(0, 1).unwrap(), body);
    let invalid = member.council.restore_own(&mut member.disk, height, &body.bytes[1..]);
    assert!(matches!(invalid, Verdict::Invalid { .. }));
    assert_eq!(member.propose(1, 2).unwrap(), body);
    let late = member.council.propose(&mut member.disk, height.next().unwrap(), 0, Timestamp::new(member.now));
    assert_eq!(late.unwrap_err().to_string(), "height: expected 1, got 2");
}

#[test]
fn the_clock_never_makes_a_body_invalid() {
    let mut member = Member::new();
    let body = member.propose(0, 0).unwrap();
    assert!(matches!(member.judge_at(&body.bytes, 0), Verdict::Valid(id) if id == body.id));
    let changed = |member: &Member, after: u64| {
        let at = Timestamp::new(member.now + after);
        member.changed(&body, |body| body.timestamp = at)
    };
    let future = changed(&member, 3_000_000);
    let Verdict::Later(at) = member.judge_at(&future, 0) else { panic!("not later") };
    assert_eq!(at.get(), member.now + 1_000_000);
    assert!(matches!(member.judge_at(&future, 1_000_000), Verdict::Valid(_)));
    let old = member.judge_at(&body.bytes, 3_000_001);
    assert!(matches!(old, Verdict::Withheld(Withheld::Old { .. })), "{old:?}");
    // A quorum of prevotes overrules the clock.
    assert!(matches!(member.judge(&body.bytes, Rule::Accepted), Verdict::Valid(_)));
    assert!(matches!(member.judge(&future, Rule::Accepted), Verdict::Valid(_)));
    let head = member.disk.head().timestamp;
    let first = member.changed(&body, |body| body.timestamp = head);
    let expected = format!("Body.timestamp: expected later than {head}, got {head}");
    assert_eq!(reason(member.judge_at(&first, 0)), expected);
    assert_eq!(reason(member.judge(&first, Rule::Accepted)), expected);
}

#[test]
fn a_needlessly_empty_body_is_withheld() {
    let timing = "blocks = \"on-demand\"\nmax-idle = \"60s\"";
    let network = testing::network(4, &[("blocks = \"interval\"\ninterval = \"1s\"", timing)]);
    let mut member = Member::of(network);
    let head = member.disk.head().timestamp.get();
    let due = Timestamp::new(head + 60_000_000);
    assert!(matches!(member.propose(0, 0), Err(ProposalError::Empty { due: at }) if at == due));
    member.now = due.get() - 1;
    assert!(matches!(member.propose(1, 0), Err(ProposalError::Empty { .. })));
    let body = member.propose(2, 1).unwrap();
    let early = member.changed(&body, |body| body.timestamp = Timestamp::new(due.get() - 1));
    let withheld = member.judge_at(&early, 0);
    assert!(matches!(withheld, Verdict::Withheld(Withheld::Empty { due: at }) if at == due), "{withheld:?}");
    assert!(matches!(member.judge(&early, Rule::Accepted), Verdict::Valid(_)));
    assert!(matches!(member.judge_at(&body.bytes, 0), Verdict::Valid(_)));
    // A body with transactions is due at once, and so is a vacuous block.
    let mut member = member.restart();
    for nonce in 1..=3 {
        member.pay(nonce..=nonce);
        member.make_block();
    }
    member.make_block();
    assert_eq!(member.disk.head().header.number.get(), 4);
    assert!(matches!(member.propose(0, 0), Err(ProposalError::Empty { .. })));
}

/// A change of any field of any header makes a body invalid.
#[test]
fn a_false_body_is_invalid_at_all_times() {
    let mut member = Member::new();
    member.pay(1..=4);
    let body = member.propose(0, 0).unwrap();
    for (name, change) in testing::false_bodies() {
        let bytes = member.changed(&body, change);
        let id = EntryId::of_body(&member.network.id(), member.height(), &bytes);
        let first = member.judge(&bytes, Rule::Accepted);
        assert!(matches!(first, Verdict::Invalid { id: got, .. } if got == id), "{name}: {first:?}");
        let first = reason(first);
        assert_eq!(reason(member.judge_at(&bytes, 0)), first, "{name}");
        // The decision of such a body is fatal, and names the height and the state root.
        let error = member.decide(id, Some(&bytes)).unwrap_err();
        assert!(error.is_fatal(), "{name}: {error}");
        let expected = format!("height 1: the decided entry {id} is invalid here; state root: expected ");
        assert!(text(&error).starts_with(&expected) && text(&error).ends_with(&first), "{name}: {}", text(&error));
    }
    member.decide(body.id, Some(&body.bytes)).unwrap();
}

#[test]
fn a_fatal_error_names_both_state_roots() {
    let mut member = Member::new();
    let body = member.propose(0, 0).unwrap();
    let limits = member.network.parameters().body_limits();
    let root = Body::decode(member.height(), &body.bytes, &limits).unwrap().header.state_root;
    let bytes = member.changed(&body, |body| {
        body.header.state_root = StateRoot::new([7; 32]);
    });
    let id = EntryId::of_body(&member.network.id(), member.height(), &bytes);
    let other = StateRoot::new([7; 32]);
    let expected = format!(
        "height 1: the decided entry {id} is invalid here; state root: expected {root}, got {other}: Tx block: \
         state_root: expected {root:?}, got {other:?}"
    );
    assert_eq!(text(&member.decide(id, Some(&bytes)).unwrap_err()), expected);
}

/// The results of both rules are equal, because the blocks have no contracts.
#[test]
fn a_quorum_decides_from_which_block_on_the_rules_change() {
    const CHANGE: &str = "max-body = \"4MiB\"\n\n[[rules-from]]\nblock = 2\nscilla-rules = \"latest/3\"\n";
    let changed = || Member::of(testing::network(4, &[("max-body = \"4MiB\"", CHANGE)]));
    let (mut new, mut old) = (changed(), Member::new());
    assert_eq!(new.network.id(), old.network.id());
    // The first block has the rules of the table `network` on both members.
    let entries = new.make_block();
    for entry in &entries {
        assert!(matches!(old.judge(&entry.bytes, Rule::Accepted), Verdict::Valid(id) if id == entry.id));
        old.decide(entry.id, Some(&entry.bytes)).unwrap();
    }
    old.now = new.now;
    let body = new.propose(0, 0).unwrap();
    let limits = new.network.parameters().body_limits();
    let rules = Body::decode(new.height(), &body.bytes, &limits).unwrap().scilla_rules;
    assert_eq!(rules.map(|rules| rules.to_string()).as_deref(), Some("latest/3"));
    let expected = "Body.scilla_rules: expected 0.13/3 in block 2, as in the network file of this member, got latest/3";
    assert_eq!(reason(old.judge(&body.bytes, Rule::Accepted)), expected);
    let error = old.decide(body.id, Some(&body.bytes)).unwrap_err();
    assert!(error.is_fatal() && text(&error).ends_with(expected), "{}", text(&error));
    // A body without the new rules, and one that names the rules of block 1, are invalid on a member with the change.
    let expected = "Body.scilla_rules: expected latest/3 in block 2, as in the network file of this member, got 0.13/3";
    let bytes = new.changed(&body, |body| body.scilla_rules = None);
    assert_eq!(reason(new.judge(&bytes, Rule::Accepted)), expected);
    let expected = "Body.scilla_rules: expected no name for 0.13/3, the rules of block 1, got 0.13/3";
    let own = old.propose(0, 0).unwrap();
    for (member, body) in [(&mut new, &body), (&mut old, &own)] {
        let bytes = member.changed(body, |body| body.scilla_rules = Some("0.13/3".parse().unwrap()));
        assert_eq!(reason(member.judge(&bytes, Rule::Accepted)), expected);
    }
    let rest = new.make_block();
    let snapshot = new.disk.producer.store().snapshot();
    for (number, entry) in (1..).zip(entries.iter().chain(&rest)) {
        let bytes = entry_bytes(&snapshot, Height::new(number).unwrap(), new.network.parameters()).unwrap().unwrap();
        assert_eq!(*bytes, *entry.bytes, "height {number}");
    }
}

#[test]
fn other_spellings_and_large_bodies_are_invalid() {
    let mut member = Member::of(testing::network(4, &[("max-body = \"4MiB\"", "max-body = \"256KiB\"")]));
    let body = member.propose(0, 0).unwrap();
    let longer = [&body.bytes[..], &[0]].concat();
    assert_eq!(reason(member.judge(&longer, Rule::Accepted)), "Body.scilla_rules: expected 4 bytes, got 1");
    let large = vec![0; (256 << 10) + 1];
    assert_eq!(reason(member.judge(&large, Rule::Accepted)), "Body: expected at most 262144 bytes, got 262145");
    let height = member.height().next().and_then(Height::next).unwrap();
    let other = member.council.judge(&mut member.disk, height, &body.bytes, Rule::Accepted);
    assert_eq!(reason(other), "withheld: height: expected 1, got 3");
}

#[test]
fn transactions_without_room_in_a_body_come_in_later_blocks() {
    const EACH: u64 = 210;

    let changes = [("max-body = \"4MiB\"", "max-body = \"256KiB\""), ("shards = 1", "shards = 3")];
    let mut member = Member::of(testing::network(4, &changes));
    for number in 0..testing::PAYERS {
        for nonce in 1..=EACH {
            let payment = testing::payment(number, nonce, 1);
            member.chain.submit(member.chain.admit(payment, false).unwrap(), Timestamp::new(member.now)).unwrap();
        }
    }
    let most = member.network.parameters().body_limits();
    let mut bodies = Vec::new();
    while member.chain.has_candidates() {
        let height = member.height();
        let [body, _] = member.make_block();
        assert!(body.bytes.len() <= most.bytes, "height {height}: {} bytes", body.bytes.len());
        bodies.push(Body::decode(height, &body.bytes, &most).unwrap());
    }
    // The rest of the first body is room for the largest headers, and less than one transaction.
    let len = bodies[0].encode().len();
    assert!(len > most.bytes - 5 * 1_024, "{len} bytes");
    // No committee uses the room of the others.
    let committees = |bodies: &[Body]| -> BTreeSet<_> {
        let used = bodies.iter().flat_map(|body| &body.micro_headers).filter(|header| header.tx_count > 0);
        used.map(|header| header.shard).collect()
    };
    assert!(committees(&bodies).len() > 1);
    assert_eq!(committees(&bodies[..1]), committees(&bodies));
    let total: usize = bodies.iter().map(|body| body.transactions.len()).sum();
    assert_eq!(total, usize::try_from(EACH).unwrap() * testing::PAYERS);
}

#[test]
fn a_dropped_candidate_is_executed_again() {
    let mut member = Member::new();
    let body = member.propose(0, 0).unwrap();
    let bodies: Vec<_> =
        (1..=5).map(|time| member.changed(&body, |body| body.timestamp = Timestamp::new(member.now + time))).collect();
    for bytes in &bodies {
        assert!(matches!(member.judge(bytes, Rule::Accepted), Verdict::Valid(_)));
    }
    assert_eq!((member.disk.executions, member.council.next.candidates.len()), (5, 4));
    // The latest candidates are known.
    assert!(matches!(member.judge(&bodies[4], Rule::Accepted), Verdict::Valid(_)));
    assert_eq!(member.disk.executions, 5);
    let id = EntryId::of_body(&member.network.id(), member.height(), &bodies[0]);
    assert!(matches!(member.decide(id, None), Err(DecideError::Missing { .. })));
    assert!(matches!(member.decide(id, Some(&bodies[1])), Err(DecideError::Bytes { .. })));
    member.decide(id, Some(&bodies[0])).unwrap();
    assert_eq!((member.disk.executions, member.council.next.candidates.len()), (6, 0));
}

#[test]
fn the_own_body_outlives_its_execution() {
    let mut member = Member::new();
    let body = member.propose(0, 0).unwrap();
    for time in 1..=4 {
        let bytes = member.changed(&body, |body| body.timestamp = Timestamp::new(member.now + time));
        assert!(matches!(member.judge(&bytes, Rule::Accepted), Verdict::Valid(_)));
    }
    assert_eq!(member.propose(1, 0).unwrap(), body);
    member.decide(body.id, None).unwrap();
    assert_eq!(member.disk.executions, 5);
}

#[test]
fn a_failing_disk_is_no_verdict() {
    let mut member = Member::new();
    member.pay(1..=2);
    let body = member.propose(0, 0).unwrap();
    let other = member.changed(&body, |body| body.timestamp = Timestamp::new(member.now + 1));
    let other_id = EntryId::of_body(&member.network.id(), member.height(), &other);
    member.disk.is_full = true;
    let withheld = member.judge(&other, Rule::Accepted);
    assert!(matches!(withheld, Verdict::Withheld(Withheld::Chain(_))), "{withheld:?}");
    let error = member.decide(other_id, Some(&other)).unwrap_err();
    assert!(matches!(error, DecideError::Chain { .. }) && !error.is_fatal(), "{error}");
    member.disk.is_full = false;
    member.decide(other_id, Some(&other)).unwrap();
    let bytes = member.seal(1).encode();
    let id = member.seal_id(&bytes);
    assert!(matches!(member.judge(&bytes, Rule::Accepted), Verdict::Valid(got) if got == id));
    member.disk.is_full = true;
    for _ in 0..3 {
        let error = member.decide(id, None).unwrap_err();
        assert!(matches!(error, DecideError::Commit { .. } | DecideError::Chain { .. }), "{error}");
        assert!(!error.is_fatal());
        assert_eq!(member.height().get(), 2);
    }
    member.disk.is_full = false;
    assert!(matches!(member.decide(id, None), Ok(Decided::Block(_))));
    let snapshot = member.disk.producer.store().snapshot();
    assert_eq!(entry_bytes(&snapshot, Height::new(1).unwrap(), member.network.parameters()).unwrap().unwrap(), other);
    assert_eq!(entry_bytes(&snapshot, Height::new(2).unwrap(), member.network.parameters()).unwrap().unwrap(), bytes);
}

#[test]
fn a_false_seal_is_invalid() {
    let mut member = Member::new();
    let earlier = member.make_block();
    let body = member.propose(0, 0).unwrap();
    // A seal has no verdict before the decision of its body.
    let seal_height = member.height().next().unwrap();
    let early = member.council.judge(&mut member.disk, seal_height, &earlier[1].bytes, Rule::Accepted);
    assert!(matches!(early, Verdict::Withheld(Withheld::Height { .. })), "{early:?}");
    member.decide(body.id, None).unwrap();
    assert!(matches!(member.propose(0, 0), Err(ProposalError::NoSeal)));
    let (seal, other) = (member.seal(1), member.seal(2));
    let foreign: Vec<_> = testing::keys(5).into_iter().skip(1).collect();
    let items = member.council.next.decided.as_ref().unwrap().session.task().items.clone();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("too many bits", Seal { signers: vec![true; 4], ..seal.clone() }.encode()),
        ("too few bits", Seal { signers: vec![true, true, false, false], ..seal.clone() }.encode()),
        ("other signers", Seal { signers: vec![true, false, true, true], ..seal.clone() }.encode()),
        ("bits of a larger committee", Seal { signers: vec![true, true, false, true, false], ..seal.clone() }.encode()),
        ("foreign signer", testing::seal(&foreign, &[true, true, false, true], &items).encode()),
        ("missing item", Seal { items: seal.items[1..].to_vec(), ..seal.clone() }.encode()),
        ("additional item", Seal { items: [&seal.items[..], &seal.items[..1]].concat(), ..seal.clone() }.encode()),
        ("items in another order", Seal { items: seal.items.iter().rev().copied().collect(), ..seal.clone() }.encode()),
        ("first round of another seal", {
            let mut seal = seal.clone();
            seal.items[0] = ItemSignatures { cs1: other.items[0].cs1, ..seal.items[0] };
            seal.encode()
        }),
        ("second round of another seal", {
            let mut seal = seal.clone();
            seal.items[1] = ItemSignatures { cs2: other.items[1].cs2, ..seal.items[1] };
            seal.encode()
        }),
        ("seal of another body", earlier[1].bytes.to_vec()),
        ("body", body.bytes.to_vec()),
        ("more bytes", [&seal.encode()[..], &[0]].concat()),
        ("no bytes", Vec::new()),
    ];
    for (name, bytes) in cases {
        let id = member.seal_id(&bytes);
        let verdict = member.judge(&bytes, Rule::Accepted);
        assert!(matches!(verdict, Verdict::Invalid { id: got, .. } if got == id), "{name}: {verdict:?}");
        let error = member.decide(id, Some(&bytes)).unwrap_err();
        assert!(error.is_fatal() && text(&error).ends_with(&reason(verdict)), "{name}: {}", text(&error));
    }
    // Two seals of one body can be valid. The committee decides which of them the block has.
    for seal in [&seal, &other] {
        assert!(matches!(member.judge(&seal.encode(), Rule::Accepted), Verdict::Valid(_)));
    }
    let id = member.seal_id(&other.encode());
    assert!(matches!(member.decide(id, None), Ok(Decided::Block(_))));
    assert_eq!(member.height().kind(), EntryKind::Body);
}

#[test]
fn an_early_ready_waits_for_the_decision() {
    let network = testing::network(4, &[]);
    let mut members: Vec<_> = (0..4).map(|index| Member::at(network.clone(), index)).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let body = members[0].propose(0, 0).unwrap();
    let (seal_height, leader) = (Height::new(2).unwrap(), 2);
    assert_eq!(proposer(4, seal_height, 0), leader);
    let mut send = |member: &mut Member| {
        member.decide(body.id, Some(&body.bytes)).unwrap();
        member.council.start_round(seal_height, 0, &mut rng)
    };
    let mut readys = Vec::new();
    for index in [0, 1, 3] {
        let effects = send(&mut members[index]);
        let [Effect::Send(Recipient::One(to), ready)] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(*to, leader);
        readys.push(ready.clone());
    }
    // The leader has not decided the body. So it opens no session, and keeps the messages.
    let mut none = ChaCha8Rng::seed_from_u64(1 << 40);
    assert_eq!(members[leader].council.start_round(seal_height, 0, &mut none), []);
    for ready in &readys {
        assert_eq!(members[leader].council.receive(ready.clone(), &mut none), Ok(Vec::new()));
    }
    let effects = send(&mut members[leader]);
    let sent = |kind: fn(&Content) -> bool| {
        effects.iter().any(|effect| matches!(effect, Effect::Send(_, message) if kind(&message.content)))
    };
    assert!(sent(|content| matches!(content, Content::Ready { .. })), "{effects:?}");
    assert!(sent(|content| matches!(content, Content::Set { .. })), "{effects:?}");
    // The round of another height has no effect. The start of a later round reports the failure of the open session.
    let other = Height::new(4).unwrap();
    assert_eq!(members[leader].council.start_round(other, 0, &mut none), []);
    let effects = members[leader].council.start_round(seal_height, 1, &mut none);
    assert!(matches!(effects.first(), Some(Effect::Failed(_))), "{effects:?}");
}

#[test]
fn a_member_without_the_decision_answers_nothing() {
    let network = testing::network(4, &[]);
    let [mut first, mut second] = [0, 2].map(|index| Member::at(network.clone(), index));
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let body = first.propose(0, 0).unwrap();
    second.decide(body.id, Some(&body.bytes)).unwrap();
    let effects = second.council.start_round(Height::new(2).unwrap(), 0, &mut rng);
    let messages = effects.into_iter().filter_map(|effect| match effect {
        Effect::Send(_, message) => Some(message),
        Effect::Timer(_) | Effect::Sealed(_) | Effect::Failed(_) | Effect::Fault { .. } => None,
    });
    let messages: Vec<_> = messages.collect();
    assert!(!messages.is_empty());
    for message in messages {
        let session = message.session;
        assert_eq!(first.council.receive(message, &mut rng), Ok(Vec::new()));
        // A challenge is dropped, whatever its content.
        let content = Content::Challenge(CoSignRound::First, Vec::new());
        let challenge = CoSignMessage::new(&network.id(), session, 2, content, &testing::keys(4)[2]);
        assert_eq!(first.council.receive(challenge.clone(), &mut rng), Err(Rejected::NotDue));
        let forged = CoSignMessage { from: 1, ..challenge };
        assert!(first.council.receive(forged, &mut rng).is_err());
    }
}

#[test]
fn state_of_earlier_blocks_is_dropped() {
    let network = testing::network(4, &[]);
    let [mut fast, mut slow] = [0, 1].map(|index| Member::at(network.clone(), index));
    let stale = slow.propose(0, 0).unwrap();
    let [body, seal] = fast.make_block();
    // The chain of the slow member gets the block without the council of this member.
    let mut other = Council::new(&network, testing::keys(4).remove(3)).unwrap();
    let height = slow.height();
    other.decide(&mut slow.disk, height, body.id, Some(&body.bytes)).unwrap();
    other.decide(&mut slow.disk, height.next().unwrap(), seal.id, Some(&seal.bytes)).unwrap();
    assert_eq!(slow.height().get(), 3);
    slow.now += 1_000_000;
    let next = slow.propose(0, 0).unwrap();
    assert_ne!(next.id, stale.id);
    assert!(matches!(fast.judge(&next.bytes, Rule::Accepted), Verdict::Valid(id) if id == next.id));
}
