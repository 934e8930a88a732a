//! The protobuf messages of the protocol for `prost`, and the checks of all decoders.
//!
//! Names, numbers and presence of fields come from `ZilliqaMessage.proto` (Zilliqa/Zilliqa, src/libMessage). An
//! `optional` field is written even if it is zero; a plain scalar is omitted if it is zero. Fields that the reference
//! never writes are not declared: a message that contains them is not canonical (Reference: formats#protobuf).

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use prost::Message;

use crate::{error::DecodeError, key::PublicKey};

/// Reads a message. Errors contain `name` as the name of the message.
pub(crate) fn decode<M: Message + Default>(name: &'static str, bytes: &[u8]) -> Result<M, DecodeError> {
    M::decode(bytes).map_err(|source| DecodeError::Malformed { message: name, reason: source.to_string() })
}

/// Returns an error unless `given` equals its canonical form.
pub(crate) fn expect_canonical(name: &'static str, canonical: &[u8], given: &[u8]) -> Result<(), DecodeError> {
    if canonical == given {
        return Ok(());
    }
    let position = canonical.iter().zip(given).take_while(|(left, right)| left == right).count();
    Err(DecodeError::NotCanonical { message: name, position })
}

/// Returns the value of a required field, or an error if it is absent.
pub(crate) fn expect_present<T>(field: &'static str, value: Option<T>) -> Result<T, DecodeError> {
    value.ok_or(DecodeError::Missing { field })
}

/// Returns the value of a field with exactly `N` bytes, or an error for another length.
pub(crate) fn expect_bytes<const N: usize>(field: &'static str, bytes: &[u8]) -> Result<[u8; N], DecodeError> {
    bytes.try_into().map_err(|_| DecodeError::Length { field, expected: N, got: bytes.len() })
}

/// Returns the value of a wrapped field with exactly `N` bytes, or an error if it is absent or has another length.
pub(crate) fn expect_wrapped<const N: usize>(
    field: &'static str,
    value: Option<&ByteArray>,
) -> Result<[u8; N], DecodeError> {
    expect_bytes(field, &expect_present(field, value)?.data)
}

/// Returns the value of a UTF-8 text field, or an error for other bytes.
pub(crate) fn expect_text(field: &'static str, bytes: Vec<u8>) -> Result<String, DecodeError> {
    String::from_utf8(bytes).map_err(|error| DecodeError::Text { field, position: error.utf8_error().valid_up_to() })
}

/// Returns an error unless a field has its only valid value.
pub(crate) fn expect_value<T: PartialEq + ToString>(
    field: &'static str,
    expected: &T,
    got: &T,
) -> Result<(), DecodeError> {
    if expected == got {
        return Ok(());
    }
    Err(DecodeError::Value { field, expected: expected.to_string(), got: got.to_string() })
}

/// Bytes in a nested message, so that empty bytes differ from an absent field.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ByteArray {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) data: Vec<u8>,
}

impl ByteArray {
    /// Wraps the bytes of a field.
    pub(crate) fn wrap(bytes: impl AsRef<[u8]>) -> Self {
        Self { data: bytes.as_ref().to_vec() }
    }

