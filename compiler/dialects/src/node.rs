//! A regex as a tree of character sets, and its printing in Rust syntax. Groups
//! have no names or numbers and repeats no greed: only whether there is a match counts.

use std::fmt::Write as _;
use std::rc::Rc;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// A set of characters.
pub(super) type Set = ClassUnicode;

/// A part of a regex. Shared, so that unrolled repeats cost no memory.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Matches nothing but the empty text.
    Empty,
    /// One character of a set.
    Class(Set),
    /// An assertion, as Rust spells it.
    Look(&'static str),
    /// One after the other; at least two parts.
    Concat(Vec<Rc<Node>>),
    /// One or the other; at least two parts.
    Alt(Vec<Rc<Node>>),
    /// From so many to so many times.
    Repeat(Rc<Node>, u32, Option<u32>),
}

/// The set of these ranges.
pub(super) fn set(ranges: &[(char, char)]) -> Set {
    ClassUnicode::new(ranges.iter().map(|(a, b)| ClassUnicodeRange::new(*a, *b)))
}

/// Longer lists are shared rather than copied into longer ones.
const FLAT: usize = 1024;

/// Whether two small trees are alike; large ones never are, since a tree with
/// shared parts can be exponentially larger than its memory.
pub(super) fn same(a: &Rc<Node>, b: &Rc<Node>) -> bool {
    fn alike(a: &Rc<Node>, b: &Rc<Node>, budget: &mut usize) -> bool {
        if Rc::ptr_eq(a, b) {
            return true;
        }
        if *budget == 0 {
            return false;
        }
        *budget -= 1;
        let mut all = |a: &[Rc<Node>], b: &[Rc<Node>]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b, budget))
        };
        match (&**a, &**b) {
            (Node::Empty, Node::Empty) => true,
            (Node::Class(a), Node::Class(b)) => a == b,
            (Node::Look(a), Node::Look(b)) => a == b,
            (Node::Concat(a), Node::Concat(b)) | (Node::Alt(a), Node::Alt(b)) => all(a, b),
            (Node::Repeat(a, n, m), Node::Repeat(b, k, l)) => {
                n == k && m == l && alike(a, b, budget)
            }
            _ => false,
        }
    }
    alike(a, b, &mut 500)
}

/// Combines parts two by two, so that the tree stays shallow.
pub(super) fn balanced<T: Clone>(mut parts: Vec<T>, join: impl Fn(&T, &T) -> T) -> Option<T> {
    while parts.len() > 1 {
        parts = parts
            .chunks(2)
            .filter_map(|pair| match pair {
                [a, b] => Some(join(a, b)),
                [one] => Some(one.clone()),
                _ => None,
            })
            .collect();
    }
    parts.pop()
}

/// One after the other.
pub(super) fn concat(parts: impl IntoIterator<Item = Rc<Node>>) -> Rc<Node> {
    let mut flat: Vec<Rc<Node>> = Vec::new();
    for part in parts {
        match &*part {
            Node::Empty => {}
            Node::Concat(more) if more.len() <= FLAT => flat.extend(more.iter().cloned()),
            _ => flat.push(part),
        }
    }
    match (flat.len(), flat.pop()) {
        (_, None) => Rc::new(Node::Empty),
        (1, Some(only)) => only,
        (_, Some(last)) => {
            flat.push(last);
            Rc::new(Node::Concat(flat))
        }
    }
}

/// One or the other. Sets beside each other become one set.
pub(super) fn alt(parts: impl IntoIterator<Item = Rc<Node>>) -> Rc<Node> {
    let mut flat: Vec<Rc<Node>> = Vec::new();
    let mut push = |part: Rc<Node>| {
        if let (Node::Class(more), Some(Node::Class(set))) =
            (&*part, flat.last().map(|last| &**last))
        {
            let mut union = set.clone();
            union.union(more);
            flat.pop();
            flat.push(Rc::new(Node::Class(union)));
        } else if !flat.last().is_some_and(|last| same(last, &part)) {
            flat.push(part);
        }
    };
    for part in parts {
        match &*part {
            Node::Alt(more) if more.len() <= FLAT => more.iter().cloned().for_each(&mut push),
            _ => push(part),
        }
    }
    match (flat.len(), flat.pop()) {
        (1, Some(only)) => only,
        (_, Some(last)) => {
            flat.push(last);
            Rc::new(Node::Alt(flat))
        }
        (_, None) => Rc::new(Node::Class(set(&[]))),
    }
}

