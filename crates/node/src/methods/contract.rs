//! Contracts: code, init parameters, state, and proofs of state.

use std::{iter::once, ops::ControlFlow};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use silica_chain::{
    ContractEntries, ContractField, PastStateError, ProofError, StateEntry, StatePage, StatePageError, StatePageRequest,
};
use silica_protocol::{
    Account, Address, AddressError, BlockNumber, DeployedContract, HexError, InitData, TxHash, VariableHash,
    rpc::{
        account::StateProof,
        contract::{ContractCode, ContractParamJson, SmartContract, StateEntryJson, StatePageJson},
        contract_state::{StateWriter, nested_value},
        cursor::KeyCursor,
        error::{RpcError, RpcErrorCode},
        text::Hex,
    },
};

use silica_state::StateError;

use crate::{
    head::Context,
    http::Chunks,
    rpc::{
        CallError, ChunkedResult, Entry, HashErrors, Method, RESULT_CHUNK, Streamed,
        params::{BlockOrLatest, FromParam, HashFault, Integral, Text, beginning},
    },
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[
    Entry::of::<GetContractAddressFromTransactionID>(),
    Entry::of::<GetSmartContractCode>(),
    Entry::of::<GetSmartContractInit>(),
    Entry::slow::<GetSmartContracts>().of_weight(5),
    Entry::streamed::<GetSmartContractState>().of_weight(10),
    Entry::streamed::<GetSmartContractSubState>().of_weight(5),
    Entry::slow::<GetStateProof>().of_weight(5),
    Entry::slow::<GetSmartContractStatePage>().of_weight(5),
];

/// The error for an address that has no account.
const ADDRESS_UNKNOWN: RpcError = RpcError::from_static(RpcErrorCode::INVALID_ADDRESS_OR_KEY, "Address does not exist");

/// The error for an account without code.
const NOT_A_CONTRACT: RpcError =
    RpcError::from_static(RpcErrorCode::INVALID_ADDRESS_OR_KEY, "Address not contract address");

/// Init parameters of a contract.
///
/// The result has the parameters of the deployment, in their order. The node adds two parameters: the block of the
/// deployment and the address of the contract.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetSmartContractInit {
    /// Address of the contract.
    address: Text<Address>,
}

/// The error for a contract whose init data are not valid JSON.
const INIT_DATA_UNREADABLE: RpcError =
    RpcError::from_static(RpcErrorCode::PARSE_ERROR, "Unable to convert initData into Json");

impl Method for GetSmartContractInit {
    const NAME: &'static str = "GetSmartContractInit";
    type Output = Vec<ContractParamJson>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        let contract = contract(at, &self.address.get()?)?;
        let init = InitData::parse(&contract.init_data).map_err(|_| INIT_DATA_UNREADABLE)?;
        Ok(init.params().into_iter().map(ContractParamJson::from).collect())
    }
}

/// The source code of a contract or library.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetSmartContractCode {
    /// Address of the contract.
    address: Text<Address>,
}

impl Method for GetSmartContractCode {
    const NAME: &'static str = "GetSmartContractCode";
    type Output = ContractCode;

    fn call(self, at: &Context) -> Result<ContractCode, CallError> {
        Ok(ContractCode { code: contract(at, &self.address.get()?)?.code })
    }
}

/// The contracts that an account has deployed, in the order of their deployment, without libraries.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetSmartContracts {
    /// Address of the account.
    address: Text<Address>,
}

/// The error for the address of a contract, where the method needs an account that deploys contracts.
const CONTRACT_QUERIED: RpcError =
    RpcError::from_static(RpcErrorCode::INVALID_ADDRESS_OR_KEY, "A contract account queried");

impl Method for GetSmartContracts {
    const NAME: &'static str = "GetSmartContracts";
    type Output = Vec<SmartContract>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        let address = self.address.get()?;
        let account = at.snapshot.account(&address)?.ok_or(ADDRESS_UNKNOWN)?;
        if account.contract.is_some() {
            return Err(CONTRACT_QUERIED.into());
        }
        let contracts = at.snapshot.contracts_of(&address)?;
        Ok(contracts.into_iter().map(|address| SmartContract { address: address.into() }).collect())
    }
}

/// The balance of a contract and all its fields.
///
/// A map is an object, with the keys of the map as member names. Values of other types have the JSON form of Scilla.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetSmartContractState {
    /// Address of the contract.
    address: Text<Address>,
}

