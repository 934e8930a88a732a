//! The list of all contracts in the order of their addresses, and the search for a contract by name.

use silica_protocol::{Address, InitData, StorageKey, TxHash};
use silica_scilla::syntax::module_name;
use silica_state::StateError;

use crate::{
    account_list::AddressPage,
    executor::{TokenStandard, declares_library},
    snapshot::Snapshot,
    transaction_search::HistoryPlace,
};

/// A deployed contract or library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractRow {
    /// Address of the contract.
    pub address: Address,
    /// Address of the sender of the deployment.
    pub creator: Address,
    /// Hash of the deployment.
    pub hash: TxHash,
    /// Place of the deployment in the record.
    pub place: HistoryPlace,
    /// Whether the row is a library, and not a contract.
    pub is_library: bool,
    /// Name of the contract or library in its code, or `None` if the code has no name.
    pub name: Option<String>,
    /// The token, or `None` if the contract does not have the fields of a standard.
    pub token: Option<TokenDescription>,
}

/// The description of a token by its contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenDescription {
    /// The standard whose fields the contract has.
    pub standard: TokenStandard,
    /// The parameter `name` of the deployment, or `None` if there is no such parameter of type `String`.
    pub name: Option<String>,
    /// The parameter `symbol` of the deployment, or `None` if there is no such parameter of type `String`.
    pub symbol: Option<String>,
    /// The parameter `decimals` of the deployment, or `None` if there is no such parameter of type `Uint32`.
    pub decimals: Option<u32>,
}

impl TokenDescription {
    /// Reads the parameters of the deployment in its init data.
    pub(crate) fn new(standard: TokenStandard, init_data: &str) -> Self {
        let params = InitData::parse(init_data).map(|init| init.params()).unwrap_or_default();
        let text = |name: &str, ty: &str| {
            let found = params.iter().find(|param| param.name == name && param.type_name == ty)?;
            Some(found.value.as_str()?.to_owned())
        };
        let decimals = text("decimals", "Uint32").and_then(|decimals| decimals.parse().ok());
        Self { standard, name: text("name", "String"), symbol: text("symbol", "String"), decimals }
    }
}

impl ContractRow {
    /// Returns whether a name of the contract or of its token, or the symbol of the token, begins with a text. The
    /// letter case of ASCII letters makes no difference.
    fn begins_with(&self, text: &str) -> bool {
        let token = self.token.as_ref();
        let names = [self.name.as_deref(), token.and_then(|token| token.name.as_deref())];
        let symbol = token.and_then(|token| token.symbol.as_deref());
        let begins = |name: &str| name.get(..text.len()).is_some_and(|part| part.eq_ignore_ascii_case(text));
        names.into_iter().chain([symbol]).flatten().any(begins)
    }
}

/// The bounds of the work for a page.
struct Effort {
    /// Maximum number of rows of a page.
    limit: usize,
    /// Maximum number of contracts that a page reads.
    contracts: usize,
    /// Bytes of code and init data after which a page ends.
    bytes: usize,
}

/// Bytes of code and init data after which a page of the list ends.
const PAGE_BYTES: usize = 4 << 20;
/// Maximum number of contracts that a search reads.
const SEARCHED_CONTRACTS: usize = 5_000;
/// Bytes of code and init data after which a search ends.
const SEARCHED_BYTES: usize = 16 << 20;

impl Snapshot {
    /// Returns a page of at most `limit` contracts and libraries after the address `after`. A `limit` of 0 means 1. The
    /// page ends early when the code and the init data that it reads have 4 MiB.
    ///
    /// # Errors
    ///
    /// [`StateError`]: the record could not be read.
    pub fn contract_list(&self, after: Option<Address>, limit: usize) -> Result<AddressPage<ContractRow>, StateError> {
        let limit = limit.max(1);
        self.contracts_where(after, &Effort { limit, contracts: limit, bytes: PAGE_BYTES }, |_| true)
    }

    /// Returns at most `limit` contracts and libraries whose name, or whose token's name or symbol, begins with a text.
    /// The letter case of ASCII letters makes no difference. A `limit` of 0 means 1. The search ends when it has read
    /// 5,000 contracts, or 16 MiB of code and init data. [`AddressPage::next`] is `None` if the search has read all
    /// contracts.
    ///
    /// # Errors
    ///
    /// [`StateError`]: the record could not be read.
    pub fn contracts_named(&self, text: &str, limit: usize) -> Result<AddressPage<ContractRow>, StateError> {
        let effort = Effort { limit: limit.max(1), contracts: SEARCHED_CONTRACTS, bytes: SEARCHED_BYTES };
        self.contracts_where(None, &effort, |row| row.begins_with(text))
    }

    fn contracts_where(
        &self,
        after: Option<Address>,
        effort: &Effort,
        is_wanted: impl Fn(&ContractRow) -> bool,
    ) -> Result<AddressPage<ContractRow>, StateError> {
        let block = self.latest_tx_block().header.number;
        let rows = self.state().deployments(after.as_ref(), effort.contracts.saturating_add(1))?;
        let (mut elements, mut bytes, mut last) = (Vec::new(), 0_usize, after);
        for (read, (address, block_of, position)) in rows.into_iter().enumerate() {
            if read >= effort.contracts || elements.len() >= effort.limit || bytes >= effort.bytes {
                return Ok(AddressPage { block, elements, next: last });
            }
            last = Some(address);
            let found = self.state().transactions(block_of, position..position.saturating_add(1))?.unwrap_or_default();
            let Some((transaction, _)) = found.first() else { continue };
            bytes = bytes.saturating_add(transaction.code.len()).saturating_add(transaction.data.len());
            let row = ContractRow {
                address,
                creator: transaction.sender(),
                hash: transaction.hash(),
                place: HistoryPlace { block: block_of, position },
                is_library: declares_library(&transaction.data),
                name: module_name(transaction.code.as_bytes()),
                token: self
                    .token_standard(&address)?
                    .map(|standard| TokenDescription::new(standard, &transaction.data)),
            };
            if is_wanted(&row) {
                elements.push(row);
            }
        }
        Ok(AddressPage { block, elements, next: None })
    }

    /// Returns the first standard whose fields a contract has, or `None` if there is no such standard.
    fn token_standard(&self, contract: &Address) -> Result<Option<TokenStandard>, StateError> {
        for standard in TokenStandard::ALL {
            if self.has_fields_of(contract, standard)? {
                return Ok(Some(standard));
            }
        }
        Ok(None)
    }

    /// Returns whether a contract has the fields of a standard, with their types.
    pub(crate) fn has_fields_of(&self, contract: &Address, standard: TokenStandard) -> Result<bool, StateError> {
        for (name, ty) in [standard.balances()].into_iter().chain(standard.owners()) {
            let stored = self.view().storage_value(contract, &StorageKey::type_of(contract, name).variable_hash())?;
            if stored.is_none_or(|stored| stored != ty.as_bytes()) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
