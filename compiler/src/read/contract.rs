//! One tool's contract, as a file says it: what is not said stays `None`, so that
//! layering can tell "not said" from "said to be off".

use super::decode::Cx;
use super::dialect::{CONTRACT_KEYS, DISPATCH_KEYS, Dialect, FIELD_KEYS, OUTPUT_KEYS};
use super::lists::{self, Lists};
use super::node::{Meaning, Node, Value};
use super::path::{self, PathError};
use super::patterns;
use crate::diagnostic::{Code, Diagnostic, Span, is_invisible, plain, quote};
use crate::policy::{
    ArgPattern, Contract, Dispatch, FieldLabel, Layer, ListItem, Outputs, Path, PathPrefix, Pos,
    Rate, Scalar, Segment, Sink, TextForm, TrustedDestination, TrustedForm, WriteParam,
};
use bouncer_plan::format::MAX_WINDOWED_CALLS;
use bouncer_plan::{Effect, Effects, Label, Verdict};

/// A contract as written in one place.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The tool.
    pub key: String,
    /// The key's place.
    pub span: Span,
    /// The same, resolved.
    pub at: Pos,
    pub exfiltrating: Option<bool>,
    pub on_tainted: Option<Verdict>,
    pub sinks: Vec<Sink>,
    pub optional_sinks: Option<bool>,
    pub trusted: Vec<TrustedDestination>,
    pub write_params: Vec<WriteParam>,
    pub prefixes: Vec<PathPrefix>,
    pub resolve_symlinks: Option<bool>,
    pub base: Option<String>,
    pub arg_patterns: Vec<ArgPattern>,
    pub confirm: Option<bool>,
    pub max_calls: Option<(u64, Pos)>,
    pub rates: Option<Vec<Rate>>,
    pub outputs: Option<WrittenOutputs>,
    pub dispatches: Option<Dispatch>,
    pub effects: Option<Effects>,
    /// Where `extends: pack` stands, if it does.
    pub extends: Option<Span>,
}

/// `outputs:` as written.
#[derive(Clone, Debug)]
pub(crate) struct WrittenOutputs {
    pub label: Option<Label>,
    pub private: Option<bool>,
    pub text: Option<TextForm>,
    pub fields: Vec<FieldLabel>,
    pub at: Pos,
}

impl Entry {
    /// The contract in force.
    pub(crate) fn into_contract(self, layer: Layer) -> Contract {
        let decides = layer == Layer::User && self.decides();
        Contract {
            key: self.key,
            layer,
            at: self.at,
            exfiltrating: self.exfiltrating.unwrap_or(false),
            on_tainted: self.on_tainted.unwrap_or(Verdict::Deny),
            sinks: self.sinks,
            optional_sinks: self.optional_sinks.unwrap_or(false),
            trusted: self.trusted,
            write_params: self.write_params,
            prefixes: self.prefixes,
            resolve_symlinks: self.resolve_symlinks.unwrap_or(false),
            base: self.base,
            arg_patterns: self.arg_patterns,
            confirm: self.confirm.unwrap_or(false),
            max_calls: self.max_calls,
            rates: self.rates.unwrap_or_default(),
            outputs: self.outputs.map(|outputs| Outputs {
                label: outputs.label.unwrap_or(Label::Untrusted),
                private: outputs.private.unwrap_or(false),
                text: outputs.text,
                fields: outputs.fields,
                at: outputs.at,
            }),
            dispatches: self.dispatches,
            effects: self.effects.unwrap_or_default(),
            effects_complete: self.effects.is_some() && layer == Layer::User,
            decides,
        }
    }

    /// Whether it says of calls where they go, where they write, what their arguments are, how
    /// many there may be, or that each is asked about.
    fn decides(&self) -> bool {
        self.exfiltrating.is_some()
            || self.confirm.is_some()
            || self.max_calls.is_some()
            || self.rates.is_some()
            || !self.arg_patterns.is_empty()
            || !(self.write_params.is_empty() || self.prefixes.is_empty())
    }
}

