//! Prints the views of queries: what differential tests judge with.
//!
//! Reads lines `dialect<TAB>query as a JSON string` from standard input and writes for
//! each one line of JSON: `{"verbs": …, "tables": …, "functions": …}`, each a list, or
//! `null` where it cannot be evaluated.

use bouncer_reader::sql::{self, Dialect, Unreadable};
use std::io::{self, BufRead, Write};

type View = fn(&str, Dialect, &mut dyn FnMut(&str)) -> Result<(), Unreadable>;

fn list(view: View, query: &str, dialect: Dialect) -> Option<Vec<String>> {
    let mut all = Vec::new();
    view(query, dialect, &mut |one| all.push(one.to_owned())).ok()?;
    Some(all)
}

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (name, query) = line.split_once('\t').unwrap_or(("", line.as_str()));
        let dialect = match name {
            "postgres" => Dialect::Postgres,
            "sqlite" => Dialect::Sqlite,
            "mysql" => Dialect::Mysql,
            _ => Dialect::Generic,
        };
        let query: String = serde_json::from_str(query)?;
        let views = serde_json::json!({
            "verbs": list(sql::verbs, &query, dialect),
            "tables": list(sql::tables, &query, dialect),
            "functions": list(sql::functions, &query, dialect),
        });
        writeln!(out, "{views}")?;
        out.flush()?;
    }
    Ok(())
}
