//! The version of the language.

/// The only version of the language, as init parameters and modules state it.
pub const VERSION: &str = "0";
