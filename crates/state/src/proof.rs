//! Verifies a result of `GetStateProof` against the state root in a trusted Tx block (Reference: formats#state-proof).

use silica_protocol::{Account, Address, DecodeError, StateRoot, StorageRoot, VariableHash};

use crate::trie::{ProofError, verify_whole_proof};

/// The facts that the nodes of a state proof prove about the state with the given root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenState {
    /// The account at the address, or `None` for proven absence.
    pub account: Option<Account>,
    /// The stored bytes of the variable, or `None` for proven absence.
    pub variable: Option<Vec<u8>>,
}

/// Reason why a result of `GetStateProof` proves nothing. The texts name the wrong member of the result.
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
    /// The second list has nodes, but the account has no storage.
    #[error("stateProof: expected no nodes, since the account has no storage, got {got}")]
    NoStorage {
        /// Number of nodes in the second list.
        got: usize,
    },
}

/// Verifies the two lists of a `GetStateProof` result against the `StateRootHash` of a Tx block. Returns the proved
/// account at `address` and the proved value of its `variable`, or their absence.
///
/// The lists may come from an untrusted node. The root must come from a trusted block. Both lists are sets of trie
/// nodes in any order. Each node must be on the path to its key, so a change of any byte makes the proof invalid. The
/// function hashes each node once.
///
/// # Errors
///
/// [`StateProofError`]: the lists prove nothing. The error names the wrong member of the result.
///
/// # Examples
///
/// A client that has the state root and the name of the variable `count` verifies the value of this variable:
///
/// ```
/// use silica_protocol::{Account, Address, CodeHash, ContractAccount, Nonce, Qa, StateRoot, StorageKey, StorageRoot};
/// use silica_state::{trie::MemoryTrie, verify_state_proof};
///
/// // The data of the node: the storage of one contract, and the accounts.
/// let contract = Address::new([0xc0; 20]);
/// let variable = StorageKey::entry(&contract, "count", &[""; 0]).variable_hash();
/// let mut storage = MemoryTrie::new();
/// storage.insert(variable.to_string().as_bytes(), b"\"42\"");
/// let code = ContractAccount { code_hash: CodeHash::new([1; 32]), storage_root: Some(StorageRoot::new(storage.root())) };
/// let account = Account { balance: Qa::new(5), nonce: Nonce::new(0), contract: Some(code) };
/// let mut accounts = MemoryTrie::new();
/// accounts.insert(contract.to_string().as_bytes(), &account.encode());
///
/// // The lists of the response, and the root in the header of the block.
/// let account_proof = accounts.proof(contract.to_string().as_bytes()).into_nodes();
/// let state_proof = storage.proof(variable.to_string().as_bytes()).into_nodes();
/// let root = StateRoot::new(accounts.root());
///
/// let proven = verify_state_proof(&root, &contract, &variable, &account_proof, &state_proof)?;
/// assert_eq!(proven.account, Some(account));
/// assert_eq!(proven.variable.as_deref(), Some(&b"\"42\""[..]));
/// assert!(verify_state_proof(&StateRoot::ZERO, &contract, &variable, &account_proof, &state_proof).is_err());
/// # Ok::<(), silica_state::StateProofError>(())
/// ```
pub fn verify_state_proof(
    root: &StateRoot,
    address: &Address,
    variable: &VariableHash,
    account_proof: &[impl AsRef<[u8]>],
    state_proof: &[impl AsRef<[u8]>],
) -> Result<ProvenState, StateProofError> {
    let account = verify_account_proof(root, address, account_proof)?;
    let storage = account.and_then(|account| account.contract).and_then(|contract| contract.storage_root);
    let variable = match storage {
        Some(root) => {
            verify_whole_proof(root.as_bytes(), variable.to_string().as_bytes(), state_proof).map_err(|error| {
                if begins_elsewhere(&error) {
                    StateProofError::OtherStorage { root }
                } else {
                    StateProofError::Variable(error)
                }
            })?
        }
        None if state_proof.is_empty() => None,
        None => return Err(StateProofError::NoStorage { got: state_proof.len() }),
    };
    Ok(ProvenState { account, variable })
}

/// Verifies the first list of a `GetStateProof` result. Returns the account at `address`, or `None` for proven absence.
///
/// # Errors
///
/// [`StateProofError`]: the list proves nothing.
pub fn verify_account_proof(
    root: &StateRoot,
    address: &Address,
    nodes: &[impl AsRef<[u8]>],
) -> Result<Option<Account>, StateProofError> {
    let value = verify_whole_proof(root.as_bytes(), address.to_string().as_bytes(), nodes).map_err(|error| {
        if begins_elsewhere(&error) {
            StateProofError::OtherState { root: *root }
        } else {
            StateProofError::Account(error)
        }
    })?;
    value.map(|bytes| Account::decode(&bytes)).transpose().map_err(StateProofError::NotAnAccount)
}

