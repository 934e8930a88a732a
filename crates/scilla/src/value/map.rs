//! Maps: persistent balanced trees, ordered by the bytes of their keys.
//!
//! A changed map shares all nodes with the previous map, except the nodes on one path. Each node stores the sums over
//! its subtree. These sums determine gas.

use std::{cmp::Ordering, mem, sync::Arc};

use super::{Value, drop::Pending};
use crate::{gas::floor_ln, types::Type};

/// The key of a map entry: a value without parts.
///
/// Keys are ordered by the bytes that they have in hash input. Keys of different kinds are never equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(Value);

impl Key {
    /// Converts a value to a key.
    ///
    /// # Errors
    ///
    /// The value itself, if it is not an integer, text, block number or byte string.
    pub fn new(value: Value) -> Result<Self, Value> {
        match value {
            Value::BNum(_) | Value::ByStr(_) | Value::ByStrX(_) | Value::Integer(_) | Value::String(_) => {
                Ok(Self(value))
            }
            Value::Adt(_) | Value::Closure(_) | Value::Map(_) | Value::Message(_) | Value::TypeClosure(_) => Err(value),
        }
    }

    /// Returns the key as a value.
    pub const fn value(&self) -> &Value {
        &self.0
    }

    /// Converts the key to a value.
    pub fn into_value(self) -> Value {
        self.0
    }

