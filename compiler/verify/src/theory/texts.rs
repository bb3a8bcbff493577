//! Texts that meet claims.

use super::limits::Want;
use super::{Answer, Theory};
use crate::facts::{Claim, FactId, Look};
use crate::leaf::{self, Leaf, Seen, Value, is_plain_text};
use crate::words::{self, Constraint, End};
use bouncer_compiler::lower::Mode;
use bouncer_compiler::policy::{Check, ListItem, Op, Scalar};
use bouncer_reader::{address, path};
use regex_syntax::escape;

/// Printable ASCII that no decoder changes, in its plain form.
const SIMPLE: &str = r"\A(?:[!-$&-~](?: ?[!-$&-~])*)?\z";
/// Any text in its plain form.
const PLAIN: &str = r"\A(?:[^\s\x1c-\x1f\x{feff}](?: ?[^\s\x1c-\x1f\x{feff}])*)?\z";
/// Printable ASCII with any number of spaces.
const PRINTABLE: &str = r"\A[!-$&-~](?:[ -$&-~]*[!-$&-~])?\z";
/// Any text.
const ANY: &str = r"(?s)\A.*\z";
/// What other forms may differ from: anything but [`SIMPLE`] without spaces.
pub(super) const DISGUISABLE: &str = r"[% ]|[^!-~]";
/// Hosts in their normal form.
const HOST: &str = r"\A(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])\z";
/// Readable hosts.
const SIMPLE_HOST: &str = r"\A[a-z0-9_]+(?:-?[a-z0-9_]+)*(?:\.[a-z0-9_]+(?:-?[a-z0-9_]+)*)*\z";
/// Schemes.
const SCHEME: &str = r"\A[a-z][a-z0-9+.-]+\z";
/// Longer texts are not made up.
const LONGEST: u64 = 2000;
/// Texts that can be recognised where they were read.
const LONG: &str = r"(?s).{6}";
/// Texts of one search that are evaluated.
const MOST_TRIES: usize = 24;

impl Theory {
    /// Plain texts, by themselves or inside an object (`through`). `long`: so long that they
    /// would be recognised.
    pub(super) fn plain_text(
        &mut self,
        claims: &[Claim],
        through: bool,
        long: bool,
    ) -> Answer<Value> {
        // Reached through an object, some say nothing of the text.
        let shape: Vec<Claim> = claims
            .iter()
            .filter(|(_, mode, _)| !(through && matches!(mode, Mode::Plain | Mode::Maybe)))
            .copied()
            .collect();
        if self.constants_fail(claims, through)
            || self.paths_contradict(claims, through)
            || self.form_contradicts(&shape)
        {
            return Answer::Empty;
        }
        if let Some(texts) = self.finite(&shape) {
            return self.among(&texts, claims, through);
        }
        let write = &mut |text: &str| Some(text.to_owned());
        if let Some(found) = self.candidates(&shape, claims, through, long, true, write) {
            return Answer::Found(Value::Text(found));
        }
        if self.single_fails(claims, through) {
            Answer::Empty
        } else {
            Answer::Unknown
        }
    }

    /// The only texts with one form that claims leave: those of the shortest list on which the
    /// text has to be.
    fn finite(&self, shape: &[Claim]) -> Option<Vec<String>> {
        let text = |scalar: &Scalar| match scalar {
            Scalar::Str(text) => Some(text.clone()),
            Scalar::Number(_) | Scalar::Bool(_) | Scalar::Null => None,
        };
        let lists = shape.iter().filter(|(_, _, holds)| *holds);
        let lists = lists.filter_map(|(id, mode, _)| {
            let fact = self.facts.get(*id)?;
            // Of what is asked of texts alone, other values may be unfit.
            if fact.look != Look::Value || *mode == Mode::Maybe {
                return None;
            }
            match &fact.op {
                Op::Equals(scalar) => Some(vec![text(scalar)?]),
                Op::In(items) => items
                    .iter()
                    .map(|item| match item {
                        ListItem::Scalar(scalar) => text(scalar),
                        ListItem::AtDomain(_) | ListItem::Below(_) | ListItem::Network(_) => None,
                    })
                    .collect(),
                _ => None,
            }
        });
        lists.min_by_key(Vec::len)
    }

