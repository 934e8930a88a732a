//! Helpers of the tests.

use std::{fmt::Write as _, ops::RangeInclusive, sync::Arc};

use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};
use silica_chain::{
    BuildError, Chain, CommitError, CommittedBlock, Edit, EditError, ExecutedBlock, Genesis, InvalidBlock, PassError,
    Producer, Proposal, ProposeError, SealedBlock,
    consensus::{Application, Cause},
    state::{Store, StoreOptions},
};
use silica_crypto::{
    KeyPair,
    multisig::{self, Challenge, CommitPoint, CommitSecret},
};
use silica_protocol::{
    Account, Address, BlockHash, BlockNumber, ChainId, CoSignatures, CommitteeHash, DsBlockHeader, DsBlockNumber, Gas,
    GasPrice, MbInfoHash, MicroBlockHeader, Peer, Qa, ReceiptsHash, Reserved, ShardId, ShardingHash, Signature,
    StateDeltaHash, StateRoot, SwInfo, SwVersion, Timestamp, Transaction, TxBlock, TxBlockHeader, TxRoot, Votes,
};

use crate::{
    entry::{Body, ItemSignatures, Seal},
    network::{Member, NetworkFile, PeerId},
};

/// Returns the key pairs of `count` members.
pub(crate) fn keys(count: usize) -> Vec<KeyPair> {
    let key = |index: usize| KeyPair::from_hex(&format!("{:064x}", 0x0101_0101 + index)).unwrap();
    (0..count).map(key).collect()
}

/// Returns the text of a network file with `count` members.
pub(crate) fn network_file(count: usize) -> String {
    network_file_with("example-4", 333, count)
}

/// Returns the text of a network file with this name, chain id and number of members.
pub(crate) fn network_file_with(name: &str, chain_id: u16, count: usize) -> String {
    let keys = keys(count);
    let mut text = format!(
        r#"[network]
name = "{name}"
chain-id = {chain_id}
genesis-time = 1790000000000000
shards = 1
blocks-per-ds-epoch = 100
shard-gas-limit = 400000
ds-gas-limit = 500000
minimum-gas-price = 2000000000
coinbase-reward = "176000000000000000"
accounts = {{ file = "accounts.json", sha256 = "{}" }}
blocks = "interval"
interval = "1s"
drift = "2s"
propose-timeout = "1s"
max-body = "4MiB"

"#,
        "11".repeat(32),
    );
    for (index, key) in keys.iter().enumerate() {
        let peer = PeerId::new([u8::try_from(index).unwrap(); 32]);
        let member = Member::new(format!("m{index}"), key, peer, name, ChainId::new(chain_id));
        writeln!(
            text,
            "\n[[member]]\nname = \"m{index}\"\nkey = \"{}\"\npossession = \"{}\"\npeer = \"{peer}\"",
            member.key, member.possession
        )
        .unwrap();
    }
    text.push_str("\n[[address]]\nname = \"m0\"\nagreement = \"10.0.0.1:4211\"\n");
    text
}

