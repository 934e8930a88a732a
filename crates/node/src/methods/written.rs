//! Results that are serialized on the thread that computed them.

use std::{borrow::Cow, fmt, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::rpc::CallError;

/// The JSON of a `T`, serialized on the blocking thread that computed the `T`.
///
/// A result can have megabytes. Its serialization on an async thread would delay the requests of other clients.
pub(crate) struct Written<T> {
    json: Box<RawValue>,
    of: PhantomData<fn() -> T>,
}

impl<T: Serialize> Written<T> {
    /// Serializes a result.
    ///
    /// # Errors
    ///
    /// [`CallError::Internal`] if the result has no JSON form.
    pub(crate) fn new(answer: &T) -> Result<Self, CallError> {
        Ok(Self { json: to_raw_value(answer).map_err(CallError::internal)?, of: PhantomData })
    }
}

impl<T> fmt::Debug for Written<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.json.fmt(f)
    }
}

impl<T> Serialize for Written<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

/// The schema of a `Written<T>` is the schema of `T`.
impl<T: JsonSchema> JsonSchema for Written<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A value that counts its serializations.
    struct Counts<'a>(&'a Cell<u32>);

    impl Serialize for Counts<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.0.set(self.0.get() + 1);
            serializer.collect_seq([1, 2])
        }
    }

    #[test]
    fn answer_is_written_once() {
        let count = Cell::new(0);
        let written = Written::new(&Counts(&count)).unwrap();
        for _ in 0..2 {
            assert_eq!(to_raw_value(&written).unwrap().get(), "[1,2]");
        }
        assert_eq!(count.get(), 1);
    }
}
