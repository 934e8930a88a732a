//! Tx blocks: one final block for each Tx epoch.

use alloc::vec::Vec;

use prost::Message;

use crate::{
    amount::Qa,
    block::{CoSignatures, block_base, fields::Fields, header_base, parse_block_base, parse_header_base},
    error::DecodeError,
    gas::Gas,
    hash::{BlockHash, CommitteeHash, MbInfoHash, StateDeltaHash, StateRoot, TxRoot, sha256},
    key::PublicKey,
    number::{BlockNumber, DsBlockNumber, ShardId, Timestamp},
    proto::{
        ByteArray, ProtoMbInfo, ProtoTxBlock, ProtoTxBlockHeader, TxBlockHashSet, decode, expect_bytes,
        expect_canonical, expect_present, expect_wrapped,
    },
};

/// The header of a Tx block: the fields that are hashed and signed.
///
/// # Examples
///
/// Block 0 of the developer test network:
///
/// ```
/// use silica_protocol::TxBlockHeader;
/// let leader = "02aae728127eb5a30b07d798d5236251808ad2c8ba3f18b230449d0c938969b552".parse()?;
/// let hash = "1947718b431d25dd65c226f79f3e0a9cc96a948899dab3422993def1494a9c95".parse()?;
/// assert_eq!(TxBlockHeader::genesis(leader).hash(), hash);
/// # Ok::<(), silica_protocol::HexError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxBlockHeader {
    /// Version of the format of the header.
    pub version: u32,
    /// Hash of the keys of the DS committee.
    pub committee_hash: CommitteeHash,
    /// Hash of the previous Tx block.
    pub prev_hash: BlockHash,
    /// Sum of the gas limits of the micro blocks.
    pub gas_limit: Gas,
    /// Sum of the gas that the micro blocks used.
    pub gas_used: Gas,
    /// Coinbase reward of a vacuous block; fees of the transactions of any other block.
    pub rewards: Qa,
    /// Number of the block.
    pub number: BlockNumber,
    /// Root of the account trie after the block.
    pub state_root: StateRoot,
    /// Hash of the state delta of the block.
    pub state_delta_hash: StateDeltaHash,
    /// Hash of the list of micro blocks.
    pub mb_info_hash: MbInfoHash,
    /// Number of transactions in all micro blocks.
    pub tx_count: u32,
    /// Public key of the leader that proposed the block.
    pub miner: PublicKey,
    /// Number of the DS block of the DS epoch.
    pub ds_block: DsBlockNumber,
}

/// A micro block in the list of its Tx block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MbInfo {
    /// Hash of the micro block.
    pub hash: BlockHash,
    /// Hash of the transaction hashes of the micro block.
    pub tx_root: TxRoot,
    /// Shard of the micro block.
    pub shard: ShardId,
}

/// A Tx block: header, list of micro blocks, co-signatures and timestamp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxBlock {
    /// The fields that are hashed and signed.
    pub header: TxBlockHeader,
    /// The micro blocks, in ascending order of shards. The micro block of the DS committee is the last.
    pub micro_blocks: Vec<MbInfo>,
    /// Signatures of the DS committee.
    pub cosignatures: CoSignatures,
    /// Creation time of the block.
    pub timestamp: Timestamp,
}

impl TxBlockHeader {
    /// Version of the format of the header.
    pub const VERSION: u32 = 1;
    /// Largest number of transactions on a page of a block (`NUM_TXNS_PER_PAGE`).
    pub const TRANSACTIONS_PER_PAGE: u32 = 2_500;

    /// Returns the number of pages for the transactions of the block; 0 if the block has none.
    pub const fn page_count(&self) -> u32 {
        self.tx_count.div_ceil(Self::TRANSACTIONS_PER_PAGE)
    }

    /// Returns the header of block 0 of a network. `leader` is the public key of the first leader.
    pub const fn genesis(leader: PublicKey) -> Self {
        Self {
            version: Self::VERSION,
            committee_hash: CommitteeHash::ZERO,
            prev_hash: BlockHash::ZERO,
            gas_limit: Gas::new(1),
            gas_used: Gas::new(1),
            rewards: Qa::new(1),
            number: BlockNumber::new(0),
            state_root: StateRoot::ZERO,
            state_delta_hash: StateDeltaHash::ZERO,
            mb_info_hash: MbInfoHash::ZERO,
            tx_count: 0,
            miner: leader,
            ds_block: DsBlockNumber::new(0),
        }
    }

    /// Returns the hash of the block.
    pub fn hash(&self) -> BlockHash {
        BlockHash::new(sha256(&[&self.encode()]))
    }

