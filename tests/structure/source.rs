//! Reads the sources of a crate: its files, their modules, and the paths in the code of each file.
//!
//! Test code with `#[cfg(test)]`, comments and documentation are left out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Returns the directory of the workspace.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// A library crate: the files that `lib.rs` declares, directly or through other files.
pub(crate) struct Crate {
    pub(crate) name: String,
    /// The lines of the `//!` documentation of `lib.rs`.
    pub(crate) docs: Vec<String>,
    /// The files in the order of their declarations. `lib.rs` is the first.
    pub(crate) files: Vec<File>,
}

/// A source file.
pub(crate) struct File {
    /// Path in the workspace.
    pub(crate) path: String,
    /// Path of the module of the file; empty for `lib.rs`.
    pub(crate) module: Vec<String>,
    /// Paths that start with `crate`, `self` or `super`, as absolute paths without `crate`.
    pub(crate) paths: Vec<NamedPath>,
    /// Names that `use` declarations import, each with its path without a leading `crate`.
    imports: Vec<(String, Vec<String>)>,
    /// Child modules in separate files.
    children: Vec<String>,
    /// Numbers of the lines with code.
    pub(crate) lines: BTreeSet<usize>,
}

/// A path in code, with its line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NamedPath {
    pub(crate) line: usize,
    pub(crate) segments: Vec<String>,
}

impl Crate {
    /// Reads all crates of the workspace.
    pub(crate) fn all() -> Vec<Self> {
        let directories = fs::read_dir(workspace().join("crates")).unwrap();
        let mut names: Vec<String> =
            directories.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names.iter().map(|name| Self::read(name)).collect()
    }

    fn read(name: &str) -> Self {
        let root = workspace();
        Self::new(name, |path| fs::read_to_string(root.join(path)).ok())
    }

    /// Reads the crate `name` from files in memory. Their paths start in its directory `src`.
    pub(crate) fn in_memory(name: &str, files: &[(&str, &str)]) -> Self {
        let files: BTreeMap<String, &str> =
            files.iter().map(|(path, text)| (format!("crates/{name}/src/{path}"), *text)).collect();
        Self::new(name, |path| files.get(path).map(|text| (*text).to_owned()))
    }

    fn new(name: &str, read: impl Fn(&str) -> Option<String>) -> Self {
        let path = format!("crates/{name}/src/lib.rs");
        let text = read(&path).unwrap_or_else(|| panic!("{path} is missing"));
        let docs = text.lines().filter_map(|line| line.strip_prefix("//!")).map(str::to_owned).collect();
        let mut this = Self { name: name.to_owned(), docs, files: Vec::new() };
        this.add(File::new(path, &[], &text), &read);
        this
    }

    fn add(&mut self, file: File, read: &impl Fn(&str) -> Option<String>) {
        let children: Vec<Vec<String>> =
            file.children.iter().map(|child| [&file.module[..], std::slice::from_ref(child)].concat()).collect();
        self.files.push(file);
        for module in children {
            let base = format!("crates/{}/src/{}", self.name, module.join("/"));
            let found = [format!("{base}.rs"), format!("{base}/mod.rs")]
                .into_iter()
                .find_map(|path| read(&path).map(|text| (path, text)));
            let (path, text) = found.unwrap_or_else(|| panic!("module {base} has no file"));
            self.add(File::new(path, &module, &text), read);
        }
    }

    /// Returns the modules that `lib.rs` declares, without test modules.
    pub(crate) fn top_modules(&self) -> BTreeSet<&str> {
        self.files[0].children.iter().map(String::as_str).collect()
    }

    /// Returns the top module of an absolute path, following re-exports of `lib.rs`. Returns `None` for an item of
    /// `lib.rs` itself.
    pub(crate) fn top_module_of(&self, path: &[String]) -> Option<&str> {
        let (first, root) = (path.first()?, &self.files[0]);
        let reexported = root.imports.iter().find(|(name, _)| name == first).and_then(|(_, path)| path.first());
        [Some(first), reexported].into_iter().flatten().find_map(|name| self.top_modules().get(name.as_str()).copied())
    }
}

impl File {
    /// Returns whether the file declares modules that have files of their own.
    pub(crate) fn has_children(&self) -> bool {
        !self.children.is_empty()
    }

    /// Returns the child module that `name` means in this module: the child with this name, or the child from which
    /// this file imports the name. Returns `None` for an item of this file.
    pub(crate) fn file_of(&self, name: &str) -> Option<&str> {
        let imported = self.imports.iter().find(|(import, _)| import == name);
        let source = imported.and_then(|(_, path)| match path.first().map(String::as_str) {
            Some("self") => path.get(1),
            _ => path.strip_prefix(&self.module[..])?.first(),
        });
        let named = |name: &str| self.children.iter().find(|child| *child == name).map(String::as_str);
        named(name).or_else(|| named(source?))
    }

