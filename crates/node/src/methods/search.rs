//! Search for blocks, transactions, accounts and contracts by the text that a user enters.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_chain::{AddressPage, ContractRow};
use silica_protocol::{
    Address, BlockHash, BlockNumber, DsBlockNumber,
    rpc::list::{MatchKindJson, SearchMatchJson, SearchResultJson},
};

use super::eth::MOST_LOOKED_AT;
use crate::{
    block_hashes::HashLookup,
    blocking::BlockingError,
    driver::NodeHandle,
    head::Context,
    rpc::{
        CallError, Command, Entry,
        params::{beginning, options::cursor_of},
    },
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[Entry::command::<Search>().of_weight(20)];

/// Blocks, transactions, accounts and contracts that a text names, at most 20. An extension of this node.
///
/// The text is a block number, an address in any form, a hash of a transaction or block, or at least six digits at the
/// beginning of a transaction hash. Other texts are the beginning of the name of a contract or library, or of the name
/// or symbol of its token. A text without a match has an empty result.
#[derive(Debug, Deserialize, JsonSchema)]
struct Search {
    /// The text, from 1 to 100 characters.
    text: String,
}

/// Maximum number of matches.
const MOST: usize = 20;
/// Maximum length of a text in characters.
const LONGEST: usize = 100;
/// Minimum number of digits of the beginning of a transaction hash.
const SHORTEST_PREFIX: usize = 6;
/// Number of digits of a hash.
const HASH_DIGITS: usize = 64;
/// Number of the latest DS blocks whose hashes a search compares. The record has no index of these hashes.
const DS_BLOCKS: u64 = 1_000;

impl Command for Search {
    const NAME: &'static str = "silica_search";
    type Output = SearchResultJson;

    async fn run(self, node: &NodeHandle) -> Result<SearchResultJson, CallError> {
        let text = self.text.trim();
        let length = text.chars().count();
        if !(1..=LONGEST).contains(&length) {
            let got = beginning(text);
            let problem = format!("expected a text from 1 to {LONGEST} characters, got {length} characters: {got:?}");
            return Err(CallError::parameter("text", &problem));
        }
        let (searched, text) = (node.clone(), text.to_owned());
        let found = node.blocking().query(move || search(&searched, &text));
        found.await.ok_or(BlockingError::Panicked)?
    }
}

fn search(node: &NodeHandle, text: &str) -> Result<SearchResultJson, CallError> {
    let at = node.context();
    let mut matches = Vec::new();
    let mut complete = true;
    matches.extend(blocks_by_number(&at, text)?);
    matches.extend(account(&at, text)?);
    let digits = text.strip_prefix("0x").unwrap_or(text).to_ascii_lowercase();
    let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_hexadecimal && (SHORTEST_PREFIX..=HASH_DIGITS).contains(&digits.len()) {
        let left = MOST.saturating_sub(matches.len());
        let mut found = at.snapshot.transactions_with_prefix(&digits, left.saturating_add(1))?;
        complete = found.len() <= left;
        found.truncate(left);
        matches.extend(found.into_iter().map(|(hash, place)| SearchMatchJson {
            id: hash.to_string(),
            kind: MatchKindJson::Transaction,
            label: cursor_of(place).to_string(),
        }));
    }
    if let Ok(hash) = digits.parse::<BlockHash>()
        && matches.is_empty()
    {
        let (found, is_certain) = block_by_hash(node, &at, &hash)?;
        matches.extend(found);
        complete = is_certain;
    }
    // An address or a hash without a match names nothing.
    let can_be_name = Address::parse(text).is_err() && digits.parse::<BlockHash>().is_err();
    if matches.is_empty() && can_be_name {
        let AddressPage { elements, next, .. } = at.snapshot.contracts_named(text, MOST)?;
        complete = next.is_none();
        matches.extend(elements.into_iter().map(named_contract));
    }
    Ok(SearchResultJson { complete, matches })
}

/// Number of digits of the highest block number. A longer text can be a hash of decimal digits.
const NUMBER_DIGITS: usize = 20;

/// Returns the Tx block and the DS block whose number is `text`, if they exist.
fn blocks_by_number(at: &Context, text: &str) -> Result<Vec<SearchMatchJson>, CallError> {
    let mut found = Vec::new();
    if text.len() > NUMBER_DIGITS {
        return Ok(found);
    }
    if let Some(number) = text.parse::<BlockNumber>().ok().filter(|number| *number <= at.head())
        && let Some(hash) = at.snapshot.tx_block_hash(number)?
    {
        found.push(block(number, &hash));
    }
    let latest = at.snapshot.latest_ds_block().header.number;
    if let Some(number) = text.parse::<DsBlockNumber>().ok().filter(|number| *number <= latest)
        && let Some(header) = at.snapshot.ds_block_header(number)?
    {
        found.push(ds_block(number, &header.hash()));
    }
    Ok(found)
}

fn block(number: BlockNumber, hash: &BlockHash) -> SearchMatchJson {
    SearchMatchJson { id: number.to_string(), kind: MatchKindJson::Block, label: hash.to_string() }
}

fn ds_block(number: DsBlockNumber, hash: &BlockHash) -> SearchMatchJson {
    SearchMatchJson { id: number.to_string(), kind: MatchKindJson::DsBlock, label: hash.to_string() }
}

/// Returns the account with an address, if it exists.
fn account(at: &Context, text: &str) -> Result<Option<SearchMatchJson>, CallError> {
    let Ok(address) = Address::parse(text) else { return Ok(None) };
    let Some(account) = at.snapshot.account(&address)? else { return Ok(None) };
    let kind = if account.contract.is_some() { MatchKindJson::Contract } else { MatchKindJson::Account };
    Ok(Some(SearchMatchJson { id: address.to_string(), kind, label: address.to_bech32() }))
}

/// Returns a contract that the search has found by a name.
fn named_contract(row: ContractRow) -> SearchMatchJson {
    let token = row.token.map(|token| [token.name, token.symbol].into_iter().flatten().collect::<Vec<_>>());
    let token = token.filter(|names| !names.is_empty()).map(|names| format!("({})", names.join(", ")));
    let label = [row.name, token].into_iter().flatten().collect::<Vec<_>>().join(" ");
    SearchMatchJson { id: row.address.to_string(), kind: MatchKindJson::Contract, label }
}

/// Returns the block with a hash, and whether the search is complete: either it found the block, or no block has the
/// hash.
fn block_by_hash(
    node: &NodeHandle,
    at: &Context,
    hash: &BlockHash,
) -> Result<(Option<SearchMatchJson>, bool), CallError> {
    let latest = at.snapshot.latest_ds_block().header.number.get();
    let oldest = latest.saturating_sub(DS_BLOCKS.saturating_sub(1));
    for number in (oldest..=latest).rev().map(DsBlockNumber::new) {
        if at.snapshot.ds_block_header(number)?.is_some_and(|header| header.hash() == *hash) {
            return Ok((Some(ds_block(number, hash)), true));
        }
    }
    let (_, lookup) = node.find_block(hash, MOST_LOOKED_AT)?;
    Ok(match lookup {
        HashLookup::Found(number) => (Some(block(number, hash)), true),
        HashLookup::Absent => (None, oldest == 0),
        HashLookup::NotScanned(_) | HashLookup::OutOfRange(_) => (None, false),
    })
}
