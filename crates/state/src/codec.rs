//! The encoding of stored values: numbers in groups of seven bits, byte strings after their length, and a checksum over
//! each value together with its key.

/// Writes a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns an empty writer with a capacity of `len` bytes.
    pub(crate) fn with_capacity(len: usize) -> Self {
        Self(Vec::with_capacity(len))
    }

    /// Writes a number with seven bits in each byte, the lowest first. The top bit is set in all bytes except the last.
    pub(crate) fn number(&mut self, number: impl Into<u128>) {
        let mut rest = number.into();
        while rest >= 0x80 {
            self.0.push(low_bits(rest) | 0x80);
            rest >>= 7;
        }
        self.0.push(low_bits(rest));
    }

    /// Writes a length or count.
    pub(crate) fn len(&mut self, len: usize) {
        self.number(u64::try_from(len).unwrap_or(u64::MAX));
    }

    /// Writes bytes without their length. The reader must get the length from another value.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Writes the length of `bytes`, and then `bytes`.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.len(bytes.len());
        self.raw(bytes);
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Returns the number of bytes that [`Writer::len`] writes.
pub(crate) fn number_len(number: usize) -> usize {
    let bits = usize::BITS.saturating_sub(number.leading_zeros()).max(1);
    usize::try_from(bits.div_ceil(7)).unwrap_or(usize::MAX)
}

const fn low_bits(number: u128) -> u8 {
    (number & 0x7f) as u8
}

/// A value is too short, or has content that no writer writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed value: {0}")]
pub(crate) struct Malformed(pub &'static str);

/// Reads a value. Malformed bytes cause an error, and never a panic or an allocation larger than the bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Reads a number of [`Writer::number`]. Rejects numbers that `T` cannot hold and encodings with unnecessary bytes.
    pub(crate) fn number<T: TryFrom<u128>>(&mut self, what: &'static str) -> Result<T, Malformed> {
        // Most numbers take one byte.
        if let [byte @ 0..0x80, rest @ ..] = self.0 {
            self.0 = rest;
            return T::try_from(u128::from(*byte)).map_err(|_| Malformed(what));
        }
        let (mut number, mut shift) = (0_u128, 0_u32);
        loop {
            let byte = self.byte(what)?;
            let bits = u128::from(byte & 0x7f);
            let placed = bits.checked_shl(shift).filter(|placed| placed >> shift == bits).ok_or(Malformed(what))?;
            number |= placed;
            if byte < 0x80 {
                if byte == 0 && shift > 0 {
                    return Err(Malformed(what));
                }
                return T::try_from(number).map_err(|_| Malformed(what));
            }
            shift = shift.saturating_add(7);
        }
    }

    /// Reads `len` bytes.
    pub(crate) fn raw(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], Malformed> {
        let (bytes, rest) = self.0.split_at_checked(len).ok_or(Malformed(what))?;
        self.0 = rest;
        Ok(bytes)
    }

    /// Reads `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Malformed> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(Malformed(what))?;
        self.0 = rest;
        Ok(*bytes)
    }

    /// Reads a length, and then this number of bytes.
    pub(crate) fn bytes(&mut self, what: &'static str) -> Result<&'a [u8], Malformed> {
        let len = self.number(what)?;
        self.raw(len, what)
    }

    pub(crate) fn byte(&mut self, what: &'static str) -> Result<u8, Malformed> {
        let (byte, rest) = self.0.split_first().ok_or(Malformed(what))?;
        self.0 = rest;
        Ok(*byte)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of unread bytes.
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns an error if bytes are left.
    pub(crate) fn finish(self, what: &'static str) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed(what)) }
    }
}

/// Bytes of the checksum at the end of a sealed value.
pub(crate) const SEAL_LEN: usize = 4;

/// Appends the CRC-32C of key and payload to the payload. The checksum detects a changed value and a value under a
/// wrong key.
pub(crate) fn seal(key: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(payload.len().saturating_add(SEAL_LEN));
    value.extend_from_slice(payload);
    value.extend_from_slice(&checksum(key, payload).to_le_bytes());
    value
}

/// Returns the value without its checksum, or `None` if the checksum does not match key and value.
pub(crate) fn unseal<'a>(key: &[u8], value: &'a [u8]) -> Option<&'a [u8]> {
    let (payload, seal) = value.split_last_chunk::<SEAL_LEN>()?;
    (u32::from_le_bytes(*seal) == checksum(key, payload)).then_some(payload)
}

fn checksum(key: &[u8], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(key), payload)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn records_round_trip(number: u128, small in 0u64..300, bytes: Vec<u8>) {
            let mut writer = Writer::new();
            writer.number(number);
            writer.bytes(&bytes);
            writer.number(small);
            writer.byte(7);
            let record = writer.finish();
            let mut reader = Reader::new(&record);
            prop_assert_eq!(reader.number("n"), Ok(number));
            prop_assert_eq!(reader.bytes("b"), Ok(&bytes[..]));
            prop_assert_eq!(reader.number("s"), Ok(small));
            prop_assert_eq!(reader.array("7"), Ok([7]));
            prop_assert_eq!(reader.finish("end"), Ok(()));
        }

        #[test]
        fn numbers_have_one_form(bytes in prop::collection::vec(any::<u8>(), 0..25)) {
            let mut reader = Reader::new(&bytes);
            if let Ok(number) = reader.number::<u128>("n") {
                let mut writer = Writer::new();
                writer.number(number);
                prop_assert_eq!([writer.as_slice(), reader.0].concat(), bytes);
            }
        }

        #[test]
        fn any_change_breaks_the_seal(key: [u8; 9], payload: Vec<u8>, at: prop::sample::Index, flip in 1u8..) {
            let mut value = seal(&key, &payload);
            prop_assert_eq!(unseal(&key, &value), Some(&payload[..]));
            let at = at.index(value.len());
            value[at] ^= flip;
            prop_assert_eq!(unseal(&key, &value), None);
            value[at] ^= flip;
            let mut other = key;
            other[at % 9] ^= flip;
            prop_assert_eq!(unseal(&other, &value), None);
            prop_assert_eq!(unseal(&key, &value[..at]), None);
        }
    }

    #[test]
    fn length_of_a_number_is_that_of_its_bytes() {
        for number in [0, 1, 127, 128, 16_383, 16_384, usize::MAX] {
            let mut writer = Writer::new();
            writer.len(number);
            assert_eq!(writer.as_slice().len(), number_len(number));
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert_eq!(Reader::new(&[0xff, 0x01]).number::<u8>("n"), Ok(255));
        assert_eq!(Reader::new(&[0x80, 0x02]).number::<u8>("n"), Err(Malformed("n")));
        assert_eq!(Reader::new(&[0xff; 19]).number::<u128>("n"), Err(Malformed("n")));
        assert_eq!(Reader::new(&[0x05]).bytes("b"), Err(Malformed("b")));
    }
}
