//! Literals that every match of some patterns has to contain, as a prefilter.
//!
//! A pattern's syntax tree is read for sets of texts of which each match contains one.
//! What is not certain is left out: a pattern without such a set means no prefilter
//! for its automaton, never a wrong one. Knows nothing of automata.

use bouncer_plan::format::{NEEDLE_BYTES, Needle, PREFILTER_ASCII_ONLY, PrefilterHeader};
use regex_syntax::hir::{Class, Hir, HirKind, Repetition};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

/// Needles of one prefilter: with more, the automaton itself is as fast.
const MAX_NEEDLES: usize = 16;
/// Texts of one set while a pattern is read.
const MAX_TEXTS: usize = 16;
/// Bytes of one text while a pattern is read.
const MAX_BYTES: usize = 32;
/// A shorter text stands in everything.
const MIN_BYTES: usize = 3;

/// A byte of a text, folded, and its fold.
type Byte = (u8, u8);
type Text = Vec<Byte>;

/// The prefilter of an automaton for all of `patterns`, if one is worth having.
pub(super) fn prefilter<'h>(patterns: impl IntoIterator<Item = &'h Hir>) -> Option<Vec<u8>> {
    let mut reader = Reader::default();
    let mut needles: Vec<Needle> = Vec::new();
    for pattern in patterns {
        for text in reader.read(pattern).required()? {
            let needle = needle(&text)?;
            if !needles.contains(&needle) {
                needles.push(needle);
            }
        }
        if needles.len() > MAX_NEEDLES {
            return None;
        }
    }
    let header = PrefilterHeader {
        needles: U32::new(needles.len() as u32),
        flags: U32::new(if reader.ascii_only {
            PREFILTER_ASCII_ONLY
        } else {
            0
        }),
    };
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(needles.as_bytes());
    Some(bytes)
}

/// What is known of a part of a pattern.
#[derive(Clone, Debug)]
struct Known {
    /// All texts that it matches, if they are few.
    exact: Option<Vec<Text>>,
    /// Texts of which each match contains one.
    contained: Option<Vec<Text>>,
}

impl Known {
    const NOTHING: Self = Self {
        exact: None,
        contained: None,
    };

    const fn exactly(texts: Vec<Text>) -> Self {
        Self {
            exact: Some(texts),
            contained: None,
        }
    }

    /// The better of the two sets.
    fn required(self) -> Option<Vec<Text>> {
        better(self.exact, self.contained)
    }
}

/// How good a set is: how long its shortest text is, up to a needle's length.
fn quality(texts: &[Text]) -> usize {
    texts
        .iter()
        .map(Vec::len)
        .min()
        .unwrap_or(0)
        .min(NEEDLE_BYTES)
}

/// The set that rules more out; among equals the smaller one. `None` if neither helps.
fn better(a: Option<Vec<Text>>, b: Option<Vec<Text>>) -> Option<Vec<Text>> {
    let useful = |set: &Vec<Text>| quality(set) >= MIN_BYTES && set.len() <= MAX_TEXTS;
    let key = |set: &Vec<Text>| (quality(set), std::cmp::Reverse(set.len()));
    [a, b].into_iter().flatten().filter(useful).max_by_key(key)
}

/// Reads patterns.
#[derive(Debug, Default)]
struct Reader {
    /// A letter's spellings beyond ASCII were left out of a set.
    ascii_only: bool,
}

