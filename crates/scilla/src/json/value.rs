//! Conversions between values and JSON.

use std::{collections::HashMap, sync::Arc};

use serde::{Serialize, Serializer, ser::Error};
use smallvec::SmallVec;

use super::{
    document::{Builder, Document, Elements, Json, Kind},
    types::{parse_constructor, parse_type},
    unchanged::is_unchanged,
};
use crate::{
    name::Name,
    types::{
        Primitive, Type,
        adt::{DataType, DataTypes},
        relation::equivalent,
        substitution::replace,
    },
    value::{BNum, Constructor, Hex, Integer, IntegerType, Key, Map, Value, is_text_byte},
};

/// Reason why a JSON value does not have its type.
///
/// Receipts contain these texts, so they are the texts of the reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// A constructor has the wrong number of arguments.
    #[error("Malformed ADT constructor: {constructor}: expected {expected} args, but provided {got}.")]
    Arity {
        /// Name of the constructor.
        constructor: String,
        /// Number of arguments that the constructor needs.
        expected: usize,
        /// Number of arguments in the JSON value.
        got: usize,
    },
    /// The name of a value has a dot.
    #[error("invalid name in json input: {0}")]
    DottedName(String),
    /// The constructor does not belong to the expected type.
    #[error("ADT type does not match constructor: {of} does not match constructor {constructor}")]
    ForeignConstructor {
        /// Name of the expected type.
        of: String,
        /// Name of the constructor.
        constructor: String,
    },
    /// An input for which the reference ends without a report.
    #[error("{0}")]
    Internal(String),
    /// The name of a constructor has more than one dot.
    #[error("Invalid name in json: {0}")]
    InvalidName(String),
    /// The text is not a type.
    #[error("Invalid type in json: {0}")]
    InvalidType(String),
    /// The text is not a value of the type.
    #[error("Invalid value in JSON: {text} of type {ty}")]
    InvalidValue {
        /// The invalid text.
        text: String,
        /// The expected type.
        ty: String,
    },
    /// The key of a map is not a string, or its type is neither primitive nor an address.
    #[error("Key in Map JSON is not a PrimType")]
    Key,
    /// A member is missing, or null.
    #[error("Member not found in json: {0}")]
    Missing(&'static str),
    /// An array stands for a type other than `List`.
    #[error("ADT value is a JSON array, but type is not List")]
    NotAList,
    /// A value of an algebraic data type is neither array nor object.
    #[error("JSON parsing: error parsing ADT: {0}")]
    NotAnAdt(String),
    /// A map is not an array.
    #[error("JSON parsing: error parsing Map")]
    NotAMap,
    /// The value is not a string.
    #[error("Expected string, got {0}")]
    NotAString(&'static str),
    /// The type arguments of the value differ from those of the type.
    #[error("Type mismatch in parsing ADT: {of}. Expected: [{expected}] vs Observed: [{observed}]")]
    TypeArguments {
        /// Name of the type.
        of: String,
        /// Type arguments that the type requires.
        expected: String,
        /// Type arguments that the value has.
        observed: String,
    },
    /// The constructor does not exist.
    #[error("No data type with this constructor found: {0}")]
    UnknownConstructor(String),
    /// The type does not exist.
    #[error("ADT not found: {0}")]
    UnknownDataType(String),
    /// Values of this type have no JSON form.
    #[error("Invalid type in JSON: {0}")]
    Unreadable(String),
}

/// Returns a member of an object.
///
/// # Errors
///
/// [`ValueError::Missing`] if the member is missing or null. The reference treats null as missing.
pub(super) fn member<'a>(json: Json<'a>, name: &'static str) -> Result<Json<'a>, ValueError> {
    json.member(name).ok_or(ValueError::Missing(name))
}

/// Returns the text of a JSON string, without quotes and escapes.
///
/// # Errors
///
/// [`ValueError::NotAString`] if the value is not a string.
pub(super) fn text(json: Json<'_>) -> Result<&str, ValueError> {
    json.as_str().ok_or_else(|| ValueError::NotAString(json.kind().word()))
}

/// Returns the text of a member that is a JSON string.
pub(super) fn text_member<'a>(json: Json<'a>, name: &'static str) -> Result<&'a str, ValueError> {
    text(member(json, name)?)
}

/// Reads values by their types.
///
/// In JSON, an empty list or map takes two bytes. But its value contains a type, and the size of a type is computed
/// from all its nodes. So the reader makes one empty value for each type, and identifies the type by its memory
/// address.
#[derive(Debug)]
pub struct ValueReader<'k> {
    known: &'k DataTypes,
    /// Whether the reader checks the width of byte strings.
    exact: bool,
    constructors: HashMap<Name, Arc<Constructor>>,
    /// Empty lists by the memory address of their types. An empty list keeps its types alive, so that the address stays
    /// unique.
    nils: HashMap<usize, Value>,
    maps: HashMap<(usize, usize), EmptyMap>,
}

