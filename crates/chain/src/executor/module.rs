//! Contracts and libraries, compiled from their texts.

use std::{
    collections::{BTreeMap, VecDeque, btree_map},
    sync::{Arc, OnceLock},
};

use parking_lot::{Mutex, MutexGuard};
use silica_protocol::{Address, CodeHash, ContractParam, InitData, sha256};
use silica_scilla::{
    cache::{CacheUsage, CodeCache, CodeKey},
    code::Code,
    eval::{Argument, VERSION},
    gas::Exhausted,
    json::{InputError, read_document, read_init, read_origin},
    report::{Entry, Failure},
    resolve::{self, FoundLibrary, LibrarySource, Origin},
    rules::{LibraryNames, Rules},
    stdlib::Standard,
    syntax::parse_contract,
    work::weight,
};
use silica_state::StateError;

use super::Overlay;
use crate::accounts::{Source, StateReader};

/// File names in the reports of a run, as the interpreter of the reference has them.
pub(super) const CONTRACT_FILE: &str = "input.scilla";
pub(super) const LIBRARY_FILE: &str = "input.scillib";
pub(super) const INIT_FILE: &str = "init.json";
pub(super) const MESSAGE_FILE: &str = "input_message.json";

/// The entries of init data that the node reads (Reference: execution#init-data). The interpreter reads the other
/// entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InitFacts {
    /// The version of the language, or `None` if the entry is missing or is not a number.
    version: Option<u32>,
    pub(crate) is_library: bool,
    /// The external libraries.
    libraries: Vec<Listed>,
}

/// A library in `_extlibs`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listed {
    name: String,
    address: Address,
}

impl Listed {
    fn of(first: &serde_json::Value, second: &serde_json::Value, rules: Rules) -> Option<Self> {
        let address = match rules.library_names() {
            LibraryNames::Imports => [first, second].into_iter().find_map(address)?,
            LibraryNames::Files => address(second)?,
        };
        Some(Self { name: first.as_str().unwrap_or_default().to_owned(), address })
    }

    /// Returns the name under which the interpreter imports the library, or `None` if no import can name this library.
    fn target(&self, rules: Rules) -> Option<String> {
        match rules.library_names() {
            LibraryNames::Imports => Some(format!("0x{}", self.address)),
            LibraryNames::Files => {
                let file: String = self.name.chars().filter(|char| char.is_alphanumeric() || *char == '.').collect();
                file.strip_suffix(".scillib").map(str::to_owned)
            }
        }
    }
}

impl InitFacts {
    /// Reads init data. Returns `None` if they are invalid for a contract or library under the rules of the chain.
    pub(crate) fn of(init: &InitData, rules: Rules) -> Option<Self> {
        let params = init.params();
        let of = |name: &'static str| params.iter().filter(move |param| param.name == name);
        // The node ignores an entry with another type. The interpreter reports such an entry.
        let mut versions = of("_scilla_version").filter(|param| param.type_name == "Uint32");
        let mut lists = of("_extlibs");
        let (version, list) = (versions.next(), lists.next());
        if library_flags(&params).nth(1).is_some() || lists.next().is_some() {
            return None;
        }
        let version = version.and_then(|version| version.value.as_str()?.parse().ok());
        if rules.node_compares_version() && (version.is_none() || versions.next().is_some()) {
            return None;
        }
        let mut libraries = Vec::new();
        if let Some(list) = list {
            for element in list.value.as_array()? {
                let Some([first, second]) = element.get("arguments").and_then(|it| it.as_array()).map(Vec::as_slice)
                else {
                    continue;
                };
                libraries.push(Listed::of(first, second, rules)?);
            }
        }
        Some(Self { version, is_library: is_library(&params), libraries })
    }

    /// Reads the init data of a stored source. Returns `None` if they are invalid, as [`of`](Self::of) does.
    fn of_stored(source: &Source, rules: Rules) -> Option<Self> {
        Self::of(&InitData::parse(&source.init).ok()?, rules)
    }

    /// Returns whether the interpreter supports the version.
    pub(super) fn is_supported(&self) -> bool {
        self.version.is_some_and(|version| version.to_string() == VERSION)
    }
}

