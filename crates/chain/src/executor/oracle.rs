//! A comparison of two forms of chained messages: values, which the node uses, and text, which the reference uses. Both
//! forms must give the same execution.

use std::{cell::Cell, collections::BTreeMap, fmt::Write as _};

use serde_json::{Value as Json, json};
use silica_protocol::{Account, Address, BlockNumber, ChainId, Gas, Nonce, Qa, ShardId, UnsignedTransaction};
use silica_scilla::work::PER_BLOCK;

use super::{Context, ContractCache, Executed, Outcome, Overlay, Recorded};
use crate::{
    config::Rules,
    executor,
    testing::{account, address, payment, unchecked},
};

const CASES: u64 = 3_000;
const SENDER: u8 = 1;

thread_local! {
    static SENDS_TEXT: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread passes chained messages as text.
pub(super) fn sends_text() -> bool {
    SENDS_TEXT.get()
}

/// A pseudorandom sequence of numbers (`SplitMix64`).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn length(&mut self) -> usize {
        if self.once_in(20) { self.below(200) } else { self.below(6) }
    }

    fn text(&mut self, chars: &[char], length: usize) -> String {
        (0..length).map(|_| self.pick(chars)).collect()
    }
}

/// A type of a parameter. Maps are missing, because no message can contain a map.
enum Kind {
    /// A type without parts, with its name and texts of its values.
    Plain(&'static str, &'static [&'static str]),
    Text,
    Bytes,
    /// Bytes of this width, and whether the parameter requires an address in use.
    Width(usize, bool),
    Nat,
    Bool,
    Option(Box<Self>),
    List(Box<Self>),
    Pair(Box<Self>, Box<Self>),
    /// A type of the library.
    Shape,
    /// A type of the contract, which does not exist in other contracts.
    Colour,
}

use Kind::{Bool, Bytes, Colour, List, Nat, Option as Maybe, Pair, Plain, Shape, Text, Width};

fn kinds() -> Vec<Kind> {
    let uint = || Plain("Uint32", &["0", "7", "4294967295"]);
    let (some, list) = (|ty| Maybe(Box::new(ty)), |ty| List(Box::new(ty)));
    let pair = |one, two| Pair(Box::new(one), Box::new(two));
    vec![
        uint(),
        Plain("Uint128", &["0", "340282366920938463463374607431768211455"]),
        Plain("Int256", &["-1", "0", "-57896044618658097711785492504343953926634992332820282019728792003956564819968"]),
        Plain("BNum", &["0", "007", "18446744073709551616"]),
        Text,
        Bytes,
        Width(20, false),
        Width(20, true),
        Width(33, false),
        Nat,
        Bool,
        Shape,
        Colour,
        some(Text),
        list(uint()),
        list(list(Text)),
        list(Shape),
        pair(Text, some(Nat)),
        list(some(Colour)),
        list(pair(Bool, Text)),
        some(pair(list(Bool), Bytes)),
    ]
}

impl Kind {
    /// Returns the type in the form of a program.
    fn source(&self) -> String {
        self.text(&|ty| {
            let text = if matches!(ty, Shape) {
                "Shape"
            } else if matches!(ty, Colour) {
                "Colour"
            } else {
                "ByStr20 with end"
            };
            text.to_owned()
        })
    }

    /// Returns the type in the form of a message.
    fn wire(&self, library: Address, contract: Address) -> String {
        self.text(&|ty| {
            if matches!(ty, Shape) {
                format!("0x{library}.Shape")
            } else if matches!(ty, Colour) {
                format!("0x{contract}.Colour")
            } else {
                "ByStr20".to_owned()
            }
        })
    }

    /// Returns the text of the type. `varying` returns the text of the types whose two forms differ.
    fn text(&self, varying: &dyn Fn(&Self) -> String) -> String {
        match self {
            Plain(name, _) => (*name).to_owned(),
            Text => "String".to_owned(),
            Bytes => "ByStr".to_owned(),
            Nat => "Nat".to_owned(),
            Bool => "Bool".to_owned(),
            Shape | Colour | Width(_, true) => varying(self),
            Width(width, false) => format!("ByStr{width}"),
            Maybe(of) => format!("Option ({})", of.text(varying)),
            List(of) => format!("List ({})", of.text(varying)),
            Pair(one, two) => format!("Pair ({}) ({})", one.text(varying), two.text(varying)),
        }
    }

    fn value(&self, dice: &mut Dice, library: Address, contract: Address) -> Json {
        let adt = |name: &str, types: &[&Self], arguments: Vec<Json>| {
            let types: Vec<_> = types.iter().map(|ty| ty.wire(library, contract)).collect();
            json!({"constructor": name, "argtypes": types, "arguments": arguments})
        };
        let mut of = |ty: &Self| ty.value(dice, library, contract);
        match self {
            Maybe(ty) => {
                let inner = of(ty);
                if dice.once_in(3) { adt("None", &[ty], vec![]) } else { adt("Some", &[ty], vec![inner]) }
            }
            Pair(one, two) => {
                let arguments = vec![of(one), of(two)];
                adt("Pair", &[one, two], arguments)
            }
            List(ty) => {
                let length = dice.length();
                (0..length).map(|_| ty.value(dice, library, contract)).collect()
            }
            Plain(_, values) => dice.pick(values).into(),
            Text => {
                let length = if dice.once_in(20) { dice.below(3_000) } else { dice.below(90) };
                dice.text(&['a', '"', '\\', '/', '\n', '\t', '\u{8}', '\u{c}', '\r', ' ', '~'], length).into()
            }
            Bytes => format!("0x{}", "3f".repeat(dice.length())).into(),
            Width(20, _) => format!("0x{}", dice.pick(&[address(SENDER), address(2), contract])).into(),
            Width(width, _) => format!("0x{}", "c5".repeat(*width)).into(),
            Nat => {
                let zero = adt("Zero", &[], vec![]);
                // Values nest at most 100 levels deep in a receipt.
                let depth = if dice.once_in(10) { 47 + dice.below(5) } else { dice.below(4) };
                (0..depth).fold(zero, |before, _| adt("Succ", &[], vec![before]))
            }
            Bool => adt(dice.pick(&["True", "False"]), &[], vec![]),
            Shape if dice.once_in(2) => adt(&format!("0x{library}.Round"), &[], vec!["9".into()]),
            Shape => adt(&format!("0x{library}.Square"), &[], vec!["x".into(), adt("Zero", &[], vec![])]),
            Colour => adt(&format!("0x{contract}.{}", dice.pick(&["Red", "Blue"])), &[], vec![]),
        }
    }
}

const LIBRARY: &str = "scilla_version 0\nlibrary Shapes\ntype Shape =\n| Round of Uint32\n| Square of String Nat\n";

/// Returns a contract that sends, forwards and stores values of each type, and emits them in events.
fn code(kinds: &[Kind]) -> String {
    let mut code = "scilla_version 0\nimport Shapes\nlibrary Values\ntype Colour =\n| Red\n| Blue\n\
                    let one = fun (m : Message) => let nil = Nil {Message} in Cons {Message} m nil\n\
                    contract Values ()\n"
        .to_owned();
    for (number, ty) in kinds.iter().enumerate() {
        let ty = ty.source();
        writeln!(code, "field last{number} : Option ({ty}) = None {{({ty})}}").unwrap();
    }
    for (number, ty) in kinds.iter().enumerate() {
        let (ty, next) = (ty.source(), (number + 1) % kinds.len());
        let mut send = |name: &str, tag: &str, entries: &str| {
            writeln!(
                code,
                "transition {name}{number} (to : ByStr20, v : {ty})\n accept;\n m = {{ _tag : \"{tag}\"; \
                 _recipient : to; _amount : _amount; {entries} }};\n list = one m;\n send list\nend",
            )
            .unwrap();
        };
        send("Send", &format!("Take{number}"), "v : v");
        send("Cross", &format!("Take{next}"), "v : v");
        send("Rename", &format!("Take{number}"), "w : v");
        send("Forge", &format!("Take{number}"), "v : v; _sender : to");
        send("Forward", &format!("Send{number}"), "to : to; v : v");
        writeln!(
            code,
            "transition Take{number} (v : {ty})\n accept;\n x = Some {{({ty})}} v;\n last{number} := x;\n \
             h = builtin sha256hash v;\n e = {{ _eventname : \"Taken{number}\"; v : v; h : h; from : _sender; \
             by : _origin; amount : _amount }};\n event e\nend\n\
             transition Show{number} (to : ByStr20, v : {ty})\n x <- last{number};\n \
             e = {{ _eventname : \"Shown{number}\"; x : x }};\n event e\nend"
        )
        .unwrap();
    }
    code
}

struct StateReader {
    overlay: Overlay<BTreeMap<Address, Account>>,
    contract_cache: ContractCache,
    nonce: u64,
    sends_text: bool,
}

impl StateReader {
    fn new(sends_text: bool) -> Self {
        let rich = account(1_000_000_000 * Qa::PER_ZIL, 0);
        let overlay = Overlay::new(BTreeMap::from([(address(SENDER), rich), (address(2), rich)]));
        Self { overlay, contract_cache: ContractCache::new("0.13/3".parse().unwrap()), nonce: 0, sends_text }
    }

    fn execute(&mut self, room: u64, transaction: UnsignedTransaction) -> Executed {
        let rules = Rules::V8_1;
        let context = Context {
            work_limit: room,
            loaded: &executor::NOTHING_LOADED,
            block: BlockNumber::new(7),
            chain_id: ChainId::new(222),
            contract_cache: &self.contract_cache,
            tracer: None,
            gas_limit: Gas::new(1_000_000),
            minimum_price: None,
            rules: &rules,
        };
        let transaction = UnsignedTransaction { nonce: Nonce::new(self.nonce + 1), ..transaction };
        SENDS_TEXT.set(self.sends_text);
        let executed = executor::execute(&unchecked(transaction, ShardId::new(1)), context, &mut self.overlay).unwrap();
        SENDS_TEXT.set(false);
        if matches!(executed.outcome, Outcome::Recorded(_)) {
            self.nonce += 1;
        }
        executed
    }

    fn deploy(&mut self, code: &str, params: &[Json]) -> Address {
        let version = json!({"vname": "_scilla_version", "type": "Uint32", "value": "0"});
        let init: Vec<_> = [version].iter().chain(params).cloned().collect();
        let created = Address::of_contract(&address(SENDER), Nonce::new(self.nonce));
        let (code, data) = (code.to_owned(), Json::Array(init).to_string());
        let gas_limit = Gas::new(900_000);
        let transaction = UnsignedTransaction { code, data, gas_limit, ..payment(SENDER, Address::ZERO) };
        let executed = self.execute(PER_BLOCK, transaction);
        assert!(
            matches!(&executed.outcome, Outcome::Recorded(Recorded { receipt, .. }) if receipt.success),
            "{executed:?}"
        );
        created
    }

    /// Deploys the library once and the contract twice.
    fn contracts(&mut self, kinds: &[Kind]) -> [Address; 3] {
        let yes = json!({"constructor": "True", "argtypes": [], "arguments": []});
        let library = self.deploy(LIBRARY, &[json!({"vname": "_library", "type": "Bool", "value": yes})]);
        let pair = json!({
            "constructor": "Pair", "argtypes": ["String", "ByStr20"], "arguments": ["Shapes", format!("0x{library}")]
        });
        let imports = json!({"vname": "_extlibs", "type": "List (Pair String ByStr20)", "value": [pair]});
        let code = code(kinds);
        [library, self.deploy(&code, std::slice::from_ref(&imports)), self.deploy(&code, &[imports])]
    }
}

#[test]
fn chained_values_execute_as_their_text() {
    let kinds = kinds();
    let (mut values, mut texts) = (StateReader::new(false), StateReader::new(true));
    let [library, one, other] = values.contracts(&kinds);
    assert_eq!(texts.contracts(&kinds), [library, one, other]);
    // Counts of the outcomes by their form, to check that each form occurs.
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..CASES {
        let dice = &mut Dice(seed);
        let number = dice.below(kinds.len());
        let name = dice.pick(&["Send", "Send", "Send", "Cross", "Rename", "Forge", "Forward", "Forward", "Show"]);
        let to = dice.pick(&[one, other, other, other, library, address(2)]);
        let ty = &kinds[number];
        let data = json!({"_tag": format!("{name}{number}"), "params": [
            {"vname": "to", "type": "ByStr20", "value": format!("0x{to}")},
            {"vname": "v", "type": ty.wire(library, one), "value": ty.value(dice, library, one)},
        ]});
        let gas = if dice.once_in(3) { 300 + dice.below(2_500) } else { 60_000 };
        let room = if dice.once_in(8) { 100_000 + dice.below(10_000_000) as u64 } else { PER_BLOCK };
        let (gas_limit, amount) = (Gas::new(gas as u64), Qa::new(seed.into()));
        let transaction = UnsignedTransaction { data: data.to_string(), gas_limit, amount, ..payment(SENDER, one) };
        let executed = values.execute(room, transaction.clone());
        let expected = texts.execute(room, transaction);
        assert_eq!((&executed.outcome, executed.work), (&expected.outcome, expected.work), "seed {seed}: {data}");
        assert!(executed.loaded.keys().eq(expected.loaded.keys()), "seed {seed}: {data}");
        let shape = match executed.outcome {
            Outcome::Recorded(Recorded { receipt, .. }) => {
                let accepted = receipt.transitions.iter().filter(|it| it.accepted == Some(true)).count();
                let messages: Vec<_> = receipt.exceptions.iter().map(|it| it.message.as_str()).collect();
                let words = messages.join(" ").split(' ').take(3).collect::<Vec<_>>().join(" ");
                format!("{} {accepted} {:?} {words}", receipt.success, receipt.errors)
            }
            Outcome::Dropped(reason) => format!("{reason:?}"),
            Outcome::Full => "full".to_owned(),
        };
        *seen.entry(shape).or_default() += 1;
    }
    println!("{seen:#?}");
    let count = |part: &str| seen.iter().filter(|(shape, _)| shape.contains(part)).map(|(_, count)| count).sum::<u32>();
    for (part, least) in [
        ("true 1", 500),
        ("true 2", 100),
        ("ADT not found", 20),
        ("No message entry", 50),
        ("Duplicate message entries", 20),
        ("Type unassignable", 50),
        ("Insufficient gas to", 5),
        ("full", 20),
    ] {
        assert!(count(part) >= least, "{part}: {}", count(part));
    }
}
