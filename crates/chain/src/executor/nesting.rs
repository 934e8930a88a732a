//! The depth of JSON values, which JSON readers limit.

use serde_json::Value as Json;

/// Maximum number of levels of a value in a trace or in a state change. A level is an array or object that is not
/// empty. The last level can contain empty arrays and objects.
///
/// `serde_json` reads documents with at most 127 levels by default. A response has at most 110 levels: 49 around a
/// value, 60 in the value, and an empty array or object. The deepest place is in a batch: a step of the contract after
/// twenty chained calls, which is the maximum.
pub(super) const MOST_LEVELS: usize = 60;

/// Returns whether a value has at most `levels` levels of containers that are not empty, as receipts count them. The
/// recursion is safe, because a reader with a depth limit has read the value.
pub(super) fn is_shallow(value: &Json, levels: usize) -> bool {
    let below = |value: &Json| levels.checked_sub(1).is_some_and(|levels| is_shallow(value, levels));
    match value {
        Json::Array(elements) => elements.iter().all(below),
        Json::Object(members) => members.values().all(below),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => true,
    }
}

/// Returns a value, or its text if it has more than [`MOST_LEVELS`] levels.
pub(crate) fn readable(value: Json) -> Json {
    if is_shallow(&value, MOST_LEVELS) { value } else { Json::String(value.to_string()) }
}

/// Returns a value with all parts below `levels` levels converted by [`readable`].
pub(super) fn readable_parts(value: &Json, levels: usize) -> Json {
    match (value, levels.checked_sub(1)) {
        (Json::Array(elements), Some(below)) => elements.iter().map(|part| readable_parts(part, below)).collect(),
        (Json::Object(members), Some(below)) => {
            members.iter().map(|(name, part)| (name.clone(), readable_parts(part, below))).collect()
        }
        (whole, _) => readable(whole.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns `levels` nested containers, arrays and objects in turn.
    fn nested(levels: usize) -> Json {
        (0..levels).fold(json!(1), |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({"a": inner}) })
    }

    #[test]
    fn containers_are_counted() {
        for levels in [0, 1, 2, 100] {
            assert!(is_shallow(&nested(levels), levels));
            assert!(levels == 0 || !is_shallow(&nested(levels), levels - 1));
        }
    }

    #[test]
    fn empty_containers_are_not_counted() {
        let around = |inner: Json, levels| (0..levels).fold(inner, |inner, _| json!([inner]));
        for empty in [json!([]), json!({})] {
            assert!(is_shallow(&around(empty.clone(), MOST_LEVELS), MOST_LEVELS));
            assert!(!is_shallow(&around(empty, MOST_LEVELS + 1), MOST_LEVELS));
        }
    }

    #[test]
    fn value_with_too_many_levels_becomes_text() {
        let (deepest, deeper) = (nested(MOST_LEVELS), nested(MOST_LEVELS + 1));
        assert_eq!(readable(deepest.clone()), deepest);
        assert_eq!(readable(deeper.clone()), json!(deeper.to_string()));
    }

    #[test]
    fn parts_are_text_one_by_one() {
        let (deepest, deeper) = (nested(MOST_LEVELS), nested(MOST_LEVELS + 1));
        let params = json!([{"vname": "a", "value": deepest}, {"vname": "b", "value": deeper}, deeper]);
        // An array with one level too many, whose element has the permitted levels.
        let last = json!([nested(MOST_LEVELS)]);
        let text = |value: &Json| json!(value.to_string());
        let expected = json!([{"vname": "a", "value": deepest}, {"vname": "b", "value": text(&deeper)}, last]);
        assert_eq!(readable_parts(&params, 2), expected);
        assert_eq!(readable_parts(&params, 0), text(&params));
    }
}
