//! The checker: a result depends on the program only, and on the gas limit only if the limit is too low.

use silica_scilla::{
    check::{self, Checked, Options, Rejected, TokenFields},
    gas::Meter,
    json::CheckReport,
    report::Failure,
    resolve::{self, Origin, ResolveError},
    stdlib,
    syntax::{format_contract, format_expression, format_library, parse_contract, parse_expression, parse_library},
};

use super::Parts;

/// Gas limit of a check, in interpreter units.
const LIMIT: u64 = 400_000;

/// The result of a check.
#[derive(Clone, Debug, PartialEq)]
struct Verdict {
    accepted: bool,
    /// Used units; `None` if the checker rejected the text before it counted units.
    used: Option<u64>,
    /// The report of the checker, with source locations.
    report_text: String,
    /// The summary of the module, without source locations.
    summary: String,
    /// The errors of a rejected text.
    failure: Option<Failure>,
}

impl Verdict {
    fn of<M, S>(result: Result<Checked<'_, M, S>, Rejected>, limit: u64, summary: impl FnOnce(&S) -> String) -> Self {
        let used = |meter: Meter| limit.checked_sub(meter.units()).expect("gas is used, not made");
        match result {
            Ok(checked) => {
                let report = CheckReport {
                    contract: None,
                    cash_flow: None,
                    type_info: Some(&checked.type_info),
                    is_library: false,
                    warnings: &checked.warnings,
                    gas_remaining: 0,
                };
                Self {
                    accepted: true,
                    used: Some(used(checked.meter)),
                    report_text: report.to_json().root().pretty().to_string(),
                    summary: summary(&checked.summary),
                    failure: None,
                }
            }
            Err(Rejected { failure, warnings, meter, reports_gas }) => Self {
                accepted: false,
                used: reports_gas.then(|| used(meter)),
                report_text: format!("{failure:?} {warnings:?}"),
                summary: String::new(),
                failure: Some(failure),
            },
        }
    }

    fn rejected(failure: Failure) -> Self {
        let report_text = format!("{failure:?}");
        Self { accepted: false, used: None, report_text, summary: String::new(), failure: Some(failure) }
    }

    fn unresolved(error: ResolveError) -> Self {
        let (ResolveError::Import(failure) | ResolveError::Names(failure)) = error;
        Self::rejected(failure)
    }
}

/// One kind of text: its file name, and the functions that check and format it.
struct Language {
    file: &'static str,
    verdict: fn(&str, &str, &Parts<'_>, u64) -> Result<Verdict, Failure>,
    format: fn(&str, &[u8]) -> Result<String, Failure>,
}

const LANGUAGES: [Language; 3] = [
    Language { file: "c.scilla", verdict: contract, format: format_contract },
    Language { file: "l.scillib", verdict: library, format: format_library },
    Language { file: "e.scilexp", verdict: expression, format: format_expression },
];

/// Checks a text as each kind of module.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let parts = Parts::of(text);
    for language in &LANGUAGES {
        let verdict = |text: &str, limit: u64| (language.verdict)(language.file, text, &parts, limit);
        let Ok(first) = verdict(parts.main, LIMIT) else { continue };
        assert_eq!(verdict(parts.main, LIMIT).as_ref(), Ok(&first), "the same text has another verdict");
        if let Some(failure) = &first.failure {
            super::check_report(failure, |file| language.length(file, &parts));
        }
        if let (true, Some(used)) = (first.accepted, first.used) {
            assert_eq!(verdict(parts.main, used).as_ref(), Ok(&first), "what was used is enough");
            let short = used.checked_sub(1).map(|units| verdict(parts.main, units).expect("it parses"));
            assert!(short.is_none_or(|short| !short.accepted), "less than what was used is not enough");
        }
        let formatted = (language.format)(language.file, parts.main.as_bytes()).expect("it parses");
        let again = verdict(&formatted, LIMIT).expect("what is formatted parses");
        assert_eq!(
            (again.accepted, again.used, &again.summary),
            (first.accepted, first.used, &first.summary),
            "formatting changes the verdict: {} {}\n{formatted}",
            first.report_text,
            again.report_text
        );
    }
}

