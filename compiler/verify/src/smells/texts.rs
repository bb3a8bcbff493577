//! Lints of texts by themselves: characters that mislead, path prefixes, and texts that
//! were written for another matcher.

use super::{Spot, place};
use crate::{Finding, Kind, Severity, schema};
use bouncer_compiler::diagnostic::{Code, escape, is_invisible, quote};
use bouncer_compiler::policy::{Contract, Pattern, Pos, ToolGlob, TrustedForm, View};
use bouncer_reader::text::skeleton;
use regex_syntax::ast::{self, Ast, ClassSetItem};

fn smell(code: Code, severity: Severity, at: Pos, message: String, help: String) -> Finding {
    Finding {
        code,
        kind: Kind::PatternSmell,
        severity,
        message,
        places: place(at, ""),
        help: Some(help),
        example: None,
    }
}

/// A tool glob.
pub(super) fn glob(glob: &ToolGlob, out: &mut Vec<Finding>) {
    confusable(&glob.pattern, glob.at, "this glob", out);
    let text = glob.glob().1;
    let regex = text.contains(".*")
        || text.contains(".+")
        || text.contains(['^', '$', '|', '\\', '('])
        || text.contains("[^");
    if regex {
        out.push(smell(
            Code::OTHER_DIALECT,
            Severity::Warning,
            glob.at,
            format!("the glob {} looks like a regular expression", quote(text)),
            "`*` alone stands for anything; write one glob for each name".to_owned(),
        ));
    }
}

/// The names and texts of a contract.
pub(super) fn contract(contract: &Contract, out: &mut Vec<Finding>) {
    confusable(&contract.key, contract.at, "this tool's name", out);
    let sinks = contract.sinks.iter().map(|sink| (&sink.path, sink.at));
    let written = contract
        .write_params
        .iter()
        .map(|param| (&param.path, param.at));
    let matched = contract
        .arg_patterns
        .iter()
        .map(|param| (&param.path, param.at));
    for (path, at) in sinks.chain(written).chain(matched) {
        confusable(&schema::shown(path), at, "this argument's name", out);
    }
    for trusted in &contract.trusted {
        if let TrustedForm::Exact(text) = &trusted.form {
            confusable(text, trusted.at, "this destination", out);
        }
    }
    for one in &contract.prefixes {
        prefix(&one.prefix, one.at, out);
    }
}

/// Characters that a reader does not see, or takes for others.
pub(super) fn confusable(text: &str, at: Pos, what: &str, out: &mut Vec<Finding>) {
    if text.is_ascii() {
        return;
    }
    if let Some(c) = text
        .chars()
        .find(|&c| !c.is_whitespace() && (c.is_control() || is_invisible(c)))
    {
        let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}');
        let how = if turns {
            "turns the direction of the text around it"
        } else {
            "does not show"
        };
        out.push(smell(
            Code::CONFUSABLE,
            Severity::Warning,
            at,
            format!(
                "{what} holds U+{:04X}, which {how}: `{}`",
                u32::from(c),
                escape(text)
            ),
            "retype it without the character".to_owned(),
        ));
        return;
    }
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let mimics = word.chars().filter(|&c| looks_ascii(c)).count();
        let ascii = word.chars().any(|c| c.is_ascii_alphabetic());
        if mimics == 0 || !ascii {
            continue;
        }
        let mut plain = String::new();
        skeleton(word, &mut plain);
        let c = word.chars().find(|&c| looks_ascii(c)).unwrap_or(' ');
        out.push(smell(
            Code::CONFUSABLE,
            Severity::Warning,
            at,
            format!(
                "{what} holds `{}`, which looks like {} and has U+{:04X} in it",
                escape(word),
                quote(&plain),
                u32::from(c)
            ),
            "retype the word".to_owned(),
        ));
        return;
    }
}

/// Whether a character of another script is taken for an ASCII letter. Accented letters
/// of the Latin script are seen for what they are.
fn looks_ascii(c: char) -> bool {
    let other_script = matches!(c,
        '\u{131}' | '\u{250}'..='\u{2af}' | '\u{370}'..='\u{52f}' | '\u{530}'..='\u{58f}'
        | '\u{13a0}'..='\u{13ff}' | '\u{1d00}'..='\u{1d7f}' | '\u{2c80}'..='\u{2cff}'
        | '\u{a4d0}'..='\u{a4ff}' | '\u{ff00}'..='\u{ff5e}' | '\u{1d400}'..='\u{1d7ff}');
    if !other_script {
        return false;
    }
    let mut plain = String::new();
    skeleton(c.encode_utf8(&mut [0; 4]), &mut plain);
    !plain.is_empty() && plain.is_ascii()
}

/// A path prefix that is not in its plain form.
pub(super) fn prefix(text: &str, at: Pos, out: &mut Vec<Finding>) {
    confusable(text, at, "this path", out);
    let inner = text.strip_prefix("./").unwrap_or(text);
    let inner = inner
        .strip_prefix('/')
        .unwrap_or(inner)
        .trim_end_matches('/');
    let mut steps = inner.split('/');
    let odd = if text.contains(['*', '?']) {
        Some((
            "wildcards are not expanded here: the folder would have to be called so",
            "name the folder; everything below it is included",
        ))
    } else if text.starts_with('~') {
        Some(("`~` is not expanded here", "write the home folder out"))
    } else if text.contains("${")
        || text.contains('$') && text.contains(|c: char| c.is_ascii_uppercase())
    {
        Some(("variables are not expanded here", "write the folder out"))
    } else if text.contains('%') && has_encoded(text) {
        Some((
            "encoded characters are not decoded here",
            "write the characters themselves",
        ))
    } else if text != "."
        && text != ".."
        && steps.clone().any(|step| step == "..")
        && !inner.starts_with("..")
    {
        Some((
            "`..` is collapsed, so the folder is another one than it seems",
            "write the folder that is meant",
        ))
    } else if text != "."
        && text != "./"
        && steps.any(|step| step.is_empty() || step == ".")
        && !inner.is_empty()
        && inner != "."
    {
        Some(("`//` and `/./` are collapsed", "write the plain path"))
    } else {
        None
    };
    if let Some((why, help)) = odd {
        out.push(smell(
            Code::ODD_PREFIX,
            Severity::Warning,
            at,
            format!("the path prefix {}: {why}", quote(text)),
            help.to_owned(),
        ));
    }
}

