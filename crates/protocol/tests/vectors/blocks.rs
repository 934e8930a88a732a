use std::collections::BTreeMap;

use silica_protocol::{
    BlockHash, BlockNumber, CoSignatures, CommitteeHash, DsBlock, DsBlockHeader, DsBlockNumber, Gas, GasPrice, MbInfo,
    MbInfoHash, MicroBlock, MicroBlockHeader, Peer, PublicKey, Qa, ShardId, ShardMember, ShardingHash, Signature,
    SwInfo, SwVersion, Timestamp, TxBlock, TxBlockHeader, TxHash, TxRoot, Votes, sha256,
};

use crate::case::{Case, for_each_case};

#[test]
fn block_vectors_hold() {
    for_each_case("blocks.json", |case| {
        let kind = case.text("kind");
        case.skip("name");
        match &*kind {
            "ds_block" => ds_block(case),
            "tx_block" => tx_block(case),
            "tx_block_header" => {
                let (header, infos) = case.object("json", |json| (json.object("header", tx_header).0, mb_infos(json)));
                check_tx_header(case, &header, &infos);
            }
            "micro_block" => micro_block(case),
            "micro_block_header" => {
                let header = case.object("fields", micro_header);
                check_micro_header(case, &header);
            }
            "genesis_ds_block_header" => {
                let header = DsBlockHeader::genesis(case.parse("leader_key"));
                check_ds_header(case, &header);
            }
            "genesis_tx_block_header" => {
                let header = TxBlockHeader::genesis(case.parse("leader_key"));
                check_header(case, &header.encode(), header.hash());
                assert_eq!(TxBlockHeader::decode(&header.encode()), Ok(header));
            }
            "mbinfo_hash" => mbinfo_hash(case),
            "txn_root" => assert_eq!(TxRoot::of(&case.parse_list::<TxHash>("hashes")), case.parse("root")),
            "committee_hash" => committee_hash(case),
            "sharding_hash" => sharding_hash(case),
            "peer" => peer(case),
            kind => panic!("{}: unknown kind {kind}", case.label()),
        }
    });
}

fn check_header(case: &mut Case, encoded: &[u8], hash: BlockHash) {
    assert_eq!(encoded, case.bytes("header"), "{}", case.label());
    assert_eq!(hash, case.parse("block_hash"), "{}", case.label());
}

fn ds_block(case: &mut Case) {
    let (header, timestamp) = case.object("json", ds_header);
    check_ds_header(case, &header);
    let cosignatures =
        CoSignatures { cs1: case.parse("cs1"), b1: case.flags("b1"), cs2: case.parse("cs2"), b2: case.flags("b2") };
    check_cosignatures(case, &cosignatures, &header.encode());
    let block = DsBlock { header, cosignatures, timestamp };
    let serialized = case.bytes("serialized_block");
    assert_eq!(block.encode(), serialized);
    assert_eq!(DsBlock::decode(&serialized), Ok(block));
}

fn check_ds_header(case: &mut Case, header: &DsBlockHeader) {
    check_header(case, &header.encode(), header.hash());
    assert_eq!(DsBlockHeader::decode(&header.encode()).as_ref(), Ok(header));
}

fn ds_header(json: &mut Case) -> (DsBlockHeader, Timestamp) {
    let peers =
        json.objects("PoWWinnersIP", |peer| Peer::new(peer.parse("IP"), u16::try_from(peer.number("port")).unwrap()));
    let winners: Vec<PublicKey> = json.parse_list("PoWWinners");
    assert_eq!(winners.len(), peers.len());
    let proposals = if json.has("Governance") { json.objects("Governance", proposal) } else { Vec::new() };
    let header = DsBlockHeader {
        version: json.small("Version"),
        committee_hash: json.parse("CommitteeHash"),
        prev_hash: json.parse("PrevHash"),
        ds_difficulty: json.small("DifficultyDS").try_into().unwrap(),
        difficulty: json.small("Difficulty").try_into().unwrap(),
        leader: json.parse("LeaderPubKey"),
        number: json.parse("BlockNum"),
        epoch: json.parse("EpochNum"),
        gas_price: json.parse::<GasPrice>("GasPrice"),
        software: json.object("SWInfo", |info| SwInfo {
            node: software_version(info, "Zilliqa"),
            interpreter: software_version(info, "Scilla"),
        }),
        pow_winners: winners.into_iter().zip(peers).collect(),
        sharding_hash: json.parse("ShardingHash"),
        reserved: json.parse("ReservedField"),
        removed: json.parse_list("MembersEjected"),
        proposals: proposals.into_iter().collect(),
    };
    (header, json.parse("Timestamp"))
}

