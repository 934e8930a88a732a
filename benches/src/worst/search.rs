//! A hill climb over the shapes of a template.

use silica_scilla::rules::Rules;

use super::{Case, FullBlock, Measured, Prepared, Shape, Template, block_of_case};
use crate::Random;

/// Gas that a measured transaction may use.
pub const LIMIT: u64 = 300_000;
/// Blocks that are built for a measurement.
const RUNS: u32 = 7;

/// The slowest shape that was found, and how it was measured.
#[derive(Clone, Debug)]
pub struct Slowest {
    /// The shape.
    pub shape: Shape,
    /// The transaction of this shape that takes longest for its gas.
    pub measured: Measured,
    /// How often it repeats its step.
    pub times: u32,
}

/// Measures a shape. If a work limit applies and the transaction exceeds it, the measured transaction repeats its step
/// as often as the limit allows.
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
    // Some programs fail for each number of repeats.
    let succeeds = without.receipt.success;
    let (measured, times) = if succeeds { (without, 0) } else { (first, shape.times) };
    Ok(Slowest { shape, measured, times })
}

/// Returns the outcome with a limit of the gas that a transaction used without limits of work.
///
/// # Errors
///
/// As for [`slowest`].
pub fn least_limit(template: &Template, shape: Shape, rules: Rules, gas: u64) -> Result<Measured, String> {
    let mut prepared = Prepared::new((template.case)(&shape), rules)?;
    prepared.measure(shape.times, gas + 1, RUNS)
}

/// Makes a block that is full of the slowest transactions of a template that succeed. A shape of which none succeeds is made
/// smaller.
///
/// # Errors
///
/// As for [`slowest`].
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

/// Changes the shape of a template `budget` times, and keeps the slowest shape for its gas.
///
/// # Errors
///
/// As for [`slowest`].
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
