//! The two rounds of collective signatures of a block.

use alloc::{vec, vec::Vec};

use crate::{
    error::DecodeError,
    key::Signature,
    proto::{ByteArray, ProtoCoSignatures, expect_wrapped},
};

/// The collective signatures of the committee that signed a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoSignatures {
    /// Signature of the first round, over the header.
    pub cs1: Signature,
    /// The bitmap of signers of the first round, in the order of the committee.
    pub b1: Vec<bool>,
    /// Signature of the second round, over the header and the result of the first round.
    pub cs2: Signature,
    /// The bitmap of signers of the second round, in the order of the committee.
    pub b2: Vec<bool>,
}

impl CoSignatures {
    /// Returns the co-signatures of a block before its committee signs. Each bitmap has `bits` bits, all false.
    ///
    /// The bitmaps of genesis blocks have one bit. The bitmaps of other blocks have a bit for each member of the
    /// committee that signs the block.
    pub fn unsigned(bits: usize) -> Self {
        Self { cs1: Signature::ZERO, b1: vec![false; bits], cs2: Signature::ZERO, b2: vec![false; bits] }
    }

    /// Returns the message of the second round: the serialised header, `CS1` and the packed `B1`.
    ///
    /// Returns `None` if `b1` has more than 65,535 bits.
    pub fn message_for_second_round(&self, header: &[u8]) -> Option<Vec<u8>> {
        Some([header, self.cs1.as_bytes(), &pack_bits(&self.b1)?].concat())
    }

    pub(crate) fn to_message(&self) -> ProtoCoSignatures {
        ProtoCoSignatures {
            cs1: Some(ByteArray::wrap(self.cs1)),
            b1: self.b1.clone(),
            cs2: Some(ByteArray::wrap(self.cs2)),
            b2: self.b2.clone(),
        }
    }

    pub(crate) fn from_message(message: ProtoCoSignatures) -> Result<Self, DecodeError> {
        Ok(Self {
            cs1: Signature::new(expect_wrapped("CoSignatures.cs1", message.cs1.as_ref())?),
            b1: message.b1,
            cs2: Signature::new(expect_wrapped("CoSignatures.cs2", message.cs2.as_ref())?),
            b2: message.b2,
        })
    }
}

/// Returns the packed form of a bitmap, which the committee signs. This form has the number of bits in two bytes, big
/// endian, and then the bits. The first bit is the highest bit of its byte, and zeros fill the last byte. Returns
/// `None` if the bitmap has more than 65,535 bits.
pub fn pack_bits(bits: &[bool]) -> Option<Vec<u8>> {
    let count = u16::try_from(bits.len()).ok()?;
    let byte =
        |bits: &[bool]| bits.iter().zip((0..8).rev()).fold(0, |byte, (bit, place)| byte | u8::from(*bit) << place);
    Some(count.to_be_bytes().into_iter().chain(bits.chunks(8).map(byte)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_packed_from_the_highest() {
        let check = |bits: &str, expected: &[u8]| {
            let bits: Vec<_> = bits.bytes().map(|bit| bit == b'1').collect();
            assert_eq!(pack_bits(&bits).unwrap(), expected);
        };
        check("", &[0, 0]);
        check("1", &[0, 1, 0x80]);
        check("0", &[0, 1, 0]);
        check("10000000", &[0, 8, 0x80]);
        check("100000001", &[0, 9, 0x80, 0x80]);
        check("1011111100", &[0, 10, 0xbf, 0]);
    }

    #[test]
    fn bits_beyond_two_bytes_of_count_cannot_be_packed() {
        assert_eq!(pack_bits(&vec![true; 65_535]).unwrap().len(), 2 + 8192);
        assert_eq!(pack_bits(&vec![true; 65_536]), None);
        let mut cosignatures = CoSignatures::unsigned(1);
        cosignatures.b1 = vec![true; 65_536];
        assert_eq!(cosignatures.message_for_second_round(b"header"), None);
    }

    #[test]
    fn second_round_signs_header_first_signature_and_its_bits() {
        let mut cosignatures = CoSignatures::unsigned(1);
        cosignatures.cs1 = Signature::new([5; 64]);
        cosignatures.b1 = vec![true];
        let message = cosignatures.message_for_second_round(b"header").unwrap();
        assert_eq!(message, [&b"header"[..], &[5; 64], &[0, 1, 0x80]].concat());
    }
}
