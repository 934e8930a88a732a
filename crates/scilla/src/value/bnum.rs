//! Block numbers: decimal texts of any length.

use std::{cmp::Ordering, fmt, sync::Arc};

use super::{Integer, IntegerKind};
use crate::types::Width;

/// A block number, kept as its text.
///
/// Equality is that of the texts, as in the reference: `01` is not `1`. Only JSON can hold leading zeros.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BNum {
    digits: Arc<str>,
}

impl BNum {
    /// Reads a block number: digits alone, at least one.
    ///
    /// The reference also takes a line feed after the digits, by accident of its pattern; this does not.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| Self { digits: text.into() })
    }

    /// The block number of a number.
    pub fn from_u64(number: u64) -> Self {
        Self { digits: number.to_string().into() }
    }

    /// Returns the text.
    pub fn digits(&self) -> &Arc<str> {
        &self.digits
    }

    /// Compares as numbers.
    pub fn compare(&self, other: &Self) -> Ordering {
        compare(self.significant(), other.significant())
    }

    /// Adds a number that is not negative.
    #[must_use]
    pub fn add(&self, number: &Integer) -> Self {
        Self { digits: add(self.significant(), &number.to_string()).into() }
    }

    /// Returns the difference, if an `Int256` holds it.
    pub fn sub(&self, other: &Self) -> Option<Integer> {
        let (left, right) = (self.significant(), other.significant());
        let text = match compare(left, right) {
            Ordering::Less => format!("-{}", sub(right, left)),
            Ordering::Equal => "0".to_owned(),
            Ordering::Greater => sub(left, right),
        };
        Integer::parse(IntegerKind::Int(Width::W256), &text)
    }

    /// The digits without leading zeros; none for zero.
    fn significant(&self) -> &str {
        self.digits.trim_start_matches('0')
    }
}

impl fmt::Display for BNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.digits)
    }
}

impl fmt::Debug for BNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BNum({})", self.digits)
    }
}

fn compare(left: &str, right: &str) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

/// Digits of a text from the last to the first, then zeros for ever.
fn from_the_last(digits: &str) -> impl Iterator<Item = u8> + '_ {
    digits.bytes().rev().map(|byte| byte - b'0').chain(std::iter::repeat(0))
}

fn add(left: &str, right: &str) -> String {
    let length = left.len().max(right.len());
    let mut carry = 0;
    let mut places: Vec<u8> = (from_the_last(left).zip(from_the_last(right)).take(length))
        .map(|(left, right)| {
            let sum = left + right + carry;
            carry = sum / 10;
            sum % 10
        })
        .collect();
    places.push(carry);
    text_of(places)
}

/// The difference of two numbers, the first not the smaller.
fn sub(left: &str, right: &str) -> String {
    let mut borrowed = 0;
    let places = (from_the_last(left).zip(from_the_last(right)).take(left.len()))
        .map(|(left, right)| {
            let taken = right + borrowed;
            borrowed = u8::from(left < taken);
            left + 10 * borrowed - taken
        })
        .collect();
    text_of(places)
}

/// The text of digits, the last first.
fn text_of(mut places: Vec<u8>) -> String {
    while places.len() > 1 && places.last() == Some(&0) {
        places.pop();
    }
    if places.is_empty() {
        places.push(0);
    }
    places.into_iter().rev().map(|digit| char::from(b'0' + digit)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bnum(text: &str) -> BNum {
        BNum::parse(text).unwrap()
    }

    #[test]
    fn equality_is_of_texts_and_order_of_numbers() {
        assert_ne!(bnum("01"), bnum("1"));
        assert_eq!(bnum("01").compare(&bnum("1")), Ordering::Equal);
        assert_eq!(bnum("009").compare(&bnum("10")), Ordering::Less);
    }

    #[test]
    fn only_digits_are_block_numbers() {
        for wrong in ["", "-1", "+1", "1\n", " 1", "0x1", "1e3"] {
            assert_eq!(BNum::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_of_any_length_are_added() {
        let long = "9".repeat(100);
        assert_eq!(bnum(&long).add(&Integer::from_u32(1)).digits().as_ref(), format!("1{}", "0".repeat(100)));
        assert_eq!(bnum("000").add(&Integer::from_u32(0)).digits().as_ref(), "0");
        assert_eq!(bnum(&long).sub(&bnum("1")), None);
        assert_eq!(bnum(&long).sub(&bnum(&long)).unwrap().to_string(), "0");
    }

    proptest! {
        #[test]
        fn small_numbers_agree_with_the_machine(a: u64, b: u64) {
            let sum = bnum(&a.to_string()).add(&Integer::from_u64(b));
            prop_assert_eq!(sum.digits().as_ref(), (u128::from(a) + u128::from(b)).to_string());
            let difference = bnum(&a.to_string()).sub(&bnum(&b.to_string())).unwrap();
            prop_assert_eq!(difference.to_string(), (i128::from(a) - i128::from(b)).to_string());
            prop_assert_eq!(bnum(&a.to_string()).compare(&bnum(&b.to_string())), a.cmp(&b));
        }
    }
}
