//! The lists of pages in `docs` name every page, so the book and the index of decisions are complete.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs")
}

/// Returns the Markdown files below a directory, as relative paths.
fn pages(directory: &Path) -> BTreeSet<String> {
    let mut pages = BTreeSet::new();
    let mut directories = vec![directory.to_path_buf()];
    while let Some(next) = directories.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.insert(path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    pages
}

/// Returns the targets of the Markdown links in a page, in order.
fn links(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    text.split("](").skip(1).map(|rest| rest.split_once(')').unwrap().0.to_owned()).collect()
}

#[test]
fn summary_lists_every_page_once() {
    let links = links(&docs().join("SUMMARY.md"));
    let listed: BTreeSet<_> = links.iter().cloned().collect();
    assert_eq!(listed.len(), links.len(), "a page is listed twice");
    let mut pages = pages(&docs());
    assert!(pages.remove("SUMMARY.md"));
    assert_eq!(listed, pages, "left: docs/SUMMARY.md; right: pages in docs");
}

#[test]
fn index_of_decisions_has_titles_and_status_of_all() {
    let directory = docs().join("adr");
    let index = fs::read_to_string(directory.join("README.md")).unwrap();
    let rows: Vec<_> = index.lines().filter(|line| line.starts_with("| [")).collect();
    let records = pages(&directory).into_iter().filter(|name| name.starts_with(|first: char| first.is_ascii_digit()));
    let expected: Vec<_> = records
        .map(|name| {
            let text = fs::read_to_string(directory.join(&name)).unwrap();
            let (heading, rest) = text.split_once('\n').unwrap();
            let (number, title) = heading.strip_prefix("# ADR ").unwrap().split_once(": ").unwrap();
            let status = rest.trim_start().lines().next().unwrap().strip_prefix("Status: ").unwrap();
            format!("| [{number:0>4}]({name}) | {title} | {status} |")
        })
        .collect();
    assert_eq!(rows, expected, "left: docs/adr/README.md; right: the records");
}
