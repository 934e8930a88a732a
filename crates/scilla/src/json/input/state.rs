//! State files: the fields of a contract, and other accounts.

use std::sync::Arc;

use super::{Ending, InputError, entries, read_named};
use crate::{
    host::StateField,
    json::{
        document::Json,
        value::{ValueError, ValueReader, member, text_member},
    },
    types::{Primitive, Type, Width, adt::DataTypes},
    value::Integer,
};

/// The state before a message, from a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateInput {
    /// Balance of the contract, in Qa.
    pub balance: u128,
    /// Fields of the contract, in the order of the file.
    pub fields: Vec<StateField>,
    /// Other accounts, in the order of the file.
    pub accounts: Vec<Account>,
}

/// An account that is not the contract of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Address of the account, as the file spells it.
    pub address: Arc<str>,
    /// Fields of the account. `_balance`, `_nonce`, `_this_address` and `_codehash` are included if the file has them.
    pub fields: Vec<StateField>,
}

impl StateInput {
    /// Reads a state.
    ///
    /// # Errors
    ///
    /// If the file is invalid.
    pub fn read(file: &str, json: Json<'_>, known: &DataTypes) -> Result<Self, InputError> {
        let wrong = |error| Ending::Plain.wrong(file, error);
        let mut reader = ValueReader::new(known);
        let mut state = Self::default();
        let mut balance = None;
        for entry in entries(json).map_err(wrong)? {
            if text_member(entry, "vname").map_err(wrong)? == "_external" {
                state.accounts.extend(read_accounts(entry, &mut reader).map_err(wrong)?);
                continue;
            }
            let read = read_named(entry, &mut reader).map_err(wrong)?;
            if &*read.name == "_balance" {
                balance = balance.or(Some(read));
            } else {
                state.fields.push(read);
            }
        }
        let balance = balance.ok_or_else(|| Ending::Plain.report(file, "Field missing: _balance"))?;
        let is_amount = balance.ty == Type::from(Primitive::Uint(Width::W128));
        let amount = balance.value.as_integer().filter(|_| is_amount).and_then(Integer::to_u128);
        state.balance = amount.ok_or_else(|| Ending::Plain.report(file, "_balance invalid"))?;
        Ok(state)
    }
}

fn read_accounts(entry: Json<'_>, reader: &mut ValueReader<'_>) -> Result<Vec<Account>, ValueError> {
    let mut accounts = Vec::new();
    for account in entries(member(entry, "value")?)? {
        let address = text_member(account, "address")?;
        let fields = entries(member(account, "state")?)?;
        let fields = fields.map(|field| read_named(field, reader)).collect::<Result<_, _>>()?;
        accounts.push(Account { address: address.into(), fields });
    }
    Ok(accounts)
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{error_of, with},
        *,
    };

    fn read(json: &str) -> Result<StateInput, InputError> {
        with(json, |json, known| StateInput::read("s.json", json, known))
    }

    #[test]
    fn a_state_is_read() {
        let state = read(
            r#"[{"vname":"a","type":"Uint32","value":"1"},
                {"vname":"_balance","type":"Uint128","value":"5"},
                {"vname":"_external","type":"Unit","value":[
                    {"address":"0x12","state":[{"vname":"_balance","type":"Uint128","value":"6"}]}]}]"#,
        );
        let state = state.unwrap();
        assert_eq!(state.balance, 5);
        assert_eq!(state.fields.len(), 1);
        let account = state.accounts.first().unwrap();
        assert_eq!((&*account.address, account.fields.len()), ("0x12", 1));
    }

    #[test]
    fn a_state_needs_a_balance() {
        assert_eq!(error_of(read("[]")), "Field missing: _balance|Failed to parse json: s.json");
        let wrong = r#"[{"vname":"_balance","type":"Uint32","value":"5"}]"#;
        assert_eq!(error_of(read(wrong)), "_balance invalid|Failed to parse json: s.json");
    }
}
