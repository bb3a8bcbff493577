//! Values that nothing can be equal to: words outside a closed set, hosts with more than a
//! host, destinations of another kind than the argument takes.

use super::Doubt;
use crate::diagnostic::{Code, quote};
use crate::policy::{
    Cond, Contract, Layer, ListItem, Op, Path, Policy, Pos, Scalar, Segment, Subject, Test,
    TrustedForm, View,
};
use crate::read::nearest;
use bouncer_plan::Verdict;
use bouncer_reader::{address, sql};
use regex_automata::Input;
use regex_automata::dfa::{Automaton as _, dense};

pub(super) fn check(policy: &Policy, out: &mut Vec<Doubt>) {
    for rule in policy.rules.iter().flat_map(|set| &set.rules) {
        // Only what a rule that stops calls asks for is also met by what cannot be read.
        let stops = rule.action != Verdict::Allow;
        each_test(&rule.condition, true, &mut |test, positive| {
            self::test(test, stops == positive, out);
        });
    }
    for assertion in &policy.assertions {
        if let Some(condition) = &assertion.property.condition {
            each_test(condition, true, &mut |test, _| self::test(test, false, out));
        }
    }
    for contract in policy.contracts.iter().filter(|c| c.layer == Layer::User) {
        trusted(contract, out);
    }
}

fn each_test<'c>(cond: &'c Cond, positive: bool, see: &mut dyn FnMut(&'c Test, bool)) {
    match cond {
        Cond::All(parts) | Cond::Any(parts) => {
            for part in parts {
                each_test(part, positive, see);
            }
        }
        Cond::Not(part) => each_test(part, !positive, see),
        Cond::Test(test) => see(test, positive),
    }
}

/// `unread_counts`: a query that cannot be read satisfies the test.
fn test(test: &Test, unread_counts: bool, out: &mut Vec<Doubt>) {
    let Subject::Arg(_, view) = &test.subject else {
        return;
    };
    match view {
        View::SqlVerb(_) => verb(test, unread_counts, out),
        View::Host | View::Domain => host(test, out),
        View::SqlTable(_)
        | View::SqlFunction(_)
        | View::Value
        | View::Scheme
        | View::Length
        | View::Name => {}
    }
}

