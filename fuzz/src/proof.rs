//! The proof verifier: it never panics, and it accepts no false proof.

use sha3::{Digest, Keccak256};
use silica_proof::trie::{MemoryTrie, verify, verify_ignoring_extra};

/// Verifies generated nodes, or a changed proof. The first byte selects between them.
pub fn check(data: &[u8]) {
    match data.split_first() {
        Some((mode, rest)) if mode % 2 == 0 => made_up(rest),
        Some((_, rest)) => tampered(rest),
        None => {}
    }
}

/// Bytes that end a node. The mark has two bytes, so that each byte alone can occur in a node.
const END: [u8; 2] = [0xfe, 0xff];
/// Bytes that represent a hash. The next byte is the number of the earlier node with this hash.
const HASH: [u8; 2] = [0xa0, 0xfe];

/// Verifies generated nodes. An attacker can choose the nodes below a root, so the verifier must accept any bytes.
fn made_up(data: &[u8]) {
    let Some((length, rest)) = data.split_first() else { return };
    let Some((key, mut rest)) = rest.split_at_checked(usize::from(*length) % 65) else { return };
    let mut nodes: Vec<Vec<u8>> = Vec::new();
    while !rest.is_empty() && nodes.len() < 32 {
        let end = rest.windows(2).position(|window| window == END).unwrap_or(rest.len());
        nodes.push(expand(&rest[..end], &nodes));
        rest = rest.get(end + 2..).unwrap_or_default();
    }
    let Some(root) = nodes.last().map(|node| keccak256(node)) else { return };
    let verdict = verify_ignoring_extra(&root, key, &nodes);
    nodes.reverse();
    nodes.extend_from_within(..1);
    assert_eq!(verify_ignoring_extra(&root, key, &nodes), verdict, "order and repetition mean nothing");
    if let Ok(whole) = verify(&root, key, &nodes) {
        assert_eq!(Ok(whole), verdict, "what is a whole proof proves the same");
    }
    if verdict.is_ok() {
        assert!(verify_ignoring_extra(&[7; 32], key, &nodes).is_err(), "another root proves nothing");
    }
}

/// Returns a node from a template, with hashes in place of the numbers of nodes.
fn expand(template: &[u8], nodes: &[Vec<u8>]) -> Vec<u8> {
    let mut node = Vec::new();
    let mut rest = template;
    while let Some((first, after)) = rest.split_first() {
        node.push(*first);
        rest = after;
        if let [0xfe, number, after @ ..] = rest
            && *first == HASH[0]
            && let Some(named) = nodes.get(usize::from(*number))
        {
            node.extend_from_slice(&keccak256(named));
            rest = after;
        }
    }
    node
}

/// Number of changes of a proof. A verification follows each change.
const TAMPERINGS: usize = 8;

/// Changes a valid proof of a key, and checks that the verifier returns the true value or an error.
fn tampered(data: &[u8]) {
    let mut input = Input(data);
    let mut trie = MemoryTrie::new();
    let mut entries: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for _ in 0..input.byte() % 24 {
        // The keys have one length and similar digits, like the hexadecimal addresses in a trie.
        let key: Vec<u8> = (0..4).map(|_| b"012345689abcdef"[usize::from(input.byte() % 15)]).collect();
        let length = usize::from(input.byte() % 48) + 1;
        let value: Vec<u8> = (0..length).map(|_| input.byte()).collect();
        trie.insert(&key, &value);
        entries.retain(|(known, _)| *known != key);
        entries.push((key, value));
    }
    let root = trie.root();
    let mut key: Vec<u8> = (0..4).map(|_| b"012345689abcdef"[usize::from(input.byte() % 15)]).collect();
    if let Some((known, _)) = entries.get(usize::from(input.byte())) {
        key.clone_from(known);
    }
    let truth = entries.iter().find(|(known, _)| *known == key).map(|(_, value)| value.clone());

    let true_nodes = trie.proof(&key).into_nodes();
    assert_eq!(verify_ignoring_extra(&root, &key, &true_nodes).as_ref(), Ok(&truth), "a true proof holds");
    assert_eq!(verify(&root, &key, &true_nodes).as_ref(), Ok(&truth), "a true proof is whole");
    let mut nodes = true_nodes.clone();
    let other = entries.get(usize::from(input.byte()) % entries.len().max(1));
    let others = other.map_or_else(Vec::new, |(other, _)| trie.proof(other).into_nodes());
    for _ in 0..TAMPERINGS {
        if input.0.is_empty() {
            break;
        }
        tamper(&mut nodes, &others, &mut input);
        if let Ok(proved) = verify_ignoring_extra(&root, &key, &nodes) {
            assert_eq!(proved, truth, "a false proof was believed");
        }
        if let Ok(proved) = verify(&root, &key, &nodes) {
            assert_eq!(proved, truth, "a false proof was believed");
            let changed = nodes.iter().find(|node| !true_nodes.contains(node));
            assert_eq!(changed, None, "a whole proof has no other nodes");
        }
    }
}

