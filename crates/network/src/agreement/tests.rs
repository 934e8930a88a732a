//! The end of the consensus engine, and a journal that does not belong to the chain.

use std::fmt::Write as _;

use arc_malachitebft_engine::node::NodeMsg;
use ractor::ActorCell;
use silica_chain::{
    Genesis, Producer,
    state::{Store, StoreOptions},
};
use silica_council::{Member, PeerId};
use silica_protocol::ChainId;

use super::*;
use crate::shared::Work;

/// A driver that does all work at once.
struct AtOnce(Mutex<Producer>);

impl Driver for AtOnce {
    fn run(&self, work: Work) {
        work(&mut *self.0.lock());
    }

    fn now(&self) -> Timestamp {
        Timestamp::new(1_790_000_060_000_000)
    }

    fn received(&self, _: usize, _: Vec<u8>) {}

    fn confirmed(&self, _: usize, _: [u8; 32], _: &[u16]) {}
}

fn key(index: u8) -> KeyPair {
    KeyPair::from_hex(&format!("{:02x}", index + 1).repeat(32)).unwrap()
}

/// Returns the settings of the first member of a network of two, on a new chain. The other member does not run.
fn settings(directory: &Path) -> Settings<AtOnce> {
    let mut text = format!(
        "[network]\nname = \"test\"\nchain-id = 333\ngenesis-time = 1790000000000000\nshards = 1\n\
         blocks-per-ds-epoch = 5\nshard-gas-limit = 400000\nds-gas-limit = 500000\nminimum-gas-price = 2000000000\n\
         coinbase-reward = \"176000000000000000\"\naccounts = {{ file = \"accounts.json\", sha256 = \"{}\" }}\n",
        "11".repeat(32)
    );
    for index in 0..2 {
        let peer = Keypair::ed25519_from_bytes(&mut [index; 32]).unwrap().public().to_peer_id();
        let peer: PeerId = peer.to_string().parse().unwrap();
        write!(text, "{}", Member::new(format!("m{index}"), &key(index), peer, "test", ChainId::new(333))).unwrap();
    }
    let network = NetworkFile::parse(&text).unwrap();
    let (parameters, genesis) = (network.parameters(), Genesis::new([].into()).unwrap());
    let (store, time) = (Store::ephemeral(StoreOptions::default()), parameters.genesis_time);
    let (chain, producer) =
        silica_chain::open(store, parameters.chain_config(), &genesis, network.committees(), time).unwrap();
    Settings {
        network,
        key: key(0),
        peer_key: [0; 32].into(),
        directory: directory.to_owned(),
        listen: Some("127.0.0.1:0".to_owned()),
        chain,
        driver: Arc::new(AtOnce(Mutex::new(producer))),
    }
}

/// Ends the engine, and returns the reason why the member no longer votes.
#[track_caller]
fn reason_after(end: impl Fn(&ActorCell, &ActorCell)) -> String {
    let directory = tempfile::tempdir().unwrap();
    let agreement = start(settings(directory.path())).unwrap();
    assert!(agreement.status().votes());
    let consensus = agreement.shared.links.get().unwrap().consensus.get_cell();
    end(&consensus, &consensus.try_get_supervisor().unwrap());
    let begun = Instant::now();
    loop {
        if let Some(reason) = agreement.status().failed {
            return reason;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "the member votes");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_end_of_the_engine_stops_the_votes() {
    let expected = "the consensus engine has stopped; the log has the reason";
    assert_eq!(reason_after(|consensus, _| consensus.stop(None)), expected);
    // The engine sends this message if the thread of its log panics, or cannot write. It then stops its other actors.
    let failure = || NodeMsg::SafetyFailure("a failure of the log".to_owned());
    assert_eq!(reason_after(|_, node| node.send_message(failure()).unwrap()), expected);
}

#[test]
fn a_stop_waits_for_the_end_of_the_engine() {
    let directory = tempfile::tempdir().unwrap();
    let agreement = start(settings(directory.path())).unwrap();
    let consensus = agreement.shared.links.get().unwrap().consensus.get_cell();
    agreement.stop();
    // An actor whose task ends with the runtime does not get this status.
    assert_eq!(consensus.get_status(), ActorStatus::Stopped);
}

#[test]
fn a_stop_does_not_wait_for_blocked_threads() {
    let directory = tempfile::tempdir().unwrap();
    let agreement = start(settings(directory.path())).unwrap();
    let (begun, ended) = (mpsc::channel(), mpsc::channel());
    for _ in 0..THREADS {
        let (begun, ended) = (begun.0.clone(), ended.0.clone());
        agreement.runtime.lock().as_ref().unwrap().spawn(async move {
            begun.send(()).unwrap();
            thread::sleep(Duration::from_mins(1));
            let _ = ended.send(());
        });
    }
    for _ in 0..THREADS {
        begun.1.recv().unwrap();
    }
    agreement.stop();
    assert_eq!(ended.1.try_recv(), Err(mpsc::TryRecvError::Empty));
}

/// The chain is an old copy, and the directory of the agreement is newer.
#[test]
fn a_journal_of_a_later_block_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let settings = settings(directory.path());
    let mut journal = Journal::create(directory.path(), settings.network.id()).unwrap();
    let (height, id) = (Height::new(5).unwrap(), silica_council::EntryId::new([1; 32]));
    journal.append(&JournalRecord { kind: RecordKind::Entry, height, id, content: vec![1; 10] }).unwrap();
    drop(journal);
    fs::write(directory.path().join(WAL), "").unwrap();
    let error = start(settings).unwrap_err();
    assert!(matches!(error, StartError::Ahead { expected: 1, got: 3 }), "{error}");
    let expected = format!("agreement journal: expected records of blocks up to 1, got a record of block 3; {REMEDY}");
    assert_eq!(error.to_string(), expected);
}
