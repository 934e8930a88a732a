//! `silica block`: Tx blocks and DS blocks.

use std::fmt;

use clap::Args;
use serde::Deserialize;
use serde_json::value::RawValue;
use silica_protocol::{
    Gas, GasPrice, Qa, Timestamp,
    rpc::{error::RpcErrorCode, text::Dec},
};

use super::{
    Answer,
    error::ClientError,
    node::{NodeArgs, Rpc, read, refused},
    receipt::in_zil,
    rows::Rows,
};
use crate::client::values::WhichBlock;

/// Maximum number of transactions of a block in the output.
const LISTED: usize = 20;

/// Arguments of `silica block`.
#[derive(Clone, Debug, Args)]
pub(crate) struct BlockArgs {
    /// Number of the block, or latest.
    #[arg(value_name = "NUMBER", default_value = "latest")]
    pub block: WhichBlock,
    /// Show a DS block instead of a Tx block.
    #[arg(long)]
    pub ds: bool,
    /// Options for the node and the output.
    #[command(flatten)]
    pub node: NodeArgs,
}

/// Shows a block.
pub(super) async fn block(args: &BlockArgs) -> Result<Answer, ClientError> {
    let rpc = args.node.rpc();
    if args.ds {
        let (block, answer) = ds_block(&rpc, args.block).await?;
        return Ok(if args.node.json { Answer::json(&answer) } else { Answer::done(block.rows()) });
    }
    let (block, answer) = tx_block(&rpc, args.block).await?;
    if args.node.json {
        return Ok(Answer::json(&answer));
    }
    let mut rows = block.rows();
    if block.header.count > 0 {
        let hashes: Vec<Option<Vec<String>>> = rpc.get("GetTransactionsForTxBlock", &[&block.header.number]).await?;
        let mut hashes = hashes.iter().flatten().flatten();
        for hash in hashes.by_ref().take(LISTED) {
            rows.row("transaction", hash);
        }
        rows.maybe("and", Some(hashes.count()).filter(|more| *more > 0).map(|more| format!("{more} more")));
    }
    Ok(Answer::done(rows))
}

/// The parts of a Tx block that the client commands use. The parser ignores other members.
#[derive(Deserialize)]
pub(super) struct TxBlock {
    pub(super) header: TxHeader,
    body: TxBody,
}

#[derive(Deserialize)]
pub(super) struct TxHeader {
    #[serde(rename = "BlockNum")]
    pub(super) number: String,
    #[serde(rename = "StateRootHash")]
    pub(super) state_root: String,
    #[serde(rename = "DSBlockNum")]
    ds_block: String,
    #[serde(rename = "GasLimit")]
    gas_limit: Dec<Gas>,
    #[serde(rename = "GasUsed")]
    gas_used: Dec<Gas>,
    #[serde(rename = "MinerPubKey")]
    miner: String,
    #[serde(rename = "NumTxns")]
    count: u64,
    #[serde(rename = "PrevBlockHash")]
    before: String,
    #[serde(rename = "Rewards")]
    rewards: Dec<Qa>,
    #[serde(rename = "Timestamp")]
    time: Dec<Timestamp>,
    #[serde(rename = "TxnFees")]
    fees: Dec<Qa>,
}

#[derive(Deserialize)]
struct TxBody {
    #[serde(rename = "BlockHash")]
    hash: String,
}

const LATEST_TX_BLOCK: &str = "GetLatestTxBlock";
const TX_BLOCK: &str = "GetTxBlock";

/// Gets the latest Tx block. In the block mode `manual-immediate`, a node has no method for the latest block. The
/// client then gets the block by its number.
async fn latest_tx_block(rpc: &Rpc<'_>) -> Result<(&'static str, Box<RawValue>), ClientError> {
    const NEXT: &str = "GetCurrentMiniEpoch";
    match rpc.try_ask(LATEST_TX_BLOCK, &[""]).await? {
        Ok(answer) => Ok((LATEST_TX_BLOCK, answer)),
        Err(error) if error.code == RpcErrorCode::METHOD_NOT_FOUND => {
            let next: Dec<u64> = read(NEXT, &rpc.ask(NEXT, &[""]).await?)?;
            ask(rpc, WhichBlock::Number(next.0.saturating_sub(1)), [LATEST_TX_BLOCK, TX_BLOCK]).await
        }
        Err(error) => Err(refused(LATEST_TX_BLOCK, &error)),
    }
}

/// Gets a Tx block. Rejects the response of a node for a missing block.
pub(super) async fn tx_block(rpc: &Rpc<'_>, which: WhichBlock) -> Result<(TxBlock, Box<RawValue>), ClientError> {
    let (method, answer) = match which {
        WhichBlock::Latest => latest_tx_block(rpc).await?,
        WhichBlock::Number(_) => ask(rpc, which, [LATEST_TX_BLOCK, TX_BLOCK]).await?,
    };
    let block: TxBlock = read(method, &answer)?;
    check_number(which, "Tx block", &block.header.number)?;
    Ok((block, answer))
}