/// Returns a network with `count` members, DS epochs of five blocks, and other changes to the text of its file.
pub(crate) fn network(count: usize, changes: &[(&str, &str)]) -> NetworkFile {
    let mut text = network_file(count);
    for (from, to) in [("blocks-per-ds-epoch = 100", "blocks-per-ds-epoch = 5")].iter().chain(changes) {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    NetworkFile::parse(&text).unwrap()
}

/// Number of accounts with money.
pub(crate) const PAYERS: usize = 8;

/// Returns the key of an account with money.
pub(crate) fn payer(number: usize) -> KeyPair {
    KeyPair::from_hex(&format!("{:064x}", 0x0202_0202 + number % PAYERS)).unwrap()
}

/// Returns the payment of a payer with this nonce.
pub(crate) fn payment(number: usize, nonce: u64, amount: u128) -> Transaction {
    let payment = Transaction::payment(Address::new([9; 20]), Qa::new(amount)).chain_id(ChainId::new(333));
    payment.nonce(nonce).sign(&payer(number)).unwrap()
}

/// Returns the accounts of the genesis.
pub(crate) fn genesis() -> Genesis {
    let account = Account::with_balance(Qa::new(10_u128.pow(18)));
    Genesis::new((0..PAYERS).map(|number| (payer(number).address(), account)).collect()).unwrap()
}

/// Opens the chain of a network.
pub(crate) fn open(store: Store, network: &NetworkFile) -> (Chain, Producer) {
    let parameters = network.parameters();
    let (config, time) = (parameters.chain_config(), parameters.genesis_time);
    silica_chain::open(store, config, &genesis(), network.committees(), time).unwrap()
}

/// Executes all blocks of a store again, and compares each header, state root, receipt and signature.
pub(crate) fn check(store: &Store, network: &NetworkFile) {
    let (scratch, config) = (Store::ephemeral(StoreOptions::default()), network.parameters().chain_config());
    silica_chain::check(store, &scratch, config, &genesis(), network.committees(), &mut |_, _| {}).unwrap();
}

/// Opens the chain of a network on an empty store in memory.
pub(crate) fn new_chain(network: &NetworkFile) -> (Chain, Producer) {
    open(Store::ephemeral(StoreOptions::default()), network)
}

/// A chain whose disk can fail.
pub(crate) struct Disk {
    pub(crate) producer: Producer,
    pub(crate) is_full: bool,
    pub(crate) executions: usize,
}

impl Disk {
    pub(crate) fn new(producer: Producer) -> Self {
        Self { producer, is_full: false, executions: 0 }
    }
}

impl Application for Disk {
    fn head(&self) -> Arc<TxBlock> {
        self.producer.head()
    }

    fn propose(&mut self, at: Timestamp, cause: Cause) -> Result<ExecutedBlock, ProposeError> {
        self.producer.propose(at, cause)
    }

    fn propose_edit(&mut self, at: Timestamp, edit: &Edit) -> Result<ExecutedBlock, EditError> {
        self.producer.propose_edit(at, edit)
    }

    fn verify(&mut self, proposal: &Proposal) -> Result<ExecutedBlock, InvalidBlock> {
        self.executions += 1;
        if self.is_full { Err(BuildError::Failed.into()) } else { self.producer.verify(proposal) }
    }

    fn commit(&mut self, block: SealedBlock) -> Result<Arc<CommittedBlock>, CommitError> {
        let number = block.tx_block().header.number;
        let source = silica_chain::state::CommitError::NotReplaying;
        if self.is_full { Err(CommitError::Store { number, source }) } else { self.producer.commit(block) }
    }

    fn write(&mut self, block: SealedBlock) -> Result<(), CommitError> {
        self.producer.write(block)
    }

    fn flush(&mut self) -> Result<Vec<Arc<CommittedBlock>>, CommitError> {
        self.producer.flush()
    }

    fn pass(&mut self, at: Timestamp, blocks: u64) -> Result<Option<RangeInclusive<BlockNumber>>, PassError> {
        self.producer.pass(at, blocks)
    }

    fn has_candidates(&self) -> bool {
        self.producer.has_candidates()
    }
}

/// Returns the body of a Tx block with one shard, and with this number of payments.
pub(crate) fn body(block: u64, with_ds: bool, payments: u64) -> Body {
    let keys = keys(2);
    let payment = |nonce: u64| {
        let payment = Transaction::payment(Address::new([9; 20]), Qa::new(nonce.into())).chain_id(ChainId::new(333));
        payment.nonce(nonce).sign(&keys[1]).unwrap()
    };
    let transactions: Vec<_> = (1..=payments).map(payment).collect();
    let leader = keys[0].public_key();
    let micro_header = |shard: u32| {
        let of_shard = if shard == 0 { payments - payments / 3 } else { payments / 3 };
        MicroBlockHeader {
            version: 1,
            committee_hash: CommitteeHash::new([2; 32]),
            prev_hash: BlockHash::new([3; 32]),
            shard: ShardId::new(shard),
            gas_limit: Gas::new(400_000),
            gas_used: Gas::new(50 * of_shard),
            rewards: Qa::new(u128::from(of_shard) * 100_000_000_000),
            epoch: BlockNumber::new(block),
            tx_root: TxRoot::new([4; 32]),
            tx_count: u32::try_from(of_shard).unwrap(),
            miner: leader,
            ds_block: DsBlockNumber::new(1),
            state_delta_hash: StateDeltaHash::new([5; 32]),
            receipts_hash: ReceiptsHash::new([6; 32]),
        }
    };
    Body {
        timestamp: Timestamp::new(1_790_000_000_000_000 + block),
        ds_header: with_ds.then(|| DsBlockHeader { number: DsBlockNumber::new(1), ..DsBlockHeader::genesis(leader) }),
        header: TxBlockHeader {
            number: BlockNumber::new(block),
            tx_count: u32::try_from(payments).unwrap(),
            ..TxBlockHeader::genesis(leader)
        },
        micro_headers: vec![micro_header(0), micro_header(1)],
        transactions,
        scilla_rules: None,
    }
}

/// Returns the seal of items by the given signers, made directly with the functions of a multisignature.
pub(crate) fn seal(keys: &[KeyPair], signers: &[bool], items: &[Vec<u8>]) -> Seal {
    seal_with_seed(keys, signers, items, 1 << 40)
}

/// Returns the seal of items with nonces of this seed.
pub(crate) fn seal_with_seed(keys: &[KeyPair], signers: &[bool], items: &[Vec<u8>], seed: u64) -> Seal {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let keys: Vec<_> = keys.iter().zip(signers).filter(|(_, signer)| **signer).map(|(key, _)| key).collect();
    let public: Vec<_> = keys.iter().map(|key| key.public_key()).collect();
    let aggregate = multisig::aggregate_keys(&public).unwrap();
    let mut sign = |message: &[u8]| {
        let secrets: Vec<_> = keys.iter().map(|_| CommitSecret::generate(&mut rng)).collect();
        let points: Vec<_> = secrets.iter().map(CommitSecret::point).collect();
        let challenge = Challenge::new(&CommitPoint::aggregate(&points).unwrap(), &aggregate, message).unwrap();
        let responses: Vec<_> = secrets
            .into_iter()
            .zip(&keys)
            .map(|(nonce, key)| nonce.respond(&challenge, key.secret()).unwrap())
            .collect();
        multisig::combine(&challenge, &responses).unwrap()
    };
    let mut sign_item = |header: &Vec<u8>| {
        let cs1 = sign(header);
        let first = CoSignatures { cs1, b1: signers.to_vec(), ..CoSignatures::unsigned(0) };
        ItemSignatures { cs1, cs2: sign(&first.message_for_second_round(header).unwrap()) }
    };
    Seal { signers: signers.to_vec(), items: items.iter().map(&mut sign_item).collect() }
}

/// A change of a body.
pub(crate) type Change = Box<dyn Fn(&mut Body)>;

/// Returns named changes of a valid body with transactions and a DS block. Each change makes the body false. There is a
/// change for each field of each header, and there are changes of the transactions.
pub(crate) fn false_bodies() -> Vec<(&'static str, Change)> {
    let key = keys(9)[8].public_key();
    let mut changes: Vec<(&'static str, Change)> = Vec::new();
    macro_rules! change {
        ($($place:ident . $field:ident = $value:expr;)*) => {$(
            changes.push((concat!(stringify!($place), ".", stringify!($field)), Box::new(move |body: &mut Body| {
                let header = change!(@$place body);
                header.$field = $value;
            })));
        )*};
        (@tx $body:ident) => { &mut $body.header };
        (@micro $body:ident) => { &mut $body.micro_headers[0] };
        (@ds $body:ident) => { $body.ds_header.as_mut().unwrap() };
    }
    change! {
        tx.version = 99;
        tx.committee_hash = CommitteeHash::new([1; 32]);
        tx.prev_hash = BlockHash::new([1; 32]);
        tx.gas_limit = Gas::new(1);
        tx.gas_used = Gas::new(1);
        tx.rewards = Qa::new(1);
        tx.number = BlockNumber::new(77);
        tx.state_root = StateRoot::new([1; 32]);
        tx.state_delta_hash = StateDeltaHash::new([1; 32]);
        tx.mb_info_hash = MbInfoHash::new([1; 32]);
        tx.tx_count = 77;
        tx.miner = key;
        tx.ds_block = DsBlockNumber::new(77);
        micro.version = 99;
        micro.committee_hash = CommitteeHash::new([1; 32]);
        micro.prev_hash = BlockHash::new([1; 32]);
        micro.shard = ShardId::new(1);
        micro.gas_limit = Gas::new(1);
        micro.gas_used = Gas::new(1);
        micro.rewards = Qa::new(1);
        micro.epoch = BlockNumber::new(77);
        micro.tx_root = TxRoot::new([1; 32]);
        micro.tx_count = 77;
        micro.miner = key;
        micro.ds_block = DsBlockNumber::new(77);
        micro.state_delta_hash = StateDeltaHash::new([1; 32]);
        micro.receipts_hash = ReceiptsHash::new([1; 32]);
        ds.version = 99;
        ds.committee_hash = CommitteeHash::new([1; 32]);
        ds.prev_hash = BlockHash::new([1; 32]);
        ds.ds_difficulty = 99;
        ds.difficulty = 99;
        ds.leader = key;
        ds.number = DsBlockNumber::new(77);
        ds.epoch = BlockNumber::new(77);
        ds.gas_price = GasPrice::new(Qa::new(77));
        ds.software = SwInfo { node: SwVersion { major: 77, ..SwVersion::default() }, ..SwInfo::default() };
        ds.pow_winners = [(key, Peer::default())].into();
        ds.sharding_hash = ShardingHash::new([1; 32]);
        ds.reserved = Reserved::new([1; Reserved::LEN]);
        ds.removed = vec![key];
        ds.proposals = [(1, Votes::default())].into();
    }
    changes.push(("no DS block", Box::new(|body| body.ds_header = None)));
    changes.push(("one micro block less", Box::new(|body| body.micro_headers.truncate(1))));
    changes.push(("one transaction less", Box::new(|body| body.transactions.truncate(3))));
    changes.push(("transactions in another order", Box::new(|body| body.transactions.swap(0, 1))));
    changes.push(("a transaction twice", Box::new(|body| body.transactions[1] = body.transactions[0].clone())));
    changes.push(("another transaction", Box::new(|body| body.transactions[0] = payment(0, 1, 77))));
    changes.push(("a transaction with a nonce gap", Box::new(|body| body.transactions[0] = payment(0, 50, 1))));
    changes.push((
        "a transaction with a false signature",
        Box::new(|body| {
            let transaction = body.transactions[0].clone().into_unsigned();
            body.transactions[0] = transaction.with_signature(Signature::new([9; 64]));
        }),
    ));
    changes
}
