//! Traces of the statements of contracts, for a transaction in a block and for a simulated transaction.
//!
//! A method of this file executes a transaction. Therefore it runs on the thread pool of simulations.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_chain::{
    CallTree, Chain, TraceError, TraceWindow, TracedCall, TracedRun, TracedStep, TracedValue, TransactionTrace,
};
use silica_protocol::{
    Gas, TxHash,
    rpc::{
        error::RpcErrorCode,
        simulation::SimulatedTransactionParam,
        trace::{
            CallTraceJson, TracePageJson, TracedCallJson, TracedRunJson, TracedStepJson, TracedValueJson,
            TransactionTraceJson,
        },
    },
};

use super::{
    simulation::{account_change, simulate, simulation},
    written::Written,
};
use crate::{
    driver::NodeHandle,
    rpc::{
        CallError, Command, Entry,
        params::{
            Text,
            options::{Limit, Number, Options, Switch},
        },
    },
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] =
    &[Entry::command::<TraceCall>().of_weight(50), Entry::command::<TraceTransaction>().of_weight(50)];

/// Trace of a transaction in a recent Tx block: the calls, their statements, and the changes. An extension of this
/// node.
///
/// The node executes the transaction again on the state before the transaction. The node keeps the states of the latest
/// 50 Tx blocks, or of as many as `--proof-window` sets. Each statement has its position in the source, the gas before
/// and after it, and the values that it used and bound. Each changed variable has its old and new value. A trace has at
/// most 10,000 statements, and 4 MiB of text and values. With options, the result is a page of the trace with these
/// limits. Each request executes the whole transaction.
#[derive(Debug, Deserialize, JsonSchema)]
struct TraceTransaction {
    /// Hash of the transaction.
    hash: Text<TxHash>,
    /// Statements of the page; optional. Without any option, the result is the beginning of the trace.
    #[serde(default)]
    options: Options<TraceOptions>,
}

/// Options for a page of a trace.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct TraceOptions {
    /// Number of the first statement, from 0: the `nextStep` of the previous page.
    #[serde(rename = "fromStep")]
    from_step: Option<Number>,
    /// Maximum number of statements on the page.
    limit: Option<Limit<10_000>>,
    /// Whether the statements have `used` and `bound`; true by default.
    values: Option<Switch>,
}

impl TraceOptions {
    /// Returns the window of the page, or `None` without any option.
    fn window(self) -> Option<TraceWindow> {
        let Self { from_step, limit, values } = self;
        let is_page = from_step.is_some() || limit.is_some() || values.is_some();
        is_page.then(|| TraceWindow {
            from: from_step.map_or(0, |Number(from)| from),
            limit: limit.unwrap_or_default().get(),
            values: values.is_none_or(|Switch(values)| values),
        })
    }
}

impl From<TraceError> for CallError {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Unknown => Self::with_text_of(RpcErrorCode::DATABASE_ERROR, &error),
            TraceError::Outside { .. } => Self::with_text_of(RpcErrorCode::MISC_ERROR, &error),
            TraceError::Archive(_) | TraceError::Differs | TraceError::History(_) | TraceError::State(_) => {
                Self::internal(error)
            }
            _ => Self::internal(error),
        }
    }
}

impl Command for TraceTransaction {
    const NAME: &'static str = "silica_traceTransaction";
    type Output = Written<TransactionTraceJson>;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        let hash = self.hash.named("hash")?;
        let window = self.options.get()?.window();
        let trace = move |chain: &Chain| {
            let snapshot = chain.snapshot();
            let traced = match window {
                Some(window) => snapshot.trace_page(&hash, window)?,
                None => snapshot.trace(&hash)?,
            };
            let TransactionTrace { block, receipt, calls, changes } = traced;
            let CallTree { root, truncated, executed, next } = calls;
            Written::new(&TransactionTraceJson {
                block: block.into(),
                call: root.map(call),
                changes: changes.into_iter().map(account_change).collect(),
                hash: hash.into(),
                page: window.map(|_| TracePageJson { next_step: next, steps: executed }),
                receipt: receipt.into(),
                truncated,
            })
        };
        node.simulate(trace).await?
    }
}

/// Trace of a simulated transaction on the latest state. An extension of this node.
///
/// The parameter has the form of the parameter of `silica_simulateTransaction`. The result has the members of the
/// result of `silica_simulateTransaction`, and the calls and statements as in `silica_traceTransaction`.
#[derive(Debug, Deserialize, JsonSchema)]
struct TraceCall {
    /// The unsigned transaction.
    transaction: SimulatedTransactionParam,
}

impl Command for TraceCall {
    const NAME: &'static str = "silica_traceCall";
    type Output = Written<CallTraceJson>;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        simulate(node, self.transaction, Chain::trace_call, |(simulated, CallTree { root, truncated, .. })| {
            CallTraceJson { call: root.map(call), simulation: simulation(simulated), truncated }
        })
        .await
    }
}

/// Converts a traced call. The recursion is bounded, because the chain limits the depth of calls between contracts.
fn call(TracedCall { sender, recipient, amount, tag, params, run, calls }: TracedCall) -> TracedCallJson {
    TracedCallJson {
        amount: amount.into(),
        calls: calls.into_iter().map(call).collect(),
        params,
        recipient: recipient.into(),
        run: run.map(self::run),
        sender: sender.into(),
        tag,
    }
}

fn run(TracedRun { gas_before, gas_after, accepted, completed, steps }: TracedRun) -> TracedRunJson {
    TracedRunJson {
        accepted,
        completed,
        gas_after: Gas::new(gas_after).into(),
        gas_before: Gas::new(gas_before).into(),
        steps: steps.into_iter().map(step).collect(),
    }
}

fn step(traced: TracedStep) -> TracedStepJson {
    let TracedStep { component, depth, line, column, text, units_before, units_after, used, bound, failed } = traced;
    TracedStepJson {
        bound: bound.map(value),
        column,
        component,
        depth,
        failed,
        line,
        text,
        units_after,
        units_before,
        used: used.into_iter().map(value).collect(),
    }
}

fn value(TracedValue { name, value }: TracedValue) -> TracedValueJson {
    TracedValueJson { name, value }
}
