//! `scilla run`: runs deployments and messages, with the state and the facts of the chain in files.

use std::sync::Arc;

use silica_protocol::Address;

use super::{
    Arguments, Command, Flag, Outcome, Session, UsageError,
    arguments::RULES,
    check::DEFAULT_GAS_LIMIT,
    files::{Libraries, directory_of, extension, origin},
    render::{Pointing, Style},
};
use crate::{
    code::Code,
    eval::{Argument, Failed, Loaded, Settings, local_state},
    gas::Meter,
    host::{BALANCE, Host, MemoryHost, StateField},
    json::{
        ChainInput, Document, FailureReport, InputError, ListForm, MessageInput, RunReport, StateInput,
        library_deployment, library_message, missing_this_address, read_document, read_init,
    },
    report::{Entry, Failure},
    resolve::{self, LibrarySource, Origin, ResolveError},
    syntax::{parse_contract, parse_library},
    value::{BNum, Value},
};

pub(super) const COMMAND: Command = Command {
    name: "run",
    alias: Some("scilla-runner"),
    operands: "",
    summary: "Deploy a contract, or send it a message.",
    details: "\
Without a message, the command deploys the contract or library: it checks the parameters in the init file, and
evaluates the initial values of the fields. With a message, it runs a transition on the state in the state file. The
outcome is JSON: messages, events, the new state, and the remaining gas.

    scilla run -init init.json -i token.scilla
    scilla run -init init.json -i token.scilla -imessage message.json -istate state.json -iblockchain chain.json

The command does not check the program: see `scilla check`.",
    flags: &[
        Flag::valued("i", "FILE", "The contract (.scilla) or library (.scillib)."),
        Flag::valued("init", "FILE", "The init file with the parameters of the contract or library."),
        Flag::valued("imessage", "FILE", "The message; without it, the contract is deployed."),
        Flag::valued("istate", "FILE", "The state before the message, and the fields of other accounts."),
        Flag::valued("iblockchain", "FILE", "The number of the block, and further data of the chain."),
        Flag::valued("o", "FILE", "Write the outcome to FILE instead of printing it."),
        Flag::valued("gaslimit", "N", "The gas that the run may use (100000)."),
        Flag::valued(
            "libdir",
            "DIR[:DIR]",
            "Directories of imported libraries; may be repeated. The standard library is built in.",
        ),
        RULES,
        Flag::switch("jsonerrors", "Print errors as JSON."),
        Flag::valued(
            "pplit",
            "BOOL",
            "Write lists as arrays and exceptions as literals (true), or all as JSON objects (false).",
        ),
        Flag::switch("disable-pp-json", "Write the outcome on one line."),
        Flag::valued("balance", "N", "Accepted for compatibility; the state file holds the balance."),
        Flag::switch("reinit", "Accepted for compatibility; nothing is kept between runs."),
        Flag::valued("tracefile", "FILE", "Accepted for compatibility; there are no traces."),
        Flag::valued("tracelevel", "LEVEL", "Accepted for compatibility; there are no traces."),
        Flag::valued("debuglevel", "LEVEL", "Accepted for compatibility; there are no debug logs."),
    ],
    run,
};

/// A text with the name of its file.
struct Text {
    file: String,
    text: Vec<u8>,
}

impl Text {
    fn size(&self) -> u64 {
        self.text.len() as u64
    }

    fn document(&self) -> Result<Document, InputError> {
        read_document(&self.file, &self.text)
    }
}

/// The inputs of a run.
struct Task<'s> {
    code: Text,
    init: Text,
    message: Option<Text>,
    /// Text of the state file, and text of the blockchain file.
    world: Option<(Text, Text)>,
    libraries: Libraries<'s>,
    settings: Settings,
    limit: u64,
    style: Style,
}

/// Reason why a run ended early.
struct Stopped {
    failure: Failure,
    /// The remaining gas, or `None` if the reference does not report it.
    gas: Option<u64>,
    pointing: Pointing,
}

impl Stopped {
    const fn new(failure: Failure, gas: Option<Meter>) -> Self {
        let gas = match gas {
            Some(meter) => Some(meter.gas()),
            None => None,
        };
        Self { failure, gas, pointing: Pointing::To }
    }

