//! DS blocks, and the epochs that they begin.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_chain::MinerInfoError;
use silica_protocol::{
    BlockHash, DsBlock, DsBlockNumber,
    rpc::{
        block::{BlockListing, BlockListingEntry, DsBlockJson, RawBlock},
        error::{RpcError, RpcErrorCode},
        network::{DsCommittee, MinerInfo, ShardMiners},
        text::Dec,
    },
};

use crate::{
    head::Context,
    rpc::{
        CallError, Entry, Method,
        params::{Decimal, Integral, NumberFault, Text},
    },
    statistics,
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[
    Entry::of::<DsBlockListing>().of_weight(5),
    Entry::per_head::<GetCurrentDsComm>(),
    Entry::per_head::<GetCurrentDsEpoch>(),
    Entry::of::<GetDsBlock>(),
    Entry::per_head::<GetDsBlockRate>(),
    Entry::of::<GetDsBlockVerbose>(),
    Entry::per_head::<GetLatestDsBlock>(),
    Entry::of::<GetMinerInfo>(),
    Entry::per_head::<GetNumDsBlocks>(),
    Entry::per_head::<GetPrevDifficulty>(),
    Entry::per_head::<GetPrevDsDifficulty>(),
    Entry::of::<GetRawDsBlock>(),
];

/// Returns the error for a text that is not a block number. The reference has the same misspelling.
const fn invalid_number(fault: NumberFault) -> RpcError {
    fault.with_text("Invalid arugment")
}

/// A DS block by its number.
///
/// If the block does not exist, the result is a block with number 18446744073709551615.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetDsBlock {
    /// Number of the block.
    number: Text<Decimal>,
}

impl Method for GetDsBlock {
    const NAME: &'static str = "GetDsBlock";
    const ALIASES: &'static [&'static str] = &["GetDSBlock"];
    type Output = DsBlockJson;

    fn call(self, at: &Context) -> Result<DsBlockJson, CallError> {
        let Decimal(number) = self.number.get().map_err(invalid_number)?;
        let block = at.snapshot.ds_block(DsBlockNumber::new(number))?;
        Ok(block.map_or_else(DsBlockJson::missing, |block| DsBlockJson::from(&*block)))
    }
}

/// A DS block by its number, with all parts that its committee signed.
///
/// If the block does not exist, the result is a block with number 18446744073709551615.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetDsBlockVerbose {
    /// Number of the block.
    number: Text<Decimal>,
}

impl Method for GetDsBlockVerbose {
    const NAME: &'static str = "GetDsBlockVerbose";
    const ALIASES: &'static [&'static str] = &["GetDSBlockVerbose"];
    type Output = DsBlockJson;

    fn call(self, at: &Context) -> Result<DsBlockJson, CallError> {
        let Decimal(number) = self.number.get().map_err(invalid_number)?;
        let Some(block) = at.snapshot.ds_block(DsBlockNumber::new(number))? else {
            return Ok(DsBlockJson::missing_verbose());
        };
        let previous = match number.checked_sub(1) {
            Some(before) => at.snapshot.ds_block(DsBlockNumber::new(before))?,
            None => None,
        };
        Ok(DsBlockJson::verbose(&block, previous.map_or(BlockHash::ZERO, |block| block.header.hash())))
    }
}

/// A DS block by its number, in the serialized form of the network.
///
/// If the block does not exist, the result is a block with number 18446744073709551615.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetRawDsBlock {
    /// Number of the block.
    number: Text<Decimal>,
}

impl Method for GetRawDsBlock {
    const NAME: &'static str = "GetRawDSBlock";
    type Output = RawBlock;

    fn call(self, at: &Context) -> Result<RawBlock, CallError> {
        let Decimal(number) = self.number.get().map_err(invalid_number)?;
        let block = at.snapshot.ds_block(DsBlockNumber::new(number))?;
        Ok(RawBlock::new(&block.map_or_else(DsBlock::encode_missing, |block| block.encode())))
    }
}

/// The latest DS block.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetLatestDsBlock {}

impl Method for GetLatestDsBlock {
    const NAME: &'static str = "GetLatestDsBlock";
    const ALIASES: &'static [&'static str] = &["GetLatestDSBlock"];
    type Output = DsBlockJson;

    fn call(self, at: &Context) -> Result<DsBlockJson, CallError> {
        Ok(DsBlockJson::from(&**at.snapshot.latest_ds_block()))
    }
}

