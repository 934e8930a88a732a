//! Tx blocks: the chain of final blocks, one for each Tx epoch.

use prost::Message;

use crate::{
    amount::Qa,
    block::{CoSignatures, block_base, header_base, parse_block_base, parse_header_base},
    error::DecodeError,
    gas::Gas,
    hash::{BlockHash, CommitteeHash, MbInfoHash, StateDeltaHash, StateRoot, TxRoot, sha256, sha256_or_zero},
    key::PublicKey,
    number::{BlockNumber, DsBlockNumber, ShardId, Timestamp},
    proto::{
        ByteArray, ProtoMbInfo, ProtoTxBlock, ProtoTxBlockHeader, TxBlockHashSet, decode, expect_bytes,
        expect_canonical, expect_present, expect_wrapped,
    },
};

/// What is hashed and signed of a Tx block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxBlockHeader {
    /// Version of the header's layout.
    pub version: u32,
    /// Hash of the DS committee's keys.
    pub committee_hash: CommitteeHash,
    /// Hash of the previous Tx block.
    pub prev_hash: BlockHash,
    /// Gas limit, summed over the micro blocks.
    pub gas_limit: Gas,
    /// Gas used, summed over the micro blocks.
    pub gas_used: Gas,
    /// Coinbase reward of a vacuous block, transaction fees of any other.
    pub rewards: Qa,
    /// Number of the block.
    pub number: BlockNumber,
    /// Root of the account trie after the block.
    pub state_root: StateRoot,
    /// Hash of the block's changes of state.
    pub state_delta_hash: StateDeltaHash,
    /// Hash of the list of micro blocks.
    pub mb_info_hash: MbInfoHash,
    /// Number of transactions, summed over the micro blocks.
    pub tx_count: u32,
    /// Key of the leader who proposed the block.
    pub miner: PublicKey,
    /// The DS block in force.
    pub ds_block: DsBlockNumber,
}

/// A micro block as its Tx block lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MbInfo {
    /// Hash of the micro block.
    pub hash: BlockHash,
    /// Hash of its transaction hashes.
    pub tx_root: TxRoot,
    /// Shard that made it.
    pub shard: ShardId,
}

/// A Tx block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxBlock {
    /// What is hashed and signed.
    pub header: TxBlockHeader,
    /// The micro blocks, ascending by shard, the DS committee's own last.
    pub micro_blocks: Vec<MbInfo>,
    /// Signatures of the DS committee.
    pub cosignatures: CoSignatures,
    /// When the block was made.
    pub timestamp: Timestamp,
}

impl TxBlockHeader {
    /// Version of the header's layout.
    pub const VERSION: u32 = 1;

    /// Returns the header of block 0 of the network whose first leader is `leader`.
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
        self.to_message().encode_to_vec()
    }

    /// Reads the bytes that are hashed and signed.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] with the field that does not fit.
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
    /// Returns the hash of the list of micro blocks of a Tx block, in its order.
    ///
    /// The serialised infos are hashed one after the other, without tags or lengths between them.
    pub fn of(infos: &[MbInfo]) -> Self {
        let encoded: Vec<_> = infos.iter().map(|info| info.to_message().encode_to_vec()).collect();
        let parts: Vec<_> = encoded.iter().map(Vec::as_slice).collect();
        Self::new(sha256_or_zero(&parts))
    }
}

impl TxBlock {
    /// Returns the stored and relayed form, which `GetRawTxBlock` answers too.
    pub fn encode(&self) -> Vec<u8> {
        let header = self.header.to_message();
        let hash = BlockHash::new(sha256(&[&header.encode_to_vec()]));
        let message = ProtoTxBlock {
            header: Some(header),
            mbinfos: self.micro_blocks.iter().map(|info| info.to_message()).collect(),
            blockbase: Some(block_base(hash, &self.cosignatures, self.timestamp)),
        };
        message.encode_to_vec()
    }

    /// Reads the stored and relayed form.
    ///
    /// Whether the list of micro blocks is the one whose hash the header holds, and who signed, is for others to check.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] with the field that does not fit; [`DecodeError::Value`] for `blockhash` when it is not the hash
    /// of the header.
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
