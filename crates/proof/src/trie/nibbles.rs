//! Paths in the trie: sequences of four-bit digits, and their hex-prefix encoding.

use alloc::vec::Vec;
use core::fmt;

/// A path in the trie, with one nibble in each byte.
///
/// # Examples
///
/// ```
/// use silica_proof::trie::Nibbles;
/// assert_eq!(Nibbles::of_key(b"3a").as_slice(), [3, 3, 6, 1]);
/// assert_eq!(Nibbles::of_hex_digits(&[0x3a]), Nibbles::of_key(b"3a"));
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nibbles(Vec<u8>);

impl Nibbles {
    /// Returns the path without nibbles.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns the path of a trie key: the high nibble of each byte, then the low nibble.
    pub fn of_key(key: &[u8]) -> Self {
        Self(key.iter().flat_map(|byte| [byte >> 4, byte & 0xf]).collect())
    }

    /// Returns the path of the trie key that is the lower-case hexadecimal text of `bytes`: four nibbles for each byte.
    /// Addresses and variable hashes have such keys (Reference: formats#account-trie, formats#storage-trie).
    pub fn of_hex_digits(bytes: &[u8]) -> Self {
        Self(bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]).flat_map(digit_path).collect())
    }

    /// Copies nibbles. Returns `None` if a nibble is above 15.
    pub fn from_slice(nibbles: &[u8]) -> Option<Self> {
        nibbles.iter().all(|nibble| *nibble < 16).then(|| Self(nibbles.to_vec()))
    }

    /// Copies a part of a path. Each nibble must be below 16.
    pub(crate) fn copied(path: &[u8]) -> Self {
        debug_assert!(path.iter().all(|nibble| *nibble < 16), "nibbles are below 16");
        Self(path.to_vec())
    }

    /// Returns the nibbles, one in each byte.
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// Returns the number of nibbles.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the path has no nibbles.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Inserts nibbles at the beginning.
    pub(crate) fn prepend(&mut self, nibbles: &[u8]) {
        self.0.splice(..0, nibbles.iter().copied());
    }
}

/// Writes the nibbles as hexadecimal digits.
impl fmt::Display for Nibbles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|nibble| write!(f, "{nibble:x}"))
    }
}

impl fmt::Debug for Nibbles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nibbles({self})")
    }
}

/// Returns the two nibbles of the ASCII character of a lower-case hexadecimal digit `d`. The nibbles are 3 and `d` for
/// 0 to 9, and 6 and `d - 9` for a to f.
///
/// # Examples
///
/// ```
/// use silica_proof::trie::digit_path;
/// assert_eq!(digit_path(7), [3, 7]);
/// assert_eq!(digit_path(0xa), [6, 1]);
/// ```
pub fn digit_path(digit: u8) -> [u8; 2] {
    match digit & 0xf {
        letter @ 10.. => [6, letter.wrapping_sub(9)],
        decimal => [3, decimal],
    }
}

/// Returns the number of nibbles that two paths have in common at their beginning.
pub(crate) fn common_prefix(left: &[u8], right: &[u8]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

/// Returns the length in bytes of the hex-prefix encoding of a path with `nibbles` nibbles.
pub(crate) fn hex_prefix_len(nibbles: usize) -> usize {
    (nibbles >> 1).saturating_add(1)
}

/// Appends the hex-prefix encoding of a path: a flag nibble, a zero nibble for an even length, and the path. The flag
/// is 2 for a leaf, plus 1 for an odd length.
pub(crate) fn write_hex_prefix(path: &[u8], leaf: bool, out: &mut Vec<u8>) {
    let flag = if leaf { 0x20 } else { 0 };
    let pairs = match path {
        [first, rest @ ..] if path.len() % 2 == 1 => {
            out.push(flag | 0x10 | first);
            rest
        }
        even => {
            out.push(flag);
            even
        }
    };
    out.extend(pairs.as_chunks().0.iter().map(|[high, low]| high << 4 | low));
}

/// Decodes a hex-prefix encoding. Returns whether it belongs to a leaf, and its nibbles. Returns `None` if the flags
/// are wrong or absent.
pub(crate) fn read_hex_prefix(bytes: &[u8]) -> Option<(bool, impl Iterator<Item = u8> + '_)> {
    let (flags, rest) = bytes.split_first()?;
    let odd = match (flags >> 4, flags & 0xf) {
        (0 | 2, 0) => None,
        (1 | 3, nibble) => Some(nibble),
        _ => return None,
    };
    let nibbles = odd.into_iter().chain(rest.iter().flat_map(|byte| [byte >> 4, byte & 0xf]));
    Some((flags & 0x20 != 0, nibbles))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hex_prefix_has_the_published_forms() {
        let check = |path: &[u8], leaf: bool, expected: &[u8]| {
            let mut out = Vec::new();
            write_hex_prefix(path, leaf, &mut out);
            assert_eq!(out, expected);
        };
        check(&[1, 2, 3, 4, 5], false, &[0x11, 0x23, 0x45]);
        check(&[0, 1, 2, 3, 4, 5], false, &[0x00, 0x01, 0x23, 0x45]);
        check(&[0, 0xf, 1, 0xc, 0xb, 8], true, &[0x20, 0x0f, 0x1c, 0xb8]);
        check(&[0xf, 1, 0xc, 0xb, 8], true, &[0x3f, 0x1c, 0xb8]);
        check(&[], true, &[0x20]);
    }

    #[test]
    fn wrong_hex_prefix_flags_are_refused() {
        for bytes in [&[][..], &[0x01], &[0x21], &[0x40], &[0xf0], &[0x2f, 0x11]] {
            assert!(read_hex_prefix(bytes).is_none(), "{bytes:x?}");
        }
    }

    proptest! {
        #[test]
        fn hex_prefix_round_trips(path in prop::collection::vec(0u8..16, 0..130), leaf: bool) {
            let mut out = Vec::new();
            write_hex_prefix(&path, leaf, &mut out);
            prop_assert_eq!(out.len(), hex_prefix_len(path.len()));
            let (read_leaf, read) = read_hex_prefix(&out).unwrap();
            prop_assert_eq!((read_leaf, read.collect::<Vec<_>>()), (leaf, path));
        }

        #[test]
        fn hex_digits_are_the_text(bytes: [u8; 20]) {
            prop_assert_eq!(Nibbles::of_hex_digits(&bytes), Nibbles::of_key(hex::encode(bytes).as_bytes()));
        }
    }
}
