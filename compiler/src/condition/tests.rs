//! Tests of the condition language as a whole: what parses, to what, and what
//! the errors say and underline.

use super::*;
use crate::policy::{
    Check, Compare, Network, Op as POp, Part, Path, Pattern, Provenance, Quantifier, Scalar,
    Segment, SessionTest, SqlDialect, Subject as PSubject, Test as PTest, TypeName, View,
};
use bouncer_plan::{Effect, Effects};

fn resolve(text: &str) -> Result<Cond, Vec<Error>> {
    parse(
        text,
        &Context {
            lists: &|name| {
                (name == "partners").then(|| {
                    vec![
                        ListItem::AtDomain("corp.com".into()),
                        ListItem::Scalar(Scalar::Str("Billing@vendor.example".into())),
                    ]
                })
            },
            list_names: vec!["partners".into(), "paths".into()],
            position: &|at| Pos {
                file: 0,
                line: 1,
                column: at as u32 + 1,
            },
        },
    )
}

fn good(text: &str) -> Cond {
    resolve(text).unwrap_or_else(|errors| panic!("{text}: {errors:#?}"))
}

fn path(keys: &[&str]) -> Path {
    Path(keys.iter().map(|key| Segment::Key((*key).into())).collect())
}

fn arg(keys: &[&str]) -> PSubject {
    PSubject::Arg(path(keys), View::Value)
}

fn at(quantifier: Quantifier, subject: PSubject, op: POp, column: u32) -> Cond {
    Cond::Test(PTest {
        quantifier,
        subject,
        op,
        at: Pos {
            file: 0,
            line: 1,
            column,
        },
    })
}

fn pick(subject: PSubject, op: POp) -> Cond {
    at(Quantifier::Pick, subject, op, 1)
}

fn string(text: &str) -> Scalar {
    Scalar::Str(text.into())
}

#[test]
fn operators() {
    let q = || arg(&["q"]);
    for (text, op) in [
        ("args.q == \"a\\\"b\"", POp::Equals(string("a\"b"))),
        ("args.q == 'it\\'s'", POp::Equals(string("it's"))),
        ("args.q == delete", POp::Equals(string("delete"))),
        (
            "args.q == 1.50e3",
            POp::Equals(Scalar::Number("1.50e3".into())),
        ),
        ("args.q == true", POp::Equals(Scalar::Bool(true))),
        ("args.q == null", POp::Equals(Scalar::Null)),
        ("args.q < -1", POp::Compare(Compare::Less, "-1".into())),
        ("args.q<=1", POp::Compare(Compare::LessEqual, "1".into())),
        ("args.q > 1", POp::Compare(Compare::Greater, "1".into())),
        (
            "args.q >= 1",
            POp::Compare(Compare::GreaterEqual, "1".into()),
        ),
        (
            "args.q contains \"x \"",
            POp::Part(Part::Anywhere, "x ".into()),
        ),
        (
            "args.q starts_with '/tmp'",
            POp::Part(Part::Start, "/tmp".into()),
        ),
        ("args.q ends_with '.md'", POp::Part(Part::End, ".md".into())),
        ("args.q exists", POp::Exists),
        ("args.q is string", POp::Type(TypeName::String)),
        (
            "args.q within [\"./out\", 'a b']",
            POp::Within(vec!["./out".into(), "a b".into()]),
        ),
        (
            "args.q matches /a\\/b/i",
            POp::Matches(Pattern {
                regex: "(?i)a\\/b".into(),
                written: "/a\\/b/i".into(),
            }),
        ),
        (
            "args.q in [drop, \"x y\", 5, false, null, *@Corp.com, \"*.corp.com\", @partners,]",
            POp::In(vec![
                ListItem::Scalar(string("drop")),
                ListItem::Scalar(string("x y")),
                ListItem::Scalar(Scalar::Number("5".into())),
                ListItem::Scalar(Scalar::Bool(false)),
                ListItem::Scalar(Scalar::Null),
                ListItem::AtDomain("corp.com".into()),
                ListItem::Below("corp.com".into()),
                ListItem::AtDomain("corp.com".into()),
                ListItem::Scalar(string("Billing@vendor.example")),
            ]),
        ),
    ] {
        assert_eq!(good(text), pick(q(), op), "{text}");
    }
    assert_eq!(
        good("args.q != 1"),
        Cond::Not(Box::new(pick(q(), POp::Equals(Scalar::Number("1".into())))))
    );
    assert_eq!(
        good("args.q not  in [a]"),
        Cond::Not(Box::new(pick(
            q(),
            POp::In(vec![ListItem::Scalar(string("a"))])
        )))
    );
}

