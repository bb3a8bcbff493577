//! Patterns in braces: `{a,b}` and `{1..5}`.

use super::Unread;
use crate::shell::Word;

/// Words that one pattern in braces stands for, at most.
const MAX_WORDS: usize = 1024;

/// The words that a word with unquoted braces stands for.
pub(super) fn braces(word: Word, bare: &str) -> Result<Vec<Word>, Unread> {
    if !word.braces {
        return Ok(vec![word]);
    }
    let unusual = || "it has an unusual pattern in braces".to_owned();
    // An expansion may hold braces of its own.
    if bare != word.text || word.text.contains("${") || word.text.contains("$(") {
        return Err(unusual());
    }
    let texts = expand(bare).ok_or_else(unusual)?;
    // Empty ones are dropped, which moves the others.
    if texts.iter().any(String::is_empty) {
        return Err(unusual());
    }
    let same = |text: String| Word {
        variables: Vec::new(),
        text,
        ..word.clone()
    };
    Ok(texts.into_iter().map(same).collect())
}

/// All texts that one stands for, from the outermost pair of braces inwards.
fn expand(text: &str) -> Option<Vec<String>> {
    let Some(open) = text.find('{') else {
        return (!text.contains('}')).then(|| vec![text.to_owned()]);
    };
    let (before, from) = text.split_at(open);
    if before.contains('}') {
        return None;
    }
    let (inside, after) = outermost(from.get(1..)?)?;
    let parts = split(inside)?;
    let choices: Vec<String> = match parts.as_slice() {
        [one] => match range(one) {
            Some(range) => range,
            // It stands for itself, braces and all.
            None if one.contains("..") => return None,
            None => expand(one)?
                .into_iter()
                .map(|text| format!("{{{text}}}"))
                .collect(),
        },
        parts => {
            let mut all = Vec::new();
            for part in parts {
                all.extend(expand(part)?);
            }
            all
        }
    };
    let rest = expand(after)?;
    if choices.len().saturating_mul(rest.len()) > MAX_WORDS {
        return None;
    }
    let joined = choices.iter().flat_map(|choice| {
        rest.iter()
            .map(move |rest| format!("{before}{choice}{rest}"))
    });
    Some(joined.collect())
}

/// What stands before the brace that closes, and behind it.
fn outermost(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((text.get(..at)?, text.get(at + 1..)?));
        }
    }
    None
}

/// The parts between the commas that stand in no inner braces.
fn split(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                parts.push(text.get(start..at)?);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..)?);
    Some(parts)
}

/// `1..5`, `01..10`, `1..9..2`, `a..e`.
fn range(text: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = text.split("..").collect();
    let [from, to, rest @ ..] = parts.as_slice() else {
        return None;
    };
    let step: i64 = match rest {
        [] => 1,
        [step] => step.parse::<i64>().ok()?.checked_abs()?.max(1),
        _ => return None,
    };
    if let (Ok(first), Ok(last)) = (from.parse::<i64>(), to.parse::<i64>()) {
        let padded = |text: &str| text.len() > 1 && text.trim_start_matches('-').starts_with('0');
        let width = if padded(from) || padded(to) {
            from.len().max(to.len())
        } else {
            0
        };
        return steps(first, last, step)
            .map(|numbers| numbers.map(|n| format!("{n:0width$}")).collect());
    }
    let mut letters = from.chars().chain(to.chars());
    match (letters.next(), letters.next(), letters.next()) {
        (Some(first), Some(last), None)
            if first.is_ascii_alphabetic()
                && last.is_ascii_alphabetic()
                && first.is_ascii_lowercase() == last.is_ascii_lowercase() =>
        {
            let numbers = steps(
                i64::from(u32::from(first)),
                i64::from(u32::from(last)),
                step,
            )?;
            numbers
                .map(|n| Some(char::from_u32(u32::try_from(n).ok()?)?.to_string()))
                .collect()
        }
        _ => None,
    }
}

fn steps(first: i64, last: i64, step: i64) -> Option<impl Iterator<Item = i64>> {
    let count = usize::try_from(last.checked_sub(first)?.checked_abs()? / step).ok()? + 1;
    let signed = if first <= last { step } else { -step };
    (count <= MAX_WORDS)
        .then(|| std::iter::successors(Some(first), move |n| n.checked_add(signed)).take(count))
}
