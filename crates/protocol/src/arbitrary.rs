//! Random values of the types of this crate for property tests, and the properties of every codec.
#![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test")]

use std::{fmt::Debug, net::Ipv4Addr};

use proptest::{
    collection::{btree_map, btree_set, vec},
    option,
    prelude::*,
    sample::Index,
};
use serde_json::Value;

use crate::{
    Account, AccountDelta, Address, BalanceChange, BlockHash, BlockNumber, CoSignatures, CodeHash, CommitteeHash,
    ContractAccount, ContractMessage, ContractParam, DecodeError, DeployedContract, DsBlock, DsBlockHeader,
    DsBlockNumber, EventLog, Exception, Gas, GasPrice, MbInfo, MbInfoHash, MicroBlock, MicroBlockHeader, Nonce, Peer,
    PublicKey, Qa, Receipt, ReceiptError, ReceiptsHash, Reserved, ShardId, ShardingHash, Signature, StateDelta,
    StateDeltaHash, StateRoot, StorageKey, StorageRoot, SwInfo, SwVersion, Timestamp, Transaction, Transition, TxBlock,
    TxBlockHeader, TxHash, TxRoot, UnsignedTransaction, Version, Votes,
};

/// Declares the properties of a type with `encode` and `decode`.
macro_rules! codec_properties {
    ($name:ident, $type:ty, $strategy:expr) => {
        mod $name {
            use proptest::prelude::*;

            use super::*;

            proptest! {
                #[test]
                fn round_trip(value in $strategy) {
                    let bytes = value.encode();
                    prop_assert_eq!(<$type>::decode(&bytes), Ok(value));
                }

                #[test]
                fn damaged_bytes_are_refused_or_mean_something_else(
                    value in $strategy,
                    damage in $crate::arbitrary::any_damage(),
                ) {
                    let bytes = damage.apply(value.encode());
                    if let Ok(read) = <$type>::decode(&bytes) {
                        prop_assert_eq!(read.encode(), bytes);
                    }
                }

                #[test]
                fn arbitrary_bytes_are_refused_or_canonical(bytes: Vec<u8>) {
                    if let Ok(read) = <$type>::decode(&bytes) {
                        prop_assert_eq!(read.encode(), bytes);
                    }
                }

                #[test]
                fn trailing_field_is_refused(value in $strategy) {
                    // Field 31 with the number 0. No message has this field.
                    let bytes = [value.encode(), vec![0xf8, 1, 0]].concat();
                    prop_assert!(<$type>::decode(&bytes).is_err());
                }
            }
        }
    };
}
pub(crate) use codec_properties;

/// A random change of encoded bytes.
#[derive(Clone, Debug)]
pub(crate) enum Damage {
    Append(Vec<u8>),
    Insert(Index, u8),
    Overwrite(Index, u8),
    Remove(Index),
    Truncate(Index),
}

impl Damage {
    pub(crate) fn apply(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let len = bytes.len();
        match self {
            Self::Append(tail) => bytes.extend(tail),
            Self::Insert(at, byte) => bytes.insert(at.index(len + 1), *byte),
            Self::Overwrite(_, _) | Self::Remove(_) if len == 0 => {}
            Self::Overwrite(at, byte) => bytes[at.index(len)] = *byte,
            Self::Remove(at) => drop(bytes.remove(at.index(len))),
            Self::Truncate(at) => bytes.truncate(at.index(len + 1)),
        }
        bytes
    }
}

pub(crate) fn any_damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        vec(any::<u8>(), 1..8).prop_map(Damage::Append),
        any::<(Index, u8)>().prop_map(|(at, byte)| Damage::Insert(at, byte)),
        any::<(Index, u8)>().prop_map(|(at, byte)| Damage::Overwrite(at, byte)),
        any::<Index>().prop_map(Damage::Remove),
        any::<Index>().prop_map(Damage::Truncate),
    ]
}

/// Checks that a decoder rejects bytes with the expected error.
#[track_caller]
pub(crate) fn check_refused<T: Debug + PartialEq>(result: &Result<T, DecodeError>, expected: &DecodeError) {
    assert_eq!(result.as_ref(), Err(expected));
}

/// Returns the error of a field with a wrong length.
pub(crate) const fn wrong_length(field: &'static str, expected: usize, got: usize) -> DecodeError {
    DecodeError::Length { field, expected, got }
}

pub(crate) fn any_address() -> impl Strategy<Value = Address> {
    prop_oneof![1 => Just(Address::ZERO), 4 => any::<[u8; 20]>().prop_map(Address::new)]
}

fn any_hash<T: Debug>(wrap: fn([u8; 32]) -> T) -> impl Strategy<Value = T> {
    prop_oneof![1 => Just([0; 32]), 4 => any::<[u8; 32]>()].prop_map(wrap)
}

fn any_key() -> impl Strategy<Value = PublicKey> {
    any::<(bool, [u8; 32])>().prop_map(|(odd, x)| {
        let mut key = [2 + u8::from(odd); 33];
        key[1..].copy_from_slice(&x);
        PublicKey::new(key)
    })
}

