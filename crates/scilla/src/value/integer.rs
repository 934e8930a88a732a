//! Integers of 32 to 256 bits. Their arithmetic returns `None` if the result does not fit.

use std::{cmp::Ordering, fmt};

use ruint::aliases::U256;

use crate::types::{Primitive, Width};

/// The sign and the width of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IntegerType {
    /// A signed type of this width.
    Int(Width),
    /// An unsigned type of this width.
    Uint(Width),
}

impl IntegerType {
    /// Returns the integer type of a primitive type, or `None` if the primitive type is not an integer type.
    pub const fn of(primitive: Primitive) -> Option<Self> {
        if let Primitive::Int(width) = primitive {
            Some(Self::Int(width))
        } else if let Primitive::Uint(width) = primitive {
            Some(Self::Uint(width))
        } else {
            None
        }
    }

    /// Returns the width of the type.
    pub const fn width(self) -> Width {
        match self {
            Self::Int(width) | Self::Uint(width) => width,
        }
    }

    /// Returns whether the type has negative numbers.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::Int(_))
    }

    /// Returns the largest magnitude of a number of this type with this sign.
    fn largest(self, negative: bool) -> U256 {
        let all = U256::MAX >> (256 - self.width().bits() as usize);
        match self {
            Self::Uint(_) if negative => U256::ZERO,
            Self::Uint(_) => all,
            Self::Int(_) if negative => (all >> 1_usize) + U256::ONE,
            Self::Int(_) => all >> 1_usize,
        }
    }
}

impl From<IntegerType> for Primitive {
    fn from(ty: IntegerType) -> Self {
        match ty {
            IntegerType::Int(width) => Self::Int(width),
            IntegerType::Uint(width) => Self::Uint(width),
        }
    }
}

/// An integer with its type.
///
/// The fields are sign and magnitude. Zero has no sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Integer {
    magnitude: U256,
    negative: bool,
    ty: IntegerType,
}

impl Integer {
    /// Returns an integer of this type, or `None` if the number does not fit.
    pub(crate) fn new(ty: IntegerType, negative: bool, magnitude: U256) -> Option<Self> {
        let negative = negative && !magnitude.is_zero();
        (magnitude <= ty.largest(negative)).then_some(Self { magnitude, negative, ty })
    }

    /// Returns an integer of type `Uint32`.
    pub fn from_u32(value: u32) -> Self {
        Self { magnitude: U256::from(value), negative: false, ty: IntegerType::Uint(Width::W32) }
    }

    /// Returns an integer of type `Uint64`.
    pub fn from_u64(value: u64) -> Self {
        Self { magnitude: U256::from(value), negative: false, ty: IntegerType::Uint(Width::W64) }
    }

    /// Returns an integer of type `Uint128`.
    pub fn from_u128(value: u128) -> Self {
        Self { magnitude: U256::from(value), negative: false, ty: IntegerType::Uint(Width::W128) }
    }

    /// Parses a number as JSON and the conversions of the language do. Returns `None` if the text is not a number of
    /// this type.
    ///
    /// The form is an optional sign, then digits. As in the reference, the types of 256 bits reject a plus, and
    /// `Uint256` rejects `-0`.
    pub fn parse(ty: IntegerType, text: &str) -> Option<Self> {
        let wide = ty.width() == Width::W256;
        let (sign, digits) = match text.as_bytes().first()? {
            b'+' | b'-' => text.split_at(1),
            _ => ("", text),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) || wide && sign == "+" {
            return None;
        }
        let negative = sign == "-";
        if negative && wide && !ty.is_signed() {
            return None;
        }
        let digits = digits.trim_start_matches('0');
        // The largest magnitude, 2²⁵⁶ - 1, has 78 digits.
        let magnitude = match digits.len() {
            0 => U256::ZERO,
            1..=78 => U256::from_str_radix(digits, 10).ok()?,
            _ => return None,
        };
        Self::new(ty, negative, magnitude)
    }

    /// Reads an unsigned number from big-endian bytes. Returns `None` if the number does not fit.
    pub fn from_unsigned_bytes(ty: IntegerType, bytes: &[u8]) -> Option<Self> {
        Self::new(ty, false, U256::try_from_be_slice(bytes)?)
    }

    /// Returns the type.
    pub const fn ty(&self) -> IntegerType {
        self.ty
    }

    /// Returns the number without its sign.
    pub(crate) const fn magnitude(&self) -> &U256 {
        &self.magnitude
    }

    /// Returns the number as a `u32`, or `None` if it does not fit.
    pub fn to_u32(&self) -> Option<u32> {
        if self.negative { None } else { self.magnitude.try_into().ok() }
    }

