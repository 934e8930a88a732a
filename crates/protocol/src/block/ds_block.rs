//! DS blocks: committees, difficulty and gas price of a DS epoch.

use alloc::{collections::BTreeMap, format, string::ToString, vec::Vec};

use prost::Message;

use crate::{
    amount::Qa,
    block::{CoSignatures, Peer, block_base, header_base, parse_block_base, parse_header_base},
    bytes::fixed_bytes,
    error::DecodeError,
    gas::GasPrice,
    hash::{BlockHash, CommitteeHash, ShardingHash, sha256},
    key::PublicKey,
    number::{BlockNumber, DsBlockNumber, Timestamp},
    proto::{
        ByteArray, DsBlockHashSet, PowDsWinner, Proposal, ProtoDsBlock, ProtoDsBlockHeader, Vote, decode, expect_bytes,
        expect_canonical, expect_present, expect_wrapped,
    },
};

fixed_bytes! {
    /// Reserved bytes of a DS block header. All are zero in the reference.
    Reserved, 128
}

/// The header of a DS block: the fields that are hashed and signed.
///
/// # Examples
///
/// Block 0 of the developer test network:
///
/// ```
/// use silica_protocol::DsBlockHeader;
/// let leader = "02aae728127eb5a30b07d798d5236251808ad2c8ba3f18b230449d0c938969b552".parse()?;
/// let hash = "0f00e9d3175300fc287812d201edcfbfcb8165809606545595bf53700c524648".parse()?;
/// assert_eq!(DsBlockHeader::genesis(leader).hash(), hash);
/// # Ok::<(), silica_protocol::HexError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DsBlockHeader {
    /// Version of the format of the header.
    pub version: u32,
    /// Hash of the keys of the DS committee that signs the block.
    pub committee_hash: CommitteeHash,
    /// Hash of the previous block of the DS committee.
    pub prev_hash: BlockHash,
    /// Difficulty of the proof of work that admits a node to the DS committee, in leading zero bits.
    pub ds_difficulty: u8,
    /// Difficulty of the proof of work that admits a node to a shard, in leading zero bits.
    pub difficulty: u8,
    /// Public key of the leader that proposed the block.
    pub leader: PublicKey,
    /// Number of the block.
    pub number: DsBlockNumber,
    /// Tx epoch of the creation of the block.
    pub epoch: BlockNumber,
    /// Minimum gas price during the DS epoch.
    pub gas_price: GasPrice,
    /// Software versions of the network.
    pub software: SwInfo,
    /// Public keys of the new members of the DS committee, with their network addresses.
    pub pow_winners: BTreeMap<PublicKey, Peer>,
    /// Hash of the sharding structure.
    pub sharding_hash: ShardingHash,
    /// Reserved bytes, all zero in the reference.
    pub reserved: Reserved,
    /// Public keys of the members that left the DS committee, in the order of removal.
    pub removed: Vec<PublicKey>,
    /// Votes on governance proposals, by the number of the proposal.
    pub proposals: BTreeMap<u32, Votes>,
}

/// Votes on a governance proposal: the number of votes for each value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Votes {
    /// Number of votes of the DS committee, by value.
    pub ds: BTreeMap<u32, u32>,
    /// Number of votes of the miners, by value.
    pub miners: BTreeMap<u32, u32>,
}

/// Versions of the node and of the interpreter in the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwInfo {
    /// Version of the Zilliqa node.
    pub node: SwVersion,
    /// Version of the Scilla interpreter.
    pub interpreter: SwVersion,
}

/// Version of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwVersion {
    /// Major version.
    pub major: u32,
    /// Minor version.
    pub minor: u32,
    /// Fix version.
    pub fix: u32,
    /// The first DS block with this version.
    pub upgrade_at: DsBlockNumber,
    /// First four bytes of the commit hash.
    pub commit: u32,
}

/// A DS block: header, co-signatures and timestamp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DsBlock {
    /// The fields that are hashed and signed.
    pub header: DsBlockHeader,
    /// Signatures of the DS committee.
    pub cosignatures: CoSignatures,
    /// Creation time of the block.
    pub timestamp: Timestamp,
}

impl DsBlockHeader {
    /// Version of the format of the header.
    pub const VERSION: u32 = 2;
    /// Format version of the header of block 0.
    pub const GENESIS_VERSION: u32 = 1;
    /// Difficulty for shards in block 0, in leading zero bits. It is also the lowest difficulty (`POW_DIFFICULTY`).
    pub const INITIAL_DIFFICULTY: u8 = 3;
    /// Difficulty for the DS committee in block 0, in leading zero bits. It is also the lowest difficulty
    /// (`DS_POW_DIFFICULTY`).
    pub const INITIAL_DS_DIFFICULTY: u8 = 5;

