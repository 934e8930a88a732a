//! Tests of the source files: the modules of each crate form layers, no file is too large, and texts have no rejected
//! words.
#![cfg(test)]

mod layers;
mod size;
mod source;
mod words;