fn software_version(info: &mut Case, program: &str) -> SwVersion {
    let parts = info.list(program);
    let number = |at: usize| u32::try_from(parts[at].as_u64().unwrap()).unwrap();
    assert_eq!(parts.len(), 5);
    SwVersion {
        major: number(0),
        minor: number(1),
        fix: number(2),
        upgrade_at: parts[3].as_str().unwrap().parse().unwrap(),
        commit: number(4),
    }
}

fn proposal(json: &mut Case) -> (u32, Votes) {
    let mut votes = |member| -> BTreeMap<u32, u32> {
        if !json.has(member) {
            return BTreeMap::new();
        }
        json.objects(member, |vote| (vote.small("VoteValue"), vote.small("VoteCount"))).into_iter().collect()
    };
    let votes = Votes { ds: votes("DSVotes"), miners: votes("ShardVotes") };
    (json.small("ProposalId"), votes)
}

/// Compares the messages and signatures of both rounds with the published values, if the case has them.
fn check_cosignatures(case: &mut Case, cosignatures: &CoSignatures, header: &[u8]) {
    if !case.has("cosignature") {
        return;
    }
    let bits = |bits: &[bool]| bits.iter().map(|&bit| if bit { '1' } else { '0' }).collect::<String>();
    case.object("cosignature", |rounds| {
        let committee: Vec<PublicKey> = rounds.parse_list("committee");
        assert_eq!(cosignatures.b1.len(), committee.len());
        assert_eq!(rounds.bytes("round1_message"), header);
        assert_eq!(rounds.parse::<Signature>("round1_signature"), cosignatures.cs1);
        assert_eq!(rounds.text("round1_bits"), bits(&cosignatures.b1));
        assert_eq!(Some(rounds.bytes("round2_message")), cosignatures.message_for_second_round(header));
        assert_eq!(rounds.parse::<Signature>("round2_signature"), cosignatures.cs2);
        assert_eq!(rounds.text("round2_bits"), bits(&cosignatures.b2));
        // These members are sums of curve points, which the crate `crypto` checks.
        rounds.skip("round1_aggregate_key");
        rounds.skip("round2_aggregate_key");
    });
}

fn tx_block(case: &mut Case) {
    let (header, timestamp, micro_blocks, cosignatures) = case.object("json", |json| {
        let (header, timestamp) = json.object("header", tx_header);
        json.object("body", |body| {
            assert_eq!(header.hash(), body.parse("BlockHash"));
            let cosignatures = CoSignatures {
                cs1: body.parse("CS1"),
                b1: body.flags("B1"),
                cs2: body.parse("HeaderSign"),
                b2: body.flags("B2"),
            };
            (header, timestamp, body.objects("MicroBlockInfos", mb_info), cosignatures)
        })
    });
    check_tx_header(case, &header, &micro_blocks);
    check_cosignatures(case, &cosignatures, &header.encode());
    let block = TxBlock { header, micro_blocks, cosignatures, timestamp };
    let serialized = case.bytes("serialized_block");
    assert_eq!(block.encode(), serialized);
    assert_eq!(TxBlock::decode(&serialized), Ok(block));
}

fn check_tx_header(case: &mut Case, header: &TxBlockHeader, infos: &[MbInfo]) {
    check_header(case, &header.encode(), header.hash());
    assert_eq!(TxBlockHeader::decode(&header.encode()).as_ref(), Ok(header));
    assert_eq!(MbInfoHash::of(infos), case.parse("mbinfo_hash"));
    assert_eq!(MbInfoHash::of(infos), header.mb_info_hash);
}

fn tx_header(json: &mut Case) -> (TxBlockHeader, Timestamp) {
    // One of the two amounts is zero, depending on the epoch.
    let rewards = json.parse::<Qa>("Rewards").checked_add(json.parse("TxnFees")).unwrap();
    json.skip("NumMicroBlocks");
    json.skip("NumPages");
    let header = TxBlockHeader {
        version: json.small("Version"),
        committee_hash: json.parse("CommitteeHash"),
        prev_hash: json.parse("PrevBlockHash"),
        gas_limit: json.parse("GasLimit"),
        gas_used: json.parse("GasUsed"),
        rewards,
        number: json.parse("BlockNum"),
        state_root: json.parse("StateRootHash"),
        state_delta_hash: json.parse("StateDeltaHash"),
        mb_info_hash: json.parse("MbInfoHash"),
        tx_count: json.small("NumTxns"),
        miner: json.parse("MinerPubKey"),
        ds_block: json.parse("DSBlockNum"),
    };
    (header, json.parse("Timestamp"))
}

