//! Values that the claims themselves name, as the first to be tried: a host of a list, a
//! query of a table of a list. A search would find them late, where many tests meet.

use super::Theory;
use crate::facts::{Claim, Look};
use bouncer_compiler::policy::{ListItem, Op, Scalar};
use regex_syntax::escape;

/// Names of one view that are tried.
const MOST: usize = 6;

/// Queries of a table.
const OF_TABLE: [&str; 7] = [
    "select a from {}",
    "insert into {} values [(]1[)]",
    "update {} set a = 1",
    "delete from {}",
    "drop table {}",
    "truncate table {}",
    "alter table {} add a int",
];

impl Theory {
    /// Values that claims which are to hold name.
    pub(super) fn named(&self, claims: &[Claim]) -> Vec<String> {
        let items = claims
            .iter()
            .filter(|(_, _, holds)| *holds)
            .filter_map(|(id, _, _)| self.facts.get(*id))
            .flat_map(|fact| match &fact.op {
                Op::Equals(Scalar::Str(text)) => vec![text.clone()],
                Op::In(items) => items.iter().filter_map(of_item).take(MOST).collect(),
                _ => Vec::new(),
            });
        items.take(MOST).collect()
    }

    /// Patterns of queries of the tables that claims name.
    pub(super) fn queries(&self, claims: &[Claim]) -> Vec<String> {
        let looks = self.looks(claims);
        let tables = looks
            .into_iter()
            .filter(|look| matches!(look, Look::SqlTable(_)));
        let names: Vec<String> = tables
            .flat_map(|look| self.named(&self.of_look(claims, look)))
            .take(MOST)
            .collect();
        let queries = OF_TABLE.iter().flat_map(|query| {
            let of = |name: &String| format!(r"\A{}\z", query.replace("{}", &escape(name)));
            names.iter().map(of).collect::<Vec<_>>()
        });
        queries.collect()
    }
}

/// A value that an item of a list means.
fn of_item(item: &ListItem) -> Option<String> {
    match item {
        ListItem::Scalar(Scalar::Str(text)) => Some(text.clone()),
        ListItem::Below(domain) => Some(format!("a.{domain}")),
        ListItem::AtDomain(domain) => Some(domain.clone()),
        ListItem::Scalar(_) | ListItem::Network(_) => None,
    }
}
