//! Micro blocks: the transactions of one committee in a Tx epoch.

use alloc::vec::Vec;

use prost::Message;

use crate::{
    amount::Qa,
    block::{CoSignatures, block_base, fields::Fields, header_base, parse_block_base, parse_header_base},
    error::DecodeError,
    gas::Gas,
    hash::{BlockHash, CommitteeHash, ReceiptsHash, StateDeltaHash, TxHash, TxRoot, sha256, sha256_or_zero},
    key::PublicKey,
    number::{BlockNumber, DsBlockNumber, ShardId, Timestamp},
    proto::{
        ByteArray, ProtoMicroBlock, ProtoMicroBlockHeader, decode, expect_bytes, expect_canonical, expect_present,
        expect_wrapped,
    },
};

/// The header of a micro block: the fields that are hashed and signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MicroBlockHeader {
    /// Version of the format of the header.
    pub version: u32,
    /// Hash of the keys of the committee that signs the block.
    pub committee_hash: CommitteeHash,
    /// Hash of the previous Tx block.
    pub prev_hash: BlockHash,
    /// Number of the committee of the block. The DS committee has the number after the last shard.
    pub shard: ShardId,
    /// Gas limit of the block.
    pub gas_limit: Gas,
    /// Gas that the transactions of the block used.
    pub gas_used: Gas,
    /// Coinbase reward if the DS committee makes the block in a vacuous epoch; fees of the transactions otherwise.
    pub rewards: Qa,
    /// Number of the Tx block that lists this micro block.
    pub epoch: BlockNumber,
    /// Hash of the transaction hashes.
    pub tx_root: TxRoot,
    /// Number of transactions in the block.
    pub tx_count: u32,
    /// Public key of the leader that proposed the block.
    pub miner: PublicKey,
    /// Number of the DS block of the DS epoch.
    pub ds_block: DsBlockNumber,
    /// Hash of the state delta of the block.
    pub state_delta_hash: StateDeltaHash,
    /// Hash of the receipts.
    pub receipts_hash: ReceiptsHash,
}

/// A micro block: header, transaction hashes, co-signatures and timestamp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MicroBlock {
    /// The fields that are hashed and signed.
    pub header: MicroBlockHeader,
    /// Hashes of the transactions, in the order of execution.
    pub tx_hashes: Vec<TxHash>,
    /// Signatures of the committee.
    pub cosignatures: CoSignatures,
    /// Creation time of the block.
    pub timestamp: Timestamp,
}

impl MicroBlockHeader {
    /// Version of the format of the header.
    pub const VERSION: u32 = 1;

    /// Returns the hash of the block.
    pub fn hash(&self) -> BlockHash {
        BlockHash::new(sha256(&[&self.encode()]))
    }

    /// Returns the bytes that are hashed and signed.
    pub fn encode(&self) -> Vec<u8> {
        let mut fields = Fields::new();
        fields.base(self.version, &self.committee_hash, &self.prev_hash);
        fields.number(2, self.shard.get().into());
        fields.implicit(3, self.gas_limit.get());
        fields.number(4, self.gas_used.get());
        fields.wrapped(5, &self.rewards.to_be_bytes());
        fields.number(7, self.epoch.get());
        fields.bytes(8, self.tx_root.as_bytes());
        fields.number(9, self.tx_count.into());
        fields.wrapped(10, self.miner.as_bytes());
        fields.implicit(11, self.ds_block.get());
        fields.bytes(12, self.state_delta_hash.as_bytes());
        fields.bytes(13, self.receipts_hash.as_bytes());
        fields.finish()
    }