fn any_signature() -> impl Strategy<Value = Signature> {
    any::<([u8; 32], [u8; 32])>().prop_map(|halves| Signature::try_from(&[halves.0, halves.1].concat()[..]).unwrap())
}

/// Returns numbers of all sizes, so that each length of a varint occurs.
fn any_u64() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0_u32..=63).prop_map(|(number, shift)| number >> shift)
}

fn any_qa() -> impl Strategy<Value = Qa> {
    (any::<u128>(), 0_u32..=127).prop_map(|(number, shift)| Qa::new(number >> shift))
}

pub(crate) fn any_transaction() -> impl Strategy<Value = Transaction> {
    let parties = (any_address(), any_key(), any_signature());
    let numbers = (prop_oneof![Just(0), any::<u32>()], any_u64(), any_qa(), any_qa(), any_u64());
    let text = || prop_oneof![Just(String::new()), any::<String>(), "[a-z]{120,140}"];
    (parties, numbers, text(), text()).prop_map(|(parties, numbers, code, data)| {
        let unsigned = UnsignedTransaction {
            version: Version::from_packed(numbers.0),
            nonce: Nonce::new(numbers.1),
            to: parties.0,
            amount: numbers.2,
            gas_price: GasPrice::new(numbers.3),
            gas_limit: Gas::new(numbers.4),
            code,
            data,
            sender_key: parties.1,
        };
        unsigned.with_signature(parties.2)
    })
}

/// Returns arbitrary JSON without fractions. The text of each value reads back as the same value.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 48, 30, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..30).prop_map(Value::from),
            btree_map(any::<String>(), inner, 0..6).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_params() -> impl Strategy<Value = Vec<ContractParam>> {
    let param = (any::<String>(), any::<String>(), any_json());
    vec(param.prop_map(|(name, type_name, value)| ContractParam { name, type_name, value }), 0..3)
}

pub(crate) fn any_receipt() -> impl Strategy<Value = Receipt> {
    let error = (0..26_u8).prop_map(|code| ReceiptError::from_code(code).unwrap());
    let exception = any::<(u32, String)>().prop_map(|(line, message)| Exception { line, message });
    let event = (any_address(), any::<String>(), any_params()).prop_map(|(address, name, params)| EventLog {
        address,
        name,
        params,
    });
    let message = (any_qa(), any_address(), any::<String>(), any_params())
        .prop_map(|(amount, recipient, tag, params)| ContractMessage { amount, recipient, tag, params });
    let transition = (any_address(), any::<u32>(), message, any::<Option<bool>>())
        .prop_map(|(address, depth, message, accepted)| Transition { address, depth, message, accepted });
    let head = (any_u64(), any_u64(), any::<bool>(), any::<Option<bool>>());
    let failure = (btree_map(any::<u32>(), vec(error, 0..4), 0..3), vec(exception, 0..3));
    (head, failure, vec(event, 0..3), vec(transition, 0..3)).prop_map(|(head, failure, event_logs, transitions)| {
        Receipt {
            cumulative_gas: Gas::new(head.0),
            epoch: BlockNumber::new(head.1),
            success: head.2,
            accepted: head.3,
            errors: failure.0,
            exceptions: failure.1,
            event_logs,
            transitions,
        }
    })
}

pub(crate) fn any_account() -> impl Strategy<Value = Account> {
    let root = any_hash(StorageRoot::new).prop_map(|root| Some(root).filter(|root| !root.is_zero()));
    let contract = (any::<[u8; 32]>(), root)
        .prop_map(|(hash, storage_root)| ContractAccount { code_hash: CodeHash::new(hash), storage_root });
    (any_qa(), any_u64(), option::of(contract)).prop_map(|(balance, nonce, contract)| Account {
        balance,
        nonce: Nonce::new(nonce),
        contract,
    })
}

pub(crate) fn any_state_delta() -> impl Strategy<Value = StateDelta> {
    let key = || any::<String>().prop_map(StorageKey::from_text);
    let deployed = (any::<[u8; 32]>(), any::<String>(), any::<String>())
        .prop_map(|(hash, code, init_data)| DeployedContract { code_hash: CodeHash::new(hash), code, init_data });
    let storage = (btree_map(key(), any::<Vec<u8>>(), 0..3), btree_set(key(), 0..3));
    let account = (any_qa(), any_qa(), any_u64(), option::of(deployed), storage).prop_map(
        |(old, new, nonce_increase, deployed, (written, removed))| AccountDelta {
            balance: BalanceChange::between(old, new),
            nonce_increase,
            deployed,
            written,
            removed,
        },
    );
    btree_map(any_address(), account, 0..4).prop_map(|accounts| StateDelta { accounts })
}

fn any_cosignatures() -> impl Strategy<Value = (CoSignatures, Timestamp)> {
    let bits = || vec(any::<bool>(), 0..12);
    (any_signature(), bits(), any_signature(), bits(), any_u64())
        .prop_map(|(cs1, b1, cs2, b2, time)| (CoSignatures { cs1, b1, cs2, b2 }, Timestamp::new(time)))
}

