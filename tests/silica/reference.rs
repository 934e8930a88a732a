//! The pages of `docs/reference`: each rule has a source, and each citation and link has a target.
//!
//! `docs/reference/README.md` defines the forms that these tests check.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
    sync::LazyLock,
};

use regex::Regex;

/// The pages of the reference, in the form in which a citation starts.
const PAGES: [&str; 5] = ["execution#", "formats#", "interface#", "scilla#", "subscriptions#"];

/// The start of each citation.
const CITATION: &str = "Reference:";

/// Names of former notes that the repository does not contain.
const OUTDATED: [&str; 12] = [
    "decision 1",
    "execution page",
    "execution.md ",
    "formats page",
    "formats.md ",
    "gas page",
    "gas.md ",
    "interface specification",
    "point O-",
    "rpc page",
    "rpc.md ",
    "rule NUM",
];

/// A rule in a citation: page and anchor.
static RULE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("(execution|formats|interface|scilla|subscriptions)#([A-Za-z0-9_-]*)").unwrap());

/// A source: repository, version and file, or a link to a file of this repository.
static SOURCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+ (v?[0-9][0-9a-z.-]*|[0-9a-f]{7}) `[^`]+`|\]\(\.\./\.\./[^)]+\)").unwrap()
});

/// The target of a Markdown link.
static LINK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\]\(([^) ]+)\)").unwrap());

/// An explicit anchor in a page.
static ANCHOR: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"<a id="([^"]+)">"#).unwrap());

static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new("`[^`]*`").unwrap());

/// The anchors of each page, by the name of the page without extension.
type Pages = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the text files below a directory of the repository with one of these extensions, with their paths.
fn files(directory: &str, endings: &[&str]) -> Vec<(PathBuf, String)> {
    fn walk(directory: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                let generated = ["data", "node_modules", "target", "corpus", "regressions"].contains(&name);
                if !generated && !name.starts_with('.') {
                    walk(&path, endings, found);
                }
            } else if path.extension().is_some_and(|ending| endings.contains(&ending.to_str().unwrap())) {
                found.push(path);
            }
        }
    }

    let (root, mut found) = (root(), Vec::new());
    walk(&root.join(directory), endings, &mut found);
    found.sort();
    let read = |path: PathBuf| (path.strip_prefix(&root).unwrap().to_owned(), fs::read_to_string(&path).unwrap());
    let files: Vec<_> = found.into_iter().map(read).collect();
    assert!(!files.is_empty(), "{directory} has none of {endings:?}");
    files
}

/// Returns the pages of the documentation: the pages in `docs`, and pages in the root directory.
fn documents() -> Vec<(PathBuf, String)> {
    let at_root = ["README.md", "CONTRIBUTING.md", "SECURITY.md"];
    let at_root = at_root.map(|name| (name.into(), fs::read_to_string(root().join(name)).unwrap()));
    files("docs", &["md"]).into_iter().chain(at_root).collect()
}

/// Returns a page without its code blocks, with the same number of lines.
fn without_blocks(page: &str) -> String {
    let mut in_block = false;
    let line = |line: &str| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        if in_block || is_fence { String::new() } else { line.to_owned() }
    };
    page.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the anchor of a heading.
fn slug(heading: &str) -> String {
    let plain = LINK.replace_all(heading, "]").to_lowercase();
    let kept = plain.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.collect::<String>().trim().replace(' ', "-")
}

/// Returns the anchors of a page: anchors of headings, and explicit anchors. A second heading with the same text has
/// the suffix `-1`.
fn anchors(page: &str) -> BTreeSet<String> {
    let text = without_blocks(page);
    let mut anchors: BTreeSet<String> = ANCHOR.captures_iter(&text).map(|found| found[1].to_owned()).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for heading in text.lines().filter_map(|line| line.strip_prefix('#')) {
        let slug = slug(heading.trim_start_matches('#'));
        let count = counts.entry(slug.clone()).or_default();
        anchors.insert(if *count == 0 { slug } else { format!("{slug}-{count}") });
        *count += 1;
    }
    anchors
}

fn reference() -> Pages {
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    files("docs/reference", &["md"]).iter().map(|(path, page)| (name(path), anchors(page))).collect()
}

