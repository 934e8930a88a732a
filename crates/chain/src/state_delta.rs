//! The changes of a block as a state delta, which headers contain, and as a state diff for the store.

use std::collections::BTreeSet;

use silica_protocol::{AccountDelta, BalanceChange, DeployedContract, Nonce, StateDelta, StateDeltaHash};
use silica_state::{StateDiff, StorageDiff};

use crate::executor::Change;

/// Returns the hash of the state delta of changes. The state delta does not contain accounts that were only read
/// (Reference: execution#changed-accounts).
pub(crate) fn delta_hash(changes: &[Change]) -> StateDeltaHash {
    if changes.is_empty() {
        return StateDeltaHash::ZERO;
    }
    let delta = |change: &Change| {
        let before = change.before.unwrap_or_default();
        let nonce_increase = nonce_increase(before.nonce, change.after.nonce);
        let balance = BalanceChange::between(before.balance, change.after.balance);
        let entries = || change.storage.iter();
        let delta = AccountDelta {
            balance,
            nonce_increase,
            deployed: change.deployed.as_ref().map(|source| DeployedContract {
                code_hash: source.hash(),
                code: source.code.to_string(),
                init_data: source.init.to_string(),
            }),
            written: entries().filter_map(|(key, value)| Some((key.clone(), value.as_deref()?.to_vec()))).collect(),
            removed: entries()
                .filter(|(_, value)| value.is_none())
                .map(|(key, _)| key.clone())
                .collect::<BTreeSet<_>>(),
        };
        (change.address, delta)
    };
    StateDelta { accounts: changes.iter().map(delta).collect() }.hash()
}

/// Returns the changes as a state diff for the store.
pub(crate) fn state_diff(changes: &[Change]) -> StateDiff {
    let accounts = changes.iter().map(|change| (change.address, change.after));
    let entries = |change: &Change| -> StorageDiff {
        change.storage.iter().map(|(key, value)| (key.clone(), value.as_deref().map(<[u8]>::to_vec))).collect()
    };
    let stored = changes.iter().filter(|change| !change.storage.is_empty());
    let storage = stored.map(|change| (change.address, entries(change)));
    StateDiff { accounts: accounts.collect(), storage: storage.collect() }
}

fn nonce_increase(before: Nonce, after: Nonce) -> u64 {
    after.get().saturating_sub(before.get())
}
