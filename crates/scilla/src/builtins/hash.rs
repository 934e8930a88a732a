//! Hashes of values.

use ripemd::{Digest as _, Ripemd160};
use sha2::Sha256;

use super::{MISUSE, Refusal, keccak::Keccak256, serialize::write_serialized};
use crate::value::Value;

/// Number of bytes that SHA-256 processes for one unit.
const SHA256_BYTES: u64 = 960;
/// Number of bytes that Keccak-256 processes for one unit.
const KECCAK256_BYTES: u64 = 2040;
/// Number of bytes that RIPEMD-160 processes for one unit.
const RIPEMD160_BYTES: u64 = 640;

/// Returns the cost for the size and the sort cost of the argument, in units. The hash of a value of size 0 is free.
/// Any other hash costs at least one unit.
fn cost(arguments: &[Value], bytes_per_unit: u64) -> Option<u64> {
    let [of] = arguments else { return None };
    let hashable = of.ty().is_ok();
    hashable.then(|| of.size().saturating_add(of.sort_cost()).div_ceil(bytes_per_unit))
}

/// Returns the cost in Scilla 0.11, in units. That release hashed maps without sorting them.
fn cost_v0_11(arguments: &[Value], bytes_per_unit: u64) -> Option<u64> {
    let [of] = arguments else { return None };
    of.ty().is_ok().then(|| of.size().div_ceil(bytes_per_unit))
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

/// Hashes the bytes of a value, and returns the digest.
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
    digest(arguments, Keccak256::new(), Keccak256::update, Keccak256::finish)
}

pub(super) fn ripemd160(arguments: &[Value]) -> Result<Value, Refusal> {
    digest(arguments, Ripemd160::new(), |hasher, bytes| hasher.update(bytes), |hasher| hasher.finalize().to_vec())
}