/// Returns the invalid citations of a text: lines without a rule, unknown rules, and former notes.
fn wrong_citations(text: &str, pages: &Pages) -> Vec<String> {
    let exists = |page: &str, anchor: &str| pages.get(page).is_some_and(|anchors| anchors.contains(anchor));
    // Whether a citation names a rule. The citation can continue on the next line.
    let names_rules = |rest: &str| {
        let rules = rest.split(')').next().unwrap_or_default().trim().trim_end_matches(',');
        rules.split(',').all(|rule| PAGES.iter().any(|page| rule.trim().starts_with(page)))
    };
    let is_wrong = |line: &str| {
        // This check is faster than the pattern, which would be slow for all files.
        let cites = PAGES.iter().any(|page| line.contains(page));
        line.split(CITATION).skip(1).any(|rest| !names_rules(rest))
            || (cites && RULE.captures_iter(line).any(|rule| !exists(&rule[1], &rule[2])))
            || OUTDATED.iter().any(|name| line.contains(name))
    };
    let lines = text.lines().enumerate().filter(|(_, line)| is_wrong(line));
    lines.map(|(number, line)| format!("{}: {}", number + 1, line.trim())).collect()
}

/// Returns the links of a page without a target. `anchors_of` returns the anchors of a file, or `None` if it does not
/// exist.
fn broken_links(path: &Path, page: &str, anchors_of: impl Fn(&Path) -> Option<BTreeSet<String>>) -> Vec<String> {
    let text = without_blocks(page);
    let text = CODE.replace_all(&text, "`");
    let is_broken = |target: &str| {
        if target.contains("://") {
            return false;
        }
        let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
        let file = if file.is_empty() { path.to_owned() } else { normal(&path.parent().unwrap().join(file)) };
        anchors_of(&file).is_none_or(|anchors| anchor.is_some_and(|anchor| !anchors.contains(anchor)))
    };
    let links = LINK.captures_iter(&text).map(|found| found[1].to_owned());
    links.filter(|target| is_broken(target)).collect()
}

/// Resolves `..` in a path without access to the disk.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        if component == Component::ParentDir {
            normal.pop();
        } else {
            normal.push(component);
        }
    }
    normal
}

