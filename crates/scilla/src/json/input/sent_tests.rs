//! Tests that a sent message has the same result as its JSON, for random messages. Some messages have values that JSON
//! changes or rejects.

use std::{fmt::Write as _, sync::Arc};

use silica_protocol::Address;

use super::{InputError, MessageInput, read_document};
use crate::{
    json::{document::Builder, unchanged::is_unchanged, value::ListForm},
    name::{Ident, Name},
    source::Span,
    types::{
        AddressType, Primitive, Type, Width,
        adt::{self, DataType, DataTypes},
    },
    value::{BNum, Constructor, Integer, IntegerType, Key, Map, Message, MessageEntry, Value},
};

const FILE: &str = "message.json";
/// Number of random messages.
const CASES: u64 = 6_000;

/// A generator of pseudo-random numbers (`SplitMix64`), with its state.
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

    fn text(&mut self) -> String {
        const CHARS: [char; 16] =
            ['a', 'Z', ' ', '~', '"', '\\', '/', '\n', '\t', '\u{8}', '\u{c}', '\r', '0', '\u{1}', '\u{7f}', 'é'];
        let ordinary = !self.once_in(6);
        let length = self.below(12);
        (0..length).map(|_| CHARS[self.below(if ordinary { 13 } else { 16 })]).collect()
    }

    fn primitive(&mut self) -> Primitive {
        let width = self.pick(&Width::ALL);
        let kinds = if self.once_in(20) { 8 } else { 6 };
        match self.below(kinds) {
            0 => Primitive::Int(width),
            1 => Primitive::Uint(width),
            2 => Primitive::String,
            3 => Primitive::BNum,
            4 => Primitive::ByStr,
            5 => Primitive::ByStrX(self.pick(&[0, 1, 20, 32])),
            6 => Primitive::Message,
            _ => Primitive::Event,
        }
    }

    fn ty(&mut self, depth: u32) -> Type {
        if depth == 0 || self.once_in(3) {
            return self.primitive().into();
        }
        let (one, other) = (self.ty(depth - 1), self.ty(depth - 1));
        let kinds = if self.once_in(8) { 16 } else { 9 };
        match self.below(kinds) {
            0 => Type::bool(),
            1 => Type::nat(),
            2 => Type::option(one),
            3 => Type::list(one),
            4 => Type::pair(one, other),
            5 => Type::map(self.primitive().into(), one),
            6 => named("Colour", &[]),
            7 | 8 => named("Box", &[one]),
            9 => named("Shape", &[]),
            10 => Type::Adt(Ident::nowhere("Shape"), Arc::new([])),
            11 => Type::Address([AddressType::Any, AddressType::Code, AddressType::Library][self.below(3)].clone()),
            12 => Type::function(one, other),
            13 => Type::Adt(Ident::nowhere("List"), Arc::new([])),
            14 => Type::map(one, other),
            _ => (0..self.pick(&[10, 200, 500])).fold(one, |inner, _| Type::option(inner)),
        }
    }

    /// Returns a random value. Most values have the type `ty`.
    fn value(&mut self, ty: &Type) -> Value {
        if self.once_in(60) {
            let other = self.ty(1);
            return self.value_of(&other);
        }
        self.value_of(ty)
    }

    fn value_of(&mut self, ty: &Type) -> Value {
        match ty {
            Type::Primitive(primitive) => self.of_primitive(*primitive),
            Type::Address(_) => Value::bystrx([7; 20]),
            Type::Map(key, of) => {
                let mut map = Map::new(Type::clone(key), Type::clone(of));
                for _ in 0..self.below(4) {
                    if let Ok(key) = Key::new(self.value(key)) {
                        map.insert(key, self.value(of));
                    }
                }
                Value::Map(map)
            }
            Type::Adt(name, types) => self.of_adt(name.name.base(), types),
            Type::Forall(..) | Type::Function(..) | Type::Unit | Type::Variable(_) => Value::from(1_u32),
        }
    }

    fn of_primitive(&mut self, primitive: Primitive) -> Value {
        let bytes = |dice: &mut Self, length| (0..length).map(|_| u8::try_from(dice.below(256)).unwrap()).collect();
        let integer = |ty, text: &str| Value::Integer(Integer::parse(ty, text).unwrap());
        match primitive {
            Primitive::Int(width) => integer(IntegerType::Int(width), self.pick(&["0", "-1", "2147483647", "-77"])),
            Primitive::Uint(width) => integer(IntegerType::Uint(width), self.pick(&["0", "1", "4294967295", "77"])),
            Primitive::String => Value::of_text(self.text()),
            Primitive::BNum => {
                Value::BNum(BNum::parse(self.pick(&["0", "007", "18446744073709551616", "12345"])).unwrap())
            }
            Primitive::ByStr => {
                let length = self.below(5);
                Value::ByStr(bytes(self, length))
            }
            Primitive::ByStrX(width) => {
                let width = if self.once_in(9) { self.below(40) } else { width as usize };
                let bytes: Arc<[u8]> = bytes(self, width);
                Value::bystrx(bytes)
            }
            Primitive::Event | Primitive::Exception | Primitive::Message | Primitive::ReplicateContract => {
                Value::Message(Arc::new(Message::new(Vec::new())))
            }
        }
    }

    fn of_adt(&mut self, base: &str, types: &Arc<[Type]>) -> Value {
        let make = |constructor: &Arc<Constructor>, arguments: Vec<Value>| {
            Value::adt(constructor, Arc::clone(types), arguments)
        };
        let missing = Type::bool();
        let of = |index: usize| types.get(index).unwrap_or(&missing);
        match base {
            "Bool" => Value::bool(self.once_in(2)),
            "Nat" => Value::nat(u32::try_from(self.below(5)).unwrap()),
            "Option" if self.once_in(2) => make(Constructor::none(), vec![]),
            "Option" => make(Constructor::some(), vec![self.value(of(0))]),
            "Pair" => make(Constructor::pair(), vec![self.value(of(0)), self.value(of(1))]),
            "List" => {
                let end = if self.once_in(50) { self.value(of(0)) } else { make(Constructor::nil(), vec![]) };
                let length = self.below(4);
                (0..length).fold(end, |tail, _| make(Constructor::cons(), vec![self.value(of(0)), tail]))
            }
            "Colour" if self.once_in(2) => make(&constructor("Colour", "Red", 0), vec![]),
            "Colour" => make(&constructor("Colour", "Mix", 1), vec![Value::nat(2), Value::bool(true)]),
            "Box" => make(&constructor("Box", "Hold", 0), vec![self.value(of(0))]),
            _ => make(&constructor("Shape", "Round", 0), vec![]),
        }
    }

    fn message(&mut self) -> Message {
        let entry = |label: &str, ty, value| MessageEntry { label: label.into(), ty, value };
        let mut entries = vec![
            entry("_tag", Primitive::String.into(), Value::of_text(self.text())),
            entry("_amount", Primitive::Uint(Width::W128).into(), Value::from(77_u128)),
            entry("_recipient", Type::bystr(20), Value::bystrx([9; 20])),
        ];
        for _ in 0..self.below(4) {
            let label = self.pick(&["a", "b", "c", "_sender", "_origin", "_codehash", "Ns.a"]);
            let ty = self.ty(3);
            let value = self.value(&ty);
            let place = self.below(entries.len() + 1);
            entries.insert(place, entry(label, ty, value));
        }
        Message::new(entries)
    }
}

