//! Block numbers: decimal numbers of any length.

use std::{
    borrow::Cow,
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    sync::{Arc, OnceLock},
};

use smallvec::SmallVec;

use super::{Integer, IntegerType};
use crate::types::Width;

/// A block number of Scilla.
///
/// As in the reference, two block numbers are equal if their texts are equal: `01` does not equal `1`. Only JSON can
/// contain leading zeros.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BNum(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    /// A number of 64 bits whose text has no leading zeros.
    Small(u64),
    /// Any other number.
    Large(Arc<Large>),
}

/// A number in limbs of 18 decimal digits. A sum processes one limb at a time. The conversion to text does not divide
/// the whole number.
struct Large {
    /// The limbs, the least significant first. The last limb is not 0.
    limbs: Vec<u64>,
    /// The number of digits of the text, leading zeros included.
    digits: usize,
    /// The text, or empty until a caller needs it.
    text: OnceLock<Box<str>>,
}

/// The number of decimal digits in a limb.
const LIMB_DIGITS: usize = 18;
/// One more than the largest limb.
const LIMB: u64 = 1_000_000_000_000_000_000;

/// Number of decimal digits of the largest 64-bit number.
const SMALL_DIGITS: usize = 20;

/// The limbs of a number, without allocation for a short number.
type Limbs = SmallVec<[u64; 5]>;

impl BNum {
    /// Parses a block number: one or more digits. Returns `None` for any other text.
    ///
    /// The pattern of the reference also accepts a line feed after the digits. This function rejects it.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        if (text.len() == 1 || !text.starts_with('0'))
            && let Ok(number) = text.parse()
        {
            return Some(Self(Repr::Small(number)));
        }
        let limbs = limbs_of(text.trim_start_matches('0')).into_vec();
        Some(Self(Repr::Large(Arc::new(Large { limbs, digits: text.len(), text: OnceLock::new() }))))
    }

    /// Returns the block number of an integer.
    pub const fn from_u64(number: u64) -> Self {
        Self(Repr::Small(number))
    }

    /// Returns the digits of the text.
    pub fn digits(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Small(number) => number.to_string().into(),
            Repr::Large(large) => large.text().into(),
        }
    }

    /// Returns the number of digits of the text.
    #[expect(clippy::len_without_is_empty, reason = "a number has a digit at least")]
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Small(number) => number.checked_ilog10().map_or(1, |log| log as usize + 1),
            Repr::Large(large) => large.digits,
        }
    }

    /// Compares two block numbers by value.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Small(left), Repr::Small(right)) => left.cmp(right),
            _ => compare(&self.limbs(), &other.limbs()),
        }
    }

    /// Compares the texts of two block numbers, byte by byte.
    pub(super) fn compare_texts(&self, other: &Self) -> Ordering {
        let (mut left, mut right) = ([0; SMALL_DIGITS], [0; SMALL_DIGITS]);
        self.text(&mut left).cmp(other.text(&mut right))
    }

    /// Returns the bytes of the text. For a number of at most 64 bits, writes the text to `buffer`. A larger number
    /// keeps its text for later calls.
    fn text<'a>(&'a self, buffer: &'a mut [u8; SMALL_DIGITS]) -> &'a [u8] {
        match &self.0 {
            Repr::Small(number) => decimal(*number, buffer),
            Repr::Large(large) => large.text().as_bytes(),
        }
    }

    /// Adds an integer, which must not be negative.
    #[must_use]
    pub fn add(&self, number: &Integer) -> Self {
        if let (Repr::Small(left), Some(right)) =
            (&self.0, number.to_u128().and_then(|number| u64::try_from(number).ok()))
            && let Some(sum) = left.checked_add(right)
        {
            return Self(Repr::Small(sum));
        }
        Self::from_limbs(add(&self.limbs(), &limbs_of(&number.to_string())))
    }

    /// Subtracts a block number. Returns `None` if the difference does not fit into an `Int256`.
    pub fn sub(&self, other: &Self) -> Option<Integer> {
        let (left, right) = (self.limbs(), other.limbs());
        let (sign, difference) = match compare(&left, &right) {
            Ordering::Less => ("-", sub(&right, &left)),
            Ordering::Equal => ("", Vec::new()),
            Ordering::Greater => ("", sub(&left, &right)),
        };
        // An `Int256` has 77 digits at most.
        if difference.len() > 77_usize.div_ceil(LIMB_DIGITS) {
            return None;
        }
        let text = format!("{sign}{}", Self::from_limbs(difference));
        Integer::parse(IntegerType::Int(Width::W256), &text)
    }

    /// Returns the number with these limbs, without leading zeros in its text.
    fn from_limbs(limbs: Vec<u64>) -> Self {
        let small = match limbs.as_slice() {
            [] => Some(0),
            [low] => Some(*low),
            [low, high] => high.checked_mul(LIMB).and_then(|high| high.checked_add(*low)),
            _ => None,
        };
        if let Some(number) = small {
            return Self(Repr::Small(number));
        }
        let digits = significant_digits(&limbs);
        Self(Repr::Large(Arc::new(Large { limbs, digits, text: OnceLock::new() })))
    }

    fn limbs(&self) -> Cow<'_, [u64]> {
        match &self.0 {
            Repr::Small(number) => {
                let mut limbs = vec![number % LIMB, number / LIMB];
                trim(&mut limbs);
                limbs.into()
            }
            Repr::Large(large) => large.limbs.as_slice().into(),
        }
    }
}

