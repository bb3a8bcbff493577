//! The sections of a file of rules, which native policies share: `rules`, `defaults`,
//! `audit`, `approval`.

use super::File;
use super::decode::Cx;
use super::dialect::{
    APPROVAL_KEYS, AUDIT_KEYS, DEFAULT_KEYS, Dialect, NATIVE_RULE_KEYS, RULE_KEYS, RULES_KEYS,
};
use super::globs::{ACTIONS, glob};
use super::lists::Lists;
use super::matching;
use super::node::{Meaning, Node, Value};
use super::patterns;
use super::requests::{self, Kind};
use super::servers;
use crate::condition;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::policy::{Cond, Pos, Rule, ToolGlob};
use bouncer_plan::requests::is_request;
use bouncer_plan::{Effect, Verdict};

/// `defaults:` as written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defaults {
    pub on_destructive_hint: Option<(Verdict, Span)>,
    pub on_unknown: Option<(Verdict, Span)>,
    /// `onEffect`, effect by effect.
    pub on_effect: Vec<(Effect, Verdict, Span)>,
    /// `afterUntrusted`, effect by effect.
    pub after_untrusted: Vec<(Effect, Verdict, Span)>,
    /// `resources`, `prompts` and what else is no tool.
    pub requests: Vec<requests::Said>,
}

/// Reads a whole file of rules.
pub(crate) fn read(cx: &mut Cx<'_>, root: &Node) -> File {
    let mut file = File::default();
    let Some(fields) = cx.top(root, RULES_KEYS) else {
        return file;
    };
    let mut lists = Lists::default();
    sections(cx, &mut lists, &fields, &mut file);
    // Such a file has an opinion on every call, also when it names only servers.
    file.defaults.get_or_insert_default();
    file
}

/// Reads the sections that both dialects have.
pub(crate) fn sections(
    cx: &mut Cx<'_>,
    lists: &mut Lists,
    fields: &super::decode::Fields<'_>,
    file: &mut File,
) {
    if let Some(node) = fields.get("rules") {
        file.rules = Some(rules(cx, lists, node));
    }
    if let Some(node) = fields.get("defaults") {
        file.defaults = Some(defaults(cx, node));
    }
    if let Some(node) = fields.get("servers") {
        file.servers = servers::read(cx, node);
    }
    if let Some(node) = fields.get("audit") {
        file.audit = audit(cx, node);
    }
    if let Some(node) = fields.get("approval") {
        approval(cx, node, file);
    }
}

fn rules(cx: &mut Cx<'_>, lists: &mut Lists, node: &Node) -> Vec<Rule> {
    let Value::List(items) = &node.value else {
        let help = "write a list: each rule starts with `- tool:`";
        cx.wrong(node, "`rules`", "a list of rules", help);
        return Vec::new();
    };
    items
        .iter()
        .filter_map(|item| rule(cx, lists, item))
        .collect()
}

/// One rule. `None` if it is not complete; what is wrong has been reported.
fn rule(cx: &mut Cx<'_>, lists: &mut Lists, node: &Node) -> Option<Rule> {
    let known: &[&str] = if cx.dialect == Dialect::Native {
        NATIVE_RULE_KEYS
    } else {
        RULE_KEYS
    };
    let fields = cx.fields(node, "this rule", known)?;
    let start = first_line(cx, node.span);
    let about = about(cx, &fields, start);
    let action = match fields.get("action") {
        Some(node) => cx.one_of(node, "`action`", ACTIONS),
        None => {
            let help = "add `action: allow`, `action: ask` or `action: deny`";
            cx.missing(start, "this rule", "action", help);
            None
        }
    };
    let reason = fields
        .get("reason")
        .and_then(|node| cx.text(node, "`reason`"))
        .filter(|reason| !reason.is_empty());
    let matched = fields
        .get("match")
        .map(|node| matching::read(cx, lists, node));
    let when = fields.get("when").map(|node| when(cx, lists, node));
    let (tools, requested) = about?;
    let action = action?;
    let requested = requested.map(|(kind, globs)| Some(requests::condition(kind, action, &globs)));
    let parts: Option<Vec<Cond>> = [requested, matched, when].into_iter().flatten().collect();
    let mut parts = parts?;
    Some(Rule {
        tools,
        condition: match parts.len() {
            1 => parts.remove(0),
            _ => Cond::All(parts),
        },
        action,
        reason: reason.map(ToOwned::to_owned),
        at: cx.pos(node.span),
    })
}