/// Returns a type of a library. The sender's program spells the namespace of the type differently from the called
/// program.
fn named(base: &str, types: &[Type]) -> Type {
    let module = if base == "Shape" { "0xcd" } else { "0xab" };
    let name = Name::qualified("Theirs", base).defined_in(module.into());
    Type::Adt(Ident::new(name, Span::NOWHERE), types.into())
}

fn constructor(of: &str, base: &str, index: u32) -> Arc<Constructor> {
    let Type::Adt(data_type, _) = named(of, &[]) else { panic!("a type with a name") };
    let module = Arc::clone(data_type.name.module().unwrap());
    let arity = [("Mix", 2), ("Hold", 1)].iter().find(|(name, _)| *name == base).map_or(0, |(_, arity)| *arity);
    let name = Name::qualified("Theirs", base).defined_in(module);
    Arc::new(Constructor { name, data_type: data_type.name, index, arity, type_arity: u32::from(of == "Box") })
}

/// Returns the data types of the called program. These types have the names of the called program, and the type `Shape`
/// is missing.
fn known() -> DataTypes {
    let name = |base: &str| Name::simple(base).defined_in("0xab".into());
    let made = |base: &str, arguments| adt::Constructor { name: name(base), arguments };
    let mut known = DataTypes::built_in();
    let constructors = vec![made("Red", vec![]), made("Mix", vec![Type::nat(), Type::bool()])];
    known.add(DataType { name: name("Colour"), parameters: vec![], constructors }).unwrap();
    let constructors = vec![made("Hold", vec![Type::Variable("'A".into())])];
    known.add(DataType { name: name("Box"), parameters: vec!["'A".into()], constructors }).unwrap();
    known
}

