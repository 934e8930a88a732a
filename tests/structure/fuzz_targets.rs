//! The nightly workflow runs each fuzz target. A build of the fuzz targets uses the compiled crates of the workspace.

use std::fs;

use crate::source::workspace;

fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap()
}

#[test]
fn workflow_runs_each_fuzz_target() {
    let manifest = read("fuzz/Cargo.toml");
    let paths = manifest.lines().filter_map(|line| line.strip_prefix("path = \"fuzz_targets/"));
    let targets: Vec<_> = paths.map(|path| path.trim_end_matches(".rs\"")).collect();
    let workflow = read(".github/workflows/fuzz.yml");
    let list = workflow.lines().skip_while(|line| *line != "        target:").skip(1);
    let listed: Vec<_> = list.map_while(|line| line.strip_prefix("          - ")).collect();
    assert!(targets.len() >= 13, "{targets:?}");
    assert_eq!(listed, targets);
}

/// Cargo uses a compiled crate again only if its profile is the same.
#[test]
fn profile_of_the_fuzz_targets_is_the_profile_of_the_workspace() {
    let profile = |path: &str| -> Vec<String> {
        let manifest = read(path);
        let lines = manifest.lines().skip_while(|line| *line != "[profile.dev]");
        lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(ToOwned::to_owned).collect()
    };
    let lock = read("fuzz/Cargo.lock");
    let is_used = |name: &str| lock.contains(&format!("name = \"{name}\"\n"));
    let mut expected = profile("Cargo.toml");
    // Cargo warns of the profile of a crate that the fuzz targets do not have.
    expected.retain(|line| line.split_once(".opt-level").is_none_or(|(name, _)| is_used(name)));
    assert!(expected.len() > 20, "{expected:?}");
    assert_eq!(profile("fuzz/Cargo.toml"), expected);
}
