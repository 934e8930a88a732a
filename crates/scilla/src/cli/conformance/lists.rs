//! The suite's lists of cases, which are OCaml code.
//!
//! The parser supports only the parts of OCaml that the lists use: words, strings, lists and comments.

/// A token of an OCaml list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A single character.
    Sign(char),
    /// The text between quotes.
    Text(String),
    /// A name, a path of names, or a number.
    Word(String),
}

impl Token {
    pub(super) fn as_word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            Self::Sign(_) | Self::Text(_) => None,
        }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Sign(_) | Self::Word(_) => None,
        }
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.as_word() == Some(word)
    }
}

/// Splits a text into tokens, and drops comments.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut chars = text.chars().peekable();
    let mut comments = 0_usize;
    while let Some(char) = chars.next() {
        match (char, chars.peek()) {
            ('(', Some('*')) => {
                chars.next();
                comments += 1;
            }
            ('*', Some(')')) if comments > 0 => {
                chars.next();
                comments -= 1;
            }
            ('"', _) => {
                let mut string = String::new();
                while let Some(char) = chars.next().filter(|char| *char != '"') {
                    string.push(if char == '\\' { chars.next().unwrap_or(char) } else { char });
                }
                if comments == 0 {
                    found.push(Token::Text(string));
                }
            }
            _ if comments > 0 || char.is_whitespace() => {}
            (first, _) if is_word(first) => {
                let mut word = String::from(first);
                while let Some(next) = chars.next_if(|next| is_word(*next) || *next == '.') {
                    word.push(next);
                }
                found.push(Token::Word(word));
            }
            (sign, _) => found.push(Token::Sign(sign)),
        }
    }
    found
}

fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '\'')
}

/// A definition in an OCaml module of the suite: its name, and the tokens of its value.
pub(super) type Definition<'t> = (&'t str, &'t [Token]);

/// Returns the definitions of each argument of the functor `DiffBasedTests`.
pub(super) fn modules(tokens: &[Token]) -> Vec<Vec<Definition<'_>>> {
    let is_functor = |token: &Token| token.as_word().is_some_and(|word| word.ends_with("DiffBasedTests"));
    let starts = tokens.iter().enumerate().filter(|(_, token)| is_functor(token)).map(|(index, _)| index);
    let body = |start: usize| {
        let rest = tokens.get(start..).unwrap_or_default();
        let end = rest.iter().position(|token| token.is_word("end")).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    };
    starts.map(|start| definitions(body(start))).filter(|found| !found.is_empty()).collect()
}

/// Returns the definitions by `let`. The value of a definition ends before the next `let`.
pub(super) fn definitions(tokens: &[Token]) -> Vec<Definition<'_>> {
    let mut found = Vec::new();
    for part in tokens.split(|token| token.is_word("let")).skip(1) {
        let Some(name) = part.first().and_then(Token::as_word) else { continue };
        let value = part.iter().position(|token| *token == Token::Sign('=')).map_or(part.len(), |equals| equals + 1);
        found.push((name, part.get(value..).unwrap_or_default()));
    }
    found
}

/// Returns the items of a list. Each item is a slice of tokens.
pub(super) fn items(tokens: &[Token]) -> Vec<&[Token]> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut start = None;
    for (index, token) in tokens.iter().enumerate() {
        let ends = match token {
            Token::Sign('[') => {
                depth += 1;
                if depth == 1 {
                    start = Some(index + 1);
                }
                false
            }
            Token::Sign(']') => {
                depth = depth.saturating_sub(1);
                depth == 0
            }
            Token::Sign(';') => depth == 1,
            Token::Sign(_) | Token::Text(_) | Token::Word(_) => false,
        };
        if ends && let Some(first) = start {
            found.extend(tokens.get(first..index).filter(|item| !item.is_empty()));
            start = Some(index + 1);
        }
        if ends && depth == 0 {
            break;
        }
    }
    found
}

/// Returns the strings among tokens.
pub(super) fn texts(tokens: &[Token]) -> Vec<String> {
    tokens.iter().filter_map(Token::as_text).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"
        (* a comment (* within "another" *) *)
        let explist = [ "a.x"; (* "no.x"; *) "b.x" ]
        module Tests = Util.DiffBasedTests (struct
          let gold_path dir f = [ dir; "gold"; f ^ ".gold" ]
          let runner = "tool"
          let dirs = [ [ "a"; "b" ]; [] ]
          let code : status = WEXITED 1
        end)"#;

    #[test]
    fn a_module_is_its_definitions() {
        let tokens = tokens(LIST);
        let modules = modules(&tokens);
        let [module] = modules.as_slice() else { panic!("there is one module") };
        let names: Vec<_> = module.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["gold_path", "runner", "dirs", "code"]);
        let value = |wanted: &str| module.iter().find(|(name, _)| *name == wanted).map_or(&[][..], |(_, value)| value);
        assert_eq!(texts(value("runner")), ["tool"]);
        assert_eq!(items(value("gold_path")).len(), 3);
        assert_eq!(items(value("dirs")).len(), 2);
        assert!(value("code").iter().any(|token| token.is_word("1")));
    }

    #[test]
    fn comments_are_skipped() {
        let tokens = tokens(LIST);
        let (name, value) = definitions(&tokens).first().copied().expect("the list is defined first");
        assert_eq!(name, "explist");
        let texts: Vec<_> = items(value).into_iter().flat_map(texts).collect();
        assert_eq!(texts, ["a.x", "b.x"]);
    }
}