    fn with_message(message: impl Into<String>, gas: Option<Meter>) -> Self {
        Self::new(Failure::of(Entry::nowhere(message)), gas)
    }

    fn input(error: InputError, gas: Option<Meter>) -> Self {
        match error {
            InputError::Rejected(failure) => Self::new(failure, gas),
            InputError::Internal(_) => Self::with_message(error.to_string(), None),
        }
    }

    fn resolving(error: ResolveError, gas: Meter) -> Self {
        match error {
            ResolveError::Import(failure) => Self::new(failure, None),
            ResolveError::Names(failure) => Self::new(failure, Some(gas)),
        }
    }
}

impl From<Failed> for Stopped {
    fn from(Failed { failure, gas }: Failed) -> Self {
        Self::new(failure, Some(gas))
    }
}

fn run(arguments: &Arguments, session: &Session) -> Result<Outcome, UsageError> {
    arguments.no_operand()?;
    arguments.required("i")?;
    arguments.required("init")?;
    if arguments.has("istate") != arguments.has("iblockchain") {
        return Err(UsageError::Combination("-istate and -iblockchain require each other"));
    }
    let is_library = extension(arguments.required("i")?) == Some("scillib");
    if arguments.has("imessage") && !arguments.has("istate") && !is_library {
        return Err(UsageError::Combination("-imessage requires -istate and -iblockchain"));
    }
    let settings = arguments.settings()?;
    let limit = arguments.number("gaslimit")?.unwrap_or(DEFAULT_GAS_LIMIT);
    arguments.number("balance")?;
    let style = session.style(arguments);
    let result = prepare(arguments, session, settings, limit, style)
        .map_err(|failure| Stopped::new(failure, None))
        .and_then(|task| if is_library { task.library() } else { task.contract() });
    Ok(match result {
        Ok(document) => {
            write(&document, arguments, session).unwrap_or_else(|failure| session.failed(style, &failure, None))
        }
        Err(stopped) if stopped.pointing == Pointing::Behind => session.unparsed(style, &stopped.failure, stopped.gas),
        Err(stopped) => {
            let report = FailureReport { gas_remaining: stopped.gas, failure: &stopped.failure, warnings: &[] };
            session.rejected(style, &report, stopped.pointing)
        }
    })
}

fn prepare<'s>(
    arguments: &Arguments,
    session: &'s Session,
    settings: Settings,
    limit: u64,
    style: Style,
) -> Result<Task<'s>, Failure> {
    let maybe = |flag: &'static str| -> Result<Option<Text>, Failure> {
        let Some(file) = arguments.value(flag) else { return Ok(None) };
        Ok(Some(Text { file: file.to_owned(), text: session.files.read(file)? }))
    };
    let missing = |flag: &str| Failure::of(Entry::nowhere(format!("-{flag} is missing")));
    let code = maybe("i")?.ok_or_else(|| missing("i"))?;
    let init = maybe("init")?.ok_or_else(|| missing("init"))?;
    let message = maybe("imessage")?;
    let world = maybe("istate")?.zip(maybe("iblockchain")?);
    let mut directories = session.library_path.clone();
    directories.push(directory_of(&code.file));
    directories.extend(arguments.library_directories());
    let libraries = Libraries { files: &session.files, directories };
    Ok(Task { code, init, message, world, libraries, settings, limit, style })
}

fn write(document: &Document, arguments: &Arguments, session: &Session) -> Result<Outcome, Failure> {
    let text = if arguments.has("disable-pp-json") {
        format!("{}\n", document.root().compact())
    } else {
        format!("{}\n", document.root().pretty())
    };
    match arguments.value("o") {
        Some(file) => session.files.write(file, &text).map(|()| Outcome::default()),
        None => Ok(Outcome::of(text)),
    }
}

/// The state of any run after the evaluation of the libraries.
struct Begun {
    code: Arc<Code>,
    loaded: Loaded,
    init: Vec<Argument>,
}

