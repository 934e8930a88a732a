//! Hashes of values.

use ripemd::{Digest as _, Ripemd160};
use sha2::Sha256;

use super::{MISUSE, Refusal, serialize::write_serialized};
use crate::value::Value;

/// Bytes that each hash processes for one unit.
const SHA256_BYTES: u64 = 960;
const KECCAK256_BYTES: u64 = 2040;
const RIPEMD160_BYTES: u64 = 640;

/// Returns the cost for the size, and at least one unit for a value that has a size.
fn cost(arguments: &[Value], bytes_per_unit: u64) -> Option<u64> {
    let [of] = arguments else { return None };
    let hashable = of.kind().is_ok();
    hashable.then(|| of.size().saturating_add(of.sort_cost()).div_ceil(bytes_per_unit))
}

/// Returns the cost in 0.11, which hashed maps without sorting them.
fn cost_v0_11(arguments: &[Value], bytes_per_unit: u64) -> Option<u64> {
    let [of] = arguments else { return None };
    of.kind().is_ok().then(|| of.size().div_ceil(bytes_per_unit))
}

pub(super) fn sha256_cost(arguments: &[Value]) -> Option<u64> {
    cost(arguments, SHA256_BYTES)
}

pub(super) fn sha256_cost_v0_11(arguments: &[Value]) -> Option<u64> {
    cost_v0_11(arguments, SHA256_BYTES)
}

pub(super) fn keccak256_cost(arguments: &[Value]) -> Option<u64> {
    cost(arguments, KECCAK256_BYTES)
}

pub(super) fn keccak256_cost_v0_11(arguments: &[Value]) -> Option<u64> {
    cost_v0_11(arguments, KECCAK256_BYTES)
}

pub(super) fn ripemd160_cost(arguments: &[Value]) -> Option<u64> {
    cost(arguments, RIPEMD160_BYTES)
}

pub(super) fn ripemd160_cost_v0_11(arguments: &[Value]) -> Option<u64> {
    cost_v0_11(arguments, RIPEMD160_BYTES)
}

/// Writes the bytes of a value to a hash, and returns the digest.
fn digest<H>(
    arguments: &[Value],
    mut hasher: H,
    update: fn(&mut H, &[u8]),
    finish: fn(H) -> Vec<u8>,
) -> Result<Value, Refusal> {
    let [of] = arguments else { return Err(MISUSE) };
    if write_serialized(of, |bytes| update(&mut hasher, bytes)) {
        Ok(Value::bystrx(finish(hasher)))
    } else {
        Err(Refusal::Text("Cannot type runtime closure"))
    }
}

pub(super) fn sha256(arguments: &[Value]) -> Result<Value, Refusal> {
    digest(arguments, Sha256::new(), |hasher, bytes| hasher.update(bytes), |hasher| hasher.finalize().to_vec())
}

pub(super) fn keccak256(arguments: &[Value]) -> Result<Value, Refusal> {
    // Its traits are those of an older version of the crate `digest`.
    use keccak_asm::{Digest, Keccak256};
    let finish = |hasher: Keccak256| Digest::finalize(hasher).to_vec();
    digest(arguments, <Keccak256 as Digest>::new(), |hasher, bytes| Digest::update(hasher, bytes), finish)
}

pub(super) fn ripemd160(arguments: &[Value]) -> Result<Value, Refusal> {
    digest(arguments, Ripemd160::new(), |hasher, bytes| hasher.update(bytes), |hasher| hasher.finalize().to_vec())
}
