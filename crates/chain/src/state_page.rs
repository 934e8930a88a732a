//! Pages of the state of a contract, after any block in the state history.

use serde_json::Value as Json;
use silica_protocol::{Address, BlockNumber, StorageKey, index_text, stored_value};
use silica_state::{HistoryError, StateError, StateView};

use crate::{contract::METADATA, snapshot::Snapshot};

/// A request for a page of the state of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatePageRequest {
    /// The contract whose state the page has.
    pub contract: Address,
    /// Name of the field, or `None` for all fields.
    pub field: Option<String>,
    /// `next` of the previous page, or `None` for the first page.
    pub after: Option<String>,
    /// Maximum number of entries on the page. A limit of 0 means 1.
    pub limit: usize,
    /// The page has the state after this block. `None` means the latest block.
    pub block: Option<BlockNumber>,
}

/// A page of the state of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatePage {
    /// The page has the state after this block.
    pub block: BlockNumber,
    /// The entries in the byte order of their keys.
    pub entries: Vec<StateEntry>,
    /// Cursor of the next page, or `None` on the last page.
    pub next: Option<String>,
}

/// A field of a contract, or an entry of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateEntry {
    /// Name of the field.
    pub name: String,
    /// Keys of the entry as texts without quotes, the outermost first.
    pub indices: Vec<String>,
    /// The value in the JSON form of Scilla. An empty map is an object without members.
    pub value: Json,
}

/// Bytes of keys and values after which a page ends, even with few entries. A page is in memory as a whole.
const PAGE_BYTES: usize = 4 << 20;

impl Snapshot {
    /// Returns a page of the state of a contract.
    ///
    /// # Errors
    ///
    /// [`StatePageError`]: the contract or field does not exist after the block, the state is not in the state history,
    /// or the cursor does not belong to the field.
    pub fn state_page(&self, request: &StatePageRequest) -> Result<StatePage, StatePageError> {
        let block = request.block.unwrap_or_else(|| self.latest_tx_block().header.number);
        let view = self.view_at(block)?;
        match page(&view, request) {
            // The block left the state history while its state was read.
            Err(StatePageError::State(StateError::Expired)) => Err(self.no_longer_kept(block).into()),
            page => page.map(|(entries, next)| StatePage { block, entries, next }),
        }
    }

    /// Returns the state after Tx block `block`.
    pub(crate) fn view_at(&self, block: BlockNumber) -> Result<StateView, PastStateError> {
        let (earliest, latest) = self.kept();
        if !(earliest..=latest).contains(&block) {
            return Err(PastStateError::Outside { block, earliest, latest });
        }
        self.state().at(block).map_err(|error| {
            if let HistoryError::Expired { earliest } = error {
                return PastStateError::Outside { block, earliest, latest };
            }
            PastStateError::History(error)
        })
    }

    /// Returns the error for a state that left the state history.
    pub(crate) fn no_longer_kept(&self, block: BlockNumber) -> PastStateError {
        let (earliest, latest) = self.kept_now();
        PastStateError::Outside { block, earliest, latest }
    }
}

type Page = (Vec<StateEntry>, Option<String>);

fn page(view: &StateView, request: &StatePageRequest) -> Result<Page, StatePageError> {
    let StatePageRequest { contract, field, after, limit, block: _ } = request;
    let account = view.account(contract)?.ok_or(StatePageError::UnknownAccount)?;
    account.contract.ok_or(StatePageError::NotAContract)?;
    let prefix = match field {
        Some(field) if !is_field(view, contract, field)? => return Err(StatePageError::UnknownField),
        Some(field) => StorageKey::field(contract, field),
        None => StorageKey::from_text(format!("{contract}{}", StorageKey::SEPARATOR)),
    };
    let all = format!("{contract}{}", StorageKey::SEPARATOR);
    let from = match after {
        Some(after) => Some(begin(&all, &prefix, after)?),
        None => None,
    };
    let mut found = view.entries(contract, &prefix, from.as_ref())?;
    let (mut entries, mut bytes, mut last) = (Vec::new(), 0_usize, None);
    while let Some((plain, value)) = found.next_plain()? {
        let path = plain.strip_prefix(StorageKey::SEPARATOR).unwrap_or(plain);
        let Some(entry) = entry(path, value) else { continue };
        if entries.len() >= (*limit).max(1) || bytes >= PAGE_BYTES {
            return Ok((entries, last));
        }
        bytes = bytes.saturating_add(plain.len()).saturating_add(value.len());
        last = Some(path.to_owned());
        entries.push(entry);
    }
    Ok((entries, None))
}

fn is_field(view: &StateView, contract: &Address, name: &str) -> Result<bool, StateError> {
    let depth = view.storage_value(contract, &StorageKey::depth(contract, name).variable_hash())?;
    Ok(depth.is_some() && !METADATA.contains(&name))
}

/// Returns the lowest key that can follow the last entry of the previous page.
fn begin(all: &str, prefix: &StorageKey, after: &str) -> Result<StorageKey, StatePageError> {
    let last = format!("{all}{after}");
    if !last.starts_with(prefix.as_str()) || !last.ends_with(StorageKey::SEPARATOR) {
        return Err(StatePageError::Cursor);
    }
    Ok(StorageKey::from_text(format!("{last}\0")))
}

/// Returns the entry with the key `path`, or `None` for metadata. `path` is a plain key without its first separator.
fn entry(path: &str, value: &[u8]) -> Option<StateEntry> {
    let mut parts = path.split_terminator(StorageKey::SEPARATOR);
    let name = parts.next().filter(|name| !METADATA.contains(name))?.to_owned();
    Some(StateEntry { name, indices: parts.map(index_text).collect(), value: stored_value(value) })
}

/// Reason why there is no page of contract state.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StatePageError {
    /// The state after the block is not available.
    #[error(transparent)]
    Past(#[from] PastStateError),
    /// The account does not exist.
    #[error("Address does not exist")]
    UnknownAccount,
    /// The account is not a contract.
    #[error("Address not contract address")]
    NotAContract,
    /// The contract has no field of this name.
    #[error("the contract has no field with this name")]
    UnknownField,
    /// The cursor does not belong to this field.
    #[error("expected the value of next from a page of this field")]
    Cursor,
    /// A read of the state failed.
    #[error("failed to read state")]
    State(#[from] StateError),
}

/// Reason why the state after a block is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PastStateError {
    /// The block does not exist yet, or its state is not in the state history.
    #[error("expected a Tx block from {earliest} to {latest}, whose states the node keeps, got {block}")]
    Outside {
        /// The requested block.
        block: BlockNumber,
        /// The oldest block in the state history.
        earliest: BlockNumber,
        /// The latest block.
        latest: BlockNumber,
    },
    /// The computation of the state after the block failed.
    #[error("failed to read the state of a block")]
    History(#[source] HistoryError),
}