/// The words of `on_tainted`.
const ON_TAINTED: &[(&str, Verdict)] = &[("deny", Verdict::Deny), ("ask", Verdict::Ask)];
/// The words for labels.
const TEXTS: &[(&str, TextForm)] = &[("json", TextForm::Json), ("prose", TextForm::Prose)];
const LABELS: &[(&str, Label)] = &[
    ("untrusted", Label::Untrusted),
    ("observed", Label::Observed),
    ("trusted", Label::Trusted),
];

/// Reads the contract of the tool `name`. `None` where it is no mapping or the name is
/// no name; other mistakes are reported and leave the rest readable.
pub(crate) fn read(
    cx: &mut Cx<'_>,
    lists: &mut Lists,
    (name, span): (&str, Span),
    node: &Node,
) -> Option<Entry> {
    let what = format!("the contract of {}", quote(name));
    if CONTRACT_KEYS.contains(&name) && !matches!(node.value, Value::Map(_)) {
        let help = format!(
            "{} is a key of a contract: indent it below the tool's name",
            quote(name)
        );
        cx.wrong(node, &what, "a mapping", &help);
        return None;
    }
    cx.clean_name(name, span, "the tool name")?;
    if name.contains('*') {
        let message = format!("the contract's key {} is not a tool's name", quote(name));
        cx.report(
            Diagnostic::new(Code::GLOB, span, message)
                .help("contracts name one tool each; patterns stand in `rules:`"),
        );
        return None;
    }
    if !matches!(node.value, Value::Map(_)) {
        let place = if matches!(&node.value, Value::Scalar(s) if s.text.is_empty()) {
            span
        } else {
            node.span
        };
        let message = format!("{what} must be a mapping, but this is {}", node.describe());
        let mut help = "write the contract's keys below the name, or remove the entry: an entry without them would switch off what a pack says about this tool".to_owned();
        if cx.dialect == Dialect::Contracts {
            help = format!("{help} ({})", cx.assumed());
        }
        cx.report(
            Diagnostic::new(Code::WRONG_TYPE, place, message)
                .here("expected a mapping")
                .help(help),
        );
        return None;
    }
    let errors = cx.sink.errors();
    let fields = cx.fields(node, &what, CONTRACT_KEYS)?;
    let of = |key: &str| format!("`{key}` of {}", quote(name));
    let mut entry = Entry {
        key: name.to_owned(),
        span,
        at: cx.pos(span),
        exfiltrating: None,
        on_tainted: None,
        sinks: Vec::new(),
        optional_sinks: None,
        trusted: Vec::new(),
        write_params: Vec::new(),
        prefixes: Vec::new(),
        resolve_symlinks: None,
        base: None,
        arg_patterns: Vec::new(),
        confirm: None,
        max_calls: None,
        rates: None,
        outputs: None,
        dispatches: None,
        effects: None,
        extends: None,
    };
    if let Some(node) = fields.get("exfiltrating") {
        entry.exfiltrating = cx.bool(node, &of("exfiltrating"));
    }
    if let Some(node) = fields.get("on_tainted") {
        entry.on_tainted = cx.one_of(node, &of("on_tainted"), ON_TAINTED);
    }
    if let Some(node) = fields.get("optional_sinks") {
        entry.optional_sinks = cx.bool(node, &of("optional_sinks"));
    }
    if let Some(node) = fields.get("confirm") {
        entry.confirm = cx.bool(node, &of("confirm"));
    }
    if let Some(node) = fields.get("resolve_symlinks") {
        entry.resolve_symlinks = cx.bool(node, &of("resolve_symlinks"));
    }
    if let Some(node) = fields.get("base") {
        entry.base = base(cx, node, &of("base"));
    }
    if let Some(node) = fields.get("max_calls") {
        entry.max_calls = cx
            .count(node, &of("max_calls"), 0, u64::MAX)
            .map(|count| (count, cx.pos(node.span)));
    }
    if let Some(node) = fields.get("sink_params") {
        entry.sinks = params(cx, node, &of("sink_params"))
            .into_iter()
            .map(|(path, at)| Sink { path, at })
            .collect();
    }
    if let Some(node) = fields.get("write_params") {
        entry.write_params = params(cx, node, &of("write_params"))
            .into_iter()
            .map(|(path, at)| WriteParam { path, at })
            .collect();
    }
    if let Some(node) = fields.get("trusted_destinations") {
        entry.trusted = trusted(cx, lists, node, &of("trusted_destinations"));
    }
    if let Some(node) = fields.get("allowed_path_prefixes") {
        entry.prefixes = prefixes(cx, node, &of("allowed_path_prefixes"));
    }
    if let Some(node) = fields.get("arg_patterns") {
        entry.arg_patterns = arg_patterns(cx, node, &of("arg_patterns"));
    }
    if let Some(node) = fields.get("rate") {
        entry.rates = rates(cx, node, &of("rate"));
    }
    if let Some(node) = fields.get("outputs") {
        entry.outputs = outputs(cx, node, &of("outputs"));
    }
    if let Some(node) = fields.get("dispatches") {
        entry.dispatches = dispatches(cx, node, &of("dispatches"));
    }
    if let Some(node) = fields.get("effects") {
        entry.effects = effects(cx, node, &of("effects"));
    }
    if let Some((key, node)) = fields.find("extends") {
        entry.extends = cx
            .one_of(node, &of("extends"), &[("pack", ())])
            .map(|()| key);
    }
    if cx.sink.errors() == errors {
        half_measures(cx, &entry, &fields);
    }
    Some(entry)
}