#[test]
fn subjects() {
    let key = |key: &str| Segment::Key(key.into());
    for (text, subject) in [
        ("args", Path(vec![])),
        (
            "args.items[*].email",
            Path(vec![key("items"), Segment::Each, key("email")]),
        ),
        ("args.items.0", Path(vec![key("items"), key("0")])),
        (
            "args.items[ 0 ]",
            Path(vec![key("items"), Segment::Index(0)]),
        ),
        (
            "args[\"odd key\"].x-y",
            Path(vec![key("odd key"), key("x-y")]),
        ),
        ("args['count']", path(&["count"])),
        ("args.count.x", path(&["count", "x"])),
        ("args.not.in.and", path(&["not", "in", "and"])),
        ("args.größe", path(&["größe"])),
    ] {
        let text = format!("{text} exists");
        assert_eq!(
            good(&text),
            pick(PSubject::Arg(subject, View::Value), POp::Exists),
            "{text}"
        );
    }
    let one = || POp::Equals(Scalar::Number("1".into()));
    assert_eq!(
        good("args.x.count == 1"),
        pick(PSubject::Count(path(&["x"])), one())
    );
    assert_eq!(
        good("count(args) == 1"),
        pick(PSubject::Count(path(&[])), one())
    );
    assert_eq!(
        good("calls(this) > 5 per 1h"),
        pick(
            PSubject::Calls {
                window_ms: Some(3_600_000)
            },
            POp::Compare(Compare::Greater, "5".into())
        )
    );
    assert_eq!(
        good("calls( this ) == 1"),
        pick(PSubject::Calls { window_ms: None }, one())
    );
    assert_eq!(
        good("provenance(args.x) in [untrusted, unproven]"),
        pick(
            PSubject::Provenance(path(&["x"])),
            POp::Provenance(vec![Provenance::Untrusted, Provenance::Unproven])
        )
    );
    assert_eq!(
        good("carries_untrusted(args.x)"),
        pick(PSubject::Provenance(path(&["x"])), POp::CarriesUntrusted)
    );
    assert_eq!(
        good("carries_private(args.x)"),
        pick(PSubject::Provenance(path(&["x"])), POp::CarriesPrivate)
    );
    for (text, op) in [
        ("read_untrusted", POp::Session(SessionTest::ReadUntrusted)),
        ("read_private", POp::Session(SessionTest::ReadPrivate)),
        (
            "user_named_effect",
            POp::Session(SessionTest::UserNamedEffect),
        ),
        (
            "effect in [run, grant]",
            POp::Session(SessionTest::Effect(
                Effects::one(Effect::Run).with(Effect::Grant),
            )),
        ),
        (
            "effect == pay",
            POp::Session(SessionTest::Effect(Effects::one(Effect::Pay))),
        ),
    ] {
        assert_eq!(good(text), pick(PSubject::Session, op), "{text}");
    }
    assert_eq!(
        good("not any carries_untrusted(args)"),
        Cond::Not(Box::new(good("    any carries_untrusted(args)")))
    );
    for (text, view) in [
        ("host(args.x)", View::Host),
        ("domain(args.x)", View::Domain),
        ("scheme(args.x)", View::Scheme),
        ("sql(args.x).verb", View::SqlVerb(SqlDialect::Generic)),
        (
            "sql(args.x, postgres).table",
            View::SqlTable(SqlDialect::Postgres),
        ),
        (
            "sql(args.x, mysql).function",
            View::SqlFunction(SqlDialect::Mysql),
        ),
    ] {
        // Views are lower case, and so are their literals.
        let text = format!("{text} == Evil");
        assert_eq!(
            good(&text),
            pick(
                PSubject::Arg(path(&["x"]), view),
                POp::Equals(string("evil"))
            ),
            "{text}"
        );
    }
}