/// Returns the rules of a page whose section does not end with a source.
fn rules_without_source(page: &str) -> Vec<String> {
    let text = without_blocks(page);
    let mut rules: Vec<(&str, String)> = Vec::new();
    let mut is_rule = false;
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            is_rule = true;
            rules.push((heading, String::new()));
        } else if line.starts_with("# ") || line.starts_with("## ") {
            // The text of a group of rules belongs to no rule.
            is_rule = false;
        } else if is_rule && let Some((_, section)) = rules.last_mut() {
            section.push_str(line);
            section.push('\n');
        }
    }
    let has_source = |section: &str| {
        let last = section.trim_end().rsplit("\n\n").next().unwrap_or_default();
        last.starts_with("Source:") && SOURCE.is_match(&last.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let without = rules.into_iter().filter(|(_, section)| !has_source(section));
    without.map(|(heading, _)| heading.to_owned()).collect()
}

#[test]
fn every_citation_in_code_has_its_rule() {
    let pages = reference();
    let mut wrong = Vec::new();
    let mut cited = 0;
    for directory in ["crates", "tests", "fuzz", "benches"] {
        for (path, text) in files(directory, &["rs", "toml", "md"]) {
            // This file has invalid citations as samples.
            if path.ends_with("tests/silica/reference.rs") {
                continue;
            }
            cited += text.matches(CITATION).count();
            wrong.extend(wrong_citations(&text, &pages).iter().map(|line| format!("{}:{line}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "not cited as docs/reference/README.md says:\n{}", wrong.join("\n"));
    assert!(cited > 50, "only {cited} citations");
}

#[test]
fn every_link_in_documents_has_its_target() {
    let root = root();
    let anchors_of = |path: &Path| {
        let path = root.join(path);
        let read = |path| fs::read_to_string(path).map(|page| anchors(&page)).unwrap_or_default();
        path.exists().then(|| if path.extension().is_some_and(|it| it == "md") { read(path) } else { BTreeSet::new() })
    };
    let mut broken = Vec::new();
    for (path, page) in documents() {
        let links = broken_links(&path, &page, anchors_of);
        broken.extend(links.iter().map(|target| format!("{}: {target}", path.display())));
    }
    assert!(broken.is_empty(), "links without a target:\n{}", broken.join("\n"));
}

/// Returns the anchors that two headings or rows of a page share.
fn ambiguous_anchors(page: &str) -> Vec<String> {
    let text = without_blocks(page);
    let headings = text.lines().filter_map(|line| line.strip_prefix('#')).map(|it| slug(it.trim_start_matches('#')));
    let stated = ANCHOR.captures_iter(&text).map(|found| found[1].to_owned());
    let mut seen = BTreeSet::new();
    headings.chain(stated).filter(|anchor| !seen.insert(anchor.clone())).collect()
}

#[test]
fn every_rule_has_an_anchor_of_its_own() {
    for (path, page) in files("docs/reference", &["md"]) {
        assert_eq!(ambiguous_anchors(&page), [""; 0], "{}", path.display());
    }
    assert_eq!(ambiguous_anchors("## Pool\n\n### Pool\n\n<a id=\"x\"></a>\n\n### X\n"), ["pool", "x"]);
}

#[test]
fn every_rule_has_a_source() {
    let mut without = Vec::new();
    for (path, page) in files("docs/reference", &["md"]) {
        let rules = rules_without_source(&page);
        without.extend(rules.iter().map(|rule| format!("{}: {rule}", path.display())));
    }
    assert!(without.is_empty(), "rules whose last paragraph names no source:\n{}", without.join("\n"));
}

#[test]
fn anchors_are_those_of_headings_and_those_that_a_page_states() {
    let page = "# Top\n\n## A `b`, and C\n\n```text\n# no heading\n```\n\n### [Rule](x.md#y)\n### Rule\n\n| <a id=\"row-1\"></a>1 |\n";
    assert_eq!(anchors(page), ["top", "a-b-and-c", "rule", "rule-1", "row-1"].map(str::to_owned).into());
}

#[test]
fn wrong_citation_is_found() {
    let pages = Pages::from([("formats".to_owned(), ["keys".to_owned(), "address".to_owned()].into())]);
    let check = |line: &str, wrong: bool| assert_eq!(!wrong_citations(line, &pages).is_empty(), wrong, "{line}");
    check("/// A key (Reference: formats#keys).", false);
    check("/// Reference: formats#keys, formats#address", false);
    check("/// Reference: formats#key", true);
    check("/// Reference: formats#keys, formats#adress", true);
    check("/// Reference: execution#keys", true);
    check("/// A key (Reference: formats#keys, formatz#address).", true);
    check("/// A key (Reference: formats#keys, adress).", true);
    check("/// A key (Reference: formats#keys,", false);
    check("/// Reference: section 7", true);
    check("/// Reference:", true);
    check("/// The key of the formats page.", true);
    check("/// Keys (rpc.md 2.1, interface specification).", true);
    check("/// As point O-28 has it, by rule NUM-T and decision 14.", true);
    check("/// The rule of low s; see section 6.3 of RFC 9112.", false);
}

#[test]
fn broken_link_is_found() {
    let anchors_of = |path: &Path| match path.to_str().unwrap() {
        "docs/a.md" => Some(["here".to_owned()].into()),
        "docs/adr/b.md" => Some(["there".to_owned()].into()),
        _ => None,
    };
    let broken = |page: &str| broken_links(Path::new("docs/adr/b.md"), page, anchors_of);
    let right = "[a](../a.md#here) [b](#there) [c](../a.md) [d](https://example.org/#x) `[e](no.md)`";
    assert_eq!(broken(right), [""; 0]);
    assert_eq!(broken("[a](../a.md#there) [b](#here)\n[c](a.md)"), ["../a.md#there", "#here", "a.md"]);
}

#[test]
fn rule_without_source_is_found() {
    let page = "# Page\n\n### Good\n\nText.\n\nSource: owner/name v1.2.3 `src/a.cpp` `f`.\n\n### Vector\n\nText.\n\n\
                Source: [v](../../tests/data/v.json).\n\n### Bare\n\nText.\n\n## Group\n\n### Empty source\n\nSource: memory.\n\n\
                ### Not last\n\nSource: owner/name v1 `a`.\n\nText.\n";
    assert_eq!(rules_without_source(page), ["Bare", "Empty source", "Not last"]);
}
