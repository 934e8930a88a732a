//! The protobuf messages of the protocol for `prost`, and the checks of all decoders.
//!
//! The macros are here instead of `prost-derive`, which brings four more crates into the build of a user.
//!
//! Names, numbers and presence of fields come from `ZilliqaMessage.proto` (Zilliqa/Zilliqa, src/libMessage). An
//! `optional` field is written even if it is zero; a plain scalar is omitted if it is zero. Fields that the reference
//! never writes are not declared: a message that contains them is not canonical (Reference: formats#protobuf).

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use prost::{
    DecodeError as ProtoError, Message,
    bytes::{Buf, BufMut},
    encoding::{DecodeContext, WireType, bool, bytes, message, skip_field, string, uint32, uint64},
};

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

/// A field of a message. Its type determines its protobuf type and its presence.
trait Field {
    fn encode(&self, tag: u32, out: &mut impl BufMut);
    fn merge(&mut self, wire: WireType, bytes: &mut impl Buf, context: DecodeContext) -> Result<(), ProtoError>;
    fn encoded_len(&self, tag: u32) -> usize;
}

/// A message of this module.
trait Nested: Message + Default {}

/// A plain scalar, which is omitted if it is zero or empty.
macro_rules! plain {
    ($($field:ty: $module:ident)*) => {
        $(impl Field for $field {
            fn encode(&self, tag: u32, out: &mut impl BufMut) {
                if *self != Self::default() {
                    $module::encode(tag, self, out);
                }
            }

            fn merge(&mut self, wire: WireType, bytes: &mut impl Buf, context: DecodeContext) -> Result<(), ProtoError> {
                $module::merge(wire, self, bytes, context)
            }

            fn encoded_len(&self, tag: u32) -> usize {
                if *self == Self::default() { 0 } else { $module::encoded_len(tag, self) }
            }
        })*
    };
}

/// A field with presence, which is written even if it is zero.
macro_rules! optional {
    ($([$($generic:tt)*] $field:ty: $module:ident)*) => {
        $(impl$($generic)* Field for Option<$field> {
            fn encode(&self, tag: u32, out: &mut impl BufMut) {
                if let Some(value) = self {
                    $module::encode(tag, value, out);
                }
            }

            fn merge(&mut self, wire: WireType, bytes: &mut impl Buf, context: DecodeContext) -> Result<(), ProtoError> {
                $module::merge(wire, self.get_or_insert_default(), bytes, context)
            }

            fn encoded_len(&self, tag: u32) -> usize {
                self.as_ref().map_or(0, |value| $module::encoded_len(tag, value))
            }
        })*
    };
}

/// A repeated field. The names are those of the functions that write it and measure it.
macro_rules! repeated {
    ($([$($generic:tt)*] $element:ty: $module:ident $encode:ident $encoded_len:ident)*) => {
        $(impl$($generic)* Field for Vec<$element> {
            fn encode(&self, tag: u32, out: &mut impl BufMut) {
                $module::$encode(tag, self, out);
            }

            fn merge(&mut self, wire: WireType, bytes: &mut impl Buf, context: DecodeContext) -> Result<(), ProtoError> {
                $module::merge_repeated(wire, self, bytes, context)
            }

            fn encoded_len(&self, tag: u32) -> usize {
                $module::$encoded_len(tag, self)
            }
        })*
    };
}

plain! { bool: bool u32: uint32 u64: uint64 String: string Vec<u8>: bytes }
optional! { [] u32: uint32 [] u64: uint64 [] Vec<u8>: bytes [<M: Nested>] M: message }
repeated! {
    [] bool: bool encode_packed encoded_len_packed
    [] String: string encode_repeated encoded_len_repeated
    [] Vec<u8>: bytes encode_repeated encoded_len_repeated
    [<M: Nested>] M: message encode_repeated encoded_len_repeated
}