#[test]
fn precedence() {
    let test = |name: &str, column| at(Quantifier::Pick, arg(&[name]), POp::Exists, column);
    assert_eq!(
        good("args.a exists or not args.b exists and args.c exists"),
        Cond::Any(vec![
            test("a", 1),
            Cond::All(vec![Cond::Not(Box::new(test("b", 22))), test("c", 40)]),
        ])
    );
    assert_eq!(
        good("(args.a exists or args.b exists) and not(args.c exists)"),
        Cond::All(vec![
            Cond::Any(vec![test("a", 2), test("b", 19)]),
            Cond::Not(Box::new(test("c", 42))),
        ])
    );
}

#[test]
fn quantified_negation() {
    let of = |quantifier, op| at(quantifier, arg(&["to"]), op, 1);
    let item = || POp::In(vec![ListItem::Scalar(string("a"))]);
    assert_eq!(good("any args.to in [a]"), of(Quantifier::Any, item()));
    assert_eq!(
        good("any args.to not in [a]"),
        Cond::All(vec![
            Cond::Not(Box::new(of(Quantifier::All, item()))),
            of(Quantifier::Any, POp::Exists),
        ])
    );
    assert_eq!(
        good("all args.to != a"),
        Cond::All(vec![
            Cond::Not(Box::new(of(Quantifier::Any, POp::Equals(string("a"))))),
            of(Quantifier::Any, POp::Exists),
        ])
    );
}

#[test]
fn networks_checks_and_names() {
    let network = |text: &str| ListItem::Network(Network::parse(text).unwrap().unwrap());
    let host = || PSubject::Arg(path(&["x"]), View::Host);
    assert_eq!(
        good("host(args.x) in [\"10.0.0.0/8\", private, \"loopback\", \"a.b\"]"),
        pick(
            host(),
            POp::In(vec![
                network("10.0.0.0/8"),
                network("private"),
                network("loopback"),
                ListItem::Scalar(string("a.b")),
            ])
        )
    );
    // In quotes, and compared with one, it is a host of that name.
    assert_eq!(
        good("host(args.x) == \"private\""),
        pick(host(), POp::Equals(string("private")))
    );
    assert_eq!(
        good("args.x in [private, \"10.0.0.0/8\"]"),
        pick(
            arg(&["x"]),
            POp::In(vec![
                ListItem::Scalar(string("private")),
                ListItem::Scalar(string("10.0.0.0/8")),
            ])
        )
    );
    assert_eq!(
        good("iban(args.x)"),
        pick(arg(&["x"]), POp::Checked(Check::Iban))
    );
    assert_eq!(
        good("length(args.x) >= 9"),
        pick(
            PSubject::Arg(path(&["x"]), View::Length),
            POp::Compare(Compare::GreaterEqual, "9".into())
        )
    );
    let names = |op| at(Quantifier::Any, PSubject::Arg(path(&[]), View::Name), op, 1);
    assert_eq!(
        good("any keys(args) not in [Aa]"),
        Cond::All(vec![
            Cond::Not(Box::new(at(
                Quantifier::All,
                PSubject::Arg(path(&[]), View::Name),
                POp::In(vec![ListItem::Scalar(string("Aa"))]),
                1
            ))),
            names(POp::Exists),
        ])
    );
}