    /// A plain text of a list that meets the claims.
    fn among(&mut self, texts: &[String], claims: &[Claim], through: bool) -> Answer<Value> {
        let mut answer = Answer::Empty;
        for text in texts {
            self.spend(1);
            let leaf = Leaf {
                value: Value::Text(text.clone()),
                through,
                seen: self.seen,
            };
            match self.meets(&leaf, claims) {
                // What has other forms is no plain text.
                Some(true) if is_plain_text(text) => return Answer::Found(leaf.value),
                Some(false) => {}
                Some(true) => {}
                None => answer = Answer::Unknown,
            }
        }
        answer
    }

    /// Texts inside an object (`through`), or that read otherwise than they are written.
    pub(super) fn hidden_text(
        &mut self,
        claims: &[Claim],
        through: bool,
        long: bool,
    ) -> Answer<Value> {
        if self.constants_fail(claims, through) || self.paths_contradict(claims, through) {
            return Answer::Empty;
        }
        let shape: Vec<Claim> = claims
            .iter()
            .filter(|(_, mode, holds)| {
                // Reached through an object, these say nothing of the text; and what hides
                // in an encoding shows only in restrictive tests.
                let silent = through && matches!(mode, Mode::Plain | Mode::Maybe);
                !silent && (through || *mode != Mode::Plain || *holds)
            })
            .copied()
            .collect();
        let writers: &[fn(&str) -> String] = if through {
            &[str::to_owned]
        } else {
            &[percent, accented]
        };
        for write in writers {
            let written = &mut |text: &str| (through || !text.is_empty()).then(|| write(text));
            if let Some(found) = self.candidates(&shape, claims, through, long, false, written) {
                return Answer::Found(Value::Text(found));
            }
        }
        let single_is_empty = !through || self.single_fails(claims, true);
        if single_is_empty && self.disguises_fail(claims, through) {
            return Answer::Empty;
        }
        Answer::Unknown
    }

    /// Looks for a text shaped by `shape` that, as `write` writes it, meets `claims`.
    fn candidates(
        &mut self,
        shape: &[Claim],
        claims: &[Claim],
        through: bool,
        long: bool,
        plain: bool,
        write: &mut dyn FnMut(&str) -> Option<String>,
    ) -> Option<String> {
        let values = self.of_value(shape);
        let mut base = self.limits(Self::as_single(&values))?;
        if long {
            base.extend(self.must_match(LONG));
        }
        let hints = self.hints(shape);
        let mut spaces: Vec<Vec<Constraint>> = Vec::new();
        for hint in hints {
            spaces.push(self.must_match(&hint).into_iter().collect());
        }
        spaces.push(Vec::new());
        // An accent on a space keeps it from being collapsed.
        let universes: &[&str] = if plain {
            &[SIMPLE, PLAIN]
        } else {
            &[SIMPLE, PLAIN, PRINTABLE]
        };
        for universe in universes {
            let Some(universe) = self.must_match(universe) else {
                continue;
            };
            for space in &spaces {
                let mut limits = base.clone();
                limits.extend(space.iter().cloned());
                limits.push(universe.clone());
                let mut words = Vec::new();
                let mut budget = self.budget;
                words::search(&limits, &mut budget, &mut |word| {
                    words.push(word.to_owned());
                    words.len() >= MOST_TRIES
                });
                self.budget = budget;
                for word in words {
                    let Some(text) = write(&word) else { continue };
                    if plain && !is_plain_text(&text) {
                        continue;
                    }
                    let leaf = Leaf {
                        value: Value::Text(text),
                        through,
                        seen: self.seen,
                    };
                    if self.meets(&leaf, claims) == Some(true)
                        && let Value::Text(text) = leaf.value
                    {
                        return Some(text);
                    }
                }
            }
        }
        None
    }

