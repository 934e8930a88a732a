//! Computes the Merkle-Patricia nodes from one digit of the keys to the next.
//!
//! A digit of a key is an ASCII character, which has two nibbles: `3` and the digit, or `6` and the digit less 9. A
//! *fork* is a place where keys continue with different digits. It has up to three branch nodes: one over the two
//! *classes* (decimal digits and letters), and one over the digits of each class. A class with a single digit has no
//! branch node of its own. The tree below this digit is attached to the branch node over the classes, and its path is
//! one nibble longer.

use silica_proof::trie::{
    NodeRef, Proof, digit_path,
    node::{Children, write_branch, write_extension},
};

use super::{
    key::Key,
    leaf::{LeafView, with_buffer},
};

/// Masks of the two classes: the decimal digits and the letters.
const CLASSES: [u16; 2] = [0x03ff, 0xfc00];
/// The first nibble of the characters of each class.
const CLASS_NIBBLES: [u8; 2] = [3, 6];

pub(crate) const fn bit(digit: u8) -> u16 {
    1 << (digit & 0xf)
}

/// Returns the digits of a mask in ascending order.
pub(crate) fn digits(mask: u16) -> impl Iterator<Item = u8> + Clone {
    (0..16).filter(move |digit| mask & bit(*digit) != 0)
}

/// Returns the position of a digit among the digits of a mask.
pub(crate) fn rank(mask: u16, digit: u8) -> usize {
    usize::try_from((mask & bit(digit).wrapping_sub(1)).count_ones()).unwrap_or(0)
}

fn class_of(digit: u8) -> usize {
    usize::from(digit > 9)
}

fn class_mask(digit: u8) -> u16 {
    CLASSES.get(class_of(digit)).copied().unwrap_or(0)
}

/// Returns the position of the nibble in the key where the path of the tree below `digit` begins. The digits of `mask`
/// fork at `depth`.
pub(crate) fn hanging_at(mask: u16, digit: u8, depth: usize) -> usize {
    let class = class_mask(digit);
    let alone = (mask & class).is_power_of_two() && mask & !class != 0;
    depth.wrapping_mul(2).wrapping_add(if alone { 1 } else { 2 })
}

/// The first fork below a prefix.
#[derive(Clone, Debug)]
pub(crate) struct Fork {
    /// Mask of the digits that follow the prefix.
    pub mask: u16,
    /// For each class, the branch node over its digits, or the reference to the tree of its only digit. Unused if the
    /// mask has only one digit.
    tops: [NodeRef; 2],
    /// The branch node at the first fork below the prefix.
    pub node: NodeRef,
    /// The nibbles from the prefix to this branch node.
    pub lead: Box<[u8]>,
}

/// The value for a digit or class without a reference. No node contains it, because nodes have only the digits of the
/// mask.
const NO_NODE: NodeRef = NodeRef::Hash([0; 32]);

