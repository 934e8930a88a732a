//! The grammar of statements.

use super::{Parsed, Parser, Reported, advice::Open};
use crate::{
    name::Ident,
    syntax::{
        ast::{ChainRead, Statement, StatementClause, StatementKind, Want},
        token::{Token, TokenKind},
    },
};

impl Parser<'_> {
    /// Parses statements with `;` between them. The list may be empty.
    ///
    /// After an error in one statement, the parser continues with the next one.
    pub(super) fn parse_statements(&mut self) -> Parsed<Vec<Statement>> {
        let mut statements = Vec::new();
        if !self.at_statement() {
            return Ok(statements);
        }
        loop {
            match self.parse_statement(!statements.is_empty()) {
                Ok(statement) => statements.push(statement),
                Err(Reported) => self.skip_statement()?,
            }
            if self.maybe(TokenKind::Semicolon).is_none() && !self.continue_without_semicolon()? {
                return Ok(statements);
            }
        }
    }

    fn at_statement(&mut self) -> bool {
        use TokenKind::{Accept, Cid, Delete, Event, Forall, Id, Match, Send, Spid, Throw};
        matches!(self.peek().kind, Accept | Cid | Delete | Event | Forall | Id | Match | Send | Spid | Throw)
    }

    /// Reports a missing `;`, unless the list ends at the next token. Returns whether another statement follows.
    fn continue_without_semicolon(&mut self) -> Parsed<bool> {
        if matches!(self.peek().kind, TokenKind::Bar | TokenKind::End | TokenKind::EndWord) {
            return Ok(false);
        }
        let starts_statement = self.at_statement();
        let Reported = self.unexpected_after_expression("`;` or `end`");
        self.advise_semicolon(starts_statement);
        self.advise_end(None);
        if starts_statement {
            return Ok(true);
        }
        self.skip_statement()?;
        Ok(self.maybe(TokenKind::Semicolon).is_some())
    }

    /// Skips the remaining tokens of an invalid statement, up to the next `;` or the end of the list.
    fn skip_statement(&mut self) -> Parsed<()> {
        use TokenKind::{Bar, Contract, End, EndWord, Field, Match, Procedure, Semicolon, Transition, With};
        let mut open = std::mem::take(&mut self.open_ends);
        let mut head = false;
        loop {
            match self.peek().kind {
                End | Field | Procedure | Transition => return Err(Reported),
                Bar | EndWord | Semicolon if open == 0 => return Ok(()),
                Match => {
                    open += 1;
                    head = true;
                }
                With if head => head = false,
                // An address type has its own `end`, and may have `contract` before its fields.
                With => {
                    self.bump();
                    open += 1;
                    if self.at(Contract) {
                        self.skip_to(|kind, _| matches!(kind, EndWord | Semicolon | Procedure | Transition));
                    }
                    continue;
                }
                EndWord => open -= 1,
                _ => {}
            }
            self.bump();
        }
    }

    fn parse_statement(&mut self, behind_semicolon: bool) -> Parsed<Statement> {
        let token = self.peek();
        let kind = match token.kind {
            TokenKind::Accept => {
                self.bump();
                StatementKind::Accept
            }
            TokenKind::Cid => {
                self.bump();
                self.parse_call(token)?
            }
            TokenKind::Delete => self.parse_delete()?,
            TokenKind::Event => {
                self.bump();
                StatementKind::Event(self.expect_name("the name of an event")?)
            }
            TokenKind::Forall => self.parse_for_each()?,
            TokenKind::Id => self.parse_statement_of_name()?,
            TokenKind::Match => self.parse_match_statement()?,
            TokenKind::Send => {
                self.bump();
                StatementKind::Send(self.expect_name("the name of a list of messages")?)
            }
            TokenKind::Spid => self.parse_return()?,
            TokenKind::Throw => {
                self.bump();
                let exception = if self.at_name() { Some(self.expect_name("a name")?) } else { None };
                StatementKind::Throw(exception)
            }
            _ => {
                let hint = behind_semicolon.then_some("no `;` stands behind the last statement");
                return Err(self.unexpected_because("a statement", hint));
            }
        };
        Ok(Statement { kind, span: token.span.to(self.last) })
    }

    /// Parses the arguments of a procedure after its name.
    fn parse_call(&mut self, procedure: Token) -> Parsed<StatementKind> {
        let arguments = self.parse_names()?;
        Ok(StatementKind::Call { to: None, procedure: self.simple(procedure), arguments })
    }

    fn parse_delete(&mut self) -> Parsed<StatementKind> {
        self.bump();
        let map = self.expect_simple(TokenKind::Id, "the name of a field")?;
        let keys = self.parse_keys()?;
        Ok(StatementKind::MapDelete { map, keys })
    }

    fn parse_for_each(&mut self) -> Parsed<StatementKind> {
        self.bump();
        let list = self.expect_name("the name of a list")?;
        let token = self.peek();
        if !matches!(token.kind, TokenKind::Cid | TokenKind::Id) {
            return Err(self.unexpected("the name of a procedure"));
        }
        self.bump();
        Ok(StatementKind::ForEach { list, procedure: self.simple(token) })
    }

    /// Parses at least one key in square brackets.
    fn parse_keys(&mut self) -> Parsed<Vec<Ident>> {
        let mut keys = Vec::new();
        loop {
            self.expect(TokenKind::BracketOpen, "`[` and a key")?;
            keys.push(self.expect_name("the name of a key")?);
            self.expect(TokenKind::BracketClose, "`]` behind the key")?;
            if !self.at(TokenKind::BracketOpen) {
                return Ok(keys);
            }
        }
    }

    fn parse_match_statement(&mut self) -> Parsed<StatementKind> {
        let open = Open { what: "match", keyword: self.bump().span };
        let scrutinee = self.parse_scrutinee()?;
        let depth = self.open.len();
        self.open.push(open);
        let clauses = self.nested(|parser| parser.until_end(Self::parse_statement_clauses));
        self.open.truncate(depth);
        let clauses = clauses?;
        self.closed.push((open, self.last.start));
        Ok(StatementKind::Match { scrutinee, clauses })
    }

    /// Parses the clauses of a match, and its `end`.
    fn parse_statement_clauses(&mut self) -> Parsed<Vec<StatementClause>> {
        let mut clauses = Vec::new();
        while self.maybe(TokenKind::Bar).is_some() {
            let pattern = self.parse_clause_head()?;
            clauses.push(StatementClause { pattern, body: self.parse_statements()? });
        }
        let what = if clauses.is_empty() { "`|` or `end`" } else { "a statement, `|` or `end`" };
        self.expect_end(what)?;
        Ok(clauses)
    }

    /// Reads the `end` of the innermost open block.
    pub(super) fn expect_end(&mut self, what: &str) -> Parsed<()> {
        if self.maybe(TokenKind::EndWord).is_some() {
            return Ok(());
        }
        let reported = self.unexpected(what);
        self.advise_end(None);
        Err(reported)
    }

    fn parse_return(&mut self) -> Parsed<StatementKind> {
        let target = self.bump();
        self.expect(TokenKind::Assign, "`:=` and what the procedure returns")?;
        let value = self.expect_name("the name of what is returned")?;
        if self.text(target) != "_return" {
            let message = format!("Syntax error: Illegal assignment to {}", self.text(target));
            self.report(target.span.start, message);
        }
        // The reference reports the returned name at the beginning of the statement.
        Ok(StatementKind::Return(Ident::new(value.name, target.span)))
    }

    /// Parses a statement that begins with a lower-case name: an assignment or the call of a procedure.
    fn parse_statement_of_name(&mut self) -> Parsed<StatementKind> {
        let token = self.bump();
        match self.peek().kind {
            TokenKind::Assign => {
                self.bump();
                let field = self.simple(token);
                Ok(StatementKind::Store { field, value: self.expect_stored(token)? })
            }
            TokenKind::BracketOpen => {
                let keys = self.parse_keys()?;
                self.expect(TokenKind::Assign, "`[` or `:=`")?;
                let map = self.simple(token);
                Ok(StatementKind::MapPut { map, keys, value: self.expect_stored(token)? })
            }
            TokenKind::Equals => {
                self.bump();
                let to = self.simple(token);
                Ok(StatementKind::Bind { to, value: self.parse_expression()? })
            }
            TokenKind::Fetch => {
                self.bump();
                let to = self.simple(token);
                self.parse_read(token, to)
            }
            kind if self.at_name() || ends_statement(kind) => self.parse_call(token),
            _ => Err(self.unexpected_after_expression("`=`, `<-`, `:=`, `[`, or the arguments of a procedure")),
        }
    }

    /// Reads the name after `:=`, which is the stored value.
    fn expect_stored(&mut self, statement: Token) -> Parsed<Ident> {
        let value = self.peek();
        let name = self.expect_name("the name of what is stored");
        if name.is_err() {
            self.advise_to_bind(statement, value);
        }
        name
    }

    /// Parses the part after `x <-`.
    fn parse_read(&mut self, first: Token, to: Ident) -> Parsed<StatementKind> {
        let token = self.peek();
        match token.kind {
            TokenKind::And => {
                self.bump();
                self.parse_foreign_read(first, to)
            }
            TokenKind::Exists => {
                self.bump();
                let map = self.expect_simple(TokenKind::Id, "the name of a field")?;
                Ok(StatementKind::MapGet { to, map, keys: self.parse_keys()?, want: Want::Existence })
            }
            _ => {
                let field = self.expect_name("the name of a field, `exists` or `&`")?;
                if token.kind == TokenKind::Id && self.at(TokenKind::BracketOpen) {
                    return Ok(StatementKind::MapGet { to, map: field, keys: self.parse_keys()?, want: Want::Value });
                }
                Ok(StatementKind::Load { to, field })
            }
        }
    }

    /// Parses the part after `x <- &`.
    fn parse_foreign_read(&mut self, first: Token, to: Ident) -> Parsed<StatementKind> {
        let token = self.peek();
        match token.kind {
            TokenKind::Cid => {
                self.bump();
                if self.maybe(TokenKind::Period).is_none() {
                    return self.parse_chain_read(first, to, token);
                }
                let base = self.expect(TokenKind::Id, "a name in the namespace")?;
                let address = self.qualified(token, base);
                self.parse_cast(to, address, "`as` and an address type")
            }
            TokenKind::Exists => {
                self.bump();
                let address = self.expect_simple(TokenKind::Id, "the name of an address")?;
                self.expect(TokenKind::Period, "`.` and the name of a field")?;
                let map = self.expect_simple(TokenKind::Id, "the name of a field")?;
                let keys = self.parse_keys()?;
                Ok(StatementKind::RemoteMapGet { to, address, map, keys, want: Want::Existence })
            }
            TokenKind::Id => {
                self.bump();
                let address = self.simple(token);
                match self.maybe(TokenKind::Period) {
                    Some(_) => self.parse_remote_read(to, address),
                    None => self.parse_cast(to, address, "`.` and a field, or `as` and an address type"),
                }
            }
            TokenKind::Spid => {
                self.bump();
                let address = self.simple(token);
                if self.maybe(TokenKind::Period).is_none() {
                    return self.parse_cast(to, address, "`.` and a field, or `as` and an address type");
                }
                let field = self.expect_simple(TokenKind::Spid, "a field such as `_balance`")?;
                Ok(StatementKind::RemoteLoad { to, address, field })
            }
            _ => Err(self.unexpected("a read of the chain, the name of an address, or `exists`")),
        }
    }

    fn parse_cast(&mut self, to: Ident, address: Ident, what: &str) -> Parsed<StatementKind> {
        self.expect(TokenKind::As, what)?;
        let (ty, kind_span) = self.expect_address()?;
        Ok(StatementKind::Cast { to, address, ty, kind_span })
    }

    /// Parses the field after the name of an address and a dot.
    fn parse_remote_read(&mut self, to: Ident, address: Ident) -> Parsed<StatementKind> {
        let token = self.peek();
        if token.kind == TokenKind::ParenOpen {
            self.bump();
            let field = self.expect_name("the name of a parameter")?;
            self.expect_fixed(TokenKind::ParenClose)?;
            let message = "Syntax error: Remote fetch of contract parameters not yet supported";
            self.report(address.span.start, message);
            return Ok(StatementKind::RemoteLoad { to, address, field });
        }
        let field = self.expect_name("the name of a field")?;
        if token.kind == TokenKind::Id && self.at(TokenKind::BracketOpen) {
            let keys = self.parse_keys()?;
            return Ok(StatementKind::RemoteMapGet { to, address, map: field, keys, want: Want::Value });
        }
        Ok(StatementKind::RemoteLoad { to, address, field })
    }

    /// Parses the arguments of a read of the chain. As in the reference, arguments of reads without parameters are
    /// ignored.
    fn parse_chain_read(&mut self, first: Token, to: Ident, operation: Token) -> Parsed<StatementKind> {
        let arguments = self.maybe_chain_arguments()?;
        let what = match (self.text(operation), <[Ident; 1]>::try_from(arguments)) {
            ("BLOCKNUMBER", _) => ChainRead::BlockNumber,
            ("CHAINID", _) => ChainRead::ChainId,
            ("TIMESTAMP", Ok([block])) => ChainRead::Timestamp(block),
            ("TIMESTAMP", Err(_)) => {
                self.report(first.span.start, "Syntax error: TIMESTAMP takes a single blocknumber argument");
                ChainRead::BlockNumber
            }
            (unknown, _) => {
                let message = format!("Syntax error: Unknown blockchain fetch operation {unknown}");
                self.report(first.span.start, message);
                ChainRead::BlockNumber
            }
        };
        Ok(StatementKind::ReadChain { to, what })
    }

    fn maybe_chain_arguments(&mut self) -> Parsed<Vec<Ident>> {
        if self.maybe(TokenKind::ParenOpen).is_none() {
            if ends_statement(self.peek().kind) {
                return Ok(Vec::new());
            }
            return Err(self.unexpected("`(`, `.`, or the end of the statement"));
        }
        let mut arguments = Vec::new();
        loop {
            arguments.push(self.expect_name("the name of an argument")?);
            if self.maybe(TokenKind::Comma).is_none() {
                self.expect(TokenKind::ParenClose, "`,` or `)`")?;
                return Ok(arguments);
            }
        }
    }
}

/// Returns whether a token may come after a statement.
const fn ends_statement(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Bar | TokenKind::End | TokenKind::EndWord | TokenKind::Semicolon)
}
