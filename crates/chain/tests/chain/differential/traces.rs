//! Traces of the transactions of a block. Each trace must give the recorded receipt, and begin with the state after the
//! previous transaction.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use silica_chain::{AccountChange, CommittedBlock, TracedCall, TransactionTrace};
use silica_protocol::{Account, Address, TransactionKind};

use crate::harness::Net;

/// The accounts and variables in the traces so far.
#[derive(Default)]
struct Known {
    accounts: BTreeMap<Address, Account>,
    variables: BTreeMap<(Address, String, Vec<String>), Option<Json>>,
}

pub(super) fn check(net: &Net, block: &CommittedBlock) {
    let mut known = Known::default();
    for (transaction, receipt) in block.transactions() {
        let hash = transaction.hash();
        let TransactionTrace { block: number, receipt: traced, calls, changes } = net.snapshot().trace(&hash).unwrap();
        assert_eq!((number, &traced), (block.tx_block().header.number, receipt), "{hash}");
        for change in changes {
            known.check(change);
        }
        assert!(!calls.truncated);
        match (&calls.root, transaction.kind()) {
            (Some(root), TransactionKind::Call) => {
                assert_eq!((root.sender, root.recipient), (transaction.sender(), transaction.transaction().to));
                let calls = check_calls(root);
                // A failed transaction has no transitions. A successful one has a transition for each message.
                assert!(!receipt.success || calls == receipt.transitions.len(), "{hash}");
            }
            (None, TransactionKind::Call) => assert!(!receipt.success, "{hash}: it fails before anything runs"),
            (root, TransactionKind::Deployment | TransactionKind::Payment) => assert_eq!(*root, None),
        }
    }
}

/// Checks the statements of a call and of its chained calls. Returns the number of messages.
fn check_calls(call: &TracedCall) -> usize {
    if let Some(run) = &call.run {
        assert!(run.gas_after <= run.gas_before);
        let failed = run.steps.iter().position(|step| step.failed);
        assert!(failed.is_none_or(|at| at + 1 == run.steps.len() && !run.completed));
        for pair in run.steps.windows(2) {
            assert!(pair[1].units_before <= pair[0].units_after && pair[1].units_after <= pair[1].units_before);
        }
    }
    call.calls.len() + call.calls.iter().map(check_calls).sum::<usize>()
}

impl Known {
    fn check(&mut self, change: AccountChange) {
        let AccountChange { address, before, after, variables } = change;
        if let Some(known) = self.accounts.insert(address, after) {
            assert_eq!(before, Some(known), "{address}");
        }
        for variable in variables {
            let key = (address, variable.name, variable.indices);
            let last = self.variables.insert(key.clone(), variable.new);
            // A trace leaves out the marker of an empty map if it has the entries.
            let is_shown =
                |value: &Option<Json>| !matches!(value, Some(value) if *value == json!({}) || *value == json!([]));
            if let Some(last) = last.filter(|last| is_shown(last) && is_shown(&variable.old)) {
                assert_eq!(variable.old, last, "{key:?}");
            }
        }
    }
}