    fn new(path: String, module: &[String], text: &str) -> Self {
        let stream: TokenStream = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut this = Self {
            path,
            module: module.to_owned(),
            paths: Vec::new(),
            imports: Vec::new(),
            children: Vec::new(),
            lines: BTreeSet::new(),
        };
        this.read(&without_tests(stream), module);
        this
    }

    /// Reads items, or any other tokens in a pair of brackets, in a module.
    fn read(&mut self, tokens: &[TokenTree], module: &[String]) {
        let mut rest = tokens;
        while let Some((token, after)) = rest.split_first() {
            self.lines.insert(line(token));
            self.lines.insert(token.span().end().line);
            rest = match token {
                TokenTree::Ident(word) if word == "mod" => self.module(after, module),
                TokenTree::Ident(word) if word == "use" && !is_mark(after, '<') => {
                    let end = after.iter().position(|token| is(token, ';')).unwrap_or(after.len());
                    let (tree, after) = after.split_at(end);
                    self.imports(tree, &[], module);
                    after
                }
                TokenTree::Ident(word) if ["crate", "self", "super"].iter().any(|root| word == root) => {
                    let (segments, after) = path(rest);
                    self.name(line(token), &segments, module);
                    after
                }
                TokenTree::Group(group) => {
                    self.read(&without_tests(group.stream()), module);
                    after
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => after,
            };
        }
    }

    /// Reads the tokens after the word `mod`, and returns the tokens after the module.
    fn module<'a>(&mut self, tokens: &'a [TokenTree], module: &[String]) -> &'a [TokenTree] {
        match tokens {
            [TokenTree::Ident(name), TokenTree::Group(body), rest @ ..] => {
                let inner = [module, &[name.to_string()]].concat();
                self.lines.insert(body.span_close().start().line);
                self.read(&without_tests(body.stream()), &inner);
                rest
            }
            [TokenTree::Ident(name), rest @ ..] => {
                self.children.push(name.to_string());
                rest
            }
            _ => tokens,
        }
    }

    /// Reads one tree of a `use` declaration, or several trees with commas between them.
    fn imports(&mut self, tokens: &[TokenTree], prefix: &[String], module: &[String]) {
        for token in tokens {
            self.lines.insert(line(token));
            self.lines.insert(token.span().end().line);
        }
        for tree in tokens.split(|token| is(token, ',')).filter(|tree| !tree.is_empty()) {
            let (segments, rest) = path(tree);
            let mut whole = [prefix, &segments[..]].concat();
            let name = match rest {
                [TokenTree::Group(group)] => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    self.imports(&inner, &whole, module);
                    continue;
                }
                [TokenTree::Ident(_), TokenTree::Ident(alias)] => alias.to_string(),
                [] => whole.last().cloned().unwrap_or_default(),
                _ => {
                    whole.push("*".to_owned());
                    "*".to_owned()
                }
            };
            self.name(line(&tree[0]), &whole, module);
            let start = usize::from(whole.first().is_some_and(|first| first == "crate"));
            self.imports.push((name, whole[start..].to_vec()));
        }
    }

    /// Adds a path in the code of `module`, unless the path leads out of the crate.
    fn name(&mut self, line: usize, segments: &[String], module: &[String]) {
        let Some((first, rest)) = segments.split_first() else { return };
        let segments = match first.as_str() {
            _ if rest.is_empty() => return,
            "crate" => rest.to_vec(),
            "self" => [module, rest].concat(),
            "super" => {
                let ups = segments.iter().take_while(|segment| *segment == "super").count();
                [&module[..module.len() - ups], &segments[ups..]].concat()
            }
            _ => return,
        };
        self.paths.push(NamedPath { line, segments });
    }
}

/// Returns the segments of the path at the start of `tokens`, and the tokens after it.
fn path(tokens: &[TokenTree]) -> (Vec<String>, &[TokenTree]) {
    let mut segments = Vec::new();
    let mut rest = tokens;
    while let [TokenTree::Ident(segment), after @ ..] = rest {
        segments.push(segment.to_string());
        match after {
            [first, second, after @ ..] if is(first, ':') && is(second, ':') => rest = after,
            _ => return (segments, after),
        }
    }
    (segments, rest)
}

