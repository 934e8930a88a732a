//! The cases in a checkout of the public test suite.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    formatter,
    lists::{self, Definition, Token},
};

/// A case: a tool with its arguments, and the expected output and exit code.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// Part of the suite that contains the case.
    pub(super) category: &'static str,
    /// Name of the case in this part.
    pub(super) name: String,
    /// Name of the reference's tool.
    pub(super) tool: String,
    /// Arguments of the tool, without the directory of the standard library.
    pub(super) arguments: Vec<String>,
    /// Directory in which the tool runs.
    pub(super) root: PathBuf,
    /// Directory of the standard library, relative to `root`.
    pub(super) library: &'static str,
    /// Expected output of the tool.
    pub(super) expected: Expected,
    /// Expected exit code.
    pub(super) code: u8,
}

/// The expected output of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// Any output is correct. Only the exit code counts.
    Code,
    /// The content of this file.
    File(PathBuf),
    /// This formatted source, or a source with the same tree.
    Layout(String),
    /// A source with the same tree as the input.
    SameTree,
    /// This text.
    Text(String),
}

/// The parts of the suite whose lists have the same form.
const PARTS: &[(&str, &str)] = &[
    ("eval good", "eval/good/Good.ml"),
    ("eval bad", "eval/bad/Bad.ml"),
    ("typecheck good", "typecheck/good/Good.ml"),
    ("typecheck bad", "typecheck/bad/Bad.ml"),
    ("pm_check bad", "pm_check/bad/Bad.ml"),
    ("checker good", "checker/good/Good.ml"),
    ("checker bad", "checker/bad/Bad.ml"),
    ("parser bad", "base/parser/bad/Bad.ml"),
];

/// Reads the cases of a suite from the lists of the suite.
///
/// # Errors
///
/// If a list cannot be read.
pub(super) fn read(suite: &Path) -> io::Result<Vec<Case>> {
    let mut cases = runner(suite)?;
    cases.extend(formatter::read(suite)?);
    let tests = suite.join("tests");
    for (category, list) in PARTS {
        let text = fs::read_to_string(tests.join(list))?;
        let tokens = lists::tokens(&text);
        let outer = lists::definitions(&tokens);
        for module in lists::modules(&tokens) {
            cases.extend(Module { definitions: &module, outer: &outer }.cases(category, &tests));
        }
    }
    Ok(cases)
}

/// A list of cases that have common arguments.
struct Module<'t> {
    definitions: &'t [Definition<'t>],
    outer: &'t [Definition<'t>],
}