/// Text, underlined part, a part of the message, a part of the help.
const BAD: &[(&str, &str, &str, &str)] = &[
    ("", "", "is empty", "leave `when:` out"),
    ("args.x", "args.x", "nothing is asked", "args.x exists"),
    (
        "args.x = 1",
        "=",
        "`=` is not an operator",
        "did you mean `==`?",
    ),
    (
        "length(args.x) > \"5\"",
        "\"5\"",
        "compared with a whole number",
        "without quotes",
    ),
    (
        "length(args.x) contains \"a\"",
        "contains \"a\"",
        "can only be compared",
        "length(args.x) > 5",
    ),
    (
        "len(args.x) > 5",
        "len",
        "unknown function",
        "`length(args.x)`",
    ),
    (
        "host(args.x) == private",
        "private",
        "several hosts",
        "`in [private]`",
    ),
    (
        "host(args.x) in [\"10.0.0.1/8\"]",
        "\"10.0.0.1/8\"",
        "inside a range",
        "10.0.0.0/8",
    ),
    (
        "host(args.x) in [\"10.0.0.0/33\"]",
        "\"10.0.0.0/33\"",
        "not a range",
        "32 at most",
    ),
    (
        "host(args.x) in [\"::ffff:10.0.0.0/104\"]",
        "\"::ffff:10.0.0.0/104\"",
        "spelling of IPv6",
        "10.0.0.0/8",
    ),
    (
        "scheme(args.x) == \"HTTPS://\"",
        "\"HTTPS://\"",
        "never a scheme",
        "write `https`",
    ),
    (
        "scheme(args.x) in [\"a b\"]",
        "\"a b\"",
        "never a scheme",
        "before the colon",
    ),
    (
        "scheme(args.x) in [\"*.a\"]",
        "\"*.a\"",
        "never a scheme",
        "matches /regex/",
    ),
    (
        "keys(args) contains \"Bcc\"",
        "\"Bcc\"",
        "capitals",
        "matches /Bcc/i",
    ),
    ("keys(args) == 5", "5", "not text", "\"5\""),
    (
        "luhn(args.x) == true",
        "== true",
        "a test by itself",
        "not luhn(args.x)",
    ),
    ("args.x is int", "int", "unknown type", "`integer`"),
    ("args.x === 1", "===", "not an operator", "`==`"),
    ("args.x <> 1", "<>", "not an operator", "`!=`"),
    (
        "args.x exists && args.y exists",
        "&&",
        "`&&`",
        "write `and`",
    ),
    ("args.x exists || args.y exists", "||", "`||`", "write `or`"),
    ("!args.x exists", "!", "`!`", "write `not`"),
    (
        "args.x > 1 > 0",
        "> 0",
        "second operator",
        "joined by `and`",
    ),
    ("1 < args.x", "1 < args.x", "left", "args.amount > 5"),
    (
        "\"a\" in args.x",
        "\"a\" in args.x",
        "left",
        "any args.tags",
    ),
    (
        "arg.x == 1",
        "arg",
        "unknown name `arg`",
        "did you mean `args.x`?",
    ),
    (
        "query contains \"a\"",
        "query",
        "unknown name",
        "args.query",
    ),
    (
        "args.x.includes(\"a\")",
        ".includes(\"a\")",
        "`.includes(…)`",
        "contains",
    ),
    ("hots(args.x) == a", "hots", "unknown function", "`host`"),
    ("sql(args.x) == a", "sql(args.x)", "alone", ".verb"),
    ("sql(args.x).verbs == a", ".verbs", "no part", "`.verb`"),
    (
        "sql(args.x, postgress).verb == a",
        "postgress",
        "dialect",
        "`postgres`",
    ),
    (
        "exists(args.x)",
        "exists(args.x)",
        "after",
        "`args.x exists`",
    ),
    (
        "any (args.x == 1)",
        "any (args.x == 1)",
        "before one test",
        "any args.to",
    ),
    ("args.x < \"a\"", "\"a\"", "numbers only", "starts_with"),
    ("args.x < \"5\"", "\"5\"", "numbers only", "`5`"),
    ("args.x < 05", "05", "not a number", "JSON"),
    ("args.x == 30s", "30s", "not a number", "per"),
    (
        "args.x.count matches /a/",
        "matches /a/",
        "is a number",
        "> 5",
    ),
    ("args.x.count > 1.5", "1.5", "whole number", "quotes"),
    (
        "args.x > 1 per 1h",
        "per 1h",
        "`per` belongs to `calls(this)`",
        "calls(this)",
    ),
    ("calls(this) > 1 per h", "per h", "not a duration", "`1h`"),
    ("args.count > 1", ".count", "two things", "args[\"count\"]"),
    (
        "any args.x.count > 1",
        "any args.x.count > 1",
        "count is one",
        "leave",
    ),
    (
        "provenance(args.x) == untrused",
        "untrused",
        "not a provenance",
        "`untrusted`",
    ),
    (
        "provenance(args.x) < 3",
        "< 3",
        "only be compared",
        "unproven",
    ),
    (
        "carries_untrusted(args.x) == true",
        "== true",
        "test by itself",
        "not carries_untrusted(args.x)",
    ),
    (
        "args.x in @partner",
        "@partner",
        "unknown list",
        "`@partners`",
    ),
    (
        "args.x == @partners",
        "@partners",
        "one value",
        "in @partners",
    ),
    ("args.x in a", "a", "needs a list", "in [a]"),
    ("args.x in (a, b)", "(a, b)", "square brackets", "in [a, b]"),
    ("args.x in []", "[]", "empty list", "at least one"),
    ("args.x in [a*]", "a*", "lacks quotes", "\"a*\""),
    ("args.x in [\"a*\"]", "\"a*\"", "cannot stand", "matches"),
    (
        "args.x == \"*@corp.com\"",
        "\"*@corp.com\"",
        "no pattern",
        "in [",
    ),
    (
        "args.x == a@b.com",
        "a@b.com",
        "lacks quotes",
        "\"a@b.com\"",
    ),
    (
        "args.x == drop table",
        "drop table",
        "lacks quotes",
        "\"drop table\"",
    ),
    ("args.x == True", "True", "could be", "`true`"),
    ("args.x == args.y", "args.y", "right", "fixed values"),
    ("args.x contains \"\"", "\"\"", "always holds", "exists"),
    ("args.x contains drop", "drop", "quoted string", "\"drop\""),
    (
        "args.x == \"a  b\"",
        "\"a  b\"",
        "never be found",
        "\"a b\"",
    ),
    (
        "args.x matches \"a\"",
        "\"a\"",
        "between slashes",
        "/regex/",
    ),
    ("args.x matches /(a/", "(", "unclosed group", ""),
    ("args.x matches /a(?=b)/", "(?=", "look-ahead", "linear"),
    ("args.x matches /(a)\\1/", "\\1", "back-reference", "linear"),
    (
        "args.x matches /a/g",
        "g",
        "unknown regex flag",
        "leave it out",
    ),
    (
        "args.x within \"./a\"",
        "\"./a\"",
        "list of paths",
        "[\"./a\"]",
    ),
    ("args.x within [\"\"]", "\"\"", "empty path", "./out"),
    ("args.x is strng", "strng", "unknown type", "`string`"),
    (
        "args.x is not null",
        "is not null",
        "before the whole test",
        "not args.x",
    ),
    (
        "args.x not exists",
        "not exists",
        "before the whole test",
        "not args.x",
    ),
    (
        "args.x endswith \"a\"",
        "endswith \"a\"",
        "not an operator",
        "ends_with",
    ),
    ("args.x == \"a", "\"a", "no closing", ""),
    ("args.x matches /a", "/a", "no closing", ""),
    ("args.x == \"\\q\"", "\\q", "unknown escape", "back-slash"),
    ("args[0] == 1", "[0]", "an object", "args.name[*]"),
    ("args.x[] == 1", "[]", "not a step", "[*]"),
    ("args.x.* == 1", ".*", "not a step", "[*]"),
    (
        "host(args.x) == \"https://evil.com/a\"",
        "\"https://evil.com/a\"",
        "never a host",
        "`evil.com`",
    ),
    (
        "domain(args.x) == \"@evil.com\"",
        "\"@evil.com\"",
        "never a host",
        "`evil.com`",
    ),
    ("host(args.x) > 1", "> 1", "compared by size", "itself"),
    ("args.x == 1 args.y == 2", "args", "found `args`", ""),
    ("args.x == 1 and", "", "too early", ""),
    ("(args.x == 1", "", "too early", ""),
    ("args.x == 1)", ")", "found `)`", ""),
];