impl Node {
    /// Prints in Rust syntax; `None` beyond `limit` bytes.
    pub(super) fn print(&self, limit: usize) -> Option<String> {
        let mut out = String::new();
        self.write(&mut out, limit, Place::Alone)?;
        Some(out)
    }

    /// Recursion is as deep as the tree, which the parsers bound.
    fn write(&self, out: &mut String, limit: usize, place: Place) -> Option<()> {
        if out.len() > limit {
            return None;
        }
        let group = match self {
            Node::Empty | Node::Repeat(..) | Node::Look(_) => place == Place::Repeated,
            Node::Class(_) => false,
            Node::Concat(_) => place == Place::Repeated,
            Node::Alt(_) => place != Place::Alone,
        };
        if group {
            out.push_str("(?:");
        }
        match self {
            Node::Empty => {}
            Node::Class(set) => write_set(out, set),
            Node::Look(look) => out.push_str(look),
            Node::Concat(parts) => {
                for part in parts {
                    part.write(out, limit, Place::Part)?;
                }
            }
            Node::Alt(parts) => {
                for (n, part) in parts.iter().enumerate() {
                    if n > 0 {
                        out.push('|');
                    }
                    part.write(out, limit, Place::Part)?;
                }
            }
            Node::Repeat(part, min, max) => {
                part.write(out, limit, Place::Repeated)?;
                match (min, max) {
                    (0, None) => out.push('*'),
                    (1, None) => out.push('+'),
                    (0, Some(1)) => out.push('?'),
                    (min, None) => drop(write!(out, "{{{min},}}")),
                    (min, Some(max)) if min == max => drop(write!(out, "{{{min}}}")),
                    (min, Some(max)) => drop(write!(out, "{{{min},{max}}}")),
                }
            }
        }
        if group {
            out.push(')');
        }
        Some(())
    }
}

/// What stands around a node, and so whether it needs a group.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Alone,
    Part,
    Repeated,
}

fn write_set(out: &mut String, set: &Set) {
    if let [range] = set.ranges()
        && range.start() == range.end()
    {
        write_char(out, range.start());
        return;
    }
    // The shorter of the set and its complement.
    let mut negated = set.clone();
    negated.negate();
    let flip = !negated.ranges().is_empty() && negated.ranges().len() < set.ranges().len();
    let shown = if flip || set.ranges().is_empty() {
        &negated
    } else {
        set
    };
    out.push('[');
    if flip || set.ranges().is_empty() {
        out.push('^');
    }
    for range in shown.ranges() {
        write_char(out, range.start());
        if range.start() != range.end() {
            if u32::from(range.end()) > u32::from(range.start()) + 1 {
                out.push('-');
            }
            write_char(out, range.end());
        }
    }
    out.push(']');
}

fn write_char(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() || c == '_' || c.is_alphabetic() {
        out.push(c);
    } else if c.is_ascii_graphic() && regex_syntax::is_meta_character(c) {
        out.push('\\');
        out.push(c);
    } else if c == ' ' || c.is_ascii_graphic() {
        out.push(c);
    } else {
        let _ = write!(out, "\\x{{{:X}}}", u32::from(c));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_rust_syntax() {
        let a = || Rc::new(Node::Class(set(&[('a', 'a')])));
        let bc = || Rc::new(Node::Class(set(&[('b', 'c')])));
        let print = |node: Rc<Node>| node.print(1000).unwrap();
        assert_eq!(print(concat([a(), bc()])), "a[bc]");
        assert_eq!(print(alt([a(), bc()])), "[a-c]");
        let ab = concat([a(), bc()]);
        assert_eq!(
            print(Rc::new(Node::Repeat(ab.clone(), 0, None))),
            "(?:a[bc])*"
        );
        assert_eq!(
            print(concat([a(), alt([ab, Rc::new(Node::Empty)])])),
            "a(?:a[bc]|)"
        );
        assert_eq!(
            print(Rc::new(Node::Class(set(&[('-', '-'), ('[', ']')])))),
            "[\\-\\[-\\]]"
        );
        assert_eq!(
            print(Rc::new(Node::Class(set(&[])))),
            "[^\\x{0}-\\x{10FFFF}]"
        );
        assert_eq!(Node::Class(set(&[('é', 'é')])).print(1000).unwrap(), "é");
    }
}