    /// Reads a header from the bytes that are hashed and signed.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] for a missing, invalid or not canonical field.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        const NAME: &str = "ProtoMicroBlock.MicroBlockHeader";
        let header = Self::from_message(decode(NAME, bytes)?)?;
        expect_canonical(NAME, &header.encode(), bytes)?;
        Ok(header)
    }

    fn to_message(&self) -> ProtoMicroBlockHeader {
        ProtoMicroBlockHeader {
            blockheaderbase: Some(header_base(self.version, &self.committee_hash, &self.prev_hash)),
            shardid: Some(self.shard.get()),
            gaslimit: self.gas_limit.get(),
            gasused: Some(self.gas_used.get()),
            rewards: Some(ByteArray::wrap(self.rewards.to_be_bytes())),
            epochnum: Some(self.epoch.get()),
            txroothash: self.tx_root.as_bytes().to_vec(),
            numtxs: Some(self.tx_count),
            minerpubkey: Some(ByteArray::wrap(self.miner)),
            dsblocknum: self.ds_block.get(),
            statedeltahash: self.state_delta_hash.as_bytes().to_vec(),
            tranreceipthash: self.receipts_hash.as_bytes().to_vec(),
        }
    }

    fn from_message(message: ProtoMicroBlockHeader) -> Result<Self, DecodeError> {
        let (version, committee_hash, prev_hash) = parse_header_base(message.blockheaderbase)?;
        let state_delta_hash = expect_bytes("MicroBlockHeader.statedeltahash", &message.statedeltahash)?;
        let receipts_hash = expect_bytes("MicroBlockHeader.tranreceipthash", &message.tranreceipthash)?;
        Ok(Self {
            version,
            committee_hash,
            prev_hash,
            shard: ShardId::new(expect_present("MicroBlockHeader.shardid", message.shardid)?),
            gas_limit: Gas::new(message.gaslimit),
            gas_used: Gas::new(expect_present("MicroBlockHeader.gasused", message.gasused)?),
            rewards: Qa::from_be_bytes(expect_wrapped("MicroBlockHeader.rewards", message.rewards.as_ref())?),
            epoch: BlockNumber::new(expect_present("MicroBlockHeader.epochnum", message.epochnum)?),
            tx_root: TxRoot::new(expect_bytes("MicroBlockHeader.txroothash", &message.txroothash)?),
            tx_count: expect_present("MicroBlockHeader.numtxs", message.numtxs)?,
            miner: PublicKey::new(expect_wrapped("MicroBlockHeader.minerpubkey", message.minerpubkey.as_ref())?),
            ds_block: DsBlockNumber::new(message.dsblocknum),
            state_delta_hash: StateDeltaHash::new(state_delta_hash),
            receipts_hash: ReceiptsHash::new(receipts_hash),
        })
    }
}

impl TxRoot {
    /// Returns the hash of the concatenated transaction hashes of a micro block, in the order of execution.
    ///
    /// The reference calls this hash a root, but it has no tree.
    pub fn of(hashes: &[TxHash]) -> Self {
        let parts: Vec<&[u8]> = hashes.iter().map(AsRef::as_ref).collect();
        Self::new(sha256_or_zero(&parts))
    }
}

impl MicroBlock {
    /// Returns the serialised block.
    pub fn encode(&self) -> Vec<u8> {
        let header = self.header.to_message();
        let hash = BlockHash::new(sha256(&[&header.encode_to_vec()]));
        let message = ProtoMicroBlock {
            header: Some(header),
            tranhashes: self.tx_hashes.iter().map(|hash| hash.as_bytes().to_vec()).collect(),
            blockbase: Some(block_base(hash, &self.cosignatures, self.timestamp)),
        };
        message.encode_to_vec()
    }

