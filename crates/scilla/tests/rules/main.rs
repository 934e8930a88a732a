//! Programs under the rules of different releases of the interpreter.

mod exceptions;
mod gas;
mod world;
