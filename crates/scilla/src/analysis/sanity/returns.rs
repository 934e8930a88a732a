//! Checks that a procedure with a result returns a value, and has no statement after the return.

use super::{Subject, shown};
use crate::{
    report::Entry,
    syntax::ast::{Statement, StatementKind},
    typecheck::Text,
};

/// Returns the error of the first procedure whose returns are wrong.
pub(super) fn contract(subject: Subject<'_>) -> Result<(), Entry> {
    let procedures = subject.contract.components.iter();
    for procedure in procedures.filter(|component| component.is_procedure() && component.result.is_some()) {
        if !returns(&procedure.body, subject.text)? {
            let text = format!("Procedure with return value doesn't return: {}", shown(&procedure.name));
            return Err(subject.text.error(procedure.name.span, text));
        }
    }
    Ok(())
}

/// Returns whether statements return on every path. Code after a return is an error, and so is a match in which only
/// some branches return.
///
/// If a match has no `return` in any branch, the result is `false`, even if a `return` follows the match. The reference
/// rejects such procedures too.
fn returns(statements: &[Statement], text: Text<'_>) -> Result<bool, Entry> {
    for (index, statement) in statements.iter().enumerate() {
        let is_last = index + 1 == statements.len();
        match &statement.kind {
            StatementKind::Return(_) if is_last => return Ok(true),
            StatementKind::Return(value) => {
                return Err(text.error(value.span, "Found unreachable code after the return statement"));
            }
            StatementKind::Match { .. } if !has_return(statement) => return Ok(false),
            StatementKind::Match { .. } if !is_last => {
                let message = "Found unreachable code after the match statement whose arms return";
                return Err(text.error(statement.span, message));
            }
            StatementKind::Match { scrutinee, clauses } => {
                for clause in clauses {
                    if !returns(&clause.body, text)? {
                        let message = "Every arm of the match statement must return because one of the arms returns";
                        return Err(text.error(scrutinee.span, message));
                    }
                }
                return Ok(true);
            }
            _ => {}
        }
    }
    Ok(false)
}

fn has_return(statement: &Statement) -> bool {
    let mut found = false;
    statement.visit(&mut |statement| found |= matches!(statement.kind, StatementKind::Return(_)));
    found
}
