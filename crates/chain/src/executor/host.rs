//! The host of a contract run: the fields of the contract, other accounts, and the block.

use std::sync::Arc;

use silica_protocol::{Address, BlockNumber, StorageKey, Timestamp};
use silica_scilla::{
    code::DeclaredField,
    host::{Host, HostError, Remote, RemoteWant},
    json,
    types::{Primitive, Type, Width, adt::DataTypes},
    value::{BNum, Integer, Key, Value},
    work::weight,
};
use silica_state::StateError;

use super::{
    Context, Overlay,
    storage::{MAX_KEYS, MAX_LOOKED_UP, MAX_READ, MAX_WRITTEN, StorageFault, StorageQuota, StoredField},
};
use crate::accounts::StateReader;

/// The host of one run of one contract.
///
/// The writes of the contract go to the running state at once. If the run fails, the caller reverts them.
pub(super) struct ContractHost<'a, W> {
    pub(super) overlay: &'a mut Overlay<W>,
    pub(super) context: Context<'a>,
    pub(super) contract: Address,
    /// The data types of the contract.
    pub(super) known: Arc<DataTypes>,
    /// The units of the interpreter that the next read may use.
    pub(super) units: u64,
    /// The bytes that the transaction has left to read and write.
    pub(super) quota: StorageQuota,
    /// The error of a failed read of the state, if any. It makes the result of the run invalid.
    pub(super) fault: Option<StateError>,
}

impl<W: StateReader> ContractHost<'_, W> {
    fn with_field<T>(
        &mut self,
        field: &DeclaredField,
        act: impl FnOnce(StoredField<'_>, &mut Overlay<W>, &mut StorageQuota) -> Result<T, StorageFault>,
    ) -> Result<T, HostError> {
        let known = Arc::clone(&self.known);
        let stored = StoredField { contract: &self.contract, name: &field.name, ty: &field.ty, known: &known };
        let done = act(stored, self.overlay, &mut self.quota);
        done.map_err(|fault| self.explain(fault, &field.name))
    }

    /// Returns the error for the receipt. An error of the state goes to `fault` instead, so that no receipt has it.
    fn explain(&mut self, fault: StorageFault, field: &str) -> HostError {
        match fault {
            StorageFault::TooManyKeys => {
                HostError::at_field(format!("StateService: Cannot index into map {field}. Too many index keys."))
            }
            StorageFault::NoRoom => HostError::new(format!("Data of more than {MAX_WRITTEN} bytes for the state")),
            StorageFault::LookedUpTooMuch => HostError::new(format!("Keys of more than {MAX_LOOKED_UP} bytes")),
            StorageFault::ReadTooMuch => HostError::new(format!("Data of more than {MAX_READ} bytes of the state")),
            StorageFault::KeysTooLong => HostError::new(format!("Keys of more than {MAX_KEYS} bytes to one place")),
            StorageFault::TooLarge => HostError::too_large(),
            StorageFault::Unreadable => {
                HostError::at_field(format!("StateService: Field {field} does not have a value of its type"))
            }
            StorageFault::State(error) => self.fail(error),
        }
    }

    fn fail(&mut self, error: StateError) -> HostError {
        self.fault.get_or_insert(error);
        HostError::new("the state could not be read")
    }

    fn try_remote(
        &mut self,
        address: Address,
        name: &str,
        keys: &[Key],
        want: RemoteWant,
    ) -> Result<Option<Remote>, StorageFault> {
        self.quota.spend(weight::LOOKUP)?;
        let Some(account) = self.overlay.account(&address)? else { return Ok(None) };
        let result_of = |ty, value| Ok(Some(Remote { ty, value: Some(value).filter(|_| want == RemoteWant::Value) }));
        let uint = |width| Type::Primitive(Primitive::Uint(width));
        match name {
            "_balance" => return result_of(uint(Width::W128), Value::from(account.balance.get())),
            "_nonce" => {
                return result_of(uint(Width::W64), Value::Integer(Integer::from_u64(account.nonce.get())));
            }
            _ => {}
        }
        if account.contract.is_none() {
            return Ok(None);
        }
        match name {
            // The type does not depend on the program, so the program is not loaded.
            "_codehash" if want == RemoteWant::Type => Ok(Some(Remote { ty: Type::bystr(32), value: None })),
            "_codehash" => match self.context.contract_cache.get(&address, self.overlay)? {
                Some(module) => {
                    self.quota.spend(module.bytes().saturating_mul(weight::SOURCE_BYTE))?;
                    result_of(Type::bystr(32), Value::bystrx(module.program_hash))
                }
                None => Ok(None),
            },
            "_this_address" => {
                let Some(module) = self.context.contract_cache.get(&address, self.overlay)? else { return Ok(None) };
                self.quota.spend(module.bytes().saturating_mul(weight::SOURCE_BYTE))?;
                if module.is_library {
                    return Ok(None);
                }
                result_of(Type::bystr(20), Value::bystrx(address.to_bytes()))
            }
            field => self.remote_field(address, field, keys, want),
        }
    }

    fn remote_field(
        &mut self,
        address: Address,
        name: &str,
        keys: &[Key],
        want: RemoteWant,
    ) -> Result<Option<Remote>, StorageFault> {
        let Some(stored) = self.overlay.entry(&address, &StorageKey::type_of(&address, name))? else { return Ok(None) };
        let ty = std::str::from_utf8(&stored).ok().and_then(|text| json::parse_type(text).ok());
        let ty = ty.ok_or(StorageFault::Unreadable)?;
        self.quota.spend(u64::try_from(stored.len()).unwrap_or(u64::MAX).saturating_mul(weight::JSON_BYTE))?;
        let known = Arc::clone(&self.known);
        let field = StoredField { contract: &address, name, ty: &ty, known: &known };
        let value = match want {
            RemoteWant::Type if keys.is_empty() => None,
            RemoteWant::Type if field.exists(self.overlay, keys, &mut self.quota)? => None,
            RemoteWant::Type => return Ok(None),
            RemoteWant::Value => match field.load(self.overlay, keys, self.units, &mut self.quota)? {
                Some(value) => Some(value),
                None => return Ok(None),
            },
        };
        Ok(Some(Remote { ty, value }))
    }
}

