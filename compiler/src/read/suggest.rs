//! "Did you mean": the known word nearest to an unknown one.

/// The word of `known` that `word` is probably a misspelling of.
///
/// Differences of letter case, `-` for `_`, a few wrong letters, and one word being a
/// long part of the other count as near.
#[must_use]
pub fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    if word.len() > 60 {
        return None;
    }
    let word = plain(word);
    let length = word.chars().count();
    let allowed = (length / 3).min(3);
    let mut best: Option<(usize, &'k str)> = None;
    for &k in known {
        // Most words are ruled out by their lengths alone.
        let letters = k
            .bytes()
            .filter(|b| !matches!(b, b'_' | b'-' | b' '))
            .count();
        if letters.abs_diff(length) > allowed && k.is_ascii() {
            continue;
        }
        let edits = distance(&word, &plain(k));
        if edits <= allowed && best.is_none_or(|(least, _)| edits < least) {
            best = Some((edits, k));
        }
    }
    let part = || {
        known.iter().copied().find(|k| {
            word.len() >= 4 && k.len() >= 4 && {
                let k = plain(k);
                k.starts_with(&word) || word.starts_with(&k)
            }
        })
    };
    best.map(|(_, k)| k).or_else(part)
}

/// The word without what spellings differ in.
fn plain(word: &str) -> String {
    word.chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

/// Edits (insert, remove, replace, swap neighbours) between two short words.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // Three rows of the table are enough: the swap looks back two.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &ca) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &cb) in b.iter().enumerate() {
            let at = |r: &[usize], n: usize| r.get(n).copied().unwrap_or(usize::MAX - 1);
            let mut best = (at(&last, j) + usize::from(ca != cb))
                .min(at(&last, j + 1) + 1)
                .min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(&cb) && b.get(j - 1) == Some(&ca);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found() {
        let known = [
            "exfiltrating",
            "sink_params",
            "max_calls",
            "rules",
            "defaults",
            "onUnknown",
        ];
        for (word, meant) in [
            ("exfiltrate", "exfiltrating"),
            ("Exfiltrating", "exfiltrating"),
            ("sink_param", "sink_params"),
            ("sinkParams", "sink_params"),
            ("max-calls", "max_calls"),
            ("rule", "rules"),
            ("default", "defaults"),
            ("onUnkown", "onUnknown"),
            ("onUknnown", "onUnknown"),
        ] {
            assert_eq!(nearest(word, &known), Some(meant), "{word}");
        }
        for word in ["", "x", "send_email", "foo", "é"] {
            assert_eq!(nearest(word, &known), None, "{word}");
        }
    }
}