/// Numbers and hashes of DS blocks, the latest block first, 10 blocks per page.
#[derive(Debug, Deserialize, JsonSchema)]
struct DsBlockListing {
    /// Number of the page, from 1.
    page: Integral,
}

impl Method for DsBlockListing {
    const NAME: &'static str = "DSBlockListing";
    type Output = BlockListing;

    fn call(self, at: &Context) -> Result<BlockListing, CallError> {
        let listing = at.snapshot.ds_block_listing(self.page.0.into())?;
        let entry =
            |(number, hash): (DsBlockNumber, BlockHash)| BlockListingEntry { number: number.get(), hash: hash.into() };
        Ok(BlockListing { blocks: listing.blocks.into_iter().map(entry).collect(), last_page: listing.pages })
    }
}

/// Number of the latest DS block.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetCurrentDsEpoch {}

impl Method for GetCurrentDsEpoch {
    const NAME: &'static str = "GetCurrentDSEpoch";
    type Output = Dec<DsBlockNumber>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        Ok(at.snapshot.latest_ds_block().header.number.into())
    }
}

/// Number of DS blocks, including the genesis block.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetNumDsBlocks {}

impl Method for GetNumDsBlocks {
    const NAME: &'static str = "GetNumDSBlocks";
    type Output = Dec<u64>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        Ok(statistics::ds_blocks(&at.snapshot.statistics()).into())
    }
}

/// DS blocks per second since DS block 1.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetDsBlockRate {}

impl Method for GetDsBlockRate {
    const NAME: &'static str = "GetDSBlockRate";
    type Output = f64;

    fn call(self, at: &Context) -> Result<f64, CallError> {
        Ok(statistics::ds_block_rate(&at.snapshot.statistics()))
    }
}

/// Proof-of-work difficulty to join a shard, from the latest DS block.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetPrevDifficulty {}

impl Method for GetPrevDifficulty {
    const NAME: &'static str = "GetPrevDifficulty";
    type Output = u8;

    fn call(self, at: &Context) -> Result<u8, CallError> {
        Ok(at.snapshot.latest_ds_block().header.difficulty)
    }
}

/// Proof-of-work difficulty to join the DS committee, from the latest DS block.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetPrevDsDifficulty {}

impl Method for GetPrevDsDifficulty {
    const NAME: &'static str = "GetPrevDSDifficulty";
    type Output = u8;

    fn call(self, at: &Context) -> Result<u8, CallError> {
        Ok(at.snapshot.latest_ds_block().header.ds_difficulty)
    }
}

/// Keys of the current DS committee.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetCurrentDsComm {}

impl Method for GetCurrentDsComm {
    const NAME: &'static str = "GetCurrentDSComm";
    type Output = DsCommittee;

    fn call(self, at: &Context) -> Result<DsCommittee, CallError> {
        Ok(DsCommittee {
            current_ds_epoch: at.snapshot.latest_ds_block().header.number.into(),
            current_tx_epoch: at.snapshot.current_epoch().into(),
            // Guards are members without election. This network has no guards.
            guards: 0,
            members: at.snapshot.ds_committee().into_iter().map(Into::into).collect(),
        })
    }
}

/// Keys of the DS committee and of the shards in a DS epoch.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetMinerInfo {
    /// Number of the DS block.
    number: Text<Decimal>,
}

impl From<MinerInfoError> for CallError {
    fn from(error: MinerInfoError) -> Self {
        Self::with_text_of(RpcErrorCode::MISC_ERROR, &error)
    }
}

impl Method for GetMinerInfo {
    const NAME: &'static str = "GetMinerInfo";
    type Output = MinerInfo;

    fn call(self, at: &Context) -> Result<MinerInfo, CallError> {
        let Decimal(number) = self.number.get().map_err(invalid_number)?;
        let miners = at.snapshot.miner_info(DsBlockNumber::new(number))?;
        let shard = |nodes: Vec<_>| ShardMiners {
            size: nodes.len() as u64,
            nodes: nodes.into_iter().map(Into::into).collect(),
        };
        Ok(MinerInfo {
            ds_committee: miners.ds_committee.into_iter().map(Into::into).collect(),
            shards: miners.shards.into_iter().map(shard).collect(),
        })
    }
}