#[test]
fn errors_name_the_mistake_and_the_fix() {
    for (text, part, message, help) in BAD {
        let errors = match resolve(text) {
            Err(errors) => errors,
            Ok(cond) => panic!("`{text}` parses: {cond:?}"),
        };
        let error = &errors[0];
        let got = &text[error.start..error.end];
        assert!(
            error.message.contains(message)
                && error.help.as_deref().unwrap_or_default().contains(help)
                && got == *part,
            "`{text}` underlines `{got}`: {error:#?}"
        );
    }
}

#[test]
fn all_errors_of_meaning_are_reported() {
    let errors = resolve("args.x < \"a\" and args.y in @nope or calls(this) > x").unwrap_err();
    assert_eq!(errors.len(), 3, "{errors:#?}");
    let errors = resolve("arg.x == 1 and args.y = 2 && args.z in [1_0, 05]").unwrap_err();
    assert_eq!(errors.len(), 5, "{errors:#?}");
}

/// A bracket that is never closed must not be tried in two ways: sixty of them would
/// take longer than anyone waits.
#[test]
fn brackets_without_an_end_are_refused_at_once() {
    let units = [
        "(",
        "(!",
        "not (",
        "any (",
        "all (",
        "f(",
        "sql(",
        "any f(",
        "x[",
        "a in (",
        "a == [",
        "(a or (",
        "!(a in (",
        "f(1, ",
        "a.b(",
        "\"x\" in (",
    ];
    let (done, seen) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for unit in units {
            for ending in ["", "a", "a exists", ")", "]"] {
                let text = format!("{}{ending}", unit.repeat(30));
                let refused = parse_expr(&text).is_err();
                done.send((text, refused)).expect("the test waits");
            }
        }
    });
    for _ in 0..units.len() * 5 {
        let (text, refused) = seen
            .recv_timeout(std::time::Duration::from_secs(20))
            .expect("each is refused within seconds");
        assert!(refused, "{text}");
    }
}

