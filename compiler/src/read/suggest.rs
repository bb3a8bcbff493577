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
        let edits = strsim::osa_distance(&word, &plain(k));
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