    /// Returns the number as a `u128`, or `None` if it does not fit.
    pub fn to_u128(&self) -> Option<u128> {
        if self.negative { None } else { self.magnitude.try_into().ok() }
    }

    /// Returns the bytes in two's complement, big-endian, in the width of the type.
    pub fn to_bytes(&self) -> Vec<u8> {
        let complement = if self.negative { self.magnitude.wrapping_neg() } else { self.magnitude };
        let bytes = complement.to_be_bytes::<32>();
        let skipped = 32 - self.ty.width().bytes() as usize;
        bytes.get(skipped..).unwrap_or_default().to_vec()
    }

    /// Returns the same number in another type, or `None` if it does not fit.
    pub fn convert(&self, ty: IntegerType) -> Option<Self> {
        Self::new(ty, self.negative, self.magnitude)
    }

    /// Adds a number of the same type. Returns `None` if the sum does not fit.
    pub fn add(&self, other: &Self) -> Option<Self> {
        if self.negative == other.negative {
            return Self::new(self.ty, self.negative, self.magnitude.checked_add(other.magnitude)?);
        }
        match self.magnitude.checked_sub(other.magnitude) {
            Some(difference) => Self::new(self.ty, self.negative, difference),
            None => Self::new(self.ty, other.negative, other.magnitude - self.magnitude),
        }
    }

    /// Subtracts a number of the same type. Returns `None` if the difference does not fit.
    pub fn sub(&self, other: &Self) -> Option<Self> {
        // The negated number may not fit into the type. Only the sum is checked.
        self.add(&Self { negative: !other.negative, ..*other })
    }

    /// Multiplies by a number of the same type. Returns `None` if the product does not fit.
    pub fn mul(&self, other: &Self) -> Option<Self> {
        let magnitude = self.magnitude.checked_mul(other.magnitude)?;
        Self::new(self.ty, self.negative != other.negative, magnitude)
    }

    /// Divides by a number of the same type, and rounds toward zero. Returns `None` if the divisor is zero or the
    /// quotient does not fit.
    pub fn div(&self, other: &Self) -> Option<Self> {
        let magnitude = self.magnitude.checked_div(other.magnitude)?;
        Self::new(self.ty, self.negative != other.negative, magnitude)
    }

    /// Returns the remainder of a division that rounds toward zero. It has the sign of the dividend. Returns `None`
    /// if the divisor is zero.
    pub fn rem(&self, other: &Self) -> Option<Self> {
        let magnitude = self.magnitude.checked_rem(other.magnitude)?;
        Self::new(self.ty, self.negative, magnitude)
    }

    /// Raises the number to a power. Returns `None` if the result does not fit. Zero to the power of zero is one.
    pub fn pow(&self, exponent: u32) -> Option<Self> {
        let negative = self.negative && exponent % 2 == 1;
        let mut result = U256::ONE;
        for place in (0..32 - exponent.leading_zeros()).rev() {
            result = result.checked_mul(result)?;
            if exponent >> place & 1 == 1 {
                result = result.checked_mul(self.magnitude)?;
            }
        }
        Self::new(self.ty, negative, result)
    }

    /// Returns the square root, rounded down. The number must not be negative.
    #[must_use]
    pub fn isqrt(&self) -> Self {
        let (mut low, mut high) = (U256::ZERO, U256::ONE << (self.magnitude.bit_len().div_ceil(2)));
        // Invariant: low² ≤ n < high². The bound high² may be 2²⁵⁶, which is above every n.
        while low + U256::ONE < high {
            let middle = (low + high) >> 1_usize;
            let fits = middle.checked_mul(middle).is_some_and(|square| square <= self.magnitude);
            if fits { low = middle } else { high = middle }
        }
        Self { magnitude: low, ..*self }
    }

