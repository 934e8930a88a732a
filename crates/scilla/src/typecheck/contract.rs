//! Type check of contracts.

use std::collections::HashMap;

use super::{Checker, Fault, Outcome, library::Aborted, statement::Scope};
use crate::{
    implicit,
    name::Name,
    report::Entry,
    syntax::ast::{Contract, Field, Parameter},
    types::{Primitive, Type, Width, usage::Use},
};

impl Checker<'_> {
    /// Checks the types of a contract after its libraries. Returns the earlier errors and the errors of the contract.
    ///
    /// The constraint, all fields together, and each component report at most one error.
    pub(crate) fn contract(&mut self, contract: &Contract, mut errors: Vec<Entry>) -> Result<Vec<Entry>, Aborted> {
        self.contract_parameters(&contract.parameters, &mut errors);

        let at = self.text.arena.get(contract.constraint).span;
        match self.expression_of(contract.constraint, &Type::bool(), at) {
            Ok(_) => {}
            Err(Fault::Error(error)) => errors.push(error),
            Err(Fault::Exhausted) => {
                errors.push(Fault::exhausted());
                return Err(Aborted(errors));
            }
        }

        let fields = keep(self.fields(&contract.fields), &mut errors)?;
        let mut scope = Scope { fields, procedures: HashMap::new() };
        let balance = (Name::simple("_balance"), Type::from(Primitive::Uint(Width::W128)));
        match &mut scope.fields {
            Some(fields) => {
                fields.insert(balance.0, balance.1);
            }
            None => self.environment.bind(&balance.0, balance.1),
        }

        for component in &contract.components {
            let signature = keep(self.component(component, &scope), &mut errors)?;
            if let Some(signature) = signature.filter(|_| component.is_procedure()) {
                scope.procedures.insert(component.name.name.clone(), signature);
            }
        }
        Ok(errors)
    }

    fn contract_parameters(&mut self, parameters: &[Parameter], errors: &mut Vec<Entry>) {
        for Parameter { name, ty } in parameters {
            if !ty.is_legal(Use::ContractParameter, self.known) {
                let text = format!("Type cannot be used as a contract parameter: {}", ty.as_written());
                errors.push(self.text.error(name.span, text));
            }
        }
        for (name, ty) in implicit::contract_parameters() {
            self.environment.bind(&Name::simple(name), ty);
        }
        for Parameter { name, ty } in parameters {
            self.bind(name, ty.clone());
        }
    }

    fn fields(&mut self, fields: &[Field]) -> Outcome<HashMap<Name, Type>> {
        let mut known = HashMap::new();
        for Field { name, ty, initial } in fields {
            let found = self.expression_of(*initial, ty, name.span)?;
            self.record(name.span, &found);
            if !ty.is_legal(Use::Field, self.known) {
                let ty = ty.as_written();
                return self.error(name.span, format!("Values of this type cannot be stored: {ty}"));
            }
            known.insert(name.name.clone(), ty.clone());
        }
        Ok(known)
    }
}

/// Returns the result of a part, or adds its error to the list and returns `None`. If the gas is exhausted, returns
/// only the error for exhausted gas, without the list.
fn keep<T>(outcome: Outcome<T>, errors: &mut Vec<Entry>) -> Result<Option<T>, Aborted> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(Fault::Error(error)) => {
            errors.push(error);
            Ok(None)
        }
        Err(Fault::Exhausted) => Err(Aborted(vec![Fault::exhausted()])),
    }
}
