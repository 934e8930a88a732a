//! Lists of blocks, transactions, contracts and accounts, in pages.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_chain::{
    AddressPage, BlockRow, ContractRow, HeldToken, Holder, HoldersError, StatePageError, TokenDescription, TokenKind,
    TokensPage, TransactionListRequest, TransactionSummary,
};
use silica_protocol::{
    Account, Address, BlockNumber, TransactionKind, TxHash,
    rpc::{
        cursor::{AddressCursor, BlockCursor, KeyCursor, PlaceCursor},
        error::RpcErrorCode,
        list::{
            AccountPageJson, AccountRowJson, BlockPageJson, BlockRowJson, ContractPageJson, ContractRowJson,
            HeldTokenJson, HolderJson, HolderPageJson, TokenDescriptionJson, TokenPageJson, TransactionKindJson,
            TransactionPageJson, TransactionSummaryJson,
        },
    },
};

use super::{interface::standard, transaction::EFFORT};
use crate::{
    head::Context,
    rpc::{
        CallError, Entry, Method,
        params::{
            Text, beginning,
            options::{Limit, Member, Options, Order, cursor_of, place_of},
        },
    },
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[
    Entry::slow::<GetBlockRange>().of_weight(5),
    Entry::slow::<GetHolders>().of_weight(5),
    Entry::slow::<GetTokens>().of_weight(10),
    Entry::slow::<GetTransactionSummaries>().of_weight(10),
    Entry::slow::<ListAccounts>().of_weight(5),
    Entry::slow::<ListContracts>().of_weight(10),
];

/// Tx blocks in pages. Consecutive blocks without transactions are one row. An extension of this node.
///
/// The cost of a page depends on the number of its rows, not of its blocks. The last page has no `next`. New blocks do
/// not change a page, except the row with the latest block.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetBlockRange {
    /// Start, order and size of the page; optional.
    #[serde(default)]
    options: Options<BlockRangeOptions>,
}

/// Options for the list of Tx blocks.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct BlockRangeOptions {
    /// The `next` of the previous page; absent for the first page. The cursor replaces `from`.
    cursor: Option<Member<BlockCursor>>,
    /// Number of the first Tx block of the first page. By default, the list begins at the latest block for the order
    /// `newest`, and at block 0 for the order `oldest`.
    from: Option<Member<BlockNumber>>,
    /// Maximum number of rows on the page.
    limit: Limit,
    /// Order of the rows.
    order: Order,
}

impl Method for GetBlockRange {
    const NAME: &'static str = "silica_getBlockRange";
    type Output = BlockPageJson;

    fn call(self, at: &Context) -> Result<BlockPageJson, CallError> {
        let BlockRangeOptions { cursor, from, limit, order } = self.options.get()?;
        let from = cursor.map(|Member(BlockCursor(block))| block).or(from.map(|Member(block)| block));
        let page = at.snapshot.block_list(order.into(), from, limit.get())?;
        Ok(BlockPageJson {
            blocks: page.rows.iter().map(block_row).collect(),
            next: page.next.map(|next| next.to_string()),
        })
    }
}

fn block_row(row: &BlockRow) -> BlockRowJson {
    let BlockRow { first, last, hash, timestamp, ds_block, transactions, gas_used, fees } = *row;
    BlockRowJson {
        count: last.get().saturating_sub(first.get()).saturating_add(1).into(),
        ds_block: ds_block.into(),
        fees: fees.into(),
        from: first.into(),
        gas_used: gas_used.into(),
        hash: hash.into(),
        timestamp: timestamp.into(),
        to: last.into(),
        transactions,
    }
}

/// Transactions of the chain or of a Tx block in pages, without code, data and receipts. An extension of this node.
///
/// A page ends early when it has read about 5 MB of the record. The last page has no `next`. New blocks do not change a
/// page.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetTransactionSummaries {
    /// Block, start, order and size of the page; optional.
    #[serde(default)]
    options: Options<SummaryOptions>,
}

/// Options for the list of transactions.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct SummaryOptions {
    /// Number of the Tx block whose transactions are listed; all Tx blocks if absent.
    block: Option<Member<BlockNumber>>,
    /// The `next` of the previous page; absent for the first page.
    cursor: Option<Member<PlaceCursor>>,
    /// Maximum number of transactions on the page.
    limit: Limit<200>,
    /// Order of the transactions.
    order: Order,
}

impl Method for GetTransactionSummaries {
    const NAME: &'static str = "silica_getTransactionSummaries";
    type Output = TransactionPageJson;

