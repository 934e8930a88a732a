//! Simulation of a transaction: its effects and its gas, without signature and block.
//!
//! ```text
//! SimulationRequest ─▶ admission without nonce and signature ─▶ executor on the latest state ─▶ Simulation
//! ```
//!
//! A simulation uses the admission and the executor of real transactions. Each simulation has an overlay, which it
//! discards. All simulations share a contract cache, which block production does not use. Block production does not
//! wait for a simulation.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use silica_protocol::{
    Account, Address, BlockNumber, Gas, InitData, Nonce, PublicKey, Qa, Receipt, SimulationRequest, StorageKey,
    TransactionKind, UnsignedTransaction, Version, index_text,
};
use silica_scilla::rules::Rules as ScillaRules;
use silica_state::{Snapshot, StateError};

use crate::{
    accounts::StateReader as _,
    admission::{AdmissionContext, AdmissionError, Routing, SimulatedTransaction, VerifiedTransaction},
    config::{NoncePolicy, Numbering, Rules},
    contract::METADATA,
    executor::{self, Change, Context, InitFacts, NOTHING_LOADED, Outcome, Overlay, Recorded, Tracer, readable},
    pool::DropReason,
    shared::{Published, Shared},
};

/// The effects of a simulated transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulation {
    /// The receipt that the transaction would have.
    pub receipt: Receipt,
    /// The gas limit of the simulation.
    pub gas_limit: Gas,
    /// The fee that the sender would pay, in Qa.
    pub fee: Qa,
    /// The committee that the transaction would have, and the reason.
    pub routing: Routing,
    /// Address of the contract that a deployment would create, even if the deployment fails.
    pub contract: Option<Address>,
    /// The accounts that would change, ascending by address.
    pub changes: Vec<AccountChange>,
}

/// How an account would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountChange {
    /// Address of the account.
    pub address: Address,
    /// The account at the head; `None` if it does not exist.
    pub before: Option<Account>,
    /// The account after the transaction.
    pub after: Account,
    /// The variables of the contract that would change, by name and keys.
    pub variables: Vec<VariableChange>,
}

/// How a field of a contract, or an entry of a map, would change. Each innermost entry of a map has a separate change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableChange {
    /// Name of the field.
    pub name: String,
    /// Keys of the entry as texts without quotes, the outermost first.
    pub indices: Vec<String>,
    /// The value at the head in the JSON form of Scilla, or `None` if there is no value. If the value nests too deeply
    /// for the JSON reader, this is a string with the JSON text.
    pub old: Option<Json>,
    /// The value after the transaction, in the same form.
    pub new: Option<Json>,
}

/// The result of a gas estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GasEstimate {
    /// The lowest gas limit with which the transaction succeeds. It can exceed `used`, because the limit must cover
    /// each stage when the stage begins.
    pub limit: Gas,
    /// The gas used with this limit.
    pub used: Gas,
}

/// Simulates transactions at one head.
pub(crate) struct Simulator<'a> {
    shared: &'a Shared,
    published: Arc<Published>,
}

/// A transaction after its execution, and the running state.
struct Executed {
    simulated_transaction: SimulatedTransaction,
    recorded: Recorded,
    overlay: Overlay<Snapshot>,
}

impl<'a> Simulator<'a> {
    pub(crate) fn new(shared: &'a Shared) -> Self {
        Self { shared, published: shared.published() }
    }

