//! Compiles a contract, deploys it in memory, and calls a transition.
//!
//! `cargo run -p silica-scilla --example contract`
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use serde_json::json;
use silica_scilla::{Contract, protocol::Address};

const SOURCE: &str = "scilla_version 0
contract Greeter (owner : ByStr20)
field greeting : String = \"\"
transition SetGreeting (text : String)
  greeting := text;
  e = { _eventname : \"Set\"; by : _sender; text : text };
  event e
end";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let me = Address::new([7; 20]);
    let contract = Contract::compile(SOURCE)?;
    let mut instance = contract.deploy(json!({ "owner": me }))?;
    let outcome = instance.call("SetGreeting", json!({ "text": "Hi" })).sender(me).gas_limit(10_000).run()?;
    println!("{} gas, {}", outcome.gas_used, instance.state_json());
    outcome.events.iter().for_each(|event| println!("{event}"));
    Ok(())
}
