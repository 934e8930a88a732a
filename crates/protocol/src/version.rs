//! Chain id and message version in one number.

use core::{fmt, str::FromStr};

use crate::number::{NumberError, parse_decimal};

/// Number of a network: 1 is the main network, 333 the developer test network, 222 an isolated server. 2 to 9 are
/// reserved for the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId(u16);

impl ChainId {
    /// The main network (Reference: formats#version).
    pub const MAINNET: Self = Self(1);
    /// The developer test network (Reference: formats#version).
    pub const TESTNET: Self = Self(333);
    /// An isolated server, which is one node on the machine of a developer (Reference: formats#version).
    pub const ISOLATED: Self = Self(222);

    /// Wraps a number. All numbers of 16 bits are valid.
    pub const fn new(id: u16) -> Self {
        Self(id)
    }

    /// Returns the number as an integer.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl From<u16> for ChainId {
    fn from(id: u16) -> Self {
        Self(id)
    }
}

impl From<ChainId> for u16 {
    fn from(id: ChainId) -> Self {
        id.0
    }
}

impl fmt::Display for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ChainId {
    type Err = NumberError;

    /// Reads decimal digits, without sign or space.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_decimal(text, u16::MAX).map(Self)
    }
}

/// The `version` member of a transaction: chain id in the upper 16 bits, message version in the lower 16 bits.
///
/// # Examples
///
/// ```
/// use silica_protocol::{ChainId, Version};
/// let version = Version::of_chain(ChainId::TESTNET);
/// assert_eq!(version.to_string(), "21823489");
/// assert_eq!((version.chain_id(), version.message_version()), (ChainId::TESTNET, 1));
/// assert_eq!("21823489".parse(), Ok(version));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u32);

impl Version {
    /// The message version of transactions of generation 8.1.
    pub const MESSAGE: u16 = 1;

    /// Returns the version of a transaction on the chain `id`.
    pub const fn of_chain(id: ChainId) -> Self {
        Self(((id.0 as u32) << 16) | Self::MESSAGE as u32)
    }

    /// Wraps the number of a `version` member. All numbers of 32 bits are valid.
    pub const fn from_packed(packed: u32) -> Self {
        Self(packed)
    }

    /// Returns the number for a `version` member.
    pub const fn packed(self) -> u32 {
        self.0
    }

    /// Returns the chain id, in the upper 16 bits.
    pub const fn chain_id(self) -> ChainId {
        let [high, low, _, _] = self.0.to_be_bytes();
        ChainId(u16::from_be_bytes([high, low]))
    }

    /// Returns the message version, in the lower 16 bits.
    pub const fn message_version(self) -> u16 {
        let [_, _, high, low] = self.0.to_be_bytes();
        u16::from_be_bytes([high, low])
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Version {
    type Err = NumberError;

    /// Reads the number of a `version` member in decimal digits, without sign or space.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_decimal(text, u32::MAX).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn chain_id_is_a_number_of_sixteen_bits() {
        assert_eq!("65535".parse(), Ok(ChainId::new(u16::MAX)));
        let got = "65536".to_owned();
        assert_eq!(got.parse::<ChainId>(), Err(NumberError::Range { max: u16::MAX.into(), got }));
    }

    proptest! {
        #[test]
        fn halves_are_chain_and_message(chain: u16, packed: u32) {
            let version = Version::of_chain(ChainId::new(chain));
            prop_assert_eq!((version.chain_id().get(), version.message_version()), (chain, Version::MESSAGE));
            let version = Version::from_packed(packed);
            let halves = u32::from(version.chain_id().get()) << 16 | u32::from(version.message_version());
            prop_assert_eq!(halves, packed);
        }
    }
}
