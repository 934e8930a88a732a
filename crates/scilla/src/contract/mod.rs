//! A contract in memory: compile, deploy, call.

mod instance;
mod params;
mod trace;

use std::{fmt, sync::Arc};

use silica_protocol::{Address, Gas, InitData, TransitionCall};

pub use self::{
    instance::{Call, CallError, CallOutcome, DeployError, Event, Instance, OutMessage},
    params::{IntoParams, ParamError, Params},
    trace::{Trace, TraceStep},
};
use crate::{
    check::{self, ContractSummary, Options},
    code::Code,
    diagnosis::{Diagnosis, diagnose},
    gas::UNITS_PER_GAS,
    report::{Failure, Warning},
    resolve::{self, LibrarySource, Origin, ResolveError},
    rules::Rules,
    stdlib::Standard,
    syntax::parse_contract,
    types::adt::DataTypes,
};

/// Gas limit of a compilation, of a deployment and of a call if no other limit is set, in gas.
pub const DEFAULT_GAS_LIMIT: u64 = 100_000;

/// The largest gas limit whose number of units fits into a `u64`.
const LARGEST_GAS_LIMIT: u64 = u64::MAX / UNITS_PER_GAS;

/// A contract that the checker accepts, ready for deployments. A clone shares the program.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use silica_scilla::{Contract, Value};
///
/// let contract = Contract::compile(
///     "scilla_version 0
///      contract Counter (start : Uint32)
///      field count : Uint32 = start
///      transition Add (number : Uint32)
///        before <- count;
///        after = builtin add before number;
///        count := after;
///        e = { _eventname : \"Added\"; count : after };
///        event e
///      end",
/// )?;
/// assert_eq!(contract.interface().transitions[0].parameters[0].ty.to_string(), "Uint32");
///
/// let mut counter = contract.deploy(json!({ "start": 4 }))?;
/// let outcome = counter.call("Add", [("number", Value::from(3_u32))]).run()?;
/// assert_eq!(outcome.events[0].to_string(), "Added(count: (Uint32 7))");
/// assert_eq!(counter.field("count"), Some(&Value::from(7_u32)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Contract(Arc<Compiled>);

#[derive(Debug)]
struct Compiled {
    code: Arc<Code>,
    address: Address,
    rules: Rules,
    summary: ContractSummary,
    data_types: DataTypes,
    warnings: Vec<Warning>,
    gas_used: Gas,
}

/// Options of [`Contract::compile_with`].
#[derive(Clone)]
pub struct CompileOptions<'a> {
    file: &'a str,
    libraries: &'a dyn LibrarySource,
    origin: Origin,
    address: Address,
    gas_limit: u64,
}

impl Default for CompileOptions<'_> {
    fn default() -> Self {
        Self {
            file: "contract.scilla",
            libraries: &Standard,
            origin: Origin::default(),
            address: Address::new([0xc0; 20]),
            gas_limit: DEFAULT_GAS_LIMIT,
        }
    }
}

impl fmt::Debug for CompileOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompileOptions")
            .field("file", &self.file)
            .field("address", &self.address)
            .field("gas_limit", &self.gas_limit)
            .finish_non_exhaustive()
    }
}

impl<'a> CompileOptions<'a> {
    /// Sets the name of the file in error texts. The default is `contract.scilla`.
    #[must_use]
    pub const fn file(mut self, file: &'a str) -> Self {
        self.file = file;
        self
    }

    /// Sets the source of imported libraries. The default is the standard library. The given source replaces the
    /// standard library. A source that also serves the standard library calls [`Standard::find`](LibrarySource::find).
    #[must_use]
    pub fn libraries(mut self, libraries: &'a dyn LibrarySource) -> Self {
        self.libraries = libraries;
        self
    }

    /// Adds a library with its address, as `_extlibs` of a deployment does. The [source](Self::libraries) finds the
    /// library by `0x` and the digits of the address.
    #[must_use]
    pub fn external_library(mut self, name: &str, address: Address) -> Self {
        self.origin.libraries.insert(name.into(), hex(&address));
        self
    }