/// Warns about keys that have no effect without a second one. A contract that extends
/// the pack's is left alone: the second key may stand there. So is a pack: it knows
/// which arguments are paths, and only the user knows where they may point.
fn half_measures(cx: &mut Cx<'_>, entry: &Entry, fields: &super::decode::Fields<'_>) {
    if entry.extends.is_some() || cx.built_in {
        return;
    }
    let tool = quote(&entry.key);
    let said = |key: &str, empty: bool| fields.find(key).filter(|_| !empty).map(|(span, _)| span);
    if fields.get("exfiltrating").is_none() {
        let sinks = said("sink_params", entry.sinks.is_empty())
            .or(said("trusted_destinations", entry.trusted.is_empty()));
        if let Some(span) = sinks {
            let message = format!("{tool} names destinations, but its sink gate is off");
            cx.report(
                Diagnostic::new(Code::SINKS_WITHOUT_GATE, span, message)
                    .help("add `exfiltrating: true`, or `exfiltrating: false` if the gate is meant to be off"),
            );
        }
    }
    let half = match (
        said("write_params", entry.write_params.is_empty()),
        said("allowed_path_prefixes", entry.prefixes.is_empty()),
    ) {
        (Some(span), None) => Some((span, "allowed_path_prefixes")),
        (None, Some(span)) => Some((span, "write_params")),
        _ => None,
    };
    if let Some((span, missing)) = half {
        let message = format!("this confines no path of {tool} without `{missing}`");
        cx.report(
            Diagnostic::new(Code::HALF_CONFINEMENT, span, message).help(format!("add `{missing}`")),
        );
    }
}

/// A list of argument names (contracts) or paths (native).
fn params(cx: &mut Cx<'_>, node: &Node, what: &str) -> Vec<(Path, Pos)> {
    let item_of = format!("an item of {what}");
    let mut out = Vec::new();
    for item in cx.list(node, what).unwrap_or_default() {
        let Some(text) = cx.item(item, &item_of) else {
            continue;
        };
        if let Some(path) = param(cx, text, item.span, &item_of) {
            out.push((path, cx.pos(item.span)));
        }
    }
    out
}

/// An argument of a contract: a name in contract files, a path in native ones.
fn param(cx: &mut Cx<'_>, text: &str, span: Span, what: &str) -> Option<Path> {
    if cx.dialect != Dialect::Native {
        cx.clean_name(text, span, what)?;
        return Some(Path(vec![Segment::Key(text.to_owned())]));
    }
    match path::argument(text) {
        Ok(path) if !path.0.is_empty() => Some(path),
        Ok(_) => {
            let message = format!("{what} names no argument");
            cx.report(Diagnostic::new(Code::PATH, span, message).help("name one, e.g. `to`"));
            None
        }
        Err(error) => {
            report_path(cx, text, span, what, error);
            None
        }
    }
}