    /// Returns the rank of the key's kind in the order of kinds.
    const fn rank(&self) -> u8 {
        match self.0 {
            Value::BNum(_) => 0,
            Value::ByStr(_) => 1,
            Value::ByStrX(_) => 2,
            Value::Integer(_) => 3,
            Value::Adt(_)
            | Value::Closure(_)
            | Value::Map(_)
            | Value::Message(_)
            | Value::String(_)
            | Value::TypeClosure(_) => 4,
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Value::BNum(left), Value::BNum(right)) => left.compare_texts(right),
            (Value::ByStr(left), Value::ByStr(right)) | (Value::ByStrX(left), Value::ByStrX(right)) => left.cmp(right),
            (Value::Integer(left), Value::Integer(right)) => {
                left.ty().cmp(&right.ty()).then_with(|| left.compare_bytes(right))
            }
            (Value::String(left), Value::String(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

/// A map of Scilla, with the types of its keys and values.
#[derive(Clone)]
pub struct Map {
    ty: Arc<MapType>,
    root: Tree,
}

/// The types of keys and values.
#[derive(PartialEq)]
struct MapType {
    key: Type,
    value: Type,
    /// Number of nodes of the map's type. Long names count as in [`Type::weight`].
    parts: u64,
}

impl Map {
    /// Returns an empty map from keys to values of these types.
    pub fn new(key: Type, value: Type) -> Self {
        let parts = key.weight().saturating_add(value.weight()).saturating_add(1);
        Self { ty: Arc::new(MapType { key, value, parts }), root: None }
    }

    /// Returns the type of the keys.
    pub fn key_type(&self) -> &Type {
        &self.ty.key
    }

    /// Returns the type of the values.
    pub fn value_type(&self) -> &Type {
        &self.ty.value
    }

    /// Returns the type of the whole map.
    pub fn ty(&self) -> Type {
        Type::map(self.ty.key.clone(), self.ty.value.clone())
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        count(&self.root)
    }

    /// Returns whether the map has no entries.
    pub const fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Returns the value of a key, or `None` if the map does not have the key.
    pub fn get(&self, key: &Key) -> Option<&Value> {
        let mut tree = self.root.as_deref();
        while let Some(node) = tree {
            tree = match key.cmp(&node.key) {
                Ordering::Less => node.left.as_deref(),
                Ordering::Equal => return Some(&node.value),
                Ordering::Greater => node.right.as_deref(),
            };
        }
        None
    }

    /// Sets the value of a key, and returns the previous value or `None`.
    pub fn insert(&mut self, key: Key, value: Value) -> Option<Value> {
        insert(&mut self.root, key, value)
    }

    /// Removes a key, and returns its value, or `None` if the map does not have the key.
    pub fn remove(&mut self, key: &Key) -> Option<Value> {
        // Without this check, the removal of a missing key would copy the path to its place.
        self.get(key)?;
        remove(&mut self.root, key)
    }

    /// Iterates over the entries, in the order of the keys.
    pub fn iter(&self) -> Entries<'_> {
        let mut entries = Entries { above: Vec::new() };
        entries.descend(&self.root);
        entries
    }

    pub(super) fn size(&self) -> u64 {
        self.root.as_ref().map_or(0, |node| node.size)
    }

    pub(super) fn sort_cost(&self) -> u64 {
        let Some(root) = &self.root else { return 0 };
        let entries = root.count as u64;
        root.sort_cost.saturating_add(entries.saturating_mul(floor_ln(entries)))
    }

    pub(super) fn parts(&self) -> u64 {
        self.root.as_ref().map_or(0, |node| node.parts).saturating_add(self.ty.parts)
    }

    pub(super) fn type_parts(&self) -> u64 {
        self.ty.parts
    }

    pub(super) fn depth(&self) -> u32 {
        self.root.as_ref().map_or(0, |node| node.depth).saturating_add(1)
    }

    pub(super) fn same_keys(&self, other: &Self) -> bool {
        let mut pairs = self.iter().zip(other.iter());
        self.ty == other.ty && self.len() == other.len() && pairs.all(|((one, _), (two, _))| one == two)
    }

    /// Returns the memory address of the root, and the number of owners of the root. Returns `None` for an empty map.
    pub(super) fn place(&self) -> Option<(usize, usize)> {
        self.root.as_ref().map(|root| (Arc::as_ptr(root).addr(), Arc::strong_count(root)))
    }

    pub(super) fn into_root(self) -> Option<Arc<Node>> {
        self.root
    }
}

impl std::fmt::Debug for Map {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Map").field("entries", &self.len()).finish_non_exhaustive()
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a Key, &'a Value);
    type IntoIter = Entries<'a>;

    fn into_iter(self) -> Entries<'a> {
        self.iter()
    }
}

/// Iterator over the entries of a map, in the order of the keys.
#[derive(Debug)]
pub struct Entries<'a> {
    /// The nodes whose left subtree the iterator has passed, the next node last.
    above: Vec<&'a Node>,
}

impl<'a> Entries<'a> {
    fn descend(&mut self, mut tree: &'a Tree) {
        while let Some(node) = tree {
            self.above.push(node);
            tree = &node.left;
        }
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = (&'a Key, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        let node = self.above.pop()?;
        self.descend(&node.right);
        Some((&node.key, &node.value))
    }
}

type Tree = Option<Arc<Node>>;

/// A node of a weight-balanced tree, with sums over its subtree.
#[derive(Clone)]
pub(super) struct Node {
    key: Key,
    value: Value,
    left: Tree,
    right: Tree,
    count: usize,
    size: u64,
    sort_cost: u64,
    parts: u64,
    /// Depth of the deepest value in the subtree.
    depth: u32,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Node {
    fn leaf(key: Key, value: Value) -> Self {
        let mut node =
            Self { key, value, left: None, right: None, count: 0, size: 0, sort_cost: 0, parts: 0, depth: 0 };
        node.update();
        node
    }

    pub(super) const fn depth(&self) -> u32 {
        self.depth
    }

    /// Moves the parts of the node to the queue of parts to drop.
    pub(super) fn dismantle(&mut self, pending: &mut Vec<Pending>) {
        let value = mem::replace(&mut self.value, Value::bool(false));
        pending.push(Pending::Value(value));
        pending.extend(self.left.take().into_iter().chain(self.right.take()).map(Pending::Tree));
        self.depth = 0;
    }

    /// Computes the sums again, after a change of the value or of a child.
    fn update(&mut self) {
        let (mut count, mut size) = (1, self.key.0.size().saturating_add(self.value.size()));
        let (mut sort_cost, mut depth) = (self.value.sort_cost(), self.value.depth());
        let mut parts = self.value.parts().saturating_add(1);
        for side in [&self.left, &self.right].into_iter().flatten() {
            count += side.count;
            size = size.saturating_add(side.size);
            sort_cost = sort_cost.saturating_add(side.sort_cost);
            parts = parts.saturating_add(side.parts);
            depth = depth.max(side.depth);
        }
        (self.count, self.size, self.sort_cost) = (count, size, sort_cost);
        (self.parts, self.depth) = (parts, depth);
    }
}

fn count(tree: &Tree) -> usize {
    tree.as_ref().map_or(0, |node| node.count)
}

/// Returns the weight of a tree: its number of nodes plus one.
fn weight(tree: &Tree) -> usize {
    count(tree) + 1
}

// The parameters of Hirai and Yamamoto, "Balancing weight-balanced trees". With them, one single or double rotation
// restores the balance after each insertion and removal.
const HEAVIER: usize = 3;
const DOUBLE: usize = 2;

fn insert(tree: &mut Tree, key: Key, value: Value) -> Option<Value> {
    let Some(node) = tree else {
        *tree = Some(Arc::new(Node::leaf(key, value)));
        return None;
    };
    let node = Arc::make_mut(node);
    let replaced = match key.cmp(&node.key) {
        Ordering::Less => insert(&mut node.left, key, value),
        Ordering::Equal => Some(mem::replace(&mut node.value, value)),
        Ordering::Greater => insert(&mut node.right, key, value),
    };
    balance(node);
    replaced
}

fn remove(tree: &mut Tree, key: &Key) -> Option<Value> {
    let node = Arc::make_mut(tree.as_mut()?);
    let removed = match key.cmp(&node.key) {
        Ordering::Less => remove(&mut node.left, key),
        Ordering::Greater => remove(&mut node.right, key),
        Ordering::Equal if node.right.is_some() => {
            let (key, value) = remove_first(&mut node.right)?;
            node.key = key;
            Some(mem::replace(&mut node.value, value))
        }
        Ordering::Equal => {
            let left = node.left.take();
            let removed = mem::replace(&mut node.value, Value::bool(false));
            *tree = left;
            return Some(removed);
        }
    };
    balance(node);
    removed
}

fn remove_first(tree: &mut Tree) -> Option<(Key, Value)> {
    let node = Arc::make_mut(tree.as_mut()?);
    if let Some(found) = remove_first(&mut node.left) {
        balance(node);
        return Some(found);
    }
    let right = node.right.take();
    let value = mem::replace(&mut node.value, Value::bool(false));
    let key = node.key.clone();
    *tree = right;
    Some((key, value))
}

/// Restores the balance and the sums after the size of one child has changed by one.
fn balance(node: &mut Node) {
    if weight(&node.right) > HEAVIER * weight(&node.left)
        && let Some(right) = node.right.as_mut()
    {
        if weight(&right.left) >= DOUBLE * weight(&right.right) {
            rotate_right(Arc::make_mut(right));
        }
        rotate_left(node);
        return;
    } else if weight(&node.left) > HEAVIER * weight(&node.right)
        && let Some(left) = node.left.as_mut()
    {
        if weight(&left.right) >= DOUBLE * weight(&left.left) {
            rotate_left(Arc::make_mut(left));
        }
        rotate_right(node);
        return;
    }
    node.update();
}

/// Replaces the node by its right child, and makes the node the left child of that child.
fn rotate_left(node: &mut Node) {
    if let Some(mut lifted) = node.right.take() {
        let child = Arc::make_mut(&mut lifted);
        node.right = child.left.take();
        mem::swap(node, child);
        child.update();
        node.left = Some(lifted);
    }
    node.update();
}

/// Replaces the node by its left child, and makes the node the right child of that child.
fn rotate_right(node: &mut Node) {
    if let Some(mut lifted) = node.left.take() {
        let child = Arc::make_mut(&mut lifted);
        node.left = child.right.take();
        mem::swap(node, child);
        child.update();
        node.right = Some(lifted);
    }
    node.update();
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::types::{Primitive, Width};

    fn key(number: u32) -> Key {
        Key::new(Value::from(number)).unwrap()
    }

    fn empty() -> Map {
        Map::new(Type::Primitive(Primitive::Uint(Width::W32)), Primitive::String.into())
    }

    /// Checks balance and sums of every subtree, and returns the height.
    fn check(tree: &Tree) -> usize {
        let Some(node) = tree else { return 0 };
        assert!(weight(&node.left) <= HEAVIER * weight(&node.right));
        assert!(weight(&node.right) <= HEAVIER * weight(&node.left));
        let mut again = Node::clone(node);
        again.update();
        assert_eq!((again.count, again.size, again.depth), (node.count, node.size, node.depth));
        assert_eq!((again.parts, again.sort_cost), (node.parts, node.sort_cost));
        1 + check(&node.left).max(check(&node.right))
    }

    proptest! {
        #[test]
        fn a_map_agrees_with_the_standard_one(steps: Vec<(u8, bool)>) {
            let (mut map, mut model) = (empty(), BTreeMap::new());
            for (step, (number, put)) in steps.into_iter().enumerate() {
                let before = map.clone();
                let entries = before.len();
                let number = u32::from(number);
                if put {
                    let value = Value::of_text(step.to_string());
                    prop_assert_eq!(map.insert(key(number), value.clone()), model.insert(number, value));
                } else {
                    prop_assert_eq!(map.remove(&key(number)), model.remove(&number));
                }
                check(&map.root);
                prop_assert_eq!(before.len(), entries);
            }
            prop_assert!(map.iter().eq(model.iter().map(|(number, value)| (key(*number), value)).collect::<Vec<_>>()
                .iter().map(|(key, value)| (key, *value))));
            prop_assert_eq!(map.size(), 24 * model.len() as u64);
        }
    }

    #[test]
    fn trees_stay_flat() {
        let mut map = empty();
        for number in 0..10_000 {
            map.insert(key(number), Value::of_text(""));
        }
        assert!(check(&map.root) <= 30);
        assert_eq!(map.len(), 10_000);
        assert_eq!(map.sort_cost(), 10_000 * 9);
    }

    #[test]
    fn keys_are_ordered_by_their_bytes() {
        let int = |text: &str| {
            Key::new(Value::Integer(
                crate::value::Integer::parse(super::super::IntegerType::Int(Width::W64), text).unwrap(),
            ))
            .unwrap()
        };
        assert!(int("1") < int("2") && int("2") < int("-2") && int("-2") < int("-1"));
    }

    #[test]
    fn maps_within_maps_without_end_can_be_dropped() {
        let mut value = Value::of_text("");
        for _ in 0..100_000 {
            let mut map = empty();
            map.insert(key(1), value);
            value = Value::Map(map);
        }
        assert_eq!(value.depth(), 100_001);
    }
}
