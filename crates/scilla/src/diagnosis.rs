//! Failures in a form for people: a title, the relevant source positions, notes and help.
//!
//! Receipts and JSON contain only the text and the source positions of an [`Entry`]. In addition, an entry may have a
//! [`Cause`]: the kind of the error with its names, types and source positions. [`diagnose`] combines both.

use std::ops::Range;

pub use crate::report::{Cause, Context, NameKind, TypedArgument};
use crate::{
    report::{Entry, Failure, Warning},
    source::Location,
};

/// Longest name for which the search for similar names runs, in bytes. This limit bounds the work for a single name.
const LONGEST_NAME: usize = 48;

/// An error in a form for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// Text of the error.
    pub title: String,
    /// Source position of the error.
    pub place: Location,
    /// Whether `place` differs from the position in the entry. In the entry of a parse error, the position is the end
    /// of a token. In other entries, it is the beginning of the wrong part.
    pub moved: bool,
    /// Text to draw at the position.
    pub label: Option<String>,
    /// Further source positions, each with a text to draw there.
    pub others: Vec<(Location, String)>,
    /// Further facts about the error.
    pub notes: Vec<String>,
    /// Advice for the correction of the program.
    pub help: Option<String>,
}

/// Returns the errors of a failure in a form for people.
///
/// Entries that only name the part of the program become notes of the error in this part. Entries that follow from
/// other errors are omitted.
pub fn diagnose(failure: &Failure) -> Vec<Diagnosis> {
    let mut found = Vec::new();
    collect(failure.entries(), &mut found);
    if found.is_empty() {
        found.extend(failure.entries().iter().map(Diagnosis::plain));
    }
    found
}

fn collect(entries: &[Entry], found: &mut Vec<Diagnosis>) {
    let mut module = None;
    let mut part: Option<&Context> = None;
    for entry in entries {
        match entry.cause.as_deref() {
            Some(Cause::Context(context @ Context::Module(..))) => module = Some(context),
            Some(Cause::Context(context @ Context::Part(..))) => part = Some(context),
            Some(Cause::Context(context @ Context::Import(_))) => {
                if let Some(last) = found.last_mut() {
                    let Location { file, line, column } = &entry.start;
                    last.notes.push(format!("{context} at {file}:{line}:{column}"));
                }
            }
            Some(Cause::Follows) => {}
            Some(Cause::Instead(entries)) => collect(entries, found),
            _ => {
                let mut diagnosis = Diagnosis::of(entry);
                match (part.take(), module) {
                    (Some(part), Some(module)) => diagnosis.notes.push(format!("in {part} of {module}")),
                    (Some(only), None) | (None, Some(only)) => diagnosis.notes.push(format!("in {only}")),
                    (None, None) => {}
                }
                found.push(diagnosis);
            }
        }
    }
}

impl From<&Warning> for Diagnosis {
    fn from(warning: &Warning) -> Self {
        Self::plain(&Entry::at(warning.start.clone(), warning.message.as_str()))
    }
}

impl Diagnosis {
    /// Returns whether the parser reported this error at the end of the wrong part.
    pub fn is_at_end(&self) -> bool {
        !self.moved && (self.title.contains("but found") || self.title.starts_with("Lexical error: "))
    }

