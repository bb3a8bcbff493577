//! The file of heuristics: patterns over names and schemas, for tools that no
//! contract names.

use super::decode::Cx;
use super::node::Node;
use bouncer_engine::tools::{Heuristics, LabelHeuristics};

/// Reads the file: one key, `heuristics`.
pub(crate) fn read(cx: &mut Cx<'_>, root: &Node) -> Heuristics {
    let mut out = Heuristics::default();
    let known = ["version", "description", "heuristics"];
    let Some(top) = cx.fields(root, "the heuristics", &known) else {
        return out;
    };
    let Some(node) = top.get("heuristics") else {
        cx.missing(root.span, "this file", "heuristics", "add `heuristics:`");
        return out;
    };
    let Some(fields) = cx.fields(
        node,
        "`heuristics`",
        &["sinks", "destructive", "asked", "labels"],
    ) else {
        return out;
    };
    if let Some(sinks) = fields
        .get("sinks")
        .and_then(|node| cx.fields(node, "`sinks`", &["names", "words", "formats"]))
    {
        out.sink_names = words(cx, sinks.get("names"), "`names`");
        out.sink_words = words(cx, sinks.get("words"), "`words`");
        out.sink_formats = words(cx, sinks.get("formats"), "`formats`");
    }
    if let Some(destructive) = fields
        .get("destructive")
        .and_then(|node| cx.fields(node, "`destructive`", &["words", "max_calls"]))
    {
        out.destructive_words = words(cx, destructive.get("words"), "`words`");
        out.destructive_max_calls = destructive
            .get("max_calls")
            .and_then(|node| cx.count(node, "`max_calls`", 0, u64::from(u32::MAX)))
            .and_then(|count| u32::try_from(count).ok());
    }
    let known = ["common", "any", "run", "grant", "pay", "destroy", "publish"];
    if let Some(asked) = fields
        .get("asked")
        .and_then(|node| cx.fields(node, "`asked`", &known))
    {
        out.asked.common = words(cx, asked.get("common"), "`common`");
        let any = words(cx, asked.get("any"), "`any`");
        for (effect, patterns) in &mut out.asked.effects {
            *patterns = words(cx, asked.get(effect.name()), &format!("`{effect}`"));
            patterns.extend(any.iter().cloned());
        }
    }
    if let Some(labels) = fields
        .get("labels")
        .and_then(|node| cx.fields(node, "`labels`", &["untrusted", "observed"]))
    {
        out.labels = LabelHeuristics {
            untrusted_words: words(cx, labels.get("untrusted"), "`untrusted`"),
            observed_words: words(cx, labels.get("observed"), "`observed`"),
        };
    }
    out
}

fn words(cx: &mut Cx<'_>, node: Option<&Node>, what: &str) -> Vec<String> {
    let item_of = format!("an item of {what}");
    node.and_then(|node| cx.list(node, what))
        .unwrap_or_default()
        .iter()
        .filter_map(|item| cx.some_text(item, &item_of).map(ToOwned::to_owned))
        .collect()
}
