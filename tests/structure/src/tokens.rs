//! Paths in what macros are given, where no syntax tree is to be had. Knows tokens only.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

/// A path among tokens.
pub struct Found {
    /// `a::b::C` as its parts.
    pub parts: Vec<String>,
    /// Where it begins.
    pub line: usize,
    /// Whether it is `self.name(…)`; `parts` is the name alone.
    pub method: bool,
}

/// Every path in a stream, groups included.
pub fn paths(stream: TokenStream) -> Vec<Found> {
    let mut found = Vec::new();
    collect(stream, &mut found);
    found
}

fn collect(stream: TokenStream, found: &mut Vec<Found>) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            TokenTree::Group(group) => collect(group.stream(), found),
            TokenTree::Ident(first) if !after_dot(&tokens, at) => {
                let mut parts = vec![first.to_string()];
                while let (true, Some(TokenTree::Ident(next))) =
                    (colons(&tokens, at + 1), tokens.get(at + 3))
                {
                    parts.push(next.to_string());
                    at += 3;
                }
                let line = first.span().start().line;
                let name = method_of_self(&tokens, at);
                if let (1, "self", Some(name)) = (parts.len(), first.to_string().as_str(), name) {
                    parts = vec![name.to_string()];
                    found.push(Found {
                        parts,
                        line,
                        method: true,
                    });
                } else {
                    found.push(Found {
                        parts,
                        line,
                        method: false,
                    });
                }
            }
            _ => {}
        }
        at += 1;
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

/// Whether `::` stands here.
fn colons(tokens: &[TokenTree], at: usize) -> bool {
    is_punct(tokens.get(at), ':') && is_punct(tokens.get(at + 1), ':')
}

/// Whether this is the name of a field or method.
fn after_dot(tokens: &[TokenTree], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
    // `..name` is the end of a range, or the rest of a struct.
    is_punct(before(1), '.') && !is_punct(before(2), '.')
}

/// The name in `.name(…)` behind a `self` that stands at `at`.
fn method_of_self(tokens: &[TokenTree], at: usize) -> Option<&Ident> {
    if !is_punct(tokens.get(at + 1), '.') {
        return None;
    }
    match (tokens.get(at + 2), tokens.get(at + 3)) {
        (Some(TokenTree::Ident(name)), Some(TokenTree::Group(arguments)))
            if arguments.delimiter() == Delimiter::Parenthesis =>
        {
            Some(name)
        }
        _ => None,
    }
}

/// The items that a macro between items is likely to declare: `Name { … }`, and names behind
/// words such as `struct`.
pub fn declared(stream: TokenStream) -> Vec<Ident> {
    const WORDS: [&str; 6] = ["const", "enum", "fn", "static", "struct", "type"];
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut names = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Ident(name) = token else {
            continue;
        };
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let behind_word = matches!(before, Some(TokenTree::Ident(word))
            if WORDS.contains(&word.to_string().as_str()));
        let before_braces = matches!(tokens.get(at + 1), Some(TokenTree::Group(group))
            if group.delimiter() == Delimiter::Brace);
        if behind_word || before_braces {
            names.push(name.clone());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_the_arguments_of_a_macro() {
        let stream: TokenStream = "\"{}\", a::b::C, x.y, [self.go(z), ..end], Self::N"
            .parse()
            .unwrap();
        let found: Vec<(String, bool)> = paths(stream)
            .into_iter()
            .map(|found| (found.parts.join("::"), found.method))
            .collect();
        let expected = [
            ("a::b::C", false),
            ("x", false),
            ("go", true),
            ("z", false),
            ("end", false),
            ("Self::N", false),
        ];
        assert_eq!(
            found,
            expected.map(|(path, method)| (path.to_owned(), method))
        );
    }

    #[test]
    fn names_that_a_macro_declares() {
        let stream: TokenStream = "/// Doc\nHeader { magic: [u8; 8], } pub struct X;"
            .parse()
            .unwrap();
        let names: Vec<String> = declared(stream).iter().map(ToString::to_string).collect();
        assert_eq!(names, ["Header", "X"]);
    }
}