/// An empty map, with its types. This struct keeps the types alive, so that their memory addresses stay unique.
#[derive(Debug)]
struct EmptyMap {
    map: Map,
    _types: [Arc<Type>; 2],
}

/// A container of which the reader has read a part.
enum Frame<'a> {
    Adt {
        constructor: Arc<Constructor>,
        types: Arc<[Type]>,
        kinds: std::vec::IntoIter<Type>,
        rest: Elements<'a>,
        arguments: SmallVec<[Value; 2]>,
    },
    List {
        nil: Value,
        types: Arc<[Type]>,
        of: Type,
        rest: Elements<'a>,
        elements: Vec<Value>,
    },
    Map {
        map: Map,
        rest: Elements<'a>,
        key: Option<Key>,
    },
}

enum Begun<'a> {
    Part(Frame<'a>),
    Whole(Value),
}

impl<'k> ValueReader<'k> {
    /// Returns a reader for values of the built-in types and of these algebraic data types.
    pub fn new(known: &'k DataTypes) -> Self {
        let constructors = Constructor::built_in().map(|it| (it.name.clone(), Arc::clone(it))).collect();
        Self { known, exact: false, constructors, nils: HashMap::new(), maps: HashMap::new() }
    }

    /// Returns a reader that also checks the width of byte strings. Use it for values without a later check.
    pub fn exact(known: &'k DataTypes) -> Self {
        Self { exact: true, ..Self::new(known) }
    }

    /// Reads a value of a type.
    ///
    /// A reader that is not [exact](Self::exact) does not check the width of byte strings. The caller must then check
    /// it.
    ///
    /// # Errors
    ///
    /// The first [`ValueError`] in the order of the JSON text.
    pub fn read(&mut self, json: Json<'_>, ty: &Type) -> Result<Value, ValueError> {
        let mut open: Vec<Frame<'_>> = Vec::new();
        let mut next = (json, ty.clone());
        loop {
            let mut whole = match self.begin(next.0, &next.1)? {
                Begun::Whole(value) => Some(value),
                Begun::Part(frame) => {
                    open.push(frame);
                    None
                }
            };
            next = loop {
                let Some(frame) = open.last_mut() else {
                    return whole.ok_or_else(|| ValueError::Internal("nothing was read".into()));
                };
                if let Some(value) = whole.take() {
                    frame.put(value);
                }
                if let Some(next) = frame.advance(self)? {
                    break next;
                }
                whole = open.pop().map(Frame::finish);
            };
        }
    }

    /// Converts the value of an entry of a sent message. The result equals the result of [`Self::read`] for the JSON of
    /// the value. The function makes JSON only for values that the conversion to JSON could change.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::read`], and [`ValueError::Missing`] for a value without a JSON form.
    pub(super) fn read_sent(&mut self, value: &Value, ty: &Type) -> Result<Value, ValueError> {
        if is_unchanged(value, ty) {
            return Ok(value.clone());
        }
        let document = value.to_json(ListForm::Array);
        if document.root().kind() == Kind::Null {
            return Err(ValueError::Missing("value"));
        }
        self.read(document.root(), ty)
    }

