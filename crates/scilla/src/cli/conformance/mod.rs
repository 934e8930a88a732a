//! `scilla conformance`: compares this implementation with the reference's public test suite.
//!
//! The suite comes from a checkout of the reference, and is not part of this repository. Each case runs in this
//! process, through the same function as the command line, with the flags from the suite's own lists.

mod cases;
mod compare;
mod formatter;
mod lists;

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use self::{
    cases::{Case, Expected},
    compare::{Comparison, Nearness, compare},
};
use super::{Arguments, Command, Files, Flag, Outcome, Session, Style, UsageError, dispatch};

pub(super) const COMMAND: Command = Command {
    name: "conformance",
    alias: None,
    operands: "SUITE",
    summary: "Compare this implementation with the public test suite of the reference.",
    details: "\
SUITE is a checkout of the repository of the reference. The command runs its cases with the flags in its own lists.
It compares the outputs with the expected outputs, without regard to the order of maps and of data types.

    exact     the same output
    core      accepted: the same gas and result, other warnings or tags;
              rejected: the same gas and place of the first error, another text
              formatted: the same tree and the same comments, other line breaks
    verdict   accepted or rejected as expected
    fail      accepted instead of rejected, or the reverse

The command uses the built-in standard library. The exit code is 1 if any case fails.",
    flags: &[
        Flag::valued("category", "TEXT", "Run only the cases whose category contains TEXT."),
        Flag::valued("case", "TEXT", "Run only the cases whose name contains TEXT."),
        Flag::switch("reference-stdlib", "Use the standard library of the suite instead of the built-in one."),
        Flag::switch("summary", "Print the table only, not the cases that are not exact."),
        Flag::switch("show", "Print the output of each case as well."),
    ],
    run,
};

fn run(arguments: &Arguments, session: &Session) -> Result<Outcome, UsageError> {
    let suite = session.files.path(arguments.operand("SUITE")?);
    let cases = match cases::read(&suite) {
        Ok(cases) => cases,
        Err(error) => {
            let stderr = format!("{} has no test suite: {error}\n", suite.display());
            return Ok(Outcome { stderr, code: 2, stdout: String::new() });
        }
    };
    let wanted = |flag: &str, text: &str| arguments.value(flag).is_none_or(|part| text.contains(part));
    let mut table = Table::default();
    let mut list = String::new();
    for case in cases.iter().filter(|case| wanted("category", case.category) && wanted("case", &case.name)) {
        let (outcome, comparison) = execute(case, arguments.has("reference-stdlib"));
        table.count(case.category, comparison.nearness);
        let label = format!("{:<9}{}: {}", word(comparison.nearness), case.category, case.name);
        if arguments.has("show") {
            let _ = writeln!(list, "{label}\n{}{}", outcome.stdout, outcome.stderr);
        }
        if comparison.nearness != Nearness::Exact && !arguments.has("summary") {
            let _ = writeln!(list, "{label}\n         {}", comparison.difference.escape_debug());
        }
    }
    let failed = table.total().first().is_some_and(|failed| *failed > 0);
    Ok(Outcome { stdout: format!("{list}\n{table}"), stderr: String::new(), code: u8::from(failed) })
}

/// Runs a case, and compares its output with the expected output.
fn execute(case: &Case, reference_library: bool) -> (Outcome, Comparison) {
    let session = Session {
        files: Files::new(case.root.clone(), case.library.to_owned()),
        library_path: Vec::new(),
        style: Style::Plain,
    };
    let mut given = vec![case.tool.clone()];
    given.extend(case.arguments.iter().cloned());
    if reference_library && case.tool != "parser-dummy" {
        given.extend(["-libdir".to_owned(), case.library.to_owned()]);
    }
    let outcome = dispatch(given, session);
    let comparison = judge(case, &outcome);
    (outcome, comparison)
}

fn judge(case: &Case, outcome: &Outcome) -> Comparison {
    if outcome.code != case.code {
        let shown: String = outcome.stderr.chars().take(300).collect();
        return Comparison::fail(format!("exit code {} instead of {}: {shown}", outcome.code, case.code));
    }
    let file = case.arguments.last().map(String::as_str).unwrap_or_default();
    match &case.expected {
        Expected::Code => Comparison::exact(),
        Expected::File(gold) => read(gold).map_or_else(Comparison::fail, |expected| {
            compare(&expected, &format!("{}{}", outcome.stdout, outcome.stderr))
        }),
        Expected::Layout(expected) => read(&case.root.join(file)).map_or_else(Comparison::fail, |source| {
            formatter::compare_layout(file, &source, expected, &outcome.stdout)
        }),
        Expected::SameTree if case.code != 0 => Comparison::exact(),
        Expected::SameTree => read(&case.root.join(file))
            .map_or_else(Comparison::fail, |source| formatter::compare_trees(file, &source, &outcome.stdout)),
        Expected::Text(expected) => compare(expected, &format!("{}{}", outcome.stdout, outcome.stderr)),
    }
}

fn read(file: &Path) -> Result<String, String> {
    let text = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

const fn word(nearness: Nearness) -> &'static str {
    match nearness {
        Nearness::Fail => "fail",
        Nearness::Verdict => "verdict",
        Nearness::Core => "core",
        Nearness::Exact => "exact",
    }
}

/// Number of cases for each category and level of agreement.
#[derive(Debug, Default)]
struct Table {
    /// For each category, the number of cases with each level of agreement, from [`Nearness::Fail`] to
    /// [`Nearness::Exact`].
    rows: BTreeMap<&'static str, [u32; 4]>,
}

impl Table {
    fn count(&mut self, category: &'static str, nearness: Nearness) {
        let [fail, verdict, core, exact] = self.rows.entry(category).or_default();
        *match nearness {
            Nearness::Fail => fail,
            Nearness::Verdict => verdict,
            Nearness::Core => core,
            Nearness::Exact => exact,
        } += 1;
    }

    fn total(&self) -> [u32; 4] {
        self.rows
            .values()
            .fold([0; 4], |[a, b, c, d], [fail, verdict, core, exact]| [a + fail, b + verdict, c + core, d + exact])
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "| category | cases | exact | core | verdict | fail |\n|---|--:|--:|--:|--:|--:|")?;
        let total = self.total();
        for (category, row) in self.rows.iter().chain([(&"all", &total)]) {
            let [fail, verdict, core, exact] = row;
            let cases = fail + verdict + core + exact;
            writeln!(f, "| {category} | {cases} | {exact} | {core} | {verdict} | {fail} |")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_counts_each_category() {
        let mut table = Table::default();
        table.count("eval", Nearness::Exact);
        table.count("eval", Nearness::Fail);
        table.count("check", Nearness::Core);
        assert_eq!(
            table.to_string(),
            "| category | cases | exact | core | verdict | fail |\n|---|--:|--:|--:|--:|--:|\n\
             | check | 1 | 0 | 1 | 0 | 0 |\n| eval | 2 | 1 | 0 | 0 | 1 |\n| all | 3 | 1 | 1 | 0 | 1 |\n"
        );
    }
}
