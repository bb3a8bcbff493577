//! Conditions of rules.

use super::rng::Rng;
use super::vocabulary::{DOMAINS, INNER_KEYS, KEYS, NUMBERS, PREFIXES, REGEXES, TEXTS};
use bouncer_compiler::policy::{
    Check, Compare, Cond, ListItem, Network, Op, Part, Path, Pattern, Pos, Provenance, Quantifier,
    Scalar, Segment, SessionTest, SqlDialect, Subject, Test, TypeName, View,
};
use bouncer_plan::{Effect, Effects};

/// A path of an argument, most often a plain name.
pub fn path(rng: &mut Rng) -> Path {
    let key = |key: &str| Segment::Key(key.to_owned());
    let first = key(rng.pick(KEYS));
    Path(match rng.below(20) {
        0 => vec![first, Segment::Each],
        1 => vec![first, Segment::Index(u32::try_from(rng.below(3)).unwrap())],
        2 | 3 => vec![first, key(rng.pick(INNER_KEYS))],
        4 => vec![key("items"), Segment::Each, key("email")],
        5 if rng.chance(30) => vec![],
        _ => vec![first],
    })
}

/// A condition over a few paths, so that the ways of picking leaves stay few.
pub fn condition(rng: &mut Rng, paths: &[Path], at: Pos, depth: usize) -> Cond {
    match rng.below(if depth > 2 { 6 } else { 12 }) {
        0..=5 => Cond::Test(test(rng, paths, at)),
        6 | 7 => Cond::Not(Box::new(condition(rng, paths, at, depth + 1))),
        8 | 9 => Cond::Any(rng.several(0, 3, |rng| condition(rng, paths, at, depth + 1))),
        _ => Cond::All(rng.several(0, 3, |rng| condition(rng, paths, at, depth + 1))),
    }
}

fn test(rng: &mut Rng, paths: &[Path], at: Pos) -> Test {
    let path = rng.choose(paths).clone();
    let quantifier = match rng.below(10) {
        0 => Quantifier::Any,
        1 => Quantifier::All,
        _ => Quantifier::Pick,
    };
    let (quantifier, subject, op) = match rng.below(38) {
        32 | 33 => (quantifier, Subject::Arg(path, View::Scheme), scheme(rng)),
        34 => {
            let op = match rng.chance(30) {
                true => Op::Equals(Scalar::Number(rng.below(30).to_string())),
                false => Op::Compare(compare(rng), rng.below(30).to_string()),
            };
            (quantifier, Subject::Arg(path, View::Length), op)
        }
        35 | 36 => {
            let path = match rng.chance(60) {
                true => Path::default(),
                false => path,
            };
            (quantifier, Subject::Arg(path, View::Name), name(rng))
        }
        37 => {
            let check = *rng.choose(&Check::ALL);
            (
                quantifier,
                Subject::Arg(path, View::Value),
                Op::Checked(check),
            )
        }
        30 | 31 => (Quantifier::Pick, Subject::Session, session(rng)),
        0 => (Quantifier::Pick, Subject::Count(path), count(rng)),
        1 => {
            let window_ms = rng.chance(70).then(|| 1000 * (1 + rng.below(5) as u64));
            (Quantifier::Pick, Subject::Calls { window_ms }, count(rng))
        }
        2 | 3 => (quantifier, Subject::Provenance(path), provenance(rng)),
        4..=6 => {
            let view = *rng.choose(&[View::Host, View::Domain]);
            (quantifier, Subject::Arg(path, view), viewed(rng))
        }
        7 => {
            let dialect = *rng.choose(&[
                SqlDialect::Generic,
                SqlDialect::Postgres,
                SqlDialect::Sqlite,
                SqlDialect::Mysql,
            ]);
            let view = *rng.choose(&[
                View::SqlVerb(dialect),
                View::SqlTable(dialect),
                View::SqlFunction(dialect),
            ]);
            (quantifier, Subject::Arg(path, view), sql(rng))
        }
        _ => (quantifier, Subject::Arg(path, View::Value), op(rng)),
    };
    Test {
        quantifier,
        subject,
        op,
        at,
    }
}

fn number(rng: &mut Rng) -> String {
    (*rng.pick(NUMBERS)).to_owned()
}

fn compare(rng: &mut Rng) -> Compare {
    *rng.choose(&[
        Compare::Less,
        Compare::LessEqual,
        Compare::Greater,
        Compare::GreaterEqual,
    ])
}

fn count(rng: &mut Rng) -> Op {
    let bound = rng.below(5).to_string();
    if rng.chance(30) {
        Op::Equals(Scalar::Number(bound))
    } else {
        Op::Compare(compare(rng), bound)
    }
}

/// A question about the conversation, or about what the call does.
fn session(rng: &mut Rng) -> Op {
    Op::Session(match rng.below(6) {
        0 => SessionTest::ReadUntrusted,
        1 => SessionTest::ReadPrivate,
        2 => SessionTest::UserNamedEffect,
        _ => SessionTest::Effect(effects(rng)),
    })
}

/// Some effects, one at least.
pub fn effects(rng: &mut Rng) -> Effects {
    let some = rng.several(1, 3, |rng| *rng.choose(&Effect::ALL));
    some.into_iter().collect()
}

fn provenance(rng: &mut Rng) -> Op {
    if rng.chance(40) {
        return match rng.chance(70) {
            true => Op::CarriesUntrusted,
            false => Op::CarriesPrivate,
        };
    }
    Op::Provenance(rng.several(1, 3, |rng| {
        *rng.choose(&[
            Provenance::Unproven,
            Provenance::User,
            Provenance::Trusted,
            Provenance::Observed,
            Provenance::Untrusted,
        ])
    }))
}

