//! Paths that overlap: a value at `a.b` also stands at `a` and among all arguments, one at
//! `a[0]` also at `a`, and one under `Path` also at `path`, for readers that ignore case.
//!
//! Knows paths; knows nothing of tests, rules or searches.

use bouncer_compiler::lower::Step;
use std::collections::BTreeMap;

/// What a value at one path is at another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It stands there as well.
    Standing,
    /// It is reached there through an object.
    Inside,
}

/// How the leaves of a path stand at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Stands {
    /// By themselves.
    #[default]
    Plainly,
    /// By themselves or inside an object, both as an author would write them.
    Either,
    /// Inside an object: the arguments themselves are one.
    Inside,
}

/// Which paths see which, by number.
#[derive(Debug, Default)]
pub(super) struct Overlaps {
    /// For each path the other paths at which its values are seen too.
    above: Vec<Vec<(u32, Seen)>>,
    /// How leaves stand at each path.
    stands: Vec<Stands>,
}

impl Overlaps {
    /// For all paths at hand. The work grows with their number times the number of those
    /// that start alike.
    pub fn of(paths: &[Vec<Step>]) -> Self {
        let mut by_start: BTreeMap<Option<String>, Vec<u32>> = BTreeMap::new();
        for (id, path) in (0..).zip(paths) {
            by_start.entry(start(path)).or_default().push(id);
        }
        let nothing = Vec::new();
        let roots = by_start.get(&None).unwrap_or(&nothing);
        let above = (0..)
            .zip(paths)
            .map(|(id, path): (u32, _)| {
                let alike = by_start.get(&start(path)).unwrap_or(&nothing);
                let mut others: Vec<u32> = alike.iter().chain(roots).copied().collect();
                others.sort_unstable();
                others.dedup();
                let seen = others.into_iter().filter(|other| *other != id);
                seen.filter_map(|other| Some((other, covers(paths.get(other as usize)?, path)?)))
                    .collect()
            })
            .collect();
        let mut out = Self {
            above,
            stands: Vec::new(),
        };
        out.stands = paths
            .iter()
            .map(|path| {
                if path.is_empty() {
                    Stands::Inside
                } else {
                    Stands::Plainly
                }
            })
            .collect();
        for (upper, seen) in out.above.iter().flatten() {
            if let Some(stands @ Stands::Plainly) = out.stands.get_mut(*upper as usize)
                && *seen == Seen::Inside
            {
                *stands = Stands::Either;
            }
        }
        out
    }

    /// How the leaves of a path stand at it.
    pub fn stands(&self, path: u32) -> Stands {
        self.stands.get(path as usize).copied().unwrap_or_default()
    }

    /// The other paths at which values of a path are seen.
    pub fn above(&self, path: u32) -> &[(u32, Seen)] {
        self.above.get(path as usize).map_or(&[], Vec::as_slice)
    }
}

/// The first name of a path, as readers see it that ignore case.
fn start(path: &[Step]) -> Option<String> {
    path.iter().find_map(|step| match step {
        Step::Key(key) => Some(folded(key)),
        Step::Index(_) | Step::Names => None,
    })
}

fn folded(key: &str) -> String {
    key.to_lowercase()
}

/// Whether the values of `lower` are seen at `upper`. Lists are transparent: an index of
/// `lower` may be left out.
fn covers(upper: &[Step], lower: &[Step]) -> Option<Seen> {
    // Names are no values.
    if upper.last() == Some(&Step::Names) || lower.last() == Some(&Step::Names) {
        return (upper == lower).then_some(Seen::Standing);
    }
    let mut inside = false;
    let mut rest = lower.iter();
    for wanted in upper {
        loop {
            let step = rest.next()?;
            match (wanted, step) {
                (Step::Key(a), Step::Key(b)) if a == b => break,
                (Step::Key(a), Step::Key(b)) if folded(a) == folded(b) => {
                    inside = true;
                    break;
                }
                (Step::Index(a), Step::Index(b)) if a == b => break,
                // A key that is a number picks an element, too.
                (Step::Key(_), Step::Index(index)) if wanted.index() == Some(*index) => break,
                (_, Step::Index(_)) => {}
                (_, Step::Key(_) | Step::Names) => return None,
            }
        }
    }
    inside |= upper.is_empty() || rest.any(|step| matches!(step, Step::Key(_)));
    Some(if inside { Seen::Inside } else { Seen::Standing })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Vec<Step> {
        let steps = text.split('.').filter(|step| !step.is_empty());
        steps
            .map(|step| match step.parse() {
                Ok(index) => Step::Index(index),
                Err(_) => Step::Key(step.to_owned()),
            })
            .collect()
    }

    #[test]
    fn what_is_seen_where() {
        for (upper, lower, seen) in [
            ("", "a", Some(Seen::Inside)),
            ("a", "a.b", Some(Seen::Inside)),
            ("a", "a.0", Some(Seen::Standing)),
            ("a", "a.0.b", Some(Seen::Inside)),
            ("a.b", "a.0.b", Some(Seen::Standing)),
            ("a.0", "a.0.b", Some(Seen::Inside)),
            ("path", "Path", Some(Seen::Inside)),
            ("Path", "path", Some(Seen::Inside)),
            ("a.0", "a", None),
            ("a.b", "a", None),
            ("a.0", "a.1", None),
            ("a", "b", None),
        ] {
            assert_eq!(covers(&path(upper), &path(lower)), seen, "{upper} {lower}");
        }
    }

    #[test]
    fn all_pairs_are_found() {
        let paths: Vec<Vec<Step>> = ["", "a", "a.b", "A.b", "a.0", "c"].map(path).to_vec();
        let overlaps = Overlaps::of(&paths);
        for (lower, of_lower) in (0..).zip(&paths) {
            for (upper, of_upper) in (0..).zip(&paths) {
                let seen = (lower != upper)
                    .then(|| covers(of_upper, of_lower))
                    .flatten();
                let listed = overlaps.above(lower).iter().find(|(id, _)| *id == upper);
                assert_eq!(listed.map(|(_, seen)| *seen), seen, "{upper} {lower}");
            }
        }
    }
}
