//! `lists:` of a native policy: named lists of values that refer to each other by
//! `@name`, and their use elsewhere.

use super::decode::Cx;
use super::node::{Meaning, Node, Value};
use super::suggest::nearest;
use crate::condition;
use crate::diagnostic::{Code, Diagnostic, Span, quote};
use crate::policy::{ListItem, Scalar};
use std::collections::{BTreeMap, HashSet};

/// An item, and where it was written.
pub(crate) type Placed = (ListItem, Span);

/// How many items one file may have after expansion, counting every use.
const MOST_ITEMS: usize = 1_000_000;

/// How many names are looked through for "did you mean".
const MOST_NAMES: usize = 2_000;

/// The lists of one file, expanded.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    lists: BTreeMap<String, Vec<Placed>>,
    used: usize,
}

/// An item before expansion.
enum Raw {
    Item(ListItem),
    List(String),
}

/// The lists as written: where the name stands, and the items.
type RawLists = BTreeMap<String, (Span, Vec<(Raw, Span)>)>;

impl Lists {
    /// Reads the section `lists:`. Reports unknown lists and circles.
    pub(crate) fn read(cx: &mut Cx<'_>, node: &Node) -> Self {
        let help = "write a mapping of names to lists, e.g. `partners: [\"*@corp.com\"]`";
        let mut raw = RawLists::new();
        for (name, span, value) in cx.entries(node, "`lists`", help).unwrap_or_default() {
            let what = format!("the list {}", quote(name));
            if !is_name(name) {
                let message = format!("{} is not a name for a list", quote(name));
                cx.report(
                    Diagnostic::new(Code::NAME, span, message)
                        .help("use letters, digits, `_` and `-`, and start with a letter"),
                );
            }
            let mut items = Vec::new();
            for item in cx.list(value, &what).unwrap_or_default() {
                if let Some(read) = raw_item(cx, item, &what) {
                    items.push((read, item.span));
                }
            }
            raw.insert(name.to_owned(), (span, items));
        }
        let mut lists = Self::default();
        for name in raw.keys() {
            lists.expand(cx, name, &raw);
        }
        lists
    }