impl Module<'_> {
    fn value(&self, name: &str) -> &[Token] {
        self.definitions.iter().find(|(found, _)| *found == name).map_or(&[], |(_, value)| value)
    }

    fn is(&self, name: &str, word: &str) -> bool {
        self.value(name).iter().any(|token| token.is_word(word))
    }

    fn texts(&self, name: &str) -> Vec<String> {
        lists::texts(self.value(name))
    }

    /// Returns the names of the files of the cases. The suite has a list of names, or a single name.
    fn files(&self) -> Vec<String> {
        let value = self.value("tests");
        let named = value.first().and_then(Token::as_word);
        let list = named.and_then(|word| self.outer.iter().find(|(name, _)| *name == word));
        let value = list.map_or(value, |(_, value)| value);
        lists::items(value).into_iter().flat_map(lists::texts).collect()
    }

    /// Returns a path from the list, with the name of the file filled in.
    fn path(&self, name: &str, file: &str) -> String {
        let part = |item: &[Token]| -> Option<String> {
            if item.iter().any(|token| token.is_word("dir")) {
                return None;
            }
            let piece = |token: &Token| match token {
                Token::Text(text) => text.clone(),
                Token::Word(word) if word == "f" => file.to_owned(),
                Token::Sign(_) | Token::Word(_) => String::new(),
            };
            Some(item.iter().map(piece).collect())
        };
        let parts: Vec<_> = lists::items(self.value(name)).into_iter().filter_map(part).collect();
        parts.join("/")
    }

    fn cases(&self, category: &'static str, tests: &Path) -> Vec<Case> {
        let tool = self.texts("runner").into_iter().next().unwrap_or_default();
        let directories: Vec<_> = lists::items(self.value("additional_libdirs"))
            .into_iter()
            .map(|directory| lists::texts(directory).join("/"))
            .collect();
        let limit = self.value("gas_limit").last().and_then(Token::as_word).unwrap_or_default().to_owned();
        let code = u8::from(self.is("exit_code", "1"));
        let case = |file: String| {
            let input = self.path("test_path", &file);
            let mut arguments = self.texts("custom_args");
            if !self.is("ignore_predef_args", "true") {
                if !directories.is_empty() {
                    arguments.extend(["-libdir".to_owned(), directories.join(":")]);
                }
                arguments.extend(["-gaslimit".to_owned(), limit.clone()]);
                if self.is("json_errors", "true") {
                    arguments.push("-jsonerrors".to_owned());
                }
            }
            if self.is("provide_init_arg", "true") {
                let stem = input.rsplit_once('.').map_or(input.as_str(), |(stem, _)| stem);
                arguments.extend(["-init".to_owned(), format!("{stem}.json")]);
            }
            arguments.push(input);
            let expected = Expected::File(tests.join(self.path("gold_path", &file)));
            let (tool, root, name) = (tool.clone(), tests.to_owned(), file);
            Case { category, name, tool, arguments, root, library: "../src/stdlib", expected, code }
        };
        self.files().into_iter().map(case).collect()
    }
}

/// Reads the cases of the runner from their source file. Calls of four functions describe all cases except the
/// malformed deployments.
fn runner(suite: &Path) -> io::Result<Vec<Case>> {
    let text = fs::read_to_string(suite.join("tests/runner/Testcontracts.ml"))?;
    let tokens = lists::tokens(&text);
    let mut cases = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let call = Call { tokens: tokens.get(index + 1..).unwrap_or_default(), suite };
        match token.as_word() {
            Some("build_contract_tests" | "build_contract_tests_with_init_file") => {
                cases.extend(call.messages().unwrap_or_default());
            }
            Some("build_library_tests") => cases.extend(call.library_messages().unwrap_or_default()),
            Some("build_contract_init_test") => cases.extend(call.deployment()),
            _ => {}
        }
    }
    cases.extend((1..=3).map(|number| malformed(suite, number)));
    Ok(cases)
}

/// The tokens after the name of one of the four functions that [`runner`] searches. The name also occurs in the
/// definition of the function. No texts follow the name there, so a definition gives no case.
struct Call<'t> {
    tokens: &'t [Token],
    suite: &'t Path,
}