/// Reports a native path that cannot be read.
pub(crate) fn report_path(cx: &mut Cx<'_>, text: &str, span: Span, what: &str, error: PathError) {
    let place = patterns::within(cx, span, text, error.start, error.end);
    let message = format!("{what} is not a path: {}", quote(text));
    cx.report(
        Diagnostic::new(Code::PATH, place, message)
            .here(error.message)
            .help("a path is `a.b`, with `[*]` for each element, `[0]` for one and `[\"a.b\"]` for a key with a dot"),
    );
}

fn trusted(cx: &mut Cx<'_>, lists: &mut Lists, node: &Node, what: &str) -> Vec<TrustedDestination> {
    let item_of = format!("an item of {what}");
    let mut out = Vec::new();
    for item in cx.list(node, what).unwrap_or_default() {
        let placed = if cx.dialect == Dialect::Native && as_number(item).is_none() {
            lists.items(cx, item, what)
        } else {
            cx.item(item, &item_of)
                .and_then(|text| lists::pattern(cx, item, text))
                .map(|pattern| vec![(pattern, item.span)])
        };
        for (item, span) in placed.unwrap_or_default() {
            if let Some(form) = trusted_form(cx, item, span, &item_of) {
                let at = cx.pos(span);
                out.push(TrustedDestination { form, at });
            }
        }
    }
    out
}

/// Reads `me`: the account's own addresses, written as trusted destinations are.
pub(crate) fn own_addresses(
    cx: &mut Cx<'_>,
    lists: &mut Lists,
    node: &Node,
) -> Vec<TrustedDestination> {
    trusted(cx, lists, node, "`me`")
}

/// The node, if it is a plain number.
fn as_number(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Scalar(scalar) if matches!(scalar.meaning(), Meaning::Number(_)) => {
            Some(&scalar.text)
        }
        _ => None,
    }
}

fn trusted_form(cx: &mut Cx<'_>, item: ListItem, span: Span, what: &str) -> Option<TrustedForm> {
    let text = match item {
        ListItem::AtDomain(domain) => return Some(TrustedForm::AtDomain(domain)),
        ListItem::Below(domain) => return Some(TrustedForm::Below(domain)),
        ListItem::Scalar(Scalar::Str(text)) => text,
        // Lists hold none: only a condition reads a text as a network.
        ListItem::Network(_) | ListItem::Scalar(_) => {
            let message = format!("{what} must be a text");
            cx.report(
                Diagnostic::new(Code::WRONG_TYPE, span, message)
                    .help("if you mean the text, quote it"),
            );
            return None;
        }
    };
    if text.is_empty() {
        cx.report(
            Diagnostic::new(Code::EMPTY_TEXT, span, format!("{what} is empty"))
                .help("an empty destination trusts nothing: remove it"),
        );
        return None;
    }
    if text.chars().any(|c| c.is_control() || is_invisible(c)) {
        let message = format!("{what} {} holds characters that do not show", quote(&text));
        cx.report(
            Diagnostic::new(Code::NAME, span, message)
                .help("destinations are compared as they are sent: retype it without them"),
        );
        return None;
    }
    if text.trim() != text {
        let message = format!("{what} {} has white space around it", quote(&text));
        cx.report(
            Diagnostic::new(Code::DESTINATION_SPACE, span, message)
                .help("destinations are compared as they are sent, white space included"),
        );
    }
    Some(TrustedForm::Exact(text))
}

fn prefixes(cx: &mut Cx<'_>, node: &Node, what: &str) -> Vec<PathPrefix> {
    let item_of = format!("an item of {what}");
    let mut out = Vec::new();
    for item in cx.list(node, what).unwrap_or_default() {
        let Some(text) = cx.item(item, &item_of) else {
            continue;
        };
        if let Some(prefix) = prefix(cx, text, item.span, &item_of) {
            let at = cx.pos(item.span);
            out.push(PathPrefix { prefix, at });
        }
    }
    out
}