impl Large {
    fn text(&self) -> &str {
        self.text.get_or_init(|| {
            let mut text = vec![b'0'; self.digits - significant_digits(&self.limbs)];
            if let Some((first, rest)) = self.limbs.split_last() {
                text.reserve_exact(self.digits - text.len());
                text.extend_from_slice(first.to_string().as_bytes());
                for limb in rest.iter().rev() {
                    let mut digits = [b'0'; LIMB_DIGITS];
                    let mut left = *limb;
                    for digit in digits.iter_mut().rev() {
                        *digit = b'0' + u8::try_from(left % 10).unwrap_or(0);
                        left /= 10;
                    }
                    text.extend_from_slice(&digits);
                }
            }
            String::from_utf8(text).unwrap_or_default().into_boxed_str()
        })
    }
}

/// Compares the texts by limbs and number of digits, without making the texts.
impl PartialEq for Large {
    fn eq(&self, other: &Self) -> bool {
        self.digits == other.digits && self.limbs == other.limbs
    }
}

impl Eq for Large {}

impl Hash for Large {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digits.hash(state);
        self.limbs.hash(state);
    }
}

impl fmt::Display for BNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.digits())
    }
}

impl fmt::Debug for BNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BNum({self})")
    }
}

/// Writes the digits of a number to the end of `buffer`, and returns them.
fn decimal(mut number: u64, buffer: &mut [u8; SMALL_DIGITS]) -> &[u8] {
    let mut start = SMALL_DIGITS;
    for digit in buffer.iter_mut().rev() {
        *digit = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
        start -= 1;
        if number == 0 {
            break;
        }
    }
    buffer.get(start..).unwrap_or_default()
}

/// Parses digits without leading zeros into limbs.
fn limbs_of(digits: &str) -> Limbs {
    let value = |limb: &[u8]| limb.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
    let mut limbs: Limbs = digits.as_bytes().rchunks(LIMB_DIGITS).map(value).collect();
    while limbs.last() == Some(&0) {
        limbs.pop();
    }
    limbs
}

fn significant_digits(limbs: &[u64]) -> usize {
    let Some((first, rest)) = limbs.split_last() else { return 0 };
    rest.len() * LIMB_DIGITS + first.checked_ilog10().map_or(0, |log| log as usize + 1)
}

fn trim(limbs: &mut Vec<u64>) {
    while limbs.last() == Some(&0) {
        limbs.pop();
    }
}

fn compare(left: &[u64], right: &[u64]) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.iter().rev().cmp(right.iter().rev()))
}

fn add(left: &[u64], right: &[u64]) -> Vec<u64> {
    let (long, short) = if left.len() < right.len() { (right, left) } else { (left, right) };
    let mut sum = Vec::with_capacity(long.len() + 1);
    let mut carry = 0;
    let mut short = short.iter();
    let mut long = long.iter();
    for limb in long.by_ref() {
        let other = short.next();
        if other.is_none() && carry == 0 {
            sum.push(*limb);
            break;
        }
        let both = limb + other.unwrap_or(&0) + carry;
        carry = u64::from(both >= LIMB);
        sum.push(both - carry * LIMB);
    }
    // After the last carry, the higher limbs do not change.
    sum.extend_from_slice(long.as_slice());
    if carry > 0 {
        sum.push(carry);
    }
    sum
}