    fn begin<'a>(&mut self, json: Json<'a>, ty: &Type) -> Result<Begun<'a>, ValueError> {
        match ty {
            Type::Primitive(primitive) => self.primitive(json, *primitive, ty).map(Begun::Whole),
            Type::Address(_) => self.primitive(json, Primitive::ByStrX(20), ty).map(Begun::Whole),
            Type::Map(key, value) => {
                let map = self.empty_map(key, value);
                // The reference accepts null for an empty map. The null is an element or an argument, because a member
                // that is null counts as missing.
                if json.kind() == Kind::Null {
                    return Ok(Begun::Whole(Value::Map(map)));
                }
                let rest = json.elements().ok_or(ValueError::NotAMap)?;
                Ok(Begun::Part(Frame::Map { map, rest, key: None }))
            }
            Type::Adt(name, arguments) => {
                let unknown = || ValueError::UnknownDataType(name.name.global().to_string());
                let of = Arc::clone(self.known.get(&name.name).ok_or_else(unknown)?);
                self.begin_adt(json, &of, arguments).map(Begun::Part)
            }
            Type::Forall(..) | Type::Function(..) | Type::Unit | Type::Variable(_) => {
                Err(ValueError::Unreadable(ty.global().to_string()))
            }
        }
    }

    fn primitive(&self, json: Json<'_>, primitive: Primitive, ty: &Type) -> Result<Value, ValueError> {
        let value = read_primitive(json, primitive, ty)?;
        if let (true, Primitive::ByStrX(width), Value::ByStrX(bytes)) = (self.exact, primitive, &value)
            && u32::try_from(bytes.len()) != Ok(width)
        {
            let text = json.as_str().unwrap_or_default().to_owned();
            return Err(ValueError::InvalidValue { text, ty: ty.global().to_string() });
        }
        Ok(value)
    }

    fn begin_adt<'a>(
        &mut self,
        json: Json<'a>,
        of: &DataType,
        arguments: &Arc<[Type]>,
    ) -> Result<Frame<'a>, ValueError> {
        if let Some(rest) = json.elements() {
            if of.name != Constructor::cons().data_type {
                return Err(ValueError::NotAList);
            }
            let Some(element) = arguments.first() else {
                return Err(ValueError::Internal("the type List has no argument".into()));
            };
            let (of, nil) = (element.clone(), self.nil(arguments));
            return Ok(Frame::List { nil, types: Arc::clone(arguments), of, rest, elements: Vec::new() });
        }
        if json.members().is_none() {
            return Err(ValueError::NotAnAdt(of.name.as_written().to_string()));
        }
        let written = text_member(json, "constructor")?;
        let name = parse_constructor(written)?;
        let (made, definition) =
            self.known.constructor(&name).ok_or_else(|| ValueError::UnknownConstructor(written.into()))?;
        if made.name != of.name {
            let of = of.name.as_written().to_string();
            return Err(ValueError::ForeignConstructor { of, constructor: written.into() });
        }
        let observed =
            elements(json, "argtypes")?.map(|argument| parse_type(text(argument)?)).collect::<Result<Vec<_>, _>>()?;
        let same = observed.len() == arguments.len()
            && observed.iter().zip(arguments.iter()).all(|(one, other)| equivalent(one, other));
        if !same {
            let (of, expected, observed) = (of.name.as_written().to_string(), list(arguments), list(&observed));
            return Err(ValueError::TypeArguments { of, expected, observed });
        }
        let rest = elements(json, "arguments")?;
        let (expected, got) = (definition.arguments.len(), rest.clone().count());
        if expected != got {
            return Err(ValueError::Arity { constructor: written.into(), expected, got });
        }
        let with: Vec<_> = of.parameters.iter().zip(arguments.iter()).collect();
        let of_argument = |ty: &Type| {
            // A type without parameters needs no substitution. The tail of a list has the type of the list.
            if with.is_empty() {
                return ty.clone();
            }
            if let Type::Adt(name, _) = ty
                && name.name == of.name
            {
                return Type::Adt(name.clone(), Arc::clone(arguments));
            }
            replace(ty, &with)
        };
        let kinds: Vec<_> = definition.arguments.iter().map(of_argument).collect();
        Ok(Frame::Adt {
            constructor: self.constructor(&name, of),
            types: Arc::clone(arguments),
            kinds: kinds.into_iter(),
            rest,
            arguments: SmallVec::new(),
        })
    }

    /// Returns the empty list with these types.
    fn nil(&mut self, types: &Arc<[Type]>) -> Value {
        let place = Arc::as_ptr(types).addr();
        let nil = || Value::adt(Constructor::nil(), Arc::clone(types), []);
        self.nils.entry(place).or_insert_with(nil).clone()
    }

    /// Returns the empty map with these types.
    fn empty_map(&mut self, key: &Arc<Type>, value: &Arc<Type>) -> Map {
        let place = (Arc::as_ptr(key).addr(), Arc::as_ptr(value).addr());
        let empty = || EmptyMap {
            map: Map::new(Type::clone(key), Type::clone(value)),
            _types: [Arc::clone(key), Arc::clone(value)],
        };
        self.maps.entry(place).or_insert_with(empty).map.clone()
    }

    /// Returns the constructor of a data type with this name. Values with the same constructor share its data.
    fn constructor(&mut self, name: &Name, of: &DataType) -> Arc<Constructor> {
        let make = || {
            let (index, definition) = of.constructor(name).map_or((0, None), |(index, it)| (index, Some(it)));
            let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
            Arc::new(Constructor {
                name: definition.map_or_else(|| name.clone(), |definition| definition.name.clone()),
                data_type: of.name.clone(),
                index: count(index),
                arity: count(definition.map_or(0, |definition| definition.arguments.len())),
                type_arity: count(of.parameters.len()),
            })
        };
        Arc::clone(self.constructors.entry(name.clone()).or_insert_with(make))
    }
}

