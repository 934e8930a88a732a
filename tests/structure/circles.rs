//! The files of a directory of `crates/node` do not import each other in a circle. If file A imports file B, directly
//! or through other files, then B does not import A.
//!
//! The files of a directory are `mod.rs` and its child modules. A child with a directory of its own counts as one file.
//! An import through `super` counts as an import of `mod.rs`. If `mod.rs` itself imports the name from a child, the
//! import counts as an import of that child. Code that only tests compile may import any file.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Crate, File};

/// Directories whose files form circles. A change that removes the circles of a directory also removes the directory
/// from this list. New directories are not permitted in this list.
const WITH_CIRCLES: [&str; 9] = [
    "crates/node/src/cli/mod.rs",
    "crates/node/src/client/mod.rs",
    "crates/node/src/client/http/mod.rs",
    "crates/node/src/client/load/mod.rs",
    "crates/node/src/config/mod.rs",
    "crates/node/src/dump/mod.rs",
    "crates/node/src/http/mod.rs",
    "crates/node/src/methods/mod.rs",
    "crates/node/src/rpc/mod.rs",
];

/// The name of the file of the directory itself.
const DIRECTORY: &str = "mod.rs";

/// The imports between the files of a directory, by the importing file. Each imported file has the path and the line of
/// its first import.
type Imports<'a> = BTreeMap<&'a str, BTreeMap<&'a str, String>>;

/// Returns the imports between the files of the directory of `directory`.
fn imports<'a>(krate: &'a Crate, directory: &'a File) -> Imports<'a> {
    let depth = directory.module.len();
    let mut imports = Imports::new();
    for file in krate.files.iter().filter(|file| file.module.starts_with(&directory.module)) {
        let from = file.module.get(depth).map_or(DIRECTORY, String::as_str);
        for path in &file.paths {
            let Some(name) = path.segments.strip_prefix(&directory.module[..]).and_then(<[_]>::first) else { continue };
            let to = directory.file_of(name).unwrap_or(DIRECTORY);
            if to != from {
                let place = || format!("{}:{}", file.path, path.line);
                imports.entry(from).or_default().entry(to).or_insert_with(place);
            }
        }
    }
    imports
}

/// Returns a circle of files, or `None` if the files form no circle. Each file has the path and the line of the import
/// of the next file.
fn circle<'a>(imports: &Imports<'a>) -> Option<Vec<(&'a str, String)>> {
    let mut done = BTreeSet::new();
    imports.keys().find_map(|file| visit(file, imports, &mut Vec::new(), &mut done))
}

/// Follows the imports of `file`. `way` has the files from which imports lead to `file`, and `done` has the files that
/// are in no circle.
fn visit<'a>(
    file: &'a str,
    imports: &Imports<'a>,
    way: &mut Vec<(&'a str, String)>,
    done: &mut BTreeSet<&'a str>,
) -> Option<Vec<(&'a str, String)>> {
    if let Some(start) = way.iter().position(|(visited, _)| *visited == file) {
        return Some(way[start..].to_vec());
    }
    if done.contains(file) {
        return None;
    }
    for (to, place) in imports.get(file).into_iter().flatten() {
        way.push((file, place.clone()));
        if let Some(circle) = visit(to, imports, way, done) {
            return Some(circle);
        }
        way.pop();
    }
    done.insert(file);
    None
}

/// Returns the circles of a crate, one for each directory that has any, and the exceptions that no directory needs.
fn faults(krate: &Crate, exceptions: &[&str]) -> Vec<String> {
    let mut unused: BTreeSet<&str> = exceptions.iter().copied().collect();
    let mut faults = Vec::new();
    for directory in krate.files.iter().filter(|file| !file.module.is_empty() && file.has_children()) {
        let Some(circle) = circle(&imports(krate, directory)) else { continue };
        if !unused.remove(&*directory.path) {
            let steps: Vec<String> = circle.iter().map(|(file, place)| format!("{file} ({place})")).collect();
            faults.push(format!("{}: {} -> {}", directory.path, steps.join(" -> "), circle[0].0));
        }
    }
    faults.extend(unused.iter().map(|path| format!("{path}: no circle, remove it from WITH_CIRCLES")));
    faults
}

#[test]
fn files_of_a_directory_form_no_circles() {
    let node = Crate::all().into_iter().find(|krate| krate.name == "node").unwrap();
    let faults = faults(&node, &WITH_CIRCLES);
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Returns the circles of a directory with a file `a.rs`, a file `b.rs` and a directory `c`.
fn faults_of_sample(directory: &str, a: &str, b: &str, inner: &str) -> Vec<String> {
    let directory = format!("mod a; mod b; mod c; {directory}");
    let files = [
        ("lib.rs", "mod d;"),
        ("d/mod.rs", &*directory),
        ("d/a.rs", a),
        ("d/b.rs", b),
        ("d/c/mod.rs", "mod inner;"),
        ("d/c/inner.rs", inner),
    ];
    faults(&Crate::in_memory("sample", &files), &[])
}

#[test]
fn imports_in_one_direction_form_no_circle() {
    let found = faults_of_sample(
        "use self::a::A; pub use self::b::B;",
        "use super::{B, c::inner::I};",
        "use super::c; #[cfg(test)] use super::a::A;",
        "use super::super::c::J;",
    );
    assert_eq!(found, [""; 0]);
}

#[test]
fn files_that_import_each_other_form_a_circle() {
    let found = faults_of_sample("", "use super::b::B;", "\nuse crate::d::c::C;", "type A = super::super::a::A;");
    let circle = "a (crates/sample/src/d/a.rs:1) -> b (crates/sample/src/d/b.rs:2) -> \
                  c (crates/sample/src/d/c/inner.rs:1) -> a";
    assert_eq!(found, [format!("crates/sample/src/d/mod.rs: {circle}")]);
}

#[test]
fn file_that_imports_an_item_of_its_directory_forms_a_circle() {
    let found = faults_of_sample("use self::a::A;\nstruct Own;", "use super::Own;", "use super::A;", "");
    let circle = "a (crates/sample/src/d/a.rs:1) -> mod.rs (crates/sample/src/d/mod.rs:1) -> a";
    assert_eq!(found, [format!("crates/sample/src/d/mod.rs: {circle}")]);
}

#[test]
fn directory_without_circles_needs_no_exception() {
    let files = [("lib.rs", "mod d;"), ("d/mod.rs", "mod a; use self::a::A;"), ("d/a.rs", "use super::Own;")];
    let (path, krate) = ("crates/sample/src/d/mod.rs", Crate::in_memory("sample", &files));
    assert_eq!(faults(&krate, &[path]), [""; 0]);
    let stale = "crates/sample/src/e/mod.rs";
    let expected = [format!("{stale}: no circle, remove it from WITH_CIRCLES")];
    assert_eq!(faults(&krate, &[path, stale]), expected);
}
