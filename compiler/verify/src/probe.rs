//! Texts that a pattern matches, and whether it matches others: for lints that show what
//! slips through rather than guess from how a pattern looks.

use regex_automata::dfa::{Automaton, dense};
use regex_automata::nfa::thompson;
use regex_automata::{Anchored, Input};
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

/// Samples of one pattern.
const MOST_SAMPLES: usize = 24;
/// Characters of one sample.
const LONGEST: usize = 300;

/// A pattern to try texts on.
pub(super) struct Probe(dense::DFA<Vec<u32>>);

impl Probe {
    /// `None` where the automaton would be large: nothing is claimed then.
    pub(super) fn new(regex: &str) -> Option<Self> {
        let dfa = dense::Builder::new()
            .configure(
                dense::Config::new()
                    // The texts to try are ASCII; on others the automaton gives up.
                    .unicode_word_boundary(true)
                    .dfa_size_limit(Some(2 << 20))
                    .determinize_size_limit(Some(4 << 20)),
            )
            .thompson(thompson::Config::new().nfa_size_limit(Some(2 << 20)))
            .build(regex)
            .ok()?;
        Some(Self(dfa))
    }

    /// Whether there is a match somewhere; no where that cannot be told.
    pub(super) fn matches(&self, text: &str) -> bool {
        let input = Input::new(text).anchored(Anchored::No).earliest(true);
        matches!(self.0.try_search_fwd(&input), Ok(Some(_)))
    }

    /// Whether there is certainly no match.
    pub(super) fn misses(&self, text: &str) -> bool {
        let input = Input::new(text).anchored(Anchored::No).earliest(true);
        matches!(self.0.try_search_fwd(&input), Ok(None))
    }
}

/// What a character of a sample stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Written so, in either letter case.
    Literal,
    /// One of any characters, as `.` is.
    Any,
    /// One of several.
    Filler,
}

/// A text that a pattern matches, unless its assertions forbid it.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    pub chars: Vec<(char, Mark)>,
}

impl Sample {
    /// A text as its own sample.
    pub(super) fn of(text: &str) -> Self {
        Self {
            chars: text.chars().map(|c| (c, Mark::Literal)).collect(),
        }
    }

    pub(super) fn text(&self) -> String {
        self.chars.iter().map(|(c, _)| c).collect()
    }

    /// The characters from `start` to `end`.
    pub(super) fn part(&self, start: usize, end: usize) -> String {
        let part = self.chars.get(start..end).unwrap_or_default();
        part.iter().map(|(c, _)| c).collect()
    }
}

/// Texts that the pattern matches, one for each way through its alternatives.
pub(super) fn samples(hir: &Hir) -> Vec<Sample> {
    let mut out = walk(hir, 0);
    out.retain(|sample| sample.chars.len() <= LONGEST);
    out
}

fn walk(hir: &Hir, depth: u32) -> Vec<Sample> {
    if depth > 60 {
        return Vec::new();
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => vec![Sample::default()],
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
            Ok(text) => vec![Sample::of(text)],
            Err(_) => Vec::new(),
        },
        HirKind::Class(Class::Unicode(class)) => pick(class)
            .map(|one| Sample { chars: vec![one] })
            .into_iter()
            .collect(),
        HirKind::Class(Class::Bytes(class)) => {
            let first = class
                .ranges()
                .first()
                .map(|range| char::from(range.start()));
            let one = first.map(|c| Sample {
                chars: vec![(c, Mark::Filler)],
            });
            one.into_iter().collect()
        }
        HirKind::Capture(capture) => walk(&capture.sub, depth + 1),
        HirKind::Repetition(repetition) => {
            let times = repetition.min.clamp(1, 12) as usize;
            let exactly = repetition.min == 1 && repetition.max == Some(1);
            let optional = repetition.max == Some(1);
            let mut out = walk(&repetition.sub, depth + 1);
            for sample in &mut out {
                sample.chars = sample.chars.repeat(times);
                if !exactly && !optional {
                    for (_, mark) in &mut sample.chars {
                        if *mark == Mark::Any {
                            *mark = Mark::Filler;
                        }
                    }
                }
            }
            if repetition.max == Some(0) {
                return vec![Sample::default()];
            }
            out
        }
        HirKind::Concat(parts) => {
            let mut out = vec![Sample::default()];
            for part in parts {
                let tails = walk(part, depth + 1);
                let mut next = Vec::new();
                'all: for head in &out {
                    for tail in &tails {
                        if next.len() >= MOST_SAMPLES || head.chars.len() > LONGEST {
                            break 'all;
                        }
                        let mut sample = head.clone();
                        sample.chars.extend_from_slice(&tail.chars);
                        next.push(sample);
                    }
                }
                out = next;
            }
            out
        }
        HirKind::Alternation(parts) => {
            let mut out = Vec::new();
            for part in parts {
                out.extend(walk(part, depth + 1));
                if out.len() >= MOST_SAMPLES {
                    out.truncate(MOST_SAMPLES);
                    break;
                }
            }
            out
        }
    }
}

/// A character of the class, a readable one first.
fn pick(class: &ClassUnicode) -> Option<(char, Mark)> {
    if let Some(c) = folded(class) {
        return Some((c, Mark::Literal));
    }
    let has = |c: char| contains(class, c);
    if ['x', '.', '-', '@', '5'].into_iter().all(has) {
        return Some(('a', Mark::Any));
    }
    let preferred = "a1x0-_./@ AZ".chars().find(|&c| has(c));
    let first = || class.ranges().first().map(|range| range.start());
    preferred.or_else(first).map(|c| (c, Mark::Filler))
}

/// Whether the class holds the character.
pub(super) fn contains(class: &ClassUnicode, c: char) -> bool {
    class
        .ranges()
        .iter()
        .any(|range| (range.start()..=range.end()).contains(&c))
}

