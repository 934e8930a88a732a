//! The bytes that a member of a network reads: batches of transactions, entries, co-signature messages and the network
//! file. A decoded value encodes to the same bytes.

pub mod batch {
    //! Batches of transactions.

    use silica_council::TransactionBatch;
    use silica_protocol::{Address, ChainId, PublicKey, Qa, Signature, Transaction};

    /// Decodes bytes as a batch.
    pub fn check(data: &[u8]) {
        let Ok(transactions) = TransactionBatch::decode(data) else { return };
        assert_eq!(of(&transactions), data, "one batch has one encoding");
    }

    /// Returns batches of up to seven payments. Their signatures are false, which a decoder does not check.
    pub fn seeds() -> Vec<Vec<u8>> {
        let payment = |nonce: u64| {
            let payment = Transaction::payment(Address::new([7; 20]), Qa::new(5)).chain_id(ChainId::new(333));
            let key = PublicKey::new([2; 33]);
            payment.nonce(nonce).build(key).expect("the fields are complete").with_signature(Signature::new([1; 64]))
        };
        (0..8).map(|count| of(&(0..count).map(payment).collect::<Vec<_>>())).collect()
    }

    fn of(transactions: &[Transaction]) -> Vec<u8> {
        let mut batch = TransactionBatch::default();
        assert!(transactions.iter().all(|transaction| batch.push(transaction)), "the batch has room");
        batch.take()
    }
}

pub mod cosign {
    //! Messages of co-signature sessions.

    use silica_council::CoSignMessage;

    /// Decodes bytes as a message.
    pub fn check(data: &[u8]) {
        let Ok(message) = CoSignMessage::decode(data) else { return };
        assert_eq!(message.encode(), data, "one message has one encoding");
    }

    /// Returns messages of each kind. Their signatures are false, which a decoder does not check.
    pub fn seeds() -> Vec<Vec<u8>> {
        // The point of the key 1, and small scalars.
        let point = hex::decode("0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798").expect("digits");
        let list = |count: u8, element: &[u8]| [&[0, 0, 0, count][..], &element.repeat(count.into())].concat();
        let points = list(2, &point);
        let contents = [
            [vec![1; 32], list(2, &[2; 64])].concat(),
            [vec![0, 4, 0b1011_0000], [list(1, &[2; 64]), vec![3; 64]].concat().repeat(3)].concat(),
            points.clone(),
            [vec![0, 0, 0, 2], points.repeat(2)].concat(),
            list(2, &[1; 32]),
            list(2, &[4; 64]),
            points.clone(),
            [vec![0, 0, 0, 1], points].concat(),
            list(1, &[5; 32]),
        ];
        let frame = |(kind, content): (u8, Vec<u8>)| {
            [&[kind][..], &8_u64.to_be_bytes(), &2_u32.to_be_bytes(), &[1, 3], &content, &[9; 64]].concat()
        };
        (1..).zip(contents).map(frame).collect()
    }
}

pub mod entry {
    //! Bodies and seals.

    use silica_council::{Body, BodyLimits, Height, Seal};
    use silica_protocol::{
        Address, BlockNumber, ChainId, DsBlockHeader, MicroBlockHeader, PublicKey, Qa, ShardId, Signature, Timestamp,
        Transaction, TxBlockHeader,
    };

    const LIMITS: BodyLimits = BodyLimits { bytes: 1 << 16, micro_blocks: 4, transactions: 100 };

    /// Decodes bytes as the body at a height that the first byte names, and as a seal.
    pub fn check(data: &[u8]) {
        let Some((first, bytes)) = data.split_first() else { return };
        if let Some(height) = Height::new(u64::from(*first)) {
            if let Ok(body) = Body::decode(height, bytes, &LIMITS) {
                assert_eq!(body.encode(), bytes, "one body has one encoding");
                assert_eq!(body.items().len(), body.micro_headers.len() + 1 + usize::from(body.ds_header.is_some()));
                let rules = body.scilla_rules;
                assert_eq!(Body::of_proposal(body.clone().into_proposal(), rules), Ok(body));
            }
        }
        if let Ok(seal) = Seal::decode(bytes, usize::from(*first)) {
            assert_eq!(seal.encode(), bytes, "one seal has one encoding");
        }
    }

