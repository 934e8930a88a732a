//! Blocks: headers and their hashes, bodies, co-signatures, and the committees that sign them.

mod committee;
mod cosignature;
mod ds_block;
mod fields;
mod micro_block;
mod tx_block;

use crate::{
    error::DecodeError,
    hash::{BlockHash, CommitteeHash},
    number::Timestamp,
    proto::{ProtoBlockBase, ProtoBlockHeaderBase, expect_bytes, expect_present, expect_value},
};

pub use self::{
    committee::{Peer, ShardMember},
    cosignature::{CoSignatures, pack_bits},
    ds_block::{DsBlock, DsBlockHeader, Reserved, SwInfo, SwVersion, Votes},
    micro_block::{MicroBlock, MicroBlockHeader},
    tx_block::{MbInfo, TxBlock, TxBlockHeader},
};

/// Returns the message with the fields of every header.
fn header_base(version: u32, committee_hash: &CommitteeHash, prev_hash: &BlockHash) -> ProtoBlockHeaderBase {
    ProtoBlockHeaderBase {
        version,
        committeehash: committee_hash.as_bytes().to_vec(),
        prevhash: prev_hash.as_bytes().to_vec(),
    }
}

/// Reads the fields of every header: version, committee hash and previous hash.
fn parse_header_base(base: Option<ProtoBlockHeaderBase>) -> Result<(u32, CommitteeHash, BlockHash), DecodeError> {
    let base = expect_present("BlockHeaderBase", base)?;
    let committee_hash = expect_bytes("BlockHeaderBase.committeehash", &base.committeehash)?;
    let prev_hash = expect_bytes("BlockHeaderBase.prevhash", &base.prevhash)?;
    Ok((base.version, CommitteeHash::new(committee_hash), BlockHash::new(prev_hash)))
}

/// Returns the message with the fields that every block has in addition to its header.
fn block_base(hash: BlockHash, cosignatures: &CoSignatures, timestamp: Timestamp) -> ProtoBlockBase {
    ProtoBlockBase {
        blockhash: hash.as_bytes().to_vec(),
        cosigs: Some(cosignatures.to_message()),
        timestamp: timestamp.get(),
    }
}

/// Reads the fields that every block has in addition to its header. Returns an error if the block hash is not
/// `expected`.
fn parse_block_base(
    expected: BlockHash,
    base: Option<ProtoBlockBase>,
) -> Result<(CoSignatures, Timestamp), DecodeError> {
    let base = expect_present("BlockBase", base)?;
    let hash = BlockHash::new(expect_bytes("BlockBase.blockhash", &base.blockhash)?);
    expect_value("BlockBase.blockhash", &expected, &hash)?;
    let cosignatures = CoSignatures::from_message(expect_present("BlockBase.cosigs", base.cosigs)?)?;
    Ok((cosignatures, Timestamp::new(base.timestamp)))
}