/// A path prefix that says something.
/// The folder that a server's relative paths start in.
fn base(cx: &mut Cx<'_>, node: &Node, what: &str) -> Option<String> {
    let text = cx.text(node, what)?;
    let plain = text.starts_with('/')
        && !text.starts_with("//")
        && !text.contains(['\\', '\0', '%'])
        && text.split('/').all(|part| !matches!(part, "." | ".."));
    if plain {
        return Some(text.trim_end_matches('/').to_owned()).filter(|base| !base.is_empty());
    }
    let help = "name the folder from the root, without `..`: `base: /srv/project`";
    cx.wrong(node, what, "an absolute folder", help);
    None
}

pub(crate) fn prefix(cx: &mut Cx<'_>, text: &str, span: Span, what: &str) -> Option<String> {
    if text.trim().is_empty() {
        cx.report(
            Diagnostic::new(Code::EMPTY_PREFIX, span, format!("{what} is empty"))
                .here("this would allow every path")
                .help("name a folder; `.` means below the working folder"),
        );
        return None;
    }
    if text.contains('\0') {
        let message = format!("{what} {} holds a NUL", quote(text));
        cx.report(Diagnostic::new(Code::NAME, span, message).help("retype it"));
        return None;
    }
    Some(text.to_owned())
}

fn arg_patterns(cx: &mut Cx<'_>, node: &Node, what: &str) -> Vec<ArgPattern> {
    let help = "write a mapping of argument names to patterns";
    let mut out = Vec::new();
    for (name, span, value) in cx.entries(node, what, help).unwrap_or_default() {
        let of = format!("the pattern of {} in {what}", quote(name));
        let path = param(
            cx,
            name,
            span,
            &format!("the argument {} in {what}", quote(name)),
        );
        let Some(text) = cx.text(value, &of) else {
            continue;
        };
        let pattern = patterns::whole(cx, text, value.span, &of);
        if let (Some(path), Some(pattern)) = (path, pattern) {
            let at = cx.pos(value.span);
            out.push(ArgPattern { path, pattern, at });
        }
    }
    out
}

/// Units of a rate, in milliseconds.
const UNITS: &[(&str, u64)] = &[
    ("s", 1_000),
    ("sec", 1_000),
    ("min", 60_000),
    ("h", 3_600_000),
    ("hour", 3_600_000),
    ("day", 86_400_000),
];

fn rates(cx: &mut Cx<'_>, node: &Node, what: &str) -> Option<Vec<Rate>> {
    let one = std::slice::from_ref(node);
    let items = match &node.value {
        Value::List(items) => items,
        _ => one,
    };
    if items.is_empty() {
        cx.wrong(
            node,
            what,
            "a rate",
            "write e.g. `5/min`, or remove the key",
        );
        return None;
    }
    items.iter().map(|item| rate(cx, item, what)).collect()
}

fn rate(cx: &mut Cx<'_>, node: &Node, what: &str) -> Option<Rate> {
    let text = cx.text(node, what)?;
    let parsed = text.split_once('/').and_then(|(count, unit)| {
        let plain = !count.starts_with(['+', '0']);
        let count: u64 = count.trim_end().parse().ok().filter(|_| plain)?;
        let unit = unit.trim_start();
        let (_, window_ms) = UNITS.iter().find(|(name, _)| *name == unit)?;
        Some((count, *window_ms))
    });
    let Some((count, window_ms)) = parsed else {
        let message = format!("{what} is not a rate: {}", quote(text));
        cx.report(
            Diagnostic::new(Code::RATE, node.span, message)
                .here("expected `count/unit`")
                .help("write e.g. `5/min`; units are `s`, `min`, `h` and `day`, and `max_calls: 0` forbids all calls"),
        );
        return None;
    };
    let counted = u32::try_from(count)
        .ok()
        .filter(|&count| count <= MAX_WINDOWED_CALLS);
    let Some(count) = counted else {
        let message = format!("{what} allows too many calls: {}", quote(text));
        cx.report(
            Diagnostic::new(Code::RATE, node.span, message)
                .here(format!("at most {MAX_WINDOWED_CALLS} are counted within a window"))
                .help("the time of each call is remembered; write a smaller number, or limit the whole conversation with `max_calls`"),
        );
        return None;
    };
    let at = cx.pos(node.span);
    Some(Rate {
        count,
        window_ms,
        at,
    })
}

