//! The `scilla` command; see [`silica_scilla::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    silica_scilla::cli::main()
}