    /// Returns the bytes that are hashed and signed.
    pub fn encode(&self) -> Vec<u8> {
        let mut fields = Fields::new();
        fields.base(self.version, &self.committee_hash, &self.prev_hash);
        fields.implicit(2, self.gas_limit.get());
        fields.number(3, self.gas_used.get());
        fields.wrapped(4, &self.rewards.to_be_bytes());
        fields.number(6, self.number.get());
        fields.nested(7, |fields| {
            fields.bytes(1, self.state_root.as_bytes());
            fields.bytes(2, self.state_delta_hash.as_bytes());
            fields.bytes(3, self.mb_info_hash.as_bytes());
        });
        fields.number(8, self.tx_count.into());
        fields.wrapped(9, self.miner.as_bytes());
        fields.number(10, self.ds_block.get());
        fields.finish()
    }

    /// Reads a header from the bytes that are hashed and signed.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] for a missing, invalid or not canonical field.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        const NAME: &str = "ProtoTxBlock.TxBlockHeader";
        let header = Self::from_message(decode(NAME, bytes)?)?;
        expect_canonical(NAME, &header.encode(), bytes)?;
        Ok(header)
    }

    fn to_message(&self) -> ProtoTxBlockHeader {
        ProtoTxBlockHeader {
            blockheaderbase: Some(header_base(self.version, &self.committee_hash, &self.prev_hash)),
            gaslimit: self.gas_limit.get(),
            gasused: Some(self.gas_used.get()),
            rewards: Some(ByteArray::wrap(self.rewards.to_be_bytes())),
            blocknum: Some(self.number.get()),
            hash: Some(TxBlockHashSet {
                stateroothash: self.state_root.as_bytes().to_vec(),
                statedeltahash: self.state_delta_hash.as_bytes().to_vec(),
                mbinfohash: self.mb_info_hash.as_bytes().to_vec(),
            }),
            numtxs: Some(self.tx_count),
            minerpubkey: Some(ByteArray::wrap(self.miner)),
            dsblocknum: Some(self.ds_block.get()),
        }
    }

    fn from_message(message: ProtoTxBlockHeader) -> Result<Self, DecodeError> {
        let (version, committee_hash, prev_hash) = parse_header_base(message.blockheaderbase)?;
        let hashes = expect_present("TxBlockHeader.hash", message.hash)?;
        let state_delta_hash = expect_bytes("TxBlockHashSet.statedeltahash", &hashes.statedeltahash)?;
        Ok(Self {
            version,
            committee_hash,
            prev_hash,
            gas_limit: Gas::new(message.gaslimit),
            gas_used: Gas::new(expect_present("TxBlockHeader.gasused", message.gasused)?),
            rewards: Qa::from_be_bytes(expect_wrapped("TxBlockHeader.rewards", message.rewards.as_ref())?),
            number: BlockNumber::new(expect_present("TxBlockHeader.blocknum", message.blocknum)?),
            state_root: StateRoot::new(expect_bytes("TxBlockHashSet.stateroothash", &hashes.stateroothash)?),
            state_delta_hash: StateDeltaHash::new(state_delta_hash),
            mb_info_hash: MbInfoHash::new(expect_bytes("TxBlockHashSet.mbinfohash", &hashes.mbinfohash)?),
            tx_count: expect_present("TxBlockHeader.numtxs", message.numtxs)?,
            miner: PublicKey::new(expect_wrapped("TxBlockHeader.minerpubkey", message.minerpubkey.as_ref())?),
            ds_block: DsBlockNumber::new(expect_present("TxBlockHeader.dsblocknum", message.dsblocknum)?),
        })
    }
}

impl MbInfo {
    fn to_message(self) -> ProtoMbInfo {
        ProtoMbInfo {
            mbhash: self.hash.as_bytes().to_vec(),
            txroot: self.tx_root.as_bytes().to_vec(),
            shardid: Some(self.shard.get()),
        }
    }

    fn from_message(message: &ProtoMbInfo) -> Result<Self, DecodeError> {
        Ok(Self {
            hash: BlockHash::new(expect_bytes("MbInfo.mbhash", &message.mbhash)?),
            tx_root: TxRoot::new(expect_bytes("MbInfo.txroot", &message.txroot)?),
            shard: ShardId::new(expect_present("MbInfo.shardid", message.shardid)?),
        })
    }
}

impl MbInfoHash {
    /// Returns the hash of the micro block list in a Tx block. The hash depends on the order of the list. The hash of
    /// an empty list is zero.
    ///
    /// The hash covers the concatenated bytes of the entries, without tags or lengths between them.
    pub fn of(infos: &[MbInfo]) -> Self {
        let mut fields = Fields::new();
        for info in infos {
            fields.bytes(1, info.hash.as_bytes());
            fields.bytes(2, info.tx_root.as_bytes());
            fields.number(3, info.shard.get().into());
        }
        let encoded = fields.finish();
        Self::new(if infos.is_empty() { [0; 32] } else { sha256(&[&encoded]) })
    }
}

