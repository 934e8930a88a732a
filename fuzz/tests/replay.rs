//! Runs each target over its seeds and over every input that failed before.

use std::{fs, path::Path};

use silica_fuzz::TARGETS;

#[test]
fn seeds_hold() {
    for (name, check, seeds) in TARGETS {
        let seeds = seeds();
        assert!(seeds.len() >= 8, "{name} has {} seeds", seeds.len());
        seeds.iter().for_each(|seed| check(seed));
    }
}

#[test]
fn inputs_that_once_failed_hold() {
    for (name, check, _) in TARGETS {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions").join(name);
        for file in fs::read_dir(directory).into_iter().flatten() {
            let path = file.unwrap().path();
            println!("{}", path.display());
            check(&fs::read(path).unwrap());
        }
    }
}

#[test]
fn shortened_and_changed_seeds_hold() {
    for (_, check, seeds) in TARGETS {
        for seed in seeds() {
            let step = seed.len() / 40 + 1;
            for at in (0..seed.len()).step_by(step) {
                check(&seed[..at]);
                let mut changed = seed.clone();
                changed[at] ^= 1 << (at % 8);
                check(&changed);
            }
        }
    }
}
