//! Signatures over secp256k1, and points of `alt_bn128`.

use ruint::aliases::U256;
use sha2::{Digest, Sha256};
use silica_crypto::{
    EcdsaError,
    bn254::{G1Bytes, G2Bytes, is_pairing_product_one},
    recover_ecdsa, verify_ecdsa,
};
use silica_protocol::{PublicKey, Signature};

use super::{MISUSE, Refusal, typing};
use crate::{
    gas::log,
    types::{Type, Width},
    value::{AdtValue, Constructor, IntegerType, Value},
};

/// Returns the bytes of a value, or `None` if the value is not a byte string of fixed width with `N` bytes.
fn fixed<const N: usize>(value: &Value) -> Option<[u8; N]> {
    let Value::ByStrX(bytes) = value else { return None };
    bytes.as_ref().try_into().ok()
}

/// Returns the key, the message and the signature among the arguments, or `None` if the arguments have other types.
fn signed(arguments: &[Value]) -> Option<([u8; 33], &[u8], [u8; 64])> {
    let [key, Value::ByStr(message), signature] = arguments else { return None };
    Some((fixed(key)?, message, fixed(signature)?))
}

pub(super) fn verify_cost(arguments: &[Value]) -> Option<u64> {
    signed(arguments).map(|(_, message, _)| 250 + 15 * (message.len() as u64 + 66).div_ceil(64))
}

/// Verifies a Schnorr signature. The result is `False` for an invalid key or signature.
pub(super) fn schnorr_verify(arguments: &[Value]) -> Result<Value, Refusal> {
    let (key, message, signature) = signed(arguments).ok_or(MISUSE)?;
    let verdict = silica_crypto::verify(message, &Signature::new(signature), &PublicKey::new(key));
    Ok(Value::bool(verdict.is_ok()))
}

pub(super) fn ecdsa_verify(arguments: &[Value]) -> Result<Value, Refusal> {
    let (key, message, signature) = signed(arguments).ok_or(MISUSE)?;
    let verdict = verify_ecdsa(message, &signature, &key);
    verdict.map(Value::bool).map_err(|error| match error {
        EcdsaError::Key => Refusal::Text("Key.read_pk_exn: public key is invalid"),
        EcdsaError::RecoveryId | EcdsaError::Signature | EcdsaError::Unrecoverable => {
            Refusal::Text("Sign.read_exn: signature could not be parsed")
        }
    })
}

/// Returns the message, the signature and the recovery id among the arguments, or `None` if the arguments have other
/// types.
fn recoverable(arguments: &[Value]) -> Option<(&[u8], [u8; 64], u32)> {
    let [Value::ByStr(message), signature, Value::Integer(id)] = arguments else { return None };
    let id = (id.ty() == IntegerType::Uint(Width::W32)).then(|| id.to_u32())??;
    Some((message, fixed(signature)?, id))
}

pub(super) fn ecdsa_recover_cost(arguments: &[Value]) -> Option<u64> {
    recoverable(arguments).map(|(message, _, _)| (message.len() as u64).div_ceil(960))
}

pub(super) fn ecdsa_recover(arguments: &[Value]) -> Result<Value, Refusal> {
    let (message, signature, id) = recoverable(arguments).ok_or(MISUSE)?;
    recover_ecdsa(message, &signature, id).map(Value::bystrx).map_err(|error| match error {
        EcdsaError::RecoveryId => Refusal::Text("Sign.read_recoverable_exn: recid must be 0, 1, 2 or 3"),
        EcdsaError::Signature => Refusal::Text("Sign.read_recoverable_exn: signature could not be parsed"),
        EcdsaError::Key | EcdsaError::Unrecoverable => Refusal::Text("Sign.recover: pk could not be recovered"),
    })
}

fn key(arguments: &[Value]) -> Option<[u8; 33]> {
    let [key] = arguments else { return None };
    fixed(key)
}

pub(super) fn get_address_cost(arguments: &[Value]) -> Option<u64> {
    key(arguments).map(|key| (key.len() as u64).div_ceil(960))
}

/// Returns the address of a public key: the last 20 bytes of the SHA-256 of the key.
pub(super) fn get_address(arguments: &[Value]) -> Result<Value, Refusal> {
    let digest = Sha256::digest(key(arguments).ok_or(MISUSE)?);
    digest.get(12..).map(Value::bystrx).ok_or(MISUSE)
}