impl Reader {
    fn read(&mut self, hir: &Hir) -> Known {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Known::exactly(vec![Vec::new()]),
            HirKind::Literal(literal) => {
                let text: Text = literal.0.iter().map(|&byte| (byte, 0)).collect();
                if text.len() > MAX_BYTES {
                    // Too long to be multiplied out, but a fine thing to look for.
                    return Known {
                        exact: None,
                        contained: Some(vec![text]),
                    };
                }
                Known::exactly(vec![text])
            }
            HirKind::Class(class) => self.class(class),
            HirKind::Repetition(repetition) => self.repetition(repetition),
            HirKind::Capture(capture) => self.read(&capture.sub),
            HirKind::Concat(parts) => self.concat(parts),
            HirKind::Alternation(parts) => self.alternation(parts),
        }
    }

    /// A class of one byte, of one letter in either case, or of a few bytes.
    fn class(&mut self, class: &Class) -> Known {
        const MAX_MEMBERS: usize = 4;
        let mut members: Vec<u8> = Vec::new();
        let mut beyond = false;
        let ranges: Vec<(u32, u32)> = match class {
            Class::Unicode(class) => class
                .ranges()
                .iter()
                .map(|range| (range.start() as u32, range.end() as u32))
                .collect(),
            Class::Bytes(class) => class
                .ranges()
                .iter()
                .map(|range| (u32::from(range.start()), u32::from(range.end())))
                .collect(),
        };
        for (start, end) in ranges {
            beyond |= end > 0x7F;
            for code in start..=end.min(0x7F) {
                members.push(code as u8);
                if members.len() > MAX_MEMBERS {
                    return Known::NOTHING;
                }
            }
        }
        if members.is_empty() {
            return Known::NOTHING;
        }
        self.ascii_only |= beyond;
        if let [upper, lower] = members.as_slice()
            && upper.is_ascii_uppercase()
            && *lower == upper.to_ascii_lowercase()
        {
            return Known::exactly(vec![vec![(*lower, 0x20)]]);
        }
        Known::exactly(members.into_iter().map(|byte| vec![(byte, 0)]).collect())
    }

    fn repetition(&mut self, repetition: &Repetition) -> Known {
        if repetition.max == Some(0) {
            return Known::exactly(vec![Vec::new()]);
        }
        let part = self.read(&repetition.sub);
        match (repetition.min, repetition.max) {
            (1, Some(1)) => part,
            (0, Some(1)) => {
                let exact = part.exact.filter(|texts| texts.len() < MAX_TEXTS);
                exact.map_or(Known::NOTHING, |mut texts| {
                    texts.push(Vec::new());
                    Known::exactly(texts)
                })
            }
            (0, _) => Known::NOTHING,
            _ => Known {
                exact: None,
                contained: part.required(),
            },
        }
    }

    fn concat(&mut self, parts: &[Hir]) -> Known {
        let mut run: Vec<Text> = vec![Vec::new()];
        let mut best = None;
        let mut whole = true;
        for part in parts {
            let part = self.read(part);
            match part.exact.as_deref().and_then(|texts| product(&run, texts)) {
                Some(longer) => run = longer,
                None => {
                    whole = false;
                    let before = std::mem::replace(
                        &mut run,
                        part.exact.clone().unwrap_or_else(|| vec![Vec::new()]),
                    );
                    best = better(best.take(), Some(before));
                    best = better(best.take(), part.contained);
                }
            }
        }
        if whole {
            return Known::exactly(run);
        }
        Known {
            exact: None,
            contained: better(best, Some(run)),
        }
    }

    fn alternation(&mut self, parts: &[Hir]) -> Known {
        let parts: Vec<Known> = parts.iter().map(|part| self.read(part)).collect();
        let union = |sets: Vec<Option<Vec<Text>>>| -> Option<Vec<Text>> {
            let all: Vec<Text> = sets.into_iter().collect::<Option<Vec<_>>>()?.concat();
            (all.len() <= MAX_TEXTS).then_some(all)
        };
        Known {
            exact: union(parts.iter().map(|part| part.exact.clone()).collect()),
            contained: union(parts.into_iter().map(Known::required).collect()),
        }
    }
}

/// Every text of `left` followed by every text of `right`, unless these are too many or
/// too long.
fn product(left: &[Text], right: &[Text]) -> Option<Vec<Text>> {
    if left.len() * right.len() > MAX_TEXTS {
        return None;
    }
    let pairs = left.iter().flat_map(|a| right.iter().map(move |b| (a, b)));
    let joined: Vec<Text> = pairs.map(|(a, b)| [a.as_slice(), b].concat()).collect();
    joined
        .iter()
        .all(|text| text.len() <= MAX_BYTES)
        .then_some(joined)
}

/// The part of a text to look for: around its rarest two bytes.
fn needle(text: &[Byte]) -> Option<Needle> {
    let rarity = |pair: &[Byte]| pair.iter().map(|&(byte, _)| commonness(byte)).sum::<u32>();
    let (rare, pair) = text
        .windows(2)
        .enumerate()
        .min_by_key(|(_, pair)| rarity(pair))?;
    let start = rare
        .saturating_sub(2)
        .min(text.len().saturating_sub(NEEDLE_BYTES));
    let window: Vec<Byte> = text
        .iter()
        .skip(start)
        .take(NEEDLE_BYTES)
        .copied()
        .collect();
    let mut needle = Needle {
        pair: [pair.first()?.0, pair.get(1)?.0],
        pair_fold: [pair.first()?.1, pair.get(1)?.1],
        rare: u8::try_from(rare - start).ok()?,
        length: u8::try_from(window.len()).ok()?,
        reserved: [0; 2],
        bytes: [0; NEEDLE_BYTES],
        fold: [0; NEEDLE_BYTES],
    };
    for ((byte, fold), known) in needle.bytes.iter_mut().zip(&mut needle.fold).zip(window) {
        (*byte, *fold) = known;
    }
    Some(needle)
}