    /// Sets the address of the contract: the value of `_this_address`, and the prefix of the names of its types. Each
    /// of the 20 bytes of the default is 0xc0.
    #[must_use]
    pub const fn address(mut self, address: Address) -> Self {
        self.address = address;
        self
    }

    /// Sets the limit for the gas of the check. The default is [`DEFAULT_GAS_LIMIT`]. The largest limit is
    /// `u64::MAX / 8`, and a larger number has the same effect.
    #[must_use]
    pub const fn gas_limit(mut self, gas: u64) -> Self {
        self.gas_limit = if gas < LARGEST_GAS_LIMIT { gas } else { LARGEST_GAS_LIMIT };
        self
    }

    /// Sets the rules of the interpreter. The default is the newest revision of
    /// [`Edition::Latest`](crate::rules::Edition::Latest).
    #[must_use]
    pub const fn rules(mut self, rules: Rules) -> Self {
        self.origin.rules = rules;
        self
    }
}

/// A source that is not a valid contract. The text has the file, line and column of each error with a source position.
/// For an error in the contract, the text also has the line itself.
#[derive(Clone, PartialEq, Eq)]
pub struct CompileError {
    failure: Failure,
    file: Arc<str>,
    text: Arc<[u8]>,
}

impl fmt::Debug for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompileError").field("failure", &self.failure).finish_non_exhaustive()
    }
}

impl CompileError {
    /// Returns the errors, as in the receipt of a deployment.
    pub const fn failure(&self) -> &Failure {
        &self.failure
    }

    /// Returns the errors in a form for people.
    pub fn diagnoses(&self) -> Vec<Diagnosis> {
        diagnose(&self.failure)
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Diagnosis { title, place, .. }) in self.diagnoses().iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "\n" })?;
            if place.line == 0 {
                write!(f, "{title}")?;
                continue;
            }
            write!(f, "{}:{}:{}: {title}", place.file, place.line, place.column)?;
            if place.file != self.file {
                continue;
            }
            let line = self.text.split(|byte| *byte == b'\n').nth(place.line as usize - 1).unwrap_or_default();
            write!(f, "\n    {}", String::from_utf8_lossy(line).trim())?;
        }
        Ok(())
    }
}

impl std::error::Error for CompileError {}

impl Contract {
    /// Parses and checks a contract that imports only the standard library.
    ///
    /// # Errors
    ///
    /// [`CompileError`] if the source is invalid.
    pub fn compile(source: impl AsRef<[u8]>) -> Result<Self, CompileError> {
        Self::compile_with(source, &CompileOptions::default())
    }

    /// Parses and checks a contract.
    ///
    /// # Errors
    ///
    /// [`CompileError`] if the source or a library is invalid, if a library is missing, or if the gas does not suffice.
    pub fn compile_with(source: impl AsRef<[u8]>, options: &CompileOptions<'_>) -> Result<Self, CompileError> {
        let text = source.as_ref();
        let fail = |failure| CompileError { failure, file: options.file.into(), text: text.into() };
        let origin = Origin { address: Some(hex(&options.address)), ..options.origin.clone() };
        let module = parse_contract(options.file, text).map_err(fail)?;
        let program = resolve::contract(module, &origin, options.libraries).map_err(|error| fail(failure(error)))?;
        let check = Options { advice: true, ..Options::with_limit(options.gas_limit) };
        let checked = check::contract(&program, &check).map_err(|rejected| fail(rejected.failure))?;
        let code = Arc::new(Code::of_contract(&checked));
        let gas_used = Gas::new(options.gas_limit.saturating_sub(checked.meter.gas_of_success(options.gas_limit)));
        let warnings = checked.warnings.into_iter().rev().chain(checked.advice.into_iter().rev()).collect();
        let (address, rules) = (options.address, origin.rules);
        let (summary, data_types) = (checked.summary, checked.data_types);
        Ok(Self(Arc::new(Compiled { code, address, rules, summary, data_types, warnings, gas_used })))
    }

    /// Returns the name, parameters, fields, transitions and events of the contract.
    pub fn interface(&self) -> &ContractSummary {
        &self.0.summary
    }