    fn call(self, at: &Context) -> Result<TransactionPageJson, CallError> {
        let SummaryOptions { block, cursor, limit, order } = self.options.get()?;
        let block = block.map(|Member(block)| block);
        if let Some(block) = block.filter(|block| *block > at.head()) {
            let problem = format!("block: expected a Tx block of the chain, up to {}, got {block}", at.head());
            return Err(CallError::parameter("options", &problem));
        }
        let cursor = cursor.map(|Member(cursor)| cursor);
        if let (Some(block), Some(got)) = (block, cursor)
            && got.block != block
        {
            let problem = format!("cursor: expected a cursor of block {block}, got \"{got}\"");
            return Err(CallError::parameter("options", &problem));
        }
        let after = cursor.map(place_of);
        let request = TransactionListRequest { block, order: order.into(), after, limit: limit.get(), effort: EFFORT };
        let page = at.snapshot.transaction_list(&request)?;
        Ok(TransactionPageJson {
            next: page.next.map(|next| cursor_of(next).to_string()),
            transactions: page.transactions.into_iter().map(transaction_summary).collect::<Result<_, _>>()?,
        })
    }
}

fn transaction_summary(summary: TransactionSummary) -> Result<TransactionSummaryJson, CallError> {
    let TransactionSummary { place, hash, timestamp, sender, recipient, contract, .. } = summary;
    Ok(TransactionSummaryJson {
        amount: summary.amount.into(),
        block: place.block.into(),
        contract: contract.map(Into::into),
        fee: summary.fee.into(),
        hash: hash.into(),
        kind: kind(summary.kind, &hash)?,
        position: place.position,
        recipient: recipient.into(),
        sender: sender.into(),
        success: summary.success,
        tag: summary.tag,
        timestamp: timestamp.into(),
    })
}

/// Returns the kind of an admitted transaction.
pub(super) fn kind(kind: Option<TransactionKind>, hash: &TxHash) -> Result<TransactionKindJson, CallError> {
    match kind {
        Some(TransactionKind::Payment) => Ok(TransactionKindJson::Payment),
        Some(TransactionKind::Deployment) => Ok(TransactionKindJson::Deployment),
        Some(TransactionKind::Call) => Ok(TransactionKindJson::Call),
        None => Err(CallError::internal(format!("transaction {hash} has no kind"))),
    }
}

/// Options for a list in the order of addresses.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct AddressListOptions {
    /// The `next` of the previous page; absent for the first page.
    cursor: Option<Member<AddressCursor>>,
    /// Maximum number of elements on the page.
    limit: Limit,
}

impl AddressListOptions {
    /// Returns the last address of the previous page, and the maximum number of elements.
    fn into_parts(self) -> (Option<Address>, usize) {
        (self.cursor.map(|Member(AddressCursor(address))| address), self.limit.get())
    }
}

/// Contracts and libraries in the order of their addresses, in pages. An extension of this node.
///
/// A contract that exists during all requests appears once. A page ends early when it has read 4 MiB of code and init
/// data.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListContracts {
    /// Start and size of the page; optional.
    #[serde(default)]
    options: Options<AddressListOptions>,
}

impl Method for ListContracts {
    const NAME: &'static str = "silica_listContracts";
    type Output = ContractPageJson;

    fn call(self, at: &Context) -> Result<ContractPageJson, CallError> {
        let (after, limit) = self.options.get()?.into_parts();
        let AddressPage { block, elements, next } = at.snapshot.contract_list(after, limit)?;
        Ok(ContractPageJson {
            block: block.into(),
            contracts: elements.into_iter().map(contract_row).collect(),
            next: next.map(|next| AddressCursor(next).to_string()),
        })
    }
}

fn contract_row(row: ContractRow) -> ContractRowJson {
    let ContractRow { address, creator, hash, place, is_library, name, token } = row;
    ContractRowJson {
        address: address.into(),
        block: place.block.into(),
        creator: creator.into(),
        hash: hash.into(),
        library: is_library,
        name,
        position: place.position,
        token: token.map(token_description),
    }
}

fn token_description(token: TokenDescription) -> TokenDescriptionJson {
    let TokenDescription { standard: of, name, symbol, decimals } = token;
    TokenDescriptionJson { decimals, name, standard: standard(of), symbol }
}

/// Accounts in the order of their addresses, in pages, with balance and nonce. An extension of this node.
///
/// Each page has the latest state. An account that exists during all requests appears once.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListAccounts {
    /// Start and size of the page; optional.
    #[serde(default)]
    options: Options<AddressListOptions>,
}

impl Method for ListAccounts {
    const NAME: &'static str = "silica_listAccounts";
    type Output = AccountPageJson;

    fn call(self, at: &Context) -> Result<AccountPageJson, CallError> {
        let (after, limit) = self.options.get()?.into_parts();
        let AddressPage { block, elements, next } = at.snapshot.account_list(after, limit)?;
        Ok(AccountPageJson {
            accounts: elements.into_iter().map(account_row).collect(),
            block: block.into(),
            next: next.map(|next| AddressCursor(next).to_string()),
        })
    }
}

