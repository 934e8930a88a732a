//! The version of the language.

/// The only version of the language.
pub const VERSION: &str = "0";