    /// Returns the header of block 0 of a network. `leader` is the public key of the first leader.
    pub fn genesis(leader: PublicKey) -> Self {
        Self {
            version: Self::GENESIS_VERSION,
            committee_hash: CommitteeHash::ZERO,
            prev_hash: BlockHash::new(GENESIS_PREV_HASH),
            ds_difficulty: Self::INITIAL_DS_DIFFICULTY,
            difficulty: Self::INITIAL_DIFFICULTY,
            leader,
            number: DsBlockNumber::new(0),
            epoch: BlockNumber::new(0),
            gas_price: GasPrice::new(Qa::new(100)),
            software: SwInfo::default(),
            pow_winners: BTreeMap::new(),
            sharding_hash: ShardingHash::ZERO,
            reserved: Reserved::ZERO,
            removed: Vec::new(),
            proposals: BTreeMap::new(),
        }
    }

    /// Returns the hash of the block.
    pub fn hash(&self) -> BlockHash {
        BlockHash::new(sha256(&[&self.encode()]))
    }

    /// Returns the bytes that are hashed and signed.
    pub fn encode(&self) -> Vec<u8> {
        self.to_message().encode_to_vec()
    }

    /// Reads a header from the bytes that are hashed and signed.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] for a missing, invalid or not canonical field.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        const NAME: &str = "ProtoDSBlock.DSBlockHeader";
        let header = Self::from_message(decode(NAME, bytes)?)?;
        expect_canonical(NAME, &header.encode(), bytes)?;
        Ok(header)
    }

    fn to_message(&self) -> ProtoDsBlockHeader {
        let winner = |(key, peer): (&PublicKey, &Peer)| PowDsWinner {
            key: Some(ByteArray::wrap(key)),
            val: Some(ByteArray::wrap(peer.as_bytes())),
        };
        let proposal = |(id, votes): (&u32, &Votes)| Proposal {
            proposalid: *id,
            dsvotes: vote_messages(&votes.ds),
            minervotes: vote_messages(&votes.miners),
        };
        ProtoDsBlockHeader {
            blockheaderbase: Some(header_base(self.version, &self.committee_hash, &self.prev_hash)),
            dsdifficulty: self.ds_difficulty.into(),
            difficulty: self.difficulty.into(),
            leaderpubkey: Some(ByteArray::wrap(self.leader)),
            blocknum: Some(self.number.get()),
            epochnum: Some(self.epoch.get()),
            gasprice: Some(ByteArray::wrap(self.gas_price.get().to_be_bytes())),
            swinfo: Some(ByteArray::wrap(self.software.pack())),
            dswinners: self.pow_winners.iter().map(winner).collect(),
            hash: Some(DsBlockHashSet {
                shardinghash: self.sharding_hash.as_bytes().to_vec(),
                reservedfield: self.reserved.as_bytes().to_vec(),
            }),
            dsremoved: ByteArray::wrap_keys(&self.removed),
            proposals: self.proposals.iter().map(proposal).collect(),
        }
    }

    fn from_message(message: ProtoDsBlockHeader) -> Result<Self, DecodeError> {
        let (version, committee_hash, prev_hash) = parse_header_base(message.blockheaderbase)?;
        let gas_price = expect_wrapped("DSBlockHeader.gasprice", message.gasprice.as_ref())?;
        let hashes = expect_present("DSBlockHeader.hash", message.hash)?;
        let removed = |key| expect_wrapped("DSBlockHeader.dsremoved", Some(key)).map(PublicKey::new);
        Ok(Self {
            version,
            committee_hash,
            prev_hash,
            ds_difficulty: expect_difficulty("DSBlockHeader.dsdifficulty", message.dsdifficulty)?,
            difficulty: expect_difficulty("DSBlockHeader.difficulty", message.difficulty)?,
            leader: PublicKey::new(expect_wrapped("DSBlockHeader.leaderpubkey", message.leaderpubkey.as_ref())?),
            number: DsBlockNumber::new(expect_present("DSBlockHeader.blocknum", message.blocknum)?),
            epoch: BlockNumber::new(expect_present("DSBlockHeader.epochnum", message.epochnum)?),
            gas_price: GasPrice::new(Qa::from_be_bytes(gas_price)),
            software: SwInfo::unpack(expect_wrapped("DSBlockHeader.swinfo", message.swinfo.as_ref())?),
            pow_winners: message.dswinners.iter().map(parse_winner).collect::<Result<_, _>>()?,
            sharding_hash: ShardingHash::new(expect_bytes("DSBlockHashSet.shardinghash", &hashes.shardinghash)?),
            reserved: Reserved::new(expect_bytes("DSBlockHashSet.reservedfield", &hashes.reservedfield)?),
            removed: message.dsremoved.iter().map(removed).collect::<Result<_, _>>()?,
            proposals: message.proposals.iter().map(parse_proposal).collect(),
        })
    }
}