/// Returns the entries of init data that mark a library. The node ignores an entry with another type.
fn library_flags(params: &[ContractParam]) -> impl Iterator<Item = &ContractParam> {
    params.iter().filter(|param| param.name == "_library" && param.type_name == "Bool")
}

fn is_library(params: &[ContractParam]) -> bool {
    let constructor = library_flags(params).next().and_then(|flag| flag.value.get("constructor"));
    constructor.and_then(serde_json::Value::as_str) == Some("True")
}

/// Returns whether the init data of a deployed contract or library are those of a library. The rules do not matter,
/// because the deployment had at most one entry for this.
pub(crate) fn declares_library(init_data: &str) -> bool {
    InitData::parse(init_data).is_ok_and(|init| is_library(&init.params()))
}

fn address(value: &serde_json::Value) -> Option<Address> {
    let text = value.as_str().filter(|text| text.len() == 42)?;
    text.strip_prefix("0x")?.parse().ok()
}

/// The external libraries of a program. The node reads all of them before a run, because the interpreter has no access
/// to the state when it imports them.
#[derive(Clone, Debug)]
pub(super) struct Libraries {
    /// The libraries by the name in an import.
    found: BTreeMap<String, Arc<Module>>,
    /// The rules of the chain.
    pub(super) rules: Rules,
}

impl Libraries {
    /// Finds the libraries that `facts` name. Under the rules [`LibraryNames::Imports`], it also finds the libraries
    /// that the init data of these libraries name. `count` counts the bytes of each file, and an error of `count` ends
    /// the search.
    ///
    /// # Errors
    ///
    /// [`LoadError::Libraries`]: a library does not exist, the account is not a library, or the rules compare versions
    /// and the versions differ.
    pub(super) fn find<W: StateReader>(
        facts: &InitFacts,
        contract_cache: &ContractCache,
        overlay: &mut Overlay<W>,
        mut count: impl FnMut(u64) -> Result<(), Exhausted>,
    ) -> Result<Self, LoadError> {
        let rules = contract_cache.rules;
        let names = rules.library_names();
        let mut libraries = Self { found: BTreeMap::new(), rules };
        // Several names can have the same address, and a look-up can read and parse a library.
        let mut modules_by_address: BTreeMap<_, Option<Arc<Module>>> = BTreeMap::new();
        let mut pending: VecDeque<_> = facts.libraries.iter().cloned().collect();
        while let Some(listed) = pending.pop_front() {
            let target = listed.target(rules);
            if names == LibraryNames::Imports && target.as_ref().is_some_and(|it| libraries.found.contains_key(it)) {
                continue;
            }
            let is_of_version = |it: &InitFacts| !rules.node_compares_version() || it.version == facts.version;
            let found = match modules_by_address.entry(listed.address) {
                btree_map::Entry::Occupied(known) => known.get().clone(),
                btree_map::Entry::Vacant(new) => {
                    let found = new.insert(contract_cache.get(&listed.address, overlay)?).clone();
                    // The texts of a failed search count too, because the node has read them.
                    let bytes = found.as_ref().map_or(0, |module| module.bytes());
                    count(bytes.saturating_mul(weight::SOURCE_BYTE) / weight::LOADED_BYTE)?;
                    found
                }
            };
            let library = found.ok_or(LoadError::Libraries)?;
            let usable = library.facts.as_ref().filter(|facts| facts.is_library && is_of_version(facts));
            let imported = usable.ok_or(LoadError::Libraries)?;
            if names == LibraryNames::Imports {
                pending.extend(imported.libraries.iter().cloned());
            }
            // If two libraries have the same name, the later library replaces the earlier one.
            if let Some(target) = target {
                libraries.found.insert(target, library);
            }
        }
        count(libraries.bytes())?;
        Ok(libraries)
    }

    /// Returns the number of bytes in the texts of all libraries.
    pub(super) fn bytes(&self) -> u64 {
        self.found.values().map(|library| library.bytes()).fold(0, u64::saturating_add)
    }

    /// Returns the cache key of the program with hash `of` and these libraries, under the rules with the key `rules`.
    fn key(&self, of: CodeHash, rules: CodeKey) -> CodeKey {
        let key = |hash: CodeHash| CodeKey::new(hash.to_bytes());
        self.found.values().fold(key(of).with_library(rules), |so_far, library| so_far.with_library(key(library.hash)))
    }
}

