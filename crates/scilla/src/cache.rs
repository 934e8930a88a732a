//! A cache of programs that are ready to run.
//!
//! Parsing and compiling a program takes about a hundred times as long as a short call. The result depends only on the
//! program, and never changes. So threads share the cached programs. The cache has a limit in bytes. A cache hit or
//! miss affects only the time.
//!
//! ```
//! use std::sync::Arc;
//!
//! use silica_scilla::{
//!     cache::{CodeCache, CodeKey},
//!     check::{self, Options},
//!     code::Code,
//!     resolve::{self, Origin},
//!     syntax::parse_contract,
//! };
//! # use silica_scilla::{report::Failure, resolve::{FoundLibrary, LibrarySource}};
//! # struct Nowhere;
//! # impl LibrarySource for Nowhere {
//! #     fn find(&self, _: &str) -> Result<Option<FoundLibrary>, Failure> { Ok(None) }
//! # }
//! # let code_hash = [7; 32];
//! # let text = b"scilla_version 0 contract Empty ()";
//!
//! let cache = CodeCache::with_bound(64 << 20);
//! let make = || -> Result<Code, Box<dyn std::error::Error>> {
//!     let module = parse_contract("contract.scilla", text)?;
//!     let program = resolve::contract(module, &Origin::default(), &Nowhere)?;
//!     Ok(Code::of_contract(&check::contract(&program, &Options::with_limit(1_000))?))
//! };
//! let code = cache.get_or_make(CodeKey::new(code_hash), make)?;
//! assert!(cache.get(CodeKey::new(code_hash)).is_some_and(|kept| Arc::ptr_eq(&kept, &code)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use sha2::{Digest as _, Sha256};

use crate::code::Code;

/// The identity of a program: a digest of all data on which [`Code`] depends.
///
/// The digest covers the text of the program, its `_extlibs` and its address. The names of the program's types contain
/// this address. The digest also covers the text, `_extlibs` and address of each library that the program imports,
/// directly or through other libraries. The code hash of a contract account (SHA-256 of code and stored init data)
/// covers all of these except the libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CodeKey([u8; 32]);

impl CodeKey {
    /// Returns the key of a program without libraries of users, from a digest of its text and its init parameters.
    pub const fn new(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// Returns the key of a program that also imports this library. Add libraries in the order of their imports,
    /// which the text and `_extlibs` determine. Omit built-in libraries.
    #[must_use]
    pub fn with_library(self, library: Self) -> Self {
        Self(Sha256::new().chain_update(b"import").chain_update(self.0).chain_update(library.0).finalize().into())
    }
}

/// A cache of programs with a limit in bytes. It evicts the least recently used programs first.
///
/// Several threads may share the cache. A thread never waits while another thread compiles a program. If two threads
/// compile the same program, both get the program that was added first.
#[derive(Debug)]
pub struct CodeCache {
    kept: Mutex<Kept>,
    bound: u64,
}

/// The number and the size of the programs in a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUsage {
    /// Number of cached programs.
    pub programs: usize,
    /// Size of the cached programs in bytes. It is an estimate: see [`Code::weight`].
    pub bytes: u64,
}

#[derive(Debug, Default)]
struct Kept {
    programs: HashMap<CodeKey, Program>,
    /// The programs, ordered by the number of their latest use.
    by_use: BTreeMap<u64, CodeKey>,
    /// Number of uses of the cache so far. The latest use has this number.
    now: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Program {
    code: Arc<Code>,
    weight: u64,
    used: u64,
}

impl CodeCache {
    /// Returns a cache with a limit of `bytes` for all programs together. A program above the limit is not added.
    pub fn with_bound(bytes: u64) -> Self {
        Self { kept: Mutex::default(), bound: bytes }
    }

    /// Returns a program, or `None` if the cache does not have it.
    pub fn get(&self, key: CodeKey) -> Option<Arc<Code>> {
        self.lock().touch(key)
    }

    /// Returns a program from the cache. If the cache does not have the program, calls `make`, and adds the result. The
    /// cache is not locked while `make` runs.
    ///
    /// # Errors
    ///
    /// The error of `make`. In this case, the cache does not change.
    pub fn get_or_make<E>(&self, key: CodeKey, make: impl FnOnce() -> Result<Code, E>) -> Result<Arc<Code>, E> {
        match self.get(key) {
            Some(code) => Ok(code),
            None => Ok(self.keep(key, Arc::new(make()?))),
        }
    }

    /// Returns the number and the size of the cached programs.
    pub fn usage(&self) -> CacheUsage {
        let kept = self.lock();
        CacheUsage { programs: kept.programs.len(), bytes: kept.bytes }
    }

