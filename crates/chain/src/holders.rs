//! The holders of a token, in pages. The holders are the entries of a map in the contract.
//!
//! A fungible token (ZRC-2) has the field `balances : Map ByStr20 Uint128`, and a non-fungible token (ZRC-6) the field
//! `token_owners : Map Uint256 ByStr20`. The node recognises a token by one of these fields with exactly this type.

use serde_json::Value as Json;
use silica_protocol::{Address, BlockNumber, StorageKey};
use silica_state::StateError;

use crate::{
    executor::TokenStandard,
    snapshot::Snapshot,
    state_page::{StateEntry, StatePage, StatePageError, StatePageRequest},
};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Each holder has an amount.
    Fungible,
    /// Each token has an id and a holder.
    NonFungible,
}

impl TokenKind {
    const ALL: [Self; 2] = [Self::Fungible, Self::NonFungible];

    /// Returns the name and the type of the field with the holders. The text of the type is the text in the metadata.
    const fn field(self) -> (&'static str, &'static str) {
        match self {
            Self::Fungible => TokenStandard::Zrc2.balances(),
            Self::NonFungible => TokenStandard::OWNERS,
        }
    }
}

/// A page of the holders of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldersPage {
    /// The page has the state after this block.
    pub block: BlockNumber,
    /// The kind of the token.
    pub kind: TokenKind,
    /// The holders in the order of the stored keys: of addresses, or of the texts of token ids.
    pub holders: Vec<Holder>,
    /// Cursor of the next page, or `None` on the last page.
    pub next: Option<String>,
}

/// A holder of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Address of the holder, as text with `0x`.
    pub holder: String,
    /// Amount of a fungible token, or id of a non-fungible token, in decimal digits.
    pub token: String,
}

impl Snapshot {
    /// Returns a page of at most `limit` holders of a token at the latest block. `after` is the
    /// [`next`](HoldersPage::next) of the previous page.
    ///
    /// # Errors
    ///
    /// [`HoldersError`]: the contract has no field of a token, or [`StatePageError`] occurred.
    pub fn holders(
        &self,
        contract: &Address,
        after: Option<String>,
        limit: usize,
    ) -> Result<HoldersPage, HoldersError> {
        let account = self.account(contract)?.ok_or(StatePageError::UnknownAccount)?;
        account.contract.ok_or(StatePageError::NotAContract)?;
        let mut kinds = TokenKind::ALL.into_iter();
        let kind = loop {
            let kind = kinds.next().ok_or(HoldersError::NoToken)?;
            let (name, ty) = kind.field();
            let stored = self.view().storage_value(contract, &StorageKey::type_of(contract, name).variable_hash())?;
            if stored.is_some_and(|stored| stored == ty.as_bytes()) {
                break kind;
            }
        };
        let field = Some(kind.field().0.to_owned());
        let request = StatePageRequest { contract: *contract, field, after, limit, block: None };
        let StatePage { block, entries, next } = self.state_page(&request)?;
        let holders = entries.into_iter().filter_map(|entry| holder(kind, entry)).collect();
        Ok(HoldersPage { block, kind, holders, next })
    }
}

/// Returns the holder of an entry, or `None` for the entry of an empty map.
fn holder(kind: TokenKind, StateEntry { indices, value, .. }: StateEntry) -> Option<Holder> {
    let key = indices.into_iter().next()?;
    let Json::String(value) = value else { return None };
    Some(match kind {
        TokenKind::Fungible => Holder { holder: key, token: value },
        TokenKind::NonFungible => Holder { holder: value, token: key },
    })
}

/// Reason why there is no page of holders.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HoldersError {
    /// The contract has no field of a token.
    #[error("expected a contract with the field balances : Map ByStr20 Uint128 or token_owners : Map Uint256 ByStr20")]
    NoToken,
    /// The state page does not exist.
    #[error(transparent)]
    Page(#[from] StatePageError),
    /// A read of the state failed.
    #[error("failed to read state")]
    State(#[from] StateError),
}