    /// Shapes of texts that views and path tests need: patterns for whole texts.
    fn hints(&mut self, claims: &[Claim]) -> Vec<String> {
        let mut hints = self.queries(claims);
        for look in self.looks(claims) {
            let viewed = self.of_look(claims, look);
            match look {
                Look::Host | Look::Domain => {
                    let named = self.named(&viewed);
                    for host in named.into_iter().chain(self.hosts(&viewed)) {
                        let host = escape(&host);
                        hints.push(format!(r"\A{host}\z"));
                        hints.push(format!(r"\A[a-z]+@{host}\z"));
                        hints.push(format!(r"\Ahttps://{host}(?:/[!-$&-~]*)?\z"));
                    }
                    // What no host can be read from.
                    hints.push(r"\A[a-z]+ [a-z ]+\z".to_owned());
                    hints.push(r"\A[a-z]+@[a-z]+@[a-z.]+\z".to_owned());
                }
                Look::SqlVerb(_) | Look::SqlTable(_) | Look::SqlFunction(_) => {
                    hints.extend(QUERIES.iter().map(|query| format!(r"\A{query}\z")));
                    // What does not parse.
                    hints.push(r"\A[(][!-$&-~ ]*\z".to_owned());
                }
                Look::Scheme => {
                    for scheme in self.found(&viewed, SCHEME) {
                        hints.push(format!(
                            r"\A{}://[a-z]+[.]example/[a-z]*\z",
                            escape(&scheme)
                        ));
                    }
                    // What has no scheme, and none for sure.
                    hints.push(r"\A[a-z]+\z".to_owned());
                    hints.push(r"\Ajar:file:/[a-z]+\z".to_owned());
                }
                Look::Length => {
                    for length in self.lengths(&viewed).into_iter().filter(|n| *n <= LONGEST) {
                        hints.push(format!(r"\A[a-z]{{{length}}}\z"));
                        hints.push(format!(r"\A[!-$&-~]{{{length}}}\z"));
                    }
                }
                _ => {}
            }
        }
        for (id, _, _) in claims {
            let Some(fact) = self.facts.get(*id) else {
                continue;
            };
            if fact.look == Look::Private {
                // What looks like the number or the address of something.
                hints.push(r"\Aacct-7730[0-9]\z".to_owned());
            }
            if matches!(fact.look, Look::Tainted | Look::Carries) {
                hints.push(r"\Aeve@evil\.example\z".to_owned());
            }
            if matches!(fact.look, Look::Trusted | Look::Tainted)
                && let Op::In(items) = &fact.op
            {
                let urls = items.iter().take(16).filter_map(|item| match item {
                    ListItem::Scalar(Scalar::Str(text)) if address::names_host(text) => {
                        Some(format!(r"\Ahttps://{}/[a-z]*\z", escape(text)))
                    }
                    _ => None,
                });
                hints.extend(urls);
                hints.extend(items.iter().take(16).filter_map(|item| match item {
                    ListItem::Scalar(Scalar::Str(text)) => Some(format!(r"\A{}\z", escape(text))),
                    ListItem::Scalar(_) | ListItem::Network(_) => None,
                    ListItem::AtDomain(domain) => Some(format!(r"\A[a-z]+@{}\z", escape(domain))),
                    ListItem::Below(domain) => Some(format!(r"\A[a-z]+\.{}\z", escape(domain))),
                }));
                continue;
            }
            match Some(&fact.op) {
                Some(Op::Within(prefixes)) => {
                    for prefix in prefixes {
                        let trimmed = prefix.trim_end_matches('/');
                        let inside = match trimmed {
                            "." | "./" => r"\A[a-z][a-z/]*\z".to_owned(),
                            _ => format!(r"\A{}(?:/[!-$&-~]*)?\z", escape(trimmed)),
                        };
                        hints.push(inside);
                    }
                    hints.push(r"\A/[a-z]+\z".to_owned());
                    hints.push(r"\A[a-z]+\z".to_owned());
                }
                Some(Op::Checked(check)) => {
                    let number = match check {
                        Check::Luhn => "4111111111111111",
                        Check::Iban => "DE89370400440532013000",
                    };
                    hints.push(format!(r"\A{number}\z"));
                    hints.push(format!(r"\A[!-$&-~]*{number}[!-$&-~]*\z"));
                }
                Some(Op::Equals(_) | Op::In(_)) => {
                    hints.extend(self.spellings(*id));
                }
                _ => {}
            }
        }
        hints.truncate(64);
        hints
    }

    /// Numbers and bools that a list names, as texts.
    fn spellings(&self, id: FactId) -> Vec<String> {
        let mut out = Vec::new();
        let mut add = |scalar: &Scalar| match scalar {
            Scalar::Number(text) => out.push(format!(r"\A{}\z", escape(text))),
            Scalar::Bool(value) => out.push(format!(r"\A{value}\z")),
            _ => {}
        };
        match self.facts.get(id).map(|fact| &fact.op) {
            Some(Op::Equals(scalar)) => add(scalar),
            Some(Op::In(items)) => items.iter().take(8).for_each(|item| {
                if let ListItem::Scalar(scalar) = item {
                    add(scalar);
                }
            }),
            _ => {}
        }
        out
    }