/// Reads `effects`: what the tool does. An empty list says that it does nothing to anybody.
fn effects(cx: &mut Cx<'_>, node: &Node, what: &str) -> Option<Effects> {
    let item_of = format!("an item of {what}");
    let words = Effect::ALL.map(|effect| (effect.name(), effect));
    let items = cx.list(node, what)?;
    let effects: Vec<_> = items
        .iter()
        .map(|item| cx.one_of(item, &item_of, &words))
        .collect();
    effects.into_iter().collect()
}

/// Reads `dispatches`: which arguments hold the name and the arguments of the tool that
/// is called.
fn dispatches(cx: &mut Cx<'_>, node: &Node, what: &str) -> Option<Dispatch> {
    let fields = cx.fields(node, what, DISPATCH_KEYS)?;
    let mut argument = |key: &str| {
        let help = format!("add `{key}:` with the name of an argument");
        match fields.get(key) {
            Some(node) => cx
                .some_text(node, &format!("`{key}` in {what}"))
                .map(str::to_owned),
            None => {
                cx.missing(node.span, what, key, &help);
                None
            }
        }
    };
    let (tool, arguments) = (argument("tool"), argument("arguments"));
    let (tool, arguments) = (tool?, arguments?);
    if tool.eq_ignore_ascii_case(&arguments) {
        let message = format!("{what} names one argument for two things");
        cx.report(Diagnostic::new(Code::WRONG_TYPE, node.span, message).help(
            "`tool` is the argument with the tool's name, `arguments` the one with its arguments",
        ));
        return None;
    }
    Some(Dispatch {
        tool,
        arguments,
        at: cx.pos(node.span),
    })
}

fn outputs(cx: &mut Cx<'_>, node: &Node, what: &str) -> Option<WrittenOutputs> {
    let mut written = WrittenOutputs {
        label: None,
        private: None,
        text: None,
        fields: Vec::new(),
        at: cx.pos(node.span),
    };
    if matches!(node.value, Value::Scalar(_)) {
        written.label = Some(cx.one_of(node, what, LABELS)?);
        return Some(written);
    }
    let fields = cx.fields(node, what, OUTPUT_KEYS)?;
    if let Some(node) = fields.get("label") {
        written.label = cx.one_of(node, &format!("`label` in {what}"), LABELS);
    }
    if let Some(node) = fields.get("private") {
        written.private = cx.bool(node, &format!("`private` in {what}"));
    }
    if let Some(node) = fields.get("text") {
        written.text = cx.one_of(node, &format!("`text` in {what}"), TEXTS);
    }
    let Some(node) = fields.get("fields") else {
        return Some(written);
    };
    let what = format!("`fields` in {what}");
    let help = "write a mapping of fields to labels, e.g. `\"[*].body\": untrusted`";
    for (name, span, value) in cx.entries(node, &what, help).unwrap_or_default() {
        let of = format!("the label of {}", quote(name));
        let said = field_label(cx, value, &of);
        let path = match path::output(name) {
            Ok(path) => Some(path),
            Err(error) => {
                report_path(
                    cx,
                    name,
                    span,
                    &format!("the field `{}`", plain(name)),
                    error,
                );
                None
            }
        };
        if let (Some(path), Some((label, private))) = (path, said) {
            written.fields.push(FieldLabel {
                path,
                label,
                private,
            });
        }
    }
    Some(written)
}

/// The label of a field, alone or in a mapping with `private`.
fn field_label(cx: &mut Cx<'_>, node: &Node, what: &str) -> Option<(Label, bool)> {
    if !matches!(node.value, Value::Map(_)) {
        return Some((cx.one_of(node, what, LABELS)?, false));
    }
    let fields = cx.fields(node, what, FIELD_KEYS)?;
    let label = match fields.get("label") {
        Some(node) => cx.one_of(node, &format!("`label` in {what}"), LABELS)?,
        None => Label::Untrusted,
    };
    let private = match fields.get("private") {
        Some(node) => cx.bool(node, &format!("`private` in {what}"))?,
        None => false,
    };
    Some((label, private))
}
