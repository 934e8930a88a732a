//! The structure of the sources: the modules of each crate form layers, no file is too large, and texts are plain.
#![cfg(test)]

mod layers;
mod size;
mod source;
mod words;
