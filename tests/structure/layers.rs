//! The top modules of each crate form layers: an import points down, never up or sideways.
//!
//! The documentation of `lib.rs` declares the layers. A line `Layers, lowest first:` starts the list. Each item is a
//! layer: the names of its modules, separated by commas, and optionally a colon and a description. Modules of one layer
//! must not import each other. Code that only tests compile can import from any layer.

use std::collections::BTreeMap;

use crate::source::Crate;

/// The line that starts the list of layers.
const HEADING: &str = "Layers, lowest first:";

/// Returns the modules of each layer, lowest first, from the documentation of `lib.rs`; `None` without a list.
fn declared(docs: &[String]) -> Option<Vec<Vec<String>>> {
    let heading = docs.iter().position(|line| line.trim() == HEADING)?;
    let mut items: Vec<String> = Vec::new();
    for line in docs[heading + 1..].iter().skip_while(|line| line.trim().is_empty()) {
        match (line.strip_prefix(" - "), items.last_mut()) {
            (Some(item), _) => items.push(item.to_owned()),
            (None, Some(item)) if line.starts_with("   ") => item.push_str(line),
            (None, _) => break,
        }
    }
    Some(items.iter().map(|item| names(item)).collect())
}

/// Returns the module names at the start of an item. The text after a colon is a description for people.
fn names(item: &str) -> Vec<String> {
    let list = item.split_once(':').map_or(item, |(list, _)| list);
    list.split(',').map(|name| name.trim_matches([' ', '[', ']', '`']).to_owned()).collect()
}

/// Returns the imports and modules of a crate that contradict its declared layers.
fn faults(krate: &Crate, layers: &[Vec<String>]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut layer_of = BTreeMap::new();
    for (layer, name) in
        layers.iter().enumerate().flat_map(|(layer, names)| names.iter().map(move |name| (layer, name)))
    {
        if layer_of.insert(name.as_str(), layer).is_some() {
            faults.push(format!("{}: the list of layers has `{name}` twice", krate.files[0].path));
        }
    }
    let modules = krate.top_modules();
    let missing = modules.iter().filter(|module| !layer_of.contains_key(*module));
    faults.extend(missing.map(|module| format!("{}: the list of layers lacks `{module}`", krate.files[0].path)));
    let unknown = layer_of.keys().filter(|name| !modules.contains(*name));
    faults.extend(
        unknown.map(|name| format!("{}: the list of layers has `{name}`, which is no module", krate.files[0].path)),
    );
    for file in &krate.files {
        let Some(from) = file.module.first() else { continue };
        for path in &file.paths {
            let to = krate.top_module_of(&path.segments);
            let place = format!("{}:{}: `{from}` imports", file.path, path.line);
            let what = path.segments.join("::");
            let layers = (layer_of.get(from.as_str()), to.and_then(|to| layer_of.get(to)));
            match (to, layers) {
                (Some(to), _) if to == from => {}
                (None, _) => faults.push(format!("{place} `{what}` from `lib.rs`, which is above all layers")),
                (Some(to), (Some(here), Some(there))) if here == there => {
                    faults.push(format!("{place} `{what}` from `{to}`, a module of the same layer"));
                }
                (Some(to), (Some(here), Some(there))) if here < there => {
                    faults.push(format!("{place} `{what}` from `{to}`, a module of a higher layer"));
                }
                _ => {}
            }
        }
    }
    faults
}

#[test]
fn modules_of_each_crate_form_layers() {
    let mut all = Vec::new();
    for krate in Crate::all() {
        match declared(&krate.docs) {
            Some(layers) => all.extend(faults(&krate, &layers)),
            None => all.push(format!("{}: a line `{HEADING}` with a list is missing", krate.files[0].path)),
        }
    }
    assert!(all.is_empty(), "{} faults:\n{}", all.len(), all.join("\n"));
}

/// Returns the faults of a crate with the modules `low`, `left`, `right` and `high`. The text of `left` is the
/// argument.
fn faults_of_sample(left: &str) -> Vec<String> {
    let root = "
//! A sample.
//!
//! Layers, lowest first:
//!
//! - `low`: the ground;
//!   with `more`, and an end.
//! - [`left`],
//!   `right`: two wings
//! - `high`
//!
//! - `other`: no layer
mod high;
mod left;
mod low;
mod right;

pub use crate::high::Roof;
";
    let files = [
        ("lib.rs", root),
        ("high.rs", "use crate::low;"),
        ("left/mod.rs", "mod inner;"),
        ("left/inner.rs", left),
        ("low.rs", ""),
        ("right.rs", ""),
    ];
    let krate = Crate::in_memory("sample", &files);
    faults(&krate, &declared(&krate.docs).unwrap())
}

#[test]
fn an_import_may_point_down_or_stay_in_its_module() {
    let text = "use crate::low::Ground; use super::Wing; use crate::left::Wing; #[cfg(test)] use crate::high;";
    assert_eq!(faults_of_sample(text), [""; 0]);
}

#[test]
fn an_import_that_points_up_is_a_fault() {
    let place = "crates/sample/src/left/inner.rs";
    let up =
        |line, what| vec![format!("{place}:{line}: `left` imports `{what}` from `high`, a module of a higher layer")];
    assert_eq!(faults_of_sample("use std::fmt;\nuse crate::{low, high::Roof};"), up(2, "high::Roof"));
    assert_eq!(faults_of_sample("\nfn f() {\n    crate::high::run();\n}"), up(3, "high::run"));
    assert_eq!(faults_of_sample("type A = super::super::high::Roof;"), up(1, "high::Roof"));
    assert_eq!(faults_of_sample("macro_rules! m { () => { $crate::Roof::new() } }"), up(1, "Roof::new"));
}

#[test]
fn an_import_that_points_sideways_is_a_fault() {
    let expected = "crates/sample/src/left/inner.rs:1: `left` imports `right` from `right`, a module of the same layer";
    assert_eq!(faults_of_sample("use crate::right;"), [expected]);
}

#[test]
fn an_import_from_the_root_is_a_fault() {
    let place = "crates/sample/src/left/inner.rs:1: `left` imports";
    let expected = |what| vec![format!("{place} `{what}` from `lib.rs`, which is above all layers")];
    assert_eq!(faults_of_sample("use crate::*;"), expected("*"));
    assert_eq!(faults_of_sample("use super::super::Missing;"), expected("Missing"));
}

#[test]
fn the_list_of_layers_has_each_module_once() {
    let root = "//! Layers, lowest first:\n//! - `a`, `b`\n//! - `b`\n//! - `d`\nmod a; mod b; mod c;";
    let krate = Crate::in_memory("sample", &[("lib.rs", root), ("a.rs", ""), ("b.rs", ""), ("c.rs", "")]);
    let expected = [
        "the list of layers has `b` twice",
        "the list of layers lacks `c`",
        "the list of layers has `d`, which is no module",
    ];
    let found = faults(&krate, &declared(&krate.docs).unwrap());
    assert_eq!(found, expected.map(|fault| format!("crates/sample/src/lib.rs: {fault}")));
}