    /// Returns bodies with and without DS block and transactions, and seals.
    pub fn seeds() -> Vec<Vec<u8>> {
        let key = PublicKey::new([2; 33]);
        let micro = |shard, tx_count| MicroBlockHeader {
            version: 1,
            committee_hash: Default::default(),
            prev_hash: Default::default(),
            shard: ShardId::new(shard),
            gas_limit: Default::default(),
            gas_used: Default::default(),
            rewards: Default::default(),
            epoch: BlockNumber::new(1),
            tx_root: Default::default(),
            tx_count,
            miner: key,
            ds_block: Default::default(),
            state_delta_hash: Default::default(),
            receipts_hash: Default::default(),
        };
        let payment = || {
            let payment = Transaction::payment(Address::new([7; 20]), Qa::new(5)).chain_id(ChainId::new(333));
            payment.nonce(1).build(key).expect("the fields are complete").with_signature(Signature::new([1; 64]))
        };
        let body = |with_ds: bool, count: u32| Body {
            timestamp: Timestamp::new(7),
            ds_header: with_ds.then(|| DsBlockHeader::genesis(key)),
            header: TxBlockHeader { number: BlockNumber::new(1), ..TxBlockHeader::genesis(key) },
            micro_headers: vec![micro(0, count), micro(1, 0)],
            transactions: (0..count).map(|_| payment()).collect(),
            scilla_rules: None,
        };
        let changed = Body { scilla_rules: "latest/3".parse().ok(), ..body(false, 1) };
        let bodies = [body(false, 0), body(false, 2), body(true, 0), body(true, 1), changed];
        let mut seeds: Vec<_> = bodies.iter().map(|body| [&[1], &body.encode()[..]].concat()).collect();
        for items in [0_u8, 1, 3, 4] {
            let seal = [&[4, 0, 4, 0b1101_0000, 0, 0, 0, items][..], &[6; 128].repeat(items.into())].concat();
            seeds.push(seal);
        }
        seeds
    }
}

pub mod network {
    //! Network files.

    use silica_council::NetworkFile;

    /// Parses text as a network file.
    pub fn check(data: &[u8]) {
        let Ok(text) = std::str::from_utf8(data) else { return };
        if let Ok(file) = NetworkFile::parse(text) {
            assert!(file.canonical().starts_with(b"silica network v1"));
            assert_eq!(file.committee().len(), file.members().len());
            assert!((2..=64).contains(&file.members().len()));
        }
    }

    /// Returns a complete table `network` whose members have false proofs, and that table with single faults.
    pub fn seeds() -> Vec<Vec<u8>> {
        let key = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
        let member = |name: char| {
            format!(
                "[[member]]\nname = \"{name}\"\nkey = \"{key}\"\npossession = \"{}\"\n\
                 peer = \"12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN\"\n",
                "01".repeat(64)
            )
        };
        let text = format!(
            "[network]\nname = \"a\"\nchain-id = 333\ngenesis-time = 1\nshards = 1\n\
             blocks-per-ds-epoch = 100\nshard-gas-limit = 400000\nds-gas-limit = 500000\nminimum-gas-price = 1\n\
             coinbase-reward = \"1\"\naccounts = {{ file = \"a\", sha256 = \"{}\" }}\nblocks = \"interval\"\n\
             interval = \"1s\"\ndrift = \"2s\"\npropose-timeout = \"1s\"\nmax-body = \"4MiB\"\n{}{}\
             [[address]]\nname = \"a\"\nagreement = \"10.0.0.1:1\"\nstream = \"https://a\"\n",
            "11".repeat(32),
            member('a'),
            member('b'),
        );
        let changes = [("1s", "1h"), ("4MiB", "4MB"), ("\"1\"", "1"), ("interval\"", "on-demand\""), ("= 333", "= {}")];
        let changed = changes.map(|(old, new)| text.replacen(old, new, 1));
        let few = ["", "[network]", "[[member]]\n[[member]]"].map(str::to_owned);
        [text].into_iter().chain(changed).chain(few).map(String::into_bytes).collect()
    }
}
