//! Tokens of a source text.

use crate::source::Span;

/// One token of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Kind of the token.
    pub(super) kind: TokenKind,
    /// Offset of the first byte. For a string literal, this is the opening quote, but `span` begins at the closing
    /// quote.
    pub(super) first: u32,
    /// Span of the token in error messages.
    pub(super) span: Span,
}

/// Defines the tokens with a fixed spelling: variant, spelling, and whether the token is a word.
macro_rules! fixed_tokens {
    (words { $($word:ident $word_text:literal)* } signs { $($sign:ident $sign_text:literal)* }) => {
        /// The kinds of tokens.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum TokenKind {
            /// A name of a type, constructor, library or namespace. It begins with an upper-case letter.
            Cid,
            /// The end of the text.
            End,
            /// `0x` and an even number of hexadecimal digits.
            Hex,
            /// A name of a value. It begins with a lower-case letter.
            Id,
            /// An integer with an optional minus sign.
            Number,
            /// A name that begins with an underscore.
            Spid,
            /// A string literal.
            String,
            /// A type variable: a quote and a name that begins with an upper-case letter.
            Tid,
            /// Bytes that are not a token. The lexer has reported them.
            Unknown,
            $(#[doc = concat!("`", $word_text, "`")] $word,)*
            $(#[doc = concat!("`", $sign_text, "`")] $sign,)*
        }

        impl TokenKind {
            /// Returns the keyword with this spelling, or `None` if no keyword has this spelling.
            pub(super) fn keyword(text: &str) -> Option<Self> {
                match text {
                    $($word_text => Some(Self::$word),)*
                    _ => None,
                }
            }

            /// Returns the spelling of the token, or `None` if its kind has no fixed spelling.
            pub(super) const fn spelling(self) -> Option<&'static str> {
                match self {
                    $(Self::$word => Some($word_text),)*
                    $(Self::$sign => Some($sign_text),)*
                    Self::Cid | Self::End | Self::Hex | Self::Id | Self::Number | Self::Spid | Self::String | Self::Tid
                    | Self::Unknown => None,
                }
            }
        }
    };
}

fixed_tokens! {
    words {
        Accept "accept"
        As "as"
        Builtin "builtin"
        Catch "catch"
        Contract "contract"
        Delete "delete"
        Emp "Emp"
        EndWord "end"
        Event "event"
        Exists "exists"
        Field "field"
        Forall "forall"
        Fun "fun"
        Import "import"
        In "in"
        Let "let"
        Library "library"
        Map "Map"
        Match "match"
        Of "of"
        Procedure "procedure"
        ScillaVersion "scilla_version"
        Send "send"
        Tfun "tfun"
        Throw "throw"
        Transition "transition"
        Try "try"
        Type "type"
        With "with"
    }
    signs {
        And "&"
        Arrow "=>"
        Assign ":="
        At "@"
        Bar "|"
        BraceClose "}"
        BraceOpen "{"
        BracketClose "]"
        BracketOpen "["
        Colon ":"
        Comma ","
        Equals "="
        Fetch "<-"
        ParenClose ")"
        ParenOpen "("
        Period "."
        Semicolon ";"
        TypeArrow "->"
        Underscore "_"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_spelled_as_they_are_read() {
        for kind in [TokenKind::Accept, TokenKind::EndWord, TokenKind::ScillaVersion, TokenKind::Emp] {
            let spelling = kind.spelling().expect("keywords have one spelling");
            assert_eq!(TokenKind::keyword(spelling), Some(kind));
        }
        assert_eq!(TokenKind::keyword("emp"), None);
        assert_eq!(TokenKind::keyword("=>"), None);
    }
}