impl<'a> Frame<'a> {
    fn put(&mut self, value: Value) {
        match self {
            Self::Adt { arguments, .. } => arguments.push(value),
            Self::List { elements, .. } => elements.push(value),
            Self::Map { map, key, .. } => {
                if let Some(key) = key.take() {
                    map.insert(key, value);
                }
            }
        }
    }

    /// Returns the next part to read, or `None` at the end.
    fn advance(&mut self, reader: &mut ValueReader<'_>) -> Result<Option<(Json<'a>, Type)>, ValueError> {
        match self {
            Self::Adt { kinds, rest, .. } => Ok(rest.next().zip(kinds.next())),
            Self::List { of, rest, .. } => Ok(rest.next().map(|json| (json, of.clone()))),
            Self::Map { map, rest, key } => {
                let Some(entry) = rest.next() else { return Ok(None) };
                let written = member(entry, "key")?;
                let value = member(entry, "val")?;
                if written.as_str().is_none() || !matches!(map.key_type(), Type::Primitive(_) | Type::Address(_)) {
                    return Err(ValueError::Key);
                }
                let Begun::Whole(read) = reader.begin(written, map.key_type())? else { return Err(ValueError::Key) };
                *key = Some(Key::new(read).map_err(|_| ValueError::Key)?);
                Ok(Some((value, map.value_type().clone())))
            }
        }
    }

    fn finish(self) -> Value {
        match self {
            Self::Adt { constructor, types, arguments, .. } => Value::adt(&constructor, types, arguments),
            Self::Map { map, .. } => Value::Map(map),
            Self::List { nil, types, elements, .. } => {
                let cons = |tail, head| Value::adt(Constructor::cons(), Arc::clone(&types), [head, tail]);
                elements.into_iter().rev().fold(nil, cons)
            }
        }
    }
}

fn elements<'a>(json: Json<'a>, name: &'static str) -> Result<Elements<'a>, ValueError> {
    let json = member(json, name)?;
    json.elements().ok_or_else(|| ValueError::Internal(format!("expected array, got {}", json.kind().word())))
}

fn list(types: &[Type]) -> String {
    let texts: Vec<_> = types.iter().map(|ty| ty.global().to_string()).collect();
    texts.join("; ")
}

