//! The grammar of literals.

use std::cmp::Ordering;

use super::{Parsed, Parser, types};
use crate::{
    syntax::{
        ast::Literal,
        lexer::unescape,
        token::{Token, TokenKind},
    },
    types::{Primitive, Width},
    value::is_text_byte,
};

impl Parser<'_> {
    /// Returns the literal for a type and a number. Reports a number that does not fit.
    pub(super) fn number_literal(&mut self, kind: Token, number: Token) -> Literal {
        let number = plain_decimal(self.text(number));
        let name = self.simple(kind);
        let Some(primitive) = types::primitive(&name) else {
            self.report(kind.span.start, "Syntax error: Invalid primitive type");
            return Literal::String(number.into());
        };
        match primitive {
            Primitive::String => Literal::String(number.into()),
            Primitive::Int(width) if fits(&number, Limits::signed(width)) => Literal::Integer(primitive, number.into()),
            Primitive::Uint(width) if fits(&number, Limits::unsigned(width)) => {
                Literal::Integer(primitive, number.into())
            }
            Primitive::BNum if !number.starts_with('-') => Literal::BNum(number.into()),
            Primitive::BNum
            | Primitive::ByStr
            | Primitive::ByStrX(_)
            | Primitive::Event
            | Primitive::Exception
            | Primitive::Int(_)
            | Primitive::Message
            | Primitive::ReplicateContract
            | Primitive::Uint(_) => {
                self.report(kind.span.start, format!("Syntax error: Invalid {primitive} literal {number}"));
                Literal::String(number.into())
            }
        }
    }

    /// Returns the literal for hexadecimal digits.
    pub(super) fn hex_literal(&self, token: Token) -> Literal {
        let digits = self.text(token).get(2..).unwrap_or_default();
        let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok()).unwrap_or(0);
        let byte = |pair: &[u8]| pair.iter().fold(0_u8, |byte, &digit| (byte << 4) | value(digit));
        Literal::Bytes(digits.as_bytes().chunks(2).map(byte).collect())
    }

    /// Returns the literal for a text in quotes.
    pub(super) fn string_literal(&mut self, token: Token) -> Literal {
        let quoted = self.lexer.bytes(token);
        let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
        let contents = unescape_all(inner);
        let text = String::from_utf8_lossy(&contents);
        if !contents.iter().copied().all(is_text_byte) {
            self.report(token.span.start, format!("Syntax error: Invalid String literal {text}"));
        }
        Literal::String(text.into())
    }

    /// Parses the types after `Emp`.
    pub(super) fn parse_empty_map(&mut self) -> Parsed<Literal> {
        let (key, value) = self.parse_map_types()?;
        Ok(Literal::EmptyMap { key, value })
    }

    /// Parses a literal that begins with `0x`, a quote or `Emp`. Returns `None` for other tokens.
    pub(super) fn maybe_literal(&mut self) -> Parsed<Option<Literal>> {
        let token = self.peek();
        let literal = match token.kind {
            TokenKind::Hex => self.hex_literal(token),
            TokenKind::String => self.string_literal(token),
            TokenKind::Emp => {
                self.bump();
                return self.parse_empty_map().map(Some);
            }
            _ => return Ok(None),
        };
        self.bump();
        Ok(Some(literal))
    }
}

fn unescape_all(inner: &[u8]) -> Vec<u8> {
    let mut contents = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        contents.push(match byte {
            b'\\' => bytes.next().and_then(unescape).unwrap_or(byte),
            _ => byte,
        });
    }
    contents
}

/// Returns a number without leading zeros. Zero has no sign.
pub(super) fn plain_decimal(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("-", digits));
    match digits.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => format!("{sign}{digits}"),
    }
}

/// Largest and smallest number of a type, as decimal digits without sign.
#[derive(Clone, Copy)]
struct Limits {
    largest: &'static str,
    smallest: &'static str,
}

impl Limits {
    const fn unsigned(width: Width) -> Self {
        let largest = match width {
            Width::W32 => "4294967295",
            Width::W64 => "18446744073709551615",
            Width::W128 => "340282366920938463463374607431768211455",
            Width::W256 => "115792089237316195423570985008687907853269984665640564039457584007913129639935",
        };
        Self { largest, smallest: "0" }
    }

    const fn signed(width: Width) -> Self {
        let (largest, smallest) = match width {
            Width::W32 => ("2147483647", "2147483648"),
            Width::W64 => ("9223372036854775807", "9223372036854775808"),
            Width::W128 => ("170141183460469231731687303715884105727", "170141183460469231731687303715884105728"),
            Width::W256 => (
                "57896044618658097711785492504343953926634992332820282019728792003956564819967",
                "57896044618658097711785492504343953926634992332820282019728792003956564819968",
            ),
        };
        Self { largest, smallest }
    }
}

/// Returns whether a number in plain decimal is within the limits.
fn fits(number: &str, limits: Limits) -> bool {
    let (digits, limit) = match number.strip_prefix('-') {
        Some(digits) => (digits, limits.smallest),
        None => (number, limits.largest),
    };
    digits.len().cmp(&limit.len()).then_with(|| digits.cmp(limit)) != Ordering::Greater
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns 2 to this power, in decimal.
    fn power_of_two(exponent: u32) -> String {
        let mut digits = vec![1_u8];
        for _ in 0..exponent {
            let mut carry = 0;
            for digit in &mut digits {
                let doubled = *digit * 2 + carry;
                *digit = doubled % 10;
                carry = doubled / 10;
            }
            if carry > 0 {
                digits.push(carry);
            }
        }
        digits.iter().rev().map(|digit| char::from(b'0' + digit)).collect()
    }

    /// Returns the previous number. The last digit of `number` must not be 0.
    fn before(number: &str) -> String {
        let (head, last) = number.split_at(number.len() - 1);
        format!("{head}{}", last.parse::<u8>().unwrap() - 1)
    }

    #[test]
    fn limits_are_powers_of_two() {
        for width in Width::ALL {
            let unsigned = Limits::unsigned(width);
            assert_eq!(unsigned.largest, before(&power_of_two(width.bits())));
            assert_eq!(unsigned.smallest, "0");
            let signed = Limits::signed(width);
            assert_eq!(signed.largest, before(&power_of_two(width.bits() - 1)));
            assert_eq!(signed.smallest, power_of_two(width.bits() - 1));
        }
    }

    #[test]
    fn numbers_lose_zeros_and_the_sign_of_zero() {
        for (number, plain) in [("0", "0"), ("-0", "0"), ("007", "7"), ("-00", "0"), ("-010", "-10"), ("100", "100")] {
            assert_eq!(plain_decimal(number), plain);
        }
    }
}
