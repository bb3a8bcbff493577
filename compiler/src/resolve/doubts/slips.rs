//! Whether a name is a slip of another: one letter too many, too few, wrong or swapped in one
//! of its words, or other capitals. Two tools of real servers rarely differ so little; where
//! they do (`get_issue` and `get_issues`), it is in the plural, which is no slip.

use std::collections::HashSet;

/// Words shorter than this differ by one letter too often: `get` and `set`.
const SHORT: usize = 4;

/// Names that are known, for finding the one that was meant.
pub(super) struct Known<'a> {
    names: Vec<&'a str>,
    set: HashSet<&'a str>,
    words: HashSet<&'a str>,
}

impl<'a> Known<'a> {
    pub fn new(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: Vec<&str> = names.into_iter().collect();
        names.sort_unstable();
        names.dedup();
        let words = names.iter().flat_map(|name| words(name)).collect();
        Self {
            set: names.iter().copied().collect(),
            names,
            words,
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.names.iter().copied()
    }

    pub fn contains(&self, name: &str) -> bool {
        self.set.contains(name)
    }

    /// The known name that `name` is a slip of. Linear in the names.
    pub fn meant(&self, name: &str) -> Option<&'a str> {
        if self.contains(name) {
            return None;
        }
        self.names
            .iter()
            .copied()
            .find(|known| known.eq_ignore_ascii_case(name))
            .or_else(|| {
                self.names
                    .iter()
                    .copied()
                    .find(|known| self.near(name, known))
            })
    }

    fn near(&self, name: &str, known: &str) -> bool {
        if name.len().abs_diff(known.len()) > 1 {
            return false;
        }
        let (mine, theirs) = (words(name), words(known));
        let mut other = mine.zip(theirs).filter(|(a, b)| a != b);
        let (Some((mine, theirs)), None) = (other.next(), other.next()) else {
            return false;
        };
        words(name).count() == words(known).count()
            && mine.len() >= SHORT
            && theirs.len() >= SHORT
            && !self.words.contains(mine)
            && !is_plural(mine, theirs)
            && one_letter(mine.as_bytes(), theirs.as_bytes())
    }
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric())
}

/// Whether one is the other's plural, or they differ in a number.
fn is_plural(one: &str, other: &str) -> bool {
    let longer = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest == "s");
    let number = |text: &str| text.ends_with(|c: char| c.is_ascii_digit());
    longer(one, other) || longer(other, one) || number(one) || number(other)
}

/// Whether one edit makes one text the other: a letter more, less or changed, or two
/// neighbours swapped.
fn one_letter(one: &[u8], other: &[u8]) -> bool {
    let start = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (mut a, mut b) = (
        one.get(start..).unwrap_or_default(),
        other.get(start..).unwrap_or_default(),
    );
    let end = a.iter().rev().zip(b.iter().rev());
    let end = end.take_while(|(x, y)| x == y).count();
    a = a.get(..a.len().saturating_sub(end)).unwrap_or_default();
    b = b.get(..b.len().saturating_sub(end)).unwrap_or_default();
    match (a, b) {
        ([_], [_]) | ([_], []) | ([], [_]) => true,
        ([x, y], [p, q]) => x == q && y == p,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_names_are_not() {
        let known = Known::new(["send_email", "get_issue", "read_file", "load_page", "x"]);
        for (slip, meant) in [
            ("send_emial", "send_email"),
            ("send_emal", "send_email"),
            ("Send_Email", "send_email"),
            ("raed_file", "read_file"),
            ("load_pagge", "load_page"),
        ] {
            assert_eq!(known.meant(slip), Some(meant), "{slip}");
        }
        for other in [
            "send_email",
            "get_issues",
            "set_issue",
            "read_files",
            "read_file2",
            "read_page",
            "sendEmail",
            "y",
            "send_mail_now",
            "",
        ] {
            assert_eq!(known.meant(other), None, "{other}");
        }
    }
}
