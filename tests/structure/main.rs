//! The structure of the sources: the modules of each crate form layers, the files of a directory form no circles, no
//! file is too large, and texts are plain.
#![cfg(test)]

mod circles;
mod examples;
mod fuzz_targets;
mod layers;
mod size;
mod source;
mod words;
