//! Gas of transitions and procedures.

use silica_scilla::{
    host::StateField,
    name::Ident,
    syntax::ast::{ChainRead, Component, Statement, StatementKind, Want},
    types::{AddressType, Type},
};

use super::{RAN_OUT, Run, Scope, Stop, address_units, expression::fit, value::Value};

impl<'p> Run<'p> {
    pub(super) fn component(&mut self, component: &'p Component, given: Vec<Value<'p>>) -> Result<(), Stop> {
        let parameters = component.parameters.iter().zip(given);
        let known = parameters.fold(self.base.clone(), |known, (name, value)| known.with(&name.name.name, value));
        self.statements(&component.body, known)
    }

    fn statements(&mut self, statements: &'p [Statement], mut known: Scope<'p>) -> Result<(), Stop> {
        for statement in statements {
            if let Some((name, value)) = self.statement(statement, &known)? {
                known = known.with(&name.name, value);
            }
        }
        Ok(())
    }

    /// Executes a statement. Returns the name that it binds and the value.
    fn statement(
        &mut self,
        statement: &'p Statement,
        known: &Scope<'p>,
    ) -> Result<Option<(&'p Ident, Value<'p>)>, Stop> {
        let get = |name: &Ident| known.get(&name.name);
        let all = |names: &[Ident]| names.iter().map(get).collect::<Vec<_>>();
        let place = self.main_text().source.start(statement.span);
        let mut pay = |units| self.charge(units, &place, RAN_OUT);
        Ok(match &statement.kind {
            StatementKind::Accept => {
                pay(1);
                self.accept()?;
                None
            }
            StatementKind::Bind { to, value } => {
                pay(1);
                Some((to, self.main_expression(*value, known)?))
            }
            StatementKind::ReadChain { to, what } => {
                pay(1);
                Some((to, self.chain(what, known)))
            }
            StatementKind::Call { to, procedure, arguments } => {
                pay(1);
                self.call(procedure, all(arguments))?;
                to.as_ref().map(|to| (to, self.returned.take().expect("the procedure returns")))
            }
            StatementKind::Cast { to, address, ty, .. } => {
                pay(address_units(ty));
                let address = get(address);
                let fits = self.is_such(&address, ty);
                Some((to, Value::option(fits.then_some(address))))
            }
            StatementKind::Event(event) => {
                pay(get(event).size());
                None
            }
            StatementKind::ForEach { list, procedure } => {
                let elements = get(list).elements();
                pay(elements.len() as u64);
                for element in elements {
                    self.call(procedure, vec![element])?;
                }
                None
            }
            StatementKind::Load { to, field } => {
                let value = self.field(field.name.base());
                Some(self.read(to, value, 0, statement))
            }
            StatementKind::MapDelete { map, keys } => {
                pay(keys.len() as u64);
                self.change(map, &all(keys), None);
                None
            }
            StatementKind::MapGet { to, map, keys, want } => {
                let found = find(self.field(map.name.base()), &all(keys));
                Some(self.read(to, answer(found, *want), keys.len(), statement))
            }
            StatementKind::MapPut { map, keys, value } => {
                pay(keys.len() as u64 + get(value).size());
                self.change(map, &all(keys), Some(get(value)));
                None
            }
            StatementKind::Match { scrutinee, clauses } => {
                pay(clauses.len() as u64);
                let value = get(scrutinee);
                let fitting =
                    clauses.iter().find_map(|clause| Some((fit(&clause.pattern, &value, known)?, &clause.body)));
                let (known, body) = fitting.expect("patterns are exhaustive");
                self.statements(body, known)?;
                None
            }
            StatementKind::RemoteLoad { to, address, field } => {
                let value = self.remote(&get(address), field.name.base()).ok_or(Stop::Failed)?;
                Some(self.read(to, value, 0, statement))
            }
            StatementKind::RemoteMapGet { to, address, map, keys, want } => {
                let found = match self.remote(&get(address), map.name.base()) {
                    Some(map) => find(map, &all(keys)),
                    None if *want == Want::Existence => None,
                    None => return Err(Stop::Failed),
                };
                Some(self.read(to, answer(found, *want), keys.len(), statement))
            }
            StatementKind::Return(value) => {
                pay(1);
                self.returned = Some(get(value));
                None
            }
            StatementKind::Send(messages) => {
                pay(get(messages).size());
                None
            }
            StatementKind::Store { field, value } => {
                pay(get(value).size());
                self.fields.insert(field.name.base().to_string(), get(value));
                None
            }
            StatementKind::Throw(exception) => {
                pay(exception.as_ref().map_or(1, |exception| get(exception).size()));
                return Err(Stop::Failed);
            }
        })
    }

