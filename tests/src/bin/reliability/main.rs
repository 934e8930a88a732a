//! Long reliability tests: `reliability kill LOOPS`, `reliability jump LOOPS`, `reliability stop LOOPS`, `reliability
//! damage CASES`, `reliability network TRIALS`, `reliability namespaces TRIALS`, `reliability mixture SECONDS` and
//! `reliability hostile SECONDS`. All except `hostile` take a seed as an optional second argument.
//!
//! All tests use the `silica` binary that `SILICA_BINARY` names, or build one. They print a line for each trial, and a
//! summary. They fail at the first violation, and keep the data directory of that trial.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a program")]

mod damage;
mod hostile;
mod jump;
mod kill;
mod load;
mod mixture;
mod network;
mod stop;
mod token;
mod unread;
mod watched;

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number = |at: usize, default: u64| arguments.get(at).map_or(Some(default), |text| text.parse().ok());
    match (arguments.first().map(String::as_str), number(1, 200), number(2, 1)) {
        (Some("kill"), Some(loops), Some(seed)) => kill::run(loops, seed),
        (Some("jump"), Some(loops), Some(seed)) => jump::run(loops, seed),
        (Some("stop"), Some(loops), Some(seed)) => stop::run(loops, seed),
        (Some("damage"), Some(cases), Some(seed)) => damage::run(cases, seed),
        (Some("network"), Some(_), Some(seed)) => network::run_with_relays(number(1, 7).unwrap_or(7), seed),
        (Some("namespaces"), Some(_), Some(seed)) => {
            if let Err(missing) = network::run_with_namespaces(number(1, 16).unwrap_or(16), seed) {
                eprintln!("error: {missing}");
                return ExitCode::FAILURE;
            }
        }
        (Some("hostile"), Some(_), Some(_)) => hostile::run(number(1, 10).unwrap_or(10)),
        (Some("mixture"), Some(_), Some(seed)) => mixture::run(number(1, 60).unwrap_or(60), seed),
        _ => {
            eprintln!(
                "usage: reliability kill|jump|stop [LOOPS [SEED]] | reliability damage [CASES [SEED]] | reliability \
                 network|namespaces [TRIALS [SEED]] | reliability hostile [SECONDS] | reliability mixture [SECONDS [SEED]]"
            );
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
