use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use silica_protocol::{
    Account, AccountDelta, Address, BalanceChange, BlockNumber, CodeHash, ContractAccount, DeployedContract, InitData,
    MapKey, Nonce, Qa, Receipt, ReceiptsHash, StateDelta, StorageKey, VariableHash, sha256, to_styled_json,
};

use crate::case::{Case, for_each_case};

#[test]
fn account_vectors_hold() {
    // A list of receipts refers to earlier receipts of the file by their names.
    let mut receipts = BTreeMap::new();
    for_each_case("accounts.json", |case| match &*case.text("kind") {
        "account_base" => account_base(case),
        "code_hash" => code_hash(case),
        "storage_entry" => storage_entry(case),
        "state_delta" => state_delta(case),
        "receipt" => {
            let (name, text) = receipt(case);
            receipts.insert(name, text);
        }
        "receipts_hash" => {
            case.skip("name");
            let texts: Vec<_> = case.parse_list::<String>("receipts").iter().map(|name| &receipts[name]).collect();
            assert_eq!(ReceiptsHash::of(&texts), case.parse("hash"));
        }
        kind => panic!("{}: unknown kind {kind}", case.label()),
    });
}

fn account_base(case: &mut Case) {
    case.skip("name");
    assert_eq!(case.number("version"), 1);
    let storage_root = case.maybe_parse("storage_root");
    let code_hash: Option<CodeHash> = case.maybe_parse("code_hash");
    let account = Account {
        balance: case.parse("balance"),
        nonce: Nonce::new(case.number("nonce")),
        contract: code_hash.map(|code_hash| ContractAccount { code_hash, storage_root }),
    };
    let encoded = case.bytes("encoded");
    assert_eq!(account.encode(), encoded);
    assert_eq!(Account::decode(&encoded), Ok(account));
}

fn code_hash(case: &mut Case) {
    case.skip("name");
    let code = case.text("code");
    let creation_block = BlockNumber::new(case.number("creation_block"));
    let contract: Address = case.parse("contract_address");
    let stored = InitData::parse(&case.text("txn_data")).unwrap().deployed(creation_block, &contract);
    let text = stored.to_styled_json();
    assert_eq!(text, case.text("stored_init_data"));
    assert_eq!(text.as_bytes(), case.bytes("stored_init_data_hex"));
    assert_eq!(CodeHash::of(&code, &text), case.parse("code_hash"));
    assert_eq!(InitData::parse(&text), Ok(stored));
    // The code hash that another contract reads.
    assert_eq!(case.bytes("scilla_codehash"), sha256(&[code.as_bytes()]));
}

fn storage_entry(case: &mut Case) {
    let name = case.text("name");
    let contract: Address = case.parse("contract");
    let (field, indices) = (case.text("vname"), case.parse_list::<String>("indices"));
    let key = key_of(&contract, &field, &indices.iter().map(String::as_str).collect::<Vec<_>>());
    let hash: VariableHash = case.parse("variable_hash");
    assert_eq!(key.as_str().as_bytes(), case.bytes("plain_key"), "{name}");
    assert_eq!(key.variable_hash(), hash, "{name}");
    // The key in the storage trie is the hexadecimal text of the hash.
    assert_eq!(hash.to_string().as_bytes(), case.bytes("trie_key"), "{name}");
    match &*field {
        "_addr" => assert_eq!(key, StorageKey::address(&contract)),
        "_version" => assert_eq!(key, StorageKey::version(&contract)),
        _ => {}
    }
    if case.has("value") {
        let value = case.bytes("value");
        assert_eq!(value == StorageKey::EMPTY_MAP, name.contains("empty"), "{name}");
    }
}

fn state_delta(case: &mut Case) {
    case.skip("name");
    let delta = StateDelta { accounts: case.objects("accounts", account_delta).into_iter().collect() };
    let encoded = case.bytes("encoded");
    assert_eq!(delta.encode(), encoded);
    assert_eq!(delta.hash(), case.parse("hash"));
    assert_eq!(StateDelta::decode(&encoded), Ok(delta));
}

fn account_delta(case: &mut Case) -> (Address, AccountDelta) {
    let change = case.text("balance_change");
    let balance = match change.strip_prefix('-') {
        Some(lost) => BalanceChange::between(lost.parse().unwrap(), Qa::ZERO),
        None => BalanceChange::between(Qa::ZERO, change.parse().unwrap()),
    };
    let code_hash: Option<CodeHash> = case.maybe_parse("code_hash");
    let (code, init_data) = (case.maybe_parse("code"), case.maybe_parse("init_data"));
    let deployed =
        code_hash.map(|code_hash| DeployedContract { code_hash, code: code.unwrap(), init_data: init_data.unwrap() });
    let address = case.parse("address");
    let written = case.objects("storage", |entry| (storage_key(&address, &entry.bytes("key")), entry.bytes("value")));
    let removed: BTreeSet<_> = case
        .parse_list::<String>("delete")
        .iter()
        .map(|key| storage_key(&address, &hex::decode(key).unwrap()))
        .collect();
    let nonce_increase = case.number("nonce_change");
    (address, AccountDelta { balance, nonce_increase, deployed, written: written.into_iter().collect(), removed })
}

/// Builds a key from the parts of its text, and checks that the text is equal.
fn storage_key(contract: &Address, plain: &[u8]) -> StorageKey {
    let text = std::str::from_utf8(plain).unwrap();
    let parts: Vec<_> = text.split_terminator(StorageKey::SEPARATOR).collect();
    assert_eq!(parts[0], contract.to_string());
    let key = key_of(contract, parts[1], &parts[2..]);
    assert_eq!(key.as_str(), text);
    key
}

/// Returns the key with these parts. The keys of maps have quotes.
fn key_of(contract: &Address, field: &str, indices: &[&str]) -> StorageKey {
    match (field, indices) {
        ("_depth", [field]) => StorageKey::depth(contract, field),
        ("_type", [field]) => StorageKey::type_of(contract, field),
        ("_addr" | "_version", []) => StorageKey::field(contract, field),
        _ => {
            assert!(!field.starts_with('_'), "{field}");
            StorageKey::map_entry(contract, field, indices.iter().map(|key| MapKey::from_json(*key).unwrap()))
        }
    }
}

fn receipt(case: &mut Case) -> (String, String) {
    let (json, text): (Value, _) = (case.value("receipt"), case.text("text"));
    assert_eq!(to_styled_json(&json), text);
    let receipt = Receipt::from_json(&json.to_string()).unwrap();
    assert_eq!(receipt.to_styled_json(), text);
    assert_eq!(text.as_bytes(), case.bytes("text_hex"));
    assert_eq!(Receipt::from_json(&text).as_ref(), Ok(&receipt));
    let encoded = case.bytes("encoded");
    assert_eq!(receipt.encode(), encoded);
    assert_eq!(Receipt::decode(&encoded), Ok(receipt));
    (case.text("name"), text)
}
