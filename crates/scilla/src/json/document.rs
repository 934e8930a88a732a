//! A JSON document in memory. It is flat, so that its depth cannot overflow the stack.

use std::fmt::{self, Write as _};

/// A JSON value with all its parts, in one sequence of nodes.
///
/// A container comes before its parts, and stores the index after its last part. So reading, iteration and drop do
/// not recurse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    nodes: Vec<Node>,
    text: String,
}

/// A value, or the name of a member. A name comes before its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Array { end: u32 },
    Boolean(bool),
    Null,
    Number { start: u32, end: u32, whole: bool },
    Object { end: u32 },
    String { start: u32, end: u32 },
}

/// A value inside a [`Document`].
#[derive(Clone, Copy)]
pub struct Json<'a> {
    document: &'a Document,
    at: usize,
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `[ … ]`.
    Array,
    /// `true` or `false`.
    Boolean,
    /// A number with a point or an exponent.
    Float,
    /// A number without a point and without an exponent.
    Integer,
    /// `null`.
    Null,
    /// `{ … }`.
    Object,
    /// `"…"`.
    String,
}

impl Kind {
    /// Returns the word for this kind in error texts of the reference.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Boolean => "bool",
            Self::Float => "float",
            Self::Integer => "int",
            Self::Null => "null",
            Self::Object => "object",
            Self::String => "string",
        }
    }
}

impl Document {
    /// Returns a document that is a single string.
    pub fn of_text(text: &str) -> Self {
        let mut builder = Builder::new();
        builder.string(text);
        builder.finish()
    }

    /// Returns the outermost value.
    pub const fn root(&self) -> Json<'_> {
        Json { document: self, at: 0 }
    }
}

impl<'a> Json<'a> {
    fn node(self) -> Node {
        self.document.nodes.get(self.at).copied().unwrap_or(Node::Null)
    }

    /// Returns the index of the node after this value.
    fn after(self) -> usize {
        match self.node() {
            Node::Array { end } | Node::Object { end } => end as usize,
            Node::Boolean(_) | Node::Null | Node::Number { .. } | Node::String { .. } => self.at + 1,
        }
    }

    fn slice(self, start: u32, end: u32) -> &'a str {
        self.document.text.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Returns the kind of the value.
    pub fn kind(self) -> Kind {
        match self.node() {
            Node::Array { .. } => Kind::Array,
            Node::Boolean(_) => Kind::Boolean,
            Node::Null => Kind::Null,
            Node::Number { whole: true, .. } => Kind::Integer,
            Node::Number { whole: false, .. } => Kind::Float,
            Node::Object { .. } => Kind::Object,
            Node::String { .. } => Kind::String,
        }
    }

    /// Returns the text of a string, or `None` if the value is not a string.
    pub fn as_str(self) -> Option<&'a str> {
        match self.node() {
            Node::String { start, end } => Some(self.slice(start, end)),
            Node::Array { .. } | Node::Boolean(_) | Node::Null | Node::Number { .. } | Node::Object { .. } => None,
        }
    }

    /// Returns the text of a number as written, or `None` if the value is not a number.
    pub fn as_number(self) -> Option<&'a str> {
        match self.node() {
            Node::Number { start, end, .. } => Some(self.slice(start, end)),
            Node::Array { .. } | Node::Boolean(_) | Node::Null | Node::Object { .. } | Node::String { .. } => None,
        }
    }

    /// Returns a boolean, or `None` if the value is not a boolean.
    pub fn as_bool(self) -> Option<bool> {
        match self.node() {
            Node::Boolean(value) => Some(value),
            Node::Array { .. } | Node::Null | Node::Number { .. } | Node::Object { .. } | Node::String { .. } => None,
        }
    }

    /// Returns the elements of an array, or `None` if the value is not an array.
    pub fn elements(self) -> Option<Elements<'a>> {
        match self.node() {
            Node::Array { end } => Some(Elements { next: Json { at: self.at + 1, ..self }, end: end as usize }),
            Node::Boolean(_) | Node::Null | Node::Number { .. } | Node::Object { .. } | Node::String { .. } => None,
        }
    }

    /// Returns the members of an object, or `None` if the value is not an object.
    pub fn members(self) -> Option<Members<'a>> {
        match self.node() {
            Node::Object { end } => {
                Some(Members(Elements { next: Json { at: self.at + 1, ..self }, end: end as usize }))
            }
            Node::Array { .. } | Node::Boolean(_) | Node::Null | Node::Number { .. } | Node::String { .. } => None,
        }
    }

    /// Returns the first member with this name. Returns `None` if the member is missing or null, or the value is not an
    /// object.
    ///
    /// As in the reference, the first of several members counts, and null counts as missing.
    pub fn member(self, name: &str) -> Option<Self> {
        let (_, value) = self.members()?.find(|(key, _)| *key == name)?;
        (value.kind() != Kind::Null).then_some(value)
    }
}

/// Iterator over the elements of an array, in order.
#[derive(Clone)]
pub struct Elements<'a> {
    next: Json<'a>,
    end: usize,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Json<'a>;

    fn next(&mut self) -> Option<Json<'a>> {
        if self.next.at >= self.end {
            return None;
        }
        let found = self.next;
        self.next.at = found.after();
        Some(found)
    }
}

/// Iterator over the members of an object, in order.
#[derive(Clone)]
pub struct Members<'a>(Elements<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Json<'a>);

    fn next(&mut self) -> Option<(&'a str, Json<'a>)> {
        let key = self.0.next()?;
        let value = self.0.next()?;
        Some((key.as_str().unwrap_or_default(), value))
    }
}

