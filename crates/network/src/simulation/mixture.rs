//! A mixture of many failures. The seed chooses the network, the failures and their rates.

use chacha20::{ChaCha8Rng, rand_core::SeedableRng as _};

use super::{
    network::{Shape, draw},
    runner::{Counts, LONGEST},
    world::{Rates, World},
};

/// Number of blocks after which failures end for some blocks.
const PHASE: u64 = 8;

/// Longest time with failures, in milliseconds.
const LONGEST_PHASE: u64 = 60_000;

/// Returns a random element of a list.
fn pick<T: Copy>(random: &mut ChaCha8Rng, of: &[T]) -> T {
    of[usize::try_from(draw(random, u64::try_from(of.len()).unwrap())).unwrap()]
}

/// Returns 0 or a rate up to `most`.
fn rate(random: &mut ChaCha8Rng, most: u64) -> u64 {
    if draw(random, 2) == 0 { 0 } else { draw(random, most + 1) }
}

/// Returns the simulation of a seed.
fn world(seed: u64) -> World {
    let random = &mut ChaCha8Rng::seed_from_u64(seed << 16 | 0x6d69);
    let members = pick(random, &[4, 4, 4, 4, 4, 4, 5, 7]);
    let shape =
        Shape { members, blocks_per_ds_epoch: pick(random, &[2, 3, 5, 10]), is_on_demand: draw(random, 3) == 0 };
    let mut world = World::new(seed, shape);
    world.rates = Rates {
        crash: rate(random, 15),
        power: rate(random, 4),
        partition: rate(random, 20),
        loss: rate(random, 1_000),
        repeat: rate(random, 1_000),
        mistake: rate(random, 2_000),
        delay: rate(random, 300),
        latency: pick(random, &[0, 0, 0, 20, 100]),
        step: rate(random, 20),
        file_loss: 0,
        forge: 0,
        lie: 0,
    };
    for member in &mut world.members {
        member.skew = 900 - i64::try_from(draw(random, 1_801)).unwrap();
    }
    // The other members are a quorum.
    let faults = (members - 1) / 3;
    match draw(random, 4) {
        0 => world.rates.file_loss = 5_000,
        1 => {
            for member in 0..faults {
                world.members[member].skew = pick(random, &[5_000, -5_000, 3_600_000, -3_600_000]);
            }
        }
        _ => {
            let first = pick(random, &[0, 1, 2, 3]);
            world.liars = (0..faults).map(|member| (first + member) % members).collect();
            (world.rates.forge, world.rates.lie) = (draw(random, 8_000), draw(random, 5_000));
        }
    }
    world
}

/// Runs the simulation of a seed, and returns what has happened.
pub(super) fn run(seed: u64, blocks: u64) -> Counts {
    let mut world = world(seed);
    world.run_in_phases(blocks, PHASE, LONGEST_PHASE);
    world.counts()
}

/// Returns a text that differs between two runs.
pub(super) fn trace(seed: u64, blocks: u64) -> String {
    let mut world = world(seed);
    world.run_in_phases(blocks, PHASE, LONGEST_PHASE);
    format!("{} {:?} {:?}", world.time, world.seen, world.decided)
}

impl World {
    /// Returns what has happened in the run.
    pub(super) fn counts(&self) -> Counts {
        let mut counts: Counts = self.seen.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        counts.insert("decided blocks".to_owned(), self.blocks());
        counts.insert("simulated seconds".to_owned(), self.time / 1_000);
        counts.insert(LONGEST.to_owned(), self.longest);
        counts
    }
}
