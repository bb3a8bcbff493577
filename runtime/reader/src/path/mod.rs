//! Path prefixes: is a path inside a directory, whoever reads it?
//!
//! A value is inside only if it is inside under every reading that some server
//! might give it, see [`within`]. Nothing here knows of policies or calls; only
//! [`within_resolved`] looks at the file system.

mod based;
mod relative;
mod resolved;

pub use based::{Rooms, may_be_within_based, within_based};
pub use relative::may_be_relative;
pub use resolved::{Looks, may_be_within_resolved, within_resolved};

use crate::block::{self, Set, wanted};
use crate::text::{canonical, canonical_with_nul, is_space};
use std::borrow::Cow;
use std::cell::RefCell;

/// Whether `value` is `prefix` or lies below it, under every plausible reading.
///
/// Whole components are compared, byte for byte, after collapsing `.`, `..` and
/// repeated `/`. The prefix `.` means "below here": only relative paths that do not
/// climb are inside. `/` holds all absolute paths. Exactly two leading slashes are
/// a root of their own, as POSIX allows. An empty prefix holds nothing.
///
/// The readings, each of which must be inside: the value as it is; trimmed; in
/// canonical form (percent-decoded to a fixed point, full-width and invisible
/// characters undone; the prefix then too; bytes that form no character are refused); and each of these with back-slashes as
/// separators, where white space around `..` is ignored as Windows does.
/// NUL anywhere is outside. So is a leading `~`, a drive letter, or a scheme with a
/// slash after it (`file:/`), unless the prefix starts with the same one.
///
/// Takes linear time times, at worst, the length of the prefix. Allocates only for
/// values with `%` or non-ASCII characters, and there reuses one buffer a thread.
#[must_use]
pub fn within(value: &str, prefix: &str) -> bool {
    if is_simple(value) && is_simple(prefix) {
        // One reading only, and nothing collapses: whole components are compared.
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        return value
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    }
    within_every_reading(value, prefix)
}

/// [`within`] for paths that can be read in several ways.
fn within_every_reading(value: &str, prefix: &str) -> bool {
    if prefix.is_empty() || value.contains('\0') || prefix.contains('\0') {
        return false;
    }
    if !both_separators(value, prefix) {
        return false;
    }
    let trimmed = value.trim_matches(is_space);
    if trimmed.len() != value.len() && !both_separators(trimmed, prefix) {
        return false;
    }
    if value.bytes().all(|b| matches!(b, b' '..=b'~') && b != b'%') {
        // Its own canonical form, but for runs of spaces, which mean nothing here.
        return true;
    }
    CANONICAL.with(|buffers| {
        // Never borrowed twice: nothing below calls back. Outside if it were.
        let Ok(mut buffers) = buffers.try_borrow_mut() else {
            return false;
        };
        let (value_text, prefix_text) = &mut *buffers;
        canonical_with_nul(value, value_text);
        canonical(prefix, prefix_text);
        // Bytes that form no character, such as an overlong `.` or `/`, are refused.
        let inside = !value_text.contains([char::REPLACEMENT_CHARACTER, '\0'])
            && !prefix_text.is_empty()
            && both_separators(value_text, prefix_text);
        for text in [value_text, prefix_text] {
            if text.capacity() > KEPT {
                *text = String::new();
            }
        }
        inside
    })
}

/// Whether every reader takes an absolute path for the same components: printable ASCII
/// without spaces, and nothing in it that decodes, separates or collapses.
fn is_simple(path: &str) -> bool {
    const MARKS: Set<4> = Set::of(*b"%\\~:");
    const AFTER_SLASH: Set<2> = Set::of(*b"/.");
    let odd = wanted!(|block, next| {
        let collapses = block.is(b'/') & next.among(&AFTER_SLASH);
        !block.within(b'!', b'~') | block.among(&MARKS) | collapses
    });
    path.starts_with('/') && block::find_pair(path.as_bytes(), odd).is_none()
}

/// Whether *some* plausible reading of `value` lies in `prefix`: the question of a rule
/// that forbids a directory. Wider than [`within`]; it also holds for values that
/// nobody can place: with NUL or undecodable bytes, a leading `~`, or a relative path
/// that climbs out of wherever it starts. May allocate where the value needs decoding.
#[must_use]
pub fn may_be_within(value: &str, prefix: &str) -> bool {
    if prefix.is_empty() || value.contains('\0') {
        return true;
    }
    let simple = value
        .bytes()
        .all(|b| matches!(b, b' '..=b'~') && b != b'%' && b != b'\\');
    if simple {
        return may_lie_in(value, prefix) || may_lie_in(value.trim_matches(is_space), prefix);
    }
    let mut readings = readings(value);
    let mut whole = String::new();
    canonical_with_nul(value, &mut whole);
    if whole.contains([char::REPLACEMENT_CHARACTER, '\0']) {
        return true;
    }
    readings.push(whole);
    readings.iter().any(|reading| may_lie_in(reading, prefix))
}