/// Builds a document, value by value.
///
/// In an object, call [`key`](Self::key) before every value. [`finish`](Self::finish) closes the open containers.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    document: Document,
    open: Vec<usize>,
}

impl Builder {
    /// Returns a builder of an empty document.
    pub fn new() -> Self {
        Self::default()
    }

    fn place(&self) -> u32 {
        u32::try_from(self.document.text.len()).unwrap_or(u32::MAX)
    }

    fn put(&mut self, node: Node) -> &mut Self {
        self.document.nodes.push(node);
        self
    }

    /// Opens an array.
    pub fn begin_array(&mut self) -> &mut Self {
        self.open.push(self.document.nodes.len());
        self.put(Node::Array { end: 0 })
    }

    /// Opens an object.
    pub fn begin_object(&mut self) -> &mut Self {
        self.open.push(self.document.nodes.len());
        self.put(Node::Object { end: 0 })
    }

    /// Closes the innermost open container.
    pub fn end(&mut self) -> &mut Self {
        let after = u32::try_from(self.document.nodes.len()).unwrap_or(u32::MAX);
        if let Some(node) = self.open.pop().and_then(|place| self.document.nodes.get_mut(place)) {
            match node {
                Node::Array { end } | Node::Object { end } => *end = after,
                Node::Boolean(_) | Node::Null | Node::Number { .. } | Node::String { .. } => {}
            }
        }
        self
    }

    /// Sets the name of the next value.
    pub fn key(&mut self, name: &str) -> &mut Self {
        self.string(name)
    }

    /// Adds a string.
    pub fn string(&mut self, text: impl fmt::Display) -> &mut Self {
        let start = self.place();
        // A write to a `String` cannot fail.
        let _ = write!(self.document.text, "{text}");
        let end = self.place();
        self.put(Node::String { start, end })
    }

    /// Adds a whole number.
    pub fn integer(&mut self, number: impl fmt::Display) -> &mut Self {
        self.number(number, true)
    }

    pub(super) fn number(&mut self, number: impl fmt::Display, whole: bool) -> &mut Self {
        let start = self.place();
        let _ = write!(self.document.text, "{number}");
        let end = self.place();
        self.put(Node::Number { start, end, whole })
    }

    /// Adds `true` or `false`.
    pub fn boolean(&mut self, value: bool) -> &mut Self {
        self.put(Node::Boolean(value))
    }

    /// Adds `null`.
    pub fn null(&mut self) -> &mut Self {
        self.put(Node::Null)
    }

    /// Adds a member whose value is a string.
    pub fn member(&mut self, name: &str, text: impl fmt::Display) -> &mut Self {
        self.key(name).string(text)
    }

    /// Adds a value of another document, with all its parts.
    pub fn copy(&mut self, value: Json<'_>) -> &mut Self {
        let base = self.document.nodes.len();
        let moved = |end: u32| u32::try_from((end as usize + base).saturating_sub(value.at)).unwrap_or(u32::MAX);
        for at in value.at..value.after() {
            let part = Json { at, ..value };
            match part.node() {
                Node::Array { end } => self.put(Node::Array { end: moved(end) }),
                Node::Object { end } => self.put(Node::Object { end: moved(end) }),
                Node::Number { start, end, whole } => self.number(part.slice(start, end), whole),
                Node::String { start, end } => self.string(part.slice(start, end)),
                node @ (Node::Boolean(_) | Node::Null) => self.put(node),
            };
        }
        self
    }

    /// Returns the number of open containers.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns whether the innermost open container is an object. Without an open container, returns false.
    pub(super) fn in_object(&self) -> bool {
        let node = self.open.last().and_then(|&place| self.document.nodes.get(place));
        matches!(node, Some(Node::Object { .. }))
    }

    /// Closes the open containers, and returns the document.
    pub fn finish(mut self) -> Document {
        while !self.open.is_empty() {
            self.end();
        }
        self.document
    }
}

impl fmt::Debug for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.compact())
    }
}

impl fmt::Debug for Elements<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl fmt::Debug for Members<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.clone()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_elements_are_found_past_deep_ones() {
        let mut builder = Builder::new();
        builder.begin_object().key("a").begin_array().begin_array().integer(1).end().end().member("b", "x");
        builder.key("c").null().key("b").boolean(true);
        let document = builder.finish();
        let root = document.root();
        assert_eq!(root.member("b").and_then(Json::as_str), Some("x"));
        assert_eq!(root.members().map(Iterator::count), Some(4));
        assert!(root.member("c").is_none(), "null counts as nothing");
        assert!(root.member("d").is_none());
        let inner = root.member("a").and_then(Json::elements).and_then(|mut list| list.next());
        assert_eq!(inner.map(Json::kind), Some(Kind::Array));
    }

    #[test]
    fn a_copy_is_the_same() {
        let mut builder = Builder::new();
        builder.begin_array().begin_object().member("a", 1).key("b").begin_array().null().integer(-2).end().end();
        let document = builder.finish();
        let mut outer = Builder::new();
        outer.begin_array().string("first").copy(document.root()).copy(document.root());
        let outer = outer.finish();
        assert_eq!(
            outer.root().compact().to_string(),
            r#"["first",[{"a":"1","b":[null,-2]}],[{"a":"1","b":[null,-2]}]]"#
        );
    }
}