    /// Returns the warnings of the checker: first those of the reference, in the order in which the checker found them,
    /// and then the further warnings, in the order of the source.
    pub fn warnings(&self) -> &[Warning] {
        &self.0.warnings
    }

    /// Returns the address of the contract.
    pub fn address(&self) -> Address {
        self.0.address
    }

    /// Returns the gas that the check used.
    pub fn gas_used(&self) -> Gas {
        self.0.gas_used
    }

    /// Returns the init data of a transaction that deploys the contract. The types are the declared types, with
    /// `ByStr20` in place of address types.
    ///
    /// # Errors
    ///
    /// [`ParamError`] if the parameters do not match the contract.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use silica_scilla::{Contract, protocol::Transaction};
    ///
    /// let source = "scilla_version 0 contract Owned (owner : ByStr20)";
    /// let init = Contract::compile(source)?.init_data(json!({ "owner": "0x0707070707070707070707070707070707070707" }))?;
    /// assert!(init.to_string().contains(r#""type":"ByStr20""#));
    /// let deployment = Transaction::deploy(source, &init);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn init_data(&self, params: impl IntoParams) -> Result<InitData, ParamError> {
        let Compiled { summary, .. } = &*self.0;
        let typed = params.into_params().typed(&summary.parameters, &summary.data_types)?;
        Ok(InitData::builder().params(typed).build())
    }

    /// Returns the message of a transaction that calls a transition. The types are the declared types, with `ByStr20`
    /// in place of address types.
    ///
    /// # Errors
    ///
    /// [`CallError::UnknownTransition`], or [`CallError::Params`] if the parameters do not match the transition.
    pub fn transition_call(&self, name: &str, params: impl IntoParams) -> Result<TransitionCall, CallError> {
        let Compiled { summary, .. } = &*self.0;
        let declared = summary.transitions.iter().find(|declared| *declared.name == *name);
        let declared = declared.ok_or_else(|| CallError::UnknownTransition(name.to_owned()))?;
        let typed = params.into_params().typed(&declared.parameters, &summary.data_types)?;
        Ok(TransitionCall::new(name).params(typed))
    }

    /// Returns the compiled program, for a run on another [`Host`](crate::host::Host).
    pub fn code(&self) -> &Arc<Code> {
        &self.0.code
    }

    /// Deploys the contract in memory, in block 1. `_scilla_version` is 0, and `_this_address` is the
    /// [address](CompileOptions::address) from the compilation.
    ///
    /// The deployment does not check the accounts of parameters with address types (`ByStr20 with …`), because no other
    /// accounts exist yet. A call checks the accounts of its own parameters.
    ///
    /// # Errors
    ///
    /// [`DeployError`] if the parameters do not match the contract, or if the deployment fails.
    pub fn deploy(&self, params: impl IntoParams) -> Result<Instance, DeployError> {
        Instance::deploy(self.clone(), params.into_params())
    }
}

fn failure(error: ResolveError) -> Failure {
    match error {
        ResolveError::Import(failure) | ResolveError::Names(failure) => failure,
    }
}

