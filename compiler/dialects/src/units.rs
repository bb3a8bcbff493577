//! JavaScript without the `u` flag matches UTF-16 code units, Rust matches
//! characters. A character beyond U+FFFF is two units there, so `^.$` does not
//! match an emoji and `^..$` does.
//!
//! A regex over units becomes four over characters, by whether it starts and ends
//! at a character's border or between the two halves of an astral character:
//! `[start][end]`. The first half is charged with the whole character, the second
//! costs nothing. Sets hold either all halves (`.`, `[^a]`, `\W`) or none: the
//! parser refuses lone halves.

use std::rc::Rc;

use super::node::{Node, Set, alt, concat, same, set};

/// A regex by its borders; `None` matches nothing at all.
#[derive(Clone)]
pub(super) struct Units {
    /// From border to border.
    whole: Option<Rc<Node>>,
    /// From a border into a character.
    into: Option<Rc<Node>>,
    /// From inside a character to a border.
    out_of: Option<Rc<Node>>,
    /// From inside a character into a character.
    inside: Option<Rc<Node>>,
}

fn seq(parts: [&Option<Rc<Node>>; 2]) -> Option<Rc<Node>> {
    let [a, b] = parts;
    Some(concat([a.clone()?, b.clone()?]))
}

fn or(a: Option<Rc<Node>>, b: Option<Rc<Node>>) -> Option<Rc<Node>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(alt([a, b])),
        (a, b) => a.or(b),
    }
}

fn empty() -> Option<Rc<Node>> {
    Some(Rc::new(Node::Empty))
}

fn is_empty(node: &Rc<Node>) -> bool {
    matches!(**node, Node::Empty)
}

fn alike(a: &Option<Rc<Node>>, b: &Option<Rc<Node>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => same(a, b),
        (a, b) => a.is_none() && b.is_none(),
    }
}

fn repeat(node: Option<Rc<Node>>, min: u32, max: Option<u32>) -> Option<Rc<Node>> {
    match (node, min) {
        (None, 0) => empty(),
        (None, _) => None,
        (Some(node), _) => match (&*node, min, max) {
            (Node::Empty, ..) | (_, _, Some(0)) => empty(),
            (_, 1, Some(1)) => Some(node),
            _ => Some(Rc::new(Node::Repeat(node, min, max))),
        },
    }
}

fn astral() -> Set {
    set(&[('\u{10000}', '\u{10FFFF}')])
}

impl Units {
    fn plain(node: Option<Rc<Node>>) -> Units {
        Units {
            whole: node,
            into: None,
            out_of: None,
            inside: None,
        }
    }

    /// The empty regex: it may stand anywhere.
    pub(super) fn empty() -> Units {
        Units {
            whole: empty(),
            into: None,
            out_of: None,
            inside: empty(),
        }
    }

    /// A character that is no part of a set, astral ones included.
    pub(super) fn literal(c: char) -> Units {
        Units::plain(Some(Rc::new(Node::Class(set(&[(c, c)])))))
    }

    /// One unit of a set: `bmp` below U+10000, and with `halves` every surrogate.
    pub(super) fn class(bmp: Set, halves: bool) -> Units {
        let some = |set: Set| (!set.ranges().is_empty()).then(|| Rc::new(Node::Class(set)));
        Units {
            whole: some(bmp),
            into: if halves { some(astral()) } else { None },
            out_of: if halves { empty() } else { None },
            inside: None,
        }
    }

    /// An assertion that holds only at a border.
    pub(super) fn look(look: &'static str) -> Units {
        Units::plain(Some(Rc::new(Node::Look(look))))
    }

    /// `\B`: between two halves neither side is a word.
    pub(super) fn not_word_boundary() -> Units {
        Units {
            inside: empty(),
            ..Units::look("(?-u:\\B)")
        }
    }

    pub(super) fn then(&self, next: &Units) -> Units {
        let join = |start: &Option<Rc<Node>>, inner: &Option<Rc<Node>>, a, b| {
            or(seq([start, a]), seq([inner, b]))
        };
        Units {
            whole: join(&self.whole, &self.into, &next.whole, &next.out_of),
            into: join(&self.whole, &self.into, &next.into, &next.inside),
            out_of: join(&self.out_of, &self.inside, &next.whole, &next.out_of),
            inside: join(&self.out_of, &self.inside, &next.into, &next.inside),
        }
    }

    pub(super) fn or(&self, other: &Units) -> Units {
        Units {
            whole: or(self.whole.clone(), other.whole.clone()),
            into: or(self.into.clone(), other.into.clone()),
            out_of: or(self.out_of.clone(), other.out_of.clone()),
            inside: or(self.inside.clone(), other.inside.clone()),
        }
    }

    /// From `min` to `max` times; unrolls counts only where halves are involved.
    pub(super) fn repeat(&self, min: u32, max: Option<u32>) -> Units {
        if max == Some(0) {
            return Units::empty();
        }
        let halves = self.into.is_some() || self.out_of.is_some();
        if !halves && self.inside.as_ref().is_none_or(is_empty) {
            let mut out = Units::plain(repeat(self.whole.clone(), min, max));
            out.inside = if min == 0 {
                empty()
            } else {
                self.inside.clone()
            };
            return out;
        }
        match (min, max) {
            (1, Some(1)) => self.clone(),
            (0, None) => self.plus().or(&Units::empty()),
            (1, None) => self.plus(),
            (min, None) => self.power(min - 1).then(&self.plus()),
            (min, Some(max)) => {
                let maybe = self.or(&Units::empty());
                self.power(min).then(&maybe.power(max.saturating_sub(min)))
            }
        }
    }

    /// At least once: the loop from border to border is `round`, whatever it passes.
    fn plus(&self) -> Units {
        let stay = repeat(self.inside.clone(), 0, None);
        let leave = seq([&stay, &self.out_of]);
        let enter = seq([&self.into, &stay]);
        let round = or(self.whole.clone(), seq([&self.into, &leave]));
        let rounds = repeat(round.clone(), 0, None);
        let back = seq([&leave, &rounds]);
        Units {
            whole: repeat(round, 1, None),
            into: seq([&rounds, &enter]),
            inside: or(repeat(self.inside.clone(), 1, None), seq([&back, &enter])),
            out_of: back,
        }
    }

    /// By halving, so that the tree stays shallow.
    fn power(&self, n: u32) -> Units {
        match n {
            0 => Units::empty(),
            1 => self.clone(),
            _ => {
                let half = self.power(n / 2);
                let twice = half.then(&half);
                if n % 2 == 1 { twice.then(self) } else { twice }
            }
        }
    }

    /// The regex for an unanchored search. A match that starts or ends inside an
    /// astral character takes in the whole character.
    pub(super) fn search(&self) -> Rc<Node> {
        let astral = Some(Rc::new(Node::Class(astral())));
        let mut out = or(self.whole.clone(), self.into.clone());
        // What matches without the character before it is found anyway.
        if !alike(&self.out_of, &self.whole) {
            out = or(out, seq([&astral, &self.out_of]));
        }
        if !alike(&self.inside, &self.into) && !alike(&self.inside, &self.whole) {
            out = or(out, seq([&astral, &self.inside]));
        }
        out.unwrap_or_else(|| Rc::new(Node::Class(set(&[]))))
    }
}
