//! Accounts from a mnemonic. BIP-39 defines the seed of the words, and BIP-44 defines the paths of the keys of a
//! Zilliqa wallet.

use std::{fmt, str::FromStr};

use bip39::{Error, Language};
use zeroize::Zeroizing;

use crate::{derivation::DerivableKey, error::SecretKeyError, key::KeyPair};

/// The coin type of Zilliqa (SLIP-44).
const COIN: u32 = 313;

/// A mnemonic, from which a wallet derives its keys. `Debug` does not show the words, which are erased on drop.
///
/// # Examples
///
/// ```
/// use silica_crypto::Mnemonic;
/// let words: Mnemonic = "legal winner thank year wave sausage worth useful legal winner thank yellow".parse()?;
/// let keys = words.keys(2)?;
/// assert_eq!(keys[0].address().to_string(), "dda52b7725798135ae5c08395554dd5794764a93");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Mnemonic(Zeroizing<String>);

/// Reason why a text is not a mnemonic. The error does not show any of the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MnemonicError {
    /// A mnemonic cannot have this number of words.
    #[error("expected 12, 15, 18, 21 or 24 words, got {got}")]
    Count {
        /// The number of words.
        got: usize,
    },
    /// A word is not in the English list of BIP-39.
    #[error("expected words of the English list of BIP-39, got another word at position {position}")]
    Word {
        /// Position of the word, from 1.
        position: usize,
    },
    /// All words are in the list, but their checksum does not match.
    #[error("the checksum does not match: a word is wrong, or two words are swapped")]
    Checksum,
}

impl FromStr for Mnemonic {
    type Err = MnemonicError;

    /// Parses English words of BIP-39, which are separated by white space.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let words = Zeroizing::new(words.join(" "));
        let read = bip39::Mnemonic::parse_in_normalized(Language::English, &words);
        read.map_err(|error| match error {
            Error::BadWordCount(got) => MnemonicError::Count { got },
            Error::UnknownWord(position) => MnemonicError::Word { position: position.saturating_add(1) },
            Error::InvalidChecksum | Error::BadEntropyBitCount(_) | Error::AmbiguousLanguages(_) => {
                MnemonicError::Checksum
            }
        })?;
        Ok(Self(words))
    }
}

impl fmt::Debug for Mnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mnemonic(..)")
    }
}

impl Mnemonic {
    /// Derives the first `count` keys of the wallet, at the paths m/44'/313'/0'/0/0, m/44'/313'/0'/0/1 and so on. The
    /// mnemonic has no additional password.
    ///
    /// # Errors
    ///
    /// [`SecretKeyError::Range`] if a path gives no valid key, which happens about once in 2^127 paths.
    #[expect(clippy::missing_panics_doc, reason = "a value has only words that were read before")]
    pub fn keys(&self, count: u32) -> Result<Vec<KeyPair>, SecretKeyError> {
        let words = bip39::Mnemonic::parse_in_normalized(Language::English, &self.0);
        let seed = Zeroizing::new(words.expect("it was read before").to_seed_normalized(""));
        let account = DerivableKey::from_seed(&*seed)?.hardened(44)?.hardened(COIN)?.hardened(0)?.child(0)?;
        (0..count).map(|index| Ok(KeyPair::from(account.child(index)?.secret().clone()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = "legal winner thank year wave sausage worth useful legal winner thank yellow";

    #[test]
    fn keys_are_those_of_a_zilliqa_wallet() {
        // The results of `Wallet.addByMnemonic` of zilliqa-js 3.5.0 for these words and indexes.
        let keys = WORDS.parse::<Mnemonic>().unwrap().keys(1000).unwrap();
        for (index, address, secret) in [
            (
                0,
                "dda52b7725798135ae5c08395554dd5794764a93",
                "9b6e11b4378a9e836be65f60faf42f25a1008b0e1f98781eccc487fed618276f",
            ),
            (
                1,
                "0cb67ceba33ebd6e223f45df8122228080d994e5",
                "6f06cf24c49ef971d802db7508d8837f405f3ae58eb919066170498e088d89e5",
            ),
            (
                2,
                "d899027a7d3df3aaa63077dabdd785fa1936c99e",
                "2e5d34418de54fb17867507df999ce0f5ba60edc87003b7f64c1c9a00dc02204",
            ),
            (
                999,
                "4c7f4798ddbf27dc686b8db73b025c104b093f6a",
                "89187b8fe526685f1a51055152cf078e794e58a5892eaf080afb710fa02daac8",
            ),
        ] {
            assert_eq!(keys[index].address().to_string(), address);
            assert_eq!(keys[index].secret().to_hex().as_str(), secret);
        }
    }

    #[test]
    fn spaces_between_words_are_ignored() {
        let spaced = format!("  {}\n", WORDS.replace(' ', "\t "));
        assert_eq!(spaced.parse::<Mnemonic>().unwrap(), WORDS.parse().unwrap());
    }

    #[test]
    fn errors_show_no_word() {
        let check = |text: &str, expected| assert_eq!(text.parse::<Mnemonic>().unwrap_err(), expected);
        check("", MnemonicError::Count { got: 0 });
        check("legal winner", MnemonicError::Count { got: 2 });
        check(&WORDS.replace("year", "jahr"), MnemonicError::Word { position: 4 });
        check(&WORDS.replace("year", "yellow"), MnemonicError::Checksum);
        assert_eq!(format!("{:?}", WORDS.parse::<Mnemonic>().unwrap()), "Mnemonic(..)");
    }
}