/// Returns an address as `0x` and lower-case digits.
fn hex(address: &Address) -> Arc<str> {
    crate::value::Hex(address.as_bytes()).to_string().into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use silica_protocol::Qa;

    use super::*;
    use crate::{
        resolve::FoundLibrary,
        types::{Primitive, Type},
        value::Value,
    };

    const BANK: &str = "scilla_version 0
        library Bank
        type Colour = | Red | Blue
        contract Bank (owner : ByStr20, limit : Uint128)
        field holders : Map ByStr20 Uint128 = Emp ByStr20 Uint128
        field last : Option Colour = None {Colour}
        transition Put ()
          accept;
          holders[_sender] := _amount;
          e = { _eventname : \"Put\"; who : _sender; amount : _amount };
          event e
        end
        transition Paint (colour : Colour)
          some = Some {Colour} colour;
          last := some
        end
        transition Pay (to : ByStr20, amount : Uint128)
          m = { _tag : \"\"; _recipient : to; _amount : amount; note : \"hi\" };
          none = Nil {Message};
          ms = Cons {Message} m none;
          send ms
        end
        transition Fail ()
          holders[_sender] := limit;
          throw
        end";

    fn bank() -> Instance {
        let owner = "0x0101010101010101010101010101010101010101";
        Contract::compile(BANK).unwrap().deploy(json!({ "owner": owner, "limit": "5" })).unwrap()
    }

    #[test]
    fn a_wrong_contract_has_the_place_and_the_line_of_its_error() {
        let error = Contract::compile("scilla_version 0\ncontract C ()\n  field a : Uint32 = Uint64 1").unwrap_err();
        let expected = "contract.scilla:3:9: Type unassignable: Uint32 expected, but Uint64 provided\n    \
                        field a : Uint32 = Uint64 1";
        assert_eq!(error.to_string(), expected);
        assert!(Contract::compile("contract").is_err());
        let error = Contract::compile("scilla_version 0 import Absent contract C ()").unwrap_err();
        assert!(error.to_string().contains("Absent"), "{error}");
    }

    #[test]
    fn an_error_in_a_library_has_no_line_of_the_contract() {
        struct Bad;

        impl LibrarySource for Bad {
            fn find(&self, _: &str) -> Result<Option<FoundLibrary>, Failure> {
                let text = b"scilla_version 0\nlibrary Bad\nlet x = absent"[..].into();
                Ok(Some(FoundLibrary { file: "Bad.scillib".into(), text, origin: Origin::default() }))
            }
        }

        let options = CompileOptions::default().libraries(&Bad);
        let source = "scilla_version 0\nimport Bad\ncontract Third ()";
        let error = Contract::compile_with(source, &options).unwrap_err();
        assert!(error.to_string().contains("Bad.scillib:3:9: "), "{error}");
        assert!(!error.to_string().contains("contract Third"), "{error}");
        assert!(!format!("{error:?}").contains("text"), "{error:?}");
    }

    #[test]
    fn further_warnings_are_in_the_order_of_the_source() {
        let source = "scilla_version 0
            contract Box (unused : Uint32)
            field money : Uint128 = Uint128 0
            transition First ()
              money := _amount
            end
            transition Second ()
              money := _amount
            end";
        let contract = Contract::compile(source).unwrap();
        let is_further = |warning: &Warning| warning.message.contains("never accepts");
        let (others, further) = contract.warnings().split_at(contract.warnings().len() - 2);
        assert!(!others.is_empty() && !others.iter().any(is_further) && further.iter().all(is_further));
        assert_eq!(further.iter().map(|warning| warning.start.line).collect::<Vec<_>>(), [5, 8]);
    }

    #[test]
    fn the_largest_gas_limit_counts_the_used_gas() {
        let options = CompileOptions::default().gas_limit(u64::MAX);
        let contract = Contract::compile_with(BANK, &options).unwrap();
        assert_eq!(contract.gas_used(), Contract::compile(BANK).unwrap().gas_used());
        let mut bank = bank();
        let usual = bank.clone().call("Put", ()).run().unwrap().gas_used;
        assert_eq!(bank.call("Put", ()).gas_limit(u64::MAX).run().unwrap().gas_used, usual);
        let error = bank.call("Fail", ()).gas_limit(u64::MAX).run().unwrap_err();
        assert!(matches!(error, CallError::Failed { gas_used, .. } if gas_used < Gas::new(100)), "{error:?}");
    }

    #[test]
    fn balance_and_amount_together_have_a_limit() {
        let mut bank = bank();
        bank.set_balance(Qa::new(u128::MAX));
        let error = bank.call("Put", ()).amount(Qa::new(1)).run().unwrap_err();
        assert_eq!(error, CallError::Balance { balance: Qa::new(u128::MAX), amount: Qa::new(1) });
        assert_eq!(bank.balance(), Qa::new(u128::MAX));
    }

    #[test]
    fn the_origin_is_an_account_during_a_call() {
        let source = "scilla_version 0 contract C () field b : Uint128 = Uint128 7
            transition Go () x <- & _origin._balance; b := x end";
        let mut instance = Contract::compile(source).unwrap().deploy(()).unwrap();
        instance.call("Go", ()).origin(Address::new([5; 20])).amount(Qa::new(3)).run().unwrap();
        assert_eq!(instance.field("b"), Some(&Value::from(0_u128)));
        instance.call("Go", ()).amount(Qa::new(3)).run().unwrap();
        assert_eq!(instance.field("b"), Some(&Value::from(3_u128)));
        assert!(instance.host_mut().accounts.is_empty());
    }

    #[test]
    fn a_value_of_another_type_is_refused_with_the_declared_type() {
        let source = "scilla_version 0 contract C (owner : Option (ByStr20 with end))
            field held : Option (ByStr20 with end) = owner";
        let contract = Contract::compile(source).unwrap();
        let error = contract.deploy([("owner", Value::from(1_u32))]).unwrap_err();
        let expected = "owner: expected a value of type Option (ByStr20 with end), got (Uint32 1)";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_text_that_no_string_can_hold_is_refused() {
        let source = "scilla_version 0 contract C (names : List String)";
        let contract = Contract::compile(source).unwrap();
        let names = |text: &str| Value::list(Type::from(Primitive::String), [Value::String(text.into())]);
        assert!(contract.deploy([("names", names("Ann"))]).is_ok());
        let error = contract.deploy([("names", names("J\u{f6}rg"))]).unwrap_err();
        assert!(error.to_string().starts_with("names: expected printable ASCII"), "{error}");
    }

    #[test]
    fn an_accepted_amount_is_in_the_balance_and_in_the_event() {
        let mut bank = bank();
        let outcome = bank.call("Put", ()).sender(Address::new([9; 20])).amount(Qa::new(7)).run().unwrap();
        assert_eq!((outcome.accepted, outcome.balance, bank.balance()), (true, Qa::new(7), Qa::new(7)));
        let event = outcome.event("Put").unwrap();
        assert_eq!(event.param("amount").map(u128::try_from), Some(Ok(7)));
        assert_eq!(event.param("who").map(Address::try_from), Some(Ok(Address::new([9; 20]))));
        assert!(outcome.gas_used > Gas::ZERO && outcome.gas_used < Gas::new(100));

        let paid = [("to", Value::from(Address::new([8; 20]))), ("amount", Value::from(Qa::new(3)))];
        let outcome = bank.call("Pay", &paid).run().unwrap();
        assert_eq!((outcome.balance, bank.balance()), (Qa::new(4), Qa::new(4)));
        let message = &outcome.messages[0];
        assert_eq!((message.recipient, message.amount, &*message.tag), (Address::new([8; 20]), Qa::new(3), ""));
        assert_eq!(message.params.len(), 1);
    }

    #[test]
    fn params_of_transactions_have_the_declared_types() {
        let source = "scilla_version 0
            library Typed
            type Colour = | Red | Blue
            contract Typed (owner : ByStr20 with end, open : Bool, names : List String)
            transition Set (count : Uint32, colour : Colour, at : BNum) end";
        let contract = Contract::compile(source).unwrap();
        let owner = Address::new([7; 20]);
        let names = Value::list(Type::from(Primitive::String), [Value::string("Ann").unwrap()]);
        let expected = json!([
            { "vname": "_scilla_version", "type": "Uint32", "value": "0" },
            { "vname": "owner", "type": "ByStr20", "value": owner },
            { "vname": "open", "type": "Bool", "value": { "constructor": "True", "argtypes": [], "arguments": [] } },
            { "vname": "names", "type": "List (String)", "value": ["Ann"] },
        ]);
        let init = contract.init_data(json!({ "names": ["Ann"], "owner": owner, "open": true })).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&init.to_string()).unwrap(), expected);
        let pairs = [("open", Value::from(true)), ("names", names), ("owner", Value::from(owner))];
        assert_eq!(contract.init_data(pairs), Ok(init));
        let error = contract.init_data(json!({ "owner": owner, "open": true })).unwrap_err();
        assert_eq!(error.to_string(), "the parameter names : List (String) has no value");

        let prefix = format!("{:#x}.", contract.address());
        let blue = json!({ "constructor": format!("{prefix}Blue"), "argtypes": [], "arguments": [] });
        let call = contract.transition_call("Set", json!({ "count": 5, "colour": blue, "at": "9" })).unwrap();
        let expected = json!({ "_tag": "Set", "params": [
            { "vname": "count", "type": "Uint32", "value": "5" },
            { "vname": "colour", "type": format!("{prefix}Colour"), "value": blue },
            { "vname": "at", "type": "BNum", "value": "9" },
        ]});
        assert_eq!(serde_json::from_str::<serde_json::Value>(&call.to_string()).unwrap(), expected);
        let error = contract.transition_call("Sett", ()).unwrap_err();
        assert_eq!(error, CallError::UnknownTransition("Sett".to_owned()));
    }

    #[test]
    fn param_with_too_many_levels_is_an_error() {
        let contract = Contract::compile("scilla_version 0 contract Deep (number : Nat)").unwrap();
        let number = Value::nat;
        assert!(contract.init_data([("number", number(30))]).is_ok());
        let error = contract.init_data([("number", number(200))]).unwrap_err();
        assert_eq!(error.to_string(), "number: expected a value with at most 127 levels of JSON");
    }

    #[test]
    fn a_failed_call_changes_nothing() {
        let mut bank = bank();
        let before = bank.state_json();
        let error = bank.call("Fail", ()).run().unwrap_err();
        assert!(matches!(error, CallError::Failed { .. }), "{error}");
        let error = bank.call("Put", ()).gas_limit(1).run().unwrap_err();
        assert!(error.to_string().contains("Ran out of gas"), "{error}");
        assert_eq!(bank.state_json(), before);
        assert!(before.starts_with(r#"{"_balance":"0","holders":[],"last":{"constructor":"None""#), "{before}");
    }

    #[test]
    fn json_has_values_of_all_types() {
        let mut bank = bank();
        let colour = |name: &str| format!("0x{}.{name}", "c0".repeat(20));
        let blue = json!({ "constructor": colour("Blue"), "argtypes": [], "arguments": [] });
        bank.call("Paint", json!({ "colour": blue })).run().unwrap();
        assert!(bank.state_json().contains(&colour("Blue")), "{}", bank.state_json());
        let to = "0x0202020202020202020202020202020202020202";
        bank.set_balance(Qa::new(10));
        bank.call("Pay", json!({ "to": to, "amount": 10 })).run().unwrap();
        assert_eq!(bank.balance(), Qa::ZERO);
    }

    #[test]
    fn wrong_parameters_are_named() {
        let mut bank = bank();
        let mut error = |params: serde_json::Value| bank.call("Pay", params).run().unwrap_err().to_string();
        let to = "0x0202020202020202020202020202020202020202";
        assert_eq!(error(json!({ "to": to })), "the parameter amount : Uint128 has no value");
        assert_eq!(error(json!({ "to": to, "amount": 1, "x": 1 })), "no parameter has the name x");
        assert_eq!(error(json!({ "to": to, "amount": "x" })), "amount: Invalid value in JSON: x of type Uint128");
        assert_eq!(error(json!({ "to": "0x02", "amount": 1 })), "to: Invalid value in JSON: 0x02 of type ByStr20");
        assert_eq!(error(json!([1])), "expected an object of parameters, got [1]");
        let error = bank.call("Pay", [("to", Value::from(1_u32)), ("amount", Value::from(1_u128))]).run().unwrap_err();
        assert_eq!(error.to_string(), "to: expected a value of type ByStr20, got (Uint32 1)");
        assert_eq!(bank.call("Nothing", ()).run().unwrap_err().to_string(), "the contract has no transition Nothing");
        assert!(bank.contract().deploy(()).is_err());
    }

    #[test]
    fn a_trace_has_the_statements_with_their_values() {
        let mut bank = bank();
        let mut trace = Trace::new();
        bank.call("Put", ()).amount(Qa::new(7)).observe(&mut trace).run().unwrap();
        assert_eq!(trace.steps().len(), 4);
        let text = trace.to_string();
        assert!(text.contains("contract.scilla:8:11: accept"), "{text}");
        assert!(text.contains("_amount = (Uint128 7)"), "{text}");
    }
}