fn tamper(nodes: &mut Vec<Vec<u8>>, others: &[Vec<u8>], input: &mut Input<'_>) {
    let (what, at, with) = (input.byte(), usize::from(input.byte()), input.byte());
    let count = nodes.len().max(1);
    let Some(node) = nodes.get_mut(at % count) else {
        nodes.push(vec![with]);
        return;
    };
    let place = usize::from(input.byte()) % node.len().max(1);
    match what % 7 {
        0 => drop(nodes.remove(at % count)),
        1 => node.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= with),
        2 => node.truncate(place),
        3 => node.insert(place, with),
        4 => drop(node.splice(place.., [])),
        5 => nodes.extend(others.get(usize::from(with)).cloned()),
        _ => *node = others.get(usize::from(with)).cloned().unwrap_or_default(),
    }
}

/// Input bytes, with zeros after their end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }
}

fn keccak256(bytes: &[u8]) -> [u8; 32] {
    Keccak256::digest(bytes).into()
}

/// Returns inputs for both functions. Some inputs are the state proofs of the test vectors, with numbers in place of
/// hashes. Other inputs describe tries, and changes of their proofs.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = (1..=8u8)
        .map(|n| {
            let mixed = |i: u32| (i.wrapping_mul(2_654_435_761).wrapping_mul(u32::from(n)) >> 24) as u8;
            [vec![1, n * 3], (0..400).map(mixed).collect()].concat()
        })
        .collect();
    for case in crate::cases(include_str!("../../tests/data/vectors/stateproof.json")) {
        for (key, nodes) in [("address", "accountProof"), ("variable_hash", "stateProof")] {
            let nodes: Vec<Vec<u8>> = case[nodes]
                .as_array()
                .expect("a proof is an array")
                .iter()
                .map(|node| hex::decode(node.as_str().expect("a node is text")).expect("a node is hexadecimal"))
                .collect();
            seeds.push(template(case[key].as_str().expect("a key is text").as_bytes(), nodes));
        }
    }
    seeds
}

/// Returns a template of nodes. Children come before their parents, and a number replaces the hash of each node.
fn template(key: &[u8], mut nodes: Vec<Vec<u8>>) -> Vec<u8> {
    let names = |parent: &[u8], child: &[u8]| parent.windows(32).any(|window| window == keccak256(child));
    let mut ordered: Vec<Vec<u8>> = Vec::new();
    while !nodes.is_empty() {
        let leaf = nodes.iter().position(|node| !nodes.iter().any(|other| names(node, other))).unwrap_or(0);
        ordered.push(nodes.remove(leaf));
    }
    let key = &key[..key.len().min(64)];
    let mut bytes = vec![0, key.len() as u8];
    bytes.extend_from_slice(key);
    for node in &ordered {
        let mut at = 0;
        while at < node.len() {
            let hash = node.get(at + 1..at + 33).filter(|_| node[at] == HASH[0]);
            let number = hash.and_then(|hash| ordered.iter().position(|other| keccak256(other) == *hash));
            match number {
                Some(number) => bytes.extend_from_slice(&[HASH[0], HASH[1], number as u8]),
                None => bytes.push(node[at]),
            }
            at += if number.is_some() { 33 } else { 1 };
        }
        bytes.extend_from_slice(&END);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_of_the_vectors_are_true_proofs() {
        let vectors = crate::cases(include_str!("../../tests/data/vectors/stateproof.json"));
        let case = &vectors[0];
        let nodes: Vec<Vec<u8>> = case["accountProof"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| hex::decode(node.as_str().unwrap()).unwrap())
            .collect();
        let address = case["address"].as_str().unwrap();
        let seed = template(address.as_bytes(), nodes);
        let (key, mut rest) = seed[2..].split_at(usize::from(seed[1]));
        let mut expanded: Vec<Vec<u8>> = Vec::new();
        while !rest.is_empty() {
            let end = rest.windows(2).position(|window| window == END).unwrap();
            expanded.push(expand(&rest[..end], &expanded));
            rest = &rest[end + 2..];
        }
        let root = keccak256(expanded.last().unwrap());
        assert_eq!(hex::encode(root), case["state_root"].as_str().unwrap());
        let account = verify_ignoring_extra(&root, key, &expanded).unwrap().unwrap();
        assert_eq!(hex::encode(account), case["account"].as_str().unwrap());
    }
}
