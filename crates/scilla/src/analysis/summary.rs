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
    /// Parameters of its deployment.
    pub parameters: Vec<ParameterSummary>,
    /// Its fields, in order.
    pub fields: Vec<FieldSummary>,
    /// Its transitions, in order.
    pub transitions: Vec<ComponentSummary>,
    /// Its procedures, in order.
    pub procedures: Vec<ComponentSummary>,
    /// The events that it may emit, the newest first.
    pub events: Vec<EventInfo>,
    /// The call graph.
    pub call_graph: CallGraph,
    /// The fields that hold money, if requested.
    pub cash_flow: Option<CashFlow>,
    /// Its data types: the built-in types, those of libraries, and its own.
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
    /// Number of nested maps, which is the number of keys of an entry.
    pub depth: u32,
}

/// A transition or a procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentSummary {
    /// Its name.
    pub name: Arc<str>,
    /// Its parameters, without the implicit ones.
    pub parameters: Vec<ParameterSummary>,
}

/// Returns the summary of a contract.
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
    /// Returns the number of nested maps: 0 for other types, and one more than that of the values for a map.
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