    /// Simulates a transaction. If there is a tracer, it records each statement.
    pub(crate) fn simulate(
        &self,
        request: &SimulationRequest,
        tracer: Option<&Tracer>,
    ) -> Result<Simulation, SimulationError> {
        let limit = self.gas_limit(request)?;
        let executed = self.execute(request, limit, tracer)?;
        let Executed { simulated_transaction, recorded: Recorded { receipt, fee }, mut overlay } = executed;
        let verified = simulated_transaction.assume_verified();
        let creates = verified.kind() == TransactionKind::Deployment;
        let nonce = Nonce::new(verified.transaction().nonce.get().saturating_sub(1));
        let old = |contract: &Address, key: &StorageKey| self.published.state.entry(contract, key);
        Ok(Simulation {
            receipt,
            gas_limit: limit,
            fee,
            routing: verified.routing(),
            contract: creates.then(|| Address::of_contract(&request.sender, nonce)),
            changes: overlay.changes()?.iter().map(|change| account_change(change, old)).collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn estimate_gas(&self, request: &SimulationRequest) -> Result<GasEstimate, SimulationError> {
        let limit = self.gas_limit(request)?;
        let receipt = self.execute(request, limit, None)?.recorded.receipt;
        if !receipt.success {
            return Err(SimulationError::Fails { limit, receipt: Box::new(receipt) });
        }
        let used = |gas: u64| match self.execute(request, Gas::new(gas), None) {
            Ok(Executed { recorded: Recorded { receipt, .. }, .. }) => {
                Ok(receipt.success.then_some(receipt.cumulative_gas))
            }
            // The limit is too low for admission, or for the start of the execution.
            Err(SimulationError::Refused(_) | SimulationError::Dropped { .. }) => Ok(None),
            Err(error @ (SimulationError::Fails { .. } | SimulationError::State(_))) => Err(error),
        };
        Search { fails: 0, works: limit.get(), used: receipt.cumulative_gas }.run(used)
    }

    /// Returns the gas limit of a request. Without a given limit, this is the highest limit that the committee permits
    /// and the sender can pay, but at least the lowest limit of the transaction kind.
    fn gas_limit(&self, request: &SimulationRequest) -> Result<Gas, StateError> {
        if let Some(limit) = request.gas_limit {
            return Ok(limit);
        }
        let transaction = self.transaction(request, Gas::ZERO);
        let (least, most) = self.admission_context().gas_limits(&transaction, &request.sender, request.priority);
        let balance = self.published.state.account(&request.sender)?.unwrap_or_default().balance;
        let spare = balance.checked_sub(request.amount).unwrap_or(Qa::ZERO);
        let affordable = spare.get().checked_div(transaction.gas_price.get().get());
        let affordable = affordable.map_or(most, |gas| Gas::new(u64::try_from(gas).unwrap_or(u64::MAX)));
        // The limit is at least `least`, even if the balance is too low. Then admission reports the balance, not the
        // gas limit.
        Ok(most.min(affordable).max(least))
    }

    /// Returns the transaction of a request, with defaults for its absent members.
    pub(crate) fn full_transaction(&self, request: &SimulationRequest) -> Result<UnsignedTransaction, StateError> {
        Ok(self.transaction(request, self.gas_limit(request)?))
    }

    fn execute(
        &self,
        request: &SimulationRequest,
        limit: Gas,
        tracer: Option<&Tracer>,
    ) -> Result<Executed, SimulationError> {
        let transaction = self.transaction(request, limit);
        let simulated_transaction =
            self.admission_context().admit_simulated(transaction, request.sender, request.priority)?;
        let mut overlay = Overlay::new(self.published.state.clone());
        let recorded = self.run(&simulated_transaction, tracer, &mut overlay)?;
        Ok(Executed { simulated_transaction, recorded, overlay })
    }

    fn run(
        &self,
        simulated_transaction: &SimulatedTransaction,
        tracer: Option<&Tracer>,
        overlay: &mut Overlay<Snapshot>,
    ) -> Result<Recorded, SimulationError> {
        let config = &self.shared.network.config;
        let verified = simulated_transaction.assume_verified();
        let ds = verified.committee().get() == config.shards;
        let contract_cache = self.shared.simulated_for(self.published.epoch());
        let context = Context {
            block: self.next_block(),
            gas_limit: if ds { config.ds_gas_limit } else { config.shard_gas_limit },
            minimum_price: Some(self.published.minimum_gas_price()),
            chain_id: config.chain_id,
            rules: &config.rules,
            contract_cache: &contract_cache,
            work_limit: u64::MAX,
            loaded: &NOTHING_LOADED,
            tracer,
        };
        let reason = match executor::execute(verified, context, overlay)?.outcome {
            Outcome::Recorded(recorded) => return Ok(recorded),
            Outcome::Dropped(reason) => reason,
            // The context above has no limit for the work of the block, so this outcome does not occur.
            Outcome::Full => DropReason::Internal,
        };
        Err(SimulationError::Dropped { reason, why: why(reason, verified, &config.rules, contract_cache.rules()) })
    }

    /// Returns the logical number of the next block that executes transactions.
    fn next_block(&self) -> BlockNumber {
        let next = self.published.head.next_logical_number;
        // A due vacuous block comes first. Only the policy `EveryBlock` increases the logical number for the vacuous
        // block.
        let is_moved = self.published.numbering == Numbering::EveryBlock
            && self.shared.network.epochs.is_vacuous(self.published.epoch());
        if is_moved { next.next().unwrap_or(next) } else { next }
    }

    fn admission_context(&self) -> AdmissionContext<'_, Snapshot> {
        AdmissionContext {
            config: &self.shared.network.config,
            minimum_price: self.published.minimum_gas_price(),
            nonces: NoncePolicy::Exact,
            accounts: &self.published.state,
        }
    }

    fn transaction(&self, request: &SimulationRequest, gas_limit: Gas) -> UnsignedTransaction {
        UnsignedTransaction {
            version: Version::of_chain(self.shared.network.config.chain_id),
            nonce: Nonce::new(0),
            to: request.to,
            amount: request.amount,
            gas_price: request.gas_price.unwrap_or_else(|| self.published.minimum_gas_price()),
            gas_limit,
            code: request.code.clone(),
            data: request.data.clone(),
            sender_key: PublicKey::new([0; PublicKey::LEN]),
        }
    }
}

/// Returns the change of an account with names and values of its variables. `old` returns the earlier value of a
/// storage entry.
pub(crate) fn account_change(
    change: &Change,
    old: impl Fn(&Address, &StorageKey) -> Result<Option<Vec<u8>>, StateError>,
) -> Result<AccountChange, StateError> {
    let Change { address, before, after, deployed: _, storage } = change;
    let is_marker = |value: Option<&[u8]>| value.is_some_and(|value| value == StorageKey::EMPTY_MAP);
    let mut variables = Vec::new();
    for (key, new) in storage {
        let old = old(address, key)?;
        let Some((name, indices)) = parts(address, key) else { continue };
        // The marker of an empty map changes with its entries, and the entries are reported separately.
        let below = storage.range(key..).nth(1).is_some_and(|(next, _)| next.as_str().starts_with(key.as_str()));
        if METADATA.contains(&name.as_str()) || below && (is_marker(old.as_deref()) || is_marker(new.as_deref())) {
            continue;
        }
        variables.push(VariableChange {
            name,
            indices,
            old: old.as_deref().map(value),
            new: new.as_deref().map(value),
        });
    }
    Ok(AccountChange { address: *address, before: *before, after: *after, variables })
}

/// Returns the reason why an admitted transaction would be dropped, as a text.
fn why(reason: DropReason, verified: &VerifiedTransaction, rules: &Rules, scilla: ScillaRules) -> String {
    let text = match reason {
        DropReason::Libraries => return unusable(verified, scilla),
        DropReason::InsufficientGas => {
            let first =
                if verified.kind() == TransactionKind::Deployment { rules.checker_gas } else { rules.runner_gas };
            return format!("gas limit: expected at least {first}, got {}", verified.transaction().gas_limit);
        }
        DropReason::Preparation => "data: expected a supported _scilla_version",
        DropReason::AddressTaken => "sender: the address of its next contract has a contract already",
        DropReason::Arithmetic => "amount: the balance of the recipient would exceed 128 bits",
        DropReason::Internal => "internal error of the node",
        DropReason::CodeTooLarge
        | DropReason::Evicted
        | DropReason::Expired
        | DropReason::HighGasLimit
        | DropReason::IncorrectType
        | DropReason::InsufficientBalance
        | DropReason::InsufficientGasLimit
        | DropReason::InvalidRecipient
        | DropReason::InvalidSender
        | DropReason::NonceTooLow
        | DropReason::Outbid
        | DropReason::Verification
        | DropReason::Withdrawn => "internal error: admission should have rejected the transaction",
    };
    text.to_owned()
}

/// Returns the fault in the data of a deployment or call, as a text.
fn unusable(verified: &VerifiedTransaction, rules: ScillaRules) -> String {
    let data = &verified.transaction().data;
    if verified.kind() == TransactionKind::Deployment {
        return match InitData::parse(data) {
            Err(error) => format!("data: {error}"),
            Ok(init) if InitFacts::of(&init, rules).is_none() => {
                "data: expected one _scilla_version, and at most one _library and _extlibs, with their types".to_owned()
            }
            Ok(_) => "data: expected only addresses of libraries in _extlibs".to_owned(),
        };
    }
    match serde_json::from_str(data) {
        Err(error) => format!("data: not JSON: {error}"),
        Ok(Json::Object(_)) => "recipient: expected a contract whose libraries exist".to_owned(),
        Ok(_) => "data: expected an object".to_owned(),
    }
}

/// Returns the name of the field and the keys in a storage key of `contract`, or `None` if the key belongs to another
/// account.
fn parts(contract: &Address, key: &StorageKey) -> Option<(String, Vec<String>)> {
    let path = key.as_str().strip_prefix(&contract.to_string())?.strip_prefix(StorageKey::SEPARATOR)?;
    let mut parts = path.split_terminator(StorageKey::SEPARATOR);
    Some((parts.next()?.to_owned(), parts.map(index_text).collect()))
}

/// Returns a stored value in the JSON form of Scilla.
fn value(stored: &[u8]) -> Json {
    if stored == StorageKey::EMPTY_MAP {
        return json!([]);
    }
    // The JSON reader has a depth limit. A deeper value is shown as text.
    let text = |_| Json::String(String::from_utf8_lossy(stored).into_owned());
    serde_json::from_slice(stored).map_or_else(text, readable)
}

/// The search for the lowest gas limit with which a transaction succeeds: between a limit that fails and a limit that
/// succeeds.
///
/// The search begins with the used gas of a first run, which is near the result. It doubles the step until the result
/// is between two tried limits, and then halves the interval. It tries each gas limit at most once.
struct Search {
    fails: u64,
    works: u64,
    /// The used gas with the limit `works`.
    used: Gas,
}

impl Search {
    fn run<E>(mut self, attempt: impl Fn(u64) -> Result<Option<Gas>, E>) -> Result<GasEstimate, E> {
        let guess = self.used.get();
        let mut step = 1_u64;
        if guess < self.works && !self.attempt(guess, &attempt)? {
            while self.fails.saturating_add(step) < self.works
                && !self.attempt(self.fails.saturating_add(step), &attempt)?
            {
                step = step.saturating_mul(2);
            }
        } else {
            while self.works.saturating_sub(step) > self.fails
                && self.attempt(self.works.saturating_sub(step), &attempt)?
            {
                step = step.saturating_mul(2);
            }
        }
        while self.works.saturating_sub(self.fails) > 1 {
            self.attempt(self.fails.midpoint(self.works), &attempt)?;
        }
        Ok(GasEstimate { limit: Gas::new(self.works), used: self.used })
    }

    fn attempt<E>(&mut self, limit: u64, attempt: impl Fn(u64) -> Result<Option<Gas>, E>) -> Result<bool, E> {
        let used = attempt(limit)?;
        match used {
            Some(used) => (self.works, self.used) = (limit, used),
            None => self.fails = limit,
        }
        Ok(used.is_some())
    }
}

/// Reason why a simulated transaction would not be in a block, or why there is no gas limit for it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// Admission would reject the transaction.
    #[error(transparent)]
    Refused(#[from] AdmissionError),
    /// The next block would drop the transaction.
    #[error("Error Code: {}, {why}", .reason.code())]
    Dropped {
        /// The reason as a status code of the reference.
        reason: DropReason,
        /// The reason as a text.
        why: String,
    },
    /// The transaction fails with the highest gas limit.
    #[error("the transaction fails with a gas limit of {limit}: {}", failure(.receipt))]
    Fails {
        /// The highest gas limit.
        limit: Gas,
        /// The receipt with this gas limit.
        receipt: Box<Receipt>,
    },
    /// A read of the state failed.
    #[error("failed to read state")]
    State(#[from] StateError),
}

/// Returns the error codes and exceptions of a receipt as a text.
fn failure(receipt: &Receipt) -> String {
    let codes = receipt.errors.values().flatten().map(|error| format!("error {}", error.code()));
    let exceptions =
        receipt.exceptions.iter().map(|exception| format!("line {}: {}", exception.line, exception.message));
    codes.chain(exceptions).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, convert::Infallible};

    use silica_protocol::MapKey;

    use super::*;

    #[track_caller]
    fn check(most: u64, needed: u64, charged: u64, attempts: u32) {
        let made = Cell::new(0);
        let attempt = |limit: u64| {
            made.set(made.get() + 1);
            Ok::<_, Infallible>((limit >= needed).then_some(Gas::new(charged)))
        };
        let found = Search { fails: 0, works: most, used: Gas::new(charged) }.run(attempt).unwrap();
        assert_eq!(found, GasEstimate { limit: Gas::new(needed), used: Gas::new(charged) });
        assert!(made.get() <= attempts, "{} attempts", made.get());
    }

    #[test]
    fn lowest_limit_is_found_from_any_guess() {
        check(400_000, 50, 50, 2);
        check(50, 50, 50, 1);
        check(400_000, 51, 50, 2);
        check(400_000, 700, 320, 20);
        check(400_000, 320, 700, 20);
        check(400_000, 400_000, 1, 40);
        check(400_000, 1, 400_000, 40);
        check(1, 1, 1, 0);
        check(1, 1, 0, 1);
    }

    #[test]
    fn keys_are_taken_apart() {
        let at = Address::new([7; 20]);
        let read = |key: &StorageKey| parts(&at, key).unwrap();
        assert_eq!(read(&StorageKey::field(&at, "f")), ("f".to_owned(), vec![]));
        let key = StorageKey::map_entry(&at, "m", [MapKey::string("a\"b"), MapKey::string("")]);
        assert_eq!(read(&key), ("m".to_owned(), vec!["a\"b".to_owned(), String::new()]));
        assert_eq!(parts(&Address::ZERO, &key), None);
    }
}
