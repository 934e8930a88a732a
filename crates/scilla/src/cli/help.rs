//! The help texts, which come from the tables of commands and flags.

use std::fmt::Write as _;

use super::{COMMANDS, Command};

/// Maximum width of a line, in columns.
const WIDTH: usize = 90;

/// Returns the description of the tool and of its commands.
pub(super) fn overview() -> String {
    let mut text = String::from(
        "The tools of Scilla, the language of contracts on Zilliqa.\n\nUsage: scilla COMMAND [FLAGS] [FILE]\n\nCommands:\n",
    );
    for command in COMMANDS {
        row(&mut text, command.name, command.summary);
    }
    row(&mut text, "help", "Describe a command: `scilla help check`.");
    text.push_str(
        "\nTo begin with, write a contract into hello.scilla and check it:\n\n    scilla check hello.scilla\n\n\
         The exit code is 0 after success, 1 if the program was rejected or the run failed, and 2 for\n\
         wrong usage.\n",
    );
    let aliases: Vec<_> = COMMANDS.iter().filter_map(|command| Some((command.alias?, command.name))).collect();
    if !aliases.is_empty() {
        text.push_str("\nA link to this program with the name of a tool of the reference behaves as that tool:\n");
        for (alias, name) in aliases {
            row(&mut text, alias, &format!("scilla {name}"));
        }
    }
    text
}

/// Returns the help text of a command.
pub(super) fn of(command: &Command) -> String {
    let flags = if command.flags.is_empty() { "" } else { " [FLAGS]" };
    let space = if command.operands.is_empty() { "" } else { " " };
    let mut text = format!(
        "{}\n\nUsage: scilla {}{flags}{space}{}\n\n{}\n",
        command.summary, command.name, command.operands, command.details
    );
    if !command.flags.is_empty() {
        text.push_str("\nFlags:\n");
    }
    for flag in command.flags {
        let value = flag.value.map(|value| format!(" {value}")).unwrap_or_default();
        let short = flag.short.map(|letter| format!(", -{letter}")).unwrap_or_default();
        row(&mut text, &format!("-{}{value}{short}", flag.name), flag.help);
    }
    text
}

/// Adds a name and its description to the text, with line breaks.
fn row(text: &mut String, name: &str, about: &str) {
    const COLUMN: usize = 30;
    let _ = write!(text, "  {name:width$} ", width = COLUMN - 3);
    let mut column = COLUMN.max(name.len() + 3);
    for word in about.split(' ') {
        if column + word.len() > WIDTH {
            text.truncate(text.trim_end().len());
            let _ = write!(text, "\n{:COLUMN$}", "");
            column = COLUMN;
        }
        text.push_str(word);
        text.push(' ');
        column += word.len() + 1;
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
}