fn scalar(rng: &mut Rng) -> Scalar {
    match rng.below(10) {
        0 | 1 => Scalar::Number(number(rng)),
        2 => Scalar::Bool(rng.chance(50)),
        3 => Scalar::Null,
        _ => Scalar::Str((*rng.pick(TEXTS)).to_owned()),
    }
}

fn item(rng: &mut Rng) -> ListItem {
    match rng.below(8) {
        0 => ListItem::AtDomain((*rng.pick(DOMAINS)).to_owned()),
        1 => ListItem::Below((*rng.pick(DOMAINS)).to_owned()),
        _ => ListItem::Scalar(scalar(rng)),
    }
}

/// A whole text of the pool or a part of one.
fn part(rng: &mut Rng) -> String {
    let text = rng.pick(TEXTS);
    let chars: Vec<char> = text.chars().collect();
    if chars.is_empty() || rng.chance(40) {
        return (*text).to_owned();
    }
    let from = rng.below(chars.len());
    let to = from + rng.below(chars.len() - from + 1);
    chars[from..to].iter().collect()
}

fn pattern(rng: &mut Rng) -> Pattern {
    let regex = (*rng.pick(REGEXES)).to_owned();
    Pattern {
        written: regex.clone(),
        regex,
    }
}

fn op(rng: &mut Rng) -> Op {
    match rng.below(20) {
        0..=2 => Op::Equals(scalar(rng)),
        3..=6 => Op::In(rng.several(0, 5, item)),
        7..=11 => Op::Part(*rng.choose(&Part::ALL), part(rng)),
        12..=14 => Op::Matches(pattern(rng)),
        15 => Op::Within(rng.several(1, 2, |rng| (*rng.pick(PREFIXES)).to_owned())),
        16 | 17 => Op::Compare(compare(rng), number(rng)),
        18 => Op::Exists,
        _ => Op::Type(*rng.choose(&[
            TypeName::String,
            TypeName::Number,
            TypeName::Bool,
            TypeName::Null,
            TypeName::Integer,
            TypeName::Integer,
        ])),
    }
}

fn viewed(rng: &mut Rng) -> Op {
    let name = |rng: &mut Rng| {
        (*rng.pick(&[
            "corp.com",
            "www.corp.com",
            "evil.com",
            "sub.corp.com",
            "evil",
            "10.0.0.1",
            "127.0.0.1",
        ]))
        .to_owned()
    };
    match rng.below(6) {
        0 => Op::Equals(Scalar::Str(name(rng))),
        1 | 2 => Op::Part(*rng.choose(&Part::ALL), name(rng)),
        3 => Op::Matches(pattern(rng)),
        _ => Op::In(rng.several(0, 3, |rng| match rng.below(5) {
            3 | 4 => network(rng),
            0 => ListItem::AtDomain((*rng.pick(DOMAINS)).to_owned()),
            1 => ListItem::Below((*rng.pick(DOMAINS)).to_owned()),
            _ => ListItem::Scalar(Scalar::Str(name(rng))),
        })),
    }
}

fn network(rng: &mut Rng) -> ListItem {
    let text = rng.pick(&[
        "10.0.0.0/8",
        "10.0.0.1/32",
        "0.0.0.0/0",
        "127.0.0.0/8",
        "192.168.0.0/16",
        "fd00::/8",
        "::/0",
        "64:ff9b::/96",
        "loopback",
        "private",
        "link_local",
        "metadata",
    ]);
    ListItem::Network(Network::parse(text).unwrap().unwrap())
}

fn scheme(rng: &mut Rng) -> Op {
    let name = |rng: &mut Rng| {
        (*rng.pick(&["https", "http", "file", "mailto", "view-source", "data"])).to_owned()
    };
    match rng.below(5) {
        0 | 1 => Op::Equals(Scalar::Str(name(rng))),
        2 => Op::Part(*rng.choose(&Part::ALL), name(rng)),
        3 => Op::Matches(pattern(rng)),
        _ => Op::In(rng.several(0, 3, |rng| ListItem::Scalar(Scalar::Str(name(rng))))),
    }
}

/// A question about the name of a member.
fn name(rng: &mut Rng) -> Op {
    let name = |rng: &mut Rng| {
        let pool = if rng.chance(70) { KEYS } else { INNER_KEYS };
        let name = (*rng.pick(pool)).to_owned();
        match rng.chance(20) {
            true => name.to_uppercase(),
            false => name,
        }
    };
    match rng.below(7) {
        0 | 1 => Op::Equals(Scalar::Str(name(rng))),
        2 => Op::Part(*rng.choose(&Part::ALL), name(rng)),
        3 => Op::Matches(pattern(rng)),
        4 => Op::Exists,
        _ => Op::In(rng.several(0, 5, |rng| match rng.chance(80) {
            true => ListItem::Scalar(Scalar::Str(name(rng))),
            false => item(rng),
        })),
    }
}

fn sql(rng: &mut Rng) -> Op {
    let name = |rng: &mut Rng| {
        let name = rng.pick(&["select", "drop", "delete", "users", "secret", "x", "lower"]);
        (*name).to_owned()
    };
    match rng.below(4) {
        0 => Op::Equals(Scalar::Str(name(rng))),
        1 => Op::Part(*rng.choose(&Part::ALL), name(rng)),
        _ => Op::In(rng.several(0, 3, |rng| ListItem::Scalar(Scalar::Str(name(rng))))),
    }
}
