//! Addresses of 20 bytes: hexadecimal, checksum, bech32, derivation from keys and nonces.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};

use bech32::{Bech32, Fe32, Hrp, primitives::decode::CheckedHrpstring};

use crate::{
    bytes::{HexError, fixed_bytes, strip_prefix},
    hash::sha256,
    key::PublicKey,
    number::{Nonce, ShardId},
};

fixed_bytes! {
    /// Address of an account or contract.
    ///
    /// `FromStr` accepts 40 hexadecimal digits in any letter case, with or without `0x`. It does not check the
    /// checksum.
    ///
    /// # Examples
    ///
    /// ```
    /// use silica_protocol::Address;
    /// let address = Address::parse("0x4BAF5faDA8e5Db92C3d3242618c5B47133AE003C")?;
    /// assert_eq!(address.to_string(), "4baf5fada8e5db92c3d3242618c5b47133ae003c");
    /// assert_eq!(Address::parse(&address.to_bech32()), Ok(address));
    /// # Ok::<(), silica_protocol::AddressError>(())
    /// ```
    Address, 20
}

impl From<&PublicKey> for Address {
    /// Returns the address of the account of a public key, as [`Address::from_public_key`] does.
    fn from(key: &PublicKey) -> Self {
        Self::from_public_key(key)
    }
}

const HRP: Hrp = Hrp::parse_unchecked("zil");

/// Prefix and separator of a bech32 address.
const BECH32_PREFIX: &str = "zil1";

/// Number of characters of a bech32 address: 4 of prefix and separator, 32 of data, and 6 of checksum.
const BECH32_LEN: usize = 42;

/// Number of characters of the bech32 checksum.
const BECH32_CHECKSUM_LEN: usize = 6;

/// Reason why text is not a bech32 address with the prefix `zil`. The error message names the expected form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Bech32Error {
    /// The text does not begin with `zil1`.
    #[error("{BECH32_PREFIX} at the beginning")]
    Prefix {
        /// The first four characters of the text.
        got: String,
    },
    /// The text is too short or too long.
    #[error("{BECH32_LEN} characters")]
    Length {
        /// Number of given characters.
        got: usize,
    },
    /// The text has a character that bech32 does not use.
    #[error("one of the characters qpzry9x8gf2tvdw0s3jn54khce6mua7l as character {}", position.saturating_add(1))]
    Character {
        /// Position of the first such character, counted from 0.
        position: usize,
        /// The invalid character.
        got: char,
    },
    /// The last six characters are not the checksum of the other characters.
    #[error("a matching checksum in the last {BECH32_CHECKSUM_LEN} characters")]
    Checksum {
        /// The given checksum.
        got: String,
    },
}

impl Bech32Error {
    /// Returns the given value, for an error text.
    pub fn got(&self) -> String {
        match self {
            Self::Prefix { got } | Self::Checksum { got } => got.clone(),
            Self::Length { got } => format!("{got} characters"),
            Self::Character { got, .. } => got.to_string(),
        }
    }
}

/// Reason why text is not an address in the expected form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// The text is not 40 hexadecimal digits.
    #[error(transparent)]
    Hex(#[from] HexError),
    /// The letter case of the digits does not match the checksum.
    #[error("checksum of address is wrong, expected {expected}")]
    Checksum {
        /// The same address with a correct checksum.
        expected: String,
        /// The given address without `0x`.
        got: String,
    },
    /// The text is not a bech32 address with the prefix `zil`.
    #[error("not a bech32 address with prefix zil: expected {0}, got {got}", got = .0.got())]
    Bech32(Bech32Error),
}

impl AddressError {
    /// Returns the expected value, for an error text.
    pub fn expected(&self) -> String {
        match self {
            Self::Hex(error) => error.expected(),
            Self::Checksum { expected, .. } => expected.clone(),
            Self::Bech32(error) => error.to_string(),
        }
    }

    /// Returns the given value, for an error text.
    pub fn got(&self) -> String {
        match self {
            Self::Hex(error) => error.got(),
            Self::Checksum { got, .. } => got.clone(),
            Self::Bech32(error) => error.got(),
        }
    }
}

impl Address {
    /// Returns the address of the account of a public key: the last 20 bytes of the SHA-256 of the key.
    pub fn from_public_key(key: &PublicKey) -> Self {
        Self::last_twenty(sha256(&[key.as_bytes()]))
    }

    /// Returns the address of the contract that `creator` deploys. `nonce` is the nonce of the creator before the
    /// deployment, which is the nonce of the transaction minus 1.
    pub fn of_contract(creator: &Self, nonce: Nonce) -> Self {
        Self::last_twenty(sha256(&[creator.as_bytes(), &nonce.get().to_be_bytes()]))
    }