/// One reading for [`may_be_within`].
fn may_lie_in(value: &str, prefix: &str) -> bool {
    let value = value.strip_prefix("file://").unwrap_or(value);
    if inside(value, prefix, false) || inside(value, prefix, true) {
        return true;
    }
    // Most systems read two leading slashes as one.
    if let Some(rest) = value.strip_prefix("//")
        && !rest.starts_with('/')
        && (inside(value.get(1..).unwrap_or_default(), prefix, false) || prefix == "/")
    {
        return true;
    }
    // A prefix below the root, and a value whose start nobody here knows.
    prefix.starts_with('/') && (value.starts_with('~') || climbs(value))
}

/// Whether a relative path leaves the directory it starts in.
fn climbs(value: &str) -> bool {
    if value.starts_with(['/', '\\']) {
        return false;
    }
    let mut depth = 0_usize;
    for part in value.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return true,
            },
            _ => depth += 1,
        }
    }
    false
}

/// Largest buffer, in bytes, that a thread keeps between calls.
const KEPT: usize = 1 << 16;

thread_local! {
    static CANONICAL: RefCell<(String, String)> = const { RefCell::new((String::new(), String::new())) };
}

/// All readings of `value` other than the value itself, for callers that may allocate.
fn readings(value: &str) -> Vec<String> {
    let mut decoded = String::new();
    canonical(value, &mut decoded);
    let trimmed = value.trim_matches(is_space).to_owned();
    let mut all = vec![value.to_owned(), trimmed, decoded];
    let slashed: Vec<_> = all.iter().map(|text| text.replace('\\', "/")).collect();
    all.extend(slashed);
    all.sort_unstable();
    all.dedup();
    all
}

fn both_separators(value: &str, prefix: &str) -> bool {
    let windows = value.contains('\\') || value.contains(is_space);
    inside(value, prefix, false) && (!windows || inside(value, prefix, true))
}

/// Where a path starts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Root {
    Relative,
    Slash,
    TwoSlashes,
}

/// One reading of one path. With `windows`, a back-slash separates too, and white
/// space around a component of dots does not count.
#[derive(Clone, Copy)]
struct Path<'a> {
    text: &'a str,
    windows: bool,
}

impl<'a> Path<'a> {
    fn is_separator(self, c: char) -> bool {
        c == '/' || (self.windows && c == '\\')
    }

    fn root(self) -> Root {
        let slashes = self
            .text
            .chars()
            .take(3)
            .take_while(|&c| self.is_separator(c))
            .count();
        match slashes {
            0 => Root::Relative,
            2 => Root::TwoSlashes,
            _ => Root::Slash,
        }
    }

    /// What changes the meaning of the whole path: `~name`, or a drive or a scheme
    /// with the slashes after it. Empty for plain paths.
    fn mark(self) -> &'a str {
        let end = if self.text.starts_with('~') {
            self.text
                .find(|c| self.is_separator(c))
                .unwrap_or(self.text.len())
        } else {
            let scheme = self
                .text
                .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.'))
                .unwrap_or(0);
            let after = self
                .text
                .get(scheme..)
                .and_then(|rest| rest.strip_prefix(':'));
            let slashes = after.map_or(0, |rest| {
                rest.len() - rest.trim_start_matches(['/', '\\']).len()
            });
            match after {
                // `C:x` is relative to another directory, `C:/x` is absolute.
                Some(_) if scheme == 1 || (scheme > 1 && slashes > 0) => scheme + 1 + slashes,
                // `file:x`: no slash needed, some readers take it.
                Some(_)
                    if self
                        .text
                        .get(..scheme)
                        .is_some_and(|s| s.eq_ignore_ascii_case("file")) =>
                {
                    scheme + 1
                }
                _ => 0,
            }
        };
        self.text.get(..end).unwrap_or(self.text)
    }

    /// The components that say something: not empty, not `.`.
    fn components(self) -> impl Iterator<Item = &'a str> {
        self.text
            .split(move |c| self.is_separator(c))
            .map(move |part| {
                let bare = part.trim_matches(is_space);
                if self.windows && matches!(bare, "" | "." | "..") {
                    bare
                } else {
                    part
                }
            })
            .filter(|part| !matches!(*part, "" | "."))
    }
}