impl LibrarySource for Libraries {
    fn find(&self, target: &str) -> Result<Option<FoundLibrary>, Failure> {
        // The interpreter searches the directory of the standard library first.
        if let Some(found) = Standard.find(target)? {
            return Ok(Some(found));
        }
        let Some(library) = self.found.get(target) else { return Ok(None) };
        let origin = match self.rules.library_names() {
            LibraryNames::Imports => origin(&library.source.init, self.rules).map_err(|error| match error {
                InputError::Rejected(failure) => failure,
                InputError::Internal(text) => Failure::of(Entry::nowhere(text)),
            })?,
            LibraryNames::Files => Origin { rules: self.rules, ..Origin::default() },
        };
        let text = Arc::clone(&library.source.code).into();
        Ok(Some(FoundLibrary { file: format!("{target}.scillib").into(), text, origin }))
    }
}

/// Reads the entries of init data that the interpreter needs before it reads the program.
pub(super) fn origin(init: &str, rules: Rules) -> Result<Origin, InputError> {
    read_origin(INIT_FILE, read_document(INIT_FILE, init.as_bytes())?.root(), rules)
}

/// Reads the parameters of a compiled program from its init data.
pub(super) fn parameters(init: &str, code: &Code) -> Result<Vec<Argument>, InputError> {
    let document = read_document(INIT_FILE, init.as_bytes())?;
    let entries = read_init(INIT_FILE, document.root(), code.data_types())?;
    Ok(entries.into_iter().map(Argument::from).collect())
}

/// A deployed contract or library.
#[derive(Debug)]
pub(super) struct Module {
    pub(super) is_library: bool,
    /// Hash of the program without init data. Other contracts can read this hash.
    pub(super) program_hash: [u8; 32],
    pub(super) hash: CodeHash,
    /// `None` if the init data are invalid under the rules of the contract cache. The deployment had other rules.
    pub(super) facts: Option<InitFacts>,
    pub(super) source: Source,
    /// The parameters of the deployment. They are empty until the first call.
    init: OnceLock<Vec<Argument>>,
}

/// A compiled contract with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct LoadedContract {
    pub(super) code: Arc<Code>,
    module: Arc<Module>,
    /// The number of bytes that a call counts when it loads the contract.
    bytes: u64,
}

impl LoadedContract {
    /// Returns the number of bytes that a call counts when it loads the contract.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the parameters of the deployment.
    pub(super) fn init(&self) -> &[Argument] {
        self.module.init.get().map(Vec::as_slice).unwrap_or_default()
    }
}

/// Reason why a contract cannot be called.
#[derive(Debug)]
pub(super) enum LoadError {
    /// A library of the contract is missing.
    Libraries,
    /// The contract cannot be compiled under the rules of the contract cache. Its deployment had other rules.
    Unusable,
    /// A work limit is reached.
    Exhausted,
    State(StateError),
}

impl From<Exhausted> for LoadError {
    fn from(Exhausted: Exhausted) -> Self {
        Self::Exhausted
    }
}

impl From<StateError> for LoadError {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}

impl Module {
    fn make_ready(&self, libraries: &Libraries) -> Result<Code, LoadError> {
        let origin = origin(&self.source.init, libraries.rules).map_err(|_| LoadError::Unusable)?;
        let parsed = parse_contract(CONTRACT_FILE, self.source.code.as_bytes()).map_err(|_| LoadError::Unusable)?;
        let program = resolve::contract(parsed, &origin, libraries).map_err(|_| LoadError::Unusable)?;
        Ok(Code::of_contract_unchecked(&program))
    }

    /// Returns the number of bytes in code and init data.
    pub(super) fn bytes(&self) -> u64 {
        u64::try_from(self.source.code.len().saturating_add(self.source.init.len())).unwrap_or(u64::MAX)
    }

    /// Returns an estimate of the memory of the module, in bytes.
    fn weight(&self) -> usize {
        let Source { code, init } = &self.source;
        code.len().saturating_add(init.len().saturating_mul(INIT_WEIGHT)).saturating_add(size_of::<Self>())
    }
}

