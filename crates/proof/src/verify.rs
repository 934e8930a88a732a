//! Verifies a result of `GetStateProof` against the state root in a trusted Tx block (Reference: formats#state-proof).

use alloc::{string::ToString, vec::Vec};
use core::fmt;

use serde_json::Value;
use silica_protocol::{Account, Address, DecodeError, StateRoot, StorageKey, StorageRoot, VariableHash, stored_value};

use crate::{
    response::StateProof,
    trie::{self, ProofError},
};

/// The facts that a state proof proves about one variable of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProvenEntry {
    /// The account of the contract, or `None` for its proven absence.
    pub account: Option<Account>,
    /// The value of the variable, or `None` for its proven absence.
    pub value: Option<StorageValue>,
}

/// The stored bytes of a variable of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageValue(Vec<u8>);

impl StorageValue {
    /// Returns the value as JSON, in the form of Scilla. An empty map is an object without members. A value that is not
    /// JSON is a string: the entries `_addr` and `_version` are not JSON.
    pub fn to_json(&self) -> Value {
        stored_value(&self.0)
    }

    /// Returns the stored bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the stored bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl fmt::Display for StorageValue {
    /// Writes the text of [`to_json`](StorageValue::to_json).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_json(), f)
    }
}

/// Reason why a result of `GetStateProof` proves nothing. The text names the wrong member of the result, or the wrong
/// key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateProofError {
    /// The first list has no node with the hash of the state root. The list is incomplete, or belongs to another block.
    #[error("accountProof: no node has the state root {root}; the proof is incomplete or belongs to another block")]
    OtherState {
        /// The given state root.
        root: StateRoot,
    },
    /// The first list does not lead to the account.
    #[error("accountProof: {0}")]
    Account(#[source] ProofError),
    /// The bytes at the end of the first list are not an account.
    #[error("accountProof: the value of the last node is not an account: {0}")]
    NotAnAccount(#[source] DecodeError),
    /// The second list does not begin at the storage root of the account that the first list proves.
    #[error(
        "stateProof: no node has the account's storage root {root}; the proof is incomplete or belongs to another state"
    )]
    OtherStorage {
        /// The storage root of the account.
        root: StorageRoot,
    },
    /// The second list does not lead to the variable.
    #[error("stateProof: {0}")]
    Variable(#[source] ProofError),
    /// The key does not begin with the address of a contract.
    #[error("key: expected the address of a contract at its beginning, got {key}")]
    NoContract {
        /// The given key.
        key: StorageKey,
    },
    /// The second list has nodes, but the account has no storage.
    #[error("stateProof: expected no nodes, since the account has no storage, got {got}")]
    NoStorage {
        /// Number of nodes in the second list.
        got: usize,
    },
}

impl StateProof {
    /// Verifies both lists against the `StateRootHash` of a Tx block. Returns the proven account of the contract and
    /// the proven value of the variable, or their absence.
    ///
    /// The proof may come from an untrusted node. The root must come from a trusted block. Each node must be on the
    /// path to its key, so a change of any byte makes the proof invalid. The function hashes each node once.
    ///
    /// The result holds for exactly this key. The absence of a value under another spelling of a map key does not prove
    /// the absence of the entry. Therefore [`MapKey`](silica_protocol::MapKey) writes map keys in the form of the
    /// chain.
    ///
    /// # Errors
    ///
    /// [`StateProofError`]: the lists prove nothing, or the key has no contract. The error names the wrong list or the
    /// key.
    ///
    /// # Examples
    ///
    /// ```
    /// use silica_proof::{
    ///     MemoryTrie, StateProof,
    ///     protocol::{Account, Address, CodeHash, ContractAccount, StateRoot, StorageKey, StorageRoot},
    /// };
    ///
    /// // The data of the node: the storage of one contract, and the accounts.
    /// let contract = Address::new([0xc0; 20]);
    /// let count = StorageKey::field(&contract, "count");
    /// let variable = count.variable_hash();
    /// let mut storage = MemoryTrie::new();
    /// storage.insert(variable.to_string().as_bytes(), b"\"42\"");
    /// let storage_root = Some(StorageRoot::new(storage.root()));
    /// let code = ContractAccount { code_hash: CodeHash::new([1; 32]), storage_root };
    /// let account = Account { contract: Some(code), ..Account::default() };
    /// let mut accounts = MemoryTrie::new();
    /// accounts.insert(contract.to_string().as_bytes(), &account.encode());
    ///
    /// // The lists of the response, and the root in the header of the block.
    /// let proof = StateProof {
    ///     account: accounts.proof(contract.to_string().as_bytes()).into_nodes(),
    ///     state: storage.proof(variable.to_string().as_bytes()).into_nodes(),
    /// };
    /// let root = StateRoot::new(accounts.root());
    ///
    /// let proven = proof.verify(&root, &count)?;
    /// assert_eq!(proven.account, Some(account));
    /// let value = proven.value.expect("the key is in the storage");
    /// assert_eq!((value.to_json(), value.to_string()), ("42".into(), "\"42\"".to_owned()));
    /// assert!(proof.verify(&StateRoot::ZERO, &count).is_err());
    /// # Ok::<(), silica_proof::StateProofError>(())
    /// ```
    pub fn verify(&self, root: &StateRoot, key: &StorageKey) -> Result<ProvenEntry, StateProofError> {
        let contract = key.contract().ok_or_else(|| StateProofError::NoContract { key: key.clone() })?;
        self.verify_hash(root, &contract, &key.variable_hash())
    }