/// Returns the two values of a pair, or `None` if the value is not a pair of byte strings of this width.
fn pair<'a>(value: &'a Value, width: u32) -> Option<(&'a Value, &'a Value)> {
    let pair: &'a AdtValue = value.as_adt()?;
    let [first, second] = pair.arguments() else { return None };
    let typed = pair.types().iter().all(|of| *of == Type::bystr(width));
    (pair.is(Constructor::pair()) && typed).then_some((first, second))
}

fn g1(value: &Value) -> Option<G1Bytes> {
    let (x, y) = pair(value, 32)?;
    Some(G1Bytes { x: fixed(x)?, y: fixed(y)? })
}

fn g2(value: &Value) -> Option<G2Bytes> {
    let (x, y) = pair(value, 64)?;
    Some(G2Bytes { x: fixed(x)?, y: fixed(y)? })
}

fn g1_option(point: Option<G1Bytes>) -> Value {
    let pair = |point: G1Bytes| {
        Value::pair((Type::bystr(32), Value::bystrx(point.x)), (Type::bystr(32), Value::bystrx(point.y)))
    };
    Value::option(typing::g1_type(), point.map(pair))
}

fn two_points(arguments: &[Value]) -> Option<(G1Bytes, G1Bytes)> {
    let [left, right] = arguments else { return None };
    Some((g1(left)?, g1(right)?))
}

pub(super) fn g1_add_cost(arguments: &[Value]) -> Option<u64> {
    two_points(arguments).map(|_| 20)
}

pub(super) fn g1_add(arguments: &[Value]) -> Result<Value, Refusal> {
    let (left, right) = two_points(arguments).ok_or(MISUSE)?;
    Ok(g1_option(left.add(&right)))
}

fn point_and_scalar(arguments: &[Value]) -> Option<(G1Bytes, [u8; 32])> {
    let [point, scalar] = arguments else { return None };
    Some((g1(point)?, fixed(scalar)?))
}

pub(super) fn g1_mul_cost(arguments: &[Value]) -> Option<u64> {
    point_and_scalar(arguments).map(|(_, scalar)| 20 * log(&U256::from_be_bytes(scalar)))
}

/// Returns the cost in Scilla 0.11, in units. The logarithm of the scalar is one less than in later releases.
pub(super) fn g1_mul_cost_v0_11(arguments: &[Value]) -> Option<u64> {
    point_and_scalar(arguments).map(|(_, scalar)| 20 * (log(&U256::from_be_bytes(scalar)) - 1))
}

pub(super) fn g1_mul(arguments: &[Value]) -> Result<Value, Refusal> {
    let (point, scalar) = point_and_scalar(arguments).ok_or(MISUSE)?;
    Ok(g1_option(point.mul(&scalar)))
}

fn point(arguments: &[Value]) -> Option<G1Bytes> {
    let [point] = arguments else { return None };
    g1(point)
}

pub(super) fn g1_neg_cost(arguments: &[Value]) -> Option<u64> {
    point(arguments).map(|_| 20)
}

pub(super) fn g1_neg(arguments: &[Value]) -> Result<Value, Refusal> {
    Ok(g1_option(point(arguments).ok_or(MISUSE)?.neg()))
}

fn pairs(arguments: &[Value]) -> Option<Vec<(G1Bytes, G2Bytes)>> {
    let [list] = arguments else { return None };
    if list.ty().ok()? != typing::pairs_type() {
        return None;
    }
    let points = |element: &Value| match element.as_adt()?.arguments() {
        [one, two] => Some((g1(one)?, g2(two)?)),
        _ => None,
    };
    list.elements().map(points).collect()
}

pub(super) fn pairing_cost(arguments: &[Value]) -> Option<u64> {
    pairs(arguments).map(|pairs| 40 * pairs.len() as u64)
}

pub(super) fn pairing_product(arguments: &[Value]) -> Result<Value, Refusal> {
    let pairs = pairs(arguments).ok_or(MISUSE)?;
    Ok(Value::option(Type::bool(), is_pairing_product_one(&pairs).map(Value::bool)))
}
