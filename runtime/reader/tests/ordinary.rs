//! Ordinary queries keep their views: what refuses tricks must not refuse work.
//!
//! The queries are in `tests/sql/ordinary/`; `check.py` there runs them on the real
//! servers. They were written before the reader that they measure.

#![cfg(feature = "sql")]

use bouncer_reader::sql::{self, Dialect};
use std::error::Error;
use std::path::Path;

/// How many queries a file has, and those that have no view in this dialect.
fn unread(file: &str, dialect: Dialect) -> Result<(usize, Vec<String>), Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/sql/ordinary")
        .join(file);
    let text = std::fs::read_to_string(&path)?;
    let queries: Vec<String> = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let unread: Vec<String> = queries
        .iter()
        .filter(|query| sql::verbs(query, dialect, &mut |_| ()).is_err())
        .cloned()
        .collect();
    Ok((queries.len(), unread))
}

/// File, dialect, and how many have no view today: at most 1 % where the dialect is
/// named, at most 5 % where none is.
const MEASURED: [(&str, Dialect, usize); 6] = [
    ("postgres.jsonl", Dialect::Postgres, 0),
    ("sqlite.jsonl", Dialect::Sqlite, 2),
    ("mysql.jsonl", Dialect::Mysql, 0),
    ("postgres.jsonl", Dialect::Generic, 21),
    ("sqlite.jsonl", Dialect::Generic, 7),
    ("mysql.jsonl", Dialect::Generic, 12),
];

#[test]
fn ordinary_queries_have_views() {
    let mut wrong = String::new();
    for (file, dialect, expected) in MEASURED {
        let (all, unread) = unread(file, dialect).unwrap();
        let count = unread.len();
        assert!(all >= 1_000, "{file}: {all} queries");
        let share = if dialect == Dialect::Generic { 20 } else { 100 };
        if count != expected || count * share > all {
            wrong += &format!("{file} as {dialect:?}: {count} of {all} have no view:\n");
            unread
                .iter()
                .for_each(|query| wrong += &format!("  {query:?}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