/// The previous hash in the header of block 0, as in the C++ node.
const GENESIS_PREV_HASH: [u8; 32] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
    32,
];

fn expect_difficulty(field: &'static str, difficulty: u32) -> Result<u8, DecodeError> {
    difficulty.try_into().map_err(|_| DecodeError::Value {
        field,
        expected: format!("at most {}", u8::MAX),
        got: difficulty.to_string(),
    })
}

fn parse_winner(message: &PowDsWinner) -> Result<(PublicKey, Peer), DecodeError> {
    let key = PublicKey::new(expect_wrapped("PowDSWinner.key", message.key.as_ref())?);
    Ok((key, Peer::from_bytes(expect_wrapped("PowDSWinner.val", message.val.as_ref())?)))
}

fn parse_proposal(message: &Proposal) -> (u32, Votes) {
    let votes = |votes: &[Vote]| votes.iter().map(|vote| (vote.value, vote.count)).collect();
    (message.proposalid, Votes { ds: votes(&message.dsvotes), miners: votes(&message.minervotes) })
}

fn vote_messages(votes: &BTreeMap<u32, u32>) -> Vec<Vote> {
    votes.iter().map(|(&value, &count)| Vote { value, count }).collect()
}

impl SwInfo {
    fn pack(&self) -> Vec<u8> {
        [self.node.pack(), self.interpreter.pack()].concat()
    }

    fn unpack(bytes: [u8; 48]) -> Self {
        let mut rest = bytes.as_slice();
        Self { node: SwVersion::take(&mut rest), interpreter: SwVersion::take(&mut rest) }
    }
}

impl SwVersion {
    fn pack(&self) -> Vec<u8> {
        let [major, minor, fix, commit] = [self.major, self.minor, self.fix, self.commit].map(u32::to_be_bytes);
        [&major[..], &minor, &fix, &self.upgrade_at.get().to_be_bytes(), &commit].concat()
    }

    fn take(rest: &mut &[u8]) -> Self {
        Self {
            major: u32::from_be_bytes(take(rest)),
            minor: u32::from_be_bytes(take(rest)),
            fix: u32::from_be_bytes(take(rest)),
            upgrade_at: DsBlockNumber::new(u64::from_be_bytes(take(rest))),
            commit: u32::from_be_bytes(take(rest)),
        }
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (head, tail) = rest.split_first_chunk().expect("the packed form is as long as the sum of its parts");
    *rest = tail;
    *head
}

impl DsBlock {
    /// Returns the placeholder that the C++ node returns for a DS block that does not exist
    /// (Reference: interface#missing-block).
    pub fn missing() -> Self {
        Self {
            header: DsBlockHeader {
                version: 0,
                prev_hash: BlockHash::ZERO,
                ds_difficulty: 0,
                difficulty: 0,
                gas_price: GasPrice::new(Qa::ZERO),
                number: DsBlockNumber::MISSING,
                ..DsBlockHeader::genesis(PublicKey::ZERO)
            },
            cosignatures: CoSignatures::unsigned(0),
            timestamp: Timestamp::new(0),
        }
    }

    /// Returns the serialised block. `GetRawDSBlock` returns these bytes in hexadecimal form.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_with(self.header.hash())
    }

    /// Returns the bytes that `GetRawDSBlock` returns for a block that does not exist. The field `blockhash` is zero,
    /// and is not the hash of the header.
    pub fn encode_missing() -> Vec<u8> {
        Self::missing().encode_with(BlockHash::ZERO)
    }

    fn encode_with(&self, hash: BlockHash) -> Vec<u8> {
        let base = block_base(hash, &self.cosignatures, self.timestamp);
        ProtoDsBlock { header: Some(self.header.to_message()), blockbase: Some(base) }.encode_to_vec()
    }

