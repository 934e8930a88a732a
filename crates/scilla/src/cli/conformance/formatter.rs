//! The cases of the formatter: shell transcripts, and sources with their formatted form.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    cases::{Case, Expected},
    compare::{Comparison, Nearness, compare},
};
use crate::{
    cli::files::extension,
    syntax::{Tree, comments, parse_contract, parse_expression},
};

/// Reads the cases of a checkout.
///
/// # Errors
///
/// If a directory or a file cannot be read.
pub(super) fn read(suite: &Path) -> io::Result<Vec<Case>> {
    let directory = suite.join("tests/formatter");
    let mut cases = transcripts("formatter json", &directory.join("to_json"), Expected::Text)?;
    cases.extend(transcripts("formatter layout", &directory.join("look_and_feel"), Expected::Layout)?);
    let comments = directory.join("comments.t");
    for name in names(&comments)? {
        if let Some(file) = name.strip_suffix(".gold") {
            let expected = Expected::Layout(read_text(&comments.join(&name))?);
            cases.push(case("formatter layout", file, &[], &comments, expected));
        }
    }
    let trees = directory.join("ast_does_not_change.t");
    let transcript = read_text(&trees.join("run.t"))?;
    for file in names(&trees)?.iter().filter(|name| matches!(extension(name), Some("scilla" | "scilexp"))) {
        // If the output in the transcript has the name of the file, the file does not parse.
        let code = u8::from(transcript.contains(&format!("{file}:")));
        cases.push(Case { code, ..case("formatter tree", file, &[], &trees, Expected::SameTree) });
    }
    Ok(cases)
}

/// Reads the transcripts below a directory. A transcript has a command after a dollar sign, and then the output. The
/// output of a failed command ends with its exit code.
fn transcripts(
    category: &'static str,
    directory: &Path,
    expected: impl Fn(String) -> Expected,
) -> io::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for name in names(directory)?.iter().filter(|name| extension(name) == Some("t")) {
        let root = directory.join(name);
        let transcript = read_text(&root.join("run.t"))?;
        let Some((command, printed)) = transcript.trim_start().split_once('\n') else { continue };
        let words: Vec<_> = command.split_whitespace().collect();
        let ["$", _, arguments @ .., file] = words.as_slice() else { continue };
        let lines: Vec<_> = printed.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
        cases.push(match lines.as_slice() {
            [tool, diagnostics @ .., code] if code.starts_with('[') && tool.trim_end() == "scilla-fmt:" => {
                let diagnostics: Vec<_> = diagnostics.iter().map(|line| line.trim()).collect();
                Case { code: 1, ..case(category, file, arguments, &root, Expected::Text(diagnostics.join("\n"))) }
            }
            lines => case(category, file, arguments, &root, expected(lines.join("\n"))),
        });
    }
    Ok(cases)
}

fn case(category: &'static str, file: &str, flags: &[&str], root: &Path, expected: Expected) -> Case {
    let arguments = flags.iter().chain([&file]).map(|word| (*word).to_owned()).collect();
    let (tool, root) = ("scilla-fmt".to_owned(), root.to_owned());
    Case { category, name: file.to_owned(), tool, arguments, root, library: "stdlib", expected, code: 0 }
}

/// Returns the names of the entries of a directory, in alphabetical order.
fn names(directory: &Path) -> io::Result<BTreeSet<String>> {
    let names = fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}

/// Reads a file as text. If the file is not UTF-8, each byte becomes the character with this code point (Latin-1), as
/// in [`crate::json::tree_json`].
fn read_text(file: &PathBuf) -> io::Result<String> {
    let bytes = fs::read(file)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| error.as_bytes().iter().copied().map(char::from).collect()))
}

/// Compares a formatted source with the formatted source of the reference. The comments are compared with `source`,
/// because the reference sometimes drops comments.
pub(super) fn compare_layout(file: &str, source: &str, expected: &str, found: &str) -> Comparison {
    let comparison = compare(expected, found);
    if comparison.nearness == Nearness::Exact {
        return comparison;
    }
    let same = same_tree(file, expected, found).and_then(|()| same_comments(source, found));
    let (nearness, difference) = match same {
        Ok(()) => (Nearness::Core, comparison.difference),
        Err(difference) => (Nearness::Verdict, difference),
    };
    Comparison { nearness, difference }
}

