//! Converts tokens to the syntax tree, by recursive descent.
//!
//! The first error of a text has the source position of the reference's first error. The reference is an LR(1) parser:
//! it reports an ungrammatical token at the end of that token. It reports other errors after the whole production, at
//! positions that depend on the production. After an error, the parser continues at the next statement, entry or
//! component, so that one call can report several errors. Only the first error of a [`Failure`] is part of consensus.
//!
//! Chains of `let`, `fun` and `tfun` have no limit of length. All other nesting has at most [`MAX_NESTING`] levels,
//! so that later phases may recurse.

mod advice;
mod expression;
mod literal;
mod module;
mod pattern;
mod statement;
mod types;

use std::{collections::HashMap, str::FromStr, sync::Arc};

use self::advice::{Advice, Open};
use super::{
    ast::{Arena, ContractModule, ExprId, ExpressionModule, LibraryModule, Statement},
    lexer::Lexer,
    token::{Token, TokenKind},
};
use crate::{
    name::{Ident, Name},
    report::{Entry, Failure},
    source::{Location, Source, Span},
    types::Type,
};

/// Largest nesting, in levels. Matches, `let`s within the value of a `let`, types and patterns count together. The
/// reference has no limit, but real programs have far fewer levels.
pub const MAX_NESTING: usize = 256;

/// Largest length of a text, in bytes. The tree takes up to 100 times as much memory. The chain accepts texts of at
/// most 76,800 bytes.
pub const MAX_TEXT: usize = 16 << 20;

/// Largest number of reported errors of one text.
pub const MAX_ERRORS: usize = 20;

/// Parses a contract with its imports and its library.
///
/// # Errors
///
/// If the text is invalid. The first entry is the error that the reference reports.
pub fn parse_contract(file: &str, text: &[u8]) -> Result<ContractModule, Failure> {
    parse(file, text, Parser::parse_contract_module, |source, arena, parts| {
        let module::ContractParts { version, imports, library, contract } = parts;
        ContractModule { source, version, imports, library, contract, arena }
    })
}

/// Parses a library module.
///
/// # Errors
///
/// If the text is invalid. The first entry is the error that the reference reports.
pub fn parse_library(file: &str, text: &[u8]) -> Result<LibraryModule, Failure> {
    parse(file, text, Parser::parse_library_module, |source, arena, parts| {
        let module::LibraryParts { version, imports, library } = parts;
        LibraryModule { source, version, imports, library, arena }
    })
}

/// Parses a single expression.
///
/// # Errors
///
/// If the text is invalid. The first entry is the error that the reference reports.
pub fn parse_expression(file: &str, text: &[u8]) -> Result<ExpressionModule, Failure> {
    parse(file, text, Parser::parse_expression_module, |source, arena, root| ExpressionModule { source, root, arena })
}

/// Parses a type in the spelling of JSON: the part of a name before the dot is the module that defines the type.
///
/// # Errors
///
/// If the text is invalid. The entries have source positions in the file `Prelude`.
pub fn parse_type(text: &str) -> Result<Type, Failure> {
    let whole = |parser: &mut Parser<'_>| {
        parser.names_are_global = true;
        parser.parse_whole(Parser::parse_type, "the end of the type")
    };
    parse("Prelude", text.as_bytes(), whole, |_, _, kind| kind)
}

impl FromStr for Type {
    type Err = Failure;

    /// Parses a type in the spelling of JSON, which [`Type::global`] writes: see [`parse_type`]. The text of `Display`
    /// is for people, and can spell names in another way.
    fn from_str(text: &str) -> Result<Self, Failure> {
        parse_type(text)
    }
}

/// Parses a list of statements.
///
/// # Errors
///
/// If the text is invalid. The first entry is the error that the reference reports.
pub fn parse_statements(file: &str, text: &[u8]) -> Result<(Vec<Statement>, Source, Arena), Failure> {
    let whole = |parser: &mut Parser<'_>| parser.parse_whole(Parser::parse_statements, "`;` or the end of the text");
    parse(file, text, whole, |source, arena, statements| (statements, source, arena))
}

/// Parses a text with `read`. Converts the result with `join` if there are no errors.
fn parse<'a, P, T>(
    file: &str,
    text: &'a [u8],
    read: impl FnOnce(&mut Parser<'a>) -> Parsed<P>,
    join: impl FnOnce(Source, Arena, P) -> T,
) -> Result<T, Failure> {
    let file: Arc<str> = file.into();
    if text.len() > MAX_TEXT {
        let start = Location { file, line: 1, column: 1 };
        return Err(Failure::of(Entry::at(start, "Lexical error: the text is longer than 16 MiB")));
    }
    let mut parser = Parser::new(text);
    let parts = read(&mut parser);
    let source = Source::new(file, text.into(), parser.lexer.lines().to_vec());
    match (parts, parser.errors.is_empty()) {
        (Ok(parts), true) => Ok(join(source, parser.arena, parts)),
        _ => Err(parser.into_failure(&source)),
    }
}

/// Marks an error that the parser has already reported.
#[derive(Debug)]
struct Reported;