    /// Verifies both lists like [`StateProof::verify`], for a variable of which the caller knows only the hash.
    ///
    /// # Errors
    ///
    /// [`StateProofError`]: the lists prove nothing.
    pub fn verify_hash(
        &self,
        root: &StateRoot,
        contract: &Address,
        variable: &VariableHash,
    ) -> Result<ProvenEntry, StateProofError> {
        let account = self.verify_account(root, contract)?;
        let storage = account.and_then(|account| account.contract).and_then(|contract| contract.storage_root);
        let value = match storage {
            Some(root) => {
                trie::verify(root.as_bytes(), variable.to_string().as_bytes(), &self.state).map_err(|error| {
                    if begins_elsewhere(&error) {
                        StateProofError::OtherStorage { root }
                    } else {
                        StateProofError::Variable(error)
                    }
                })?
            }
            None if self.state.is_empty() => None,
            None => return Err(StateProofError::NoStorage { got: self.state.len() }),
        };
        Ok(ProvenEntry { account, value: value.map(StorageValue) })
    }

    /// Verifies the list `account` against the `StateRootHash` of a Tx block. Returns the account at `address`, or
    /// `None` for its proven absence. Does not read the list `state`.
    ///
    /// # Errors
    ///
    /// [`StateProofError`]: the list proves nothing.
    pub fn verify_account(&self, root: &StateRoot, address: &Address) -> Result<Option<Account>, StateProofError> {
        let value = trie::verify(root.as_bytes(), address.to_string().as_bytes(), &self.account).map_err(|error| {
            if begins_elsewhere(&error) {
                StateProofError::OtherState { root: *root }
            } else {
                StateProofError::Account(error)
            }
        })?;
        value.map(|bytes| Account::decode(&bytes)).transpose().map_err(StateProofError::NotAnAccount)
    }
}