impl Call<'_> {
    /// Returns the value of a labelled boolean argument, or `None` if the call does not have the argument.
    fn label(&self, name: &str) -> Option<bool> {
        let window = self.tokens.get(..12).unwrap_or(self.tokens);
        let at = window.iter().position(|token| token.is_word(name))?;
        match window.get(at + 2)?.as_word()? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// Returns the unlabelled arguments after `env`, or `None` if the call has no `env`.
    fn arguments(&self) -> Option<&[Token]> {
        let env = self.tokens.iter().take(5).position(|token| token.is_word("env"))?;
        self.tokens.get(env + 1..)
    }

    fn messages(&self) -> Option<Vec<Case>> {
        let [name, code, first, last, rest @ ..] = self.arguments()? else { return None };
        let name = name.as_text()?;
        let code = exit_code(code)?;
        let range = number(first)?..=number(last)?;
        let libraries: Vec<_> = lists::items(rest).into_iter().flat_map(lists::texts).collect();
        let lists =
            self.tokens.first().is_some_and(|token| *token == Token::Sign('~')) && self.label("pplit") == Some(false);
        let case = |index: u32| self.message(name, index, code, !lists, &libraries, "scilla");
        Some(range.map(case).collect())
    }

    fn library_messages(&self) -> Option<Vec<Case>> {
        let [name, first, last, ..] = self.arguments()? else { return None };
        let name = name.as_text()?;
        let range = number(first)?..=number(last)?;
        Some(range.map(|index| self.message(name, index, 0, false, &[], "scillib")).collect())
    }

    fn message(&self, name: &str, index: u32, code: u8, lists: bool, libraries: &[String], extension: &str) -> Case {
        let directory = format!("tests/runner/{name}");
        let mut arguments = Vec::new();
        for library in libraries {
            arguments.extend(["-libdir".to_owned(), format!("tests/contracts/{library}")]);
        }
        let files = [
            ("-init", format!("{directory}/init.json")),
            ("-i", format!("tests/contracts/{name}.{extension}")),
            ("-imessage", format!("{directory}/message_{index}.json")),
            ("-istate", format!("{directory}/state_{index}.json")),
            ("-iblockchain", format!("{directory}/blockchain_{index}.json")),
            ("-gaslimit", GAS_LIMIT.to_owned()),
            ("-pplit", lists.to_string()),
        ];
        arguments.extend(files.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]));
        arguments.push("-jsonerrors".to_owned());
        let category = if code == 0 { "message accepted" } else { "message rejected" };
        let expected = Expected::File(self.suite.join(format!("{directory}/output_{index}.json")));
        self.case(category, format!("{name} {index}"), arguments, expected, code)
    }

    fn deployment(&self) -> Option<Case> {
        let [code, name, init, ..] = self.arguments()? else { return None };
        let (code, name, init) = (exit_code(code)?, name.as_text()?, init.as_text()?);
        let extension = if self.label("is_library")? { "scillib" } else { "scilla" };
        let with_world = self.label("ipc_mode")?;
        let directory = format!("tests/runner/{name}");
        let mut files = vec![
            ("-init", format!("{directory}/{init}.json")),
            ("-i", format!("tests/contracts/{name}.{extension}")),
            ("-gaslimit", GAS_LIMIT.to_owned()),
        ];
        if with_world {
            // In the suite, these cases use a server. The suite fills the server from the two files.
            files.push(("-istate", format!("{directory}/{init}_state.json")));
            files.push(("-iblockchain", format!("{directory}/blockchain_1.json")));
        }
        let mut arguments: Vec<_> = files.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]).collect();
        arguments.push("-jsonerrors".to_owned());
        let infix = if with_world { "_ipc" } else { "" };
        let expected = Expected::File(self.suite.join(format!("{directory}/{init}{infix}_output.json")));
        let category = if code == 0 { "deployment accepted" } else { "deployment rejected" };
        Some(self.case(category, format!("{name} {init}"), arguments, expected, code))
    }

    fn case(&self, category: &'static str, name: String, arguments: Vec<String>, expected: Expected, code: u8) -> Case {
        let (tool, root) = ("scilla-runner".to_owned(), self.suite.to_owned());
        Case { category, name, tool, arguments, root, library: "src/stdlib", expected, code }
    }
}

/// Gas limit of each run in the suite, in gas.
const GAS_LIMIT: &str = "8000";

/// Returns a deployment with a malformed init file. Only the exit code of such a case counts.
fn malformed(suite: &Path, number: u32) -> Case {
    let init = format!("tests/runner/crowdfunding/init_bad{number}.json");
    let arguments =
        ["-init", &init, "-i", "tests/contracts/crowdfunding.scilla", "-jsonerrors"].map(str::to_owned).to_vec();
    let suite = Call { tokens: &[], suite };
    suite.case("deployment rejected", format!("crowdfunding init_bad{number}"), arguments, Expected::Code, 1)
}

fn exit_code(token: &Token) -> Option<u8> {
    match token.as_word()? {
        "succ_code" => Some(0),
        "fail_code" => Some(1),
        _ => None,
    }
}

fn number(token: &Token) -> Option<u32> {
    token.as_word()?.parse().ok()
}
