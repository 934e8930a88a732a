//! The grammar of modules: imports, libraries, contracts.

use std::{collections::BTreeSet, sync::Arc};

use super::{Parsed, Parser, Reported, advice::Open, literal::plain_decimal};
use crate::{
    name::Ident,
    source::Span,
    syntax::{
        ast::{
            Component, ComponentKind, ConstructorDefinition, Contract, ExprId, Expression, ExpressionKind, Field,
            Import, Library, LibraryEntry, Parameter, StatementKind,
        },
        token::TokenKind,
    },
};

/// The parts of a contract module.
pub(super) struct ContractParts {
    pub(super) version: Arc<str>,
    pub(super) imports: Vec<Import>,
    pub(super) library: Option<Library>,
    pub(super) contract: Contract,
}

/// The parts of a library module.
pub(super) struct LibraryParts {
    pub(super) version: Arc<str>,
    pub(super) imports: Vec<Import>,
    pub(super) library: Library,
}

impl Parser<'_> {
    pub(super) fn parse_contract_module(&mut self) -> Parsed<ContractParts> {
        use TokenKind::{Contract, Import, Library};
        let version = self.parse_version().or_else(|Reported| self.resume(&[Import, Library, Contract], "0".into()));
        let imports = self.parse_imports().or_else(|Reported| self.resume(&[Library, Contract], Vec::new()))?;
        let library = match self.peek().kind {
            Library => self.parse_library().map(Some).or_else(|Reported| self.resume(&[Contract], None))?,
            Contract => None,
            _ => {
                let what = if imports.is_empty() { "`import`, `library` or `contract`" } else { AFTER_IMPORTS };
                let Reported = self.unexpected(what);
                self.resume(&[Contract], None)?
            }
        };
        let mut contract = self.parse_contract(library.is_some())?;
        self.settle_calls(&mut contract);
        Ok(ContractParts { version: version?, imports, library, contract })
    }

    pub(super) fn parse_library_module(&mut self) -> Parsed<LibraryParts> {
        use TokenKind::{Import, Library};
        let version = self.parse_version().or_else(|Reported| self.resume(&[Import, Library], "0".into()));
        let imports = self.parse_imports().or_else(|Reported| self.resume(&[Library], Vec::new()))?;
        if !self.at(Library) {
            return Err(self.unexpected(if imports.is_empty() { "`import` or `library`" } else { "`library`" }));
        }
        let library = self.parse_library()?;
        self.expect(TokenKind::End, "`let`, `type` or the end of the text")?;
        Ok(LibraryParts { version: version?, imports, library })
    }

    /// Skips to the next token of one of these kinds after an error, and returns `value`. Fails at the end of the text.
    fn resume<T>(&mut self, at: &[TokenKind], value: T) -> Parsed<T> {
        self.skip_to(|kind, _| at.contains(&kind));
        if self.at(TokenKind::End) { Err(Reported) } else { Ok(value) }
    }

    fn parse_version(&mut self) -> Parsed<Arc<str>> {
        self.expect(TokenKind::ScillaVersion, "`scilla_version`")?;
        let number = self.expect(TokenKind::Number, "the number of the version")?;
        Ok(plain_decimal(self.text(number)).into())
    }

    fn parse_imports(&mut self) -> Parsed<Vec<Import>> {
        let mut imports = Vec::new();
        if self.maybe(TokenKind::Import).is_none() {
            return Ok(imports);
        }
        while self.at(TokenKind::Cid) {
            let library = self.expect_simple(TokenKind::Cid, "the name of a library")?;
            let namespace = match self.maybe(TokenKind::As) {
                Some(_) => Some(self.expect_simple(TokenKind::Cid, "a namespace, which begins with a capital letter")?),
                None => None,
            };
            imports.push(Import { library, namespace });
        }
        if matches!(self.peek().kind, TokenKind::Library | TokenKind::Contract) {
            return Ok(imports);
        }
        let what = match imports.last() {
            Some(Import { namespace: None, .. }) => "the name of a library, `as`, `library` or `contract`",
            _ => "the name of a library, `library` or `contract`",
        };
        Err(self.unexpected(what))
    }

    fn parse_library(&mut self) -> Parsed<Library> {
        let keyword = self.expect_fixed(TokenKind::Library)?.span;
        let name = self.expect_simple(TokenKind::Cid, "the name of the library, which begins with a capital letter")?;
        let mut entries = Vec::new();
        while matches!(self.peek().kind, TokenKind::Let | TokenKind::Type) {
            let column = self.column();
            match self.parse_library_entry() {
                Ok(entry) => entries.push(entry),
                Err(Reported) => self.skip_library_entry(column),
            }
        }
        Ok(Library { name_span: name.span, name: Ident::new(name.name, keyword), entries })
    }

    /// Returns the column of the next token in bytes, from 0.
    fn column(&mut self) -> u32 {
        let first = self.peek().first;
        first - self.lexer.lines().last().copied().unwrap_or(0).min(first)
    }

    /// Skips the remaining tokens of an invalid entry. A `let` begins the next entry, unless its column is greater than
    /// `column`, the column of the invalid entry.
    fn skip_library_entry(&mut self, column: u32) {
        use TokenKind::{Contract, End, Field, Let, Procedure, Transition, Type};
        self.open_ends = 0;
        loop {
            match self.peek().kind {
                Contract | End | Field | Procedure | Transition | Type => return,
                Let if self.column() <= column => return,
                // In an address type, `contract` can come before the fields. Such a `contract` does not begin the
                // contract.
                TokenKind::With => {
                    self.bump();
                    self.maybe(Contract);
                    while self.maybe(Field).is_some() {
                        self.skip_to(|kind, before| {
                            matches!(kind, Let | Type | TokenKind::EndWord) || before == TokenKind::Comma
                        });
                    }
                }
                _ => {
                    self.bump();
                }
            }
        }
    }

    fn parse_library_entry(&mut self) -> Parsed<LibraryEntry> {
        if self.maybe(TokenKind::Let).is_some() {
            return self.parse_library_value();
        }
        let keyword = self.bump().span;
        let name = self.expect_simple(TokenKind::Cid, "the name of the type, which begins with a capital letter")?;
        let name = Ident::new(name.name, keyword);
        let mut constructors = Vec::new();
        if self.maybe(TokenKind::Equals).is_some() {
            constructors.push(self.parse_constructor_definition()?);
            while self.at(TokenKind::Bar) {
                constructors.push(self.parse_constructor_definition()?);
            }
        }
        if self.at_end_of_library_entry() {
            return Ok(LibraryEntry::Type { name, constructors });
        }
        Err(self.unexpected(match constructors.last() {
            None => "`=` and the constructors of the type",
            Some(last) if last.arguments.is_empty() => "`of`, `|`, or the next entry of the library",
            Some(_) => "a type, `|`, or the next entry of the library",
        }))
    }

    fn at_end_of_library_entry(&mut self) -> bool {
        matches!(self.peek().kind, TokenKind::Contract | TokenKind::End | TokenKind::Let | TokenKind::Type)
    }

    fn parse_library_value(&mut self) -> Parsed<LibraryEntry> {
        let name = self.expect_simple(TokenKind::Id, "the name of the value, which begins with a small letter")?;
        let annotation = self.maybe_annotation()?;
        let what = if annotation.is_some() { "`=` and the value" } else { "`:` or `=`" };
        self.expect(TokenKind::Equals, what)?;
        let body = self.parse_expression()?;
        if self.at_end_of_library_entry() {
            return Ok(LibraryEntry::Value { name, annotation, body });
        }
        Err(self.unexpected_after_expression("the next entry of the library"))
    }

    fn parse_constructor_definition(&mut self) -> Parsed<ConstructorDefinition> {
        let bar = self.expect(TokenKind::Bar, "`|` and a constructor")?.span;
        let name = self.expect_simple(TokenKind::Cid, "the name of a constructor")?;
        let mut arguments = Vec::new();
        if self.maybe(TokenKind::Of).is_some() {
            arguments.push(self.parse_type_argument("a type")?);
            arguments.append(&mut self.parse_type_arguments()?);
        }
        Ok(ConstructorDefinition { name_span: name.span, name: Ident::new(name.name, bar), arguments })
    }

    fn parse_contract(&mut self, behind_library: bool) -> Parsed<Contract> {
        let what = if behind_library { "`let`, `type` or `contract`" } else { "`contract`" };
        self.expect(TokenKind::Contract, what)?;
        let head = self.parse_contract_head();
        if head.is_err() {
            self.skip_to_component(true);
        }
        let fields = self.parse_fields();
        let components = self.parse_components(!fields.is_empty());
        let (name, parameters, constraint) = head?;
        Ok(Contract { name, parameters, constraint, fields, components })
    }

    /// Converts `x = p a` into a call if `p` is a procedure with a result. As in the reference, statements inside
    /// matches remain unchanged.
    fn settle_calls(&self, contract: &mut Contract) {
        let results: BTreeSet<Arc<str>> = contract
            .components
            .iter()
            .filter(|component| component.result.is_some())
            .map(|component| Arc::clone(component.name.name.base()))
            .collect();
        let is_call = |ident: &Ident| ident.name.namespace().is_none() && results.contains(ident.name.base());
        for statement in contract.components.iter_mut().flat_map(|component| &mut component.body) {
            let StatementKind::Bind { to, value } = &statement.kind else { continue };
            let (procedure, arguments) = match &self.arena.get(*value).kind {
                ExpressionKind::Apply { function, arguments } if is_call(function) => (function, arguments.clone()),
                ExpressionKind::Variable(variable) if is_call(variable) => (variable, Vec::new()),
                _ => continue,
            };
            statement.kind = StatementKind::Call { to: Some(to.clone()), procedure: procedure.clone(), arguments };
        }
    }

    fn parse_contract_head(&mut self) -> Parsed<(Ident, Vec<Parameter>, ExprId)> {
        let name =
            self.expect_simple(TokenKind::Cid, "the name of the contract, which begins with a capital letter")?;
        let parameters = self.parse_parameters()?;
        if self.maybe(TokenKind::With).is_none() {
            return Ok((name, parameters, self.always_true()));
        }
        let constraint = self.parse_expression()?;
        if self.maybe(TokenKind::Arrow).is_none() {
            return Err(self.unexpected_after_expression("`=>` behind the constraint"));
        }
        Ok((name, parameters, constraint))
    }

    /// Adds the default constraint of a contract.
    fn always_true(&mut self) -> ExprId {
        let constructor = Ident::nowhere("True");
        let kind = ExpressionKind::Construct { constructor, types: Vec::new(), arguments: Vec::new() };
        self.arena.add(Expression { kind, span: Span::NOWHERE })
    }

    /// Parses parameters in parentheses.
    pub(super) fn parse_parameters(&mut self) -> Parsed<Vec<Parameter>> {
        self.expect(TokenKind::ParenOpen, "`(` and the parameters")?;
        let mut parameters = Vec::new();
        if self.maybe(TokenKind::ParenClose).is_some() {
            return Ok(parameters);
        }
        loop {
            let what = if parameters.is_empty() { "the name of a parameter or `)`" } else { "the name of a parameter" };
            let name = self.expect_simple(TokenKind::Id, what)?;
            self.expect(TokenKind::Colon, "`:` and the type of the parameter")?;
            parameters.push(Parameter { name, ty: self.parse_type()? });
            if self.maybe(TokenKind::Comma).is_none() {
                self.expect(TokenKind::ParenClose, "`,` or `)`")?;
                return Ok(parameters);
            }
        }
    }

    /// Skips to the next component, or to the next field if `fields` is true.
    fn skip_to_component(&mut self, fields: bool) {
        use TokenKind::{Comma, Contract, Field, Procedure, Transition};
        self.open_ends = 0;
        self.skip_to(|kind, before| match kind {
            Procedure | Transition => true,
            // A `field` after a comma or `contract` belongs to an address type.
            Field => fields && !matches!(before, Comma | Contract),
            _ => false,
        });
    }

    fn parse_fields(&mut self) -> Vec<Field> {
        let mut fields = Vec::new();
        while self.at(TokenKind::Field) {
            match self.parse_field() {
                Ok(field) => fields.push(field),
                Err(Reported) => self.skip_to_component(true),
            }
        }
        fields
    }

    fn parse_field(&mut self) -> Parsed<Field> {
        use TokenKind::{Arrow, End, Procedure, Transition};
        self.bump();
        let name = self.expect_simple(TokenKind::Id, "the name of the field, which begins with a small letter")?;
        self.expect(TokenKind::Colon, "`:` and the type of the field")?;
        let ty = self.parse_type()?;
        self.expect(TokenKind::Equals, "`=` and the first value of the field")?;
        let initial = self.parse_expression()?;
        match self.peek().kind {
            TokenKind::Field | Procedure | Transition | End => Ok(Field { name, ty, initial }),
            Arrow => Err(self.unexpected("the end of the expression")),
            _ => Err(self.unexpected_after_expression("`field`, `transition` or `procedure`")),
        }
    }

    fn parse_components(&mut self, behind_fields: bool) -> Vec<Component> {
        let mut components = Vec::new();
        loop {
            match self.peek().kind {
                TokenKind::Procedure | TokenKind::Transition => match self.parse_component() {
                    Ok(component) => components.push(component),
                    Err(Reported) => self.skip_to_component(false),
                },
                TokenKind::End => return components,
                other => {
                    let hint = match other {
                        TokenKind::Field => Some("fields stand in front of all transitions and procedures"),
                        TokenKind::Semicolon => Some("no `;` stands behind `end`"),
                        _ => None,
                    };
                    let what = match (components.is_empty(), behind_fields) {
                        (true, false) => "`with`, `field`, `transition` or `procedure`",
                        (true, true) => "`field`, `transition` or `procedure`",
                        (false, _) => "`transition`, `procedure` or the end of the text",
                    };
                    let Reported = self.unexpected_because(what, hint);
                    self.skip_to_component(false);
                }
            }
        }
    }

    fn parse_component(&mut self) -> Parsed<Component> {
        let keyword = self.bump();
        let kind = match keyword.kind {
            TokenKind::Transition => ComponentKind::Transition,
            _ => ComponentKind::Procedure,
        };
        let token = self.peek();
        if !matches!(token.kind, TokenKind::Cid | TokenKind::Id) {
            return Err(self.unexpected("a name"));
        }
        self.bump();
        let name = self.simple(token);
        let parameters = self.parse_parameters()?;
        let result = match kind {
            ComponentKind::Procedure => self.maybe_annotation()?,
            ComponentKind::Transition => None,
        };
        self.open = vec![Open { what: keyword.kind.spelling().unwrap_or_default(), keyword: keyword.span }];
        self.closed.clear();
        let body = self.parse_statements()?;
        self.expect_end(if body.is_empty() { "a statement or `end`" } else { "`end`" })?;
        Ok(Component { kind, name, parameters, result, body, span: keyword.span.to(self.last) })
    }
}

const AFTER_IMPORTS: &str = "the name of a library, `library` or `contract`";
