//! The chain from outside: a network of one over a store in memory, with the time given by the test.
#![cfg(test)]

mod address_history;
mod blocks;
mod bounds;
mod contracts;
mod differential;
mod disk;
mod edits;
mod epochs;
mod harness;
mod ledger;
mod load;
mod modes;
mod numbering;
mod proof;
mod replay;
mod restart;
mod reverts;
mod runs;
mod scilla_rules;
mod simulation;
mod snapshot;
mod traces;
mod work;
