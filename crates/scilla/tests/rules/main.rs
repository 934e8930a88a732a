//! Tests of programs under the rules of different releases of the interpreter.
#![cfg(test)]

mod exceptions;
mod gas;
mod world;