fn mb_infos(json: &mut Case) -> Vec<MbInfo> {
    json.object("body", |body| body.objects("MicroBlockInfos", mb_info))
}

fn mb_info(json: &mut Case) -> MbInfo {
    MbInfo {
        hash: json.parse("MicroBlockHash"),
        tx_root: json.parse("MicroBlockTxnRootHash"),
        shard: ShardId::new(json.small("MicroBlockShardId")),
    }
}

fn mbinfo_hash(case: &mut Case) {
    let hash = MbInfoHash::of(&case.objects("infos", mb_info));
    let preimage = case.bytes("preimage");
    assert_eq!(hash, case.parse("mbinfo_hash"));
    assert_eq!(hash.to_bytes(), if preimage.is_empty() { [0; 32] } else { sha256(&[&preimage]) });
}

fn micro_block(case: &mut Case) {
    let (header, tx_hashes, timestamp) = case.object("fields", |fields| {
        // The file describes the co-signatures as text: zero signatures, and bitmaps with one unset bit.
        fields.skip("cosigs");
        let (tx_hashes, timestamp) = (fields.parse_list("txn_hashes"), Timestamp::new(fields.number("timestamp")));
        (micro_header(fields), tx_hashes, timestamp)
    });
    check_micro_header(case, &header);
    assert_eq!(TxRoot::of(&tx_hashes), header.tx_root);
    let block = MicroBlock { header, tx_hashes, cosignatures: CoSignatures::unsigned(1), timestamp };
    let serialized = case.bytes("serialized_block");
    assert_eq!(block.encode(), serialized);
    assert_eq!(MicroBlock::decode(&serialized), Ok(block));
}

fn check_micro_header(case: &mut Case, header: &MicroBlockHeader) {
    check_header(case, &header.encode(), header.hash());
    assert_eq!(MicroBlockHeader::decode(&header.encode()).as_ref(), Ok(header));
}

fn micro_header(fields: &mut Case) -> MicroBlockHeader {
    MicroBlockHeader {
        version: fields.small("version"),
        committee_hash: fields.parse("committee_hash"),
        prev_hash: fields.parse("prev_hash"),
        shard: ShardId::new(fields.small("shard_id")),
        gas_limit: Gas::new(fields.number("gas_limit")),
        gas_used: Gas::new(fields.number("gas_used")),
        rewards: fields.parse("rewards"),
        epoch: BlockNumber::new(fields.number("epoch_num")),
        tx_root: fields.parse("txn_root"),
        tx_count: fields.small("num_txns"),
        miner: fields.parse("miner_key"),
        ds_block: DsBlockNumber::new(fields.number("ds_block_num")),
        state_delta_hash: fields.parse("state_delta_hash"),
        receipts_hash: fields.parse("receipts_hash"),
    }
}

fn committee_hash(case: &mut Case) {
    let hash = CommitteeHash::of(&case.parse_list("keys"));
    assert_eq!(hash, case.parse("hash"));
    assert_eq!(hash.to_bytes(), sha256(&[&case.bytes("preimage")]));
}

fn sharding_hash(case: &mut Case) {
    let members = case.objects("members", |member| ShardMember {
        key: member.parse("public_key"),
        peer: Peer::new(member.parse("ip"), u16::try_from(member.number("port")).unwrap()),
        reputation: member.small("reputation"),
    });
    let hash = ShardingHash::of(&[members]);
    assert_eq!(hash, case.parse("hash"));
    assert_eq!(hash.to_bytes(), sha256(&[&case.bytes("preimage")]));
}

fn peer(case: &mut Case) {
    let peer = Peer::new(case.parse("ip"), u16::try_from(case.number("port")).unwrap());
    let encoded = case.bytes("encoded");
    assert_eq!(peer.as_bytes()[..], encoded);
    assert_eq!(Peer::from_bytes(encoded.try_into().unwrap()), peer);
}
