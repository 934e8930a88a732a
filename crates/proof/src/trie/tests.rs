//! Tests with the published vectors, an independent implementation, and hostile proofs.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use eth_trie::{EthTrie, MemoryDB, Trie};
use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::Value;

use super::*;

type Leaves = BTreeMap<Vec<u8>, Vec<u8>>;

fn vectors(file: &str) -> Vec<Value> {
    let path = format!("{}/tests/data/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    file["cases"].as_array().unwrap().clone()
}

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap()).unwrap()
}

fn hash(value: &Value) -> [u8; 32] {
    bytes(value).try_into().unwrap()
}

fn nodes(value: &Value) -> Vec<Vec<u8>> {
    value.as_array().unwrap().iter().map(bytes).collect()
}

fn build(leaves: &Leaves) -> Subtree {
    let mut builder = Builder::new();
    for (key, value) in leaves {
        builder.push(Nibbles::of_key(key).as_slice(), value.as_slice()).unwrap();
    }
    builder.finish()
}

fn build_proof(leaves: &Leaves, key: &[u8]) -> Vec<Vec<u8>> {
    let mut proof = Proof::new();
    let mut builder = Builder::proving(Nibbles::of_key(key), &mut proof);
    for (key, value) in leaves {
        builder.push(Nibbles::of_key(key).as_slice(), value.as_slice()).unwrap();
    }
    builder.finish().prove_top(&mut proof);
    proof.into_nodes()
}

#[test]
fn published_tries_have_their_roots_and_proofs() {
    let mut proofs = 0;
    for case in vectors("trie.json") {
        let name = case["name"].as_str().unwrap();
        let (mut trie, mut leaves) = (MemoryTrie::new(), Leaves::new());
        for op in case["ops"].as_array().unwrap() {
            let key = bytes(&op["key"]);
            if op["value"].is_null() {
                assert_eq!(trie.remove(&key), leaves.remove(&key), "{name}");
            } else {
                let value = bytes(&op["value"]);
                assert_eq!(trie.insert(&key, &value), leaves.insert(key, value), "{name}");
            }
        }
        let root = hash(&case["root"]);
        assert_eq!(trie.root(), root, "{name}");
        assert_eq!(build(&leaves).root(), root, "{name}");
        for proof in case["proofs"].as_array().unwrap_or(&Vec::new()) {
            let (key, expected) = (bytes(&proof["key"]), nodes(&proof["as_returned"]));
            assert_eq!(trie.proof(&key).into_nodes(), expected, "{name}");
            assert_eq!(build_proof(&leaves, &key), expected, "{name}");
            let value = (!proof["value"].is_null()).then(|| bytes(&proof["value"]));
            assert_eq!(verify_ignoring_extra(&root, &key, &expected), Ok(value.clone()), "{name}");
            assert_eq!(
                verify_ignoring_extra(&root, &key, &nodes(&proof["path_nodes_root_first"])),
                Ok(value),
                "{name}"
            );
            proofs += 1;
        }
    }
    assert_eq!(proofs, 25);
}

#[test]
fn published_state_proofs_verify() {
    let mut verified = 0;
    for case in vectors("stateproof.json") {
        let name = case["name"].as_str().unwrap();
        let (address, variable) = (case["address"].as_str().unwrap(), case["variable_hash"].as_str().unwrap());
        let account =
            verify_ignoring_extra(&hash(&case["state_root"]), address.as_bytes(), &nodes(&case["accountProof"]));
        let state = nodes(&case["stateProof"]);
        let value = |root: &[u8; 32]| verify_ignoring_extra(root, variable.as_bytes(), &state);
        if case["valid"] == true {
            assert_eq!(account, Ok(Some(bytes(&case["account"]))), "{name}");
            let expected = (!case["value"].is_null()).then(|| bytes(&case["value"]));
            assert_eq!(value(&hash(&case["storage_root"])), Ok(expected), "{name}");
            verified += 1;
        } else {
            let reached = account.clone().ok().flatten().map(|account| {
                let root = account.last_chunk::<32>().copied().unwrap();
                value(&root)
            });
            match name {
                "invalid-node-changed" => {
                    assert!(matches!(reached, Some(Err(ProofError::Missing { .. }))), "{name}: {reached:?}");
                }
                _ => assert!(matches!(account, Err(ProofError::Missing { .. })), "{name}: {account:?}"),
            }
        }
    }
    assert_eq!(verified, 9);
}