fn any_base() -> impl Strategy<Value = (u32, CommitteeHash, BlockHash)> {
    (0_u32..4, any_hash(CommitteeHash::new), any_hash(BlockHash::new))
}

pub(crate) fn any_tx_header() -> impl Strategy<Value = TxBlockHeader> {
    let totals = (any_u64(), any_u64(), any_qa(), any::<u32>());
    let hashes = (any_hash(StateRoot::new), any_hash(StateDeltaHash::new), any_hash(MbInfoHash::new));
    (any_base(), totals, hashes, any_key(), any_u64(), any_u64()).prop_map(
        |(base, totals, hashes, miner, number, ds_block)| TxBlockHeader {
            version: base.0,
            committee_hash: base.1,
            prev_hash: base.2,
            gas_limit: Gas::new(totals.0),
            gas_used: Gas::new(totals.1),
            rewards: totals.2,
            number: BlockNumber::new(number),
            state_root: hashes.0,
            state_delta_hash: hashes.1,
            mb_info_hash: hashes.2,
            tx_count: totals.3,
            miner,
            ds_block: DsBlockNumber::new(ds_block),
        },
    )
}

pub(crate) fn any_tx_block() -> impl Strategy<Value = TxBlock> {
    let info = (any_hash(BlockHash::new), any_hash(TxRoot::new), 0_u32..300)
        .prop_map(|(hash, tx_root, shard)| MbInfo { hash, tx_root, shard: ShardId::new(shard) });
    (any_tx_header(), vec(info, 0..4), any_cosignatures()).prop_map(
        |(header, micro_blocks, (cosignatures, timestamp))| TxBlock { header, micro_blocks, cosignatures, timestamp },
    )
}

pub(crate) fn any_micro_header() -> impl Strategy<Value = MicroBlockHeader> {
    let totals = (any_u64(), any_u64(), any_qa(), any::<u32>());
    let hashes = (any_hash(TxRoot::new), any_hash(StateDeltaHash::new), any_hash(ReceiptsHash::new));
    (any_base(), totals, hashes, any_key(), any::<u32>(), any_u64(), any_u64()).prop_map(
        |(base, totals, hashes, miner, shard, epoch, ds_block)| MicroBlockHeader {
            version: base.0,
            committee_hash: base.1,
            prev_hash: base.2,
            shard: ShardId::new(shard),
            gas_limit: Gas::new(totals.0),
            gas_used: Gas::new(totals.1),
            rewards: totals.2,
            epoch: BlockNumber::new(epoch),
            tx_root: hashes.0,
            tx_count: totals.3,
            miner,
            ds_block: DsBlockNumber::new(ds_block),
            state_delta_hash: hashes.1,
            receipts_hash: hashes.2,
        },
    )
}

pub(crate) fn any_micro_block() -> impl Strategy<Value = MicroBlock> {
    (any_micro_header(), vec(any_hash(TxHash::new), 0..4), any_cosignatures()).prop_map(
        |(header, tx_hashes, (cosignatures, timestamp))| MicroBlock { header, tx_hashes, cosignatures, timestamp },
    )
}

pub(crate) fn any_ds_header() -> impl Strategy<Value = DsBlockHeader> {
    let numbers = (any::<u8>(), any::<u8>(), any_u64(), any_u64(), any_qa());
    let version = || {
        any::<(u32, u32, u32, u64, u32)>().prop_map(|(major, minor, fix, upgrade_at, commit)| SwVersion {
            major,
            minor,
            fix,
            upgrade_at: DsBlockNumber::new(upgrade_at),
            commit,
        })
    };
    let software = (version(), version()).prop_map(|(node, interpreter)| SwInfo { node, interpreter });
    let peer = any::<([u8; 4], u16)>().prop_map(|(ip, port)| Peer::new(Ipv4Addr::from(ip), port));
    let committee = (btree_map(any_key(), peer, 0..4), vec(any_key(), 0..3), any_hash(ShardingHash::new));
    let reserved = vec(any::<u8>(), 128).prop_map(|bytes| Reserved::try_from(&bytes[..]).unwrap());
    let counts = || btree_map(any::<u32>(), any::<u32>(), 0..3);
    let votes = (counts(), counts()).prop_map(|(ds, miners)| Votes { ds, miners });
    (any_base(), numbers, any_key(), software, committee, reserved, btree_map(any::<u32>(), votes, 0..3)).prop_map(
        |(base, numbers, leader, software, committee, reserved, proposals)| DsBlockHeader {
            version: base.0,
            committee_hash: base.1,
            prev_hash: base.2,
            ds_difficulty: numbers.0,
            difficulty: numbers.1,
            leader,
            number: DsBlockNumber::new(numbers.2),
            epoch: BlockNumber::new(numbers.3),
            gas_price: GasPrice::new(numbers.4),
            software,
            pow_winners: committee.0,
            sharding_hash: committee.2,
            reserved,
            removed: committee.1,
            proposals,
        },
    )
}

pub(crate) fn any_ds_block() -> impl Strategy<Value = DsBlock> {
    (any_ds_header(), any_cosignatures()).prop_map(|(header, (cosignatures, timestamp))| DsBlock {
        header,
        cosignatures,
        timestamp,
    })
}
