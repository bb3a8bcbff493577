//! How long files and functions are. Lines count that hold code: no comments, no blank lines,
//! no tests.

use crate::attributes::{of_item, of_member, only_for_tests};
use crate::tree::{Error, File};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A function, and how many lines of code it has, its head included.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Where its head stands.
    pub line: usize,
    /// Its lines.
    pub lines: usize,
}

/// What is counted in one file.
#[derive(Debug)]
pub struct Counts {
    /// The file.
    pub path: PathBuf,
    /// All its lines, as an editor counts them.
    pub height: usize,
    /// Lines with code of the product.
    pub lines: usize,
    /// Its functions, nested ones too.
    pub functions: Vec<Function>,
    /// How often it says `Result<_, String>`.
    pub errors_as_text: usize,
}

/// Counts a file below `folder`.
///
/// # Errors
/// If it cannot be read or is not Rust.
pub fn count(folder: &Path, file: &File) -> Result<Counts, Error> {
    let text = std::fs::read_to_string(folder.join(&file.path))
        .map_err(|why| Error::Read(file.path.clone(), why))?;
    count_text(&file.path, &text)
}

fn count_text(path: &Path, text: &str) -> Result<Counts, Error> {
    let wrong = |why: syn::Error| Error::Parse(path.to_path_buf(), why);
    let parsed = syn::parse_file(text).map_err(wrong)?;
    let tokens: TokenStream = syn::parse_str(text).map_err(wrong)?;
    let mut code = BTreeSet::new();
    note_lines(tokens, &mut code);
    let mut reader = Reader {
        code: &code,
        tests: Vec::new(),
        functions: Vec::new(),
        errors_as_text: 0,
    };
    reader.visit_file(&parsed);
    let in_tests = |line: &&usize| reader.tests.iter().any(|range| range.contains(line));
    Ok(Counts {
        path: path.to_path_buf(),
        height: text.lines().count(),
        lines: code.iter().filter(|line| !in_tests(line)).count(),
        functions: reader.functions,
        errors_as_text: reader.errors_as_text,
    })
}

fn lines_of(span: Span) -> RangeInclusive<usize> {
    span.start().line..=span.end().line
}

/// Notes every line that holds a token, comments for documentation aside.
fn note_lines(stream: TokenStream, lines: &mut BTreeSet<usize>) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                let inner =
                    matches!(tokens.get(at), Some(TokenTree::Punct(it)) if it.as_char() == '!');
                let behind = at + usize::from(inner);
                if is_documentation(tokens.get(behind)) {
                    at = behind + 1;
                } else {
                    lines.extend(lines_of(punct.span()));
                }
            }
            TokenTree::Group(group) => {
                if group.delimiter() != Delimiter::None {
                    lines.extend(lines_of(group.span_open()));
                    lines.extend(lines_of(group.span_close()));
                }
                note_lines(group.stream(), lines);
            }
            other => lines.extend(lines_of(other.span())),
        }
    }
}

/// Whether this is `[doc = "…"]`, which is what a comment for documentation reads as.
fn is_documentation(token: Option<&TokenTree>) -> bool {
    let Some(TokenTree::Group(group)) = token else {
        return false;
    };
    let mut inside = group.stream().into_iter();
    matches!(inside.next(), Some(TokenTree::Ident(word)) if word == "doc")
        && matches!(inside.next(), Some(TokenTree::Punct(sign)) if sign.as_char() == '=')
}

struct Reader<'c> {
    code: &'c BTreeSet<usize>,
    tests: Vec<RangeInclusive<usize>>,
    functions: Vec<Function>,
    errors_as_text: usize,
}

impl Reader<'_> {
    fn function(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let (first, last) = (signature.span().start().line, body.span().end().line);
        self.functions.push(Function {
            name: signature.ident.to_string(),
            line: first,
            lines: self.code.range(first..=last).count(),
        });
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if only_for_tests(of_item(item)) {
            self.tests.push(lines_of(item.span()));
            return;
        }
        visit::visit_item(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item(&mut self, member: &'ast syn::ImplItem) {
        if only_for_tests(of_member(member)) {
            self.tests.push(lines_of(member.span()));
            return;
        }
        visit::visit_impl_item(self, member);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_path_segment(&mut self, part: &'ast syn::PathSegment) {
        if let (true, syn::PathArguments::AngleBracketed(arguments)) =
            (part.ident == "Result", &part.arguments)
        {
            let second = arguments.args.iter().nth(1);
            if let Some(syn::GenericArgument::Type(syn::Type::Path(error))) = second {
                self.errors_as_text += usize::from(error.path.is_ident("String"));
            }
        }
        visit::visit_path_segment(self, part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//! What it is for.

/// Says so.
#[must_use]
pub fn f() -> Result<(), String> {
    // A comment.
    let text = \"two
lines\";

    g(text) /* and */
}

/* Nothing
here */
#[cfg(test)]
mod tests {
    fn h() -> Result<(), String> {}
}

impl X {
    #[cfg(test)]
    fn only() {}

    fn m(&self) {}
}
";

    #[test]
    fn lines_with_code() {
        let counts = count_text(Path::new("x.rs"), TEXT).unwrap();
        assert_eq!(counts.height, 25);
        // Six of `f` with its attribute, three of the `impl`.
        assert_eq!(counts.lines, 9);
        let functions = counts.functions.iter();
        let functions: Vec<_> = functions.map(|it| (&*it.name, it.line, it.lines)).collect();
        assert_eq!(functions, [("f", 5, 5), ("m", 24, 1)]);
        assert_eq!(counts.errors_as_text, 1);
    }
}
