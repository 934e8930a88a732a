//! Writes the first corpus of every target to `corpus/`, the directory that `cargo fuzz` reads.

use std::{fs, io, path::Path};

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, _, seeds) in silica_fuzz::TARGETS {
        let directory = corpus.join(name);
        fs::create_dir_all(&directory)?;
        let seeds = seeds();
        for (number, seed) in seeds.iter().enumerate() {
            fs::write(directory.join(format!("seed-{number}")), seed)?;
        }
        println!("{name}: {} seeds", seeds.len());
    }
    Ok(())
}
