//! Tests of the public interface: networks of one node or of several members, with stores in memory. The tests set the
//! time.
#![cfg(test)]

mod address_history;
mod blocks;
mod bounds;
mod committee;
mod contracts;
mod differential;
mod disk;
mod edits;
mod epochs;
mod events;
mod golden;
mod harness;
mod indexed;
mod ledger;
mod lists;
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
#[cfg(feature = "test-util")]
mod test_chain;
mod traces;
mod work;
