//! Options of methods that return a list: one object with the page and the filters.
//!
//! All these methods use the same names: a request has `cursor` and `limit`, and a result has `next`. The cursor of a
//! page is the `next` of the previous page. A member of the object can be null or absent.

use std::{borrow::Cow, cell::Cell, collections::BTreeSet, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeOwned, value::MapDeserializer},
};
use serde_json::{Map, Value};
use silica_chain::{HistoryOrder, HistoryPlace};
use silica_protocol::{
    Address,
    rpc::{
        cursor::{
            AddressCursor, BlockCursor, CursorError, EventCursor, KeyCursor, NumberCursor, PlaceCursor, TransferCursor,
        },
        number::integral,
    },
};

use super::{FromParam, beginning, fields};
use crate::rpc::CallError;

/// The parameter with the options of a list: an object, or null for the defaults. The fields of `O` are the members of
/// the object.
///
/// The parameter keeps a fault of a member. So the error of the method has code -8, as for other values of the right
/// JSON type.
#[derive(Clone, Debug)]
pub(crate) struct Options<O>(Result<O, String>);

impl<O> Options<O> {
    /// Returns the options. The error names the parameter `options` and the invalid member.
    pub(crate) fn get(self) -> Result<O, CallError> {
        self.0.map_err(|fault| CallError::parameter("options", &fault))
    }
}

impl<O: Default> Default for Options<O> {
    fn default() -> Self {
        Self(Ok(O::default()))
    }
}

impl<'de, O: DeserializeOwned + Default> Deserialize<'de> for Options<O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Option::<Map<String, Value>>::deserialize(deserializer)?;
        Ok(Self(object.map_or_else(|| Ok(O::default()), |object| read(&object))))
    }
}

impl<O: JsonSchema> JsonSchema for Options<O> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        O::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Option<O>>()
    }
}

/// Reads the members of an object. The error has the first unknown member, or the first invalid member.
fn read<O: DeserializeOwned>(object: &Map<String, Value>) -> Result<O, String> {
    let names = fields::<O>();
    if let Some(unknown) = object.keys().find(|name| !names.contains(&name.as_str())) {
        let (last, others) = names.split_last().unwrap_or((&"no members", &[]));
        let separator = if others.is_empty() { "" } else { " or " };
        return Err(format!("expected {}{separator}{last}, got {:?}", others.join(", "), beginning(unknown)));
    }
    let current = Cell::new(None);
    let members = object.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| {
        current.set(Some((name, value)));
        (name.as_str(), value)
    });
    O::deserialize(MapDeserializer::<_, serde_json::Error>::new(members)).map_err(|error| {
        let error = error.to_string();
        let expected = error.rsplit_once("expected ").map_or(error.as_str(), |(_, expected)| expected);
        match current.get() {
            Some((name, value)) => format!("{name}: expected {expected}, got {}", beginning(&value.to_string())),
            None => error,
        }
    })
}

/// Reads the value of a member. The error has the description of the valid values.
fn member<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    expected: fmt::Arguments<'_>,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    read(&value).ok_or_else(|| de::Error::custom(format_args!("expected {expected}")))
}

/// A member that is a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member<T>(pub(crate) T);

impl<'de, T: FromParam> Deserialize<'de> for Member<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (first, rest) = T::DESCRIPTION.split_at_checked(1).unwrap_or_default();
        let expected = format_args!("{}{}", first.to_ascii_lowercase(), rest.trim_end_matches('.'));
        member(deserializer, expected, |value| read_text(value).map(Self))
    }
}

/// Reads a value that is a text.
fn read_text<T: FromParam>(value: &Value) -> Option<T> {
    value.as_str().and_then(|text| T::from_param(text).ok())
}

impl<T: FromParam> JsonSchema for Member<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        super::Text::<T>::json_schema(generator)
    }
}

/// Number of elements of a page if the request has no limit.
const USUAL_LIMIT: u32 = 100;

