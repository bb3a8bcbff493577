//! Reads a program's words by the table of its options. An option that the table does not
//! have makes the command unread.

use super::Word;
use super::reader::Unread;

/// What the value of an option is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing of interest.
    Text,
    /// A file that is read.
    Read,
    /// A file that is written.
    Write,
    /// A directory into which the operands go.
    Target,
    /// A file or folder whose code runs.
    Run,
    /// A host.
    Host,
    /// What else would be the first operand.
    First,
    /// Data, with `@file` for a file's.
    Data,
}

/// How options are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `-abc`, `--long`, among the operands.
    Usual,
    /// The same, before the first operand only.
    Leading,
    /// `-long` and `--long` are the same.
    Words,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Parsed<'w> {
    /// Options without a value, without their dashes.
    pub flags: Vec<String>,
    /// Options with one.
    pub values: Vec<(String, Role, Word)>,
    /// The rest.
    pub operands: Vec<&'w Word>,
    /// How many of them stand before `--`, if it is there.
    pub before: Option<usize>,
    /// Every option by itself, with its dashes.
    pub shown: Vec<String>,
}

impl Parsed<'_> {
    /// The texts of the operands.
    pub fn texts(&self) -> Vec<String> {
        self.operands.iter().map(|word| word.text.clone()).collect()
    }

    /// Whether one of these options is there.
    pub fn has(&self, names: &[&str]) -> bool {
        self.flags.iter().any(|flag| names.contains(&flag.as_str()))
    }
}

enum Arity {
    Flag,
    Value(Role),
    /// Only `--option=value`, or `-ovalue`.
    Attached(Role),
    /// A name, and a value behind it.
    Pair(Role),
}

/// An option in a table. The table's first word is the letters of options without a
/// value; the others are `name`, `name=` with a value, `name==` with two words of which the
/// second is it, and `name?` with one that is attached or left out, a letter behind them
/// saying what the value is.
fn find(table: &str, name: &str) -> Option<Arity> {
    let mut words = table.split_ascii_whitespace();
    let letters = words.next().unwrap_or_default();
    let mut chars = name.chars();
    if let (Some(letter), None) = (chars.next(), chars.next())
        && letters.contains(letter)
    {
        return Some(Arity::Flag);
    }
    words.find_map(|word| {
        let rest = word.strip_prefix(name)?;
        let role = |text: &str| match text {
            "r" => Role::Read,
            "w" => Role::Write,
            "t" => Role::Target,
            "d" => Role::Host,
            "x" => Role::Run,
            "p" => Role::First,
            "@" => Role::Data,
            _ => Role::Text,
        };
        match rest.chars().next() {
            None => Some(Arity::Flag),
            Some('=') => Some(match rest.strip_prefix("==") {
                Some(letter) => Arity::Pair(role(letter)),
                None => Arity::Value(role(rest.get(1..).unwrap_or_default())),
            }),
            Some('?') => Some(Arity::Attached(role(rest.get(1..).unwrap_or_default()))),
            Some(_) => None,
        }
    })
}

/// Reads words. `harmless` says that no option of the program can do anything but read
/// and print, so that one that is not known does not matter.
pub fn parse<'w>(
    name: &str,
    table: &str,
    style: Style,
    harmless: bool,
    args: &'w [Word],
) -> Result<Parsed<'w>, Unread> {
    let mut parsed = Parsed::default();
    let mut rest = args;
    while let Some((word, after)) = rest.split_first() {
        let text = word.text.as_str();
        if word.open && !harmless {
            return Err(format!("words of `{name}` are put together when it runs"));
        }
        if text == "--" {
            parsed.before = Some(parsed.operands.len());
            parsed.operands.extend(after);
            break;
        }
        if text.len() < 2 || !text.starts_with('-') {
            if style == Style::Leading {
                parsed.operands.extend(rest);
                break;
            }
            parsed.operands.push(word);
            rest = after;
            continue;
        }
        rest = option(&mut parsed, name, table, style, harmless, word, after)?;
    }
    Ok(parsed)
}

