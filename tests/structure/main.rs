//! The structure of the sources: the modules of each crate form layers.
#![cfg(test)]

mod layers;
mod source;