    /// Reads a serialised block.
    ///
    /// The function does not verify the signatures.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] for a missing, invalid or not canonical field. The field `blockhash` is invalid if it is not the
    /// hash of the header.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        const NAME: &str = "ProtoDSBlock";
        let message: ProtoDsBlock = decode(NAME, bytes)?;
        let header = DsBlockHeader::from_message(expect_present("ProtoDSBlock.header", message.header)?)?;
        let (cosignatures, timestamp) = parse_block_base(header.hash(), message.blockbase)?;
        let block = Self { header, cosignatures, timestamp };
        expect_canonical(NAME, &block.encode(), bytes)?;
        Ok(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::{any_ds_block, any_ds_header, check_refused, codec_properties, wrong_length};

    codec_properties!(header, DsBlockHeader, any_ds_header());
    codec_properties!(block, DsBlock, any_ds_block());

    fn block() -> DsBlock {
        let winner = |byte| (PublicKey::new([byte; 33]), Peer::new([10, 0, 0, byte].into(), 1));
        let votes = |value| Votes { ds: [(value, 1), (value | 1, 2)].into(), miners: [(value, 3)].into() };
        let header = DsBlockHeader {
            pow_winners: [winner(2), winner(3)].into(),
            removed: vec![PublicKey::new([4; 33])],
            proposals: [(1, votes(10)), (2, votes(20))].into(),
            ..DsBlockHeader::genesis(PublicKey::new([2; 33]))
        };
        DsBlock { header, cosignatures: CoSignatures::unsigned(1), timestamp: Timestamp::new(1) }
    }

    /// Changes the protobuf message of a header, and checks the error of the decoder.
    #[track_caller]
    fn check(edit: impl FnOnce(&mut ProtoDsBlockHeader), expected: &DecodeError) {
        let mut message = ProtoDsBlockHeader::decode(&*block().header.encode()).unwrap();
        edit(&mut message);
        check_refused(&DsBlockHeader::decode(&message.encode_to_vec()), expected);
    }

    #[track_caller]
    fn check_not_canonical(edit: impl FnOnce(&mut ProtoDsBlockHeader)) {
        let mut message = ProtoDsBlockHeader::decode(&*block().header.encode()).unwrap();
        edit(&mut message);
        let refused = DsBlockHeader::decode(&message.encode_to_vec());
        assert!(matches!(refused, Err(DecodeError::NotCanonical { .. })), "{refused:?}");
    }

    #[test]
    fn missing_fields_are_named() {
        let missing = |field| DecodeError::Missing { field };
        check(|header| header.leaderpubkey = None, &missing("DSBlockHeader.leaderpubkey"));
        check(|header| header.blocknum = None, &missing("DSBlockHeader.blocknum"));
        check(|header| header.epochnum = None, &missing("DSBlockHeader.epochnum"));
        check(|header| header.gasprice = None, &missing("DSBlockHeader.gasprice"));
        check(|header| header.swinfo = None, &missing("DSBlockHeader.swinfo"));
        check(|header| header.hash = None, &missing("DSBlockHeader.hash"));
        check(|header| header.dswinners[0].key = None, &missing("PowDSWinner.key"));
        check(|header| header.dswinners[0].val = None, &missing("PowDSWinner.val"));
    }

    #[test]
    fn wrong_lengths_name_the_field() {
        let wrapped = |len| Some(ByteArray::wrap(vec![1; len]));
        check(|header| header.swinfo = wrapped(47), &wrong_length("DSBlockHeader.swinfo", 48, 47));
        check(|header| header.dswinners[1].val = wrapped(18), &wrong_length("PowDSWinner.val", 20, 18));
        check(|header| header.dsremoved[0].data.clear(), &wrong_length("DSBlockHeader.dsremoved", 33, 0));
        check(
            |header| header.hash.as_mut().unwrap().reservedfield.clear(),
            &wrong_length("DSBlockHashSet.reservedfield", 128, 0),
        );
        check(
            |header| header.hash.as_mut().unwrap().shardinghash.clear(),
            &wrong_length("DSBlockHashSet.shardinghash", 32, 0),
        );
    }

    #[test]
    fn difficulties_fit_a_byte() {
        let too_large = |field| DecodeError::Value { field, expected: "at most 255".to_owned(), got: "256".to_owned() };
        check(|header| header.difficulty = 256, &too_large("DSBlockHeader.difficulty"));
        check(|header| header.dsdifficulty = 256, &too_large("DSBlockHeader.dsdifficulty"));
    }

    #[test]
    fn winners_proposals_and_votes_are_sorted() {
        check_not_canonical(|header| header.dswinners.reverse());
        check_not_canonical(|header| header.proposals.reverse());
        check_not_canonical(|header| header.proposals[0].dsvotes.reverse());
        check_not_canonical(|header| header.dswinners.push(header.dswinners[1].clone()));
        check_not_canonical(|header| header.proposals[1].minervotes.push(Vote { value: 20, count: 9 }));
    }

    #[test]
    fn software_is_packed_in_48_bytes() {
        let version = |major| SwVersion { major, minor: 2, fix: 3, upgrade_at: DsBlockNumber::new(4), commit: 5 };
        let software = SwInfo { node: version(1), interpreter: version(0x0102_0304) };
        let packed = software.pack();
        assert_eq!(packed[..24], [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 5]);
        assert_eq!(packed[24..28], [1, 2, 3, 4]);
        assert_eq!(SwInfo::unpack(packed.try_into().unwrap()), software);
    }
}