/// Returns whether no node of the list has the root hash.
fn begins_elsewhere(error: &ProofError) -> bool {
    matches!(error, ProofError::Missing { depth: 0, .. })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;
    use silica_protocol::{CodeHash, ContractAccount, MapKey, Qa};

    use super::*;
    use crate::trie::MemoryTrie;

    /// The data of a client: the state root of a block, a request, and its result.
    #[derive(Clone, Debug)]
    struct Case {
        name: String,
        root: StateRoot,
        address: Address,
        variable: VariableHash,
        proof: StateProof,
    }

    impl Case {
        fn of(json: &Value) -> Self {
            let text = |member: &str| json[member].as_str().unwrap();
            let nodes = |member: &str| -> Vec<Vec<u8>> {
                json[member]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|node| hex::decode(node.as_str().unwrap()).unwrap())
                    .collect()
            };
            Self {
                name: text("name").to_owned(),
                root: text("state_root").parse().unwrap(),
                address: text("address").parse().unwrap(),
                variable: text("variable_hash").parse().unwrap(),
                proof: StateProof { account: nodes("accountProof"), state: nodes("stateProof") },
            }
        }

        fn verify(&self) -> Result<ProvenEntry, StateProofError> {
            self.proof.verify_hash(&self.root, &self.address, &self.variable)
        }

        #[track_caller]
        fn check_refused(&self, what: &str) -> StateProofError {
            match self.verify() {
                Ok(proven) => panic!("{}: {what} is believed: {proven:?}", self.name),
                Err(error) => error,
            }
        }

        fn lists(&mut self) -> [&mut Vec<Vec<u8>>; 2] {
            [&mut self.proof.account, &mut self.proof.state]
        }
    }

    /// Returns the published and the generated test vectors, with the values that they prove.
    fn vectors() -> Vec<(Case, Value)> {
        let file: Value = serde_json::from_str(include_str!("../tests/data/vectors/stateproof.json")).unwrap();
        file["cases"].as_array().unwrap().iter().map(|json| (Case::of(json), json.clone())).collect()
    }

    fn valid() -> impl Iterator<Item = Case> {
        vectors().into_iter().filter(|(_, json)| json["valid"] == true).map(|(case, _)| case)
    }

    #[test]
    fn vectors_prove_what_they_say_or_nothing() {
        let vectors = vectors();
        assert!(vectors.iter().filter(|(case, _)| case.name.starts_with("published")).count() >= 2);
        for (case, json) in vectors {
            if json["valid"] != true {
                case.check_refused(json["reason"].as_str().unwrap());
                continue;
            }
            let proven = case.verify().unwrap_or_else(|error| panic!("{}: {error}", case.name));
            let account = proven.account.unwrap();
            assert_eq!(hex::encode(account.encode()), json["account"].as_str().unwrap());
            let storage_root = account.contract.unwrap().storage_root.unwrap();
            assert_eq!(storage_root.to_string(), json["storage_root"].as_str().unwrap());
            assert_eq!(
                proven.value.map(|value| hex::encode(value.as_bytes())).as_deref(),
                json["value"].as_str(),
                "{}",
                case.name
            );
        }
    }

    #[test]
    fn a_change_of_any_byte_is_refused() {
        for case in valid() {
            for list in 0..2 {
                for node in 0..case.clone().lists()[list].len() {
                    for place in 0..case.clone().lists()[list][node].len() {
                        let mut changed = case.clone();
                        changed.lists()[list][node][place] ^= 1 << (place % 8);
                        changed.check_refused("a changed byte");
                    }
                }
            }
        }
    }

    #[test]
    fn proof_with_a_missing_or_additional_node_is_rejected() {
        for case in valid() {
            for list in 0..2 {
                for node in 0..case.clone().lists()[list].len() {
                    let mut changed = case.clone();
                    let taken = changed.lists()[list].remove(node);
                    changed.check_refused("a missing node");
                    changed.lists()[list].extend([taken.clone(), taken]);
                    let error = changed.check_refused("a node given twice");
                    assert!(error.to_string().contains("occurs twice"), "{error}");
                }
                let mut changed = case.clone();
                let other = changed.lists()[1 - list][0].clone();
                changed.lists()[list].push(other);
                let error = changed.check_refused("a node of the other list");
                assert!(error.to_string().contains(["accountProof", "stateProof"][list]), "{error}");
            }
        }
    }

    #[test]
    fn order_means_nothing() {
        for case in valid() {
            let mut turned = case.clone();
            turned.lists().into_iter().for_each(|list| list.reverse());
            assert_eq!(turned.verify(), case.verify());
        }
    }

    #[test]
    fn errors_name_the_member_and_the_reason() {
        let case = valid().next().unwrap();
        let check = |case: Case, words: &[&str]| {
            let error = case.check_refused("a wrong answer").to_string();
            for word in words {
                assert!(error.contains(word), "{word} is missing in {error}");
            }
        };
        check(Case { root: StateRoot::ZERO, ..case.clone() }, &["accountProof", "state root", "another block"]);
        let proof = |account: &[Vec<u8>], state: &[Vec<u8>]| Case {
            proof: StateProof { account: account.to_vec(), state: state.to_vec() },
            ..case.clone()
        };
        let StateProof { account, state } = &case.proof;
        check(proof(&[], state), &["accountProof", "state root"]);
        check(proof(account, &[]), &["stateProof", "storage root"]);
        check(proof(account, account), &["stateProof", "storage root"]);
        check(Case { address: Address::new([0xee; 20]), ..case.clone() }, &["accountProof", "another key"]);
        check(Case { variable: VariableHash::new([0; 32]), ..case.clone() }, &["stateProof", "another key"]);
    }

    fn key(address: &Address) -> String {
        address.to_string()
    }

    #[test]
    fn absence_of_accounts_and_of_storage_is_proven() {
        let (payer, stranger, variable) = (Address::new([1; 20]), Address::new([2; 20]), VariableHash::new([3; 32]));
        let mut trie = MemoryTrie::new();
        let account = Account::with_balance(Qa::new(7));
        trie.insert(key(&payer).as_bytes(), &account.encode());
        let root = StateRoot::new(trie.root());
        let nodes = |address: &Address| trie.proof(key(address).as_bytes()).into_nodes();
        let proof =
            |address: &Address, storage: &[Vec<u8>]| StateProof { account: nodes(address), state: storage.to_vec() };
        let verify =
            |address: &Address, storage: &[Vec<u8>]| proof(address, storage).verify_hash(&root, address, &variable);
        assert_eq!(verify(&payer, &[]), Ok(ProvenEntry { account: Some(account), value: None }));
        assert_eq!(verify(&stranger, &[]), Ok(ProvenEntry { account: None, value: None }));
        assert_eq!(verify(&stranger, &[vec![0x80]]), Err(StateProofError::NoStorage { got: 1 }));
        assert_eq!(proof(&payer, &[]).verify_account(&root, &payer), Ok(Some(account)));
    }

    #[test]
    fn entries_are_proven_by_their_keys() {
        let contract = Address::new([0xc0; 20]);
        let entry = |number| StorageKey::map_entry(&contract, "balances", [MapKey::uint(number)]);
        let mut storage = MemoryTrie::new();
        storage.insert(entry(1).variable_hash().to_string().as_bytes(), b"\"7\"");
        let storage_root = Some(StorageRoot::new(storage.root()));
        let code = ContractAccount { code_hash: CodeHash::new([1; 32]), storage_root };
        let mut accounts = MemoryTrie::new();
        let account = Account { contract: Some(code), ..Account::default() };
        accounts.insert(key(&contract).as_bytes(), &account.encode());
        let root = StateRoot::new(accounts.root());
        let proof = |of: &StorageKey| StateProof {
            account: accounts.proof(key(&contract).as_bytes()).into_nodes(),
            state: storage.proof(of.variable_hash().to_string().as_bytes()).into_nodes(),
        };
        let value = |key: &StorageKey| proof(key).verify(&root, key).unwrap().value.map(|value| value.to_json());
        assert_eq!(value(&entry(1)), Some("7".into()));
        assert_eq!(value(&entry(2)), None);
        // The address of the key decides which account is proven.
        let other = StorageKey::map_entry(&Address::new([0xc1; 20]), "balances", [MapKey::uint(1)]);
        assert!(proof(&entry(1)).verify(&root, &other).is_err());
        let text = StorageKey::from_text("balances".to_owned());
        let error = proof(&text).verify(&root, &text).unwrap_err();
        assert_eq!(error, StateProofError::NoContract { key: text });
        assert!(error.to_string().ends_with("got balances"), "{error}");
    }

    #[test]
    fn a_leaf_that_is_no_account_is_refused() {
        let address = Address::new([1; 20]);
        let mut trie = MemoryTrie::new();
        trie.insert(key(&address).as_bytes(), b"rubbish that is long enough to be no embedded node");
        let nodes = trie.proof(key(&address).as_bytes()).into_nodes();
        let proof = StateProof { account: nodes, state: Vec::new() };
        let error = proof.verify_account(&StateRoot::new(trie.root()), &address).unwrap_err();
        assert!(matches!(error, StateProofError::NotAnAccount(_)), "{error}");
    }

    /// Generates a state proof for one of several contracts, and the proved value.
    fn any_case() -> impl Strategy<Value = (Case, Option<Vec<u8>>)> {
        let value = proptest::collection::vec(any::<u8>(), 1..60);
        let entries = proptest::collection::btree_map(any::<[u8; 32]>(), value, 1..40);
        (
            entries,
            proptest::collection::btree_set(any::<[u8; 20]>(), 1..40),
            any::<prop::sample::Index>(),
            any::<[u8; 32]>(),
        )
            .prop_map(|(entries, addresses, index, absent)| {
                let mut storage = MemoryTrie::new();
                for (hash, value) in &entries {
                    storage.insert(VariableHash::new(*hash).to_string().as_bytes(), value);
                }
                let root = StorageRoot::new(storage.root());
                let contract = ContractAccount { code_hash: CodeHash::new([1; 32]), storage_root: Some(root) };
                let mut accounts = MemoryTrie::new();
                for address in &addresses {
                    let account = Account { contract: Some(contract), ..Account::default() };
                    accounts.insert(Address::new(*address).to_string().as_bytes(), &account.encode());
                }
                let address = Address::new(*index.get(&addresses.into_iter().collect::<Vec<_>>()));
                let known: Vec<[u8; 32]> = entries.keys().copied().chain([absent]).collect();
                let variable = VariableHash::new(*index.get(&known));
                let case = Case {
                    name: "generated".to_owned(),
                    root: StateRoot::new(accounts.root()),
                    address,
                    variable,
                    proof: StateProof {
                        account: accounts.proof(key(&address).as_bytes()).into_nodes(),
                        state: storage.proof(variable.to_string().as_bytes()).into_nodes(),
                    },
                };
                (case, entries.get(variable.as_bytes()).cloned())
            })
    }

    proptest! {
        #[test]
        fn proofs_hold_and_no_byte_can_be_changed(
            (mut case, value) in any_case(),
            list in 0_usize..2,
            (node, place) in any::<(prop::sample::Index, prop::sample::Index)>(),
            change in 1..=u8::MAX,
        ) {
            prop_assert_eq!(case.verify().unwrap().value.map(StorageValue::into_bytes), value);
            let [account, state] = case.lists();
            let nodes = if list == 0 { account } else { state };
            let changed: &mut Vec<u8> = node.get_mut(nodes.as_mut_slice());
            *place.get_mut(changed.as_mut_slice()) ^= change;
            prop_assert!(case.verify().is_err());
        }
    }
}