impl Task<'_> {
    /// Charges for the sizes of the input texts, and returns the meter.
    fn begin(&self) -> Result<Meter, Stopped> {
        let (size, text) = match &self.message {
            Some(message) => (message.size(), "Insufficient gas to parse message"),
            None => (self.code.size() + self.init.size(), "Insufficient gas to parse contract/init files"),
        };
        let mut gas = Meter::with_limit(self.limit);
        gas.charge(size).map_err(|_| Stopped::with_message(text, Some(Meter::with_units(0))))?;
        Ok(gas)
    }

    fn origin(&self) -> Result<Origin, Stopped> {
        origin(&self.init.file, &self.init.text, self.settings.rules).map_err(|failure| Stopped::new(failure, None))
    }

    fn source(&self) -> &dyn LibrarySource {
        &self.libraries
    }

    fn unparsed(failure: Failure, gas: Meter) -> Stopped {
        Stopped { pointing: Pointing::Behind, ..Stopped::new(failure, Some(gas)) }
    }

    /// Evaluates the libraries, reads the parameters, and checks the version of the language.
    fn load(&self, code: Code, gas: Meter) -> Result<Begun, Stopped> {
        let code = Arc::new(code);
        let loaded = code.load(self.settings, gas)?;
        let with_message = |error| Stopped::input(error, Some(loaded.gas));
        let document = self.init.document().map_err(with_message)?;
        let init = read_init(&self.init.file, document.root(), code.data_types()).map_err(with_message)?;
        let stated = init.iter().find(|entry| &*entry.name == "_scilla_version").map(|entry| &entry.value);
        loaded.check_version(stated)?;
        Ok(Begun { init: init.into_iter().map(Argument::from).collect(), loaded, code })
    }

    fn library(&self) -> Result<Document, Stopped> {
        let gas = self.begin()?;
        if self.message.is_some() {
            return Ok(library_message(gas.units()));
        }
        let origin = self.origin()?;
        if origin.address.is_none() {
            return Err(Stopped::new(missing_this_address(&self.init.file), Some(gas)));
        }
        let module = parse_library(&self.code.file, &self.code.text).map_err(|failure| Self::unparsed(failure, gas))?;
        let program =
            resolve::library(module, &origin, self.source()).map_err(|error| Stopped::resolving(error, gas))?;
        let begun = self.load(Code::of_library_unchecked(&program), gas)?;
        Ok(library_deployment(begun.loaded.gas.gas_of_success(self.limit)))
    }

    fn contract(&self) -> Result<Document, Stopped> {
        let gas = self.begin()?;
        let origin = self.origin()?;
        if origin.address.is_none() {
            return Err(self.without_address(gas));
        }
        let module =
            parse_contract(&self.code.file, &self.code.text).map_err(|failure| Self::unparsed(failure, gas))?;
        let program =
            resolve::contract(module, &origin, self.source()).map_err(|error| Stopped::resolving(error, gas))?;
        let begun = self.load(Code::of_contract_unchecked(&program), gas)?;
        match (&self.message, &self.world) {
            (Some(message), Some(world)) => self.call(&begun, message, world),
            (_, Some(world)) => self.deploy_into(&begun, world),
            (_, None) => self.deploy(&begun),
        }
    }

    /// Returns the failure of a contract without an address. In this case, the reference reports insufficient gas.
    /// Output for people names the missing entry.
    fn without_address(&self, gas: Meter) -> Stopped {
        match self.style {
            Style::Drawn { .. } => Stopped::new(missing_this_address(&self.init.file), Some(gas)),
            Style::Json | Style::Plain => {
                Stopped::with_message("Insufficient gas to parse contract/init files", Some(gas))
            }
        }
    }

    fn lists(&self) -> ListForm {
        if self.settings.pretty_literals { ListForm::Array } else { ListForm::Constructors }
    }

    fn deploy(&self, begun: &Begun) -> Result<Document, Stopped> {
        let deployment = begun.loaded.deploy(&begun.init, None)?;
        Ok(self.deployed(deployment.gas, &deployment.fields))
    }

    /// Deploys a contract next to other accounts, so that addresses among the parameters can be checked. The host
    /// receives the fields, and the output does not show them.
    fn deploy_into(&self, begun: &Begun, world: &(Text, Text)) -> Result<Document, Stopped> {
        let (mut host, _) = Self::world(begun, world)?;
        host.fields = begun.loaded.initial_fields(&begun.init)?.fields;
        let host: &mut dyn Host = &mut host;
        let deployment = begun.loaded.deploy(&begun.init, Some(host))?;
        Ok(self.deployed(deployment.gas, &[]))
    }

    fn deployed(&self, gas: Meter, fields: &[StateField]) -> Document {
        let report = RunReport {
            // The reference reports units here, without conversion to gas.
            gas_remaining: gas.units(),
            accepted: false,
            messages: None,
            states: &with_balance(0, fields),
            events: &[],
            lists: self.lists(),
        };
        report.to_json()
    }

    fn call(&self, begun: &Begun, message: &Text, world: &(Text, Text)) -> Result<Document, Stopped> {
        let loaded = &begun.loaded;
        let with_message = |error| Stopped::input(error, Some(loaded.gas));
        let document = message.document().map_err(with_message)?;
        let known = begun.code.data_types();
        let message = MessageInput::read(&message.file, document.root(), known).map_err(with_message)?;
        let (mut host, state) = Self::world(begun, world)?;
        // The gas for the initial values counts only if these values or the state file are invalid.
        let initial = loaded.initial_fields(&begun.init)?;
        host.fields = local_state(loaded, initial.fields, state.fields)
            .map_err(|failure| Stopped::new(failure, Some(initial.gas)))?;
        let outcome = loaded.call(&begun.init, &message.into(), state.balance, &mut host)?;
        let report = RunReport {
            gas_remaining: outcome.gas.gas_of_success(self.limit),
            accepted: outcome.accepted,
            messages: Some(&outcome.messages),
            states: &with_balance(outcome.balance, &host.fields),
            events: &outcome.events,
            lists: self.lists(),
        };
        Ok(report.to_json())
    }

    /// Reads the facts of the chain, and then the state.
    fn world(begun: &Begun, (state, chain): &(Text, Text)) -> Result<(MemoryHost, StateInput), Stopped> {
        let with_message = |error| Stopped::input(error, Some(begun.loaded.gas));
        let document = chain.document().map_err(with_message)?;
        let facts = ChainInput::read(&chain.file, document.root()).map_err(with_message)?;
        let document = state.document().map_err(with_message)?;
        let file = &state.file;
        let mut state =
            StateInput::read(&state.file, document.root(), begun.code.data_types()).map_err(with_message)?;
        let mut host = memory_host(&chain.file, &facts).map_err(with_message)?;
        for account in std::mem::take(&mut state.accounts) {
            let address = address(file, &account.address).map_err(with_message)?;
            host.accounts.insert(address, account.fields);
        }
        Ok((host, state))
    }
}