type Parsed<T> = Result<T, Reported>;

/// One error of a text.
#[derive(Debug)]
struct Diagnostic {
    at: u32,
    message: String,
    advice: Option<Advice>,
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The next token, if the parser has read it. Like the reference, the parser reads a token as late as possible,
    /// because the time of the read determines the order of errors.
    ahead: Option<Token>,
    /// Span of the last token.
    last: Span,
    /// Span of the token before the last token.
    before_last: Span,
    errors: Vec<Diagnostic>,
    arena: Arena,
    texts: HashMap<&'a str, Arc<str>>,
    nesting: usize,
    /// Number of `end` tokens that remain for interrupted matches and address types.
    open_ends: usize,
    /// The open blocks of the current component: the component itself, and its `match` statements.
    open: Vec<Open>,
    /// The closed matches of the component, each with the source position of its `end`.
    closed: Vec<(Open, u32)>,
    names_are_global: bool,
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            lexer: Lexer::new(text),
            ahead: None,
            last: Span { start: 0, end: 0 },
            before_last: Span { start: 0, end: 0 },
            errors: Vec::new(),
            arena: Arena::default(),
            texts: HashMap::new(),
            nesting: 0,
            open_ends: 0,
            open: Vec::new(),
            closed: Vec::new(),
            names_are_global: false,
        }
    }

    fn into_failure(self, source: &Source) -> Failure {
        let entry = |error: Diagnostic| {
            let cause = error.advice.map(|advice| advice.into_cause(source));
            Entry::at(source.location(error.at), error.message).because(cause)
        };
        let entries = self.errors.into_iter().map(entry).collect();
        // A parse function reports an error before it fails, so the list has an entry. The default cannot occur.
        Failure::from_entries(entries).unwrap_or_else(|| Failure::of(Entry::nowhere("Syntax error")))
    }

    /// Reads an item that must end at the end of the text.
    fn parse_whole<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>, what: &str) -> Parsed<T> {
        let whole = read(self)?;
        self.expect(TokenKind::End, what)?;
        Ok(whole)
    }

    fn parse_expression_module(&mut self) -> Parsed<ExprId> {
        let root = self.parse_expression()?;
        if self.at(TokenKind::End) {
            Ok(root)
        } else {
            Err(self.unexpected_after_expression("the end of the expression"))
        }
    }

    // The next functions read tokens.

    fn peek(&mut self) -> Token {
        if let Some(token) = self.ahead {
            return token;
        }
        let token = if self.errors.len() < MAX_ERRORS { self.lexer.next_token() } else { self.end() };
        for error in self.lexer.take_errors() {
            self.report(error.at, error.kind.to_string());
        }
        self.ahead = Some(token);
        token
    }

    /// Returns the token for the end of the text. The parser also uses it to stop after too many errors.
    const fn end(&self) -> Token {
        Token { kind: TokenKind::End, first: self.last.end, span: Span { start: self.last.end, end: self.last.end } }
    }

    fn bump(&mut self) -> Token {
        let token = self.peek();
        if token.kind != TokenKind::End {
            self.ahead = None;
        }
        self.before_last = self.last;
        self.last = token.span;
        token
    }

    fn at(&mut self, kind: TokenKind) -> bool {
        self.peek().kind == kind
    }

    /// Takes and returns the next token if it is of this kind; otherwise returns `None`.
    fn maybe(&mut self, kind: TokenKind) -> Option<Token> {
        self.at(kind).then(|| self.bump())
    }

    fn expect(&mut self, kind: TokenKind, what: &str) -> Parsed<Token> {
        if self.at(kind) { Ok(self.bump()) } else { Err(self.unexpected(what)) }
    }

    /// Reads a token with a fixed spelling.
    fn expect_fixed(&mut self, kind: TokenKind) -> Parsed<Token> {
        if self.at(kind) {
            return Ok(self.bump());
        }
        Err(self.unexpected(&format!("`{}`", kind.spelling().unwrap_or_default())))
    }

    fn text(&self, token: Token) -> &'a str {
        std::str::from_utf8(self.lexer.bytes(token)).unwrap_or_default()
    }

    fn shared_text(&mut self, token: Token) -> Arc<str> {
        let text = self.text(token);
        Arc::clone(self.texts.entry(text).or_insert_with(|| text.into()))
    }

    // The next functions report errors, and skip tokens after errors.

    /// Reports an error, unless the last error has the same source position, or the list has [`MAX_ERRORS`] errors
    /// already.
    fn report(&mut self, at: u32, message: impl Into<String>) {
        if self.errors.len() < MAX_ERRORS && self.errors.last().is_none_or(|last| last.at != at) {
            self.errors.push(Diagnostic { at, message: message.into(), advice: None });
        }
    }

    /// Reports that the next token is not the expected one.
    fn unexpected(&mut self, expected: &str) -> Reported {
        self.unexpected_because(expected, None)
    }

    /// Reports that the next token is not the expected one, with a hint.
    fn unexpected_because(&mut self, expected: &str, hint: Option<&str>) -> Reported {
        let token = self.peek();
        if token.kind != TokenKind::Unknown {
            let hint = hint.map_or_else(String::new, |hint| format!(" ({hint})"));
            let message = format!("Syntax error: expected {expected}, but found {}{hint}", self.describe(token));
            self.report(token.span.end, message);
        }
        Reported
    }

    fn describe(&self, token: Token) -> String {
        // A token can be as long as the whole text, so the error shows at most this number of bytes.
        const LONGEST: usize = 40;
        let text = self.text(token);
        let shown = text.get(..LONGEST).map_or_else(|| text.to_owned(), |start| format!("{start}…"));
        match token.kind {
            TokenKind::End => "the end of the text".to_owned(),
            TokenKind::String => "a string".to_owned(),
            TokenKind::Number => format!("the number {shown}"),
            kind if TokenKind::keyword(text) == Some(kind) => format!("the keyword `{shown}`"),
            _ => format!("`{shown}`"),
        }
    }

    /// Skips tokens until `such` returns true for the next token and the token before it, or to the end of the text.
    fn skip_to(&mut self, such: impl Fn(TokenKind, TokenKind) -> bool) {
        let mut before = TokenKind::Unknown;
        loop {
            let kind = self.peek().kind;
            if kind == TokenKind::End || such(kind, before) {
                return;
            }
            before = kind;
            self.bump();
        }
    }

    /// Parses an item one nesting level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.check_nesting(1)?;
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        result
    }

    /// Reports an error if `more` further levels exceed [`MAX_NESTING`].
    fn check_nesting(&mut self, more: usize) -> Parsed<()> {
        if self.nesting + more <= MAX_NESTING {
            return Ok(());
        }
        let at = self.peek().span.start;
        self.report(at, format!("Syntax error: nested more than {MAX_NESTING} levels deep"));
        Err(Reported)
    }

    // The next functions read names.

    /// Returns whether the next token begins the name of a value.
    fn at_name(&mut self) -> bool {
        matches!(self.peek().kind, TokenKind::Id | TokenKind::Spid | TokenKind::Cid)
    }

    /// Reads the name of a value, with an optional namespace.
    fn expect_name(&mut self, what: &str) -> Parsed<Ident> {
        let token = self.peek();
        match token.kind {
            TokenKind::Id | TokenKind::Spid => {
                self.bump();
                Ok(self.simple(token))
            }
            TokenKind::Cid => {
                self.bump();
                if self.maybe(TokenKind::Period).is_none() {
                    let hint = "types, constructors and namespaces, which begin with a capital letter, are no values";
                    let number = self.at(TokenKind::Number).then(|| self.peek().span.end);
                    let reported = self.unexpected_because("`.` and a name", Some(hint));
                    if let Some(at) = number {
                        self.advise(at, Advice::NotAName { written: None });
                    }
                    return Err(reported);
                }
                let base = self.expect(TokenKind::Id, "a name in the namespace")?;
                Ok(self.qualified(token, base))
            }
            _ => Err(self.no_name(what)),
        }
    }

    /// Reads the names of values up to the first other token.
    fn parse_names(&mut self) -> Parsed<Vec<Ident>> {
        let mut names = Vec::new();
        while self.at_name() {
            names.push(self.expect_name("a name")?);
        }
        Ok(names)
    }

    /// Reads the name of a type or a constructor, with an optional namespace.
    fn expect_upper_name(&mut self, what: &str) -> Parsed<Ident> {
        let token = self.peek();
        match token.kind {
            TokenKind::Cid => {
                self.bump();
                self.parse_upper_name_after(token)
            }
            TokenKind::Hex => {
                self.bump();
                self.expect(TokenKind::Period, "`.` and the name of a type or constructor")?;
                self.parse_upper_base(token)
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// Reads the remaining part of the name of a type or constructor, after its first token.
    fn parse_upper_name_after(&mut self, first: Token) -> Parsed<Ident> {
        match self.maybe(TokenKind::Period) {
            Some(_) => self.parse_upper_base(first),
            None => Ok(self.simple(first)),
        }
    }

    fn parse_upper_base(&mut self, namespace: Token) -> Parsed<Ident> {
        let base = self.expect(TokenKind::Cid, "the name of a type or constructor in the namespace")?;
        Ok(self.qualified(namespace, base))
    }

    /// Reads a name that cannot have a namespace.
    fn expect_simple(&mut self, kind: TokenKind, what: &str) -> Parsed<Ident> {
        let token = self.expect(kind, what)?;
        Ok(self.simple(token))
    }

    fn simple(&mut self, token: Token) -> Ident {
        Ident::new(Name::simple(self.shared_text(token)), token.span)
    }

    fn qualified(&mut self, namespace: Token, base: Token) -> Ident {
        let prefix: Arc<str> = match namespace.kind {
            TokenKind::Hex => self.text(namespace).to_ascii_lowercase().into(),
            _ => self.shared_text(namespace),
        };
        let name = Name::qualified(Arc::clone(&prefix), self.shared_text(base));
        let name = if self.names_are_global { name.defined_in(prefix) } else { name };
        Ident::new(name, namespace.span.to(base.span))
    }
}

#[cfg(test)]
mod tests;
