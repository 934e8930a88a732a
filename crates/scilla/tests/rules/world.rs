//! A contract in memory, which tests can deploy and call.

use std::{collections::BTreeMap, sync::Arc};

use silica_scilla::{
    check::{self, Options},
    code::Code,
    eval::{Argument, Failed, IncomingMessage, Outcome, Settings},
    gas::Meter,
    host::{MemoryHost, StateField},
    report::Failure,
    resolve::{self, Origin},
    rules::{Edition, Rules},
    stdlib::Standard,
    syntax::parse_contract,
    value::{BNum, Value},
};

const SENDER: [u8; 20] = [1; 20];
/// Balance of the sender, in Qa.
const BALANCE: u128 = 100;
/// Gas limit of each run, in units.
pub(crate) const UNITS: u64 = 800_000;

pub(crate) struct World {
    code: Arc<Code>,
    settings: Settings,
    init: Vec<Argument>,
    host: MemoryHost,
    /// Units that the deployment used.
    pub(crate) deployment: u64,
}

fn arguments(entries: &[(&str, Value)]) -> Vec<Argument> {
    entries.iter().map(|(name, value)| Argument { name: (*name).into(), value: value.clone() }).collect()
}

/// Compiles a contract. Each of the 20 bytes of its address is 5.
pub(crate) fn code(text: &str) -> Arc<Code> {
    let origin = Origin { address: Some(format!("0x{}", "05".repeat(20)).into()), ..Origin::default() };
    let module = parse_contract("test.scilla", text.as_bytes()).unwrap();
    let program = resolve::contract(module, &origin, &Standard).unwrap();
    Arc::new(Code::of_contract(&check::contract(&program, &Options::with_limit(UNITS)).unwrap()))
}

pub(crate) fn settings(edition: Edition) -> Settings {
    Settings { rules: Rules::current(edition), ..Settings::default() }
}

impl World {
    pub(crate) fn new(text: &str, edition: Edition) -> Self {
        Self::with_units(text, edition, UNITS).unwrap()
    }

    /// Deploys a contract with a gas limit of `units`.
    pub(crate) fn with_units(text: &str, edition: Edition, units: u64) -> Result<Self, Failed> {
        let (code, settings) = (code(text), settings(edition));
        let init = arguments(&[
            ("_creation_block", Value::BNum(BNum::from_u64(7))),
            ("_scilla_version", Value::from(0_u32)),
            ("_this_address", Value::bystrx([5; 20])),
        ]);
        let field = |name: &str, value: Value| StateField { name: name.into(), ty: value.ty().unwrap(), value };
        let sender = vec![field("_balance", Value::from(BALANCE)), field("_nonce", Value::from(1_u128))];
        let deployed = code.load(settings, Meter::with_units(units))?.deploy(&init, None)?;
        let host = MemoryHost {
            fields: deployed.fields,
            accounts: BTreeMap::from([(silica_protocol::Address::new(SENDER), sender)]),
            ..MemoryHost::default()
        };
        Ok(Self { code, settings, init, host, deployment: units - deployed.gas.units() })
    }

    /// Sends a message with an amount to the transition `T`, with a gas limit of `units`. The fields keep the stored
    /// values.
    pub(crate) fn call(&mut self, amount: u128, units: u64) -> Result<Outcome, Failed> {
        let entries = arguments(&[
            ("_amount", Value::from(amount)),
            ("_origin", Value::bystrx(SENDER)),
            ("_sender", Value::bystrx(SENDER)),
        ]);
        let loaded = self.code.load(self.settings, Meter::with_units(units))?;
        loaded.call(&self.init, &IncomingMessage { tag: "T".into(), entries }, 0, &mut self.host)
    }

    /// Returns the value of a field in the form of a literal.
    pub(crate) fn field(&self, name: &str) -> String {
        let field = self.host.fields.iter().find(|field| *field.name == *name).unwrap();
        field.value.literal().to_string()
    }

    /// Returns the gas that a call uses, in units.
    pub(crate) fn units_of_call(&mut self) -> u64 {
        UNITS - self.call(0, UNITS).unwrap().gas.units()
    }
}

/// Returns the error texts of a failure, each with its line.
pub(crate) fn entries(failure: &Failure) -> Vec<(&str, u32)> {
    failure.entries().iter().map(|entry| (entry.message.as_str(), entry.start.line)).collect()
}
