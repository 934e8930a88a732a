//! Canonical bytes: integers of fixed width in big endian, and lists with their length in front.
//!
//! A value has one byte form only. A reader rejects every other form, and names the field with the fault.

use std::fmt::Display;

use silica_protocol::DecodeError;

/// Writes fields to a buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn u8(&mut self, number: u8) {
        self.0.push(number);
    }

    pub(crate) fn u16(&mut self, number: u16) {
        self.fixed(&number.to_be_bytes());
    }

    pub(crate) fn u32(&mut self, number: u32) {
        self.fixed(&number.to_be_bytes());
    }

    pub(crate) fn u64(&mut self, number: u64) {
        self.fixed(&number.to_be_bytes());
    }

    /// Writes bytes without a length. The format determines their number.
    pub(crate) fn fixed(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Writes the number of elements of a list, in four bytes. No list in memory exceeds the limits of its decoder, so
    /// the number fits.
    pub(crate) fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Writes bytes with their number in front.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.fixed(bytes);
    }

    /// Writes a bitmap: the number of bits in two bytes, then the bits. The first bit is the highest bit of its byte,
    /// and zeros fill the last byte.
    pub(crate) fn bits(&mut self, bits: &[bool]) {
        self.u16(u16::try_from(bits.len()).unwrap_or(u16::MAX));
        for bits in bits.chunks(8) {
            self.u8(bits.iter().zip((0..8).rev()).fold(0, |byte, (bit, place)| byte | u8::from(*bit) << place));
        }
    }
}

/// Reads fields from bytes. Errors name the field.
#[derive(Debug)]
pub(crate) struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    pub(crate) const fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    /// Returns whether no bytes are left.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads `count` bytes.
    pub(crate) fn slice(&mut self, field: &'static str, count: usize) -> Result<&'b [u8], DecodeError> {
        let error = DecodeError::Length { field, expected: count, got: self.0.len() };
        let (head, rest) = self.0.split_at_checked(count).ok_or(error)?;
        self.0 = rest;
        Ok(head)
    }

    /// Reads `N` bytes.
    pub(crate) fn fixed<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        let error = DecodeError::Length { field, expected: N, got: self.0.len() };
        let (head, rest) = self.0.split_first_chunk().ok_or(error)?;
        self.0 = rest;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        self.fixed(field).map(u8::from_be_bytes)
    }

    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        self.fixed(field).map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.fixed(field).map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        self.fixed(field).map(u64::from_be_bytes)
    }

    /// Reads the number of elements of a list. Rejects a number above `most`.
    pub(crate) fn count(&mut self, field: &'static str, most: usize) -> Result<usize, DecodeError> {
        let got = self.u32(field)?;
        let count = usize::try_from(got).ok().filter(|count| *count <= most);
        count.ok_or_else(|| value(field, format!("at most {most}"), got))
    }

    /// Reads bytes with their number in front.
    pub(crate) fn bytes(&mut self, field: &'static str, most: usize) -> Result<&'b [u8], DecodeError> {
        let count = self.count(field, most)?;
        self.slice(field, count)
    }

    /// Reads a bitmap. Rejects bits after the last.
    pub(crate) fn bits(&mut self, field: &'static str) -> Result<Vec<bool>, DecodeError> {
        let count = usize::from(self.u16(field)?);
        let bytes = self.slice(field, count.div_ceil(8))?;
        let mut all = bytes.iter().flat_map(|byte| (0..8).rev().map(move |place| byte >> place & 1 == 1));
        let bits = all.by_ref().take(count).collect();
        if all.any(|bit| bit) {
            return Err(value(field, format!("zeros after {count} bits"), "a one"));
        }
        Ok(bits)
    }

    /// Rejects bytes after the last field of a message.
    pub(crate) fn finish(self, message: &'static str) -> Result<(), DecodeError> {
        match self.0.len() {
            0 => Ok(()),
            got => Err(value(message, "no bytes after the last field".to_owned(), format!("{got} bytes"))),
        }
    }
}

/// Returns the error for a field with an invalid value.
pub(crate) fn value(field: &'static str, expected: String, got: impl Display) -> DecodeError {
    DecodeError::Value { field, expected, got: got.to_string() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn errors_name_the_field() {
        let length = |expected, got| DecodeError::Length { field: "a", expected, got };
        assert_eq!(Reader::new(&[1]).u32("a"), Err(length(4, 1)));
        assert_eq!(Reader::new(&[0, 0, 0, 3, 1, 2]).bytes("a", 3), Err(length(3, 2)));
        let error = Reader::new(&[0, 0, 0, 4, 1, 2, 3, 4]).bytes("a", 3).unwrap_err();
        assert_eq!(error.to_string(), "a: expected at most 3, got 4");
        let error = Reader::new(&[0, 3, 0b1011_0000]).bits("a").unwrap_err();
        assert_eq!(error.to_string(), "a: expected zeros after 3 bits, got a one");
        let error = Reader::new(&[1]).finish("a").unwrap_err();
        assert_eq!(error.to_string(), "a: expected no bytes after the last field, got 1 bytes");
    }

    proptest! {
        #[test]
        fn bits_have_one_form(bits in prop::collection::vec(any::<bool>(), 0..40), bytes: Vec<u8>) {
            let written = |bits: &[bool]| {
                let mut writer = Writer::default();
                writer.bits(bits);
                writer.finish()
            };
            prop_assert_eq!(&written(&bits)[..], &silica_protocol::pack_bits(&bits).unwrap()[..]);
            prop_assert_eq!(Reader::new(&written(&bits)).bits("a"), Ok(bits));
            let mut reader = Reader::new(&bytes);
            if let Ok(bits) = reader.bits("a") {
                prop_assert_eq!(&written(&bits)[..], &bytes[..bytes.len() - reader.0.len()]);
            }
        }
    }
}
