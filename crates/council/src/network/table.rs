//! Tables and fields of a TOML text, with the line of each.
#![expect(clippy::wildcard_enum_match_arm, reason = "a field accepts one or two types of TOML, and rejects all others")]

use std::{collections::BTreeMap, fmt::Display};

use toml::de::{DeTable, DeValue};

use super::error::NetworkFileError;

/// Length of the longest value in an error text, in characters.
const SHOWN: usize = 120;

/// Converts the position of a byte to a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines<'t>(pub(super) &'t str);

impl Lines<'_> {
    /// Returns the line of the byte at `position`, from 1.
    pub(super) fn at(self, position: usize) -> usize {
        self.0.bytes().take(position).filter(|byte| *byte == b'\n').count().saturating_add(1)
    }
}

/// A table whose fields are taken one after the other.
#[derive(Debug)]
pub(super) struct Table<'t> {
    name: String,
    line: usize,
    fields: BTreeMap<&'t str, Field<'t>>,
    /// The names of the fields that the parser supports. The error for an unknown field lists them.
    known: Vec<&'static str>,
}

impl<'t> Table<'t> {
    /// Creates the table with this name. The name is empty for the top of the file.
    pub(super) fn new(name: &str, line: usize, table: &'t DeTable<'t>, lines: Lines<'t>) -> Self {
        let field = |(key, value): (&'t toml::Spanned<_>, &'t toml::Spanned<DeValue<'t>>)| {
            let text: &'t std::borrow::Cow<'t, str> = key.get_ref();
            let line = lines.at(key.span().start);
            (&**text, Field { name: joined(name, text), line, value: value.get_ref(), lines })
        };
        Self { name: name.to_owned(), line, fields: table.iter().map(field).collect(), known: Vec::new() }
    }

    /// Takes a field; `None` if it is missing.
    pub(super) fn optional(&mut self, name: &'static str) -> Option<Field<'t>> {
        self.known.push(name);
        self.fields.remove(name)
    }

    /// Takes a required field. If the field is missing, the error names the `expected` value.
    pub(super) fn required(&mut self, name: &'static str, expected: &str) -> Result<Field<'t>, NetworkFileError> {
        self.optional(name).ok_or_else(|| NetworkFileError::Field {
            line: self.line,
            field: joined(&self.name, name),
            expected: expected.to_owned(),
            got: "no value".to_owned(),
        })
    }

    /// Rejects fields that were not taken. The error is about the first of them.
    pub(super) fn finish(self) -> Result<(), NetworkFileError> {
        match self.fields.into_values().min_by_key(|field| field.line) {
            None => Ok(()),
            Some(field) => Err(NetworkFileError::Field {
                line: field.line,
                field: field.name,
                expected: format!("one of {}", self.known.join(", ")),
                got: "an unknown name".to_owned(),
            }),
        }
    }
}

fn joined(table: &str, field: &str) -> String {
    if table.is_empty() { field.to_owned() } else { format!("{table}.{field}") }
}

/// A field of a table.
#[derive(Clone, Debug)]
pub(super) struct Field<'t> {
    name: String,
    line: usize,
    value: &'t DeValue<'t>,
    lines: Lines<'t>,
}

impl<'t> Field<'t> {
    /// Returns the error for this field. The error has at most the first [`SHOWN`] characters of `got`.
    pub(super) fn error(&self, expected: impl Into<String>, got: impl Display) -> NetworkFileError {
        let got = got.to_string().chars().take(SHOWN).collect();
        NetworkFileError::Field { line: self.line, field: self.name.clone(), expected: expected.into(), got }
    }

    /// Returns the error for this field with its value.
    pub(super) fn wrong(&self, expected: impl Into<String>) -> NetworkFileError {
        self.error(expected, self.shown())
    }

    /// Returns the value as a text for an error.
    fn shown(&self) -> String {
        match self.value {
            DeValue::String(text) => format!("{text:?}"),
            DeValue::Integer(number) => number.as_str().to_owned(),
            DeValue::Boolean(value) => value.to_string(),
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Datetime(date) => date.to_string(),
            DeValue::Array(_) => "an array".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        }
    }

    /// Returns the value if it is a string.
    pub(super) fn text(&self, expected: &str) -> Result<&'t str, NetworkFileError> {
        match self.value {
            DeValue::String(text) => Ok(text),
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => Err(self.wrong(expected)),
        }
    }

    /// Parses the value. Rejects a value that is not a string.
    pub(super) fn parse<T>(
        &self,
        expected: &str,
        parse: impl FnOnce(&'t str) -> Option<T>,
    ) -> Result<T, NetworkFileError> {
        parse(self.text(expected)?).ok_or_else(|| self.wrong(expected))
    }

    /// Returns the value if it is an integer from `least` to `most`.
    pub(super) fn number<T: Copy + Into<u64> + TryFrom<u64>>(&self, least: T, most: T) -> Result<T, NetworkFileError> {
        let number = match self.value {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        let inside = number.filter(|number| (least.into()..=most.into()).contains(number));
        inside
            .and_then(|number| number.try_into().ok())
            .ok_or_else(|| self.wrong(format!("a number from {} to {}", least.into(), most.into())))
    }

    /// Returns the value if it is an integer, or a string of decimal digits.
    pub(super) fn amount(&self, expected: &str) -> Result<u128, NetworkFileError> {
        let number = match self.value {
            DeValue::Integer(number) => u128::from_str_radix(number.as_str(), number.radix()).ok(),
            DeValue::String(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| self.wrong(expected))
    }

    /// Returns the value if it is a table.
    pub(super) fn table(&self) -> Result<Table<'t>, NetworkFileError> {
        match self.value {
            DeValue::Table(table) => Ok(Table::new(&self.name, self.line, table, self.lines)),
            _ => Err(self.wrong("a table")),
        }
    }

    /// Returns the elements if the value is an array of tables.
    pub(super) fn tables(&self) -> Result<Vec<Table<'t>>, NetworkFileError> {
        let expected = || format!("tables, each under [[{}]]", self.name);
        let DeValue::Array(elements) = self.value else { return Err(self.wrong(expected())) };
        let table = |element: &'t toml::Spanned<DeValue<'t>>| match element.get_ref() {
            DeValue::Table(table) => Ok(Table::new(&self.name, self.lines.at(element.span().start), table, self.lines)),
            _ => Err(self.wrong(expected())),
        };
        elements.iter().map(table).collect()
    }
}