/// Maximum number of elements of a page, from 1 to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit<const MAX: u32 = 1000>(u32);

impl<const MAX: u32> Limit<MAX> {
    /// Returns the number.
    pub(crate) fn get(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<const MAX: u32> Default for Limit<MAX> {
    fn default() -> Self {
        Self(USUAL_LIMIT.min(MAX))
    }
}

impl<'de, const MAX: u32> Deserialize<'de> for Limit<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        member(deserializer, format_args!("a number from 1 to {MAX}"), |number| {
            let limit = integral(&number.to_string()).and_then(|limit| u32::try_from(limit).ok());
            limit.filter(|limit| number.is_number() && (1..=MAX).contains(limit)).map(Self)
        })
    }
}

impl<const MAX: u32> JsonSchema for Limit<MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Limit{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "null"], "minimum": 1, "maximum": MAX, "default": USUAL_LIMIT.min(MAX) })
    }
}

/// A number from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        member(deserializer, format_args!("a number from 0"), |number| number.as_u64().map(Self))
    }
}

impl JsonSchema for Number {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "NumberFrom0".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0 })
    }
}

/// A Boolean value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Switch(pub(crate) bool);

impl<'de> Deserialize<'de> for Switch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        member(deserializer, format_args!("true or false"), |value| value.as_bool().map(Self))
    }
}

/// Maximum number of addresses in a member.
const MOST_ADDRESSES: usize = 10_000;

/// Addresses, at least one and at most [`MOST_ADDRESSES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Addresses(pub(crate) BTreeSet<Address>);

impl<'de> Deserialize<'de> for Addresses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        member(deserializer, format_args!("an array of 1 to {MOST_ADDRESSES} addresses"), |list| {
            let list = list.as_array().filter(|list| (1..=MOST_ADDRESSES).contains(&list.len()))?;
            list.iter().map(read_text).collect::<Option<_>>().map(Self)
        })
    }
}

impl JsonSchema for Addresses {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Addresses".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let address = generator.subschema_for::<super::Text<Address>>();
        json_schema!({ "type": "array", "items": address, "minItems": 1, "maxItems": MOST_ADDRESSES })
    }
}

/// The order of a list by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "lowercase", inline)]
pub(crate) enum Order {
    /// The newest elements first.
    #[default]
    Newest,
    /// The oldest elements first.
    Oldest,
}

impl From<Order> for HistoryOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Newest => Self::NewestFirst,
            Order::Oldest => Self::OldestFirst,
        }
    }
}

impl<'de> Deserialize<'de> for Order {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        member(deserializer, format_args!("newest or oldest"), |order| match order.as_str() {
            Some("newest") => Some(Self::Newest),
            Some("oldest") => Some(Self::Oldest),
            Some(_) | None => None,
        })
    }
}

/// Description of the valid texts of a cursor.
const CURSOR: &str = "The value of next in the previous page.";

/// Declares cursors as members: the type, the name of the schema, and an example.
macro_rules! cursors {
    ($($cursor:ident, $name:literal, $example:literal;)*) => {
        $(impl FromParam for $cursor {
            type Fault = CursorError;
            const NAME: &'static str = $name;
            const DESCRIPTION: &'static str = CURSOR;
            const EXAMPLE: &'static str = $example;

            fn from_param(text: &str) -> Result<Self, CursorError> {
                text.parse()
            }
        })*
    };
}

cursors! {
    PlaceCursor, "PlaceCursor", "113:0";
    EventCursor, "EventCursor", "113:0:1";
    TransferCursor, "TransferCursor", "113-0-1";
    BlockCursor, "BlockCursor", "112";
    NumberCursor, "ArrivalCursor", "7";
    KeyCursor, "KeyCursor", "62616c616e6365731622307831221600";
    AddressCursor, "AddressCursor", "381f4008505e940ad7681ec3468a719060caf796";
}