/// How common a byte is in text, roughly: only the order matters, and only for speed.
fn commonness(byte: u8) -> u32 {
    const LETTERS: &[u8] = b"zqjxkvbywgpfmcudlhrsnioate";
    match byte {
        b' ' => 40,
        b'a'..=b'z' | b'A'..=b'Z' => {
            let lower = byte.to_ascii_lowercase();
            let rank = LETTERS
                .iter()
                .position(|&letter| letter == lower)
                .unwrap_or(0) as u32;
            if byte.is_ascii_lowercase() {
                4 + rank
            } else {
                3 + rank / 4
            }
        }
        b'0'..=b'9' => 9,
        b'.' | b',' | b'-' | b'/' | b'"' | b'_' | b'=' | b'\n' => 10,
        0x80.. => 4,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The prefilter of patterns, as a function.
    fn filter_of(patterns: &[&str]) -> Option<impl Fn(&str) -> bool + use<>> {
        let hirs: Vec<Hir> = patterns
            .iter()
            .map(|pattern| regex_syntax::parse(pattern).unwrap())
            .collect();
        let bytes = prefilter(&hirs)?;
        Some(move |text: &str| {
            bouncer_plan::Prefilter::of_bytes(&bytes)
                .unwrap()
                .may_match(text.as_bytes())
        })
    }

    #[test]
    fn what_cannot_match_is_ruled_out() {
        for (pattern, no, perhaps) in [
            (
                r"(?i)\b(password|passwd|api[_-]?key)\s*[:=]",
                "a word",
                "my PassWord",
            ),
            ("confidential", "confidant", "strictly confidential"),
            (
                "BEGIN PRIVATE KEY",
                "begin private key",
                "-----BEGIN PRIVATE KEY",
            ),
            (r"\.(pem|key|p12)$", "/srv/out/minutes.pdf", "x.pem"),
            (r"(ab|cd)+x{2,}abc", "abxxab", "cdxxabc"),
            ("(?:x|yy)?longword", "longwor", "longword"),
            ("é{1,3}tude", "étud", "ééétude"),
        ] {
            let filter = filter_of(&[pattern]).unwrap();
            assert!(!filter(no), "{pattern} {no}");
            assert!(filter(perhaps), "{pattern} {perhaps}");
            let padded = format!(
                "{}{perhaps}{}",
                "lorem ipsum ".repeat(7),
                " dolor".repeat(9)
            );
            assert!(filter(&padded), "{pattern} {padded}");
            assert!(!filter(&padded.replace(perhaps, no)), "{pattern} {padded}");
        }
    }

    #[test]
    fn no_prefilter_where_nothing_is_required() {
        for pattern in [
            r"\d{4}",
            "a*",
            "ab",
            "[a-z]+",
            "abc|x",
            "(abc)?",
            ".*",
            "(?i)[k-z]+",
        ] {
            assert!(filter_of(&[pattern]).is_none(), "{pattern}");
        }
        let many: Vec<String> = (0..17).map(|n| format!("word{n:02}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(filter_of(&many).is_none());
    }

    #[test]
    fn letters_with_spellings_beyond_ascii_are_not_missed() {
        let filter = filter_of(&["(?i)passkey"]).unwrap();
        assert!(filter("pa\u{17f}\u{17f}\u{212a}ey"));
        assert!(filter("passkey"));
        assert!(!filter("pass the key"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        /// No text that a pattern matches is ruled out.
        #[test]
        fn no_match_is_missed(
            pattern in "(?:\\(\\?i\\))?(?:abc|[ab]c|k?s|(?:abc|bca|)|(?:ab|ca){1,3}|x+|\\\\b|[xy]{0,2}|kss|é){1,6}",
            text in "[abcxykKsSſKé ]{0,12}",
            padding in 0..70_usize,
        ) {
            let text = format!("{}{text}{}", ".".repeat(padding), "-".repeat(padding / 2));
            if let Some(filter) = filter_of(&[&pattern])
                && regex::Regex::new(&pattern).unwrap().is_match(&text)
            {
                prop_assert!(filter(&text), "{} in {:?}", pattern, text);
            }
        }
    }
}
