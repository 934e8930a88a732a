//! The interface of a contract: parameters, fields, components, events and data types.

use std::sync::Arc;

use super::{call_graph::CallGraph, cash_flow::CashFlow, events::EventInfo};
use crate::{
    syntax::ast::{Component, Contract, Parameter},
    types::{
        Type,
        adt::{DataType, DataTypes},
    },
};

/// The interface of a contract, for callers and tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractSummary {
    /// Its name.
    pub name: Arc<str>,
    /// What it is given at deployment.
    pub parameters: Vec<ParameterSummary>,
    /// Its fields, in order.
    pub fields: Vec<FieldSummary>,
    /// Its transitions, in order.
    pub transitions: Vec<ComponentSummary>,
    /// Its procedures, in order.
    pub procedures: Vec<ComponentSummary>,
    /// The events it may raise, the newest first.
    pub events: Vec<EventInfo>,
    /// Who calls whom.
    pub call_graph: CallGraph,
    /// Where it holds money, if that was asked for.
    pub cash_flow: Option<CashFlow>,
    /// The data types it knows: those that every program knows, those of libraries, its own.
    pub data_types: Vec<Arc<DataType>>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSummary {
    /// Its name.
    pub name: Arc<str>,
    /// Its type, as declared.
    pub kind: Type,
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldSummary {
    /// Its name.
    pub name: Arc<str>,
    /// Its type, as declared.
    pub kind: Type,
    /// How many maps nest in it: by so many keys an entry can be reached.
    pub depth: u32,
}

/// A transition or a procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentSummary {
    /// Its name.
    pub name: Arc<str>,
    /// What it takes; what everyone is given is left out.
    pub parameters: Vec<ParameterSummary>,
}

/// Summarises a contract.
pub(crate) fn summary(
    contract: &Contract,
    events: Vec<EventInfo>,
    call_graph: CallGraph,
    cash_flow: Option<CashFlow>,
    known: &DataTypes,
) -> ContractSummary {
    let fields = contract.fields.iter().map(|field| FieldSummary {
        name: Arc::clone(field.name.name.base()),
        kind: field.kind.clone(),
        depth: field.kind.map_depth(),
    });
    let (procedures, transitions): (Vec<_>, Vec<_>) =
        contract.components.iter().partition(|component| component.is_procedure());
    ContractSummary {
        name: Arc::clone(contract.name.name.base()),
        parameters: parameters(&contract.parameters),
        fields: fields.collect(),
        transitions: transitions.into_iter().map(component).collect(),
        procedures: procedures.into_iter().map(component).collect(),
        events,
        call_graph,
        cash_flow,
        data_types: known.iter().cloned().collect(),
    }
}

fn component(component: &Component) -> ComponentSummary {
    ComponentSummary { name: Arc::clone(component.name.name.base()), parameters: parameters(&component.parameters) }
}

fn parameters(parameters: &[Parameter]) -> Vec<ParameterSummary> {
    let summary = |parameter: &Parameter| ParameterSummary {
        name: Arc::clone(parameter.name.name.base()),
        kind: parameter.kind.clone(),
    };
    parameters.iter().map(summary).collect()
}

impl Type {
    /// Returns how many maps nest in the type: nought for all but maps, and one more than that of their values for them.
    pub fn map_depth(&self) -> u32 {
        let mut depth = 0;
        let mut rest = self;
        while let Self::Map(_, value) = rest {
            depth += 1;
            rest = value;
        }
        depth
    }
}