impl TxBlock {
    fn rows(&self) -> Rows {
        let Self { header, body } = self;
        let mut rows = Rows::default();
        rows.row("Tx block", &header.number).row("hash", &body.hash).row("time", Utc(header.time.0));
        rows.row("before", &header.before).row("DS block", &header.ds_block).row("state root", &header.state_root);
        rows.row("transactions", header.count);
        rows.row("gas", format!("{} of {} units", header.gas_used.0, header.gas_limit.0));
        rows.row("fees", in_zil(header.fees.0)).row("rewards", in_zil(header.rewards.0)).row("miner", &header.miner);
        rows
    }
}

/// The parts of a DS block that the text output has.
#[derive(Deserialize)]
struct DsBlock {
    header: DsHeader,
}

#[derive(Deserialize)]
struct DsHeader {
    #[serde(rename = "BlockNum")]
    number: String,
    #[serde(rename = "Difficulty")]
    difficulty: u64,
    #[serde(rename = "DifficultyDS")]
    ds_difficulty: u64,
    #[serde(rename = "GasPrice")]
    gas_price: Dec<GasPrice>,
    #[serde(rename = "LeaderPubKey")]
    leader: String,
    #[serde(rename = "PrevHash")]
    before: String,
    #[serde(rename = "Timestamp")]
    time: Dec<Timestamp>,
}

async fn ds_block(rpc: &Rpc<'_>, which: WhichBlock) -> Result<(DsBlock, Box<RawValue>), ClientError> {
    let (method, answer) = ask(rpc, which, ["GetLatestDsBlock", "GetDsBlock"]).await?;
    let block: DsBlock = read(method, &answer)?;
    check_number(which, "DS block", &block.header.number)?;
    Ok((block, answer))
}

impl DsBlock {
    fn rows(&self) -> Rows {
        let Self { header } = self;
        let mut rows = Rows::default();
        rows.row("DS block", &header.number).row("time", Utc(header.time.0)).row("before", &header.before);
        rows.row("leader", &header.leader).row("gas price", in_zil(header.gas_price.0.get()));
        rows.row("difficulty", format!("{}, of the DS committee {}", header.difficulty, header.ds_difficulty));
        rows
    }
}

/// Calls the method `latest` without a number for the latest block, and the method `by_number` for any other block.
async fn ask(
    rpc: &Rpc<'_>,
    which: WhichBlock,
    [latest, by_number]: [&'static str; 2],
) -> Result<(&'static str, Box<RawValue>), ClientError> {
    match which {
        WhichBlock::Latest => Ok((latest, rpc.ask(latest, &[""]).await?)),
        WhichBlock::Number(number) => Ok((by_number, rpc.ask(by_number, &[number.to_string()]).await?)),
    }
}

/// Checks that the response has the requested block number. For a missing block, a node returns a block with the number
/// 2^64 - 1, which no block has.
fn check_number(which: WhichBlock, what: &str, got: &str) -> Result<(), ClientError> {
    match which {
        WhichBlock::Number(requested) if requested == u64::MAX || requested.to_string() != got => {
            Err(ClientError::Absent(format!("{what} {requested}")))
        }
        WhichBlock::Latest | WhichBlock::Number(_) => Ok(()),
    }
}

/// A time that is shown as date and time of day in UTC.
struct Utc(Timestamp);

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Seconds in a day.
        const DAY: u64 = 86_400;
        let micros = self.0.get();
        let (seconds, part) = (micros / 1_000_000, micros % 1_000_000);
        let (days, rest) = (seconds / DAY, seconds % DAY);
        let (year, month, day) = date(days);
        let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
        write!(f, "{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{part:06} UTC")
    }
}

/// Returns year, month and day of a number of days since 1970-01-01, in the Gregorian calendar.
///
/// The years of the calculation begin on 1 March, so that a leap day is the last day of its year. An era of 400 such
/// years has 146,097 days.
fn date(days: u64) -> (u64, u64, u64) {
    /// Days in 400 years.
    const ERA: u64 = 146_097;
    // The days from 1 March of the year 0 to 1 January 1970.
    let days = days.saturating_add(719_468);
    let (era, day_of_era) = (days / ERA, days % ERA);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / (ERA - 1)) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Five consecutive months from March or August have 153 days.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year_of_era + next_year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        let check = |micros, expected: &str| assert_eq!(Utc(Timestamp::new(micros)).to_string(), expected);
        check(0, "1970-01-01 00:00:00.000000 UTC");
        check(951_782_400_000_000, "2000-02-29 00:00:00.000000 UTC");
        check(1_732_264_215_000_007, "2024-11-22 08:30:15.000007 UTC");
        check(4_107_542_399_000_000, "2100-02-28 23:59:59.000000 UTC");
        check(4_107_542_400_000_000, "2100-03-01 00:00:00.000000 UTC");
        check(253_402_300_799_999_999, "9999-12-31 23:59:59.999999 UTC");
        // The largest timestamp has a text form.
        Utc(Timestamp::new(u64::MAX)).to_string();
    }

    #[test]
    fn every_day_follows_the_one_before() {
        for day in 0..200_000 {
            let (year, month, date_) = date(day);
            let next = date(day + 1);
            let first_of_month = if month == 12 { (year + 1, 1, 1) } else { (year, month + 1, 1) };
            assert!(
                next == (year, month, date_ + 1) || next == first_of_month && date_ >= 28,
                "{year} {month} {date_}"
            );
        }
    }
}