/// The texts that a test compares with.
fn texts(op: &Op) -> Vec<&str> {
    match op {
        Op::Equals(Scalar::Str(text)) => vec![text],
        Op::In(items) => items
            .iter()
            .filter_map(|item| match item {
                ListItem::Scalar(Scalar::Str(text)) => Some(text.as_str()),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn verb(test: &Test, unread_counts: bool, out: &mut Vec<Doubt>) {
    let mut doubt = |message: String, help: String| {
        out.push(Doubt {
            code: Code::NO_SUCH_VALUE,
            at: test.at,
            message,
            help,
        });
    };
    for text in texts(&test.op) {
        if sql::VERBS.contains(&text) {
            continue;
        }
        if sql::UNREAD_VERBS.contains(&text) {
            if !unread_counts {
                doubt(
                    format!("no query whose view can be read has the verb {}", quote(text)),
                    "what such a statement does is not in its text: it has no view, and satisfies no rule that lets through".to_owned(),
                );
            }
            continue;
        }
        doubt(
            format!("no statement has the verb {}", quote(text)),
            match nearest(text, sql::VERBS) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "the verb is the first word of a statement, such as `select` or `drop`"
                    .to_owned(),
            },
        );
    }
    let any = |holds: &dyn Fn(&str) -> bool| {
        sql::VERBS
            .iter()
            .chain(sql::UNREAD_VERBS)
            .any(|verb| holds(verb))
    };
    let (meets, what) = match &test.op {
        Op::Part(part, text) => (
            any(&|verb| part.holds(verb, text)),
            format!("`{} {}`", part.name(), text),
        ),
        Op::Matches(pattern) => {
            let limited = dense::Config::new().determinize_size_limit(Some(1 << 20));
            let built = dense::Builder::new()
                .configure(limited)
                .build(&pattern.regex);
            let Ok(automaton) = built else {
                return;
            };
            (
                any(&|verb| !matches!(automaton.try_search_fwd(&Input::new(verb)), Ok(None))),
                format!("`{}`", pattern.written),
            )
        }
        _ => return,
    };
    if !meets {
        doubt(
            format!("no statement has a verb with {what}"),
            "the verb is the first word of a statement, in lower case, such as `select` or `drop`"
                .to_owned(),
        );
    }
}

/// A text that no host equals. What is written in the condition itself is refused there; lists
/// may serve other tests too.
fn host(test: &Test, out: &mut Vec<Doubt>) {
    let odd = |text: &&str| {
        let bare = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let colons = bare.unwrap_or(text).matches(':').count();
        text.contains(['/', '@', ' ', '?', '#']) || colons == 1
    };
    for text in texts(&test.op).iter().filter(|text| odd(text)).take(3) {
        out.push(Doubt {
            code: Code::NO_SUCH_VALUE,
            at: test.at,
            message: format!("no host is ever {}", quote(text)),
            help: "a host stands without scheme, user, port and path: `corp.com`".to_owned(),
        });
    }
}

/// What an argument takes, going by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Link,
    Address,
}

fn takes(path: &Path) -> Option<Takes> {
    let name = path.0.iter().rev().find_map(|step| match step {
        Segment::Key(key) => Some(key.to_ascii_lowercase()),
        _ => None,
    })?;
    let link = ["url", "uri", "href", "webhook", "endpoint", "callback"];
    if link.iter().any(|part| name.contains(part)) {
        return Some(Takes::Link);
    }
    let address = ["email", "cc", "bcc", "recipient", "attendee", "guest"];
    let word = |part: &str| name == part || name.strip_suffix('s') == Some(part);
    address
        .iter()
        .any(|part| word(part))
        .then_some(Takes::Address)
}

/// What helps where no URL is trusted.
const URL_HELP: &str = "write a whole URL, a host, or `*.corp.com` for all hosts below a domain";

/// Trusted destinations that equal nothing which the contract's sinks take.
fn trusted(contract: &Contract, out: &mut Vec<Doubt>) {
    let mut kinds = contract.sinks.iter().map(|sink| takes(&sink.path));
    let Some(Some(kind)) = kinds.next() else {
        return;
    };
    if !kinds.all(|other| other == Some(kind)) {
        return;
    }
    for destination in &contract.trusted {
        if let TrustedForm::Exact(host) = &destination.form
            && kind == Takes::Link
            && is_plain_host(host)
        {
            out.push(Doubt {
                code: Code::PLAIN_HTTP,
                at: destination.at,
                message: format!("URLs of {} are trusted over plain `http` too", quote(host)),
                help: format!("write {} for `https` alone", quote(&format!("{host}:443"))),
            });
        }
        let wrong = match (kind, &destination.form) {
            (Takes::Link, TrustedForm::Exact(text))
                if !text.contains("://") && !address::names_host(text) =>
            {
                Some((
                    format!("no URL equals {}", quote(text)),
                    URL_HELP.to_owned(),
                ))
            }
            (Takes::Link, TrustedForm::AtDomain(domain)) => {
                let what = format!("no URL is an address at {}", quote(domain));
                Some((what, format!("write {} for every URL there", quote(domain))))
            }
            (Takes::Address, TrustedForm::Exact(text))
                if !text.contains('@') && address::names_host(text) =>
            {
                Some((
                    format!("no address equals {}", quote(text)),
                    format!(
                        "write {} for every address there",
                        quote(&format!("*@{text}"))
                    ),
                ))
            }
            (Takes::Address, TrustedForm::Exact(text)) if text.contains("://") => Some((
                format!("no address equals {}", quote(text)),
                "write a whole address, or `*@domain`".to_owned(),
            )),
            _ => None,
        };
        if let Some((what, help)) = wrong {
            out.push(of_trusted(destination.at, contract, &what, help));
        }
    }
}

fn of_trusted(at: Pos, contract: &Contract, what: &str, help: String) -> Doubt {
    Doubt {
        code: Code::NO_SUCH_VALUE,
        at,
        message: format!(
            "{what}: this trusts nothing that the sinks of {} take",
            quote(&contract.key)
        ),
        help,
    }
}

/// Whether a text is a host of others, without a port.
fn is_plain_host(text: &str) -> bool {
    let mut host = String::new();
    let is_host = address::names_host(text) && address::host(text, &mut host).is_ok();
    is_host && !text.contains(':') && host != "localhost" && !host.starts_with("127.")
}
