//! Comments, pages, string literals and names do not contain words that hide the subject of a sentence (docs/style.md).

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::source::workspace;

/// Words and phrases that are rejected, in lower case.
const REJECTED: [&str; 11] = [
    "told",
    "tells of",
    "whoever",
    "nobody",
    "somebody",
    "those who",
    "who asks",
    "who waits",
    "is to be had",
    "is heard",
    "likewise",
];

/// Files that can contain these words, each with the reason.
const EXCEPTIONS: [(&str, &str); 2] = [
    ("docs/style.md", "its bad examples, and the list itself"),
    ("tests/structure/words.rs", "the samples of its tests"),
];

/// Directories with files of other projects, or with files that a build makes.
const LEFT_OUT: [&str; 7] = [".git", ".venv", "data", "dist", "node_modules", "regressions", "target"];

/// Extensions of pages, and of code whose whole text is checked: its comments, strings and names.
const WHOLE: [&str; 7] = ["css", "html", "js", "md", "mjs", "ts", "tsx"];

/// Extensions of files with comments after `#`.
const WITH_HASH: [&str; 5] = ["py", "service", "toml", "yaml", "yml"];

/// Adds the files below a directory that contain comments or text for people.
fn texts(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !LEFT_OUT.contains(&name) {
                texts(&path, found);
            }
        } else if is_whole(&path) || is_rust(&path) || is_script(&path) || has_extension(&path, &WITH_HASH) {
            found.push(path);
        }
    }
}

fn has_extension(path: &Path, expected: &[&str]) -> bool {
    path.extension().is_some_and(|extension| expected.iter().any(|expected| extension == *expected))
}

fn is_whole(path: &Path) -> bool {
    has_extension(path, &WHOLE)
}

fn is_rust(path: &Path) -> bool {
    has_extension(path, &["rs"])
}

/// Returns whether a file without an extension is a script, or builds an image.
fn is_script(path: &Path) -> bool {
    let is = |name: Option<&OsStr>, expected: &str| name.is_some_and(|name| name == expected);
    let directory = path.parent().and_then(Path::file_name);
    is(path.file_name(), "run") || is(path.file_name(), "Containerfile") || is(directory, ".ci")
}

/// Returns the comment in a line of code, or `None` without a comment. A marker in a string literal does not start a
/// comment.
fn comment<'a>(line: &'a str, marker: &str) -> Option<&'a str> {
    let starts = line.match_indices(marker).map(|(at, _)| at);
    let mut outside = starts.filter(|at| line.get(..*at).unwrap_or_default().matches('"').count() % 2 == 0);
    line.get(outside.next()?..)
}

/// Returns the words of an identifier, separated by spaces: `told` is one of `isTold`, `TOLD` and `is_told`.
fn words_of_name(name: &str) -> String {
    let mut words = String::new();
    let mut was_lower = false;
    for char in name.chars() {
        if was_lower && char.is_uppercase() {
            words.push(' ');
        }
        was_lower = char.is_lowercase();
        words.push(if char == '_' { ' ' } else { char });
    }
    words
}

/// Adds the names and the string literals of code, each with its line. Raw strings are data (contracts and JSON), so
/// they are left out. Doc comments are tokens too, and are left out as well.
fn texts_of_code(code: TokenStream, found: &mut Vec<(usize, String)>) {
    for token in code {
        let line = token.span().start().line;
        match token {
            TokenTree::Ident(name) => found.push((line, words_of_name(&name.to_string()))),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if text.starts_with('"') {
                    found.push((line, text.replace("\\n", " ")));
                }
            }
            TokenTree::Group(group) => {
                let first = group.stream().into_iter().next();
                let is_doc = matches!(first, Some(TokenTree::Ident(name)) if name == "doc");
                if group.delimiter() != Delimiter::Bracket || !is_doc {
                    texts_of_code(group.stream(), found);
                }
            }
            TokenTree::Punct(_) => {}
        }
    }
}

/// Returns each rejected word in the names and string literals of a source file.
fn faults_of_code(path: &str, text: &str) -> Vec<String> {
    let code: TokenStream = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut found = Vec::new();
    texts_of_code(code, &mut found);
    let faults = found.iter().flat_map(|(line, text)| rejected(text).map(move |word| (*line, word)));
    faults.map(|(line, word)| format!("{path}:{line}: {word:?}")).collect()
}