/// Memory in bytes for each byte of init data, including the parsed parameters. This is an estimate: an element of a
/// list can have four bytes in init data, and about a hundred bytes as a value.
const INIT_WEIGHT: usize = 32;

/// The contract cache: recently used modules, by the hash of their texts and by their rules.
///
/// The cache changes only the time of an execution, and no result. A clone has the same content.
#[derive(Clone, Debug)]
pub(crate) struct ContractCache {
    /// The rules of compilation and of runs. Only the modules of these rules are visible.
    rules: Rules,
    /// Part of the key of each compiled program, so that programs of other rules have other keys.
    rules_key: CodeKey,
    codes: Arc<CodeCache>,
    shelf: Arc<Mutex<Shelf>>,
}

/// A module in the cache: the rules under which it was read, and the hash of its texts.
type ModuleKey = (Rules, CodeHash);

#[derive(Debug)]
struct Shelf {
    /// The modules with the number of their last use.
    contract_cache: BTreeMap<ModuleKey, (u64, Arc<Module>)>,
    /// The keys of the modules by the number of their last use.
    by_use: BTreeMap<u64, ModuleKey>,
    /// Number of the last use of any module.
    uses: u64,
    /// Total weight of the modules, in bytes.
    bytes: usize,
    /// Limit of the total weight, in bytes. Above this limit, modules are evicted.
    most: usize,
}

/// Maximum number of bytes of modules. Above this limit, the least recently used modules are evicted.
const MOST_BYTES: usize = 64 << 20;
/// Maximum number of bytes of compiled programs.
const MOST_CODE: u64 = 128 << 20;

impl ContractCache {
    /// Returns an empty contract cache for block production.
    pub(crate) fn new(rules: Rules) -> Self {
        Self::with_bounds(rules, MOST_BYTES, MOST_CODE)
    }

    /// Returns an empty contract cache for simulations, with a quarter of the limits of [`new`](Self::new). This cache
    /// is separate, so that simulations of other contracts neither evict the contracts of blocks nor delay a block.
    pub(crate) fn of_simulations(rules: Rules) -> Self {
        Self::with_bounds(rules, MOST_BYTES / 4, MOST_CODE / 4)
    }

    /// Returns the view of the cache for blocks with other rules. Both views share the memory and its limits.
    pub(crate) fn with_rules(&self, rules: Rules) -> Self {
        Self { rules, rules_key: rules_key(rules), ..self.clone() }
    }

    /// Returns the rules of compilation and of runs.
    pub(crate) const fn rules(&self) -> Rules {
        self.rules
    }

    /// Returns the number and the size of the compiled programs in the cache.
    pub(crate) fn usage(&self) -> CacheUsage {
        self.codes.usage()
    }

    fn with_bounds(rules: Rules, most: usize, most_code: u64) -> Self {
        let (codes, shelf) = (CodeCache::with_bound(most_code), Shelf::with_bound(most));
        Self { rules, rules_key: rules_key(rules), codes: Arc::new(codes), shelf: Arc::new(Mutex::new(shelf)) }
    }

    /// Returns a compiled contract with its parameters. Compiles the contract if it is not in the cache. `count` counts
    /// the bytes of the contract and of its libraries, whether they are in the cache or not. An error of `count` ends
    /// the call.
    pub(super) fn ready<W: StateReader>(
        &self,
        module: &Arc<Module>,
        overlay: &mut Overlay<W>,
        mut count: impl FnMut(u64) -> Result<(), Exhausted>,
    ) -> Result<LoadedContract, LoadError> {
        let mut counted: u64 = 0;
        let mut count = |bytes| {
            counted = counted.saturating_add(bytes);
            count(bytes)
        };
        count(module.bytes())?;
        let facts = module.facts.as_ref().ok_or(LoadError::Unusable)?;
        let libraries = Libraries::find(facts, self, overlay, &mut count)?;
        let code =
            self.codes.get_or_make(libraries.key(module.hash, self.rules_key), || module.make_ready(&libraries))?;
        if module.init.get().is_none() {
            let init = parameters(&module.source.init, &code).map_err(|_| LoadError::Unusable)?;
            // Another thread can set the parameters first. Its parameters are the same.
            module.init.set(init).ok();
        }
        // The standard libraries belong to no account, so the calls above do not count their bytes.
        count(code.imported_bytes().saturating_sub(libraries.bytes()))?;
        Ok(LoadedContract { code, module: Arc::clone(module), bytes: counted })
    }

