//! The nightly workflow runs each fuzz target.

use std::fs;

use crate::source::workspace;

#[test]
fn workflow_runs_each_fuzz_target() {
    let read = |path: &str| fs::read_to_string(workspace().join(path)).unwrap();
    let manifest = read("fuzz/Cargo.toml");
    let paths = manifest.lines().filter_map(|line| line.strip_prefix("path = \"fuzz_targets/"));
    let targets: Vec<_> = paths.map(|path| path.trim_end_matches(".rs\"")).collect();
    let workflow = read(".github/workflows/fuzz.yml");
    let list = workflow.lines().skip_while(|line| *line != "        target:").skip(1);
    let listed: Vec<_> = list.map_while(|line| line.strip_prefix("          - ")).collect();
    assert!(targets.len() >= 13, "{targets:?}");
    assert_eq!(listed, targets);
}