/// Declares messages. The fields have ascending numbers, which is the order of their bytes.
macro_rules! messages {
    ($($(#[$meta:meta])* $name:ident { $($tag:literal => $field:ident: $ty:ty,)* })*) => {
        $($(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(crate) struct $name {
            $(pub(crate) $field: $ty,)*
        }

        impl Nested for $name {}

        impl Message for $name {
            fn encode_raw(&self, out: &mut impl BufMut) {
                $(Field::encode(&self.$field, $tag, out);)*
            }

            fn merge_field(
                &mut self,
                tag: u32,
                wire: WireType,
                bytes: &mut impl Buf,
                context: DecodeContext,
            ) -> Result<(), ProtoError> {
                match tag {
                    $($tag => Field::merge(&mut self.$field, wire, bytes, context).map_err(|mut error| {
                        error.push(stringify!($name), stringify!($field));
                        error
                    }),)*
                    _ => skip_field(wire, tag, bytes, context),
                }
            }

            fn encoded_len(&self) -> usize {
                [$(Field::encoded_len(&self.$field, $tag)),*].into_iter().fold(0, usize::saturating_add)
            }

            fn clear(&mut self) {
                *self = Self::default();
            }
        })*
    };
}

messages! {
    /// Bytes in a nested message, so that empty bytes differ from an absent field.
    ByteArray {
        1 => data: Vec<u8>,
    }
    ProtoTransaction {
        1 => tranid: Vec<u8>,
        2 => info: Option<ProtoTransactionCoreInfo>,
        3 => signature: Option<ByteArray>,
    }
    ProtoTransactionCoreInfo {
        1 => version: u32,
        2 => nonce: Option<u64>,
        3 => toaddr: Vec<u8>,
        4 => senderpubkey: Option<ByteArray>,
        5 => amount: Option<ByteArray>,
        6 => gasprice: Option<ByteArray>,
        7 => gaslimit: u64,
        8 => code: Option<Vec<u8>>,
        9 => data: Option<Vec<u8>>,
    }
    ProtoTransactionReceipt {
        1 => receipt: Vec<u8>,
        2 => cumgas: Option<u64>,
    }
    ProtoAccountBase {
        1 => version: u32,
        2 => balance: Option<ByteArray>,
        3 => nonce: Option<u64>,
        4 => codehash: Vec<u8>,
        5 => storageroot: Vec<u8>,
    }
    ProtoAccountStore {
        3 => entries: Vec<AddressAccount>,
    }
    AddressAccount {
        1 => address: Vec<u8>,
        2 => account: Option<ProtoAccount>,
    }
    ProtoAccount {
        1 => base: Option<ProtoAccountBase>,
        2 => code: Vec<u8>,
        4 => numbersign: bool,
        5 => storage2: Vec<StorageData2>,
        6 => todelete: Vec<String>,
        7 => initdata: Vec<u8>,
    }
    StorageData2 {
        1 => key: String,
        2 => data: Vec<u8>,
    }
    ProtoBlockHeaderBase {
        1 => version: u32,
        2 => committeehash: Vec<u8>,
        3 => prevhash: Vec<u8>,
    }
    ProtoBlockBase {
        1 => blockhash: Vec<u8>,
        2 => cosigs: Option<ProtoCoSignatures>,
        3 => timestamp: u64,
    }
    ProtoCoSignatures {
        1 => cs1: Option<ByteArray>,
        2 => b1: Vec<bool>,
        3 => cs2: Option<ByteArray>,
        4 => b2: Vec<bool>,
    }
    ProtoTxBlock {
        1 => header: Option<ProtoTxBlockHeader>,
        2 => mbinfos: Vec<ProtoMbInfo>,
        3 => blockbase: Option<ProtoBlockBase>,
    }
    ProtoTxBlockHeader {
        1 => blockheaderbase: Option<ProtoBlockHeaderBase>,
        2 => gaslimit: u64,
        3 => gasused: Option<u64>,
        4 => rewards: Option<ByteArray>,
        6 => blocknum: Option<u64>,
        7 => hash: Option<TxBlockHashSet>,
        8 => numtxs: Option<u32>,
        9 => minerpubkey: Option<ByteArray>,
        10 => dsblocknum: Option<u64>,
    }
    TxBlockHashSet {
        1 => stateroothash: Vec<u8>,
        2 => statedeltahash: Vec<u8>,
        3 => mbinfohash: Vec<u8>,
    }
    ProtoMbInfo {
        1 => mbhash: Vec<u8>,
        2 => txroot: Vec<u8>,
        3 => shardid: Option<u32>,
    }
    ProtoMicroBlock {
        1 => header: Option<ProtoMicroBlockHeader>,
        2 => tranhashes: Vec<Vec<u8>>,
        3 => blockbase: Option<ProtoBlockBase>,
    }
    ProtoMicroBlockHeader {
        1 => blockheaderbase: Option<ProtoBlockHeaderBase>,
        2 => shardid: Option<u32>,
        3 => gaslimit: u64,
        4 => gasused: Option<u64>,
        5 => rewards: Option<ByteArray>,
        7 => epochnum: Option<u64>,
        8 => txroothash: Vec<u8>,
        9 => numtxs: Option<u32>,
        10 => minerpubkey: Option<ByteArray>,
        // This field is omitted if it is zero. The same field of a Tx block is always written.
        11 => dsblocknum: u64,
        12 => statedeltahash: Vec<u8>,
        13 => tranreceipthash: Vec<u8>,
    }
    ProtoDsBlock {
        1 => header: Option<ProtoDsBlockHeader>,
        2 => blockbase: Option<ProtoBlockBase>,
    }
    ProtoDsBlockHeader {
        1 => blockheaderbase: Option<ProtoBlockHeaderBase>,
        2 => dsdifficulty: u32,
        3 => difficulty: u32,
        5 => leaderpubkey: Option<ByteArray>,
        6 => blocknum: Option<u64>,
        7 => epochnum: Option<u64>,
        8 => gasprice: Option<ByteArray>,
        9 => swinfo: Option<ByteArray>,
        10 => dswinners: Vec<PowDsWinner>,
        11 => hash: Option<DsBlockHashSet>,
        12 => dsremoved: Vec<ByteArray>,
        13 => proposals: Vec<Proposal>,
    }
    PowDsWinner {
        1 => key: Option<ByteArray>,
        2 => val: Option<ByteArray>,
    }
    DsBlockHashSet {
        1 => shardinghash: Vec<u8>,
        2 => reservedfield: Vec<u8>,
    }
    Proposal {
        1 => proposalid: u32,
        2 => dsvotes: Vec<Vote>,
        3 => minervotes: Vec<Vote>,
    }
    Vote {
        1 => value: u32,
        2 => count: u32,
    }
    ProtoCommittee {
        1 => members: Vec<ByteArray>,
    }
    ProtoShardingStructure {
        1 => version: u32,
        2 => shards: Vec<ProtoShard>,
    }
    ProtoShard {
        1 => members: Vec<ProtoShardMember>,
    }
    ProtoShardMember {
        1 => pubkey: Option<ByteArray>,
        2 => peerinfo: Option<ByteArray>,
        3 => reputation: Option<u32>,
    }
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
