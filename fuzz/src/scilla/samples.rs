//! Generated values for the parameters of any contract.

use serde_json::{Value as Json, json};
use silica_scilla::types::{Primitive, Type};

/// Address of the contract that runs.
pub const CONTRACT: &str = "0xabfeccdc9012345678901234567890f777567890";
/// Address of the sender of messages.
pub const SENDER: &str = "0x1234567890123456789012345678901234567890";
/// Address of another contract.
pub const OTHER: &str = "0x00000000000000000000000000000000000000aa";

/// A generator of values. The same seed gives the same values.
pub struct Samples(u64);

impl Samples {
    pub fn from_bytes(seed: &[u8]) -> Self {
        // The seed is the FNV-1a hash of the bytes.
        Self(
            seed.iter()
                .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)),
        )
    }

    /// Returns a number below `below`.
    pub fn choose(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    fn one_of(&mut self, texts: &[&str]) -> Json {
        texts[self.choose(texts.len())].into()
    }

    /// Returns an entry of an init file or message, or `None` if the type has no value in JSON.
    pub fn entry(&mut self, name: &str, ty: &Type) -> Option<Json> {
        let value = self.value(ty, 3)?;
        Some(json!({"vname": name, "type": plain(ty)?.global().to_string(), "value": value}))
    }

    fn value(&mut self, ty: &Type, depth: usize) -> Option<Json> {
        Some(match ty {
            Type::Address(_) | Type::Primitive(Primitive::ByStrX(20)) => self.one_of(&[SENDER, OTHER, CONTRACT]),
            Type::Primitive(primitive) => self.primitive(*primitive)?,
            Type::Map(key, of) => {
                let mut entries = Vec::new();
                for _ in 0..self.choose(3) {
                    entries.push(json!({"key": self.value(key, 0)?, "val": self.value(of, depth.checked_sub(1)?)?}));
                }
                entries.into()
            }
            Type::Adt(name, of) => self.data(name.name.base(), of, depth)?,
            Type::Forall(..) | Type::Function(..) | Type::Unit | Type::Variable(_) => return None,
        })
    }

    fn primitive(&mut self, primitive: Primitive) -> Option<Json> {
        Some(match primitive {
            Primitive::Uint(_) => self.one_of(&["0", "1", "2", "7", "4294967295"]),
            Primitive::Int(_) => self.one_of(&["0", "1", "-2", "-2147483648", "2147483647"]),
            Primitive::BNum => self.one_of(&["0", "99", "100", "101"]),
            Primitive::String => self.one_of(&["", "a", "zil", "hello world"]),
            Primitive::ByStr => self.one_of(&["0x", "0x00", "0xab12"]),
            Primitive::ByStrX(width) => format!("0x{}", "5a".repeat(width.min(200) as usize)).into(),
            Primitive::Event | Primitive::Exception | Primitive::Message | Primitive::ReplicateContract => return None,
        })
    }

    /// Returns a value of a built-in data type.
    fn data(&mut self, name: &str, of: &[Type], depth: usize) -> Option<Json> {
        let depth = depth.checked_sub(1)?;
        let constructor = match name {
            "Bool" => ["True", "False"][self.choose(2)],
            "Nat" => ["Zero", "Succ"][self.choose(if depth == 0 { 1 } else { 2 })],
            "Option" => ["None", "Some"][self.choose(2)],
            "Pair" => "Pair",
            "List" => {
                let elements: Option<Vec<Json>> = (0..self.choose(4)).map(|_| self.value(of.first()?, depth)).collect();
                return elements.map(Json::from);
            }
            _ => return None,
        };
        let arguments: Vec<Json> = match constructor {
            "Succ" => vec![self.data("Nat", &[], depth)?],
            "Some" | "Pair" => of.iter().map(|ty| self.value(ty, depth)).collect::<Option<_>>()?,
            _ => vec![],
        };
        let types: Vec<String> =
            of.iter().map(|ty| plain(ty).map(|ty| ty.global().to_string())).collect::<Option<_>>()?;
        Some(json!({"constructor": constructor, "argtypes": types, "arguments": arguments}))
    }
}

/// Returns a type in the form of a file, where an address type is `ByStr20`. Returns `None` if the type contains a
/// function.
fn plain(ty: &Type) -> Option<Type> {
    Some(match ty {
        Type::Address(_) => Type::bystr(20),
        Type::Primitive(_) => ty.clone(),
        Type::Map(key, value) => Type::map(plain(key)?, plain(value)?),
        Type::Adt(name, of) => Type::Adt(name.clone(), of.iter().map(plain).collect::<Option<_>>()?),
        Type::Forall(..) | Type::Function(..) | Type::Unit | Type::Variable(_) => return None,
    })
}
