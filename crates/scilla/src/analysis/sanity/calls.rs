//! Warnings about redundant calls of procedures.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Subject, WASTE, Warnings};
use crate::{
    analysis::call_graph::{CallGraph, NodeKind},
    name::Name,
    syntax::ast::{ChainRead, Component, Statement, StatementKind},
};

type Names<'a> = BTreeSet<&'a Name>;

/// Warns of redundant calls. A call of P in a procedure Q is redundant if P has no parameters and no effects, and every
/// caller of Q also calls P.
pub(super) fn contract(subject: Subject<'_>, graph: &CallGraph, warnings: &mut Warnings) {
    let pure = pure_procedures(subject, graph);
    let calls = calls(graph);
    let callers = callers(&calls);
    for procedure in subject.contract.components.iter().filter(|component| component.is_procedure()) {
        let Some(callers) = callers.get(&procedure.name.name).filter(|callers| !callers.is_empty()) else { continue };
        for statement in &procedure.body {
            statement.visit(&mut |statement| {
                let StatementKind::Call { procedure: called, .. } = &statement.kind else { return };
                let calls_it = |caller: &&Name| calls.get(*caller).is_some_and(|calls| calls.contains(&called.name));
                if pure.contains(&called.name) && callers.iter().all(calls_it) {
                    let name = called.name.global();
                    let text = format!("Redundant call to procedure {name}. This call can be safely removed.");
                    warnings.add(WASTE, subject.start(called.span), text);
                }
            });
        }
    }
}

/// Returns the procedures that have no parameters and no effects, neither directly nor through other procedures. The
/// effects are writes to fields, messages, events, and reads of the block number and of timestamps.
fn pure_procedures<'a>(subject: Subject<'a>, graph: &CallGraph) -> Names<'a> {
    let contract = subject.contract;
    let fields: Names<'_> = contract.fields.iter().map(|field| &field.name.name).collect();
    let mut procedures: HashMap<&Name, &Component> = HashMap::new();
    for component in &contract.components {
        procedures.entry(&component.name.name).or_insert(component);
    }
    let (mut pure, mut impure) = (Names::new(), Names::new());
    for node in graph.callees_first().into_iter().filter_map(|index| graph.nodes().get(index)) {
        if node.kind != NodeKind::Procedure {
            continue;
        }
        let Some(procedure) = procedures.get(&node.name) else { continue };
        if procedure.body.iter().any(|statement| changes(statement, &fields, &impure)) {
            impure.insert(&procedure.name.name);
        } else if procedure.parameters.is_empty() {
            pure.insert(&procedure.name.name);
        }
    }
    pure
}

fn changes(statement: &Statement, fields: &Names<'_>, impure: &Names<'_>) -> bool {
    let mut found = false;
    statement.visit(&mut |statement| {
        found |= match &statement.kind {
            StatementKind::Store { field, .. }
            | StatementKind::MapPut { map: field, .. }
            | StatementKind::MapDelete { map: field, .. } => fields.contains(&field.name),
            StatementKind::Call { procedure, .. } => impure.contains(&procedure.name),
            StatementKind::Send(_)
            | StatementKind::Event(_)
            | StatementKind::ReadChain { what: ChainRead::BlockNumber | ChainRead::Timestamp(_), .. } => true,
            _ => false,
        };
    });
    found
}

/// Returns the names that each component calls.
fn calls(graph: &CallGraph) -> BTreeMap<&Name, Names<'_>> {
    let components = graph.nodes().iter();
    let components = components.filter(|node| matches!(node.kind, NodeKind::Procedure | NodeKind::Transition));
    let called = |index: &usize| graph.nodes().get(*index).map(|node| &node.name);
    components.map(|node| (&node.name, node.calls.iter().filter_map(called).collect())).collect()
}

/// Returns, for each called procedure or function, the components that call it.
fn callers<'a>(calls: &BTreeMap<&'a Name, Names<'a>>) -> BTreeMap<&'a Name, Names<'a>> {
    let mut callers: BTreeMap<_, Names<'_>> = BTreeMap::new();
    for (caller, called) in calls {
        for name in called {
            callers.entry(*name).or_default().insert(*caller);
        }
    }
    callers
}
