//! Tokens, the tree, the parser.

pub mod ast;
