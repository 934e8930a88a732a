//! Tests of programs under the rules of different interpreter releases.
#![cfg(test)]

mod exceptions;
mod gas;
mod world;
