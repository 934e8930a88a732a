//! Wire types, units and envelopes of the protocol of Zilliqa 8.1.2.
//!
//! This crate has a type for each value that crosses a wire or enters a hash. It encodes and decodes the exact bytes of
//! the network. All other crates of the workspace use these types, except `silica-studio`.
//!
//! # Examples
//!
//! A payment that a remote signer signed, as text for `CreateTransaction`. The crate `silica-crypto` has key pairs,
//! which sign with [`TransactionBuilder::sign`].
//!
//! ```
//! use silica_protocol::{Address, ChainId, Gas, Qa, Transaction, TransactionKind};
//!
//! let to = Address::parse("0x43b358e23092E2d367cedCD08c513FDca2162C01")?;
//! let sender = "0235372f21184432428abcdf99385fff3a4ec346942b51facbe9589ddf482c5d45".parse()?;
//! let payment = Transaction::payment(to, Qa::ZERO).chain_id(ChainId::MAINNET).nonce(96538).gas_limit(Gas::new(1));
//! let payment = payment.build(sender)?;
//! assert_eq!(payment.kind(), Some(TransactionKind::Payment));
//! // The signer gets these bytes: version, then nonce, then recipient.
//! assert_eq!(payment.signing_payload()[..12], [0x08, 0x81, 0x80, 0x04, 0x10, 0x9a, 0xf2, 0x05, 0x1a, 20, 0x43, 0xb3]);
//!
//! let signature = "1a7cd80504d1bd75c50f751c08fc36acc0f1a94852048179bcc927a3d5bc297a\
//!                  f01fb0a9cadbec9ab870d330c8e2931e7025ae1293ce66b7429abc44e785f16b";
//! let payment = payment.with_signature(signature.parse()?);
//! assert_eq!(payment.hash(), "0a9b4733bff6be2d48020f42e561a89d735eeb809eda257b6a56712223e842eb".parse()?);
//! assert_eq!(Transaction::decode(&payment.encode())?, payment);
//! assert_eq!(Transaction::from_request_json(&payment.to_request_json())?, payment);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Items by task
//!
//! | Task | Items |
//! |---|---|
//! | Money and numbers | [`Qa`], [`Gas`], [`GasPrice`], [`Nonce`], [`BlockNumber`], [`Timestamp`] |
//! | Networks | [`ChainId`], [`Version`] |
//! | Addresses and keys | [`Address`], [`PublicKey`], [`Signature`], [`Signer`] |
//! | Hexadecimal text of other bytes | [`hex`] |
//! | Make and sign a transaction | [`Transaction`], [`TransactionBuilder`], [`UnsignedTransaction`] |
//! | Deploy and call contracts | [`InitData`], [`TransitionCall`], [`ContractParam`] |
//! | Read the result of a transaction | [`Receipt`], [`EventLog`], [`ReceiptError`] |
//! | Read blocks | [`TxBlock`], [`DsBlock`], [`MicroBlock`], [`CoSignatures`] |
//! | Read state | [`Account`], [`StorageKey`], [`MapKey`], [`StateDelta`] |
//! | JSON-RPC | [`rpc`] |
//!
//! # Features
//!
//! - `rpc` (default): the module [`rpc`]. It includes `serde`, and needs the standard library.
//! - `serde`: addresses, hashes, keys, amounts and numbers are strings in every format of `serde`: bytes as `0x` and
//!   lower-case digits, numbers as decimal digits. The module `rpc` has the other forms of JSON-RPC. With `rpc`, a
//!   [`Transaction`] is the object of `CreateTransaction`.
//! - `schema`: JSON Schema of the types of [`rpc`].
//!
//! # Modules
//!
//! Layers, lowest first:
//!
//! - [`hex`]: hexadecimal digits.
//! - `bytes`, `error`, `number`, `styled_json`:
//!   - `bytes` has the macro that declares types of fixed length.
//!   - `error` has [`DecodeError`].
//!   - `number` has [`BlockNumber`], [`Nonce`] and other counters.
//!   - `styled_json` has [`to_styled_json`].
//! - `amount`, `hash`, `key`, `version`:
//!   - `amount` has [`Qa`].
//!   - `hash` has one type for each kind of hash.
//!   - `key` has [`PublicKey`] and [`Signature`].
//!   - `version` has [`Version`] and [`ChainId`].
//! - `address`, `gas`, `proto`:
//!   - `address` has [`Address`], and `gas` has [`Gas`] and [`GasPrice`].
//!   - `proto` has the private protobuf messages, and the checks of all decoders.
//! - `account`, `block`, `contract`, `impersonation`, `simulation`:
//!   - `account` has [`Account`].
//!   - `block` has [`TxBlock`], [`DsBlock`] and [`MicroBlock`] with headers and hashes.
//!   - `contract` has [`InitData`], [`TransitionCall`] and the keys of storage.
//!   - `impersonation` has placeholders for keys.
//!   - `simulation` has [`SimulationRequest`].
//! - `receipt`, `serde_text`, `state_delta`, `transaction`:
//!   - `receipt` has [`Receipt`], and `state_delta` has [`StateDelta`].
//!   - `serde_text` has the `serde` form of addresses, hashes, keys and numbers.
//!   - `transaction` has [`Transaction`], its builder, and its form without a signature.
//! - [`rpc`]: the JSON of requests and responses.
//!
//! # Invariants
//!
//! - A decoded value encodes to the same bytes, and an encoded value decodes to the same value. A decoder never panics.
//!   It rejects bytes that are not in canonical form. The error names the message or the field with the fault.
//! - The crate computes each hash from its value. No type stores a hash next to the value. If a message repeats a hash,
//!   the decoder compares it with the computed hash.
//! - All additions, subtractions and multiplications of money and gas are checked for overflow.
//! - The crate reads no clock and no randomness. Hashed values contain no floating-point numbers, and do not depend on
//!   the order of a hash map.
//! - The crate does not check curves, tries or chains. A [`PublicKey`] can lie outside the curve, and a [`Signature`]
//!   can be false. A root can belong to no trie, and a block can have no predecessor. `silica-crypto`, `silica-proof`,
//!   `silica-state` and `silica-chain` check these.
#![cfg_attr(not(any(test, feature = "rpc")), no_std)]
#![warn(clippy::arithmetic_side_effects)]

