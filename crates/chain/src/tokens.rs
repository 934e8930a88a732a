//! The tokens of a holder: pages of the contracts in which an address has a balance.
//!
//! The node has no index of holders. A page reads the entry of the holder in each contract, in the order of addresses.
//! So the list is exact. It also has the tokens that the holder got without any message or event. The cost of all pages
//! is proportional to the number of contracts, not of tokens.

use serde_json::Value as Json;
use silica_protocol::{Address, BlockNumber, StorageKey, stored_value};
use silica_state::StateError;

use crate::{contract::variable_key, contract_list::TokenDescription, executor::TokenStandard, snapshot::Snapshot};

/// A page of the tokens of a holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokensPage {
    /// The page has the state after this block.
    pub block: BlockNumber,
    /// The tokens in the order of the addresses of their contracts.
    pub tokens: Vec<HeldToken>,
    /// The last contract that the page read, or `None` on the last page.
    pub next: Option<Address>,
}

/// A token contract in which an address has a balance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldToken {
    /// The contract of the token.
    pub contract: Address,
    /// The token, as its contract describes it.
    pub token: TokenDescription,
    /// The balance in decimal digits: an amount of fungible tokens, or a number of non-fungible tokens. It is not 0.
    pub balance: String,
}

/// Maximum number of contracts that a page reads. It bounds the time of a page without tokens.
const MOST_CONTRACTS: usize = 5_000;
/// Bytes of code and init data after which a page ends.
const PAGE_BYTES: usize = 4 << 20;

impl Snapshot {
    /// Returns a page of at most `limit` tokens of a holder. `after` is the [`next`](TokensPage::next) of the previous
    /// page. A `limit` of 0 means 1. The page ends early when it has read 5,000 contracts, or 4 MiB of code and init
    /// data.
    ///
    /// # Errors
    ///
    /// [`StateError`]: the state or the record could not be read.
    pub fn tokens_of(&self, holder: &Address, after: Option<Address>, limit: usize) -> Result<TokensPage, StateError> {
        let block = self.latest_tx_block().header.number;
        let key = format!("0x{holder}");
        let (mut tokens, mut bytes, mut last) = (Vec::new(), 0_usize, after);
        let rows = self.state().deployments(after.as_ref(), MOST_CONTRACTS.saturating_add(1))?;
        for (read, (contract, _, _)) in rows.into_iter().enumerate() {
            if read >= MOST_CONTRACTS || tokens.len() >= limit.max(1) || bytes >= PAGE_BYTES {
                return Ok(TokensPage { block, tokens, next: last });
            }
            last = Some(contract);
            for standard in TokenStandard::ALL {
                let Some(balance) = self.token_balance(&contract, standard, &key)? else { continue };
                let deployed = self.contract(&contract)?;
                let (code, init) = deployed.map(|it| (it.code.len(), it.init_data)).unwrap_or_default();
                bytes = bytes.saturating_add(code).saturating_add(init.len());
                let token = TokenDescription::new(standard, &init);
                tokens.push(HeldToken { contract, token, balance });
                break;
            }
        }
        Ok(TokensPage { block, tokens, next: None })
    }

    /// Returns the balance of a holder, or `None` if it is 0 or the contract does not have the fields of the standard.
    fn token_balance(
        &self,
        contract: &Address,
        standard: TokenStandard,
        holder: &str,
    ) -> Result<Option<String>, StateError> {
        let read = |key: &StorageKey| self.view().storage_value(contract, &key.variable_hash());
        let (name, _) = standard.balances();
        // Most contracts do not have the entry, so the function reads the entry before the types of the fields.
        let Some(stored) = read(&variable_key(contract, name, &[holder.to_owned()]))? else { return Ok(None) };
        if !self.has_fields_of(contract, standard)? {
            return Ok(None);
        }
        let Json::String(balance) = stored_value(&stored) else { return Ok(None) };
        Ok(Some(balance).filter(|balance| balance.bytes().any(|digit| digit != b'0')))
    }
}
