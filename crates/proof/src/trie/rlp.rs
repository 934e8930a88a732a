//! The part of RLP for trie nodes: strings and lists, with canonical encodings only.

use alloc::vec::Vec;

/// Appends the encoding of a string.
pub fn write_string(bytes: &[u8], out: &mut Vec<u8>) {
    if !matches!(bytes, [0..0x80]) {
        write_string_header(bytes.len(), out);
    }
    out.extend_from_slice(bytes);
}

/// Appends the header of a string of `len` bytes that is not a single byte below 0x80.
pub fn write_string_header(len: usize, out: &mut Vec<u8>) {
    write_header(0x80, len, out);
}

/// Appends the header of a list whose items take `payload` bytes.
pub fn write_list_header(payload: usize, out: &mut Vec<u8>) {
    write_header(0xc0, payload, out);
}

#[expect(clippy::cast_possible_truncation, reason = "a length up to 55 and a count up to 8 fit a byte")]
fn write_header(base: u8, len: usize, out: &mut Vec<u8>) {
    if len <= 55 {
        out.push(base | len as u8);
    } else {
        let len = len.to_be_bytes();
        let zeros = len.iter().take_while(|byte| **byte == 0).count();
        let significant = len.split_at_checked(zeros).map_or(&len[..], |(_, rest)| rest);
        out.push((base | 0x37).wrapping_add(significant.len() as u8));
        out.extend_from_slice(significant);
    }
}

/// Returns the length of the encoding of a string in bytes.
pub fn string_len(bytes: &[u8]) -> usize {
    if matches!(bytes, [0..0x80]) { 1 } else { bytes.len().saturating_add(header_len(bytes.len())) }
}

/// Returns the length in bytes of the header of a list, or of a string other than a single byte below 0x80. `len` is
/// the number of bytes after the header.
pub fn header_len(len: usize) -> usize {
    if len <= 55 {
        1
    } else {
        let zeros = (len.leading_zeros() >> 3) as usize;
        size_of::<usize>().saturating_sub(zeros).saturating_add(1)
    }
}

/// An item without its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    /// A string.
    String(&'a [u8]),
    /// The encoded items of a list.
    List(&'a [u8]),
}

/// Reads the first item. Returns the item, its whole encoding, and the remaining bytes. Returns `None` if the bytes are
/// too short or the encoding is not canonical.
pub(crate) fn read(bytes: &[u8]) -> Option<(Item<'_>, &[u8], &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (list, payload, after) = match first {
        0..0x80 => (false, bytes.split_at_checked(1)?.0, rest),
        0x80..0xb8 => split(false, usize::from(first & 0x3f), rest)?,
        0xb8..0xc0 => long(false, usize::from(first & 7), rest)?,
        0xc0..0xf8 => split(true, usize::from(first & 0x3f), rest)?,
        0xf8.. => long(true, usize::from(first & 7), rest)?,
    };
    if matches!((first, payload), (0x81, [0..0x80])) {
        return None;
    }
    let encoding = bytes.split_at_checked(bytes.len().checked_sub(after.len())?)?.0;
    Some((if list { Item::List(payload) } else { Item::String(payload) }, encoding, after))
}

fn split(list: bool, len: usize, rest: &[u8]) -> Option<(bool, &[u8], &[u8])> {
    let (payload, after) = rest.split_at_checked(len)?;
    Some((list, payload, after))
}

/// Reads a length that takes `count + 1` bytes, and then as many bytes as the length states. The length must be above
/// 55 and have no leading zero.
fn long(list: bool, count: usize, rest: &[u8]) -> Option<(bool, &[u8], &[u8])> {
    let (len, rest) = rest.split_at_checked(count.checked_add(1)?)?;
    if len.first() == Some(&0) {
        return None;
    }
    let len = len.iter().try_fold(0_usize, |len, byte| Some(len.checked_mul(256)? | usize::from(*byte)))?;
    if len <= 55 { None } else { split(list, len, rest) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn forms_that_are_not_canonical_are_refused() {
        let mut long_zero = vec![0xb9, 0x00, 0x40];
        long_zero.extend([7; 64]);
        let short_as_long = [&[0xb8, 5][..], &[1; 5]].concat();
        for bytes in [&[][..], &[0x81, 0x05], &[0x82, 1], &[0xb8], &[0xbf, 255, 255, 255, 255, 255, 255, 255, 255]] {
            assert_eq!(read(bytes), None, "{bytes:x?}");
        }
        assert_eq!(read(&long_zero), None);
        assert_eq!(read(&short_as_long), None);
        assert_eq!(read(&[0xf8, 55]), None);
    }

    proptest! {
        #[test]
        fn strings_round_trip(
            bytes in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..3),
                prop::collection::vec(any::<u8>(), 50..60),
                prop::collection::vec(any::<u8>(), 250..260),
                prop::collection::vec(any::<u8>(), 65_530..65_540),
            ],
            tail in prop::collection::vec(any::<u8>(), 0..3),
        ) {
            let mut out = Vec::new();
            write_string(&bytes, &mut out);
            prop_assert_eq!(out.len(), string_len(&bytes));
            let encoding = out.clone();
            out.extend(&tail);
            prop_assert_eq!(read(&out), Some((Item::String(&bytes), &encoding[..], &tail[..])));
        }

        #[test]
        fn whatever_is_read_is_canonical(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some((item, encoding, after)) = read(&bytes) {
                let mut out = Vec::new();
                match item {
                    Item::String(payload) => write_string(payload, &mut out),
                    Item::List(payload) => {
                        write_list_header(payload.len(), &mut out);
                        out.extend_from_slice(payload);
                    }
                }
                prop_assert_eq!(&out[..], encoding);
                prop_assert_eq!([encoding, after].concat(), bytes);
            }
        }
    }
}