impl Fork {
    /// Computes the fork of at least two digits. `reference` returns the reference to the tree below a digit. `old` is
    /// an earlier fork of the same prefix, with the mask of the digits whose references differ from the earlier fork.
    /// Unchanged classes are not hashed again.
    pub(crate) fn new<'a>(mask: u16, reference: impl Fn(u8) -> &'a NodeRef, old: Option<(&Self, u16)>) -> Self {
        let mut tops = [NO_NODE; 2];
        for ((class, top), same) in CLASSES.iter().zip(&mut tops).zip([0, 1]) {
            let members = mask & class;
            let unchanged = old.filter(|(old, changed)| {
                old.mask & class == members && changed & members == 0 && old.mask.count_ones() > 1
            });
            *top = match (members.count_ones(), unchanged) {
                (0, _) => NO_NODE,
                (1, _) => digits(members).next().map_or(NO_NODE, |digit| *reference(digit)),
                (_, Some((old, _))) => old.tops.get(same).copied().unwrap_or(NO_NODE),
                (_, None) => branch(digits(members).map(|digit| (second_nibble(digit), reference(digit)))),
            };
        }
        let [decimals, letters] = tops;
        let (node, lead): (_, &[u8]) = match CLASSES.map(|class| mask & class != 0) {
            [true, true] => (branch(CLASS_NIBBLES.into_iter().zip(&tops)), &[]),
            [true, false] => (decimals, &[3]),
            [false, _] => (letters, &[6]),
        };
        Self { mask, tops, node, lead: lead.into() }
    }

    /// Returns the fork below a prefix that only one digit follows. `lead` and `node` belong to the tree below this
    /// digit.
    pub(crate) fn chain(digit: u8, lead: &[u8], node: NodeRef) -> Self {
        let lead = digit_path(digit).iter().chain(lead).copied().collect();
        Self { mask: bit(digit), tops: [NO_NODE; 2], node, lead }
    }

    /// Returns the reference to the topmost node. The path begins with the nibbles of `step`, which end at the prefix.
    pub(crate) fn reference(&self, step: &[u8]) -> NodeRef {
        top_of(step, &self.lead, &self.node)
    }

    /// Adds the branch nodes on the path to `digit`, and returns the digit below which the path continues, or `None` if
    /// the path ends here. If both classes have digits, and the class of `digit` has only one digit, the result is this
    /// one digit. `reference` returns the same references as for [`Fork::new`].
    pub(crate) fn prove<'a>(&self, digit: u8, reference: impl Fn(u8) -> &'a NodeRef, proof: &mut Proof) -> Option<u8> {
        let class = class_mask(digit);
        let members = self.mask & class;
        if self.mask & !class != 0 && members != 0 {
            add_node(proof, |rlp| write(CLASS_NIBBLES.into_iter().zip(&self.tops), rlp));
            if members.is_power_of_two() {
                return digits(members).next();
            }
        }
        add_node(proof, |rlp| write(digits(members).map(|digit| (second_nibble(digit), reference(digit))), rlp));
        Some(digit).filter(|digit| self.mask & bit(*digit) != 0)
    }
}

/// Returns the reference to the topmost node above a fork. `step` and `lead` are the nibbles to the fork.
pub(crate) fn top_of(step: &[u8], lead: &[u8], node: &NodeRef) -> NodeRef {
    match (step, lead) {
        ([], []) => *node,
        ([], path) | (path, []) => extension(path, node),
        _ => extension(&[step, lead].concat(), node),
    }
}

fn extension(path: &[u8], node: &NodeRef) -> NodeRef {
    with_buffer(|rlp| {
        write_extension(path, node, rlp);
        NodeRef::of(rlp)
    })
}

fn branch<'a>(children: impl Iterator<Item = (u8, &'a NodeRef)>) -> NodeRef {
    with_buffer(|rlp| {
        write(children, rlp);
        NodeRef::of(rlp)
    })
}

fn write<'a>(children: impl Iterator<Item = (u8, &'a NodeRef)>, out: &mut Vec<u8>) {
    let mut nodes: Children = [None; 16];
    for (nibble, child) in children {
        if let Some(node) = nodes.get_mut(usize::from(nibble)) {
            *node = Some(*child);
        }
    }
    write_branch(&nodes, None, out);
}

/// Returns the second nibble of the character of a digit.
pub(crate) fn second_nibble(digit: u8) -> u8 {
    let [_, second] = digit_path(digit);
    second
}

/// Returns the nibbles from the nibble `at` to the end of the prefix: none or one. `digit` is the last digit of the
/// prefix.
pub(crate) fn step_to(digit: u8, at: usize) -> impl AsRef<[u8]> {
    let second = second_nibble(digit);
    let len = at & 1;
    Step { nibble: [second], len }
}

struct Step {
    nibble: [u8; 1],
    len: usize,
}

impl AsRef<[u8]> for Step {
    fn as_ref(&self) -> &[u8] {
        self.nibble.get(..self.len).unwrap_or_default()
    }
}

pub(crate) fn add_node(proof: &mut Proof, write: impl FnOnce(&mut Vec<u8>)) {
    let mut rlp = Vec::new();
    write(&mut rlp);
    proof.add(rlp);
}

