//! Reads and writes of statements: the fields of the contract, and other accounts.

use std::mem;

use silica_protocol::Address;

use super::{
    super::{
        address::{Claim, cost},
        machine::{Evaluation, failure, internal},
    },
    Execution,
};
use crate::{
    code::{Code, DeclaredField, FieldUse, Place, Variable},
    gas::Exhausted,
    host::{Host, HostError, RemoteWant, type_behind},
    report::{Entry, Failure},
    source::Location,
    syntax::ast::Want,
    types::{AddressType, Type},
    value::{Hex, Key, Value},
};

impl<'c> Execution<'_, 'c, '_> {
    /// Calls the host for work that the gas of the statement covers.
    pub(super) fn paid<T>(&mut self, act: impl FnOnce(&mut dyn Host) -> Result<T, HostError>) -> Result<T, HostError> {
        self.host.limit(self.machine.gas.units(), self.machine.gas.work().left());
        let answer = act(self.host);
        self.machine.gas.record(self.host.worked()).map_err(|_| HostError::too_large())?;
        answer
    }

    /// Calls the host for a value whose size is charged afterwards. Until then, the work of the host counts as unpaid.
    pub(super) fn unpaid<T>(
        &mut self,
        act: impl FnOnce(&mut dyn Host) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let left = self.machine.gas.left_before_charge();
        self.host.limit(self.machine.gas.units(), left.saturating_sub(self.unpaid));
        let answer = act(self.host);
        self.unpaid = self.unpaid.saturating_add(self.host.worked());
        if self.unpaid > left {
            self.machine.gas.exceed_before_charge(mem::take(&mut self.unpaid));
            return Err(HostError::too_large());
        }
        answer
    }

    /// Counts the unpaid work of a statement.
    pub(super) fn count_unpaid(&mut self, place: Place) -> Evaluation<()> {
        self.machine.gas.record(mem::take(&mut self.unpaid)).map_err(|_| self.out_of_gas(place))
    }

    /// Returns the failure of a statement for an error of the host. An error about size becomes a failure for exhausted
    /// gas.
    pub(super) fn read_failure(&self, error: HostError, field: &FieldUse, place: Place) -> Failure {
        if error.is_too_large { self.out_of_gas(place) } else { host_failure(error, Some(self.location(field.place))) }
    }

    /// Reads a value whose size is charged afterwards.
    pub(super) fn load(
        &mut self,
        declared: &DeclaredField,
        keys: &[Key],
        field: &FieldUse,
        place: Place,
    ) -> Evaluation<Option<Value>> {
        self.unpaid(|host| host.load(declared, keys)).map_err(|error| self.read_failure(error, field, place))
    }

    pub(super) fn keys(&self, variables: &[Variable]) -> Evaluation<Vec<Key>> {
        let key = |value| {
            Key::new(value).map_err(|value| {
                failure(format!("Map key is not of a primitive type: {}", self.machine.settings.print(&value)))
            })
        };
        variables.iter().map(|variable| key(self.machine.look_up(*variable)?)).collect()
    }