/// What a rule is about: tools, or the requests of a kind and the patterns of what they name.
type About = (Vec<ToolGlob>, Option<(Kind, Vec<ToolGlob>)>);

fn about(cx: &mut Cx<'_>, fields: &super::decode::Fields<'_>, start: Span) -> Option<About> {
    let keys = ["tool", "resource", "prompt"];
    let mut said = keys.iter().filter_map(|key| Some((*key, fields.get(key)?)));
    match (said.next(), said.next()) {
        (Some((first, _)), Some((second, node))) => {
            let message = format!("this rule has both `{first}` and `{second}`");
            let diagnostic = Diagnostic::new(Code::UNKNOWN_KEY, node.span, message);
            cx.report(diagnostic.help("write two rules"));
            None
        }
        (Some(("tool", node)), None) => Some((tools(cx, node)?, None)),
        (Some((key, node)), None) => {
            let kind = match key {
                "prompt" => Kind::Prompts,
                _ => Kind::Resources,
            };
            let (tools, globs) = requests::globs(cx, kind, node)?;
            Some((tools, Some((kind, globs))))
        }
        (None, _) => {
            let help = "add `tool:` with a pattern such as `postgres__*`; `\"*\"` means every tool";
            cx.missing(start, "this rule", "tool", help);
            None
        }
    }
}

/// The first line of a stretch, for marks that would otherwise run over many lines.
fn first_line(cx: &Cx<'_>, span: Span) -> Span {
    let text = cx.sources.text(span);
    let length = text.find('\n').unwrap_or(text.len());
    let length = text.get(..length).map_or(0, |line| line.trim_end().len());
    Span {
        end: span
            .start
            .saturating_add(u32::try_from(length).unwrap_or(0)),
        ..span
    }
}

/// The globs of a rule: one, or in a native policy a list of them.
fn tools(cx: &mut Cx<'_>, node: &Node) -> Option<Vec<ToolGlob>> {
    let one = std::slice::from_ref(node);
    let nodes = match &node.value {
        Value::List(items) if cx.dialect == Dialect::Native => items,
        _ => one,
    };
    if nodes.is_empty() {
        let help = "name a tool, e.g. `postgres__*`; `\"*\"` means every tool";
        cx.wrong(node, "`tool`", "a pattern or a list of patterns", help);
        return None;
    }
    let mut globs = Vec::new();
    for node in nodes {
        let glob = glob(cx, node, "`tool`")?;
        if is_request(&glob.pattern) {
            requests::report_request(cx, node, &glob.pattern);
            return None;
        }
        globs.push(glob);
    }
    Some(globs)
}

/// A `when:` condition.
fn when(cx: &mut Cx<'_>, lists: &Lists, node: &Node) -> Option<Cond> {
    if let Value::Scalar(scalar) = &node.value
        && let Meaning::Bool(always) = scalar.meaning()
    {
        let message = format!(
            "`when` must be a condition, but this is {}",
            node.describe()
        );
        let help = match always {
            true => "a rule without `when` holds for every call: leave it out",
            false => "a rule that never holds decides nothing: leave it out",
        };
        cx.report(Diagnostic::new(Code::WRONG_TYPE, node.span, message).help(help));
        return None;
    }
    let text = cx.some_text(node, "`when`")?;
    let parse = condition::parse;
    parsed(cx, lists, node.span, text, Code::CONDITION, parse)
}

