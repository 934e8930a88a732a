//! The structure of the sources: the modules of each crate form layers, and no file is too large.
#![cfg(test)]

mod layers;
mod size;
mod source;