/// Removes documentation, and the items that only tests compile.
fn without_tests(stream: TokenStream) -> Vec<TokenTree> {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut kept = Vec::new();
    let mut rest = &tokens[..];
    while let Some((token, after)) = rest.split_first() {
        rest = match attribute(rest) {
            Some((text, after)) if text == "cfg (test)" => after_item(after),
            Some((text, after)) if text.starts_with("doc =") => after,
            _ => {
                kept.push(token.clone());
                after
            }
        };
    }
    kept
}

/// Returns the text of the attribute at the start of `tokens`, and the tokens after it.
fn attribute(tokens: &[TokenTree]) -> Option<(String, &[TokenTree])> {
    let (marks, rest) = match tokens {
        [hash, bang, rest @ ..] if is(hash, '#') && is(bang, '!') => (2, rest),
        [hash, rest @ ..] if is(hash, '#') => (1, rest),
        _ => return None,
    };
    let TokenTree::Group(group) = rest.first()? else { return None };
    Some((group.stream().to_string(), tokens.get(marks + 1..)?))
}

/// Skips an item, a field, a variant or an arm of a `match`, with its attributes.
fn after_item(tokens: &[TokenTree]) -> &[TokenTree] {
    let mut rest = tokens;
    while let Some((_, after)) = attribute(rest) {
        rest = after;
    }
    let is_item = matches!(rest.first(), Some(TokenTree::Ident(word)) if ITEMS.iter().any(|item| word == item));
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {
            is(token, ';') || !is_item && is(token, ',')
        }
    };
    match rest.iter().position(ends) {
        Some(end) => &rest[end + 1..],
        None => &[],
    }
}

/// The first words of items. A comma does not end such an item.
const ITEMS: [&str; 13] =
    ["async", "const", "enum", "fn", "impl", "macro_rules", "mod", "pub", "static", "struct", "trait", "type", "use"];

fn is(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn is_mark(tokens: &[TokenTree], mark: char) -> bool {
    tokens.first().is_some_and(|token| is(token, mark))
}

fn line(token: &TokenTree) -> usize {
    token.span().start().line
}

#[test]
fn reads_paths_of_every_form() {
    let text = r#"
        //! [`crate::doc`] is a link.
        use crate::{a, b::{self, c as d}, e::*};
        pub(in crate::f) fn run() -> super::g::G {
            println!("{}", crate::h::NAME); // crate::comment
            let text = "crate::text";
        }
        mod inner {
            use super::{i, super::j};
        }
        #[cfg(test)]
        fn helper<A, B>(x: crate::test_function) {}
        #[cfg(test)]
        mod tests {
            use crate::test_module;
        }
        use std::fmt;
        impl k::K for crate::L {}
    "#;
    let krate = Crate::in_memory("sample", &[("lib.rs", "mod middle;"), ("middle.rs", text)]);
    let paths: Vec<(usize, String)> =
        krate.files[1].paths.iter().map(|path| (path.line, path.segments.join("::"))).collect();
    let expected = [
        (3, "a"),
        (3, "b::self"),
        (3, "b::c"),
        (3, "e::*"),
        (4, "f"),
        (4, "g::G"),
        (5, "h::NAME"),
        (9, "middle::i"),
        (9, "j"),
        (18, "L"),
    ];
    assert_eq!(paths, expected.map(|(line, path)| (line, path.to_owned())));
    assert_eq!(krate.files[1].lines.iter().copied().collect::<Vec<_>>(), [3, 4, 5, 6, 7, 8, 9, 10, 17, 18]);
}

#[test]
fn finds_files_of_modules() {
    let files = [
        ("lib.rs", "pub mod a; mod b; #[cfg(test)] mod testing; #[cfg(feature = \"cli\")] mod c;"),
        ("a/mod.rs", "mod inner;"),
        ("a/inner.rs", ""),
        ("b.rs", "mod low;"),
        ("b/low.rs", ""),
        ("c.rs", ""),
    ];
    let krate = Crate::in_memory("sample", &files);
    let modules: Vec<String> = krate.files.iter().map(|file| file.module.join("::")).collect();
    assert_eq!(modules, ["", "a", "a::inner", "b", "b::low", "c"]);
    assert_eq!(krate.files[2].path, "crates/sample/src/a/inner.rs");
}

#[test]
fn follows_reexports_to_their_module() {
    let root = "mod a; mod b; pub use crate::{a::{A, other as B}, b::*}; use std::fmt;";
    let krate = Crate::in_memory("sample", &[("lib.rs", root), ("a.rs", ""), ("b.rs", "")]);
    let top = |path: &str| krate.top_module_of(&path.split("::").map(str::to_owned).collect::<Vec<_>>());
    assert_eq!([top("A"), top("B::new"), top("b::C")], [Some("a"), Some("a"), Some("b")]);
    assert_eq!([top("fmt"), top("Missing"), top("other")], [None; 3]);
}
