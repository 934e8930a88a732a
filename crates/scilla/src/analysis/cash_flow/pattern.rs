//! Tags that follow from patterns and their values.

use super::{Analysis, constructor, tag::Tag};
use crate::{
    name::Ident,
    syntax::ast::{Pattern, PatternKind},
};

impl Analysis<'_> {
    /// Opens the bindings of a pattern.
    pub(super) fn open_pattern(&mut self, pattern: &Pattern) {
        pattern.binders().into_iter().for_each(|binder| self.environment.open(binder));
    }

    /// Closes the bindings of a pattern, and returns the tag of the matched value.
    pub(super) fn close_pattern(&mut self, pattern: &Pattern) -> Tag {
        match &pattern.kind {
            PatternKind::Binder(binder) => self.environment.close(binder),
            PatternKind::Constructor(constructor, parts) => {
                let mut tags: Vec<_> = parts.iter().rev().map(|part| self.close_pattern(part)).collect();
                tags.reverse();
                self.environment.state.constructors.learn(&constructor.name, &tags);
                constructor::made(self.known, &constructor.name, &tags)
            }
            PatternKind::Wildcard => Tag::NoInfo,
        }
    }

    /// Joins the tag of the matched value into the recorded tags of the pattern's variables.
    pub(super) fn inform(&mut self, pattern: &Pattern, tag: &Tag) {
        match &pattern.kind {
            PatternKind::Binder(binder) => {
                let tag = self.environment.state.note(binder).join(tag);
                self.environment.state.set_note(binder, tag);
            }
            PatternKind::Constructor(constructor, parts) => {
                let tags = constructor::parts(self.known, &constructor.name, tag);
                parts.iter().zip(&tags).for_each(|(part, tag)| self.inform(part, tag));
            }
            PatternKind::Wildcard => {}
        }
    }

    /// Joins the recorded tags of the pattern variables into the tag of the matched variable.
    pub(super) fn learn_from_patterns<'p>(&mut self, scrutinee: &Ident, patterns: impl Iterator<Item = &'p Pattern>) {
        let noted = patterns.fold(Tag::NoInfo, |whole, pattern| self.noted(pattern, &whole));
        let tag = self.environment.learn(scrutinee, &noted);
        self.environment.state.set_note(scrutinee, tag);
    }

    /// Returns the tag of a matched value. This tag is at least `whole` in the lattice.
    fn noted(&self, pattern: &Pattern, whole: &Tag) -> Tag {
        match &pattern.kind {
            PatternKind::Binder(binder) => self.environment.state.note(binder).join(whole),
            PatternKind::Constructor(constructor, parts) => {
                let tags = constructor::parts(self.known, &constructor.name, whole);
                let tags: Vec<_> = parts.iter().zip(&tags).map(|(part, tag)| self.noted(part, tag)).collect();
                constructor::made(self.known, &constructor.name, &tags).join(whole)
            }
            PatternKind::Wildcard => whole.clone(),
        }
    }
}
