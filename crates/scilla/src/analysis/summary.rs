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
    /// Name of the contract.
    pub name: Arc<str>,
    /// Parameters of a deployment.
    pub parameters: Vec<ParameterSummary>,
    /// Fields, in the order of the source.
    pub fields: Vec<FieldSummary>,
    /// Transitions, in the order of the source.
    pub transitions: Vec<ComponentSummary>,
    /// Procedures, in the order of the source.
    pub procedures: Vec<ComponentSummary>,
    /// Events that the contract may emit, in the reverse order of the source.
    pub events: Vec<EventInfo>,
    /// Call graph of components and library functions.
    pub call_graph: CallGraph,
    /// Tags of parameters, fields and data types, or `None` if the analysis of money was not requested.
    pub cash_flow: Option<CashFlow>,
    /// Data types: the built-in types, those of libraries, and those of the contract.
    pub data_types: Vec<Arc<DataType>>,
}

/// A parameter of a contract or component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSummary {
    /// Name of the parameter.
    pub name: Arc<str>,
    /// Declared type of the parameter.
    pub ty: Type,
}

/// A field of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldSummary {
    /// Name of the field.
    pub name: Arc<str>,
    /// Declared type of the field.
    pub ty: Type,
    /// Number of nested maps, which is the number of keys to an entry.
    pub depth: u32,
}

/// A transition or a procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentSummary {
    /// Name of the component.
    pub name: Arc<str>,
    /// Parameters of the component, without implicit parameters.
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
        ty: field.ty.clone(),
        depth: field.ty.map_depth(),
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
        ty: parameter.ty.clone(),
    };
    parameters.iter().map(summary).collect()
}

impl Type {
    /// Returns the number of nested maps in the type: 0 for a type that is not a map. For `Map K V`, the number is one
    /// more than for `V`.
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