/// Generates keys with common prefixes: text of addresses and variable hashes, and short strings.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let digits = |count: usize| {
        (vec(prop_oneof![Just(0x11_u8), Just(0x1a), Just(0xa1), any::<u8>()], 3), any::<[u8; 2]>(), 0..3_usize)
            .prop_map(move |(head, tail, varied)| {
                let mut key = vec![0x1b; count];
                key[..varied].copy_from_slice(&head[..varied]);
                key[count - 2..].copy_from_slice(&tail);
                hex::encode(key).into_bytes()
            })
    };
    prop_oneof![digits(20), digits(32), vec(prop_oneof![Just(0x33_u8), Just(0x30), Just(0x03)], 0..5)]
}

/// Generates values that are short enough for embedded nodes, and longer ones. Short values have no bytes above 0x7f,
/// because `eth_trie` returns such a value of one byte with its RLP header.
fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(0..0x80_u8, 1..4), vec(any::<u8>(), 20..60), vec(any::<u8>(), 300)]
}

fn reference(leaves: &Leaves) -> EthTrie<MemoryDB> {
    let mut trie = EthTrie::new(Arc::new(MemoryDB::new(true)));
    for (key, value) in leaves {
        trie.insert(key, value).unwrap();
    }
    trie.root_hash().unwrap();
    trie
}

fn root_of(trie: &mut EthTrie<MemoryDB>) -> [u8; 32] {
    trie.root_hash().unwrap().0
}

/// Generates leaves whose keys are digits: the text of 20 or 32 bytes.
fn digit_leaves(count: usize) -> impl Strategy<Value = BTreeMap<Vec<u8>, Vec<u8>>> {
    let byte = prop_oneof![4 => 0x10..0x1d_u8, 1 => Just(0xa5_u8), 1 => any::<u8>()];
    prop::collection::btree_map(
        (vec(byte, 3), any::<u8>()).prop_map(move |(head, tail)| {
            let mut key = vec![0xc7; count];
            key[..3].copy_from_slice(&head);
            key[count - 1] = tail;
            key
        }),
        value(),
        0..60,
    )
}