    /// The claims about the text itself.
    fn of_value(&self, claims: &[Claim]) -> Vec<Claim> {
        let own = |claim: &&Claim| {
            self.facts.get(claim.0).is_some_and(|fact| {
                matches!(
                    fact.look,
                    Look::Value | Look::Raw | Look::Trusted | Look::Tainted
                )
            })
        };
        claims.iter().filter(own).copied().collect()
    }

    /// Lengths of a text that may meet claims: one of each region between the bounds.
    fn lengths(&self, viewed: &[Claim]) -> Vec<u64> {
        let mut all = vec![0];
        for (id, _, _) in viewed {
            let bound = match self.facts.get(*id).map(|fact| &fact.op) {
                Some(Op::Compare(_, text) | Op::Equals(Scalar::Number(text))) => text.parse().ok(),
                _ => None,
            };
            let bound: Option<u64> = bound;
            all.extend(
                bound
                    .into_iter()
                    .flat_map(|n| [n.saturating_sub(1), n, n.saturating_add(1)]),
            );
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether no text has lengths that meet the claims: what holds of every reading has to
    /// hold of the text as it stands, too, and what holds of some reading, of one.
    fn lengths_fail(&self, viewed: &[Claim], through: bool) -> bool {
        let lengths = self.lengths(viewed);
        let holds = |id: FactId, length: u64| {
            let op = self.facts.get(id).map(|fact| &fact.op);
            op.is_some_and(|op| leaf::counted(op, length, Mode::All))
        };
        let (mut every, mut first, mut some) = (Vec::new(), Vec::new(), Vec::new());
        for (id, mode, wanted) in viewed {
            match (mode, wanted) {
                (Mode::Plain | Mode::Maybe, _) if through => {}
                (Mode::All, true) | (Mode::Any | Mode::Maybe, false) => every.push((*id, *wanted)),
                (Mode::Plain, _) => first.push((*id, *wanted)),
                (Mode::Any | Mode::Maybe, true) | (Mode::All, false) => some.push((*id, *wanted)),
            }
        }
        let none = |more: &[(FactId, bool)]| {
            !lengths.iter().any(|length| {
                let mut asked = every.iter().chain(more);
                asked.all(|(id, wanted)| holds(*id, *length) == *wanted)
            })
        };
        none(&first) || some.iter().any(|one| none(std::slice::from_ref(one)))
    }

    /// Hosts that meet claims about a view.
    fn hosts(&mut self, viewed: &[Claim]) -> Vec<String> {
        self.found(viewed, SIMPLE_HOST)
    }

    /// Values of a view that meet claims about it.
    fn found(&mut self, viewed: &[Claim], universe: &str) -> Vec<String> {
        let Some(mut limits) = self.limits(Self::as_single(viewed)) else {
            return Vec::new();
        };
        limits.extend(self.must_match(universe));
        let mut hosts = Vec::new();
        let mut budget = self.budget;
        words::search(&limits, &mut budget, &mut |word| {
            hosts.push(word.to_owned());
            hosts.len() >= 4
        });
        self.budget = budget;
        hosts
    }

    /// Whether a claim fails that has one answer for all texts.
    pub(super) fn constants_fail(&mut self, claims: &[Claim], through: bool) -> bool {
        let probe = Leaf {
            value: Value::Text(String::new()),
            through,
            seen: Seen::Nowhere,
        };
        claims.iter().any(|(id, mode, holds)| {
            let Some(fact) = self.facts.get(*id) else {
                return false;
            };
            let constant = fact.look == Look::Value
                && matches!(fact.op, Op::Exists | Op::Type(_) | Op::Compare(..));
            let asked_by_rules = !matches!(fact.look, Look::Trusted | Look::Tainted);
            let never = asked_by_rules && through && *mode == Mode::Plain && *holds;
            let always = asked_by_rules && through && *mode == Mode::Maybe && !*holds;
            never
                || always
                || (constant
                    && self
                        .outcome(*id, &probe)
                        .is_some_and(|outcome| outcome.in_mode(*mode) != *holds))
        })
    }

    /// Whether a fact would have to hold and not to hold in the only form of a text.
    fn form_contradicts(&self, claims: &[Claim]) -> bool {
        let strict = |mode: Mode| matches!(mode, Mode::Plain | Mode::All);
        claims.iter().any(|(id, mode, holds)| {
            let textual = self
                .facts
                .get(*id)
                .is_some_and(|fact| !matches!(fact.op, Op::Exists | Op::Type(_) | Op::Compare(..)));
            *holds
                && textual
                && claims.iter().any(|(other, weaker, holds)| {
                    !*holds && id == other && strict(*mode) == strict(*weaker)
                })
        })
    }

    /// Whether path tests contradict each other: inside one directory, and not inside
    /// one around it.
    pub(super) fn paths_contradict(&self, claims: &[Claim], through: bool) -> bool {
        let prefixes = |id: FactId| match self.facts.get(id).map(|fact| &fact.op) {
            Some(Op::Within(prefixes)) => Some(prefixes),
            _ => None,
        };
        claims.iter().any(|(id, mode, holds)| {
            let Some(inner) = prefixes(*id).filter(|_| *holds) else {
                return false;
            };
            claims.iter().any(|(other, weaker, holds)| {
                let Some(outer) = prefixes(*other).filter(|_| !*holds) else {
                    return false;
                };
                let look = |id: FactId| self.facts.get(id).map(|fact| fact.look);
                let follows = match (mode, weaker) {
                    // What a constraint lets through lies inside in its plain form.
                    _ if look(*other) == Some(Look::Raw) => look(*id) == Some(Look::Raw),
                    (_, weak) if look(*id) == Some(Look::Raw) => *weak != Mode::All,
                    (Mode::All, Mode::Plain) => !through,
                    (strong, weak) => strong == weak || super::implies(*strong, *weak),
                };
                follows
                    && inner
                        .iter()
                        .all(|p| outer.iter().any(|q| directory_below(p, q)))
            })
        })
    }

    /// Whether no text with a single form meets the claims.
    fn single_fails(&mut self, claims: &[Claim], through: bool) -> bool {
        let values = self.of_value(claims);
        let of_texts = |claims: &[Claim]| -> Vec<(FactId, Want)> {
            let asked = claims.iter().filter(|(_, mode, _)| {
                // Reached through an object, these say nothing of the text.
                !(through && matches!(mode, Mode::Plain | Mode::Maybe))
            });
            let asked: Vec<Claim> = asked.copied().collect();
            Self::as_single(&asked)
        };
        if self.no_text(of_texts(&values), PLAIN) {
            return true;
        }
        self.views_fail(claims, through)
    }

    /// Whether the claims about some view fail, which the text has to be readable for.
    fn views_fail(&mut self, claims: &[Claim], through: bool) -> bool {
        for look in self.looks(claims) {
            let viewed = self.of_look(claims, look);
            let unreadable = viewed
                .iter()
                .all(|(_, mode, holds)| matches!(mode, Mode::Any | Mode::Maybe) == *holds);
            if look == Look::Length {
                if self.lengths_fail(&viewed, through) {
                    return true;
                }
                continue;
            }
            if !unreadable && self.view_fails(&viewed, look, through) {
                return true;
            }
        }
        false
    }

    /// Whether no readable view meets the claims about it.
    fn view_fails(&mut self, viewed: &[Claim], look: Look, through: bool) -> bool {
        match look {
            Look::Host | Look::Domain => self.forms_fail(viewed, (HOST, None), HOST, through),
            Look::Scheme => self.forms_fail(viewed, (SCHEME, None), SCHEME, through),
            // A query has several values: each has to meet what all have to, and what one
            // has to, some one has to.
            Look::SqlVerb(_) | Look::SqlTable(_) | Look::SqlFunction(_) => {
                let claims: Vec<Claim> = viewed
                    .iter()
                    .filter(|(_, mode, _)| !(through && matches!(mode, Mode::Plain | Mode::Maybe)))
                    .map(|(id, mode, holds)| match mode {
                        Mode::Plain => (*id, Mode::All, *holds),
                        _ => (*id, *mode, *holds),
                    })
                    .collect();
                // No value at all meets what does not have to hold.
                claims.iter().any(|(_, _, holds)| *holds)
                    && self.forms_fail(&claims, (ANY, None), ANY, through)
            }
            _ => false,
        }
    }

    /// Whether no text whose other forms may differ meets the claims: each form taken for
    /// a text of its own.
    fn disguises_fail(&mut self, claims: &[Claim], through: bool) -> bool {
        let values = self.of_look(claims, Look::Value);
        // A text may differ from its plain form by white space alone; what sees the text
        // itself may tell them apart, and then the plain form hides nothing.
        let disguised = claims.iter().all(|(id, _, _)| {
            self.facts.get(*id).is_some_and(|fact| {
                matches!(
                    fact.look,
                    Look::Value | Look::Host | Look::Domain | Look::Scheme
                )
            })
        });
        let with = disguised.then_some(DISGUISABLE);
        if self.forms_fail(&values, (PLAIN, with), ANY, through) {
            return true;
        }
        let raw = Self::as_single(&self.of_look(claims, Look::Raw));
        if !raw.is_empty() && self.no_text_but(raw, ANY, Some(DISGUISABLE)) {
            return true;
        }
        self.views_fail(claims, through)
    }

    /// Whether claims about several forms of a text fail: what holds of every form has to
    /// hold of the first and of the others; what holds of some form, of one of them.
    fn forms_fail(
        &mut self,
        claims: &[Claim],
        (first, with): (&str, Option<&str>),
        others: &str,
        through: bool,
    ) -> bool {
        let mut every: Vec<(FactId, Want)> = Vec::new();
        let mut of_first: Vec<(FactId, Want)> = Vec::new();
        let mut some: Vec<(FactId, Want)> = Vec::new();
        for (id, mode, holds) in claims {
            match (mode, holds) {
                (Mode::All, true) => every.push((*id, Want::Yes)),
                (Mode::Any, false) => every.push((*id, Want::Never)),
                (Mode::Any, true) => some.push((*id, Want::Perhaps)),
                (Mode::All, false) => some.push((*id, Want::No)),
                (Mode::Plain, _) | (Mode::Maybe, _) if through => {}
                (Mode::Plain, true) => of_first.push((*id, Want::Yes)),
                (Mode::Plain, false) => of_first.push((*id, Want::No)),
                (Mode::Maybe, true) => some.push((*id, Want::Perhaps)),
                (Mode::Maybe, false) => every.push((*id, Want::Never)),
            }
        }
        let mut start = every.clone();
        start.extend(of_first);
        if self.no_text_but(start, first, with) {
            return true;
        }
        // Another reading of a host or scheme need not meet what all forms have to.
        let has_readings = |id: FactId| {
            self.facts
                .get(id)
                .is_some_and(|fact| matches!(fact.look, Look::Host | Look::Domain | Look::Scheme))
        };
        let loose = some.iter().any(|(id, _)| has_readings(*id));
        some.into_iter().any(|one| {
            let mut asked = every.clone();
            if loose && one.1 == Want::Perhaps {
                asked.retain(|(_, want)| *want == Want::Never);
            }
            asked.push(one);
            self.no_text(asked, others)
        })
    }

    /// Whether surely no text meets the bounds.
    fn no_text(&mut self, claims: Vec<(FactId, Want)>, universe: &str) -> bool {
        self.no_text_but(claims, universe, None)
    }

    fn no_text_but(
        &mut self,
        claims: Vec<(FactId, Want)>,
        universe: &str,
        with: Option<&str>,
    ) -> bool {
        if self.budget == 0 {
            return false;
        }
        let Some(mut limits) = self.limits(claims) else {
            return true;
        };
        for pattern in std::iter::once(universe).chain(with) {
            limits.extend(self.must_match(pattern));
        }
        let mut budget = self.budget;
        let end = words::search(&limits, &mut budget, &mut |_| true);
        self.budget = budget;
        end == End::Exhausted
    }
}

/// Shapes of queries, with names to be chosen.
const QUERIES: [&str; 15] = [
    "select [a-z_]+[(]1[)]",
    "select [a-z0-9_]+",
    "select [*] from [a-z_]+",
    "select [a-z_]+ from [a-z_]+ where [a-z_]+ = '[!-$&(-~]*'",
    "insert into [a-z_]+ values [(]1[)]",
    "update [a-z_]+ set a = 1",
    "delete from [a-z_]+",
    "drop table [a-z_]+",
    "truncate table [a-z_]+",
    "alter table [a-z_]+ add a int",
    "create table [a-z_]+ [(]a int[)]",
    "grant select on [a-z_]+ to a",
    "revoke select on [a-z_]+ from a",
    "explain select 1",
    "[a-z]+ [a-z_]+",
];

/// Whether everything in directory `inner` is in `outer`.
fn directory_below(inner: &str, outer: &str) -> bool {
    inner.starts_with('/') == outer.starts_with('/')
        && !inner.starts_with("//")
        && !outer.starts_with("//")
        && (inner == outer || path::within(inner, outer))
}

/// A text with an accent on each letter.
fn accented(text: &str) -> String {
    let accent = |c: char| [c, '\u{301}'];
    text.chars().flat_map(accent).collect()
}

/// A text, percent-encoded.
fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}
