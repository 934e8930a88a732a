//! Rules for money in calls of built-in functions.

use super::tag::Tag;
use Form::{Clash, Map, Money, NotMoney, Optional, Value};

/// The form of a result or an argument in one use of a function. The open tag is a placeholder, which stands for the
/// same tag in all forms of a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A form that the analysis cannot follow, for example a list of keys and values.
    Clash,
    /// A map whose values have the open tag.
    Map,
    Money,
    NotMoney,
    /// An option whose value has the open tag.
    Optional,
    /// A value that has the open tag itself.
    Value,
}

/// One use of a function: the form of the result, then the forms of the arguments.
type Use = &'static [Form];

/// Returns the uses of a function. Returns an empty slice if the analysis cannot follow the function.
///
/// The rows for `mul` and `div` permit a number as the other operand of an amount, but not a second amount. As in the
/// reference, a function without a row clashes with any tag, even if a similar function has a row: `to_int128` has a
/// row, `to_uint128` has none.
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

/// Returns the tags of the result and the arguments of a call. They are the common part of all uses that fit the
/// known tags.
///
/// The function finds the fitting uses for the result and for each argument separately. Then it joins each fitting use
/// for one of these values with each fitting use for the others.
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

/// Returns the uses in which the value with the index `place` may have the tag `tag`. Index 0 is the result, and the
/// other indexes are the arguments. In each returned use, the open tag is replaced by the tag that follows from `tag`.
/// If no use fits, returns all uses, with the tag `Inconsistent` at this index.
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
    /// Returns the open tag that this form requires for the tag `tag`, or `None` if a value of this form cannot have
    /// `tag`.
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

    /// Returns the tag of a value of this form for an open tag.
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

    /// Checks the tags of a result and its arguments. `?` stands for `NoInfo`, `$` for `Money`, `#` for `NotMoney`,
    /// `!` for `Inconsistent`, `[…]` for maps and `<…>` for options.
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