/// Returns the subtree below `depth` digits, computed like in the versioned trie. A builder computes a subtree of at
/// most `bucket` leaves. A larger subtree is a combination of the subtrees of the next digit.
fn by_digits(leaves: &[(&[u8], &[u8])], depth: usize, bucket: usize, key: &[u8], proof: Option<&mut Proof>) -> Subtree {
    let path = |key: &[u8]| Nibbles::copied(&Nibbles::of_hex_digits(key).as_slice()[2 * depth..]);
    if leaves.len() <= bucket {
        let mut builder = match proof {
            Some(proof) => Builder::proving(path(key), proof),
            None => Builder::new(),
        };
        for (key, value) in leaves {
            builder.push(path(key).as_slice(), *value).unwrap();
        }
        return builder.finish();
    }
    let digit = |key: &[u8]| if depth.is_multiple_of(2) { key[depth / 2] >> 4 } else { key[depth / 2] & 0xf };
    let part = |d: u8| leaves.iter().copied().filter(|(key, _)| digit(key) == d).collect::<Vec<_>>();
    let mut proof = proof;
    let children: [Subtree; 16] = std::array::from_fn(|d| {
        let d = u8::try_from(d).unwrap();
        let proof = if digit(key) == d { proof.as_deref_mut() } else { None };
        by_digits(&part(d), depth + 1, bucket, key, proof)
    });
    let [class, nibble] = digit_path(digit(key));
    let mut below = |of_class: u8| {
        let child = |nibble: u8| (0..16).find(|d| digit_path(*d) == [of_class, nibble]);
        let child =
            |nibble: usize| child(u8::try_from(nibble).unwrap()).map_or(&Subtree::Empty, |d| &children[usize::from(d)]);
        match proof.as_deref_mut() {
            Some(proof) if class == of_class => Subtree::combine_proving(std::array::from_fn(child), nibble, proof),
            _ => Subtree::combine(std::array::from_fn(child)),
        }
    };
    let classes = [below(3), below(6)];
    let child = |nibble| [3, 6].iter().position(|class| *class == nibble).map_or(&Subtree::Empty, |at| &classes[at]);
    match proof {
        Some(proof) => Subtree::combine_proving(std::array::from_fn(child), class, proof),
        None => Subtree::combine(std::array::from_fn(child)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn memory_trie_agrees_with_eth_trie(ops in vec((key(), prop::option::weighted(0.7, value())), 1..60), probe in key()) {
        let (mut ours, mut theirs) = (MemoryTrie::new(), EthTrie::new(Arc::new(MemoryDB::new(true))));
        let mut leaves = Leaves::new();
        for (key, value) in &ops {
            if let Some(value) = value {
                theirs.insert(key, value).unwrap();
                prop_assert_eq!(ours.insert(key, value), leaves.insert(key.clone(), value.clone()));
            } else {
                theirs.remove(key).unwrap();
                prop_assert_eq!(ours.remove(key), leaves.remove(key));
            }
            prop_assert_eq!(ours.root(), root_of(&mut reference(&leaves)));
        }
        // The root of `theirs` is computed only once, because between commits `eth_trie` deletes nodes that have
        // another parent.
        prop_assert_eq!(ours.root(), root_of(&mut theirs));
        prop_assert_eq!(build(&leaves).root(), ours.root());
        let mut rebuilt = MemoryTrie::new();
        for (key, value) in leaves.iter().rev() {
            rebuilt.insert(key, value);
        }
        prop_assert_eq!(&rebuilt, &ours, "the form does not depend on history");
        for key in ops.iter().map(|(key, _)| key).chain([&probe]) {
            let value = leaves.get(key);
            prop_assert_eq!(ours.get(key), value.map(Vec::as_slice));
            let proof = ours.proof(key).into_nodes();
            prop_assert_eq!(&proof, &build_proof(&leaves, key));
            prop_assert!(proof.is_sorted_by(|a, b| a < b), "ascending, each once");
            prop_assert_eq!(verify_ignoring_extra(&ours.root(), key, &proof), Ok(value.cloned()));
            let theirs_proof: BTreeSet<_> = reference(&leaves).get_proof(key).unwrap().into_iter().collect();
            // `eth_trie` does not list nodes that are embedded in their parents, and the reference does.
            let by_hash = |node: &&Vec<u8>| node.len() >= 32 || keccak256(&[node]) == ours.root();
            prop_assert_eq!(&theirs_proof, &proof.iter().filter(by_hash).cloned().collect());
            if !leaves.is_empty() {
                let verified = reference(&leaves).verify_proof(ours.root().into(), key, proof).unwrap();
                prop_assert_eq!(verified.as_ref(), value);
            }
        }
    }

    #[test]
    fn subtrees_of_digits_agree_with_eth_trie(
        leaves in prop_oneof![digit_leaves(20), digit_leaves(32)],
        bucket in prop_oneof![Just(1_usize), 2..40_usize],
        probe in any::<Index>(),
        flip in prop::option::of((0..20_usize, any::<u8>())),
    ) {
        let text: Leaves = leaves.iter().map(|(key, value)| (hex::encode(key).into_bytes(), value.clone())).collect();
        let sorted: Vec<(&[u8], &[u8])> = leaves.iter().map(|(k, v)| (k.as_slice(), v.as_slice())).collect();
        let mut key = if leaves.is_empty() { vec![0x10; 20] } else { sorted[probe.index(sorted.len())].0.to_vec() };
        if let Some((position, byte)) = flip {
            key[position] = byte;
        }
        let whole = by_digits(&sorted, 0, bucket, &key, None);
        prop_assert_eq!(&whole, &build(&text), "one summary for one set of leaves");
        prop_assert_eq!(whole.root(), root_of(&mut reference(&text)));
        let mut proof = Proof::new();
        let proved = by_digits(&sorted, 0, bucket, &key, Some(&mut proof));
        prop_assert_eq!(&proved, &whole);
        proved.prove_top(&mut proof);
        prop_assert_eq!(proof.into_nodes(), build_proof(&text, hex::encode(&key).as_bytes()));
    }

    /// A changed proof never shows a value that the trie does not have.
    #[test]
    fn tampered_proofs_never_lie(
        leaves in prop::collection::btree_map(key(), value(), 1..40),
        probe in any::<Index>(),
        absent in prop::option::of(key()),
        tampering in vec((0..6_u8, any::<Index>(), any::<Index>(), any::<u8>(), vec(any::<u8>(), 0..40)), 1..6),
    ) {
        let root = build(&leaves).root();
        let key = absent.unwrap_or_else(|| leaves.keys().nth(probe.index(leaves.len())).unwrap().clone());
        let mut proof = build_proof(&leaves, &key);
        for (what, node, position, byte, junk) in tampering {
            if proof.is_empty() {
                proof.push(junk);
                continue;
            }
            let at = node.index(proof.len());
            let len = proof[at].len();
            match what {
                0 if len > 0 => proof[at][position.index(len)] = byte,
                1 if len > 0 => proof[at].truncate(position.index(len)),
                2 => { proof.remove(at); }
                3 => proof.push(junk),
                4 => { let copy = proof[at].clone(); proof.push(copy); }
                _ => proof.reverse(),
            }
        }
        match verify_ignoring_extra(&root, &key, &proof) {
            Ok(value) => prop_assert_eq!(value.as_ref(), leaves.get(&key)),
            Err(ProofError::Missing { .. }) => {}
            Err(other) => prop_assert!(false, "the root commits to a trie: {}", other),
        }
    }

    /// A verifier with a root chosen by an attacker neither panics nor runs forever.
    #[test]
    fn hostile_roots_are_survived(
        root_node in prop_oneof![
            vec(any::<u8>(), 0..80),
            vec(prop_oneof![Just(0x80_u8), Just(0xc0), Just(0xd1), Just(0xc2), Just(0x11), Just(0x20)], 0..60)
                .prop_map(|items| {
                    let mut node = Vec::new();
                    rlp::write_list_header(items.len(), &mut node);
                    node.extend(items);
                    node
                }),
        ],
        key in key(),
    ) {
        let root = keccak256(&[&root_node]);
        if let Ok(Some(value)) = verify_ignoring_extra(&root, &key, std::slice::from_ref(&root_node)) {
            prop_assert!(value.len() <= root_node.len());
        }
    }
}

#[test]
fn a_long_chain_of_nodes_costs_one_step_each() {
    // Each node is a branch with one child, which no valid trie has. The path is as long as the key.
    let key = vec![0x77; 20_000];
    let mut rlp = Vec::new();
    node::write_leaf(&[], b"deep", &mut rlp);
    let mut proof = vec![rlp.clone()];
    for _ in 0..40_000 {
        let mut children = [None; 16];
        children[7] = Some(NodeRef::of(&rlp));
        node::write_branch(&children, None, &mut rlp);
        proof.push(rlp.clone());
    }
    let root = keccak256(&[&rlp]);
    assert_eq!(verify_ignoring_extra(&root, &key, &proof), Ok(Some(b"deep".to_vec())));
    assert_eq!(verify_ignoring_extra(&root, &key[..19_999], &proof), Ok(None));
}

#[test]
fn malformed_commitment_differs_from_a_missing_node() {
    let node = [0xc3, 1, 2, 3];
    let error = verify_ignoring_extra(&keccak256(&[&node]), b"k", &[node]);
    assert_eq!(error, Err(ProofError::Malformed { depth: 0, reason: NodeError::Items }));
    assert_eq!(
        verify_ignoring_extra(&[0xab; 32], b"k", &[node]).unwrap_err().to_string(),
        format!(
            "node {} is missing, 0 nibbles into the key: nodes were left out, or prove another key",
            "ab".repeat(32)
        )
    );
}

#[test]
fn keys_out_of_order_are_refused() {
    let mut builder = Builder::new();
    builder.push(&[1, 2], &b"a"[..]).unwrap();
    assert_eq!(builder.push(&[1, 2], &b"b"[..]), Err(NotAscending));
    assert_eq!(builder.push(&[1], &b"b"[..]), Err(NotAscending));
    builder.push(&[1, 3], &b"b"[..]).unwrap();
    let mut trie = MemoryTrie::new();
    trie.insert(&[0x12], b"a");
    trie.insert(&[0x13], b"b");
    assert_eq!(builder.finish().root(), trie.root());
}