    /// Compares two integers by value.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.magnitude.cmp(&other.magnitude),
            (true, true) => other.magnitude.cmp(&self.magnitude),
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
        }
    }

    /// Compares the bytes of two numbers of the same type. Negative numbers have the larger bytes.
    pub(crate) fn compare_bytes(&self, other: &Self) -> Ordering {
        if self.negative == other.negative { self.compare(other) } else { self.negative.cmp(&other.negative) }
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.negative { "-" } else { "" }, self.magnitude)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const INT32: IntegerType = IntegerType::Int(Width::W32);
    const UINT256: IntegerType = IntegerType::Uint(Width::W256);
    const INT256: IntegerType = IntegerType::Int(Width::W256);

    fn int32(value: i32) -> Integer {
        Integer::parse(INT32, &value.to_string()).unwrap()
    }

    #[test]
    fn texts_are_read_as_the_reference_reads_them() {
        let check = |ty, text: &str, expected: Option<&str>| {
            let found = Integer::parse(ty, text).map(|integer| integer.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check(INT32, "+007", Some("7"));
        check(INT32, "-0", Some("0"));
        check(INT256, "-0", Some("0"));
        check(UINT256, "-0", None);
        check(INT256, "+1", None);
        check(UINT256, "+1", None);
        check(IntegerType::Uint(Width::W32), "-0", Some("0"));
        check(IntegerType::Uint(Width::W32), "-1", None);
        for wrong in ["", "+", "-", " 1", "1 ", "1_0", "0x1", "--1", "+-1"] {
            check(INT32, wrong, None);
        }
        let long = format!("{}5", "0".repeat(1_000));
        check(INT256, &long, Some("5"));
    }

    #[test]
    fn each_type_holds_its_range_and_no_more() {
        for width in Width::ALL {
            let power = U256::ONE.checked_shl(width.bits() as usize - 1).unwrap();
            let edge = |ty, text: String, fits| assert_eq!(Integer::parse(ty, &text).is_some(), fits, "{text}");
            edge(IntegerType::Int(width), format!("-{power}"), true);
            edge(IntegerType::Int(width), format!("-{}", power + U256::ONE), false);
            edge(IntegerType::Int(width), power.to_string(), false);
            edge(IntegerType::Int(width), (power - U256::ONE).to_string(), true);
            let largest = U256::MAX >> (256 - width.bits() as usize);
            edge(IntegerType::Uint(width), largest.to_string(), true);
            if width != Width::W256 {
                edge(IntegerType::Uint(width), (largest + U256::ONE).to_string(), false);
            }
        }
        edge_of_all();
    }

    fn edge_of_all() {
        // 2²⁵⁶, and a text with more digits.
        let beyond = "115792089237316195423570985008687907853269984665640564039457584007913129639936";
        assert_eq!(Integer::parse(UINT256, beyond), None);
        assert_eq!(Integer::parse(UINT256, &format!("{beyond}0")), None);
    }

    #[test]
    fn the_least_number_is_reached_by_a_power() {
        assert_eq!(int32(-2).pow(31), Some(int32(i32::MIN)));
        assert_eq!(int32(2).pow(31), None);
        assert_eq!(int32(0).pow(0), Some(int32(1)));
        assert_eq!(int32(-1).pow(u32::MAX), Some(int32(-1)));
        let least = Integer::parse(INT256, "-2").unwrap().pow(255).unwrap();
        assert_eq!(least.div(&Integer::parse(INT256, "-1").unwrap()), None);
        assert_eq!(least.rem(&Integer::parse(INT256, "-1").unwrap()).unwrap().to_string(), "0");
    }

    #[test]
    fn bytes_are_twos_complement() {
        assert_eq!(int32(-2).to_bytes(), [255, 255, 255, 254]);
        assert_eq!(Integer::from_u64(258).to_bytes(), [0, 0, 0, 0, 0, 0, 1, 2]);
    }

    proptest! {
        #[test]
        fn arithmetic_is_that_of_the_machine(a: i32, b: i32, e in 0_u32..40) {
            let (x, y) = (int32(a), int32(b));
            prop_assert_eq!(x.add(&y), a.checked_add(b).map(int32));
            prop_assert_eq!(x.sub(&y), a.checked_sub(b).map(int32));
            prop_assert_eq!(x.mul(&y), a.checked_mul(b).map(int32));
            prop_assert_eq!(x.div(&y), a.checked_div(b).map(int32));
            prop_assert_eq!(x.rem(&y), if b == 0 { None } else { Some(int32(a.wrapping_rem(b))) });
            prop_assert_eq!(int32(a % 50).pow(e), (a % 50).checked_pow(e).map(int32));
            prop_assert_eq!(x.compare(&y), a.cmp(&b));
            prop_assert_eq!(x.to_bytes(), a.to_be_bytes());
            prop_assert_eq!(x.compare_bytes(&y), x.to_bytes().cmp(&y.to_bytes()));
        }

        #[test]
        fn roots_are_rounded_down(a: u64, bits in 0_u32..64) {
            let a = a >> bits;
            prop_assert_eq!(Integer::from_u64(a).isqrt(), Integer::from_u64(a.isqrt()));
        }

        #[test]
        fn roots_of_the_widest_are_right(bytes: [u8; 32]) {
            let n = Integer::from_unsigned_bytes(UINT256, &bytes).unwrap();
            let root = n.isqrt();
            prop_assert!(root.mul(&root).unwrap().compare(&n) != Ordering::Greater);
            let next = root.add(&Integer::parse(UINT256, "1").unwrap()).unwrap();
            prop_assert!(next.mul(&next).is_none_or(|square| square.compare(&n) == Ordering::Greater));
        }
    }
}