impl TxBlock {
    /// Returns the placeholder that the C++ node returns for a Tx block that does not exist
    /// (Reference: interface#missing-block).
    pub fn missing() -> Self {
        Self {
            header: TxBlockHeader {
                version: 0,
                gas_limit: Gas::ZERO,
                gas_used: Gas::ZERO,
                rewards: Qa::ZERO,
                number: BlockNumber::MISSING,
                ds_block: DsBlockNumber::MISSING,
                ..TxBlockHeader::genesis(PublicKey::ZERO)
            },
            micro_blocks: Vec::new(),
            cosignatures: CoSignatures::unsigned(0),
            timestamp: Timestamp::new(0),
        }
    }

    /// Returns the serialised block. `GetRawTxBlock` returns these bytes in hexadecimal form.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_with(self.header.hash())
    }

    /// Returns the bytes that `GetRawTxBlock` returns for a block that does not exist. The field `blockhash` is zero,
    /// and is not the hash of the header.
    pub fn encode_missing() -> Vec<u8> {
        Self::missing().encode_with(BlockHash::ZERO)
    }

    fn encode_with(&self, hash: BlockHash) -> Vec<u8> {
        let message = ProtoTxBlock {
            header: Some(self.header.to_message()),
            mbinfos: self.micro_blocks.iter().map(|info| info.to_message()).collect(),
            blockbase: Some(block_base(hash, &self.cosignatures, self.timestamp)),
        };
        message.encode_to_vec()
    }

    /// Reads a serialised block.
    ///
    /// The function does not verify the signatures, and does not compare the list of micro blocks with its hash.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] for a missing, invalid or not canonical field. The field `blockhash` is invalid if it is not the
    /// hash of the header.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        const NAME: &str = "ProtoTxBlock";
        let message: ProtoTxBlock = decode(NAME, bytes)?;
        let header = TxBlockHeader::from_message(expect_present("ProtoTxBlock.header", message.header)?)?;
        let micro_blocks = message.mbinfos.iter().map(MbInfo::from_message).collect::<Result<_, _>>()?;
        let (cosignatures, timestamp) = parse_block_base(header.hash(), message.blockbase)?;
        let block = Self { header, micro_blocks, cosignatures, timestamp };
        expect_canonical(NAME, &block.encode(), bytes)?;
        Ok(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arbitrary::{any_tx_block, any_tx_header, check_refused, codec_properties, wrong_length},
        proto::ProtoCoSignatures,
    };

    codec_properties!(header, TxBlockHeader, any_tx_header());
    codec_properties!(block, TxBlock, any_tx_block());

    proptest::proptest! {
        #[test]
        fn header_and_list_have_the_bytes_of_their_messages(header in any_tx_header(), block in any_tx_block()) {
            proptest::prop_assert_eq!(header.encode(), header.to_message().encode_to_vec());
            let infos: Vec<_> = block.micro_blocks.iter().map(|info| info.to_message().encode_to_vec()).collect();
            let parts: Vec<_> = infos.iter().map(Vec::as_slice).collect();
            let expected = MbInfoHash::new(crate::hash::sha256_or_zero(&parts));
            proptest::prop_assert_eq!(MbInfoHash::of(&block.micro_blocks), expected);
        }
    }

    fn message() -> ProtoTxBlock {
        let info = MbInfo { hash: BlockHash::new([1; 32]), tx_root: TxRoot::ZERO, shard: ShardId::new(0) };
        let block = TxBlock {
            header: TxBlockHeader::genesis(PublicKey::new([2; 33])),
            micro_blocks: vec![info],
            cosignatures: CoSignatures::unsigned(1),
            timestamp: Timestamp::new(1),
        };
        ProtoTxBlock::decode(&*block.encode()).unwrap()
    }

    /// Changes the protobuf message of a block, and checks the error of the decoder.
    #[track_caller]
    fn check(edit: impl FnOnce(&mut ProtoTxBlock), expected: &DecodeError) {
        let mut message = message();
        edit(&mut message);
        check_refused(&TxBlock::decode(&message.encode_to_vec()), expected);
    }

    #[track_caller]
    fn check_header(edit: impl FnOnce(&mut ProtoTxBlockHeader), expected: &DecodeError) {
        check(|block| edit(block.header.as_mut().unwrap()), expected);
    }

    fn hashes(header: &mut ProtoTxBlockHeader) -> &mut TxBlockHashSet {
        header.hash.as_mut().unwrap()
    }

    fn cosigs(block: &mut ProtoTxBlock) -> &mut ProtoCoSignatures {
        block.blockbase.as_mut().unwrap().cosigs.as_mut().unwrap()
    }

    #[test]
    fn missing_fields_are_named() {
        let missing = |field| DecodeError::Missing { field };
        check(|block| block.header = None, &missing("ProtoTxBlock.header"));
        check(|block| block.blockbase = None, &missing("BlockBase"));
        check(|block| block.blockbase.as_mut().unwrap().cosigs = None, &missing("BlockBase.cosigs"));
        check(|block| block.mbinfos[0].shardid = None, &missing("MbInfo.shardid"));
        check_header(|header| header.blockheaderbase = None, &missing("BlockHeaderBase"));
        check_header(|header| header.gasused = None, &missing("TxBlockHeader.gasused"));
        check_header(|header| header.rewards = None, &missing("TxBlockHeader.rewards"));
        check_header(|header| header.blocknum = None, &missing("TxBlockHeader.blocknum"));
        check_header(|header| header.hash = None, &missing("TxBlockHeader.hash"));
        check_header(|header| header.numtxs = None, &missing("TxBlockHeader.numtxs"));
        check_header(|header| header.minerpubkey = None, &missing("TxBlockHeader.minerpubkey"));
        check_header(|header| header.dsblocknum = None, &missing("TxBlockHeader.dsblocknum"));
    }

    #[test]
    fn wrong_lengths_name_the_field() {
        let wrapped = |len| Some(ByteArray::wrap(vec![1; len]));
        check(|block| block.mbinfos[0].mbhash.clear(), &wrong_length("MbInfo.mbhash", 32, 0));
        check(|block| block.mbinfos[0].txroot.push(0), &wrong_length("MbInfo.txroot", 32, 33));
        check(|block| block.blockbase.as_mut().unwrap().blockhash.clear(), &wrong_length("BlockBase.blockhash", 32, 0));
        check_header(|header| header.rewards = wrapped(15), &wrong_length("TxBlockHeader.rewards", 16, 15));
        check_header(|header| header.minerpubkey = wrapped(34), &wrong_length("TxBlockHeader.minerpubkey", 33, 34));
        check_header(|it| hashes(it).stateroothash.clear(), &wrong_length("TxBlockHashSet.stateroothash", 32, 0));
        check_header(|it| hashes(it).statedeltahash.clear(), &wrong_length("TxBlockHashSet.statedeltahash", 32, 0));
        check_header(|it| hashes(it).mbinfohash.clear(), &wrong_length("TxBlockHashSet.mbinfohash", 32, 0));
        check_header(
            |header| header.blockheaderbase.as_mut().unwrap().committeehash.clear(),
            &wrong_length("BlockHeaderBase.committeehash", 32, 0),
        );
        check_header(
            |header| header.blockheaderbase.as_mut().unwrap().prevhash.push(0),
            &wrong_length("BlockHeaderBase.prevhash", 32, 33),
        );
        check(|block| cosigs(block).cs1 = wrapped(63), &wrong_length("CoSignatures.cs1", 64, 63));
        check(|block| cosigs(block).cs2 = wrapped(0), &wrong_length("CoSignatures.cs2", 64, 0));
    }

    #[test]
    fn hash_must_be_that_of_the_header() {
        let expected = DecodeError::Value {
            field: "BlockBase.blockhash",
            expected: TxBlockHeader::genesis(PublicKey::new([2; 33])).hash().to_string(),
            got: BlockHash::ZERO.to_string(),
        };
        check(|block| block.blockbase.as_mut().unwrap().blockhash = vec![0; 32], &expected);
    }

    #[test]
    fn zeros_are_written_where_presence_is_explicit() {
        let zero = TxBlockHeader {
            gas_limit: Gas::ZERO,
            gas_used: Gas::ZERO,
            rewards: Qa::ZERO,
            ..TxBlockHeader::genesis(PublicKey::new([2; 33]))
        };
        let bytes = zero.encode();
        let (base, rest) = bytes.split_at(72);
        assert_eq!(base[..2], [0x0a, 70]);
        // Used gas and rewards follow directly, because a gas limit of zero is omitted.
        assert_eq!(rest[..6], [0x18, 0, 0x22, 18, 0x0a, 16]);
        assert_eq!(rest[22..26], [0x30, 0, 0x3a, 102]);
        assert_eq!(rest[128..130], [0x40, 0]);
        assert_eq!(rest[167..], [0x50, 0]);
    }
}