/// Reads one option, and gives what follows it.
fn option<'w>(
    parsed: &mut Parsed<'w>,
    name: &str,
    table: &str,
    style: Style,
    harmless: bool,
    word: &Word,
    after: &'w [Word],
) -> Result<&'w [Word], Unread> {
    let text = word.text.as_str();
    let unknown = || format!("`{name} {text}` is not known");
    let value = |text: &str| Word {
        text: text.to_owned(),
        ..word.clone()
    };
    let next = |after: &'w [Word]| -> Result<(Word, &'w [Word]), Unread> {
        let (value, rest) = after
            .split_first()
            .ok_or_else(|| format!("`{name} {text}` has no value"))?;
        // More words would come where one is looked for.
        if value.split && !harmless {
            return Err(format!("words of `{name}` are put together when it runs"));
        }
        Ok((value.clone(), rest))
    };
    let long = text.strip_prefix("--").or_else(|| {
        let single = text.strip_prefix('-')?;
        let bare = single.split('=').next().unwrap_or_default();
        let known = bare.len() > 1 && find(table, &format!("-{bare}")).is_some();
        (style == Style::Words || known).then_some(single)
    });
    if let Some(long) = long {
        let (option, attached) = match long.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (long, None),
        };
        let found = find(table, option)
            .filter(|_| style == Style::Words || option.len() > 1)
            .or_else(|| find(table, &format!("-{option}")));
        // One dash where the program takes one.
        let dashes = if text.starts_with("--") && style != Style::Words {
            "--"
        } else {
            "-"
        };
        parsed.shown.push(format!("{dashes}{option}"));
        return match (found, attached) {
            (Some(Arity::Flag), None) | (Some(Arity::Attached(_)), None) => {
                parsed.flags.push(option.to_owned());
                Ok(after)
            }
            (Some(Arity::Value(role) | Arity::Attached(role)), Some(attached)) => {
                parsed
                    .values
                    .push((option.to_owned(), role, value(attached)));
                Ok(after)
            }
            (Some(Arity::Value(role)), None) => {
                let (value, rest) = next(after)?;
                parsed.values.push((option.to_owned(), role, value));
                Ok(rest)
            }
            (Some(Arity::Pair(role)), None) => {
                let (_, rest) = next(after)?;
                let (value, rest) = next(rest)?;
                parsed.values.push((option.to_owned(), role, value));
                Ok(rest)
            }
            (_, attached) if harmless => {
                parsed.flags.push(option.to_owned());
                // It may be a file.
                let attached = attached.map(|text| (option.to_owned(), Role::Text, value(text)));
                parsed.values.extend(attached);
                Ok(after)
            }
            _ => Err(unknown()),
        };
    }
    for (at, letter) in text.char_indices().skip(1) {
        let option = letter.to_string();
        let behind = text.get(at + letter.len_utf8()..).unwrap_or_default();
        parsed.shown.push(format!("-{option}"));
        match find(table, &option) {
            Some(Arity::Flag) => parsed.flags.push(option),
            // One table has the options of many programs; to some this one is a flag.
            Some(Arity::Value(_)) if behind.is_empty() && after.is_empty() && harmless => {
                parsed.flags.push(option);
            }
            Some(Arity::Value(role)) if behind.is_empty() => {
                let (value, rest) = next(after)?;
                parsed.values.push((option, role, value));
                return Ok(rest);
            }
            Some(Arity::Attached(_)) if behind.is_empty() => parsed.flags.push(option),
            // Only long options have two.
            Some(Arity::Pair(_)) => return Err(unknown()),
            Some(Arity::Value(role) | Arity::Attached(role)) => {
                parsed.values.push((option, role, value(behind)));
                return Ok(after);
            }
            None if harmless => {
                if behind.contains(['/', '~']) {
                    parsed
                        .values
                        .push((option.clone(), Role::Text, value(behind)));
                }
                parsed.flags.push(option);
            }
            None => return Err(unknown()),
        }
    }
    Ok(after)
}