#[test]
fn size_is_bounded() {
    let refuse = |text: &str, message: &str| {
        let errors = resolve(text).unwrap_err();
        assert!(errors[0].message.contains(message), "{errors:#?}");
        assert_eq!(errors.len(), 1);
    };
    refuse(&"(".repeat(100_000), "too long");
    refuse(&"(".repeat(10_000), "too deep");
    refuse(&"[".repeat(10_000), "too deep");
    refuse(&"not ".repeat(4_000), "too deep");
    refuse(&"not (".repeat(3_000), "too deep");
    refuse(&"sql(".repeat(3_000), "too deep");
    refuse(&"!".repeat(10_000), "too deep");
    let many = vec!["args.a==1"; 1001].join(" or ");
    refuse(&many, "more than 1000 tests");
    good(&vec!["args.a==1"; 1000].join(" or "));
    let deep = format!("{}args.a exists{}", "(".repeat(63), ")".repeat(63));
    good(&deep);
    good(&format!("{}args.a exists", "not ".repeat(64)));
}

mod round_trip {
    use super::*;
    use proptest::prelude::*;

    fn key() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z]{1,4}",
            "[0-9]{1,2}",
            Just("count".to_owned()),
            Just("not".to_owned()),
            "\\PC{0,4}",
            ".{0,3}",
        ]
    }

    fn some_path() -> impl Strategy<Value = Path> {
        let first = key().prop_map(Segment::Key);
        let step = prop_oneof![
            3 => key().prop_map(Segment::Key),
            1 => Just(Segment::Each),
            1 => any::<u32>().prop_map(Segment::Index),
        ];
        (first, prop::collection::vec(step, 0..3))
            .prop_map(|(first, rest)| Path([first].into_iter().chain(rest).collect()))
    }

    fn value() -> impl Strategy<Value = ValueKind> {
        prop_oneof![
            ".{0,6}".prop_map(ValueKind::Text),
            "[b-z]{2,5}_".prop_map(ValueKind::Word),
            "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?([eE][+-]?[0-9])?".prop_map(ValueKind::Number),
            any::<bool>().prop_map(ValueKind::Bool),
            Just(ValueKind::Null),
        ]
    }

    fn values() -> impl Strategy<Value = Vec<Value>> {
        let item = prop_oneof![
            4 => value(),
            1 => "[a-z]{1,6}".prop_map(ValueKind::List),
            1 => Just(ValueKind::Word("*@corp.com".to_owned())),
        ];
        prop::collection::vec(item.prop_map(spanless), 1..4)
    }

    fn spanless(kind: ValueKind) -> Value {
        Value {
            kind,
            span: Span::default(),
        }
    }

    fn op() -> impl Strategy<Value = OpKind> {
        let comparison = prop::sample::select(vec![
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::LessEqual,
            Comparison::Greater,
            Comparison::GreaterEqual,
        ]);
        let per = prop::option::of((1..100_u64).prop_map(|s| (s * 1000, Span::default())));
        let text = || ".{1,6}".prop_map(|text| spanless(ValueKind::Text(text)));
        let types = vec![
            TypeName::String,
            TypeName::Number,
            TypeName::Bool,
            TypeName::Null,
            TypeName::Integer,
        ];
        prop_oneof![
            (comparison, value(), per).prop_map(|(comparison, value, per)| OpKind::Compare {
                comparison,
                value: spanless(value),
                per,
            }),
            (any::<bool>(), values()).prop_map(|(negated, items)| OpKind::In { negated, items }),
            (prop::sample::select(&Part::ALL[..]), text())
                .prop_map(|(part, value)| OpKind::Part(part, value)),
            ("([a-z.*+ \"'(]|\\\\[/d])*", "[ismx]{0,2}").prop_map(|(pattern, flags)| {
                OpKind::Matches(Regex {
                    pattern,
                    flags,
                    span: Span::default(),
                })
            }),
            values().prop_map(OpKind::Within),
            Just(OpKind::Exists),
            prop::sample::select(types).prop_map(OpKind::Is),
        ]
    }

    fn test() -> impl Strategy<Value = Test> {
        let dialects = vec![
            SqlDialect::Generic,
            SqlDialect::Postgres,
            SqlDialect::Mysql,
            SqlDialect::Sqlite,
        ];
        let dialect = prop::sample::select(dialects);
        let view = prop_oneof![
            4 => Just(View::Value),
            1 => Just(View::Host),
            1 => Just(View::Domain),
            1 => Just(View::Scheme),
            1 => Just(View::Name),
            1 => Just(View::Length),
            1 => dialect.clone().prop_map(View::SqlVerb),
            1 => dialect.clone().prop_map(View::SqlTable),
            1 => dialect.prop_map(View::SqlFunction),
        ];
        let subject = prop_oneof![
            6 => (some_path(), view).prop_map(|(path, view)| SubjectKind::Arg(path, view)),
            1 => some_path().prop_map(SubjectKind::Count),
            1 => Just(SubjectKind::Count(Path(vec![]))),
            1 => Just(SubjectKind::Arg(Path(vec![]), View::Value)),
            1 => some_path().prop_map(SubjectKind::Provenance),
            1 => some_path().prop_map(SubjectKind::Carries),
            1 => some_path().prop_map(SubjectKind::CarriesPrivate),
            1 => some_path().prop_map(|path| SubjectKind::Checked(Check::Luhn, path)),
            1 => some_path().prop_map(|path| SubjectKind::Checked(Check::Iban, path)),
            1 => Just(SubjectKind::Effect),
            1 => prop::sample::select(&ast::Fact::ALL[..]).prop_map(SubjectKind::Fact),
            1 => Just(SubjectKind::Calls),
        ];
        let quantifier =
            prop::sample::select(vec![Quantifier::Pick, Quantifier::Any, Quantifier::All]);
        (quantifier, subject, op()).prop_map(|(quantifier, subject, op)| Test {
            quantifier,
            op: Op {
                kind: match subject.holds_alone() {
                    true => OpKind::Holds,
                    false => op,
                },
                span: Span::default(),
            },
            subject: Subject {
                kind: subject,
                span: Span::default(),
            },
            span: Span::default(),
        })
    }

    fn expr() -> impl Strategy<Value = Expr> {
        test()
            .prop_map(Expr::Test)
            .prop_recursive(4, 12, 3, |inner| {
                prop_oneof![
                    prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| flat(true, parts)),
                    prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| flat(false, parts)),
                    inner.prop_map(|part| Expr::Not(Box::new(part))),
                ]
            })
    }

    /// The parser's normal form: no `And` directly in an `And`.
    fn flat(and: bool, parts: Vec<Expr>) -> Expr {
        let mut all = Vec::new();
        for part in parts {
            match part {
                Expr::And(more) if and => all.extend(more),
                Expr::Or(more) if !and => all.extend(more),
                other => all.push(other),
            }
        }
        if and { Expr::And(all) } else { Expr::Or(all) }
    }

    fn erase(expr: &mut Expr) {
        match expr {
            Expr::And(parts) | Expr::Or(parts) => parts.iter_mut().for_each(erase),
            Expr::Not(inner) => erase(inner),
            Expr::Test(test) => {
                test.span = Span::default();
                test.subject.span = Span::default();
                test.op.span = Span::default();
                match &mut test.op.kind {
                    OpKind::Compare { value, per, .. } => {
                        value.span = Span::default();
                        if let Some((_, span)) = per {
                            *span = Span::default();
                        }
                    }
                    OpKind::In { items, .. } | OpKind::Within(items) => {
                        items
                            .iter_mut()
                            .for_each(|item| item.span = Span::default());
                    }
                    OpKind::Part(_, value) => {
                        value.span = Span::default();
                    }
                    OpKind::Matches(regex) => regex.span = Span::default(),
                    OpKind::Exists | OpKind::Is(_) | OpKind::Holds => {}
                }
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(expr in expr()) {
            let text = expr.to_string();
            let mut back = parse_expr(&text)
                .map_err(|errors| TestCaseError::fail(format!("{text}: {errors:?}")))?;
            erase(&mut back);
            prop_assert_eq!(&back, &expr, "{}", text);
            prop_assert_eq!(back.to_string(), text);
        }

        #[test]
        fn nothing_panics(text in "([a-z .\"'/()\\[\\]@*=<>!&|,\\\\0-9é]|args\\.|not |and |in |any |matches ){0,40}") {
            if let Err(errors) = resolve(&text) {
                prop_assert!(!errors.is_empty());
                for error in errors {
                    prop_assert!(text.get(error.start..error.end).is_some(), "{:?}", error);
                }
            }
        }
    }
}