/// Returns the fork of at least two leaves that share the first `depth` digits of their keys.
fn fork_of(leaves: &[LeafView<'_>], depth: usize) -> Fork {
    let groups = || leaves.chunk_by(|left, right| left.key.digit(depth) == right.key.digit(depth));
    let digit_of = |group: &[LeafView<'_>]| group.first().map_or(0, |leaf| leaf.key.digit(depth));
    let mask = groups().fold(0, |mask, group| mask | bit(digit_of(group)));
    let below = depth.wrapping_add(1);
    if mask.is_power_of_two() {
        let fork = fork_of(leaves, below);
        return Fork::chain(leaves.first().map_or(0, |leaf| leaf.key.digit(depth)), &fork.lead, fork.node);
    }
    let mut references = [NO_NODE; 16];
    for group in groups() {
        let digit = digit_of(group);
        if let Some(reference) = references.get_mut(usize::from(digit)) {
            *reference = reference_of(group, below, hanging_at(mask, digit, depth));
        }
    }
    Fork::new(mask, |digit| references.get(usize::from(digit)).unwrap_or(&NO_NODE), None)
}

/// Returns the reference to the topmost node over leaves that share the first `depth` digits of their keys. The path
/// begins at nibble `at`.
pub(crate) fn reference_of(leaves: &[LeafView<'_>], depth: usize, at: usize) -> NodeRef {
    match leaves {
        [] => NO_NODE,
        [leaf] => leaf.reference(at),
        [first, ..] => {
            let step = step_to(first.key.digit(depth.wrapping_sub(1)), at);
            fork_of(leaves, depth).reference(step.as_ref())
        }
    }
}

/// Returns lead and branch node of [`fork_of`].
pub(crate) fn lead_of(leaves: &[LeafView<'_>], depth: usize) -> (Box<[u8]>, NodeRef) {
    let fork = fork_of(leaves, depth);
    (fork.lead, fork.node)
}

/// Adds the nodes on the path to a key, among leaves that share the first `depth` digits of their keys. The path begins
/// at nibble `at`, and the key equals the keys of the leaves up to this nibble.
pub(crate) fn prove_leaves(leaves: &[LeafView<'_>], depth: usize, at: usize, key: &Key, proof: &mut Proof) {
    let [first, rest @ ..] = leaves else { return };
    if rest.is_empty() {
        return add_node(proof, |rlp| first.write_node(at, rlp));
    }
    let fork = fork_of(leaves, depth);
    let step = step_to(first.key.digit(depth.wrapping_sub(1)), at);
    if prove_lead(step.as_ref(), &fork.lead, &fork.node, at, key, proof) {
        prove_fork_of(leaves, depth, key, proof);
    }
}

/// Adds the nodes on the path to a key from the first fork of the leaves on. The key leads to this fork.
pub(crate) fn prove_fork_of(leaves: &[LeafView<'_>], depth: usize, key: &Key, proof: &mut Proof) {
    let group_of = |digit: u8| {
        let start = leaves.partition_point(|leaf| leaf.key.digit(depth) < digit);
        let end = leaves.partition_point(|leaf| leaf.key.digit(depth) <= digit);
        leaves.get(start..end).unwrap_or_default()
    };
    let mask = digits(u16::MAX).filter(|digit| !group_of(*digit).is_empty()).fold(0, |mask, digit| mask | bit(digit));
    let below = depth.wrapping_add(1);
    if mask.count_ones() < 2 {
        if leaves.len() > 1 {
            prove_fork_of(leaves, below, key, proof);
        }
        return;
    }
    let references: Vec<NodeRef> =
        (0..16).map(|digit| reference_of(group_of(digit), below, hanging_at(mask, digit, depth))).collect();
    let reference = |digit: u8| references.get(usize::from(digit)).unwrap_or(&NO_NODE);
    let fork = Fork::new(mask, reference, None);
    if let Some(digit) = fork.prove(key.digit(depth), reference, proof) {
        prove_leaves(group_of(digit), below, hanging_at(mask, digit, depth), key, proof);
    }
}

/// Adds the extension node above a fork, if the fork has one. Returns whether the key leads to the fork.
pub(crate) fn prove_lead(step: &[u8], lead: &[u8], node: &NodeRef, at: usize, key: &Key, proof: &mut Proof) -> bool {
    let path = [step, lead].concat();
    if !path.is_empty() {
        add_node(proof, |rlp| write_extension(&path, node, rlp));
    }
    (at..).zip(&path).all(|(at, nibble)| key.nibble(at) == *nibble)
}