/// Compares the tree of a source with the tree of its formatted form.
pub(super) fn compare_trees(file: &str, source: &str, found: &str) -> Comparison {
    same_tree(file, source, found).map_or_else(Comparison::fail, |()| Comparison::exact())
}

fn same_tree(file: &str, expected: &str, found: &str) -> Result<(), String> {
    let (expected, found) = (tree(file, expected)?, tree(file, found)?);
    if expected == found { Ok(()) } else { Err("the trees differ".into()) }
}

fn tree(file: &str, text: &str) -> Result<String, String> {
    let tree = if extension(file) == Some("scilexp") {
        parse_expression(file, text.as_bytes()).map(|module| Tree::of_expression(&module, true))
    } else {
        parse_contract(file, text.as_bytes()).map(|module| Tree::of_contract(&module, true))
    };
    tree.map(|tree| tree.to_sexp(false)).map_err(|failure| failure.to_string())
}

/// Compares the comments of two texts, in order. White space inside comments does not count.
fn same_comments(source: &str, found: &str) -> Result<(), String> {
    let words = |text: &str| -> Vec<Vec<String>> {
        let comments = comments(text.as_bytes());
        comments.map(|comment| comment.split_whitespace().map(str::to_owned).collect()).collect()
    };
    if words(source) == words(found) { Ok(()) } else { Err("the comments differ".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_is_near_if_tree_and_comments_are_the_same() {
        let check = |expected: &str, found: &str, nearness: Nearness| {
            let comparison = compare_layout("a.scilexp", "(* a  b *) x", expected, found);
            assert_eq!(comparison.nearness, nearness, "{expected} {found}: {}", comparison.difference);
        };
        check("x (* a b *)", "x (* a b *)\n", Nearness::Exact);
        check("x (* a b *)", "(* a b *)\nx", Nearness::Core);
        check("x", "(* a b *) x", Nearness::Core);
        check("(* a b *) x", "x", Nearness::Verdict);
        check("(* a b *) x", "(* a b *) y", Nearness::Verdict);
        assert_eq!(compare_trees("a.scilexp", "(* a *) x", "x").nearness, Nearness::Exact);
        assert_eq!(compare_trees("a.scilexp", "x", "y").nearness, Nearness::Fail);
        assert_eq!(compare_trees("a.scilexp", "x", "let").nearness, Nearness::Fail);
    }

    #[test]
    fn cases_are_found_in_transcripts_and_beside_sources() {
        let suite = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let file = suite.path().join("tests/formatter").join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, bytes).unwrap();
        };
        write("to_json/a.t/run.t", b"  $ scilla-fmt --json --deannot a.scilexp\n  [\"\xff\"]\n");
        write("to_json/b.t/run.t", b"  $ scilla-fmt b.scilla\n  scilla-fmt: \n     b.scilla:1:2: error\n  [124]\n");
        write("look_and_feel/README.md", b"");
        write("look_and_feel/b.t/run.t", b"  $ scilla-fmt b.scilla\n  one\n    two\n");
        write("look_and_feel/empty.t/run.t", b"");
        write("comments.t/c.scilla", b"");
        write("comments.t/c.scilla.gold", b"gold");
        write("ast_does_not_change.t/run.t", b"  e.scilla:1:2: error");
        write("ast_does_not_change.t/d.scilexp", b"x");
        write("ast_does_not_change.t/e.scilla", b"");
        let found: Vec<_> = read(suite.path())
            .unwrap()
            .into_iter()
            .map(|case| (case.category, case.arguments.join(" "), case.expected, case.code))
            .collect();
        let expected = [
            ("formatter json", "--json --deannot a.scilexp", Expected::Text("[\"ÿ\"]".into()), 0),
            ("formatter json", "b.scilla", Expected::Text("b.scilla:1:2: error".into()), 1),
            ("formatter layout", "b.scilla", Expected::Layout("one\n  two".into()), 0),
            ("formatter layout", "c.scilla", Expected::Layout("gold".into()), 0),
            ("formatter tree", "d.scilexp", Expected::SameTree, 0),
            ("formatter tree", "e.scilla", Expected::SameTree, 1),
        ];
        let expected = expected.map(|(category, words, expected, code)| (category, words.to_owned(), expected, code));
        assert_eq!(found, expected);
    }
}