/// `prefix` without what collapses; leading `..` of a relative path stay. The usual
/// spellings (`/out`, `/out/`, `out`, `.`) come back without a copy.
fn normal(prefix: &str) -> Cow<'_, str> {
    let inner = prefix.trim_matches('/');
    if inner.is_empty()
        || inner
            .split('/')
            .all(|part| !matches!(part, "" | "." | ".."))
    {
        return Cow::Borrowed(prefix);
    }
    if inner == "." {
        return Cow::Borrowed("");
    }
    let path = Path {
        text: prefix,
        windows: false,
    };
    let root = path.root();
    let mut kept: Vec<&str> = Vec::new();
    for part in path.components() {
        match (part, kept.last()) {
            ("..", Some(&last)) if last != ".." => {
                kept.pop();
            }
            ("..", _) if root != Root::Relative => {}
            _ => kept.push(part),
        }
    }
    let start = match root {
        Root::Relative => "",
        Root::Slash => "/",
        Root::TwoSlashes => "//",
    };
    Cow::Owned(format!("{start}{}", kept.join("/")))
}

/// One reading of `value` against `prefix`.
fn inside(value: &str, prefix: &str, windows: bool) -> bool {
    let value = Path {
        text: value,
        windows,
    };
    let prefix_path = Path {
        text: prefix,
        windows: false,
    };
    let same_mark = if windows {
        // The slashes may be spelled either way here.
        let slashed = |c| if c == '\\' { '/' } else { c };
        value
            .mark()
            .chars()
            .map(slashed)
            .eq(prefix_path.mark().chars().map(slashed))
    } else {
        value.mark() == prefix_path.mark()
    };
    if !same_mark || value.root() != prefix_path.root() {
        return false;
    }
    let absolute = value.root() != Root::Relative;
    let prefix = normal(prefix);
    let mut wanted = Wanted::new(prefix.trim_start_matches('/'));
    // Leading `..` of a relative path: as many as the prefix has, or it is elsewhere.
    let climbs = wanted.skip_climbs();
    let mut climbed = 0;
    // How many components are on the way down now.
    let mut depth = 0_usize;
    for part in value.components() {
        if part != ".." {
            wanted.down(part, depth);
            depth += 1;
        } else if depth > 0 {
            depth -= 1;
            wanted.up(depth);
        } else if !absolute {
            climbed += 1;
        }
    }
    climbed == climbs && wanted.is_met()
}

/// How far the current path agrees with the prefix.
struct Wanted<'a> {
    /// The normal prefix, without its root.
    prefix: &'a str,
    /// Where in `prefix` the components begin that are not matched yet.
    at: usize,
    /// How many components are matched.
    matched: usize,
}

impl<'a> Wanted<'a> {
    fn new(prefix: &'a str) -> Self {
        let prefix = prefix.trim_end_matches('/');
        Self {
            prefix,
            at: 0,
            matched: 0,
        }
    }

    fn skip_climbs(&mut self) -> usize {
        let mut climbs = 0;
        while let Some(rest) = self.prefix.strip_prefix("..")
            && (rest.is_empty() || rest.starts_with('/'))
        {
            climbs += 1;
            self.prefix = rest.trim_start_matches('/');
        }
        climbs
    }

    fn rest(&self) -> &'a str {
        self.prefix.get(self.at..).unwrap_or("")
    }

    /// One component down, from `depth`.
    fn down(&mut self, part: &str, depth: usize) {
        let rest = self.rest();
        let next = rest.split('/').next().unwrap_or("");
        if depth == self.matched && !rest.is_empty() && next == part {
            self.matched += 1;
            // Past the component and its slash, if it has one.
            self.at = self.prefix.len().min(self.at + next.len() + 1);
        }
    }

    /// Up again: `depth` components are left.
    fn up(&mut self, depth: usize) {
        if depth < self.matched {
            self.matched -= 1;
            let done = self
                .prefix
                .get(..self.at)
                .unwrap_or("")
                .trim_end_matches('/');
            self.at = done.rfind('/').map_or(0, |slash| slash + 1);
        }
    }

    fn is_met(&self) -> bool {
        self.rest().is_empty()
    }
}

#[cfg(test)]
mod tests;