    /// Wraps each key of a list.
    pub(crate) fn wrap_keys(keys: &[PublicKey]) -> Vec<Self> {
        keys.iter().map(Self::wrap).collect()
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoTransaction {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) tranid: Vec<u8>,
    #[prost(message, optional, tag = "2")]
    pub(crate) info: Option<ProtoTransactionCoreInfo>,
    #[prost(message, optional, tag = "3")]
    pub(crate) signature: Option<ByteArray>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoTransactionCoreInfo {
    #[prost(uint32, tag = "1")]
    pub(crate) version: u32,
    #[prost(uint64, optional, tag = "2")]
    pub(crate) nonce: Option<u64>,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) toaddr: Vec<u8>,
    #[prost(message, optional, tag = "4")]
    pub(crate) senderpubkey: Option<ByteArray>,
    #[prost(message, optional, tag = "5")]
    pub(crate) amount: Option<ByteArray>,
    #[prost(message, optional, tag = "6")]
    pub(crate) gasprice: Option<ByteArray>,
    #[prost(uint64, tag = "7")]
    pub(crate) gaslimit: u64,
    #[prost(bytes = "vec", optional, tag = "8")]
    pub(crate) code: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "9")]
    pub(crate) data: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoTransactionReceipt {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) receipt: Vec<u8>,
    #[prost(uint64, optional, tag = "2")]
    pub(crate) cumgas: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoAccountBase {
    #[prost(uint32, tag = "1")]
    pub(crate) version: u32,
    #[prost(message, optional, tag = "2")]
    pub(crate) balance: Option<ByteArray>,
    #[prost(uint64, optional, tag = "3")]
    pub(crate) nonce: Option<u64>,
    #[prost(bytes = "vec", tag = "4")]
    pub(crate) codehash: Vec<u8>,
    #[prost(bytes = "vec", tag = "5")]
    pub(crate) storageroot: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoAccountStore {
    #[prost(message, repeated, tag = "3")]
    pub(crate) entries: Vec<AddressAccount>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AddressAccount {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) address: Vec<u8>,
    #[prost(message, optional, tag = "2")]
    pub(crate) account: Option<ProtoAccount>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoAccount {
    #[prost(message, optional, tag = "1")]
    pub(crate) base: Option<ProtoAccountBase>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) code: Vec<u8>,
    #[prost(bool, tag = "4")]
    pub(crate) numbersign: bool,
    #[prost(message, repeated, tag = "5")]
    pub(crate) storage2: Vec<StorageData2>,
    #[prost(string, repeated, tag = "6")]
    pub(crate) todelete: Vec<String>,
    #[prost(bytes = "vec", tag = "7")]
    pub(crate) initdata: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StorageData2 {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoBlockHeaderBase {
    #[prost(uint32, tag = "1")]
    pub(crate) version: u32,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) committeehash: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) prevhash: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoBlockBase {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) blockhash: Vec<u8>,
    #[prost(message, optional, tag = "2")]
    pub(crate) cosigs: Option<ProtoCoSignatures>,
    #[prost(uint64, tag = "3")]
    pub(crate) timestamp: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoCoSignatures {
    #[prost(message, optional, tag = "1")]
    pub(crate) cs1: Option<ByteArray>,
    #[prost(bool, repeated, tag = "2")]
    pub(crate) b1: Vec<bool>,
    #[prost(message, optional, tag = "3")]
    pub(crate) cs2: Option<ByteArray>,
    #[prost(bool, repeated, tag = "4")]
    pub(crate) b2: Vec<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoTxBlock {
    #[prost(message, optional, tag = "1")]
    pub(crate) header: Option<ProtoTxBlockHeader>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) mbinfos: Vec<ProtoMbInfo>,
    #[prost(message, optional, tag = "3")]
    pub(crate) blockbase: Option<ProtoBlockBase>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoTxBlockHeader {
    #[prost(message, optional, tag = "1")]
    pub(crate) blockheaderbase: Option<ProtoBlockHeaderBase>,
    #[prost(uint64, tag = "2")]
    pub(crate) gaslimit: u64,
    #[prost(uint64, optional, tag = "3")]
    pub(crate) gasused: Option<u64>,
    #[prost(message, optional, tag = "4")]
    pub(crate) rewards: Option<ByteArray>,
    #[prost(uint64, optional, tag = "6")]
    pub(crate) blocknum: Option<u64>,
    #[prost(message, optional, tag = "7")]
    pub(crate) hash: Option<TxBlockHashSet>,
    #[prost(uint32, optional, tag = "8")]
    pub(crate) numtxs: Option<u32>,
    #[prost(message, optional, tag = "9")]
    pub(crate) minerpubkey: Option<ByteArray>,
    #[prost(uint64, optional, tag = "10")]
    pub(crate) dsblocknum: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TxBlockHashSet {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) stateroothash: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) statedeltahash: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) mbinfohash: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoMbInfo {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) mbhash: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) txroot: Vec<u8>,
    #[prost(uint32, optional, tag = "3")]
    pub(crate) shardid: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoMicroBlock {
    #[prost(message, optional, tag = "1")]
    pub(crate) header: Option<ProtoMicroBlockHeader>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub(crate) tranhashes: Vec<Vec<u8>>,
    #[prost(message, optional, tag = "3")]
    pub(crate) blockbase: Option<ProtoBlockBase>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoMicroBlockHeader {
    #[prost(message, optional, tag = "1")]
    pub(crate) blockheaderbase: Option<ProtoBlockHeaderBase>,
    #[prost(uint32, optional, tag = "2")]
    pub(crate) shardid: Option<u32>,
    #[prost(uint64, tag = "3")]
    pub(crate) gaslimit: u64,
    #[prost(uint64, optional, tag = "4")]
    pub(crate) gasused: Option<u64>,
    #[prost(message, optional, tag = "5")]
    pub(crate) rewards: Option<ByteArray>,
    #[prost(uint64, optional, tag = "7")]
    pub(crate) epochnum: Option<u64>,
    #[prost(bytes = "vec", tag = "8")]
    pub(crate) txroothash: Vec<u8>,
    #[prost(uint32, optional, tag = "9")]
    pub(crate) numtxs: Option<u32>,
    #[prost(message, optional, tag = "10")]
    pub(crate) minerpubkey: Option<ByteArray>,
    // The encoder omits this field if it is zero, but always writes the same field of a Tx block.
    #[prost(uint64, tag = "11")]
    pub(crate) dsblocknum: u64,
    #[prost(bytes = "vec", tag = "12")]
    pub(crate) statedeltahash: Vec<u8>,
    #[prost(bytes = "vec", tag = "13")]
    pub(crate) tranreceipthash: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoDsBlock {
    #[prost(message, optional, tag = "1")]
    pub(crate) header: Option<ProtoDsBlockHeader>,
    #[prost(message, optional, tag = "2")]
    pub(crate) blockbase: Option<ProtoBlockBase>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoDsBlockHeader {
    #[prost(message, optional, tag = "1")]
    pub(crate) blockheaderbase: Option<ProtoBlockHeaderBase>,
    #[prost(uint32, tag = "2")]
    pub(crate) dsdifficulty: u32,
    #[prost(uint32, tag = "3")]
    pub(crate) difficulty: u32,
    #[prost(message, optional, tag = "5")]
    pub(crate) leaderpubkey: Option<ByteArray>,
    #[prost(uint64, optional, tag = "6")]
    pub(crate) blocknum: Option<u64>,
    #[prost(uint64, optional, tag = "7")]
    pub(crate) epochnum: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub(crate) gasprice: Option<ByteArray>,
    #[prost(message, optional, tag = "9")]
    pub(crate) swinfo: Option<ByteArray>,
    #[prost(message, repeated, tag = "10")]
    pub(crate) dswinners: Vec<PowDsWinner>,
    #[prost(message, optional, tag = "11")]
    pub(crate) hash: Option<DsBlockHashSet>,
    #[prost(message, repeated, tag = "12")]
    pub(crate) dsremoved: Vec<ByteArray>,
    #[prost(message, repeated, tag = "13")]
    pub(crate) proposals: Vec<Proposal>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PowDsWinner {
    #[prost(message, optional, tag = "1")]
    pub(crate) key: Option<ByteArray>,
    #[prost(message, optional, tag = "2")]
    pub(crate) val: Option<ByteArray>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DsBlockHashSet {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) shardinghash: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) reservedfield: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Proposal {
    #[prost(uint32, tag = "1")]
    pub(crate) proposalid: u32,
    #[prost(message, repeated, tag = "2")]
    pub(crate) dsvotes: Vec<Vote>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) minervotes: Vec<Vote>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Vote {
    #[prost(uint32, tag = "1")]
    pub(crate) value: u32,
    #[prost(uint32, tag = "2")]
    pub(crate) count: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoCommittee {
    #[prost(message, repeated, tag = "1")]
    pub(crate) members: Vec<ByteArray>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoShardingStructure {
    #[prost(uint32, tag = "1")]
    pub(crate) version: u32,
    #[prost(message, repeated, tag = "2")]
    pub(crate) shards: Vec<ProtoShard>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoShard {
    #[prost(message, repeated, tag = "1")]
    pub(crate) members: Vec<ProtoShardMember>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoShardMember {
    #[prost(message, optional, tag = "1")]
    pub(crate) pubkey: Option<ByteArray>,
    #[prost(message, optional, tag = "2")]
    pub(crate) peerinfo: Option<ByteArray>,
    #[prost(uint32, optional, tag = "3")]
    pub(crate) reputation: Option<u32>,
}
