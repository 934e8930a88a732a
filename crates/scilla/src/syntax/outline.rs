//! The parts of a module for tools: their positions and their documentation.
//!
//! The documentation of a part is the comments directly before the part. Between these comments, and before the part,
//! there is no empty line. A comment at the end of the line of an earlier part does not belong to the documentation.

use std::{collections::BTreeMap, ops::Range};

use super::{
    ast::{ComponentKind, ContractModule, Library, LibraryEntry, LibraryModule},
    lexer::Lexer,
    pretty::contents,
    token::{Token, TokenKind},
};
use crate::source::{Location, Source};

/// Kind of a part of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartKind {
    /// The contract itself.
    Contract,
    /// A field of the contract.
    Field,
    /// The library of the module.
    Library,
    /// A procedure of the contract.
    Procedure,
    /// A transition of the contract.
    Transition,
    /// A data type of the library.
    Type,
}

/// A part of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The documentation, or `None` if there are no comments directly before the part.
    pub documentation: Option<String>,
    /// Position of the keyword at which the part begins.
    pub start: Location,
    /// Position after a transition or procedure; `None` for all other parts.
    pub end: Option<Location>,
}

/// The parts of a module by kind and [global name](crate::name::Name::global).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline(BTreeMap<(PartKind, String), Part>);

impl Outline {
    /// Returns the parts of a contract module.
    pub fn of_contract(module: &ContractModule) -> Self {
        let mut outline = Self::default();
        let heads = Heads::of(&module.source);
        if let Some(library) = &module.library {
            outline.add_library(library, &heads);
        }
        let contract = &module.contract;
        let name = |name: &crate::name::Name| name.global().to_string();
        outline.add(PartKind::Contract, name(&contract.name.name), heads.part(contract.name.span.start));
        for field in &contract.fields {
            outline.add(PartKind::Field, name(&field.name.name), heads.part(field.name.span.start));
        }
        for component in &contract.components {
            let kind = match component.kind {
                ComponentKind::Procedure => PartKind::Procedure,
                ComponentKind::Transition => PartKind::Transition,
            };
            let end = Some(module.source.location(component.span.end));
            outline.add(kind, name(&component.name.name), Part { end, ..heads.part(component.span.start) });
        }
        outline
    }

    /// Returns the parts of a library module.
    pub fn of_library(module: &LibraryModule) -> Self {
        let mut outline = Self::default();
        outline.add_library(&module.library, &Heads::of(&module.source));
        outline
    }

    /// Returns a part, or `None` if the module has no such part.
    pub fn part(&self, kind: PartKind, name: &str) -> Option<&Part> {
        self.0.get(&(kind, name.to_owned()))
    }

    fn add_library(&mut self, library: &Library, heads: &Heads<'_>) {
        self.add(PartKind::Library, library.name.name.global().to_string(), heads.part(library.name.span.start));
        for entry in &library.entries {
            if let LibraryEntry::Type { name, .. } = entry {
                self.add(PartKind::Type, name.name.global().to_string(), heads.part(name.span.start));
            }
        }
    }

    fn add(&mut self, kind: PartKind, name: String, part: Part) {
        self.0.insert((kind, name), part);
    }
}

/// Returns whether a text is a library module. A text that is neither a library nor a contract counts as a contract.
pub fn is_library(text: &[u8]) -> bool {
    ModuleHead::of(text).kind == Some(PartKind::Library)
}

/// Returns the name of the contract or of the library module in a text, or `None` if the text has no such name.
pub fn module_name(text: &[u8]) -> Option<String> {
    ModuleHead::of(text).name
}

/// The kind and the name of a module.
#[derive(Default)]
struct ModuleHead {
    kind: Option<PartKind>,
    name: Option<String>,
}