    /// Expands one list and all that it refers to, children first, without recursion.
    /// Linear in the lists visited.
    fn expand<'r>(&mut self, cx: &mut Cx<'_>, name: &'r str, raw: &'r RawLists) {
        // Lists on the way down, each with the number of the item to look at next.
        let mut path: Vec<(&'r str, usize)> = vec![(name, 0)];
        let mut open: HashSet<&'r str> = HashSet::from([name]);
        while let Some((current, next)) = path.pop() {
            let Some((_, items)) = raw.get(current) else {
                continue;
            };
            if self.lists.contains_key(current) {
                continue;
            }
            let rest = items.iter().enumerate().skip(next);
            let reference = rest
                .filter_map(|(index, (item, span))| match item {
                    Raw::List(other) => Some((index, other.as_str(), *span)),
                    Raw::Item(_) => None,
                })
                .find(|(_, other, _)| !self.lists.contains_key(*other));
            let Some((index, other, span)) = reference else {
                let expanded = self.join(cx, items);
                self.lists.insert(current.to_owned(), expanded);
                open.remove(current);
                continue;
            };
            path.push((current, index + 1));
            match raw.get(other) {
                None => {
                    let most = if cx.sink.is_full() { 0 } else { MOST_NAMES };
                    let names: Vec<&str> = raw.keys().map(String::as_str).take(most).collect();
                    unknown(cx, other, span, &names);
                }
                Some((defined, _)) if open.contains(other) => {
                    let message = format!("the list {} refers to itself", quote(other));
                    cx.report(
                        Diagnostic::new(Code::LIST_CYCLE, span, message)
                            .here("through this item")
                            .also(*defined, "defined here")
                            .help("remove one of the references"),
                    );
                }
                Some(_) => {
                    open.insert(other);
                    path.push((other, 0));
                }
            }
        }
    }

    fn join(&mut self, cx: &mut Cx<'_>, items: &[(Raw, Span)]) -> Vec<Placed> {
        let mut out = Vec::new();
        for (item, span) in items {
            match item {
                Raw::Item(item) => out.push((item.clone(), *span)),
                Raw::List(name) => out.extend(self.take(cx, name, *span)),
            }
        }
        out
    }

    /// The items of a list that exists, for one use of it.
    fn take(&mut self, cx: &mut Cx<'_>, name: &str, span: Span) -> Vec<Placed> {
        let items = self.lists.get(name).map_or(&[][..], Vec::as_slice);
        self.used = self.used.saturating_add(items.len());
        if self.used > MOST_ITEMS {
            let message = format!("lists expand to more than {MOST_ITEMS} items");
            cx.report(
                Diagnostic::new(Code::TOO_LARGE, span, message).help("use fewer or shorter lists"),
            );
            return Vec::new();
        }
        items.to_vec()
    }

    /// The items that a node of a list stands for: itself, or those of `@name`.
    /// `None` after an error.
    pub(crate) fn items(
        &mut self,
        cx: &mut Cx<'_>,
        node: &Node,
        what: &str,
    ) -> Option<Vec<Placed>> {
        match raw_item(cx, node, what)? {
            Raw::Item(item) => Some(vec![(item, node.span)]),
            Raw::List(name) if self.lists.contains_key(&name) => {
                Some(self.take(cx, &name, node.span))
            }
            Raw::List(name) => {
                unknown(cx, &name, node.span, &self.names());
                None
            }
        }
    }

    /// The names of the lists, sorted; the first few thousand, for suggestions.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.lists
            .keys()
            .map(String::as_str)
            .take(MOST_NAMES)
            .collect()
    }

    /// All lists, without the items' places.
    pub(crate) fn into_plain(self) -> BTreeMap<String, Vec<ListItem>> {
        let plain = |items: Vec<Placed>| items.into_iter().map(|(item, _)| item).collect();
        let lists = self.lists.into_iter();
        lists.map(|(name, items)| (name, plain(items))).collect()
    }

    /// The items of a list, without their places.
    pub(crate) fn plain(&self, name: &str) -> Option<Vec<ListItem>> {
        let items = self.lists.get(name)?;
        Some(items.iter().map(|(item, _)| item.clone()).collect())
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

fn unknown(cx: &mut Cx<'_>, name: &str, span: Span, known: &[&str]) {
    let message = format!("there is no list {}", quote(name));
    let mut diagnostic = Diagnostic::new(Code::UNKNOWN_LIST, span, message);
    diagnostic = match nearest(name, known) {
        Some(meant) => diagnostic
            .here(format!("did you mean `@{meant}`?"))
            .suggest(span, format!("\"@{meant}\"")),
        None => diagnostic.help(format!(
            "define it in `lists:`; if you mean the text itself, write {}",
            quote(&format!("@@{name}"))
        )),
    };
    cx.report(diagnostic);
}

/// One item as written: a value, a pattern, or the name of a list.
fn raw_item(cx: &mut Cx<'_>, node: &Node, what: &str) -> Option<Raw> {
    if let Value::Scalar(scalar) = &node.value
        && let Meaning::Text(text) = scalar.meaning()
    {
        if let Some(name) = text.strip_prefix('@') {
            return Some(match name.strip_prefix('@') {
                Some(_) => Raw::Item(ListItem::Scalar(Scalar::Str(name.to_owned()))),
                None => Raw::List(name.to_owned()),
            });
        }
        cx.two_readings(node, &format!("an item of {what}"));
        return pattern(cx, node, text).map(Raw::Item);
    }
    let what = format!("an item of {what}");
    cx.scalar(node, &what)
        .map(|scalar| Raw::Item(ListItem::Scalar(scalar)))
}

/// A text, or one of the two patterns with `*`.
pub(crate) fn pattern(cx: &mut Cx<'_>, node: &Node, text: &str) -> Option<ListItem> {
    match condition::list_item(text) {
        Ok(item) => Some(item),
        Err(error) => {
            let help = error.help.unwrap_or_else(|| {
                "write `*@corp.com`, `*.corp.com` or the whole value".to_owned()
            });
            cx.report(Diagnostic::new(Code::WILDCARD, node.span, error.message).help(help));
            None
        }
    }
}
