//! Results of a check as JSON.

use std::{fmt::Display, sync::Arc};

use super::{
    document::{Builder, Document},
    report::{place, warnings},
};
use crate::{
    check::{CashFlow, ComponentSummary, ContractSummary, EventInfo, FieldSummary, ParameterSummary, TypeInfo},
    report::Warning,
    types::{Type, adt::DataType},
    version::VERSION,
};

/// The report about an accepted module.
#[derive(Clone, Copy, Debug)]
pub struct CheckReport<'a> {
    /// Summary of the contract, if requested.
    pub contract: Option<&'a ContractSummary>,
    /// Tags of parameters, fields and data types, if requested.
    pub cash_flow: Option<&'a CashFlow>,
    /// Types of names, if requested.
    pub type_info: Option<&'a [TypeInfo]>,
    /// Whether the module is a library. The reference puts the types of a library last.
    pub is_library: bool,
    /// Warnings, the newest first.
    pub warnings: &'a [Warning],
    /// The remaining gas.
    pub gas_remaining: u64,
}

impl CheckReport<'_> {
    /// Returns whether the report has only warnings and gas.
    pub const fn is_short(&self) -> bool {
        self.cash_flow.is_none() && self.contract.is_none() && self.type_info.is_none()
    }

    /// Returns the report as JSON.
    pub fn to_json(&self) -> Document {
        let mut builder = Builder::new();
        builder.begin_object();
        if let Some(tags) = self.cash_flow {
            builder.key("cashflow_tags");
            cash_flow(&mut builder, tags);
        }
        if let Some(types) = self.type_info.filter(|_| !self.is_library) {
            type_info(&mut builder, types);
        }
        if let Some(contract) = self.contract {
            builder.key("contract_info");
            contract_info(&mut builder, contract);
        }
        warnings(&mut builder, self.warnings);
        builder.member("gas_remaining", self.gas_remaining);
        if let Some(types) = self.type_info.filter(|_| self.is_library) {
            type_info(&mut builder, types);
        }
        builder.end();
        builder.finish()
    }
}

fn cash_flow(builder: &mut Builder, tags: &CashFlow) {
    builder.begin_object();
    list(builder, "State variables", &tags.variables, |builder, (name, tag)| {
        builder.begin_object().member("field", name).member("tag", tag).end();
    });
    list(builder, "ADT constructors", &tags.data_types, |builder, of| {
        builder.begin_object();
        list(builder, &of.name.global().to_string(), &of.constructors, |builder, constructor| {
            builder.begin_object().member("constructor", constructor.name.global());
            list(builder, "tags", &constructor.arguments, |builder, tag| {
                match tag {
                    Some(tag) => builder.string(tag),
                    None => builder.string("_"),
                };
            });
            builder.end();
        });
        builder.end();
    });
    builder.end();
}

/// Returns the type of an expression, and the types of its names, as JSON.
pub fn expression_types(types: Option<&[TypeInfo]>, ty: &Type) -> Document {
    let mut builder = Builder::new();
    builder.begin_object();
    if let Some(types) = types {
        type_info(&mut builder, types);
    }
    builder.member("type", ty.global()).end();
    builder.finish()
}

fn type_info(builder: &mut Builder, types: &[TypeInfo]) {
    builder.key("type_info").begin_array();
    for info in types {
        builder.begin_object().member("vname", &info.name).member("type", info.ty.global());
        place(builder, "start_location", &info.start);
        place(builder, "end_location", &info.end);
        builder.end();
    }
    builder.end();
}

impl ContractSummary {
    /// Returns the summary as JSON, in the form of the option `-contractinfo`.
    pub fn to_json(&self) -> Document {
        let mut builder = Builder::new();
        contract_info(&mut builder, self);
        builder.finish()
    }
}

fn contract_info(builder: &mut Builder, contract: &ContractSummary) {
    builder.begin_object().member("scilla_major_version", VERSION).member("vname", &contract.name);
    list(builder, "params", &contract.parameters, parameter);
    list(builder, "fields", &contract.fields, field);
    list(builder, "transitions", &contract.transitions, component);
    list(builder, "procedures", &contract.procedures, component);
    list(builder, "events", &contract.events, event);
    list(builder, "ADTs", &contract.data_types, data_type);
    builder.end();
}

/// Adds a member whose value is a list.
fn list<T>(builder: &mut Builder, name: &str, items: &[T], put: fn(&mut Builder, &T)) {
    builder.key(name).begin_array();
    for item in items {
        put(builder, item);
    }
    builder.end();
}

fn named(builder: &mut Builder, name: &impl Display, ty: &Type) {
    builder.begin_object().member("vname", name).member("type", ty.global()).end();
}

fn parameter(builder: &mut Builder, parameter: &ParameterSummary) {
    named(builder, &parameter.name, &parameter.ty);
}

fn field(builder: &mut Builder, field: &FieldSummary) {
    builder.begin_object().member("vname", &field.name).member("type", field.ty.global());
    builder.key("depth").integer(field.depth).end();
}

fn component(builder: &mut Builder, component: &ComponentSummary) {
    builder.begin_object().member("vname", &component.name);
    list(builder, "params", &component.parameters, parameter);
    builder.end();
}

fn event(builder: &mut Builder, event: &EventInfo) {
    builder.begin_object().member("vname", &event.name);
    list(builder, "params", &event.parameters, |builder, (name, ty)| named(builder, name, ty));
    builder.end();
}

fn data_type(builder: &mut Builder, data_type: &Arc<DataType>) {
    builder.begin_object().member("tname", data_type.name.global());
    list(builder, "tparams", &data_type.parameters, |builder, parameter| {
        builder.string(parameter);
    });
    list(builder, "tmap", &data_type.constructors, |builder, constructor| {
        builder.begin_object().member("cname", constructor.name.global());
        list(builder, "argtypes", &constructor.arguments, |builder, ty| {
            builder.string(ty.global());
        });
        builder.end();
    });
    builder.end();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        check::{ConstructorTags, DataTypeTags, Tag},
        name::Name,
    };

    #[test]
    fn tags_precede_other_members() {
        let of = |base: &str| Name::simple(base).defined_in("0xab".into());
        let tags = vec![None, Some(Tag::Map(Arc::new(Tag::Money)))];
        let constructors = vec![ConstructorTags { name: of("Purse"), arguments: tags }];
        let tags = CashFlow {
            variables: vec![("f".into(), Tag::Money), ("g".into(), Tag::NoInfo)],
            data_types: vec![DataTypeTags { name: of("Bag"), constructors }],
        };
        let report = CheckReport {
            contract: None,
            cash_flow: Some(&tags),
            type_info: Some(&[]),
            is_library: false,
            warnings: &[],
            gas_remaining: 5,
        };
        let variables = r#"[{"field":"f","tag":"Money"},{"field":"g","tag":"NoInfo"}]"#;
        let constructors = r#"[{"0xab.Bag":[{"constructor":"0xab.Purse","tags":["_","(Map Money)"]}]}]"#;
        assert_eq!(
            report.to_json().root().compact().to_string(),
            format!(
                r#"{{"cashflow_tags":{{"State variables":{variables},"ADT constructors":{constructors}}},"type_info":[],"warnings":[],"gas_remaining":"5"}}"#
            )
        );
    }
}