    /// Reads a serialised block.
    ///
    /// The function does not verify the signatures. It does not compare the transaction hashes with `tx_count` and
    /// `tx_root` of the header.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] for a missing, invalid or not canonical field. The field `blockhash` is invalid if it is not the
    /// hash of the header.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        const NAME: &str = "ProtoMicroBlock";
        let message: ProtoMicroBlock = decode(NAME, bytes)?;
        let header = MicroBlockHeader::from_message(expect_present("ProtoMicroBlock.header", message.header)?)?;
        let tx_hash = |hash: &Vec<u8>| expect_bytes("ProtoMicroBlock.tranhashes", hash).map(TxHash::new);
        let tx_hashes = message.tranhashes.iter().map(tx_hash).collect::<Result<_, _>>()?;
        let (cosignatures, timestamp) = parse_block_base(header.hash(), message.blockbase)?;
        let block = Self { header, tx_hashes, cosignatures, timestamp };
        expect_canonical(NAME, &block.encode(), bytes)?;
        Ok(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::{any_micro_block, any_micro_header, check_refused, codec_properties, wrong_length};

    codec_properties!(header, MicroBlockHeader, any_micro_header());

    proptest::proptest! {
        #[test]
        fn header_has_the_bytes_of_its_message(header in any_micro_header()) {
            proptest::prop_assert_eq!(header.encode(), header.to_message().encode_to_vec());
        }
    }
    codec_properties!(block, MicroBlock, any_micro_block());

    fn block() -> MicroBlock {
        let header = MicroBlockHeader {
            version: MicroBlockHeader::VERSION,
            committee_hash: CommitteeHash::ZERO,
            prev_hash: BlockHash::ZERO,
            shard: ShardId::new(0),
            gas_limit: Gas::new(1),
            gas_used: Gas::ZERO,
            rewards: Qa::ZERO,
            epoch: BlockNumber::new(1),
            tx_root: TxRoot::ZERO,
            tx_count: 1,
            miner: PublicKey::new([2; 33]),
            ds_block: DsBlockNumber::new(1),
            state_delta_hash: StateDeltaHash::ZERO,
            receipts_hash: ReceiptsHash::ZERO,
        };
        let tx_hashes = vec![TxHash::new([1; 32])];
        MicroBlock { header, tx_hashes, cosignatures: CoSignatures::unsigned(1), timestamp: Timestamp::new(1) }
    }

    /// Changes the protobuf message of a block, and checks the error of the decoder.
    #[track_caller]
    fn check(edit: impl FnOnce(&mut ProtoMicroBlock), expected: &DecodeError) {
        let mut message = ProtoMicroBlock::decode(&*block().encode()).unwrap();
        edit(&mut message);
        check_refused(&MicroBlock::decode(&message.encode_to_vec()), expected);
    }

    #[track_caller]
    fn check_header(edit: impl FnOnce(&mut ProtoMicroBlockHeader), expected: &DecodeError) {
        check(|block| edit(block.header.as_mut().unwrap()), expected);
    }

    #[test]
    fn missing_fields_are_named() {
        let missing = |field| DecodeError::Missing { field };
        check(|block| block.header = None, &missing("ProtoMicroBlock.header"));
        check_header(|header| header.shardid = None, &missing("MicroBlockHeader.shardid"));
        check_header(|header| header.gasused = None, &missing("MicroBlockHeader.gasused"));
        check_header(|header| header.rewards = None, &missing("MicroBlockHeader.rewards"));
        check_header(|header| header.epochnum = None, &missing("MicroBlockHeader.epochnum"));
        check_header(|header| header.numtxs = None, &missing("MicroBlockHeader.numtxs"));
        check_header(|header| header.minerpubkey = None, &missing("MicroBlockHeader.minerpubkey"));
    }

    #[test]
    fn wrong_lengths_name_the_field() {
        check(|block| block.tranhashes.push(vec![1; 31]), &wrong_length("ProtoMicroBlock.tranhashes", 32, 31));
        check_header(|header| header.txroothash.clear(), &wrong_length("MicroBlockHeader.txroothash", 32, 0));
        check_header(|header| header.statedeltahash.push(1), &wrong_length("MicroBlockHeader.statedeltahash", 32, 33));
        check_header(|header| header.tranreceipthash.clear(), &wrong_length("MicroBlockHeader.tranreceipthash", 32, 0));
    }

    #[test]
    fn ds_block_zero_is_omitted_and_tx_block_zero_is_not() {
        let mut zero = block().header;
        zero.ds_block = DsBlockNumber::new(0);
        assert_eq!(block().header.encode().len() - zero.encode().len(), 2);
    }
}
