//! Reads the cases of vector files.

use std::{fmt::Debug, str::FromStr};

use serde_json::{Map, Value};

/// A case of a vector file, or an object in a case. A test takes its members until no member is left.
pub(crate) struct Case {
    label: String,
    members: Map<String, Value>,
}

/// Reads a vector file, and calls `check` with each case.
pub(crate) fn for_each_case(file: &str, mut check: impl FnMut(&mut Case)) {
    let path = format!("{}/tests/data/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let file: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for (position, case) in cases.iter().enumerate() {
        let mut case = Case::new(format!("{path} case {position}"), case.clone());
        // These members are notes for people.
        for member in ["source", "note", "reason"] {
            case.members.remove(member);
        }
        check(&mut case);
        case.finish();
    }
}

impl Case {
    fn new(label: String, value: Value) -> Self {
        let Value::Object(members) = value else { panic!("{label} is not an object") };
        Self { label, members }
    }

    /// Panics if a member was not taken.
    fn finish(&self) {
        let left: Vec<_> = self.members.keys().collect();
        assert!(left.is_empty(), "{}: {left:?} not checked", self.label);
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn has(&self, member: &str) -> bool {
        self.members.contains_key(member)
    }

    /// Skips a member that another crate checks.
    pub(crate) fn skip(&mut self, member: &str) {
        self.members.remove(member);
    }

    /// Skips the rest of a case that another crate checks.
    pub(crate) fn skip_rest(&mut self) {
        self.members.clear();
    }

    pub(crate) fn value(&mut self, member: &str) -> Value {
        self.members.remove(member).unwrap_or_else(|| panic!("{}: {member} is missing", self.label))
    }

    pub(crate) fn text(&mut self, member: &str) -> String {
        self.value(member).as_str().unwrap().to_owned()
    }

    pub(crate) fn number(&mut self, member: &str) -> u64 {
        self.value(member).as_u64().unwrap()
    }

    pub(crate) fn small(&mut self, member: &str) -> u32 {
        self.number(member).try_into().unwrap()
    }

    pub(crate) fn flag(&mut self, member: &str) -> bool {
        self.value(member).as_bool().unwrap()
    }

    pub(crate) fn bytes(&mut self, member: &str) -> Vec<u8> {
        hex::decode(self.text(member)).unwrap()
    }

    /// Takes a text member, and parses the text.
    pub(crate) fn parse<T: FromStr<Err: Debug>>(&mut self, member: &str) -> T {
        self.text(member).parse().unwrap()
    }

    /// Takes a text member, and parses the text. Returns `None` for null.
    pub(crate) fn maybe_parse<T: FromStr<Err: Debug>>(&mut self, member: &str) -> Option<T> {
        self.value(member).as_str().map(|text| text.parse().unwrap())
    }

    pub(crate) fn list(&mut self, member: &str) -> Vec<Value> {
        self.value(member).as_array().unwrap().clone()
    }

    /// Takes an array of texts, and parses each text.
    pub(crate) fn parse_list<T: FromStr<Err: Debug>>(&mut self, member: &str) -> Vec<T> {
        self.list(member).iter().map(|text| text.as_str().unwrap().parse().unwrap()).collect()
    }

    pub(crate) fn flags(&mut self, member: &str) -> Vec<bool> {
        self.list(member).iter().map(|bit| bit.as_bool().unwrap()).collect()
    }

    /// Takes an array of objects. `read` has to take all members of each object.
    pub(crate) fn objects<T>(&mut self, member: &str, mut read: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let objects = self.list(member);
        objects
            .into_iter()
            .map(|object| Self::new(format!("{} {member}", self.label), object).used(&mut read))
            .collect()
    }

    /// Takes an object. `read` has to take all members of the object.
    pub(crate) fn object<T>(&mut self, member: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        Self::new(format!("{} {member}", self.label), self.value(member)).used(read)
    }

    fn used<T>(mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        let result = read(&mut self);
        self.finish();
        result
    }
}