impl ModuleHead {
    /// Reads a text up to the name of the contract, or to the end.
    fn of(text: &[u8]) -> Self {
        let name = |token: &Token| {
            let part = text.get(token.span.start as usize..token.span.end as usize)?;
            (token.kind == TokenKind::Cid).then(|| String::from_utf8_lossy(part).into_owned())
        };
        let mut lexer = Lexer::new(text);
        let (mut library, mut before) = (Self::default(), TokenKind::End);
        loop {
            let token = lexer.next_token();
            // The `contract` of an address type follows `with`.
            if token.kind == TokenKind::Contract && before != TokenKind::With {
                return Self { kind: Some(PartKind::Contract), name: name(&lexer.next_token()) };
            }
            if token.kind == TokenKind::End {
                return library;
            }
            if token.kind == TokenKind::Library {
                library.kind = Some(PartKind::Library);
            } else if before == TokenKind::Library {
                library.name = name(&token);
            }
            before = token.kind;
        }
    }
}

/// The keywords at which parts begin.
const HEADS: [TokenKind; 6] = [
    TokenKind::Contract,
    TokenKind::Field,
    TokenKind::Library,
    TokenKind::Procedure,
    TokenKind::Transition,
    TokenKind::Type,
];

/// The keywords in a text, by their offset and by the offset of the token after the keyword.
struct Heads<'a> {
    source: &'a Source,
    heads: BTreeMap<u32, Head>,
}

#[derive(Clone)]
struct Head {
    keyword: u32,
    documentation: Option<String>,
}

impl<'a> Heads<'a> {
    fn of(source: &'a Source) -> Self {
        let text = source.text();
        let (mut lexer, mut heads) = (Lexer::new(text), BTreeMap::new());
        let (mut comments, mut end_of_last, mut named) = (0, 0, None);
        loop {
            let token = lexer.next_token();
            if let Some(head) = named.take() {
                heads.entry(token.first).or_insert(head);
            }
            if token.kind == TokenKind::End {
                return Self { source, heads };
            }
            if HEADS.contains(&token.kind) {
                let before = lexer.comments().get(comments..).unwrap_or_default();
                let documentation = documentation(text, end_of_last, before, token.first);
                let head = Head { keyword: token.first, documentation };
                heads.insert(token.first, head.clone());
                named = Some(head);
            }
            comments = lexer.comments().len();
            end_of_last = token.span.end;
        }
    }

    /// Returns the part whose keyword or name is at this offset.
    fn part(&self, at: u32) -> Part {
        let head = self.heads.get(&at);
        Part {
            documentation: head.and_then(|head| head.documentation.clone()),
            start: self.source.location(head.map_or(at, |head| head.keyword)),
            end: None,
        }
    }
}

/// Returns the documentation of a part that begins at `part`. `comments` are all comments after the previous token,
/// which ends at `from`.
fn documentation(text: &[u8], from: u32, comments: &[Range<u32>], part: u32) -> Option<String> {
    let between = |start: u32, end: u32| text.get(start as usize..end as usize).unwrap_or_default();
    let mut texts = Vec::new();
    let mut next = part;
    for (index, comment) in comments.iter().enumerate().rev() {
        if line_breaks(between(comment.end, next)) > 1 {
            break;
        }
        let is_first_on_line = index > 0 || from == 0 || line_breaks(between(from, comment.start)) > 0;
        if !is_first_on_line {
            break;
        }
        texts.push(plain(between(comment.start, comment.end)));
        next = comment.start;
    }
    let lines: Vec<&str> = texts.iter().rev().flat_map(|text| text.lines()).collect();
    let first = lines.iter().position(|line| !line.is_empty())?;
    let last = lines.iter().rposition(|line| !line.is_empty())?;
    Some(lines.get(first..=last)?.join("\n"))
}

/// Returns the number of line breaks in blanks. CR LF counts as one.
fn line_breaks(blanks: &[u8]) -> usize {
    String::from_utf8_lossy(blanks).replace("\r\n", "\n").matches(['\n', '\r']).count()
}