/// Reads a message from its JSON.
fn by_text(message: &Message, known: &DataTypes) -> Result<MessageInput, InputError> {
    let labels = ["_tag", "_amount", "_recipient"];
    let mut builder = Builder::new();
    builder.begin_object().member("_sender", format_args!("0x{}", "01".repeat(20)));
    builder.member("_origin", format_args!("0x{}", "02".repeat(20)));
    for label in labels {
        builder.key(label).value(message.get(label).unwrap(), ListForm::Array);
    }
    builder.key("params").begin_array();
    for entry in message.entries().iter().filter(|entry| !labels.contains(&&*entry.label)) {
        builder.begin_object().member("vname", &entry.label).member("type", entry.ty.global());
        builder.key("value").value(&entry.value, ListForm::Array).end();
    }
    let text = builder.finish().root().compact().to_string();
    MessageInput::read(FILE, read_document(FILE, text.as_bytes())?.root(), known)
}

/// Returns all properties of a value that a program, a charge or a report can depend on.
fn facts(value: &Value) -> String {
    let mut facts = String::new();
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        let numbers = (value.size(), value.sort_cost(), value.parts(), value.type_parts(), value.depth());
        write!(facts, "{numbers:?} ").unwrap();
        match value {
            Value::Adt(adt) => {
                let Constructor { name, data_type, index, arity, type_arity } = &**adt.constructor();
                let (name, data_type) = (name.as_written(), data_type.as_written());
                write!(facts, "{name} {data_type} {index} {arity} {type_arity}").unwrap();
                facts.extend(adt.types().iter().map(|ty| format!(" {}", ty.as_written())));
                pending.extend(adt.arguments());
            }
            Value::Map(map) => {
                write!(facts, "{} {}", map.key_type().as_written(), map.value_type().as_written()).unwrap();
                pending.extend(map.iter().flat_map(|(key, value)| [key.value(), value]));
            }
            Value::BNum(_)
            | Value::ByStr(_)
            | Value::ByStrX(_)
            | Value::Closure(_)
            | Value::Integer(_)
            | Value::Message(_)
            | Value::String(_)
            | Value::TypeClosure(_) => facts += &value.literal().to_string(),
        }
        facts.push('\n');
    }
    facts
}

#[test]
fn sent_message_is_read_as_its_text() {
    let known = known();
    let (mut read, mut rejected, mut unchanged, mut changed) = (0, 0, 0, 0);
    for seed in 0..CASES {
        let message = Dice(seed).message();
        let sent = MessageInput::of_sent(FILE, &message, [[1; 20], [2; 20]].map(Address::new), &known);
        let expected = by_text(&message, &known);
        assert_eq!(sent, expected, "seed {seed}");
        let (Ok(sent), Ok(expected)) = (sent, expected) else {
            rejected += 1;
            continue;
        };
        read += 1;
        for (sent, expected) in sent.parameters.iter().zip(&expected.parameters) {
            assert_eq!(sent.ty.as_written().to_string(), expected.ty.as_written().to_string(), "seed {seed}");
            assert_eq!(facts(&sent.value), facts(&expected.value), "seed {seed}");
            let same = is_unchanged(&sent.value, &sent.ty);
            (unchanged, changed) = (unchanged + u32::from(same), changed + u32::from(!same));
        }
    }
    // The test covers accepted and rejected messages only if both results occur often.
    assert!(read >= 2_000 && rejected >= 500, "{read} read, {rejected} rejected");
    assert!(unchanged >= 1_000 && changed >= 200, "{unchanged} unchanged, {changed} by JSON");
}

#[test]
fn built_in_values_pass_without_json() {
    let uint = || Type::from(Primitive::Uint(Width::W32));
    let map = || {
        let mut map = Map::new(Primitive::String.into(), Type::list(uint()));
        map.insert(Key::new(Value::of_text("k")).unwrap(), Value::list(uint(), [1_u32, 2].map(Value::from)));
        Value::Map(map)
    };
    let of_map = || Type::map(Primitive::String.into(), Type::list(uint()));
    for (value, ty) in [
        (Value::from(1_u32), uint()),
        (Value::nat(3), Type::nat()),
        (map(), of_map()),
        (Value::pair((Type::bool(), Value::bool(true)), (of_map(), map())), Type::pair(Type::bool(), of_map())),
        (Value::some(Type::nat(), Value::nat(1)), Type::option(Type::nat())),
        (Value::none(uint()), Type::option(uint())),
    ] {
        assert!(is_unchanged(&value, &ty), "{value:?}");
    }
    for (value, ty) in [
        (Value::of_text("é"), Primitive::String.into()),
        (Value::from(1_u32), Type::from(Primitive::Uint(Width::W64))),
        (Value::none(uint()), Type::option(Type::nat())),
        (Value::bystrx([1; 20]), Type::Address(AddressType::Any)),
        (Value::adt(&constructor("Colour", "Red", 0), Arc::new([]), []), named("Colour", &[])),
    ] {
        assert!(!is_unchanged(&value, &ty), "{value:?}");
    }
}
