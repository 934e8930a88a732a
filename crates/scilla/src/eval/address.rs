//! Checks of address types.
//!
//! A value of an address type is a plain byte string. If such a value comes from outside or from a cast, the host
//! confirms that the account has the properties of the type.

use silica_protocol::Address;

use super::{
    machine::{Evaluation, failure},
    statement::host_failure,
};
use crate::{
    gas::Meter,
    host::{Host, HostError, RemoteWant},
    report::Failure,
    types::{AddressType, Type, adt::DataTypes, relation::assignable, substitution::replace},
    value::{Hex, Value},
};

/// An address, and the address type whose requirements the account must meet.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) address: Address,
    pub(super) ty: AddressType,
}

impl Claim {
    /// Returns whether the account meets the type. The inner error is the error text of the check. The outer error is
    /// a failure of the host.
    pub(super) fn check(&self, host: &mut dyn Host) -> Result<Result<(), String>, HostError> {
        let mut has = |name: &str| Ok(host.remote(&self.address, name, &[], RemoteWant::Type)?.is_some());
        let address = || Hex(self.address.as_bytes());
        Ok(match &self.ty {
            AddressType::Any => {
                let used = is_used(host, &self.address)?;
                used.then_some(()).ok_or_else(|| format!("Address not in use: {}", address()))
            }
            AddressType::Code => {
                let found = has("_codehash")?;
                found
                    .then_some(())
                    .ok_or_else(|| format!("No code (library or contract) found at address: {}", address()))
            }
            AddressType::Library => {
                let (code, contract) = (has("_codehash")?, has("_this_address")?);
                (code && !contract).then_some(()).ok_or_else(|| format!("No library found at address: {}", address()))
            }
            AddressType::Contract(fields) => {
                if !has("_this_address")? {
                    return Ok(Err(format!("No contract found at address: {}", address())));
                }
                for (name, expected) in fields.iter() {
                    let found = host.remote(&self.address, name, &[], RemoteWant::Type)?;
                    if !found.is_some_and(|found| assignable(expected, &found.ty)) {
                        let ty = Type::Address(self.ty.clone());
                        let of = format!("address is {}, expected type is {}", address(), ty.global());
                        return Ok(Err(format!("Address does not satisfy type: {of}")));
                    }
                }
                Ok(())
            }
        })
    }
}

/// Returns the cost of checking a claim, in units.
pub(super) fn cost(ty: &AddressType) -> u64 {
    match ty {
        AddressType::Any | AddressType::Code | AddressType::Library => 2,
        AddressType::Contract(fields) => 3 + fields.len() as u64,
    }
}

/// Returns whether an account has a balance, a nonce or code. Balance and nonce count only if the host returns both.
fn is_used(host: &mut dyn Host, address: &Address) -> Result<bool, HostError> {
    let mut number = |name: &str| -> Result<Option<bool>, HostError> {
        let found = host.remote(address, name, &[], RemoteWant::Value)?;
        let value = found.and_then(|found| found.value);
        Ok(value.as_ref().and_then(Value::as_integer).map(|number| !number.magnitude().is_zero()))
    };
    let (balance, nonce) = (number("_balance")?, number("_nonce")?);
    if let (Some(rich), Some(active)) = (balance, nonce)
        && (rich || active)
    {
        return Ok(true);
    }
    Ok(host.remote(address, "_codehash", &[], RemoteWant::Type)?.is_some())
}

/// Checks all claims, the last one first. Charges each check even if too little gas is left.
pub(super) fn check_all(claims: Vec<Claim>, gas: &mut Meter, host: &mut dyn Host) -> Evaluation<()> {
    for claim in claims.into_iter().rev() {
        gas.charge_unchecked(cost(&claim.ty));
        host.limit(gas.units(), gas.work().left());
        let checked = claim.check(host);
        gas.record(host.worked()).map_err(|exhausted| failure(exhausted.to_string()))?;
        match checked.map_err(|error| host_failure(error, None))? {
            Ok(()) => {}
            Err(text) => return Err(failure(text)),
        }
    }
    Ok(())
}

/// Checks that a value from outside of the program has the expected type, and adds the addresses in the value to the
/// claims.
///
/// The order of the parts is fixed: the arguments of a constructor from left to right; for a map, all keys before all
/// values.
pub(super) fn check_type(
    expected: &Type,
    value: &Value,
    known: &DataTypes,
    print: &dyn Fn(&Value) -> String,
    claims: &mut Vec<Claim>,
) -> Result<(), Failure> {
    // A list of 100,000 elements has that many levels. A stack replaces recursion, with the next part on top.
    let mut pending = vec![(expected.clone(), value)];
    while let Some((expected, value)) = pending.pop() {
        match (&expected, value) {
            (Type::Address(ty), Value::ByStrX(bytes)) if bytes.len() == 20 => {
                let address = Address::try_from(&**bytes).unwrap_or(Address::ZERO);
                claims.push(Claim { address, ty: ty.clone() });
            }
            (Type::Adt(name, types), Value::Adt(adt)) => {
                let constructor = adt.constructor();
                if name.name != constructor.data_type {
                    // Values from outside have global names.
                    let (of, not) = (constructor.name.global(), name.name.as_written());
                    let text = "Literal constructor does not belong to expected type";
                    return Err(failure(format!("{text}: {of} does not belong to {not}")));
                }
                let Some((data_type, found)) = known.constructor(&constructor.name) else {
                    let name = constructor.name.as_written();
                    return Err(failure(format!("No data type with this constructor found: {name}")));
                };
                if found.arguments.len() != adt.arguments().len() || data_type.parameters.len() != types.len() {
                    return Err(failure(format!("Malformed ADT literal: {}", print(value))));
                }
                let with: Vec<_> = data_type.parameters.iter().zip(types.iter()).collect();
                let parts = found.arguments.iter().zip(adt.arguments());
                let parts: Vec<_> = parts.map(|(ty, part)| (replace(ty, &with), part)).collect();
                pending.extend(parts.into_iter().rev());
            }
            (Type::Map(key_type, value_type), Value::Map(map)) => {
                for (_, value) in map {
                    pending.push((Type::clone(value_type), value));
                }
                for (key, _) in map {
                    pending.push((Type::clone(key_type), key.value()));
                }
            }
            _ => {
                let actual = value.ty().map_err(|untyped| failure(untyped.to_string()))?;
                if !assignable(&expected, &actual) {
                    let (expected, actual) = (expected.global(), actual.global());
                    return Err(failure(format!("Type unassignable: {expected} expected, but {actual} provided")));
                }
            }
        }
    }
    Ok(())
}