    /// Returns the contract or library at an address, or `None` if the address has none.
    pub(super) fn get<W: StateReader>(
        &self,
        address: &Address,
        overlay: &mut Overlay<W>,
    ) -> Result<Option<Arc<Module>>, StateError> {
        let Some(contract) = overlay.account(address)?.and_then(|account| account.contract) else { return Ok(None) };
        let key = (self.rules, contract.code_hash);
        if let Some(module) = self.lock().get(&key) {
            return Ok(Some(module));
        }
        let damaged = |reason| StateError::Damaged { what: format!("contract {address}"), reason };
        let source = overlay.source(address)?.ok_or_else(|| damaged("the deployment is missing"))?;
        if source.hash() != contract.code_hash {
            return Err(damaged("code and init data do not have the hash in the account"));
        }
        let facts = InitFacts::of_stored(&source, self.rules);
        let module = Arc::new(Module {
            is_library: declares_library(&source.init),
            program_hash: sha256(&[source.code.as_bytes()]),
            hash: contract.code_hash,
            facts,
            source,
            init: OnceLock::new(),
        });
        self.lock().put(key, &module);
        Ok(Some(module))
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock()
    }
}

fn rules_key(rules: Rules) -> CodeKey {
    CodeKey::new(sha256(&[rules.to_string().as_bytes()]))
}

impl Shelf {
    const fn with_bound(most: usize) -> Self {
        Self { contract_cache: BTreeMap::new(), by_use: BTreeMap::new(), uses: 0, bytes: 0, most }
    }

    fn get(&mut self, key: &ModuleKey) -> Option<Arc<Module>> {
        let (used, module) = self.contract_cache.get_mut(key)?;
        self.by_use.remove(used);
        self.uses = self.uses.saturating_add(1);
        *used = self.uses;
        self.by_use.insert(self.uses, *key);
        Some(Arc::clone(module))
    }

    /// Adds a module, unless the cache has a module with this key.
    fn put(&mut self, key: ModuleKey, module: &Arc<Module>) {
        if self.get(&key).is_some() {
            return;
        }
        self.uses = self.uses.saturating_add(1);
        self.contract_cache.insert(key, (self.uses, Arc::clone(module)));
        self.by_use.insert(self.uses, key);
        self.bytes = self.bytes.saturating_add(module.weight());
        while self.bytes > self.most
            && let Some((_, oldest)) = self.by_use.pop_first()
            && let Some((_, removed)) = self.contract_cache.remove(&oldest)
        {
            self.bytes = self.bytes.saturating_sub(removed.weight());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(number: u8, init: usize) -> Arc<Module> {
        Arc::new(Module {
            is_library: false,
            program_hash: [number; 32],
            hash: CodeHash::new([number; 32]),
            facts: Some(InitFacts { version: Some(0), is_library: false, libraries: Vec::new() }),
            source: Source { code: "".into(), init: " ".repeat(init).into() },
            init: OnceLock::new(),
        })
    }

    #[test]
    fn shelf_evicts_the_least_recently_used_module() {
        let mut shelf = Shelf::with_bound(MOST_BYTES);
        let key = |module: &Module| (Rules::UNNAMED, module.hash);
        // The cache has room for three of these four modules.
        let contract_cache = [1, 2, 3, 4].map(|number| module(number, MOST_BYTES / INIT_WEIGHT * 3 / 10));
        for module in &contract_cache[..3] {
            shelf.put(key(module), module);
        }
        assert!(shelf.get(&key(&contract_cache[0])).is_some());
        shelf.put(key(&contract_cache[2]), &contract_cache[2]);
        shelf.put(key(&contract_cache[3]), &contract_cache[3]);
        let kept = contract_cache.each_ref().map(|module| shelf.get(&key(module)).is_some());
        assert_eq!(kept, [true, false, true, true]);
        assert_eq!(shelf.bytes, 3 * contract_cache[0].weight());
    }
}