fn read_primitive(json: Json<'_>, primitive: Primitive, ty: &Type) -> Result<Value, ValueError> {
    let text = text(json)?;
    let read = match primitive {
        Primitive::Int(width) => Integer::parse(IntegerType::Int(width), text).map(Value::Integer),
        Primitive::Uint(width) => Integer::parse(IntegerType::Uint(width), text).map(Value::Integer),
        Primitive::BNum => BNum::parse(text).map(Value::BNum),
        Primitive::String => text.bytes().all(is_text_byte).then(|| Value::of_text(text)),
        Primitive::ByStr => Some(Value::ByStr(bytes(text)?.into())),
        Primitive::ByStrX(_) => Some(Value::bystrx(bytes(text)?)),
        Primitive::Event | Primitive::Exception | Primitive::Message | Primitive::ReplicateContract => None,
    };
    read.ok_or_else(|| ValueError::InvalidValue { text: text.into(), ty: ty.global().to_string() })
}

/// Reads the bytes of a text: `0x`, and an even number of hexadecimal digits. For any other text, the reference ends
/// without a report.
fn bytes(text: &str) -> Result<Vec<u8>, ValueError> {
    let wrong = || ValueError::Internal(format!("no byte string: {text}"));
    let digits = text.strip_prefix("0x").ok_or_else(wrong)?.as_bytes();
    if digits.len() % 2 != 0 {
        return Err(wrong());
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
        _ => None,
    };
    digits.chunks(2).map(byte).collect::<Option<_>>().ok_or_else(wrong)
}

/// The JSON form of lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListForm {
    /// Lists are arrays.
    #[default]
    Array,
    /// Lists are nested constructors (option `-pplit false`).
    Constructors,
}

enum Pending<'v> {
    End,
    Entry,
    Key(&'static str),
    Value(&'v Value),
}

impl Builder {
    /// Adds a value. Functions and messages become `null`, as in the reference.
    pub fn value(&mut self, value: &Value, lists: ListForm) -> &mut Self {
        let mut pending = vec![Pending::Value(value)];
        while let Some(next) = pending.pop() {
            match next {
                Pending::End => {
                    self.end();
                }
                Pending::Entry => {
                    self.begin_object();
                }
                Pending::Key(name) => {
                    self.key(name);
                }
                Pending::Value(value) => {
                    let start = pending.len();
                    self.begin_value(value, lists, &mut pending);
                    // The new parts are in the order of the text. The stack returns the last part first.
                    if let Some(added) = pending.get_mut(start..) {
                        added.reverse();
                    }
                }
            }
        }
        self
    }

    /// Adds the beginning of a value, and queues its remaining parts.
    fn begin_value<'v>(&mut self, value: &'v Value, lists: ListForm, rest: &mut Vec<Pending<'v>>) {
        match value {
            Value::Integer(integer) => self.string(integer),
            Value::String(text) => self.string(text),
            Value::BNum(number) => self.string(number),
            Value::ByStr(bytes) | Value::ByStrX(bytes) => self.string(Hex(bytes)),
            Value::Closure(_) | Value::Message(_) | Value::TypeClosure(_) => self.null(),
            Value::Map(map) => {
                self.begin_array();
                for (key, value) in map {
                    rest.extend([Pending::Entry, Pending::Key("key"), Pending::Value(key.value())]);
                    rest.extend([Pending::Key("val"), Pending::Value(value), Pending::End]);
                }
                rest.push(Pending::End);
                self
            }
            Value::Adt(adt)
                if lists == ListForm::Array && adt.constructor().data_type == Constructor::cons().data_type =>
            {
                self.begin_array();
                rest.extend(value.elements().map(Pending::Value));
                rest.push(Pending::End);
                self
            }
            Value::Adt(adt) => {
                self.begin_object().member("constructor", adt.constructor().name.global());
                self.key("argtypes").begin_array();
                for ty in adt.types().iter() {
                    self.string(ty.global());
                }
                self.end().key("arguments").begin_array();
                rest.extend(adt.arguments().iter().map(Pending::Value));
                rest.extend([Pending::End, Pending::End]);
                self
            }
        };
    }
}

impl Value {
    /// Returns the JSON form of the value. `to_string` of the result is its text. `Serialize` has the same form with
    /// [`ListForm::Array`].
    ///
    /// ```
    /// use silica_scilla::{Value, json::ListForm};
    /// assert_eq!(Value::from(7_u32).to_json(ListForm::Array).to_string(), "\"7\"");
    /// ```
    pub fn to_json(&self, lists: ListForm) -> Document {
        let mut builder = Builder::new();
        builder.value(self, lists);
        builder.finish()
    }