/// Returns whether no node of the list has the root hash.
fn begins_elsewhere(error: &ProofError) -> bool {
    matches!(error, ProofError::Missing { depth: 0, .. })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;
    use silica_protocol::{CodeHash, ContractAccount, Qa};

    use super::*;
    use crate::trie::MemoryTrie;

    /// The data of a client: the state root of a block, a request, and its result.
    #[derive(Clone, Debug)]
    struct Case {
        name: String,
        root: StateRoot,
        address: Address,
        variable: VariableHash,
        account_proof: Vec<Vec<u8>>,
        state_proof: Vec<Vec<u8>>,
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
                account_proof: nodes("accountProof"),
                state_proof: nodes("stateProof"),
            }
        }

        fn verify(&self) -> Result<ProvenState, StateProofError> {
            let Self { name: _, root, address, variable, account_proof, state_proof } = self;
            verify_state_proof(root, address, variable, account_proof, state_proof)
        }

        #[track_caller]
        fn check_refused(&self, what: &str) -> StateProofError {
            match self.verify() {
                Ok(proven) => panic!("{}: {what} is believed: {proven:?}", self.name),
                Err(error) => error,
            }
        }

        fn lists(&mut self) -> [&mut Vec<Vec<u8>>; 2] {
            [&mut self.account_proof, &mut self.state_proof]
        }
    }

    /// Returns the published and the generated test vectors, with the values that they prove.
    fn vectors() -> Vec<(Case, Value)> {
        let file: Value = serde_json::from_str(include_str!("../../../tests/data/vectors/stateproof.json")).unwrap();
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
            assert_eq!(proven.variable.map(hex::encode).as_deref(), json["value"].as_str(), "{}", case.name);
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
    fn nodes_are_neither_left_out_nor_added() {
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
        check(Case { account_proof: Vec::new(), ..case.clone() }, &["accountProof", "state root"]);
        check(Case { state_proof: Vec::new(), ..case.clone() }, &["stateProof", "storage root"]);
        check(Case { state_proof: case.account_proof.clone(), ..case.clone() }, &["stateProof", "storage root"]);
        check(Case { address: Address::new([0xee; 20]), ..case.clone() }, &["accountProof", "another key"]);
        check(Case { variable: VariableHash::new([0; 32]), ..case }, &["stateProof", "another key"]);
    }

    fn key(address: &Address) -> String {
        address.to_string()
    }

    #[test]
    fn absence_of_accounts_and_of_storage_is_proven() {
        let (payer, stranger, variable) = (Address::new([1; 20]), Address::new([2; 20]), VariableHash::new([3; 32]));
        let mut trie = MemoryTrie::new();
        let account = Account { balance: Qa::new(7), ..Account::default() };
        trie.insert(key(&payer).as_bytes(), &account.encode());
        let root = StateRoot::new(trie.root());
        let nodes = |address: &Address| trie.proof(key(address).as_bytes()).into_nodes();
        let verify = |address: &Address, storage: &[Vec<u8>]| {
            verify_state_proof(&root, address, &variable, &nodes(address), storage)
        };
        assert_eq!(verify(&payer, &[]), Ok(ProvenState { account: Some(account), variable: None }));
        assert_eq!(verify(&stranger, &[]), Ok(ProvenState { account: None, variable: None }));
        assert_eq!(verify(&stranger, &[vec![0x80]]), Err(StateProofError::NoStorage { got: 1 }));
        assert_eq!(verify_account_proof(&root, &payer, &nodes(&payer)), Ok(Some(account)));
    }

    #[test]
    fn a_leaf_that_is_no_account_is_refused() {
        let address = Address::new([1; 20]);
        let mut trie = MemoryTrie::new();
        trie.insert(key(&address).as_bytes(), b"rubbish that is long enough to be no embedded node");
        let nodes = trie.proof(key(&address).as_bytes()).into_nodes();
        let error = verify_account_proof(&StateRoot::new(trie.root()), &address, &nodes).unwrap_err();
        assert!(matches!(error, StateProofError::NotAnAccount(_)), "{error}");
    }

    /// Generates the proof of a variable of one of several contracts, and the value.
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
                    account_proof: accounts.proof(key(&address).as_bytes()).into_nodes(),
                    state_proof: storage.proof(variable.to_string().as_bytes()).into_nodes(),
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
            prop_assert_eq!(case.verify().unwrap().variable, value);
            let [account, state] = case.lists();
            let nodes = if list == 0 { account } else { state };
            let changed: &mut Vec<u8> = node.get_mut(nodes.as_mut_slice());
            *place.get_mut(changed.as_mut_slice()) ^= change;
            prop_assert!(case.verify().is_err());
        }
    }
}
