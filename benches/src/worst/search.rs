//! A hill-climbing search for the slowest shape of a template.

use silica_scilla::rules::Rules;

use super::{Case, FullBlock, Measured, Prepared, Shape, Template, block_of_case};
use crate::Random;

/// Gas limit of a measured transaction.
pub const LIMIT: u64 = 300_000;
/// Number of proposed blocks in a measurement.
const RUNS: u32 = 7;

/// The slowest transaction of a shape.
#[derive(Clone, Debug)]
pub struct Slowest {
    /// The shape.
    pub shape: Shape,
    /// The measurement of the transaction.
    pub measured: Measured,
    /// Number of repetitions of the step in the transaction.
    pub times: u32,
}

/// Measures a shape. If a transaction exceeds a work limit, the measured transaction has as many repetitions as the
/// limit permits.
///
/// # Errors
///
/// The reason why a program cannot be deployed or called.
pub fn slowest(template: &Template, shape: Shape, rules: Rules) -> Result<Slowest, String> {
    let case: Case = (template.case)(&shape);
    let is_deployment = case.measured.is_none();
    let mut prepared = Prepared::new(case, rules)?;
    let first = prepared.measure(shape.times, LIMIT, RUNS)?;
    if first.receipt.success || is_deployment {
        return Ok(Slowest { shape, measured: first, times: shape.times });
    }
    let (mut fits, mut fails, mut best) = (0, shape.times, None);
    while fails - fits > (fails / 16).max(1) {
        let middle = fits.midpoint(fails);
        let measured = prepared.measure(middle, LIMIT, RUNS)?;
        if measured.receipt.success {
            fits = middle;
            best = Some(measured);
        } else {
            fails = middle;
        }
    }
    if let Some(measured) = best {
        return Ok(Slowest { shape, measured, times: fits });
    }
    let without = prepared.measure(0, LIMIT, RUNS)?;
    // Some programs fail for each number of repetitions.
    let succeeds = without.receipt.success;
    let (measured, times) = if succeeds { (without, 0) } else { (first, shape.times) };
    Ok(Slowest { shape, measured, times })
}

/// Measures a shape with a gas limit just above `gas`, which the transaction used without work limits.
///
/// # Errors
///
/// The errors of [`slowest`].
pub fn least_limit(template: &Template, shape: Shape, rules: Rules, gas: u64) -> Result<Measured, String> {
    let mut prepared = Prepared::new((template.case)(&shape), rules)?;
    prepared.measure(shape.times, gas + 1, RUNS)
}

/// Makes a block full of the slowest successful transaction of a template. If no transaction of a shape succeeds, the
/// function tries smaller shapes.
///
/// # Errors
///
/// The errors of [`slowest`].
pub fn block_of(template: &Template, rules: Rules) -> Result<FullBlock, String> {
    let mut shape = template.shape;
    loop {
        let case = (template.case)(&shape);
        let Slowest { measured, times, .. } = slowest(template, shape, rules)?;
        let number = match shape {
            _ if measured.receipt.success && times > 0 => None,
            Shape { copies: 2.., .. } => Some(&mut shape.copies),
            Shape { size: 2.., .. } => Some(&mut shape.size),
            Shape { depth: 2.., .. } => Some(&mut shape.depth),
            _ => None,
        };
        let Some(number) = number else { return block_of_case(&case, rules, times, LIMIT) };
        *number = (*number * 3 / 4).max(1);
    }
}

/// Changes the shape of a template `budget` times, and returns the shape with the most time for its gas.
///
/// # Errors
///
/// The errors of [`slowest`].
pub fn search(template: &Template, rules: Rules, random: &mut Random, budget: u32) -> Result<Slowest, String> {
    let mut best = slowest(template, template.shape, rules)?;
    for _ in 0..budget {
        let shape = mutated(best.shape, random);
        if shape == best.shape {
            continue;
        }
        let Ok(found) = slowest(template, shape, rules) else { continue };
        if found.measured.beyond_per_gas() > best.measured.beyond_per_gas() {
            best = found;
        }
    }
    Ok(best)
}

fn mutated(shape: Shape, random: &mut Random) -> Shape {
    let mut mutated = shape;
    let number = match random.below(5) {
        0 => &mut mutated.times,
        1 => &mut mutated.copies,
        2 | 3 => &mut mutated.size,
        _ => &mut mutated.depth,
    };
    *number = match random.below(6) {
        0 => number.saturating_mul(2),
        1 => *number / 2,
        2 => number.saturating_mul(4),
        3 => number.saturating_mul(5) / 4,
        4 => number.saturating_add(1),
        _ => number.saturating_sub(1),
    };
    let (times, copies) = (mutated.times.clamp(1, 5_000), mutated.copies.min(1_000));
    Shape { times, copies, ..mutated }
}