    fn last_twenty(hash: [u8; 32]) -> Self {
        let [_, _, _, _, _, _, _, _, _, _, _, _, tail @ ..] = hash;
        Self(tail)
    }

    /// Reads an address in any form that people use: bech32, or 40 hexadecimal digits with or without `0x`. If the
    /// digits have letters of both cases, the checksum must match.
    ///
    /// [`FromStr`](std::str::FromStr) reads hexadecimal digits and ignores the checksum, as the protocol does.
    ///
    /// # Errors
    ///
    /// [`AddressError`]: a text that begins with `zil1` is not a valid bech32 address, or another text is not a valid
    /// hexadecimal address.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        if text.starts_with(BECH32_PREFIX) {
            return Self::from_bech32(text);
        }
        let address: Self = text.parse()?;
        let digits = strip_prefix(text);
        let is_mixed =
            digits.contains(|c: char| c.is_ascii_lowercase()) && digits.contains(|c: char| c.is_ascii_uppercase());
        if is_mixed { Self::from_checksum(text) } else { Ok(address) }
    }

    /// Returns the checksummed hexadecimal form, without prefix.
    ///
    /// A letter at position `i` is in upper case if and only if bit `255 - 6 i` of the SHA-256 of the 20 bytes is set
    /// (Reference: formats#checksum).
    pub fn to_checksum(&self) -> String {
        let hash = sha256(&[&self.0]);
        // Every sixth bit of the hash: four bits of three bytes.
        let (triples, _) = hash.as_chunks();
        let bits = triples.iter().flat_map(|[a, b, c]| [a & 0x80, a & 0x02, b & 0x08, c & 0x20]);
        let digits = self.to_string();
        let upper = |(digit, bit): (char, u8)| if bit == 0 { digit } else { digit.to_ascii_uppercase() };
        digits.chars().zip(bits).map(upper).collect()
    }

    /// Reads the checksummed hexadecimal form, with or without `0x`.
    ///
    /// # Errors
    ///
    /// [`AddressError::Hex`] if the text is not 40 digits, and [`AddressError::Checksum`] if a letter has the wrong
    /// case.
    pub fn from_checksum(text: &str) -> Result<Self, AddressError> {
        let address: Self = text.parse()?;
        let (expected, got) = (address.to_checksum(), strip_prefix(text));
        if got == expected { Ok(address) } else { Err(AddressError::Checksum { expected, got: got.to_owned() }) }
    }

    /// Returns the address in bech32 (BIP-173) with the prefix `zil`.
    #[expect(clippy::missing_panics_doc, reason = "it does not panic")]
    pub fn to_bech32(&self) -> String {
        bech32::encode::<Bech32>(HRP, &self.0).expect("twenty bytes are below the length limit of bech32")
    }

    /// Reads an address in bech32 (BIP-173) with the prefix `zil`, in lower case.
    ///
    /// # Errors
    ///
    /// [`AddressError::Bech32`] with the first fault, in the order of the variants of [`Bech32Error`].
    pub fn from_bech32(text: &str) -> Result<Self, AddressError> {
        let Some(rest) = text.strip_prefix(BECH32_PREFIX) else {
            let got = text.chars().take(BECH32_PREFIX.len()).collect();
            return Err(AddressError::Bech32(Bech32Error::Prefix { got }));
        };
        // The decoder treats the bits of an additional word as padding, so it would accept a longer text.
        let got = text.chars().count();
        if got != BECH32_LEN {
            return Err(AddressError::Bech32(Bech32Error::Length { got }));
        }
        // The prefix is in lower case, and bech32 does not mix letter cases.
        let is_foreign = |c: char| c.is_ascii_uppercase() || Fe32::from_char(c).is_err();
        if let Some((position, got)) = rest.chars().enumerate().find(|(_, c)| is_foreign(*c)) {
            let position = position.saturating_add(BECH32_PREFIX.len());
            return Err(AddressError::Bech32(Bech32Error::Character { position, got }));
        }
        let decoded = CheckedHrpstring::new::<Bech32>(text).ok();
        let bytes: Option<Vec<u8>> = decoded.map(|decoded| decoded.byte_iter().collect());
        bytes.and_then(|bytes| Self::try_from(&bytes[..]).ok()).ok_or_else(|| {
            let got = text.chars().skip(BECH32_LEN.saturating_sub(BECH32_CHECKSUM_LEN)).collect();
            AddressError::Bech32(Bech32Error::Checksum { got })
        })
    }

    /// Returns the shard of the address: the last four bytes of the address as a big-endian number, modulo `shards`.
    /// The result is shard 0 if `shards` is 0 (Reference: execution#shard-of-an-address).
    pub fn shard(&self, shards: u32) -> ShardId {
        let [.., a, b, c, d] = self.0;
        ShardId::new(u32::from_be_bytes([a, b, c, d]).checked_rem(shards).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::Index};

    use super::*;

    proptest! {
        #[test]
        fn every_form_is_read_back(bytes: [u8; 20]) {
            let address = Address::new(bytes);
            let checksum = address.to_checksum();
            prop_assert_eq!(Address::from_checksum(&checksum), Ok(address));
            prop_assert_eq!(Address::from_checksum(&format!("0x{checksum}")), Ok(address));
            prop_assert_eq!(Address::from_bech32(&address.to_bech32()), Ok(address));
            prop_assert_eq!(address.to_string().parse(), Ok(address));
            prop_assert_eq!(address.to_bech32().len(), BECH32_LEN);
            for text in [&checksum, &address.to_bech32(), &address.to_string(), &format!("{address:X}")] {
                prop_assert_eq!(Address::parse(text), Ok(address));
            }
            prop_assert_eq!(Address::parse(&format!("{address:#x}")), Ok(address));
        }

        #[test]
        fn one_letter_of_the_other_case_breaks_the_checksum(bytes: [u8; 20], at: Index) {
            let mut text = Address::new(bytes).to_checksum().into_bytes();
            let letters: Vec<_> = (0..40).filter(|&i| text[i].is_ascii_alphabetic()).collect();
            prop_assume!(!letters.is_empty());
            text[*at.get(&letters)] ^= 0x20;
            let got = String::from_utf8(text).unwrap();
            let is_mixed = got.contains(|c: char| c.is_ascii_lowercase()) && got.contains(|c: char| c.is_ascii_uppercase());
            prop_assert_eq!(Address::parse(&got).is_ok(), !is_mixed);
            let changed = Address::from_checksum(&got);
            prop_assert_eq!(changed, Err(AddressError::Checksum { expected: Address::new(bytes).to_checksum(), got }));
        }

        #[test]
        fn one_other_character_breaks_bech32(bytes: [u8; 20], at: Index, other in "[a-z0-9]") {
            let mut changed = Address::new(bytes).to_bech32();
            let at = at.index(changed.len());
            prop_assume!(changed[at..=at] != other);
            changed.replace_range(at..=at, &other);
            prop_assert!(Address::from_bech32(&changed).is_err());
        }

        #[test]
        fn arbitrary_text_does_not_panic(text: String) {
            prop_assert!(Address::from_bech32(&text).is_err());
            let prefixed = format!("zil1{text}");
            prop_assert!(Address::from_bech32(&prefixed).is_err());
            prop_assert!(Address::from_checksum(&text).is_err() && Address::parse(&text).is_err());
        }

        #[test]
        fn shard_is_the_last_word_modulo_their_number(bytes: [u8; 20], shards in 1_u32..100) {
            let word = bytes[16..].iter().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
            let shard = Address::new(bytes).shard(shards);
            prop_assert_eq!(Some(u64::from(shard.get())), word.checked_rem(shards.into()));
        }
    }

    #[test]
    fn without_shards_there_is_shard_zero() {
        assert_eq!(Address::new([0xff; 20]).shard(0), ShardId::new(0));
        assert_eq!(Address::new([0xff; 20]).shard(1), ShardId::new(0));
    }

    #[test]
    fn null_address_is_its_own_checksum() {
        assert_eq!(Address::from_checksum(&"0".repeat(40)), Ok(Address::ZERO));
    }

    #[test]
    fn bech32_errors_say_what_came() {
        let check = |text: &str, expected: &str| {
            let message = Address::from_bech32(text).unwrap_err().to_string();
            assert_eq!(message, format!("not a bech32 address with prefix zil: {expected}"));
        };
        check("bc1qqqqqqqq", "expected zil1 at the beginning, got bc1q");
        check("zil1é", "expected 42 characters, got 5 characters");
        let good = Address::ZERO.to_bech32();
        for (at, other) in [(5, "b"), (41, "Q"), (9, "1")] {
            let mut wrong = good.clone();
            wrong.replace_range(at..=at, other);
            let place = at + 1;
            check(
                &wrong,
                &format!(
                    "expected one of the characters qpzry9x8gf2tvdw0s3jn54khce6mua7l as character {place}, \
                     got {other}"
                ),
            );
        }
        let wrong = good.replacen("zil1q", "zil1p", 1);
        let sum = &good[36..];
        check(&wrong, &format!("expected a matching checksum in the last 6 characters, got {sum}"));
    }
}