    /// Returns the diagnosis of an entry without a cause.
    fn plain(entry: &Entry) -> Self {
        Self {
            title: entry.message.trim().to_owned(),
            place: entry.start.clone(),
            moved: false,
            label: None,
            others: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    fn of(entry: &Entry) -> Self {
        let mut shown = Self::plain(entry);
        let Some(cause) = entry.cause.as_deref() else { return shown };
        match cause {
            Cause::Arity { procedure, parameters, found, declared } => {
                let expected = counted(parameters.len());
                shown.title = format!("{}: {procedure}", shown.title);
                shown.label = Some(format!("expected {expected}, found {found}"));
                let parameters = parameters.join(", ");
                shown.others.push((declared.clone(), format!("declared here as `{procedure} ({parameters})`")));
            }
            Cause::BuiltinArguments { builtin, arguments, wrong, help } => {
                let label = |argument: &TypedArgument| format!("`{}` is of type {}", argument.name, argument.ty);
                for (index, argument) in arguments.iter().enumerate() {
                    if *wrong == Some(index) {
                        shown.move_to(argument.place.clone());
                        shown.label = Some(label(argument));
                    } else {
                        shown.others.push((argument.place.clone(), label(argument)));
                    }
                }
                shown.title = format!("built-in `{builtin}` does not take arguments of these types");
                shown.help.clone_from(help);
            }
            Cause::Context(_) | Cause::Follows | Cause::Instead(_) => {}
            Cause::MissingSemicolon { after } => {
                shown.move_to(after.clone());
                shown.label = Some("`;` is missing here".to_owned());
            }
            Cause::MissingTypeArguments { written, remark } => shown.help = Some(format!("write `{written}`{remark}")),
            Cause::NotAName { written } => {
                shown.help = Some(match written {
                    Some(written) => format!("bind the value to a name first: `{written}`"),
                    None => "only a name can be here: bind the value to a name first, with `x = …` in a statement or \
                             `let x = … in` in an expression"
                        .to_owned(),
                });
            }
            Cause::SmallTypeName { nearest } => {
                shown.help = Some(match nearest {
                    Some(name) => format!("types begin with a capital letter: did you mean `{name}`?"),
                    None => "types begin with a capital letter".to_owned(),
                });
            }
            Cause::Unclosed { what, opened, closed: None } => {
                shown.others.push((opened.clone(), format!("this `{what}` is not closed")));
            }
            Cause::Unclosed { what, opened, closed: Some(closed) } => {
                shown.others.push((opened.clone(), format!("this `{what}` is probably not closed")));
                shown.others.push((closed.clone(), format!("this `end` closes the `{what}`, but is indented less")));
            }
            Cause::Uncovered { missing } => {
                "Non-exhaustive pattern match".clone_into(&mut shown.title);
                let patterns: Vec<_> = missing.iter().map(|pattern| format!("`{pattern}`")).collect();
                let verb = if let [_] = missing.as_slice() { "is" } else { "are" };
                shown.label = Some(format!("{} {verb} not covered", listed(&patterns)));
                shown.help = Some("add a clause for the missing values; `_` matches every value".to_owned());
            }
            Cause::UnknownName { kind: _, nearest, help, declared } => {
                let nearest = nearest.as_ref().map(|name| format!("did you mean `{name}`?"));
                let parts: Vec<_> = nearest.into_iter().chain(help.clone()).collect();
                shown.help = (!parts.is_empty()).then(|| parts.join(" "));
                shown.others.extend(declared.clone().map(|(place, text)| (place, text.to_owned())));
            }
        }
        shown
    }

    fn move_to(&mut self, place: Location) {
        self.place = place;
        self.moved = true;
    }
}

/// Returns the byte range of the word at a column of a line, or of one character if no word is there. The word begins
/// at the column, or ends there if `ends` is true. Columns count bytes from 1. A column after the line means the end of
/// the line.
pub fn word_at(line: &str, column: u32, ends: bool) -> Range<usize> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'\'');
    let at = usize::try_from(column).unwrap_or(usize::MAX).saturating_sub(1).min(line.len());
    let (before, after) = line.as_bytes().split_at(at);
    let (start, end) = if ends {
        (at - before.iter().rev().take_while(|byte| is_word(byte)).count().max(1).min(at), at)
    } else {
        (at, at + after.iter().take_while(|byte| is_word(byte)).count().max(1))
    };
    let start = (0..=start.min(line.len())).rev().find(|place| line.is_char_boundary(*place)).unwrap_or(0);
    let end = (end.min(line.len())..=line.len()).find(|place| line.is_char_boundary(*place)).unwrap_or(line.len());
    start..end
}

fn counted(arguments: usize) -> String {
    if arguments == 1 { "1 argument".to_owned() } else { format!("{arguments} arguments") }
}

/// Joins texts with commas, and "and" before the last text.
pub(crate) fn listed(texts: &[String]) -> String {
    joined(texts, "and")
}

/// Joins texts with commas, and `word` before the last text.
pub(crate) fn joined(texts: &[String], word: &str) -> String {
    match texts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} {word} {last}", first.join(", ")),
    }
}

/// Names from other languages, with the corresponding names in Scilla.
const ELSEWHERE: &[(NameKind, &str, &str)] = &[
    (NameKind::Builtin, "minus", "sub"),
    (NameKind::Builtin, "mod", "rem"),
    (NameKind::Builtin, "plus", "add"),
    (NameKind::Builtin, "times", "mul"),
    (NameKind::Constructor, "Empty", "Nil"),
    (NameKind::Constructor, "Just", "Some"),
    (NameKind::Constructor, "Nothing", "None"),
    (NameKind::Type, "Address", "ByStr20"),
    (NameKind::Type, "Boolean", "Bool"),
    (NameKind::Type, "Bytes", "ByStr"),
    (NameKind::Type, "Int", "Int32"),
    (NameKind::Type, "Integer", "Int32"),
    (NameKind::Type, "Maybe", "Option"),
    (NameKind::Type, "Uint", "Uint32"),
];