impl Streamed for GetSmartContractState {
    const NAME: &'static str = "GetSmartContractState";
    type Output = Map<String, Value>;

    fn begin(self, at: &Context) -> Result<ChunkedResult, CallError> {
        let address = self.address.get()?;
        let account = contract_account(at, &address)?;
        let entries = at.snapshot.contract_fields(&address)?;
        let writer = StateWriter::of_fields(Some(account.balance));
        Ok(ChunkedResult::begin(Self::NAME, StateText { entries, writer })?)
    }
}

/// The text of the state of a contract, or of a part of it.
struct StateText {
    entries: ContractEntries,
    writer: StateWriter,
}

impl Chunks for StateText {
    type Error = StateError;

    fn next_chunk(&mut self, out: &mut Vec<u8>) -> Result<bool, StateError> {
        let end = out.len().saturating_add(RESULT_CHUNK);
        let visited = self.entries.visit(|path, value| {
            self.writer.add(path, value, out);
            if out.len() < end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if visited.is_continue() {
            self.writer.finish(out);
        }
        Ok(visited.is_break())
    }
}

/// A part of the state of a contract: a field, or the part of a map under some keys.
///
/// The result is nested like the state. It is null if the state has no such part. Without the name of a field, the
/// result has all fields. Without the name and without keys, it also has the balance.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetSmartContractSubState {
    /// Address of the contract.
    address: Text<Address>,
    /// Name of the field; empty for all fields.
    field: String,
    /// Keys of the map as text without quotes, the outermost first; empty for the whole field.
    indices: Vec<Value>,
}

/// The error for a map key that is not a JSON string.
const INDEX_NOT_TEXT: RpcError =
    RpcError::from_static(RpcErrorCode::INVALID_PARAMETER, "Every array value should be a string");

impl Streamed for GetSmartContractSubState {
    const NAME: &'static str = "GetSmartContractSubState";
    type Output = Option<Map<String, Value>>;

    fn begin(self, at: &Context) -> Result<ChunkedResult, CallError> {
        let address = self.address.get()?;
        let account = contract_account(at, &address)?;
        let text = |index: Value| if let Value::String(text) = index { Ok(text) } else { Err(INDEX_NOT_TEXT) };
        let indices = self.indices.into_iter().map(text).collect::<Result<Vec<_>, _>>()?;
        match self.field.as_str() {
            "" => {
                let balance = indices.is_empty().then_some(account.balance);
                let entries = at.snapshot.contract_fields(&address)?;
                let writer = StateWriter::of_fields(balance);
                Ok(ChunkedResult::begin(Self::NAME, StateText { entries, writer })?)
            }
            "_balance" => {
                let text = json!({ "_balance": account.balance.to_string() }).to_string();
                Ok(ChunkedResult::begin(Self::NAME, text)?)
            }
            field => {
                let path = once(field).chain(indices.iter().map(String::as_str));
                let result = match at.snapshot.contract_field(&address, field, &indices)? {
                    None => ChunkedResult::begin(Self::NAME, "null".to_owned()),
                    Some(ContractField::Value(value)) => ChunkedResult::begin(Self::NAME, nested_value(path, &value)),
                    Some(ContractField::Map(entries)) => {
                        let writer = StateWriter::below(path);
                        ChunkedResult::begin(Self::NAME, StateText { entries, writer })
                    }
                };
                Ok(result?)
            }
        }
    }
}

/// A page of the state of a contract, in the order of the stored keys. An extension of this node.
///
/// An entry is an innermost value of a map, or a field of any other type. If all pages are of the same block, they have
/// each entry once, even if the chain grows between the requests. Without a block, each page is of the latest block,
/// and begins after the last entry of the previous page. A page ends early when its keys and values have 4 MiB.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetSmartContractStatePage {
    /// Address of the contract.
    address: Text<Address>,
    /// The name of the field; null, empty or left out for all fields.
    #[serde(default)]
    field: Option<String>,
    /// The member `next` of the previous page; null for the first page.
    #[serde(default)]
    cursor: Option<String>,
    /// Maximum number of entries, from 1 to 1000; the default is 100.
    #[serde(default = "usual_page")]
    limit: Integral,
    /// Number of the Tx block whose state the page has; null for the latest. The node keeps the states of the latest 50
    /// Tx blocks, or of as many as `--proof-window` sets.
    #[serde(default)]
    block: Option<Text<BlockNumber>>,
}

