//! Converts source text to tokens and to the syntax tree, and the tree to text.
//!
//! ```text
//! bytes ─▶ lexer ─▶ parser ─▶ ast ─▶ pretty: one style, for people
//!            │                 └───▶ tree: in the shapes of the reference, for tools
//!            ├─ comments ───────────▶ pretty: the formatter puts them back
//!            └─ comments ───────────▶ outline: documentation and positions, for tools
//! ```

#[expect(clippy::wildcard_enum_match_arm, reason = "few of the many tokens matter")]
mod address_fields;
pub mod ast;
mod lexer;
mod outline;
#[expect(clippy::wildcard_enum_match_arm, reason = "a production looks for its few tokens among all of them")]
mod parser;
mod pretty;
mod token;
mod tree;
mod walk;

pub(crate) use self::address_fields::address_fields;
pub use self::outline::{Outline, Part, PartKind, is_library, module_name};
pub use self::parser::{
    MAX_ERRORS, MAX_NESTING, MAX_TEXT, parse_contract, parse_expression, parse_library, parse_statements, parse_type,
};
pub use self::pretty::{
    comments, format_contract, format_expression, format_library, print_contract, print_expression, print_library,
};
pub(crate) use self::tree::{Group, Piece};
pub use self::tree::{SexpStyle, Tree, contract_sexp, expression_sexp, library_sexp};