    /// Charges for a value that the statement has read.
    fn read(&mut self, to: &'p Ident, value: Value<'p>, keys: usize, statement: &Statement) -> (&'p Ident, Value<'p>) {
        let place = self.main_text().source.start(statement.span);
        self.charge(keys as u64 + value.size() + value.sorting(), &place, RAN_OUT);
        (to, value)
    }

    fn field(&self, name: &str) -> Value<'p> {
        if name == "_balance" {
            return Value::Number { signed: false, bits: 128, number: self.balance };
        }
        self.fields.get(name).expect("the contract has this field").clone()
    }

    fn change(&mut self, map: &Ident, keys: &[Value<'p>], value: Option<Value<'p>>) {
        let name = map.name.base();
        let changed = changed(&self.field(name), keys, value);
        self.fields.insert(name.to_string(), changed);
    }

    fn call(&mut self, procedure: &Ident, arguments: Vec<Value<'p>>) -> Result<(), Stop> {
        let components = &self.program.main.contract.components;
        let procedure = components.iter().find(|component| component.name == *procedure);
        self.component(procedure.expect("there is this procedure"), arguments)
    }

    fn chain(&self, what: &ChainRead, known: &Scope<'p>) -> Value<'p> {
        match what {
            ChainRead::BlockNumber => {
                let number = self.host.block_number.as_ref().expect("the number of the block is known");
                Value::Block(number.to_string().parse().unwrap())
            }
            ChainRead::ChainId => Value::uint32(self.host.chain_id.expect("the number of the chain is known").into()),
            ChainRead::Timestamp(block) => {
                let Value::Block(number) = known.get(&block.name) else { panic!("this is no block number") };
                let times = self.host.timestamps.as_ref();
                let time = times.and_then(|times| times.get(&number.to_string()));
                Value::option(time.map(|time| Value::Number { signed: false, bits: 64, number: (*time).into() }))
            }
        }
    }

    fn account(&self, address: &Value<'p>) -> &'p [StateField] {
        let Value::Bytes(bytes) = address else { panic!("this is no address") };
        let address = silica_protocol::Address::try_from(&**bytes).unwrap();
        self.host.accounts.get(&address).map(Vec::as_slice).unwrap_or_default()
    }

    fn remote(&self, address: &Value<'p>, name: &str) -> Option<Value<'p>> {
        let value = Value::of(&self.account(address).iter().find(|field| &*field.name == name)?.value);
        let is_sender = self.sender.as_ref().is_some_and(|sender| sender.is_same(address));
        if name == "_balance" && is_sender && self.accepted {
            return Some(Value::Number { signed: false, bits: 128, number: value.number() - self.amount });
        }
        Some(value)
    }

    /// Returns whether an account meets an address type. In this model, the types of the fields must be equal to the
    /// types in the address type.
    pub(super) fn is_such(&self, address: &Value<'p>, ty: &AddressType) -> bool {
        let fields = self.account(address);
        let has = |name: &str, ty: Option<&Type>| {
            fields.iter().any(|field| &*field.name == name && ty.is_none_or(|ty| field.ty == *ty))
        };
        match ty {
            AddressType::Any => !fields.is_empty(),
            AddressType::Code => has("_codehash", None),
            AddressType::Contract(claimed) => {
                has("_this_address", None) && claimed.iter().all(|(name, ty)| has(name, Some(ty)))
            }
            AddressType::Library => has("_codehash", None) && !has("_this_address", None),
        }
    }

    fn accept(&mut self) -> Result<(), Stop> {
        if self.accepted {
            return Ok(());
        }
        let sender = self.sender.clone().expect("the message has a sender");
        let has = self.remote(&sender, "_balance").ok_or(Stop::Failed)?.number();
        if self.amount > has {
            return Err(Stop::Failed);
        }
        self.balance += self.amount;
        self.accepted = true;
        Ok(())
    }
}

fn answer(found: Option<Value<'_>>, want: Want) -> Value<'_> {
    match want {
        Want::Existence => Value::truth(found.is_some()),
        Want::Value => Value::option(found),
    }
}

fn find<'p>(map: Value<'p>, keys: &[Value<'p>]) -> Option<Value<'p>> {
    keys.iter().try_fold(map, |map, key| map.entry(key))
}

/// Returns a map in which an entry is set or removed.
fn changed<'p>(map: &Value<'p>, keys: &[Value<'p>], value: Option<Value<'p>>) -> Value<'p> {
    let [key, inner @ ..] = keys else { panic!("there is at least one key") };
    if inner.is_empty() {
        return map.replace(key, value);
    }
    match (map.entry(key), value) {
        (None, None) => map.clone(),
        (within, value) => {
            let within = within.unwrap_or_else(|| Value::Map(Vec::new().into()));
            map.replace(key, Some(changed(&within, inner, value)))
        }
    }
}
