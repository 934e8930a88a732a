//! JSON shapes of requests and answers, and the envelope that carries them.

pub mod envelope;
pub mod error;
pub mod number;