/// Returns the difference of two numbers. The first must be at least as large as the second.
fn sub(left: &[u64], right: &[u64]) -> Vec<u64> {
    let mut borrowed = 0;
    let others = right.iter().copied().chain(std::iter::repeat(0));
    let limbs = left.iter().zip(others).map(|(limb, other)| {
        let taken = other + borrowed;
        borrowed = u64::from(*limb < taken);
        limb + borrowed * LIMB - taken
    });
    let mut difference: Vec<u64> = limbs.collect();
    trim(&mut difference);
    difference
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
        assert_ne!(bnum("0"), bnum("00"));
        assert_eq!(bnum("0").compare(&bnum("00")), Ordering::Equal);
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
        assert_eq!(bnum(&long).add(&Integer::from_u32(1)).digits(), format!("1{}", "0".repeat(100)));
        assert_eq!(bnum("000").add(&Integer::from_u32(0)).digits(), "0");
        assert_eq!(bnum("007").add(&Integer::from_u32(0)), bnum("7"));
        assert_eq!(bnum(&long).sub(&bnum("1")), None);
        assert_eq!(bnum(&long).sub(&bnum(&long)).unwrap().to_string(), "0");
        let largest = u64::MAX.to_string();
        assert_eq!(bnum(&largest).add(&Integer::from_u32(1)), bnum("18446744073709551616"));
    }

    #[test]
    fn numbers_at_the_ends_of_limbs_keep_their_texts() {
        for digits in (1..60).chain([67_500]) {
            for text in ["9".repeat(digits), format!("1{}", "0".repeat(digits)), format!("0{}", "5".repeat(digits))] {
                assert_eq!(bnum(&text).digits(), text);
                assert_eq!(bnum(&text), bnum(&text).clone());
            }
        }
    }

    /// Arithmetic on the texts, digit by digit.
    mod by_digits {
        use std::cmp::Ordering;

        pub(super) fn compare(left: &str, right: &str) -> Ordering {
            let (left, right) = (left.trim_start_matches('0'), right.trim_start_matches('0'));
            left.len().cmp(&right.len()).then_with(|| left.cmp(right))
        }

        /// Returns the digits of a text from the last to the first, and then zeros without end.
        fn from_the_last(digits: &str) -> impl Iterator<Item = u8> + '_ {
            digits.bytes().rev().map(|byte| byte - b'0').chain(std::iter::repeat(0))
        }

        pub(super) fn add(left: &str, right: &str) -> String {
            let mut carry = 0;
            let mut places: Vec<u8> = (from_the_last(left).zip(from_the_last(right)).take(left.len().max(right.len())))
                .map(|(left, right)| {
                    let sum = left + right + carry;
                    carry = sum / 10;
                    sum % 10
                })
                .collect();
            places.push(carry);
            text_of(places)
        }

        /// Returns the difference of two numbers. The first must be at least as large as the second.
        pub(super) fn sub(left: &str, right: &str) -> String {
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

        fn text_of(mut places: Vec<u8>) -> String {
            while places.len() > 1 && places.last() == Some(&0) {
                places.pop();
            }
            places.into_iter().rev().map(|digit| char::from(b'0' + digit)).collect()
        }
    }

    /// Returns texts of numbers. Some numbers have long sequences of nines and zeros, so that a carry passes through
    /// many digits.
    fn texts() -> impl Strategy<Value = String> {
        let piece = prop_oneof!["[0-9]{1,8}", "9{1,40}", "0{1,40}"];
        proptest::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_digits(text in texts(), summand in "[0-9]{1,76}|9{1,76}") {
            let integer = Integer::parse(IntegerType::Uint(Width::W256), &summand).unwrap();
            let sum = bnum(&text).add(&integer);
            let expected = by_digits::add(&text, &summand);
            prop_assert_eq!(sum.digits(), expected.as_str());
            prop_assert_eq!(&sum, &bnum(&expected));
        }

        #[test]
        fn differences_and_orders_are_those_of_the_digits(text in texts(), other in texts(), near in 0_u32..5) {
            let shifted = by_digits::add(&text, &near.to_string());
            for other in [&other, &shifted] {
                let order = by_digits::compare(&text, other);
                prop_assert_eq!(bnum(&text).compare(&bnum(other)), order);
                prop_assert_eq!(bnum(&text).compare_texts(&bnum(other)), text.cmp(other));
                prop_assert_eq!(bnum(&text) == bnum(other), text == **other);
                let expected = match order {
                    Ordering::Less => format!("-{}", by_digits::sub(other, &text)),
                    Ordering::Equal => "0".to_owned(),
                    Ordering::Greater => by_digits::sub(&text, other),
                };
                let expected = Integer::parse(IntegerType::Int(Width::W256), &expected);
                prop_assert_eq!(bnum(&text).sub(&bnum(other)), expected);
            }
        }

        #[test]
        fn texts_of_numbers_of_all_lengths_are_compared_letter_by_letter(
            a: u64, b: u64, shifts in (0_u32..64, 0_u32..64), long in texts(),
        ) {
            let (a, b) = (a >> shifts.0, b >> shifts.1);
            for (left, right) in [(a, b), (a, a), (a, a / 10), (a, a.wrapping_add(1)), (0, b), (u64::MAX, b)] {
                let expected = left.to_string().cmp(&right.to_string());
                prop_assert_eq!(BNum::from_u64(left).compare_texts(&BNum::from_u64(right)), expected);
            }
            let (short, long_number) = (BNum::from_u64(a), bnum(&long));
            prop_assert_eq!(short.compare_texts(&long_number), a.to_string().cmp(&long));
            prop_assert_eq!(long_number.compare_texts(&short), long.cmp(&a.to_string()));
        }

        #[test]
        fn small_numbers_agree_with_the_machine(a: u64, b: u64) {
            let sum = bnum(&a.to_string()).add(&Integer::from_u64(b));
            prop_assert_eq!(sum.digits(), (u128::from(a) + u128::from(b)).to_string());
            let difference = bnum(&a.to_string()).sub(&bnum(&b.to_string())).unwrap();
            prop_assert_eq!(difference.to_string(), (i128::from(a) - i128::from(b)).to_string());
            prop_assert_eq!(bnum(&a.to_string()).compare(&bnum(&b.to_string())), a.cmp(&b));
        }
    }
}