/// The letter, in lower case, where a class is one letter in its cases.
fn folded(class: &ClassUnicode) -> Option<char> {
    let mut one = None;
    let mut count = 0;
    for range in class.ranges() {
        for c in range.start()..=range.end() {
            count += 1;
            let lower = match c {
                '\u{17f}' => 's',
                c => c.to_lowercase().next()?,
            };
            if count > 4 || one.is_some_and(|other| other != lower) {
                return None;
            }
            one = Some(lower);
        }
    }
    one
}

/// Calls `see` with every class of characters.
pub(super) fn each_class(hir: &Hir, see: &mut dyn FnMut(&ClassUnicode)) {
    let mut open = vec![hir];
    while let Some(hir) = open.pop() {
        match hir.kind() {
            HirKind::Class(Class::Unicode(class)) => see(class),
            HirKind::Capture(capture) => open.push(&capture.sub),
            HirKind::Repetition(repetition) => open.push(&repetition.sub),
            HirKind::Concat(parts) | HirKind::Alternation(parts) => open.extend(parts),
            _ => {}
        }
    }
}

/// Ends of names that are hosts rather than files or members.
const TOP: &[&str] = &[
    "com",
    "org",
    "net",
    "io",
    "dev",
    "app",
    "ai",
    "edu",
    "gov",
    "mil",
    "int",
    "co",
    "info",
    "biz",
    "cloud",
    "example",
    "test",
    "local",
    "internal",
    "corp",
    "lan",
    "us",
    "uk",
    "de",
    "fr",
    "jp",
    "cn",
    "ru",
    "eu",
    "ch",
    "nl",
    "se",
    "fi",
    "dk",
    "es",
    "at",
    "be",
    "cz",
    "ca",
    "au",
    "nz",
    "br",
    "mx",
    "kr",
    "tw",
    "hk",
    "sg",
    "za",
    "ie",
    "pt",
    "gr",
    "ua",
    "onion",
    "invalid",
    "localhost",
];

/// A host in a sample: where it stands, and which of its dots match anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    pub start: usize,
    pub end: usize,
    pub any_dots: Vec<usize>,
}

/// The hosts written out in a sample.
pub(super) fn hosts(sample: &Sample) -> Vec<Host> {
    let chars = &sample.chars;
    let is_label = |&(c, mark): &(char, Mark)| {
        mark == Mark::Literal && (c.is_ascii_alphanumeric() || c == '-')
    };
    let is_dot = |&(c, mark): &(char, Mark)| mark == Mark::Any || mark == Mark::Literal && c == '.';
    let mut out = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        if !chars.get(at).is_some_and(is_label) {
            at += 1;
            continue;
        }
        let start = at;
        while chars.get(at).is_some_and(|c| is_label(c) || is_dot(c)) {
            at += 1;
        }
        let mut end = at;
        while end > start && chars.get(end - 1).is_some_and(is_dot) {
            end -= 1;
        }
        let run = chars.get(start..end).unwrap_or_default();
        let labels: Vec<String> = run
            .split(is_dot)
            .map(|label| label.iter().map(|(c, _)| c.to_ascii_lowercase()).collect())
            .collect();
        if is_host(&labels, &sample.part(0, start)) {
            let any = |at: &usize| chars.get(*at).is_some_and(|(_, mark)| *mark == Mark::Any);
            out.push(Host {
                start,
                end,
                any_dots: (start..end).filter(any).collect(),
            });
        }
    }
    out
}

fn is_host(labels: &[String], before: &str) -> bool {
    let [_, .., last] = labels else {
        return false;
    };
    if labels.iter().any(String::is_empty) {
        return false;
    }
    let number = |label: &String| label.len() <= 3 && label.bytes().all(|b| b.is_ascii_digit());
    if labels.len() == 4 && labels.iter().all(number) {
        return true;
    }
    let word = last.len() >= 2 && last.bytes().all(|b| b.is_ascii_alphabetic());
    word && (TOP.contains(&last.as_str()) || before.ends_with('@') || before.ends_with("://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(regex: &str) -> Vec<(String, usize)> {
        let hir = regex_syntax::parse(regex).unwrap();
        let mut out = Vec::new();
        for sample in samples(&hir) {
            for host in hosts(&sample) {
                out.push((sample.part(host.start, host.end), host.any_dots.len()));
            }
        }
        out
    }

    #[test]
    fn hosts_are_found_in_patterns() {
        let host = |text: &str, any| (text.to_owned(), any);
        assert_eq!(found(r"@corp\.com$"), [host("corp.com", 0)]);
        assert_eq!(
            found(r"(?i)^https://api\.corp\.com/"),
            [host("api.corp.com", 0)]
        );
        assert_eq!(found("corp.com"), [host("corpacom", 1)]);
        assert_eq!(
            found(r"(corp|partner)\.(com|example)").len(),
            4,
            "all alternatives"
        );
        assert_eq!(found(r"^10\.0\.0\.1$"), [host("10.0.0.1", 0)]);
        for none in [
            r"report\.txt",
            "drop.*table",
            r"\d+\.\d+",
            "a|b",
            r".*\.md",
            "v1.2",
        ] {
            assert_eq!(found(none), [], "{none}");
        }
    }

    #[test]
    fn samples_match_their_pattern() {
        for regex in [
            r"^[^@\s]+@corp\.com$",
            r"(?i)drop\s+table",
            r"a{3}b?c+(d|e)",
        ] {
            let probe = Probe::new(regex).unwrap();
            let hir = regex_syntax::parse(regex).unwrap();
            for sample in samples(&hir) {
                assert!(probe.matches(&sample.text()), "{regex}: {}", sample.text());
            }
        }
    }
}
