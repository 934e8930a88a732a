//! Use of money by the built-in functions.

use super::tag::Tag;
use Form::{Clash, Map, Money, NotMoney, Optional, Value};

/// The form of a result or an argument in one use of a function. A use has one open tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A form that cannot be followed, such as a list of keys and values.
    Clash,
    /// A map to values of the open tag.
    Map,
    Money,
    NotMoney,
    /// An option of a value of the open tag.
    Optional,
    /// A value of the open tag.
    Value,
}

/// One use of a function: the result, then the arguments.
type Use = &'static [Form];

/// Returns the uses of a function, or an empty slice if it cannot be followed.
///
/// The rows for `mul` and `div` permit an amount times or divided by a number. They do not permit an amount times or
/// divided by an amount. As in the reference, a function without a row clashes with any tag, even if it belongs to a
/// family with a row: `to_int128` is followed, `to_uint128` is not.
fn uses(name: &str) -> &'static [Use] {
    match name {
        "add" | "sub" => &[&[NotMoney, NotMoney, NotMoney], &[Money, Money, Money]],
        "badd" | "bech32_to_bystr20" | "blt" | "bsub" | "bystr20_to_bech32" | "concat" | "pow" => {
            &[&[NotMoney, NotMoney, NotMoney]]
        }
        "contains" => &[&[NotMoney, Map, NotMoney]],
        "div" | "rem" => &[&[NotMoney, NotMoney, NotMoney], &[Money, Money, NotMoney]],
        "eq" | "lt" => &[&[NotMoney, NotMoney, NotMoney], &[NotMoney, Money, Money]],
        "get" => &[&[Optional, Map, NotMoney]],
        "keccak256hash" | "ripemd160hash" | "schnorr_get_address" | "sha256hash" | "strlen" | "to_bystr" => {
            &[&[NotMoney, NotMoney]]
        }
        "mul" => &[&[NotMoney, NotMoney, NotMoney], &[Money, NotMoney, Money], &[Money, Money, NotMoney]],
        "put" => &[&[Map, Map, NotMoney, Value]],
        "remove" => &[&[Map, Map, NotMoney]],
        "schnorr_verify" | "substr" => &[&[NotMoney, NotMoney, NotMoney, NotMoney]],
        "size" => &[&[NotMoney, Map]],
        "to_int128" | "to_int256" | "to_int32" | "to_int64" | "to_nat" | "to_string" => {
            &[&[NotMoney, NotMoney], &[Money, Money]]
        }
        "to_list" => &[&[Clash, Map]],
        _ => &[],
    }
}

/// Returns the tags of the result and the arguments of a call, from their known tags: the common part of all uses that
/// fit.
///
/// The uses that fit each place are found separately. Each use of one place is joined with each use of the others.
pub(super) fn call(name: &str, result: Tag, arguments: Vec<Tag>) -> (Tag, Vec<Tag>) {
    let known: Vec<_> = std::iter::once(result).chain(arguments).collect();
    let uses = uses(name);
    let mut joined = vec![vec![Tag::NoInfo; known.len()]];
    for (place, tag) in known.iter().enumerate() {
        let fitting = fitting(uses, place, tag);
        joined = joined.iter().flat_map(|one| fitting.iter().map(|other| pairwise(one, other, Tag::join))).collect();
    }
    let nothing = vec![Tag::Inconsistent; known.len()];
    let mut met = joined.iter().fold(nothing, |met, one| pairwise(&met, one, Tag::meet)).into_iter();
    (met.next().unwrap_or_default(), met.collect())
}

/// Returns the uses in which a place may have a tag, filled in. If there are none, the place clashes in all uses.
fn fitting(uses: &[Use], place: usize, tag: &Tag) -> Vec<Vec<Tag>> {
    let open = |of: &Use| of.get(place).and_then(|form| form.open(tag)).map(|open| filled(of, &open));
    let fitting: Vec<_> = uses.iter().filter_map(open).collect();
    if !fitting.is_empty() {
        return fitting;
    }
    let clashing = |of: &Use| {
        let mut tags = filled(of, &Tag::NoInfo);
        if let Some(tag) = tags.get_mut(place) {
            *tag = Tag::Inconsistent;
        }
        tags
    };
    uses.iter().map(clashing).collect()
}

fn filled(of: &[Form], open: &Tag) -> Vec<Tag> {
    of.iter().map(|form| form.tag(open)).collect()
}

fn pairwise(one: &[Tag], other: &[Tag], of: fn(&Tag, &Tag) -> Tag) -> Vec<Tag> {
    one.iter().zip(other).map(|(one, other)| of(one, other)).collect()
}

