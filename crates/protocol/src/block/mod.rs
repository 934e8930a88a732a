//! Blocks: headers and their hashes, bodies, co-signatures and the committees that make them.

mod committee;
mod cosignature;
mod ds_block;
mod micro_block;
mod tx_block;

pub use self::{
    committee::{Peer, ShardMember},
    cosignature::CoSignatures,
    ds_block::{DsBlock, DsBlockHeader, Reserved, SwInfo, SwVersion, Votes},
    micro_block::{MicroBlock, MicroBlockHeader},
    tx_block::{MbInfo, TxBlock, TxBlockHeader},
};