    /// Returns the text inside the quotes, unescaped, if the JSON form of the value is a string. Otherwise, returns
    /// `None`.
    pub fn json_string(&self) -> Option<String> {
        match self {
            Self::BNum(number) => Some(number.to_string()),
            Self::ByStr(bytes) | Self::ByStrX(bytes) => Some(Hex(bytes).to_string()),
            Self::Integer(integer) => Some(integer.to_string()),
            Self::String(text) => Some(text.to_string()),
            Self::Adt(_) | Self::Closure(_) | Self::Map(_) | Self::Message(_) | Self::TypeClosure(_) => None,
        }
    }
}

impl Serialize for Value {
    /// Writes the JSON form. An error means that the value has more than 127 levels.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.to_json(ListForm::Array).to_string();
        serde_json::from_str::<serde_json::Value>(&text).map_err(S::Error::custom)?.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        json::parse,
        types::{Width, adt, substitution::count},
    };

    #[test]
    fn serde_has_the_json_form() {
        let value = Value::list(Type::from(Primitive::Uint(Width::W32)), [Value::from(7_u32), Value::from(8_u32)]);
        let no = serde_json::json!({ "constructor": "False", "argtypes": [], "arguments": [] });
        let expected = serde_json::json!({ "list": ["7", "8"], "truth": no });
        assert_eq!(serde_json::json!({ "list": value, "truth": Value::from(false) }), expected);
        assert!(serde_json::to_value(Value::nat(200)).is_err());
    }

    fn colours() -> DataTypes {
        let name = |base: &str| Name::simple(base).defined_in("0xab".into());
        let constructor = |base: &str, arguments| adt::Constructor { name: name(base), arguments };
        let mut known = DataTypes::built_in();
        let constructors = vec![constructor("Red", vec![]), constructor("Mix", vec![Type::nat(), Type::bool()])];
        known.add(DataType { name: name("Colour"), parameters: vec![], constructors }).unwrap();
        known
    }

    fn read(ty: &str, json: &str) -> Result<Value, ValueError> {
        let document = parse(json.as_bytes()).unwrap();
        ValueReader::new(&colours()).read(document.root(), &parse_type(ty).unwrap())
    }

    /// Checks the JSON of a value that was read from JSON.
    fn check(ty: &str, json: &str, expected: &str) {
        let value = read(ty, json).unwrap_or_else(|error| panic!("{ty} {json}: {error}"));
        let written = value.to_json(ListForm::Array);
        assert_eq!(written.root().compact().to_string(), expected, "{ty} {json}");
        assert_eq!(written.root().as_str(), value.json_string().as_deref(), "{ty} {json}");
    }

    fn check_same(ty: &str, json: &str) {
        check(ty, json, json);
    }

    fn check_error(ty: &str, json: &str, expected: &str) {
        assert_eq!(read(ty, json).map_err(|error| error.to_string()), Err(expected.into()), "{ty} {json}");
    }

    const TRUE: &str = r#"{"constructor":"True","argtypes":[],"arguments":[]}"#;

    #[test]
    fn primitive_values_are_texts() {
        check_same("Int32", r#""-5""#);
        check("Uint128", r#""007""#, r#""7""#);
        check_same("BNum", r#""007""#);
        check_same("String", r#""a\"b\\c/\n\t""#);
        check("ByStr20", r#""0xABcd""#, r#""0xabcd""#);
        check_same("ByStr", r#""0x""#);
        check_same("ByStr20 with end", r#""0x12""#);
    }

    #[test]
    fn data_types_are_objects_and_lists_arrays() {
        check_same("Bool", TRUE);
        check_same("List Uint32", r#"["1","2"]"#);
        check_same("List (List Uint32)", r#"[[],["2"]]"#);
        let cons = r#"{"constructor":"Cons","argtypes":["Uint32"],"arguments":["1",
            {"constructor":"Nil","argtypes":["Uint32"],"arguments":[]}]}"#;
        check("List Uint32", cons, r#"["1"]"#);
        check_same(
            "Option (Pair ByStr20 Uint128)",
            r#"{"constructor":"Some","argtypes":["Pair (ByStr20) (Uint128)"],"arguments":[{"constructor":"Pair","argtypes":["ByStr20","Uint128"],"arguments":["0x12","5"]}]}"#,
        );
        check_same(
            "0xab.Colour",
            &format!(
                r#"{{"constructor":"0xab.Mix","argtypes":[],"arguments":[{{"constructor":"Zero","argtypes":[],"arguments":[]}},{TRUE}]}}"#
            ),
        );
    }

    #[test]
    fn lists_can_be_written_by_their_constructors() {
        let value = read("List Uint32", r#"["1"]"#).unwrap();
        assert_eq!(
            value.to_json(ListForm::Constructors).root().compact().to_string(),
            r#"{"constructor":"Cons","argtypes":["Uint32"],"arguments":["1",{"constructor":"Nil","argtypes":["Uint32"],"arguments":[]}]}"#
        );
    }

    #[test]
    fn the_last_entry_of_a_key_wins() {
        check("Map Uint32 String", "[]", "[]");
        check(
            "Map Uint32 String",
            r#"[{"key":"1","val":"a"},{"val":"b","key":"2","more":1},{"key":"01","val":"c"}]"#,
            r#"[{"key":"1","val":"c"},{"key":"2","val":"b"}]"#,
        );
        check_same(
            "Map Uint32 (Map ByStr20 Bool)",
            &format!(r#"[{{"key":"1","val":[{{"key":"0x01","val":{TRUE}}}]}}]"#),
        );
    }

    #[test]
    fn null_is_an_empty_map_where_it_is_no_member() {
        let some =
            |map: &str| format!(r#"{{"constructor":"Some","argtypes":["Map (Uint32) (Bool)"],"arguments":[{map}]}}"#);
        check("Option (Map Uint32 Bool)", &some("null"), &some("[]"));
        check("List (Map Uint32 Bool)", "[null,[]]", "[[],[]]");
        let nested = r#"[{"key":"1","val":null}]"#;
        check_error("Map Uint32 (Map Uint32 Bool)", nested, "Member not found in json: val");
        check_error("List Uint32", "[null]", "Expected string, got null");
    }

    #[test]
    fn errors_of_values_have_the_words_of_the_reference() {
        check_error("Uint32", "5", "Expected string, got int");
        check_error("Uint32", "[]", "Expected string, got array");
        check_error("Uint128", r#""-1""#, "Invalid value in JSON: -1 of type Uint128");
        check_error("BNum", r#""-1""#, "Invalid value in JSON: -1 of type BNum");
        check_error("String", r#""a\u0016b""#, "Invalid value in JSON: a\u{16}b of type String");
        check_error("Message", r#""a""#, "Invalid value in JSON: a of type Message");
        check_error("Uint32 -> Uint32", "[]", "Invalid type in JSON: Uint32 -> Uint32");
        check_error("Map Uint32 Bool", "{}", "JSON parsing: error parsing Map");
        check_error("Map Uint32 Bool", r#"[{"key":"1"}]"#, "Member not found in json: val");
        check_error("Map Uint32 Bool", r#"[{"key":1,"val":[]}]"#, "Key in Map JSON is not a PrimType");
        check_error("Shape", "[]", "ADT not found: Shape");
        check_error("Bool", "[]", "ADT value is a JSON array, but type is not List");
        check_error("Bool", "true", "JSON parsing: error parsing ADT: Bool");
        check_error("Bool", "{}", "Member not found in json: constructor");
        check_error("Bool", r#"{"constructor":"True","argtypes":null}"#, "Member not found in json: argtypes");
        let object = |name: &str, types: &str, arguments: &str| {
            format!(r#"{{"constructor":"{name}","argtypes":[{types}],"arguments":[{arguments}]}}"#)
        };
        check_error("Bool", &object("Maybe", "", ""), "No data type with this constructor found: Maybe");
        check_error("Bool", &object("a.b.C", "", ""), "Invalid name in json: a.b.C");
        check_error(
            "Bool",
            &object("Nil", "", ""),
            "ADT type does not match constructor: Bool does not match constructor Nil",
        );
        check_error(
            "0xab.Colour",
            &object("True", "", ""),
            "ADT type does not match constructor: Colour does not match constructor True",
        );
        check_error(
            "Pair Int32 Int32",
            &object("Pair", r#""Int32","Int64""#, r#""1","2""#),
            "Type mismatch in parsing ADT: Pair. Expected: [Int32; Int32] vs Observed: [Int32; Int64]",
        );
        check_error(
            "List Int32",
            &object("Nil", r#""Int32""#, r#""1""#),
            "Malformed ADT constructor: Nil: expected 0 args, but provided 1.",
        );
    }

    #[test]
    fn failure_that_aborts_the_reference_is_internal() {
        for (ty, json) in [("ByStr20", r#""12""#), ("ByStr", r#""0x1""#), ("ByStr", r#""0xgg""#), ("List", "[]")] {
            assert!(matches!(read(ty, json), Err(ValueError::Internal(_))), "{ty} {json}");
        }
    }

    /// Reads a list with `parts` copies of the JSON text `part`. In `ty`, `Wide` is a type with 511 nodes. Returns the
    /// number of visited nodes of types.
    #[track_caller]
    fn nodes_of(ty: &str, part: &str, parts: usize) -> u64 {
        let wide = (0..8).fold("Uint32".to_owned(), |inner, _| format!("Pair ({inner}) ({inner})"));
        let mut known = DataTypes::built_in();
        let arguments = vec![parse_type(&format!("List ({wide})")).unwrap()];
        let constructors = vec![adt::Constructor { name: Name::simple("Hold"), arguments }];
        known.add(DataType { name: Name::simple("Holder"), parameters: vec![], constructors }).unwrap();
        let ty = parse_type(&ty.replace("Wide", &format!("({wide})"))).unwrap();
        let text = format!("[{}]", vec![part; parts].join(","));
        let document = parse(text.as_bytes()).unwrap();
        let before = count::nodes();
        ValueReader::new(&known).read(document.root(), &ty).unwrap();
        count::nodes() - before
    }

    #[test]
    fn types_are_gone_through_once_for_all_values() {
        let hold = r#"{"constructor":"Hold","argtypes":[],"arguments":[[]]}"#;
        for (ty, part) in [
            ("List (List Wide)", "[]"),
            ("List (List (List Wide))", "[[],[]]"),
            ("List (Map Uint32 Wide)", "[]"),
            ("List (Map Uint32 Wide)", "null"),
            ("Map Uint32 (List Wide)", r#"{"key":"1","val":[]}"#),
            ("Map Uint32 (Map Uint32 Wide)", r#"{"key":"1","val":[]}"#),
            ("List Holder", hold),
        ] {
            let (few, many) = (nodes_of(ty, part, 2), nodes_of(ty, part, 200));
            assert_eq!(few, many, "{ty} {part}");
            assert!(few >= 500, "{ty} {part}: {few}");
        }
    }

    #[test]
    fn tails_have_the_types_of_their_lists() {
        let cons = |tail: &str| format!(r#"{{"constructor":"Cons","argtypes":["Uint32"],"arguments":["1",{tail}]}}"#);
        let nodes = |length: usize| {
            let text = (0..length).fold("[]".to_owned(), |tail, _| cons(&tail));
            let document = parse(text.as_bytes()).unwrap();
            let before = count::nodes();
            ValueReader::new(&DataTypes::built_in())
                .read(document.root(), &parse_type("List Uint32").unwrap())
                .unwrap();
            count::nodes() - before
        };
        // Each further part costs one visited node: the type that replaces the parameter.
        assert_eq!(nodes(100) - nodes(10), 90);
    }

    #[test]
    fn values_may_be_deep() {
        let depth = 100_000;
        let open = r#"{"constructor":"Succ","argtypes":[],"arguments":["#;
        let zero = r#"{"constructor":"Zero","argtypes":[],"arguments":[]}"#;
        let json = open.repeat(depth) + zero + &"]}".repeat(depth);
        check_same("Nat", &json);
        let list = read("List Uint32", &format!("[{}\"1\"]", "\"1\",".repeat(depth))).unwrap();
        assert_eq!(list.elements().count(), depth + 1);
        assert!(list.to_json(ListForm::Constructors).root().compact().to_string().len() > depth * 50);
    }
}