extern crate alloc;

mod account;
mod address;
mod amount;
#[cfg(test)]
mod arbitrary;
mod block;
mod bytes;
mod contract;
mod error;
mod gas;
mod hash;
pub mod hex;
mod impersonation;
mod key;
mod number;
mod proto;
mod receipt;
#[cfg(feature = "rpc")]
pub mod rpc;
#[cfg(feature = "serde")]
mod serde_text;
mod simulation;
mod state_delta;
mod styled_json;
mod transaction;
mod version;

pub use crate::{
    account::{Account, ContractAccount},
    address::{Address, AddressError, Bech32Error},
    amount::{AmountError, Qa},
    block::{
        CoSignatures, DsBlock, DsBlockHeader, MbInfo, MicroBlock, MicroBlockHeader, Peer, Reserved, ShardMember,
        SwInfo, SwVersion, TxBlock, TxBlockHeader, Votes, pack_bits,
    },
    bytes::HexError,
    contract::{
        ContractParam, InitData, InitDataBuilder, InitDataError, MapKey, MapKeyError, StorageKey, TransitionCall,
        index_text, stored_value,
    },
    error::DecodeError,
    gas::{Gas, GasPrice},
    hash::{
        BlockHash, CodeHash, CommitteeHash, MbInfoHash, ReceiptsHash, ShardingHash, StateDeltaHash, StateRoot,
        StorageRoot, TxHash, TxRoot, VariableHash, sha256,
    },
    key::{PublicKey, Signature},
    number::{BlockNumber, DsBlockNumber, Nonce, NumberError, ShardId, Timestamp},
    receipt::{ContractMessage, EventLog, Exception, Receipt, ReceiptError, ReceiptTextError, Transition},
    simulation::SimulationRequest,
    state_delta::{AccountDelta, BalanceChange, DeployedContract, StateDelta},
    styled_json::to_styled_json,
    transaction::{
        BuildError, SignTransactionError, Signer, Transaction, TransactionBuilder, TransactionKind, UnsignedTransaction,
    },
    version::{ChainId, Version},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