/// Runs a parser of the language of conditions over a scalar's text, and reports its
/// errors under `code`.
pub(super) fn parsed<T>(
    cx: &mut Cx<'_>,
    lists: &Lists,
    span: Span,
    text: &str,
    code: Code,
    parse: fn(&str, &condition::Context<'_>) -> Result<T, Vec<condition::Error>>,
) -> Option<T> {
    let parsed = {
        let sources = cx.sources;
        let source = sources.text(span);
        let position = |offset: usize| -> Pos {
            let at = super::place::locate(source, text, offset).min(source.len());
            sources.pos(Span::new(span.file, span.start as usize + at, 0))
        };
        let context = condition::Context {
            lists: &|name| lists.plain(name),
            list_names: lists.names().into_iter().map(ToOwned::to_owned).collect(),
            position: &position,
        };
        parse(text, &context)
    };
    match parsed {
        Ok(parsed) => {
            for doubt in condition::doubts(text) {
                let place = patterns::within(cx, span, text, doubt.start, doubt.end);
                let diagnostic = Diagnostic::new(Code::OTHER_LANGUAGE, place, doubt.message);
                cx.report(diagnostic.help(doubt.help.unwrap_or_default()));
            }
            Some(parsed)
        }
        Err(errors) => {
            for error in errors {
                let place = patterns::within(cx, span, text, error.start, error.end);
                let mut diagnostic = Diagnostic::new(code, place, error.message);
                if let Some(help) = error.help {
                    diagnostic = diagnostic.help(help);
                }
                cx.report(diagnostic);
            }
            None
        }
    }
}

fn defaults(cx: &mut Cx<'_>, node: &Node) -> Defaults {
    let mut defaults = Defaults::default();
    let Some(fields) = cx.fields(node, "`defaults`", DEFAULT_KEYS) else {
        return defaults;
    };
    if let Some(node) = fields.get("onDestructiveHint") {
        defaults.on_destructive_hint = cx
            .one_of(node, "`onDestructiveHint`", ACTIONS)
            .map(|action| (action, node.span));
    }
    if let Some(node) = fields.get("onUnknown") {
        defaults.on_unknown = cx
            .one_of(node, "`onUnknown`", ACTIONS)
            .map(|action| (action, node.span));
    }
    defaults.requests = requests::defaults(cx, &fields);
    if let Some(node) = fields.get("onEffect") {
        defaults.on_effect = by_effect(cx, node, "`onEffect`");
    }
    if let Some(node) = fields.get("afterUntrusted") {
        defaults.after_untrusted = by_effect(cx, node, "`afterUntrusted`");
    }
    defaults
}

/// Verdicts by effect; one word stands for all of them.
fn by_effect(cx: &mut Cx<'_>, node: &Node, what: &str) -> Vec<(Effect, Verdict, Span)> {
    if let Value::Scalar(_) = node.value {
        let verdict = cx.one_of(node, what, ACTIONS);
        let all = |verdict| Effect::ALL.map(|effect| (effect, verdict, node.span));
        return verdict.map(all).into_iter().flatten().collect();
    }
    let names = Effect::ALL.map(Effect::name);
    let Some(fields) = cx.fields(node, what, &names) else {
        return Vec::new();
    };
    let said = Effect::ALL.into_iter().filter_map(|effect| {
        let node = fields.get(effect.name())?;
        let of = format!("`{effect}` of {what}");
        Some((effect, cx.one_of(node, &of, ACTIONS)?, node.span))
    });
    said.collect()
}

fn audit(cx: &mut Cx<'_>, node: &Node) -> Option<(String, Span)> {
    let fields = cx.fields(node, "`audit`", AUDIT_KEYS)?;
    let node = fields.get("path")?;
    let path = cx.some_text(node, "`path` of `audit`")?;
    Some((path.to_owned(), node.span))
}

/// Reads `approval:`. Nothing here polls: `pollIntervalMs` is checked and has no effect.
fn approval(cx: &mut Cx<'_>, node: &Node, file: &mut File) {
    let Some(fields) = cx.fields(node, "`approval`", APPROVAL_KEYS) else {
        return;
    };
    if let Some(node) = fields.get("path") {
        let path = cx.some_text(node, "`path` of `approval`");
        file.approval_path = path.map(|path| (path.to_owned(), node.span));
    }
    for key in ["timeoutSeconds", "pollIntervalMs"] {
        let Some(node) = fields.get(key) else {
            continue;
        };
        let seconds = positive(cx, node, &format!("`{key}` of `approval`"));
        if key == "timeoutSeconds" {
            let ms = |text: String| (text.parse::<f64>().unwrap_or(0.0) * 1000.0) as u64;
            file.approval_timeout_ms = seconds.map(|text| (ms(text).max(1), node.span));
        }
    }
}

/// The text of a number above zero, fractions included.
fn positive(cx: &mut Cx<'_>, node: &Node, what: &str) -> Option<String> {
    use crate::policy::Scalar;
    let number = match &node.value {
        Value::Scalar(_) => cx.scalar(node, what),
        _ => {
            cx.wrong(node, what, "a number", "write a number above 0");
            return None;
        }
    };
    match number {
        Some(Scalar::Number(text)) => {
            let above = !text.starts_with('-')
                && text
                    .split('e')
                    .next()
                    .is_some_and(|mantissa| mantissa.bytes().any(|b| matches!(b, b'1'..=b'9')));
            if !above {
                let message = format!("{what} must be above 0, but this is {}", node.describe());
                cx.report(
                    Diagnostic::new(Code::NUMBER, node.span, message).help("write e.g. `300`"),
                );
            }
            above.then_some(text)
        }
        Some(_) => {
            cx.wrong(node, what, "a number", "write a number, without quotes");
            None
        }
        None => None,
    }
}
