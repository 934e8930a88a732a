//! Relations of types in their written form.

use super::*;
use crate::syntax::parse_type;

fn read(text: &str) -> Type {
    parse_type(text).unwrap_or_else(|failure| panic!("{text}: {failure}"))
}

/// Checks that every pair of these types is equivalent.
fn check_same(texts: &[&str]) {
    let types: Vec<_> = texts.iter().map(|text| read(text)).collect();
    for (a, a_text) in types.iter().zip(texts) {
        for (b, b_text) in types.iter().zip(texts) {
            assert!(equivalent(a, b), "{a_text} is {b_text}");
            assert!(assignable(a, b), "{a_text} takes {b_text}");
        }
    }
}

/// Checks that each of these types accepts the later ones, but not the reverse.
fn check_widest_first(texts: &[&str]) {
    let types: Vec<_> = texts.iter().map(|text| read(text)).collect();
    for (index, (wide, wide_text)) in types.iter().zip(texts).enumerate() {
        for (narrow, narrow_text) in types.iter().zip(texts).skip(index + 1) {
            assert!(assignable(wide, narrow), "{wide_text} takes {narrow_text}");
            assert!(!assignable(narrow, wide), "{narrow_text} does not take {wide_text}");
            assert!(!equivalent(narrow, wide) && !equivalent(wide, narrow), "{narrow_text} is not {wide_text}");
        }
    }
}

/// Checks that none of these types accepts another.
fn check_apart(texts: &[&str]) {
    let types: Vec<_> = texts.iter().map(|text| read(text)).collect();
    for (a_index, (a, a_text)) in types.iter().zip(texts).enumerate() {
        for (b_index, (b, b_text)) in types.iter().zip(texts).enumerate() {
            assert_eq!(assignable(a, b), a_index == b_index, "{a_text} takes {b_text}");
            assert_eq!(equivalent(a, b), a_index == b_index, "{a_text} is {b_text}");
        }
    }
}

/// Replaces `_` in a type by each of these types.
fn within(whole: &str, texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| whole.replace('_', &format!("({text})"))).collect()
}

fn borrowed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// Types in the order from the widest to the narrowest.
const CHAINS: [&[&str]; 6] = [
    &["ByStr20", "ByStr20 with end", "ByStr20 with _codehash end", "ByStr20 with library end"],
    &[
        "ByStr20",
        "ByStr20 with end",
        "ByStr20 with _codehash end",
        "ByStr20 with contract end",
        "ByStr20 with contract field a : ByStr20 end",
        "ByStr20 with contract field a : ByStr20, field b : Nat end",
        "ByStr20 with contract field b : Nat, field c : Bool, field a : ByStr20 with end end",
        "ByStr20 with contract field a : ByStr20 with contract end, field b : Nat, field c : Bool end",
    ],
    &[
        "ByStr20 with contract field m : Map ByStr20 ByStr20 end",
        "ByStr20 with contract field m : Map ByStr20 (ByStr20 with end) end",
        "ByStr20 with contract field m : Map (ByStr20 with end) (ByStr20 with end) end",
    ],
    &[
        "ByStr20 with contract field l : List ByStr20 end",
        "ByStr20 with contract field l : List (ByStr20 with end) end",
        "ByStr20 with contract field l : List (ByStr20 with contract field l : Nat end) end",
    ],
    &["Pair ByStr20 ByStr20", "Pair ByStr20 (ByStr20 with end)", "Pair (ByStr20 with end) (ByStr20 with end)"],
    &["Nat -> ByStr20", "Nat -> ByStr20 with end", "Nat -> ByStr20 with contract end"],
];

#[test]
fn names_of_bound_variables_do_not_matter() {
    check_same(&["forall 'A. 'A", "forall 'B. 'B", "forall 'Xyz. 'Xyz"]);
    check_same(&["forall 'K. forall 'V. Pair 'K 'V", "forall 'V. forall 'K. Pair 'V 'K"]);
    check_same(&["forall 'T. (Nat -> 'T) -> List 'T", "forall 'Nat. (Nat -> 'Nat) -> List 'Nat"]);
    check_same(&["Nat -> (forall 'A. 'A -> 'F) -> 'F", "Nat -> (forall 'B. 'B -> 'F) -> 'F"]);
    check_same(&[
        "forall 'A. (forall 'A. 'A) -> 'A",
        "forall 'A. (forall 'B. 'B) -> 'A",
        "forall 'C. (forall 'A. 'A) -> 'C",
    ]);
    check_apart(&["forall 'A. (forall 'B. 'A) -> 'A", "forall 'A. (forall 'B. 'B) -> 'A"]);
    check_apart(&[
        "forall 'A. forall 'B. 'A",
        "forall 'A. forall 'B. 'B",
        "forall 'A. 'A",
        "forall 'A. 'F",
        "'A",
        "'F",
    ]);
}

