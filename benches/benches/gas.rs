//! Processor time per gas: a table of programs that take more processor time than their gas suggests.
//!
//! Each program is a call of a contract that is already compiled. The table has the gas of the call, the mean processor
//! time of several calls, and the quotient. Other work on the machine has an effect only through caches and the
//! frequency of the processor.

use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use silica_crypto::{KeyPair, SecretKey};
use silica_scilla::{
    check::{self, Options},
    code::Code,
    eval::{Argument, IncomingMessage, Settings},
    gas::Meter,
    host::MemoryHost,
    resolve::{self, Origin},
    stdlib::Standard,
    syntax::parse_contract,
    value::{BNum, Value},
};

/// Gas limit of each call.
const LIMIT: u64 = 100_000;

/// Minimum total time of the calls of a program.
const LEAST: Duration = Duration::from_millis(300);

/// Number of digits of the largest block number literal that fits into a contract.
const DIGITS: usize = 67_500;

/// A row of the table.
struct Program {
    name: &'static str,
    library: String,
    body: String,
}

impl Program {
    /// Returns a program with these statements in its transition.
    fn new(name: &'static str, library: impl Into<String>, body: impl Into<String>) -> Self {
        Self { name, library: library.into(), body: body.into() }
    }

    /// Returns a program that evaluates an expression in each of `steps` steps. The expression can use `first`, which
    /// is constant.
    fn folded(name: &'static str, steps: u32, first: &str, step: &str) -> Self {
        let body = format!(
            "first = {first};
             zero = Uint32 0;
             steps = Uint32 {steps};
             count = builtin to_nat steps;
             step = fun (sum : Uint32) => fun (left : Nat) => {step};
             fold = @nat_fold Uint32;
             last = fold step zero count"
        );
        Self::new(name, "", body)
    }
}

/// Returns a program that hashes a tree of pairs. The halves of each level are equal.
///
/// A run can visit 250,000 parts of values without gas. This number of parts is enough for a tree of 16 levels, or for
/// seven trees of 14 levels.
fn shared_tree(name: &'static str, hash: &str, levels: usize, times: usize) -> Program {
    let types = (1..=levels).map(|level| format!("type T{level} = | P{level} of T{0} T{0}\n", level - 1));
    let library = format!("type T0 = | P0\n{}", types.collect::<Vec<_>>().concat());
    let values = (1..=levels).map(|level| format!("t{level} = P{level} t{0} t{0};\n", level - 1));
    let hashes = (0..times).map(|index| format!("h{index} = builtin {hash} t{levels}")).collect::<Vec<_>>().join(";\n");
    Program::new(name, library, format!("t0 = P0;\n{}{hashes}", values.collect::<Vec<_>>().concat()))
}

fn programs() -> Vec<Program> {
    let text = format!("\"{}\"", "x".repeat(60_000));
    let number = format!("BNum {}", "9".repeat(DIGITS));
    let g1 = format!("0x{:064x} 0x{:064x}", 1, 2);
    let side = |imaginary: &str, real: &str| format!("0x{imaginary}{real}");
    let g2_x = side(
        "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2",
        "1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed",
    );
    let g2_y = side(
        "090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b",
        "12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa",
    );
    let (g1_x, g1_y) = g1.split_once(' ').unwrap_or_default();
    let pairs = format!(
        "let x1 = {g1_x} in let y1 = {g1_y} in let x2 = {g2_x} in let y2 = {g2_y} in
         let one = Pair {{ByStr32 ByStr32}} x1 y1 in let two = Pair {{ByStr64 ByStr64}} x2 y2 in
         let both = Pair {{(Pair ByStr32 ByStr32) (Pair ByStr64 ByStr64)}} one two in
         let none = Nil {{(Pair (Pair ByStr32 ByStr32) (Pair ByStr64 ByStr64))}} in
         Cons {{(Pair (Pair ByStr32 ByStr32) (Pair ByStr64 ByStr64))}} both none"
    );
    let signer = SecretKey::from_bytes([7; 32]).map(KeyPair::from).expect("the number is a key");
    let signed = signer.sign(b"pay 1 ZIL").expect("the key signs");
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let (key, signature, message) = (hex(signer.public_key().as_bytes()), hex(signed.as_bytes()), hex(b"pay 1 ZIL"));
    // Another library made this signature with the same key.
    let ecdsa = "4ab48fe13b1722e49931cda4380dc6ce589927603260e28c80e13807b6d88f64\
                 44d45c3c65167507e0f475d4af62908841dbefbf8d80d2400bb7155e96638f99";
    let bytes = format!("let x = 0x{message} in builtin to_bystr x");
    vec![
        shared_tree("keccak256hash of a tree of equal halves", "keccak256hash", 16, 1),
        shared_tree("keccak256hash of a smaller tree of equal halves, seven times", "keccak256hash", 14, 7),
        shared_tree("sha256hash of a tree of equal halves", "sha256hash", 16, 1),
        Program::folded(
            "alt_bn128_pairing_product of one pair, in a fold",
            100,
            &pairs,
            "let found = builtin alt_bn128_pairing_product first in sum",
        ),
        Program::folded(
            "badd of a block number of 67,500 digits, in a fold",
            1000,
            &number,
            "let one = Uint32 1 in let next = builtin badd first one in sum",
        ),
        Program::folded(
            "badd and sha256hash of a block number of 67,500 digits, in a fold",
            100,
            &number,
            "let one = Uint32 1 in let next = builtin badd first one in let hash = builtin sha256hash next in sum",
        ),
        Program::folded("keccak256hash of 60,000 bytes", 100, &text, "let hash = builtin keccak256hash first in sum"),
        Program::folded("ripemd160hash of 60,000 bytes", 100, &text, "let hash = builtin ripemd160hash first in sum"),
        Program::folded("sha256hash of 60,000 bytes", 100, &text, "let hash = builtin sha256hash first in sum"),
        Program::folded(
            "ecdsa_recover_pk",
            100,
            &bytes,
            &format!("let s = 0x{ecdsa} in let id = Uint32 1 in let key = builtin ecdsa_recover_pk first s id in sum"),
        ),
        Program::folded(
            "ecdsa_verify",
            100,
            &bytes,
            &format!("let s = 0x{ecdsa} in let key = 0x{key} in let right = builtin ecdsa_verify key first s in sum"),
        ),
        Program::folded(
            "schnorr_verify",
            100,
            &bytes,
            &format!(
                "let s = 0x{signature} in let key = 0x{key} in let right = builtin schnorr_verify key first s in sum"
            ),
        ),
        Program::folded("a fold that does nothing", 10_000, "Uint32 0", "sum"),
        Program::folded(
            "put into a map",
            10_000,
            "Emp Uint32 Uint32",
            "let one = Uint32 1 in let more = builtin put first sum sum in builtin add sum one",
        ),
    ]
}