/// Returns the rejected words of a text.
fn rejected(text: &str) -> impl Iterator<Item = &'static str> {
    let words: Vec<_> =
        text.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty()).collect();
    let text = format!(" {} ", words.join(" ").to_lowercase());
    REJECTED.into_iter().filter(move |word| text.contains(&format!(" {word} ")))
}

/// Returns each rejected word of a file with its line. A phrase can continue on the next line.
fn faults(path: &str, text: &str) -> Vec<String> {
    let read = |line: &str| {
        let path = Path::new(path);
        if has_extension(path, &["md"]) {
            return line.to_owned();
        }
        if is_whole(path) {
            return words_of_name(line);
        }
        comment(line, if is_rust(path) { "//" } else { "#" }).unwrap_or_default().to_owned()
    };
    let lines: Vec<String> = text.lines().map(read).collect();
    let mut faults = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let next = lines.get(index + 1).map(String::as_str).unwrap_or_default();
        let both = format!("{line} {}", next.trim_start_matches(['/', '!', '#', '*', ' ']));
        let of_next: Vec<_> = rejected(next).collect();
        let found = rejected(&both).filter(|word| !of_next.contains(word));
        faults.extend(found.map(|word| format!("{path}:{}: {word:?}", index + 1)));
    }
    if is_rust(Path::new(path)) {
        faults.extend(faults_of_code(path, text));
    }
    faults
}

#[test]
fn texts_and_names_have_no_rejected_words() {
    let (root, mut files) = (workspace(), Vec::new());
    texts(&root, &mut files);
    files.sort();
    assert!(files.len() > 500, "{} files", files.len());
    for path in [".ci/notice", ".github/workflows/ci.yml", "docs/operations/Containerfile", "tests/clients/js/chain.js"]
    {
        assert!(files.contains(&root.join(path)), "{path}");
    }
    let relative = |file: &Path| file.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    let mut unused: Vec<_> = EXCEPTIONS.iter().map(|(path, _)| *path).collect();
    let mut all = Vec::new();
    for file in &files {
        let (path, text) = (relative(file), fs::read_to_string(file).unwrap());
        let faults = faults(&path, &text);
        if !EXCEPTIONS.iter().any(|(exception, _)| *exception == path) {
            all.extend(faults);
        } else if !faults.is_empty() {
            unused.retain(|exception| *exception != path);
        }
    }
    assert!(all.is_empty(), "{} rejected words:\n{}", all.len(), all.join("\n"));
    assert!(unused.is_empty(), "exceptions without a rejected word: {unused:?}");
}

#[test]
fn rejected_words_are_found_in_comments_and_pages() {
    assert_eq!(faults("a.rs", "// What clients are told."), ["a.rs:1: \"told\""]);
    assert_eq!(faults("a.rs", "/// It is\n/// heard."), ["a.rs:1: \"is heard\""]);
    assert_eq!(faults("a.rs", "let one = 1; // Nobody."), ["a.rs:1: \"nobody\""]);
    assert_eq!(faults("a.md", "Likewise, Those who\nwait."), ["a.md:1: \"those who\"", "a.md:1: \"likewise\""]);
    for name in ["run", "a.yml", "a.py", ".ci/notice"] {
        assert_eq!(faults(name, "told # told"), [format!("{name}:1: \"told\"")]);
    }
    assert_eq!(faults("a.ts", "const isTold = 1; // Nobody."), ["a.ts:1: \"told\"", "a.ts:1: \"nobody\""]);
    assert_eq!(faults("a.js", "/**\n * It is\n * heard.\n */"), ["a.js:2: \"is heard\""]);
    assert_eq!(faults("a.rs", "/// A retold story is untold."), [""; 0]);
}

#[test]
fn rejected_words_are_found_in_strings_and_names() {
    assert_eq!(faults("a.rs", "let told = 1;"), ["a.rs:1: \"told\""]);
    assert_eq!(
        faults("a.rs", "fn f() {\n    is_told(NOBODY, SoTold);\n}"),
        ["a.rs:2: \"told\"", "a.rs:2: \"nobody\"", "a.rs:2: \"told\""]
    );
    assert_eq!(faults("a.rs", "fn those_who_wait() {}"), ["a.rs:1: \"those who\""]);
    assert_eq!(faults("a.rs", r#"error!("it\nis heard")"#), ["a.rs:1: \"is heard\""]);
    assert_eq!(faults("a.rs", "let contract = r#\"event \"Told\"\"#;"), [""; 0]);
    assert_eq!(faults("a.rs", "let untold = retold;"), [""; 0]);
}