impl Form {
    /// Returns the open tag if a value of this form has the tag `tag`, or `None` if it cannot.
    fn open(self, tag: &Tag) -> Option<Tag> {
        let known = *tag != Tag::NoInfo;
        match self {
            Map if known => tag.value(1).cloned(),
            Optional => tag.held(),
            Money if known && *tag != Tag::Money => None,
            NotMoney if known && *tag != Tag::NotMoney => None,
            Value => Some(tag.clone()),
            Clash | Map | Money | NotMoney => Some(Tag::NoInfo),
        }
    }

    /// Returns the tag of a value of this form.
    fn tag(self, open: &Tag) -> Tag {
        match self {
            Clash => Tag::Inconsistent,
            Map => Tag::map(open.clone()),
            Money => Tag::Money,
            NotMoney => Tag::NotMoney,
            Optional => Tag::option(open.clone()),
            Value => open.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::is_builtin;

    /// Checks the tags of a result and its arguments. `?` stands for `NoInfo`, `$` for `Money`, `#` for `NotMoney`, `!`
    /// for `Inconsistent`, `[…]` for maps and `<…>` for options.
    fn check(name: &str, known: &str, expected: &str) {
        assert!(is_builtin(name), "{name}");
        let mut tags = known.split(' ').map(tag);
        let (result, arguments) = call(name, tags.next().unwrap(), tags.collect());
        let expected: Vec<_> = expected.split(' ').map(tag).collect();
        assert_eq!([vec![result], arguments].concat(), expected, "{name} {known}");
    }

    fn tag(text: &str) -> Tag {
        match text {
            "?" => Tag::NoInfo,
            "$" => Tag::Money,
            "#" => Tag::NotMoney,
            "!" => Tag::Inconsistent,
            _ => {
                let inner = tag(&text[1..text.len() - 1]);
                if text.starts_with('[') { Tag::map(inner) } else { Tag::option(inner) }
            }
        }
    }

    #[test]
    fn a_sum_is_what_its_parts_are() {
        check("add", "? ? ?", "? ? ?");
        check("add", "? $ ?", "$ $ $");
        check("sub", "# ? ?", "# # #");
        check("add", "$ ? #", "! ! !");
        check("add", "? [$] ?", "? ! ?");
        check("add", "? [$] $", "$ ! $");
    }

    #[test]
    fn an_amount_times_a_number_is_an_amount() {
        check("mul", "? ? ?", "? ? ?");
        check("mul", "$ # ?", "$ # ?");
        check("mul", "$ ? ?", "$ ? ?");
        check("mul", "? $ ?", "$ $ #");
        check("mul", "? $ $", "$ ! !");
        check("mul", "# ? ?", "# # #");
        check("mul", "? ! ?", "? ! ?");
    }

    #[test]
    fn an_amount_by_a_number_is_an_amount() {
        check("div", "? ? ?", "? ? #");
        check("rem", "$ ? ?", "$ $ #");
        check("div", "? # ?", "# # #");
        check("div", "? ? $", "? ? !");
    }

    #[test]
    fn like_is_compared_with_like() {
        check("eq", "? ? ?", "# ? ?");
        check("lt", "? $ ?", "# $ $");
        check("eq", "? # $", "# ! !");
        check("eq", "$ ? ?", "! ? ?");
        check("eq", "? <?> ?", "# ! ?");
        check("eq", "? <?> $", "# ! $");
    }

    #[test]
    fn a_conversion_changes_nothing() {
        check("to_int128", "? $", "$ $");
        check("to_string", "# ?", "# #");
        check("to_nat", "? ?", "? ?");
        check("to_nat", "! ?", "! ?");
    }

    #[test]
    fn bytes_and_blocks_are_no_money() {
        check("sha256hash", "? ?", "# #");
        check("sha256hash", "? $", "# !");
        check("blt", "? # ?", "# # #");
        check("concat", "$ ? $", "! # !");
        check("substr", "? ? ? ?", "# # # #");
        check("schnorr_verify", "? ? $ ?", "# # ! #");
        check("pow", "? $ ?", "# ! #");
    }

    #[test]
    fn maps_are_followed_through_their_values() {
        check("put", "? ? ? $", "[$] [$] # $");
        check("put", "? [$] ? ?", "[$] [$] # $");
        check("put", "[$] ? ? #", "[!] [!] # !");
        check("put", "# ? $ ?", "! [?] ! ?");
        check("get", "? [$] ?", "<$> [$] #");
        check("get", "<#> ? ?", "<#> [#] #");
        check("get", "[#] ? ?", "! [?] #");
        check("remove", "[$] ? ?", "[$] [$] #");
        check("contains", "? ? ?", "# [?] #");
        check("size", "? <$>", "# !");
        check("to_list", "? [$]", "! [$]");
    }

    #[test]
    fn what_is_not_followed_clashes() {
        check("to_uint128", "? $", "! !");
        check("isqrt", "? ?", "! !");
        check("to_bystr32", "? ?", "! !");
        check("ecdsa_verify", "? ? ? ?", "! ! ! !");
    }
}