fn argument((name, value): (&str, Value)) -> Argument {
    Argument { name: name.into(), value }
}

/// Returns the used gas of a call in interpreter units, eight of which are one gas, and its time.
fn measure(program: &Program) -> (u64, Duration) {
    let Program { name, library, body } = program;
    let text = format!("scilla_version 0\nlibrary L\n{library}\ncontract C ()\ntransition Go ()\n{body}\nend\n");
    let module = parse_contract("contract.scilla", text.as_bytes()).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    // On a chain, names of constructors have the address of the contract as prefix.
    let origin = Origin { address: Some("0x0505050505050505050505050505050505050505".into()), ..Origin::default() };
    let resolved = resolve::contract(module, &origin, &Standard).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    let checked =
        check::contract(&resolved, &Options::with_limit(LIMIT)).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    let code = Arc::new(Code::of_contract(&checked));
    let init = [
        ("_creation_block", Value::BNum(BNum::from_u64(1))),
        ("_scilla_version", Value::from(0_u32)),
        ("_this_address", Value::bystrx([5; 20])),
    ]
    .map(argument);
    let entries =
        [("_amount", Value::from(0_u128)), ("_origin", Value::bystrx([6; 20])), ("_sender", Value::bystrx([6; 20]))]
            .map(argument);
    let message = IncomingMessage { tag: "Go".into(), entries: entries.into() };
    let limit = Meter::with_limit(LIMIT);
    let call = || {
        let loaded = code.load(Settings::default(), limit).expect("the library is right");
        let outcome = loaded.call(&init, &message, 0, &mut MemoryHost::default());
        outcome.unwrap_or_else(|wrong| panic!("{name}: {}", wrong.failure)).gas.units()
    };
    let left = call();
    let clock = Clock::start();
    let mut calls = 0;
    while clock.elapsed() < LEAST {
        assert_eq!(call(), left, "{name}: gas is always the same");
        calls += 1;
    }
    (limit.units() - left, clock.elapsed() / calls)
}

/// The processor time of this thread, or the elapsed time if the system does not report processor time.
struct Clock {
    start: Instant,
    processor: Option<Duration>,
}

impl Clock {
    fn start() -> Self {
        Self { start: Instant::now(), processor: Self::processor() }
    }

    fn processor() -> Option<Duration> {
        let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    }

    fn elapsed(&self) -> Duration {
        match (self.processor, Self::processor()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.start.elapsed(),
        }
    }
}

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn main() {
    println!("| program | gas | time | µs per gas |\n|---|--:|--:|--:|");
    for program in programs() {
        let (units, time) = measure(&program);
        let hundredths = time.as_nanos() * 8 / (10 * u128::from(units));
        println!(
            "| {} | {} | {}.{:02} ms | {}.{:02} |",
            program.name,
            units / 8,
            time.as_millis(),
            time.as_micros() % 1000 / 10,
            hundredths / 100,
            hundredths % 100
        );
    }
}