impl Language {
    /// Returns the length of a file in bytes, or `None` if the file does not exist.
    fn length(&self, file: &str, parts: &Parts<'_>) -> Option<usize> {
        if file == self.file {
            return Some(parts.main.len());
        }
        let name = file.strip_suffix(".scillib")?;
        let own = parts.others.iter().find(|(found, _)| found.strip_prefix("lib ") == Some(name));
        own.map(|(_, text)| *text).or_else(|| stdlib::text(name)).map(str::len)
    }
}

fn options(limit: u64) -> Options {
    Options {
        meter: Meter::with_units(limit),
        sanity: true,
        type_info: true,
        money: Some(TokenFields::new()),
        advice: true,
    }
}

fn contract(file: &str, text: &str, parts: &Parts<'_>, limit: u64) -> Result<Verdict, Failure> {
    let module = parse_contract(file, text.as_bytes())?;
    Ok(match resolve::contract(module, &Origin::default(), parts) {
        Err(error) => Verdict::unresolved(error),
        Ok(program) => Verdict::of(check::contract(&program, &options(limit)), limit, |summary| {
            let report = CheckReport {
                contract: Some(summary),
                cash_flow: summary.cash_flow.as_ref(),
                type_info: None,
                is_library: false,
                warnings: &[],
                gas_remaining: 0,
            };
            format!("{} {}", report.to_json().root().pretty(), summary.call_graph)
        }),
    })
}

fn library(file: &str, text: &str, parts: &Parts<'_>, limit: u64) -> Result<Verdict, Failure> {
    let module = parse_library(file, text.as_bytes())?;
    Ok(match resolve::library(module, &Origin::default(), parts) {
        Err(error) => Verdict::unresolved(error),
        Ok(program) => Verdict::of(check::library(&program, &options(limit)), limit, |()| String::new()),
    })
}

fn expression(file: &str, text: &str, parts: &Parts<'_>, limit: u64) -> Result<Verdict, Failure> {
    let module = parse_expression(file, text.as_bytes())?;
    let libraries = ["BoolUtils", "NatUtils", "PairUtils"];
    Ok(match resolve::expression(module, &libraries, parts) {
        Err(error) => Verdict::unresolved(error),
        Ok(program) => Verdict::of(check::expression(&program, &options(limit)), limit, |ty| ty.global().to_string()),
    })
}

/// Returns the programs of this directory, some with libraries, and expressions.
pub fn seeds() -> Vec<Vec<u8>> {
    let shop = "scilla_version 0 import Goods library Shop let one = Thing zero contract Shop () field f : Item = one";
    let goods = "scilla_version 0 import IntUtils library Goods type Item = | Thing of Uint32 let zero = Uint32 0";
    let circle = "scilla_version 0 import A library L";
    let expressions = [
        "let f = @fst Uint32 String in fun (x : Uint32) => builtin to_string x",
        "tfun 'A => fun (x : 'A) => let y = Some {'A} x in match y with | Some z => z | None => x end",
        "let two = Uint32 2 in let l = Nil {Uint32} in Cons {Uint32} two l",
        "let m = Emp ByStr20 (Map Uint32 Bool) in builtin size m",
    ];
    let texts = [
        format!("{shop}\n%% lib Goods\n{goods}"),
        format!("{circle}\n%% lib A\nscilla_version 0 import B library A\n%% lib B\n{}", circle.replace("L", "B")),
    ];
    let programs = super::PROGRAMS.into_iter().map(str::to_owned);
    super::bytes(programs.chain(expressions.map(str::to_owned)).chain(texts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_programs_but_circles_are_accepted() {
        for seed in seeds() {
            let text = String::from_utf8(seed).unwrap();
            let parts = Parts::of(&text);
            let verdicts = LANGUAGES.iter().map(|it| (it.verdict)(it.file, parts.main, &parts, LIMIT));
            let verdict = verdicts.filter_map(Result::ok).next().unwrap_or_else(|| panic!("does not parse: {text}"));
            assert_eq!(verdict.accepted, !text.contains("import A library"), "{}: {text}", verdict.report_text);
        }
    }
}
