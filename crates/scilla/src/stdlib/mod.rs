//! The embedded texts of the standard library.
//!
//! Each run that imports a library evaluates the library and uses gas for the evaluation. The error of a run that fails
//! inside a library contains a line number of the library. So each text must have the same tree of expressions as the
//! text of the reference, and each expression must be on the same line. Names of variables, comments and layout may
//! differ. The table in `shapes.txt` has the expressions, and a test compares it with the texts. The forms of the table
//! are:
//!
//! | Form | Node |
//! |---|---|
//! | `fun@n X`, `tfun@n X` | a function or a type function, and its body |
//! | `let@n(X) Y` | the bound expression, and the body |
//! | `matchK@n[A \| B]` | a match of K clauses, and their branches |
//! | `appK@n`, `instK@n` | an application to K arguments, to K types |
//! | `ctor@n:C`, `lit@n`, `var@n` | a constructor, a literal, a variable |
//! | `name@n` | a built-in function |

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

/// Returns the text of a library, or `None` if the standard library does not have it.
pub fn text(name: &str) -> Option<&'static str> {
    ALL.into_iter().find(|(known, _)| *known == name).map(|(_, text)| text)
}

/// A source that has only the standard library.
#[derive(Clone, Copy, Debug)]
pub struct Standard;

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::{
        syntax::{
            ast::{ExprId, ExpressionKind, LibraryEntry, LibraryModule},
            parse_library,
        },
        types::{Type, TypeText},
    };

    const SHAPES: &str = include_str!("shapes.txt");

    fn library(name: &str) -> LibraryModule {
        let text = text(name).unwrap();
        parse_library(&format!("{name}.scillib"), text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error:?}"))
    }

    /// Returns the shape of an expression in the form of the table.
    fn shape(module: &LibraryModule, id: ExprId) -> String {
        let expression = module.arena.get(id);
        let line = module.source.start(expression.span).line;
        let body = |id: &ExprId| shape(module, *id);
        match &expression.kind {
            ExpressionKind::Apply { arguments, .. } => format!("app{}@{line}", arguments.len()),
            ExpressionKind::Builtin { name, .. } => format!("{}@{line}", name.name.as_written()),
            ExpressionKind::Construct { constructor, .. } => format!("ctor@{line}:{}", constructor.name.base()),
            ExpressionKind::Fixpoint { .. } | ExpressionKind::Message(_) => panic!("no library has one"),
            ExpressionKind::Function { body: inner, .. } => format!("fun@{line} {}", body(inner)),
            ExpressionKind::Let { value, body: rest, .. } => format!("let@{line}({}) {}", body(value), body(rest)),
            ExpressionKind::Literal(_) => format!("lit@{line}"),
            ExpressionKind::Match { clauses, .. } => {
                let branches: Vec<_> = clauses.iter().map(|clause| body(&clause.body)).collect();
                format!("match{}@{line}[{}]", clauses.len(), branches.join(" | "))
            }
            ExpressionKind::Instantiate { types, .. } => format!("inst{}@{line}", types.len()),
            ExpressionKind::TypeFunction { body: inner, .. } => format!("tfun@{line} {}", body(inner)),
            ExpressionKind::Variable(_) => format!("var@{line}"),
        }
    }

    #[test]
    fn every_node_has_its_kind_and_its_line() {
        let mut found = String::new();
        let mut order: Vec<&str> = Vec::new();
        for name in SHAPES.lines().filter_map(|line| line.split(' ').next()) {
            if !order.contains(&name) {
                order.push(name);
            }
        }
        assert_eq!(order.len(), ALL.len(), "the table has every library");
        for name in order {
            let module = library(name);
            for entry in &module.library.entries {
                if let LibraryEntry::Value { name: entry, body, .. } = entry {
                    writeln!(found, "{name} {} {}", entry.name.as_written(), shape(&module, *body)).unwrap();
                }
            }
        }
        for (found, expected) in found.lines().zip(SHAPES.lines()) {
            assert_eq!(found, expected);
        }
        assert_eq!(found.lines().count(), SHAPES.lines().count());
    }

    #[test]
    fn a_library_imports_what_it_builds_on() {
        let imports = |name: &str| {
            let module = library(name);
            let names: Vec<_> =
                module.imports.iter().map(|import| import.library.name.as_written().to_string()).collect();
            names.join(" ")
        };
        assert_eq!(imports("BoolUtils"), "");
        assert_eq!(imports("CryptoUtils"), "BoolUtils");
        assert_eq!(imports("Conversions"), "IntUtils");
        assert_eq!(imports("Polynetwork"), "Conversions ListUtils BoolUtils");
    }

    #[test]
    fn types_have_their_constructors() {
        let mut found = Vec::new();
        for (name, _) in ALL {
            for entry in library(name).library.entries {
                let LibraryEntry::Type { name, constructors } = entry else { continue };
                for constructor in constructors {
                    let arguments: Vec<_> = constructor
                        .arguments
                        .iter()
                        .map(Type::as_written)
                        .map(|text: TypeText<'_>| text.to_string())
                        .collect();
                    found.push(format!(
                        "{}: {} {}",
                        name.name.as_written(),
                        constructor.name.name.as_written(),
                        arguments.join(", ")
                    ));
                }
            }
        }
        let expected = [
            "IntegerEncoding: LittleEndian ",
            "IntegerEncoding: BigEndian ",
            "Header: Header Uint32, Uint64, ByStr32, ByStr32, ByStr32, ByStr32, Uint32, Uint32, Uint64, ByStr, ByStr20",
            "TxParam: TxParam ByStr, ByStr, ByStr, Uint64, ByStr, ByStr, ByStr",
            "ToMerkleValue: ToMerkleValue ByStr, Uint64, TxParam",
            "Pubkey: Pubkey ByStr67",
            "Signature: Signature ByStr65",
            "Unit: Unit ",
            "Proof: Proof ByStr, List (Pair (ByStr1) (ByStr32))",
        ];
        assert_eq!(found, expected);
    }
}