/// Returns the place of a cursor.
pub(crate) const fn place_of(PlaceCursor { block, position }: PlaceCursor) -> HistoryPlace {
    HistoryPlace { block, position }
}

/// Returns the cursor of a place.
pub(crate) const fn cursor_of(HistoryPlace { block, position }: HistoryPlace) -> PlaceCursor {
    PlaceCursor { block, position }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use silica_protocol::BlockNumber;

    use super::*;

    /// Options of a list of transactions.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
    #[serde(default)]
    struct Example {
        cursor: Option<Member<PlaceCursor>>,
        limit: Limit,
        order: Order,
    }

    fn get(json: Value) -> Result<Example, String> {
        serde_json::from_value::<Options<Example>>(json).unwrap().0
    }

    #[test]
    fn members_are_optional() {
        for json in [json!(null), json!({}), json!({"cursor": null, "limit": null, "order": null})] {
            assert_eq!(get(json), Ok(Example::default()));
        }
        assert_eq!(Example::default().limit.get(), 100);
        let cursor = PlaceCursor { block: BlockNumber::new(7), position: 3 };
        let all = get(json!({"cursor": cursor.to_string(), "limit": 5.0, "order": "oldest"}));
        assert_eq!(all, Ok(Example { cursor: Some(Member(cursor)), limit: Limit(5), order: Order::Oldest }));
    }

    #[test]
    fn errors_have_the_member_the_expected_value_and_the_given_value() {
        let no_cursor = "cursor: expected the value of next in the previous page, got";
        for (json, error) in [
            (json!({"limit": 0}), "limit: expected a number from 1 to 1000, got 0".to_owned()),
            (json!({"limit": 1001}), "limit: expected a number from 1 to 1000, got 1001".to_owned()),
            (json!({"limit": "5"}), "limit: expected a number from 1 to 1000, got \"5\"".to_owned()),
            (json!({"limit": 1.5}), "limit: expected a number from 1 to 1000, got 1.5".to_owned()),
            (json!({"order": "up"}), "order: expected newest or oldest, got \"up\"".to_owned()),
            (json!({"order": 1}), "order: expected newest or oldest, got 1".to_owned()),
            (json!({"cursor": "7"}), format!("{no_cursor} \"7\"")),
            (json!({"cursor": "7:+3"}), format!("{no_cursor} \"7:+3\"")),
            (json!({"cursor": "7:"}), format!("{no_cursor} \"7:\"")),
            (json!({"cursor": ":7"}), format!("{no_cursor} \":7\"")),
            (json!({"cursor": "7:4294967296"}), format!("{no_cursor} \"7:4294967296\"")),
            (json!({"cursor": 7, "order": 1}), format!("{no_cursor} 7")),
            (json!({"offset": 7, "limit": 0}), "expected cursor, limit or order, got \"offset\"".to_owned()),
        ] {
            assert_eq!(get(json), Err(error));
        }
        let long = get(json!({"cursor": "é".repeat(1000)})).unwrap_err();
        assert!(long.len() < 160, "{long}");
        assert!(serde_json::from_value::<Options<Example>>(json!([])).is_err());
    }

    #[test]
    fn addresses_are_an_array_of_addresses() {
        let address = "381f4008505e940ad7681ec3468a719060caf796";
        let read = |value: Value| serde_json::from_value::<Addresses>(value).map_err(|error| error.to_string());
        assert_eq!(read(json!([address, format!("0x{address}")])).unwrap().0.len(), 1);
        let expected = "expected an array of 1 to 10000 addresses";
        for wrong in [json!([]), json!(["x"]), json!([7]), json!(vec![address; 10_001])] {
            assert_eq!(read(wrong).unwrap_err(), expected);
        }
        for wrong in [json!(7), json!("x"), json!({"a": address})] {
            assert_eq!(read(wrong).unwrap_err(), expected);
        }
    }
}