#[test]
fn order_of_fields_does_not_matter() {
    check_same(&[
        "ByStr20 with contract field a : Nat, field b : Bool end",
        "ByStr20 with contract field b : Bool, field a : Nat end",
    ]);
    check_same(&[
        "ByStr20 with contract field a : (forall 'A. 'A), field b : ByStr20 with contract field c : Nat end end",
        "ByStr20 with contract field b : ByStr20 with contract field c : Nat end, field a : (forall 'B. 'B) end",
    ]);
}

#[test]
fn each_chain_has_its_widest_type_first() {
    for chain in CHAINS {
        check_widest_first(chain);
    }
}

#[test]
fn composite_types_follow_the_order_of_their_parts() {
    for chain in CHAINS {
        for whole in [
            "List _",
            "Option _",
            "Pair _ Nat",
            "Pair (List _) _",
            "Nat -> _",
            "Nat -> Bool -> List _",
            "forall 'T. Pair 'T _",
        ] {
            check_widest_first(&borrowed(&within(whole, chain)));
        }
    }
}

#[test]
fn parameters_go_the_other_way() {
    for chain in CHAINS {
        for whole in
            ["_ -> Nat", "Nat -> _ -> Nat", "List _ -> Nat", "(Nat -> _) -> Nat", "(forall 'T. 'T -> _) -> Nat"]
        {
            let mut reversed = within(whole, chain);
            reversed.reverse();
            check_widest_first(&borrowed(&reversed));
        }
        check_widest_first(&borrowed(&within("(_ -> Nat) -> Nat", chain)));
    }
}

#[test]
fn maps_follow_keys_and_values() {
    for value in ["ByStr20", "ByStr20 with end", "ByStr20 with contract end"] {
        let keys = ["ByStr20", "ByStr20 with end", "ByStr20 with contract field a : Nat end"];
        let maps: Vec<_> = keys.iter().map(|key| format!("Map ({key}) ({value})")).collect();
        check_widest_first(&borrowed(&maps));
    }
    check_widest_first(&["Map String (Map Int32 ByStr20)", "Map String (Map Int32 (ByStr20 with end))"]);
    check_apart(&["Map String Nat", "Map Int32 Nat", "Map String Bool", "Map String (Map String Nat)"]);
}

#[test]
fn type_that_narrows_and_widens_is_unrelated() {
    check_apart(&["Pair ByStr20 (ByStr20 with end)", "Pair (ByStr20 with end) ByStr20"]);
    check_apart(&["ByStr20 -> ByStr20", "ByStr20 with end -> ByStr20 with end"]);
    check_apart(&[
        "ByStr20 with contract field a : ByStr20, field b : ByStr20 with end end",
        "ByStr20 with contract field a : ByStr20 with end, field b : ByStr20 end",
        "ByStr20 with contract field a : ByStr20 with end, field c : ByStr20 end",
    ]);
}

#[test]
fn different_types_are_apart() {
    check_apart(&[
        "Int32",
        "Int64",
        "Int128",
        "Int256",
        "Uint32",
        "Uint64",
        "Uint128",
        "Uint256",
        "String",
        "BNum",
        "ByStr",
        "ByStr0",
        "ByStr19",
        "ByStr20",
        "ByStr21",
        "Message",
        "Event",
        "Bool",
        "Nat",
        "Option Nat",
        "List Nat",
        "List Bool",
        "List (List Nat)",
        "Pair Nat Bool",
        "Pair Bool Nat",
        "Map String Nat",
        "Nat -> Nat",
        "Nat -> Bool",
        "Nat -> Nat -> Nat",
        "(Nat -> Nat) -> Nat",
        "'A",
        "'B",
        "List 'A",
        "forall 'A. 'A",
        "forall 'A. List 'A",
        "forall 'A. 'A -> 'A",
        "forall 'A. forall 'B. 'A -> 'B",
    ]);
    check_apart(&["ByStr20 with library end", "ByStr20 with contract end", "ByStr21"]);
    check_apart(&[
        "ByStr20 with contract field a : Nat end",
        "ByStr20 with contract field a : Bool end",
        "ByStr20 with contract field b : Nat end",
    ]);
}

#[test]
fn nested_maps_are_as_deep_as_their_keys() {
    for (text, depth) in
        [("Nat", 0), ("List (Map String Nat)", 0), ("Map String Nat", 1), ("Map String (Map Int32 (Map BNum Nat))", 3)]
    {
        assert_eq!(read(text).map_depth(), depth, "{text}");
    }
}

#[test]
fn ground_types_have_no_variables() {
    for (text, is_ground) in [
        ("Nat", true),
        ("Map String (List Nat)", true),
        ("'T", false),
        ("Nat -> List 'T", false),
        ("forall 'T. 'T -> 'T", false),
        ("forall 'T. Nat", false),
        ("ByStr20 with contract field a : Nat end", true),
        ("ByStr20 with contract field a : 'T end", false),
    ] {
        assert_eq!(read(text).is_ground(), is_ground, "{text}");
    }
}