    pub(super) fn field(&self, field: &FieldUse) -> Option<&'c DeclaredField> {
        let code: &'c Code = self.machine.code;
        let contract = code.contract.as_ref()?;
        Some(&contract.fields.get(field.field? as usize)?.field)
    }

    /// Returns the declaration of a field. Fails if the contract does not declare the field.
    pub(super) fn declared(&self, field: &FieldUse) -> Evaluation<&'c DeclaredField> {
        let missing = || self.at(field, format!("StateService: Field \"{}\" not found.\n", field.name));
        self.field(field).ok_or_else(missing)
    }

    pub(super) fn map_get(
        &mut self,
        slot: u32,
        map: &FieldUse,
        keys: &[Variable],
        want: Want,
        place: Place,
    ) -> Evaluation<()> {
        let count = keys.len();
        let keys = self.keys(keys)?;
        let declared = self.declared(map)?;
        let value = match want {
            Want::Existence => {
                let found = self.unpaid(|host| host.exists(declared, &keys));
                Value::bool(found.map_err(|error| self.read_failure(error, map, place))?)
            }
            Want::Value => {
                let found = self.load(declared, &keys, map, place)?;
                Value::option(behind(&declared.ty, count)?, found)
            }
        };
        self.charge_and_set(slot, value, count as u64, place)
    }

    pub(super) fn address(&self, variable: Variable, otherwise: &str) -> Evaluation<Address> {
        let value = self.machine.look_up(variable)?;
        let bytes = if let Value::ByStrX(bytes) = &value { Address::try_from(&**bytes).ok() } else { None };
        bytes.ok_or_else(|| failure(otherwise))
    }

    /// Reads a field of another account. The balance of the sender does not include an accepted amount.
    pub(super) fn remote_load(
        &mut self,
        address: &Address,
        name: &str,
        statement: Option<(&FieldUse, Place)>,
    ) -> Evaluation<Value> {
        let location = statement.map(|(field, _)| self.location(field.place));
        let found =
            self.unpaid(|host| host.remote(address, name, &[], RemoteWant::Value)).map_err(
                |error| match statement {
                    Some((field, place)) => self.read_failure(error, field, place),
                    None => host_failure(error, None),
                },
            )?;
        let Some(value) = found.and_then(|found| found.value) else {
            let message = format!("Error loading field: {name}");
            return Err(Failure::of(Entry::at(location.unwrap_or_default(), message)));
        };
        let [sender, _, amount] = self.machine.message.as_slice() else { return Err(internal("no message")) };
        let is_sender = sender.as_bytes().is_some_and(|sender| **sender == *address.as_bytes());
        if !(self.accepted && is_sender && name == "_balance") {
            return Ok(value);
        }
        let left = value.as_integer().zip(amount.as_integer()).and_then(|(balance, amount)| balance.sub(amount));
        left.map(Value::Integer).ok_or_else(|| {
            let (value, amount) = (self.machine.settings.print(&value), self.machine.settings.print(amount));
            let text = "Unexpected sender balance or amount literal";
            failure(format!("{text}: sender balance = {value}, amount = {amount}"))
        })
    }

    pub(super) fn remote_map_get(
        &mut self,
        address: &Address,
        map: &FieldUse,
        keys: &[Variable],
        want: Want,
        place: Place,
    ) -> Evaluation<Value> {
        let keys = self.keys(keys)?;
        let remote = |execution: &mut Self, keys: &[Key], want| {
            let found = execution.unpaid(|host| host.remote(address, &map.name, keys, want));
            found.map_err(|error| execution.read_failure(error, map, place))
        };
        if want == Want::Existence {
            return Ok(Value::bool(remote(self, &keys, RemoteWant::Type)?.is_some()));
        }
        // Query the type first: a missing entry has no type of its own.
        let Some(field) = remote(self, &[], RemoteWant::Type)? else {
            let (name, address) = (&map.name, Hex(address.as_bytes()));
            let text = "Unable to fetch type for field at address";
            return Err(failure(format!("{text}: field {name}, address {address}")));
        };
        let ty = behind(&field.ty, keys.len())?;
        let found = remote(self, &keys, RemoteWant::Value)?;
        Ok(Value::option(ty, found.and_then(|found| found.value)))
    }

    pub(super) fn cast(&mut self, slot: u32, address: Variable, ty: &AddressType, place: Place) -> Evaluation<()> {
        self.charge(cost(ty), place)?;
        let address = self.address(address, "Expected address or ByStr20 in type cast")?;
        let claim = Claim { address, ty: ty.clone() };
        let checked = self.paid(|host| claim.check(host)).map_err(|error| host_failure(error, None))?;
        let holds = checked.is_ok();
        let value = holds.then(|| Value::from(address));
        self.machine.set(slot, Value::option(Type::Address(ty.clone()), value));
        Ok(())
    }
}

/// Returns the failure for an error of the host. The failure has the location if the error requests a location.
pub(in super::super) fn host_failure(error: HostError, location: Option<Location>) -> Failure {
    if error.is_too_large {
        return failure(Exhausted.to_string());
    }
    let location = location.filter(|_| error.at_field).unwrap_or_default();
    Failure::of(Entry::at(location, error.message))
}

/// Returns the type of the values that a nested map has under `keys` keys. Fails if there are fewer nested maps.
fn behind(ty: &Type, keys: usize) -> Evaluation<Type> {
    type_behind(ty, keys).cloned().ok_or_else(|| failure("Type failure in map access. Cannot index into key"))
}
