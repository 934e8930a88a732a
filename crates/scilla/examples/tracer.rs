//! Prints each statement of a call with its cost and its values.
//!
//! `cargo run -p silica-scilla --example tracer`
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use silica_scilla::{Contract, Trace, Value};

const SOURCE: &str = "scilla_version 0
contract Counter ()
field count : Uint32 = Uint32 4
procedure Store (number : Uint32)
  count := number
end
transition Add (number : Uint32)
  before <- count;
  after = builtin add before number;
  Store after
end";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut counter = Contract::compile(SOURCE)?.deploy(())?;
    let mut trace = Trace::new();
    counter.call("Add", [("number", Value::from(3_u32))]).observe(&mut trace).run()?;
    print!("{trace}");
    Ok(())
}