/// Returns the default number of entries of a page.
const fn usual_page() -> Integral {
    Integral(100)
}

/// Maximum number of entries of a page. The number bounds the work of one call.
const LARGEST_PAGE: u32 = 1000;

/// Returns the requested number of entries. Rejects 0 and numbers above [`LARGEST_PAGE`].
fn page_limit(Integral(limit): Integral) -> Result<usize, CallError> {
    let fits = (1..=LARGEST_PAGE).contains(&limit);
    let wrong = || CallError::parameter("limit", &format!("expected a number from 1 to {LARGEST_PAGE}, got {limit}"));
    usize::try_from(limit).ok().filter(|_| fits).ok_or_else(wrong)
}

impl Method for GetSmartContractStatePage {
    const NAME: &'static str = "silica_getSmartContractStatePage";
    type Output = StatePageJson;

    fn call(self, at: &Context) -> Result<StatePageJson, CallError> {
        let contract = self.address.named("address")?;
        let limit = page_limit(self.limit)?;
        let block = self.block.map(Text::get).transpose().map_err(|error| CallError::parameter("block", &error))?;
        let key = |cursor: &str| cursor.parse().map(|KeyCursor(key)| key).map_err(|_| wrong_cursor(cursor));
        let after = self.cursor.as_deref().map(key).transpose()?;
        let field = self.field.filter(|field| !field.is_empty());
        let request = StatePageRequest { contract, field, after, limit, block };
        let page = at.snapshot.state_page(&request).map_err(|error| match error {
            StatePageError::Cursor => wrong_cursor(self.cursor.as_deref().unwrap_or_default()),
            StatePageError::UnknownField => unknown_field(request.field.as_deref().unwrap_or_default()),
            StatePageError::NotAContract => NOT_A_CONTRACT.into(),
            StatePageError::Past(error @ PastStateError::Outside { .. }) => CallError::parameter("block", &error),
            StatePageError::Past(PastStateError::History(error)) => CallError::internal(error),
            StatePageError::Past(error) => CallError::internal(error),
            StatePageError::State(error) => error.into(),
            StatePageError::UnknownAccount => ADDRESS_UNKNOWN.into(),
            error => CallError::internal(error),
        })?;
        let StatePage { block, entries, next } = page;
        let entry = |StateEntry { name, indices, value }| StateEntryJson { indices, value, variable: name };
        Ok(StatePageJson {
            block: block.into(),
            entries: entries.into_iter().map(entry).collect(),
            next: next.map(|next| KeyCursor(next).to_string()),
        })
    }
}

fn wrong_cursor(got: &str) -> CallError {
    CallError::parameter("cursor", &format!("{}, got {:?}", StatePageError::Cursor, beginning(got)))
}

fn unknown_field(got: &str) -> CallError {
    CallError::parameter("field", &format!("expected the name of a field of the contract, got {:?}", beginning(got)))
}

/// The address of the contract that a transaction deploys. The address exists for a failed deployment too.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetContractAddressFromTransactionID {
    /// Hash of the deployment.
    hash: Text<DeploymentHash>,
}

/// The errors of `GetContractAddressFromTransactionID` for a text that is not a hash.
const DEPLOYMENT_HASH: HashErrors = HashErrors {
    digit: RpcError::from_static(RpcErrorCode::MISC_ERROR, "Unable To Process"),
    size: RpcError::from_static(RpcErrorCode::INVALID_PARAMETER, "Address size not appropriate"),
};

/// The error for a transaction that is in no block.
const DEPLOYMENT_UNKNOWN: RpcError =
    RpcError::from_static(RpcErrorCode::INVALID_ADDRESS_OR_KEY, "Txn Hash not Present");

/// The error for a transaction that is not a deployment.
const NO_DEPLOYMENT: RpcError = RpcError::from_static(RpcErrorCode::INVALID_ADDRESS_OR_KEY, "ID is not a contract txn");

impl Method for GetContractAddressFromTransactionID {
    const NAME: &'static str = "GetContractAddressFromTransactionID";
    type Output = Hex<Address>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        let DeploymentHash(hash) = self.hash.get().map_err(|fault| DEPLOYMENT_HASH.of(fault))?;
        let stored = at.snapshot.transaction(&hash)?.ok_or(DEPLOYMENT_UNKNOWN)?;
        let contract = stored.transaction.contract_address().ok_or(NO_DEPLOYMENT)?;
        Ok(contract.into())
    }
}