impl<W: StateReader> Host for ContractHost<'_, W> {
    fn limit(&mut self, units: u64, work: u64) {
        self.units = units;
        self.quota.begin(work);
    }

    fn worked(&self) -> u64 {
        self.quota.worked()
    }

    fn load(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<Option<Value>, HostError> {
        #[cfg(test)]
        crate::testing::panic_at(&field.name, "panics_when_read");
        let units = self.units;
        self.with_field(field, |stored, overlay, quota| stored.load(overlay, keys, units, quota))
    }

    fn exists(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<bool, HostError> {
        self.with_field(field, |stored, overlay, quota| stored.exists(overlay, keys, quota))
    }

    fn store(&mut self, field: &DeclaredField, keys: &[Key], value: Value) -> Result<(), HostError> {
        #[cfg(test)]
        crate::testing::panic_at(&field.name, "panics_when_written");
        self.with_field(field, |stored, overlay, quota| stored.store(overlay, keys, &value, quota))
    }

    fn delete(&mut self, field: &DeclaredField, keys: &[Key]) -> Result<(), HostError> {
        self.with_field(field, |stored, overlay, quota| stored.delete(overlay, keys, quota))
    }

    fn remote(
        &mut self,
        address: &Address,
        name: &str,
        keys: &[Key],
        want: RemoteWant,
    ) -> Result<Option<Remote>, HostError> {
        let found = self.try_remote(*address, name, keys, want);
        found.map_err(|fault| self.explain(fault, name))
    }

    fn block_number(&mut self) -> Result<BNum, HostError> {
        Ok(BNum::from_u64(self.context.block.get()))
    }

    fn chain_id(&mut self) -> Result<u32, HostError> {
        Ok(u32::from(self.context.chain_id.get()))
    }

    fn timestamp(&mut self, block: &BNum) -> Option<u64> {
        let digits = u64::try_from(block.len()).unwrap_or(u64::MAX).saturating_mul(weight::DIGIT);
        self.quota.spend(weight::TIME.saturating_add(digits)).ok()?;
        let number = block.digits().parse().ok().filter(|number| *number < self.context.block.get())?;
        match self.overlay.block_time(BlockNumber::new(number)) {
            Ok(time) => time.map(Timestamp::get),
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }
}