/// Returns the candidate that is most similar to an unknown name, or `None` if no candidate is similar. For a name from
/// another language, the result is the corresponding name of Scilla.
///
/// A change inserts, removes or replaces a letter, or swaps two neighbours. Names of up to five letters permit one
/// change, names of up to eight letters permit two, and longer names permit three. The number of changes is less than
/// the length of the name. A different letter case does not count as a change. Of equally similar candidates, the
/// function returns the one with the fewest differences in letter case, and then the first in alphabetical order.
pub(crate) fn nearest<'c>(
    kind: NameKind,
    name: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let elsewhere = ELSEWHERE.iter().find(|(of, other, _)| *of == kind && other.eq_ignore_ascii_case(name));
    let similar = similar(name, candidates);
    elsewhere.map(|(.., here)| *here).or(similar)
}

/// Returns the candidate that is most similar to a text. The rules are those of [`nearest`], without the names from
/// other languages.
pub(crate) fn similar<'c>(text: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let length = text.len();
    if length > LONGEST_NAME {
        return None;
    }
    let allowed = (length / 3).clamp(1, 3).min(length.saturating_sub(1));
    let lower = text.to_lowercase();
    let distance = |candidate: &'c str| {
        if candidate.len().abs_diff(length) > 3 {
            return None;
        }
        let near = strsim::osa_distance(&lower, &candidate.to_lowercase());
        (near <= allowed).then(|| (near, strsim::osa_distance(text, candidate), candidate))
    };
    candidates.into_iter().filter_map(distance).min().map(|(.., candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_found() {
        let known = ["add", "sub", "substr", "to_uint128", "ListUtils", "n"];
        let found = |name| similar(name, known);
        assert_eq!(found("ad"), Some("add"));
        assert_eq!(found("nn"), Some("n"));
        assert_eq!(found("to_unit128"), Some("to_uint128"));
        assert_eq!(found("listUtil"), Some("ListUtils"));
        assert_eq!(found("x"), None, "every name of one letter is as near as any other");
        assert_eq!(found("balance"), None);
        assert_eq!(found(&"a".repeat(LONGEST_NAME + 1)), None);
        assert_eq!(similar("Foo", ["foo", "Fooo", "fOo"]), Some("foo"), "of two with another case the first counts");
        assert_eq!(nearest(NameKind::Constructor, "Just", ["Nil"]), Some("Some"));
        assert_eq!(nearest(NameKind::Type, "Just", ["Nil"]), None);
    }

    fn entry(line: u32, message: &str) -> Entry {
        Entry::at(Location { file: "a.scilla".into(), line, column: 1 }, message)
    }

    #[test]
    fn outer_entries_are_notes_of_the_error_inside() {
        let module = Cause::Context(Context::Module("contract", "C".into()));
        let part = Cause::Context(Context::Part("transition", "T".into()));
        let import = Cause::Context(Context::Import("L".into()));
        let failure = Failure::of(entry(1, "outermost").because(module))
            .followed_by(entry(2, "outer").because(part))
            .followed_by(entry(3, "inner"))
            .followed_by(entry(4, "another"))
            .followed_by(entry(5, "derived").because(Cause::Follows))
            .followed_by(entry(6, "where").because(import));
        let shown: Vec<_> = diagnose(&failure).into_iter().map(|it| (it.title, it.place.line, it.notes)).collect();
        let expected = [
            ("inner".to_owned(), 3, vec!["in transition `T` of contract `C`".to_owned()]),
            (
                "another".to_owned(),
                4,
                vec!["in contract `C`".to_owned(), "library `L` is imported at a.scilla:6:1".to_owned()],
            ),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_failure_is_never_shown_as_nothing() {
        let outer = Cause::Context(Context::Module("contract", "C".into()));
        for cause in [outer, Cause::Follows] {
            let shown = diagnose(&Failure::of(entry(7, "alone\n").because(cause)));
            assert_eq!(shown.iter().map(|it| it.title.as_str()).collect::<Vec<_>>(), ["alone"]);
        }
    }
}