/// The hash of a deployment. A wrong length takes precedence over a wrong character, unlike in most methods.
#[derive(Clone, Copy, Debug)]
struct DeploymentHash(TxHash);

impl FromParam for DeploymentHash {
    type Fault = HashFault;
    const NAME: &'static str = "DeploymentHash";
    const DESCRIPTION: &'static str =
        "Hash of a deployment, 64 hexadecimal digits in any letter case, with or without 0x.";
    const EXAMPLE: &'static str = "AAF3089596288D1C1D3E6E7CD7E5C9B0D4E4A6DC4C5A9F4B1B8B7E9C1D2E3F40";

    fn from_param(text: &str) -> Result<Self, HashFault> {
        text.parse().map(Self).map_err(|error| match error {
            HexError::Length { .. } => HashFault::Size,
            HexError::Digit { .. } => HashFault::Digit,
        })
    }
}

/// Returns the account of a contract or library. Rejects every other address.
fn contract_account(at: &Context, address: &Address) -> Result<Account, CallError> {
    let account = at.snapshot.account(address)?.ok_or(ADDRESS_UNKNOWN)?;
    if account.contract.is_some() { Ok(account) } else { Err(NOT_A_CONTRACT.into()) }
}

/// Returns the code and the init data of a contract or library.
fn contract(at: &Context, address: &Address) -> Result<DeployedContract, CallError> {
    contract_account(at, address)?;
    Ok(at.snapshot.contract(address)?.ok_or(NOT_A_CONTRACT)?)
}

/// Proof of a variable of a contract in the state after a Tx block.
///
/// The node serves proofs for the latest 50 Tx blocks, or for as many as `--proof-window` sets.
#[derive(Debug, Deserialize, JsonSchema)]
struct GetStateProof {
    /// Address of the contract.
    address: Text<Address>,
    /// Hash of the storage key of the variable.
    variable: Text<VariableHash>,
    /// Number of the Tx block, or `latest`.
    block: Text<BlockOrLatest>,
}

/// The errors of `GetStateProof` for a text that is not a hash.
const VARIABLE_HASH: HashErrors = HashErrors {
    digit: RpcError::from_static(RpcErrorCode::INVALID_ADDRESS_OR_KEY, "invalid key"),
    size: RpcError::from_static(RpcErrorCode::INVALID_PARAMETER, "Key size not appropriate"),
};

impl From<ProofError> for CallError {
    fn from(error: ProofError) -> Self {
        let code = match error {
            ProofError::NotMined { .. } | ProofError::Expired { .. } => RpcErrorCode::MISC_ERROR,
            ProofError::UnknownAccount | ProofError::NotAContract => RpcErrorCode::INVALID_ADDRESS_OR_KEY,
            ProofError::NoStorage => RpcErrorCode::DATABASE_ERROR,
            ProofError::History(error) => return Self::internal(error),
            ProofError::State(error) => return error.into(),
            error => return Self::internal(error),
        };
        Self::with_text_of(code, &error)
    }
}

impl Method for GetStateProof {
    const NAME: &'static str = "GetStateProof";
    type Output = StateProof;

    fn call(self, at: &Context) -> Result<StateProof, CallError> {
        let block = match self.block.get().map_err(|fault| fault.with_text("Invalid arugment"))? {
            BlockOrLatest::Number(number) => Some(number),
            BlockOrLatest::Latest => None,
        };
        let block = at.snapshot.proof_block(block)?;
        // The node checks both lengths before the content of either parameter (Reference: interface#get-a-state-proof).
        let (address, variable) = match (self.address.get(), self.variable.get()) {
            (Ok(address), Ok(variable)) => (address, variable),
            (Err(fault @ AddressError::Hex(HexError::Length { .. })), _) => return Err(fault.into()),
            (_, Err(HashFault::Size)) => return Err(VARIABLE_HASH.of(HashFault::Size)),
            (Err(fault), _) => return Err(fault.into()),
            (Ok(_), Err(fault @ HashFault::Digit)) => return Err(VARIABLE_HASH.of(fault)),
        };
        let proof = at.snapshot.state_proof(&address, &variable, Some(block))?;
        Ok(StateProof::new(proof.account, proof.state))
    }
}
