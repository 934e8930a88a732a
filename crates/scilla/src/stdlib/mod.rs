//! The standard library: texts of our own, embedded.
//!
//! Libraries are evaluated and paid for in every run that imports them, and a run that fails inside one reports the
//! line. So a text must have the shape of expressions that the reference's has, node by node, and the same lines; names
//! of variables, comments and layout are free. The table in `shapes.txt` is that shape, and a test compares it with the
//! texts. How a line of the table reads:
//!
//! | Form | Node |
//! |---|---|
//! | `fun@n X`, `tfun@n X` | a function, a type function, and its body |
//! | `let@n(X) Y` | what is bound, and the rest |
//! | `matchK@n[A \| B]` | a match of K clauses, and their branches |
//! | `appK@n`, `instK@n` | an application to K arguments, to K types |
//! | `ctor@n:C`, `lit@n`, `var@n` | a constructor, a literal, a variable |
//! | `name@n` | a builtin |

/// The libraries by name, in alphabetical order.
pub const ALL: [(&str, &str); 8] = [
    ("BoolUtils", include_str!("BoolUtils.scillib")),
    ("Conversions", include_str!("Conversions.scillib")),
    ("CryptoUtils", include_str!("CryptoUtils.scillib")),
    ("IntUtils", include_str!("IntUtils.scillib")),
    ("ListUtils", include_str!("ListUtils.scillib")),
    ("NatUtils", include_str!("NatUtils.scillib")),
    ("PairUtils", include_str!("PairUtils.scillib")),
    ("Polynetwork", include_str!("Polynetwork.scillib")),
];

/// Returns the text of a library.
pub fn text(name: &str) -> Option<&'static str> {
    ALL.into_iter().find(|(known, _)| *known == name).map(|(_, text)| text)
}