    /// Adds a program, unless the program is above the limit or the cache already has it. Returns the cached program,
    /// or `code` if the program is above the limit.
    fn keep(&self, key: CodeKey, code: Arc<Code>) -> Arc<Code> {
        let weight = code.weight();
        if weight > self.bound {
            return code;
        }
        // Evicted programs are dropped after the lock is released, because the drop of a large program takes long.
        let mut forgotten = Vec::new();
        let mut kept = self.lock();
        if let Some(earlier) = kept.touch(key) {
            return earlier;
        }
        kept.insert(key, &code, weight);
        while kept.bytes > self.bound {
            let Some(oldest) = kept.forget_oldest() else { break };
            forgotten.push(oldest);
        }
        drop(kept);
        code
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // A poisoned lock can be used: no code under the lock panics, and each change leaves the contents consistent.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Returns a program and records its use, or returns `None` if the cache does not have it.
    fn touch(&mut self, key: CodeKey) -> Option<Arc<Code>> {
        let program = self.programs.get_mut(&key)?;
        self.by_use.remove(&program.used);
        self.now += 1;
        program.used = self.now;
        self.by_use.insert(self.now, key);
        Some(Arc::clone(&program.code))
    }

    fn insert(&mut self, key: CodeKey, code: &Arc<Code>, weight: u64) {
        self.now += 1;
        self.by_use.insert(self.now, key);
        self.programs.insert(key, Program { code: Arc::clone(code), weight, used: self.now });
        self.bytes += weight;
    }

    fn forget_oldest(&mut self) -> Option<Arc<Code>> {
        let (_, key) = self.by_use.pop_first()?;
        let program = self.programs.remove(&key)?;
        self.bytes -= program.weight;
        Some(program.code)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::{Barrier, atomic::AtomicUsize, atomic::Ordering},
    };

    use super::*;
    use crate::{
        report::Failure,
        resolve::{self, FoundLibrary, LibrarySource, Origin},
        syntax::parse_contract,
    };

    struct Nowhere;

    impl LibrarySource for Nowhere {
        fn find(&self, _: &str) -> Result<Option<FoundLibrary>, Failure> {
            Ok(None)
        }
    }

    fn code() -> Code {
        let module = parse_contract("test.scilla", b"scilla_version 0 contract Test () field f : Bool = True").unwrap();
        Code::of_contract_unchecked(&resolve::contract(module, &Origin::default(), &Nowhere).unwrap())
    }

    const fn key(number: u8) -> CodeKey {
        CodeKey::new([number; 32])
    }

    fn make(cache: &CodeCache, number: u8) -> Arc<Code> {
        cache.get_or_make(key(number), || Ok::<_, Infallible>(code())).unwrap()
    }

    #[test]
    fn a_program_is_made_once() {
        let cache = CodeCache::with_bound(1 << 20);
        assert!(cache.get(key(1)).is_none());
        let first = make(&cache, 1);
        assert!(Arc::ptr_eq(&first, &make(&cache, 1)));
        assert!(!Arc::ptr_eq(&first, &make(&cache, 2)));
        assert_eq!(cache.usage(), CacheUsage { programs: 2, bytes: 2 * first.weight() });
    }

    #[test]
    fn cache_evicts_the_least_recently_used_program() {
        let cache = CodeCache::with_bound(code().weight() * 2);
        for number in [1, 2, 1, 3] {
            make(&cache, number);
        }
        let kept = [1, 2, 3].map(|number| cache.get(key(number)).is_some());
        assert_eq!(kept, [true, false, true]);
        assert_eq!(cache.usage().programs, 2);
    }

    #[test]
    fn a_program_larger_than_the_cache_is_not_kept() {
        let cache = CodeCache::with_bound(code().weight() - 1);
        make(&cache, 1);
        assert_eq!(cache.usage(), CacheUsage::default());
    }

    #[test]
    fn a_failure_is_returned_and_not_cached() {
        let cache = CodeCache::with_bound(1 << 20);
        assert_eq!(cache.get_or_make(key(1), || Err("wrong")).err(), Some("wrong"));
        assert!(cache.get(key(1)).is_none());
    }

    #[test]
    fn threads_that_make_the_same_program_share_one() {
        let (cache, both, made) = (CodeCache::with_bound(1 << 20), Barrier::new(2), AtomicUsize::new(0));
        let work = || {
            cache.get_or_make(key(1), || {
                // The barrier needs both threads inside `make`, so the test ends only if the cache is not locked there.
                both.wait();
                made.fetch_add(1, Ordering::Relaxed);
                Ok::<_, Infallible>(code())
            })
        };
        let codes = std::thread::scope(|scope| {
            let threads = [scope.spawn(work), scope.spawn(work)];
            threads.map(|thread| thread.join().unwrap().unwrap())
        });
        let [one, other] = codes;
        assert_eq!(made.into_inner(), 2);
        assert!(Arc::ptr_eq(&one, &other));
        assert_eq!(cache.usage().programs, 1);
    }

    #[test]
    fn libraries_are_part_of_the_key() {
        let with = |libraries: &[u8]| libraries.iter().fold(key(0), |all, number| all.with_library(key(*number)));
        let keys = [with(&[]), with(&[1]), with(&[2]), with(&[1, 2]), with(&[2, 1])];
        assert_eq!(keys.into_iter().collect::<std::collections::BTreeSet<_>>().len(), 5);
    }
}