/// Returns the text of a comment without its brackets, and without asterisks and blanks around its lines.
fn plain(comment: &[u8]) -> String {
    let contents = contents(comment);
    let inner = contents.strip_prefix("(*").and_then(|rest| rest.strip_suffix("*)")).unwrap_or(&contents);
    let lines: Vec<&str> = inner.lines().map(|line| line.trim().trim_matches('*').trim()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{parse_contract, parse_library};

    const SOURCE: &str = "(* The head. *)
scilla_version 0

(* The library. *)
library Box

(* A colour. *) (* Of three. *)
type Colour =
| Red
| Green (* not red *)

let red = Red

(****************************)
(*        Contract          *)
(****************************)

(* Holds things.
 * For everybody.
 *)
contract Box (owner : ByStr20 with contract field x : Uint32 end)

field first : Uint32 = Uint32 0 (* of the first *)
(* The second. *)
field second : Uint32 = Uint32 1

field third : String = \"(* no comment *)\"
(**)
procedure Look ()
end

(* Stands alone. *)

(* @dev: opens the box. *)
(* @param who: opens it *)
transition Open (who : ByStr20)
  accept
end
transition Close () end
";

    #[test]
    fn comments_directly_before_a_part_are_its_documentation() {
        let module = parse_contract("box.scilla", SOURCE.as_bytes()).unwrap();
        let outline = Outline::of_contract(&module);
        let found = |kind, name: &str| {
            let part = outline.part(kind, name).unwrap();
            let end = part.end.as_ref().map(|end| (end.line, end.column));
            (part.documentation.as_deref(), (part.start.line, part.start.column), end)
        };
        assert_eq!(found(PartKind::Library, "Box"), (Some("The library."), (5, 1), None));
        assert_eq!(found(PartKind::Type, "Colour"), (Some("A colour.\nOf three."), (8, 1), None));
        assert_eq!(found(PartKind::Contract, "Box"), (Some("Holds things.\nFor everybody."), (21, 1), None));
        assert_eq!(found(PartKind::Field, "first"), (None, (23, 1), None));
        assert_eq!(found(PartKind::Field, "second"), (Some("The second."), (25, 1), None));
        assert_eq!(found(PartKind::Field, "third"), (None, (27, 1), None));
        assert_eq!(found(PartKind::Procedure, "Look"), (None, (29, 1), Some((30, 4))));
        let open = Some("@dev: opens the box.\n@param who: opens it");
        assert_eq!(found(PartKind::Transition, "Open"), (open, (36, 1), Some((38, 4))));
        assert_eq!(found(PartKind::Transition, "Close"), (None, (39, 1), Some((39, 24))));
        assert_eq!(outline.part(PartKind::Transition, "Look"), None);
    }

    #[test]
    fn libraries_have_parts_and_bytes_that_are_no_text() {
        let text = b"(*\xff*)\r\nscilla_version 0\r\n(* a\r\n\r\n b *)\r\nlibrary L\r\n(* c *)\r\n\r\ntype T\r\n(* \xff *) type U = | A";
        let outline = Outline::of_library(&parse_library("l.scillib", text).unwrap());
        let of = |kind, name: &str| outline.part(kind, name).unwrap().documentation.clone();
        assert_eq!(of(PartKind::Library, "L").as_deref(), Some("a\n\nb"));
        assert_eq!(of(PartKind::Type, "T"), None);
        assert_eq!(of(PartKind::Type, "U").as_deref(), Some("\u{fffd}"));
    }

    #[test]
    fn a_library_is_known_by_its_keywords() {
        assert!(is_library(b"scilla_version 0 library L let f = fun (a : ByStr20 with contract end) => a"));
        assert!(!is_library(SOURCE.as_bytes()));
        for neither in ["", "contract", "library L contract", "(* library L", "scilla_version 0", "\"library\""] {
            assert!(!is_library(neither.as_bytes()), "{neither}");
        }
    }

    #[test]
    fn module_has_the_name_of_its_contract_or_library() {
        let of = |text: &str| module_name(text.as_bytes());
        assert_eq!(of(SOURCE).as_deref(), Some("Box"));
        assert_eq!(of("library L let f = fun (a : ByStr20 with contract end) => a").as_deref(), Some("L"));
        assert_eq!(of("library L contract C (library : Uint32)").as_deref(), Some("C"));
        for without in ["", "contract", "contract c ()", "library", "(* contract C *)", "\"contract C\""] {
            assert_eq!(of(without), None, "{without}");
        }
    }
}