/// Returns a host with the facts of the chain.
fn memory_host(file: &str, facts: &ChainInput) -> Result<MemoryHost, InputError> {
    let wrong = |text: &str| InputError::Internal(format!("{file}: expected a number, got {text}"));
    let block = |text: &Arc<str>| BNum::parse(text).ok_or_else(|| wrong(text));
    let chain = |text: &Arc<str>| text.parse().map_err(|_| wrong(text));
    let time = |(block, time): &(Arc<str>, Arc<str>)| Ok((block.to_string(), time.parse().map_err(|_| wrong(time))?));
    let times = |pairs: &Vec<_>| pairs.iter().map(time).collect::<Result<_, InputError>>();
    Ok(MemoryHost {
        block_number: facts.block_number.as_ref().map(block).transpose()?,
        chain_id: facts.chain_id.as_ref().map(chain).transpose()?,
        timestamps: facts.timestamps.as_ref().map(times).transpose()?,
        ..MemoryHost::default()
    })
}

/// Reads the twenty bytes of an address.
fn address(file: &str, text: &str) -> Result<Address, InputError> {
    let wrong =
        || InputError::Internal(format!("{file}: expected an address as `0x` and 40 hexadecimal digits, got {text}"));
    let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 40).ok_or_else(wrong)?;
    let mut bytes = [0; 20];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
        let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
    }
    Ok(Address::new(bytes))
}

/// Adds the balance before the fields.
fn with_balance(balance: u128, fields: &[StateField]) -> Vec<StateField> {
    let balance = StateField { name: "_balance".into(), ty: BALANCE, value: Value::from(balance) };
    std::iter::once(balance).chain(fields.iter().cloned()).collect()
}