fn account_row((address, account): (Address, Account)) -> AccountRowJson {
    AccountRowJson {
        address: address.into(),
        balance: account.balance.into(),
        code_hash: account.contract.map(|contract| contract.code_hash.into()),
        nonce: account.nonce.get(),
    }
}

/// Holders of a token in pages: of the field `balances` of a fungible token (ZRC-2), or of the field `token_owners` of
/// a non-fungible token (ZRC-6). An extension of this node.
///
/// The holders are in the order of the stored keys: of addresses, or of the texts of token ids. Each page has the
/// latest state. An entry that exists during all requests appears once.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetHolders {
    /// Address of the contract of the token.
    contract: Text<Address>,
    /// Start and size of the page; optional.
    #[serde(default)]
    options: Options<HolderOptions>,
}

/// Options for the list of the holders of a token.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct HolderOptions {
    /// The `next` of the previous page; absent for the first page.
    cursor: Option<Member<KeyCursor>>,
    /// Maximum number of holders on the page.
    limit: Limit,
}

impl Method for GetHolders {
    const NAME: &'static str = "silica_getHolders";
    type Output = HolderPageJson;

    fn call(self, at: &Context) -> Result<HolderPageJson, CallError> {
        let contract = self.contract.named("contract")?;
        let HolderOptions { cursor, limit } = self.options.get()?;
        let after = cursor.map(|Member(KeyCursor(key))| key);
        let got = after.clone().map(|key| KeyCursor(key).to_string()).unwrap_or_default();
        let page = at.snapshot.holders(&contract, after, limit.get()).map_err(|error| match error {
            HoldersError::NoToken => CallError::parameter("contract", &error),
            HoldersError::State(error) => error.into(),
            HoldersError::Page(StatePageError::Cursor) => {
                let got = beginning(&got);
                let problem = format!("cursor: expected a cursor of the holders of this contract, got {got:?}");
                CallError::parameter("options", &problem)
            }
            HoldersError::Page(error @ (StatePageError::UnknownAccount | StatePageError::NotAContract)) => {
                CallError::with_text_of(RpcErrorCode::INVALID_ADDRESS_OR_KEY, &error)
            }
            HoldersError::Page(StatePageError::State(error)) => error.into(),
            HoldersError::Page(error) => CallError::internal(error),
            error => CallError::internal(error),
        })?;
        let holder = |Holder { holder, token }: Holder| match page.kind {
            TokenKind::Fungible => HolderJson { amount: Some(token), holder, token_id: None },
            TokenKind::NonFungible => HolderJson { amount: None, holder, token_id: Some(token) },
        };
        Ok(HolderPageJson {
            block: page.block.into(),
            holders: page.holders.into_iter().map(holder).collect(),
            next: page.next.map(|next| KeyCursor(next).to_string()),
        })
    }
}

/// The tokens of a holder in pages: the contracts with the fields of ZRC-1, ZRC-2 or ZRC-6 in which an address has a
/// balance. An extension of this node.
///
/// The tokens are in the order of the addresses of their contracts. The node reads the balance in all contracts, so the
/// list does not depend on messages or events. A page ends early when it has read 5,000 contracts, or 4 MiB of code and
/// init data. Then it can have few tokens or none, and nevertheless a `next`. Each page has the latest state.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetTokens {
    /// Address of the holder.
    address: Text<Address>,
    /// Start and size of the page; optional.
    #[serde(default)]
    options: Options<TokenOptions>,
}

/// Options for the list of tokens.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct TokenOptions {
    /// The `next` of the previous page; absent for the first page.
    cursor: Option<Member<AddressCursor>>,
    /// Maximum number of tokens on the page.
    limit: Limit<200>,
}

impl Method for GetTokens {
    const NAME: &'static str = "silica_getTokens";
    type Output = TokenPageJson;

    fn call(self, at: &Context) -> Result<TokenPageJson, CallError> {
        let holder = self.address.named("address")?;
        let TokenOptions { cursor, limit } = self.options.get()?;
        let after = cursor.map(|Member(AddressCursor(address))| address);
        let TokensPage { block, tokens, next } = at.snapshot.tokens_of(&holder, after, limit.get())?;
        Ok(TokenPageJson {
            block: block.into(),
            next: next.map(|next| AddressCursor(next).to_string()),
            tokens: tokens.into_iter().map(held_token).collect(),
        })
    }
}

fn held_token(token: HeldToken) -> HeldTokenJson {
    let HeldToken { contract, token, balance } = token;
    let TokenDescriptionJson { decimals, name, standard, symbol } = token_description(token);
    HeldTokenJson { balance, contract: contract.into(), decimals, name, standard, symbol }
}