/// `%2e` and the like.
fn has_encoded(text: &str) -> bool {
    text.match_indices('%').any(|(at, _)| {
        let digits = text.get(at + 1..at + 3);
        digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
    })
}

/// The text of a `contains`, `starts_with` or `equals`.
pub(super) fn literal(text: &str, test: &str, spot: &Spot<'_>, out: &mut Vec<Finding>) {
    confusable(text, spot.at, "this text", out);
    if spot.view != View::Value {
        return;
    }
    let last = schema::keys(spot.path)
        .last()
        .map(|key| key.to_ascii_lowercase());
    let code = last.is_some_and(|key| {
        [
            "command",
            "cmd",
            "script",
            "code",
            "pattern",
            "regex",
            "glob",
            "expression",
        ]
        .iter()
        .any(|word| key.contains(word))
    });
    if code {
        return;
    }
    let escapes = [
        "\\d", "\\s", "\\w", "\\b", "\\.", ".*", ".+", "(?i)", "[a-z",
    ];
    let words =
        |part: &str| part.len() >= 3 && part.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
    let choices: Vec<&str> = text.split('|').collect();
    let regex = escapes.iter().any(|escape| text.contains(escape))
        || text.len() > 2 && text.starts_with('^')
        || choices.len() > 1 && choices.iter().all(|part| words(part));
    let pattern =
        test == "equals" && (text.starts_with("*@") || text.starts_with("*.")) && text.len() > 3;
    let (what, help) = if regex {
        (
            "a regular expression",
            "write `regex`, or `matches /…/` in `when:`",
        )
    } else if pattern {
        (
            "a pattern",
            "write `in: [\"…\"]`, where `*@…` and `*.…` are patterns",
        )
    } else {
        return;
    };
    out.push(smell(
        Code::OTHER_DIALECT,
        Severity::Warning,
        spot.at,
        format!(
            "`{test}` compares plain text, but {} looks like {what}",
            quote(text)
        ),
        help.to_owned(),
    ));
}

/// A pattern with what other dialects write differently.
pub(super) fn dialect(pattern: &Pattern, at: Pos, out: &mut Vec<Finding>) {
    let written = pattern.written.as_str();
    // A pattern of `when:` stands between slashes; these are not part of it.
    let between = written.starts_with('/') && !pattern.regex.contains(written);
    if !between && let Some(message) = slashes(written) {
        out.push(smell(
            Code::OTHER_DIALECT,
            Severity::Warning,
            at,
            message,
            "leave the slashes out, and write flags as `(?i)` in front".to_owned(),
        ));
    }
    // Other dialects are translated; only native patterns are read as Rust's.
    let native = between || pattern.regex.contains(written);
    let (text, _) = match written.strip_prefix('/').filter(|_| between) {
        Some(rest) => rest.rsplit_once('/').unwrap_or((rest, "")),
        None => (written, ""),
    };
    if native && let Some(found) = set_operation(text) {
        out.push(smell(
            Code::OTHER_DIALECT,
            Severity::Warning,
            at,
            format!("{found} inside brackets means something else in JavaScript and Python"),
            "put a back-slash before characters that are meant as they are".to_owned(),
        ));
    }
}

/// `/…/i` as JavaScript writes it, where the slashes are taken literally.
fn slashes(written: &str) -> Option<String> {
    let (body, flags) = written.strip_prefix('/')?.rsplit_once('/')?;
    let is_flags = flags.bytes().all(|b| b"gimsuy".contains(&b)) && flags.len() <= 4;
    let anchored = body.starts_with('^') || body.ends_with('$');
    let regex = anchored || body.contains(['\\', '(', '[', '|']);
    if body.is_empty() || !is_flags || !(anchored || regex && !flags.is_empty()) {
        return None;
    }
    Some(format!(
        "the slashes of {} are part of the pattern here",
        quote(written)
    ))
}

/// An operation on sets, or a class inside a class.
fn set_operation(text: &str) -> Option<&'static str> {
    struct Search(Option<&'static str>);
    impl ast::Visitor for Search {
        type Output = Option<&'static str>;
        type Err = ();
        fn finish(self) -> Result<Self::Output, ()> {
            Ok(self.0)
        }
        fn visit_class_set_binary_op_pre(&mut self, op: &ast::ClassSetBinaryOp) -> Result<(), ()> {
            self.0 = self.0.or(Some(match op.kind {
                ast::ClassSetBinaryOpKind::Intersection => "`&&`",
                ast::ClassSetBinaryOpKind::Difference => "`--`",
                ast::ClassSetBinaryOpKind::SymmetricDifference => "`~~`",
            }));
            Ok(())
        }
        fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), ()> {
            if matches!(item, ClassSetItem::Bracketed(_)) {
                self.0 = self.0.or(Some("`[`"));
            }
            Ok(())
        }
    }
    let tree: Ast = ast::parse::Parser::new().parse(text).ok()?;
    ast::visit(&tree, Search(None)).ok().flatten()
}
