//! The `sql()` view: what a query does, and to which tables, by a real parser.
//!
//! The answer is about every statement in the text, nested ones included: a `WITH`
//! that deletes reads as a query to whoever looks at its first word only. What the
//! parser cannot read, or a server may read differently, is [`Unreadable`].
//! Unlike the other views this one allocates.

use sqlparser::ast::{
    CopySource, Expr, GrantObjects, MergeAction, ObjectName, Query, Select, SetExpr,
    SqliteOnConflict, Statement, Visit, Visitor,
};
use sqlparser::dialect::{self, GenericDialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Tokenizer;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::thread;

/// Longer queries, in bytes, are not read.
const LONGEST: usize = 1 << 20;

/// Up to this many tokens a query is read on the caller's stack. A syntax tree may
/// be as deep as the query has tokens, and is dropped by recursion.
const FEW_TOKENS: usize = 128;

/// Stack for one level of the tree of a longer query; only what is used is mapped.
const STACK_PER_TOKEN: usize = 4 << 10;

/// More tokens than this are not read.
const MANY_TOKENS: usize = 60_000;

/// The query does not parse, is nested too deep or too long, holds nothing, or could be
/// read differently by the server. A test on it cannot be evaluated: it holds in a
/// restrictive rule and fails in a permissive one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// The SQL that a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Dialect {
    /// Not known. Where quoting and comments differ, all readings count.
    #[default]
    Generic = 0,
    /// PostgreSQL.
    Postgres = 1,
    /// SQLite.
    Sqlite = 2,
    /// MySQL and MariaDB.
    Mysql = 3,
}

impl Dialect {
    /// The dialect whose stable byte is `byte`, if there is one.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Generic),
            1 => Some(Self::Postgres),
            2 => Some(Self::Sqlite),
            3 => Some(Self::Mysql),
            _ => None,
        }
    }

    /// The stable byte of the plan format.
    #[must_use]
    pub const fn as_byte(self) -> u8 {
        self as u8
    }

    fn parser(self) -> &'static dyn dialect::Dialect {
        match self {
            Self::Generic => &GenericDialect {},
            Self::Postgres => &PostgreSqlDialect {},
            Self::Sqlite => &SQLiteDialect {},
            Self::Mysql => &MySqlDialect {},
        }
    }
}

/// Hands each thing that `query` does to `each`, in lower case, each once, in
/// alphabetical order.
///
/// The verb of a statement is its first keyword (`select`, `insert`, `drop`, `grant`,
/// `call`, `set`, `commit`, …), with `begin` for `START TRANSACTION` and `explain` for
/// its synonyms. Statements inside others count too, as do what they imply: a query
/// inside an `INSERT` is also `select`, `SELECT INTO` also `create`, `REPLACE` also
/// `insert`, an upsert also `update`, a `MERGE` also what its branches do.
/// `EXPLAIN` counts as what it explains, run or not.
///
/// # Errors
/// [`Unreadable`], see there. Comments that MySQL executes (`/*! … */`) are refused
/// wherever they stand.
pub fn verbs(query: &str, dialect: Dialect, each: &mut dyn FnMut(&str)) -> Result<(), Unreadable> {
    read(query, dialect)?
        .verbs
        .iter()
        .for_each(|verb| each(verb));
    Ok(())
}

/// Hands each table or view that `query` names to `each`, in lower case, each once, in
/// alphabetical order: the full name as written (`schema.table`), and the last part
/// of it alone where it is qualified.
///
/// Names that a `WITH` introduces are reported like tables.
///
/// # Errors
/// [`Unreadable`], see there; also for statements whose tables are not all known here,
/// such as `CALL` or `CREATE TRIGGER`.
pub fn tables(query: &str, dialect: Dialect, each: &mut dyn FnMut(&str)) -> Result<(), Unreadable> {
    let found = read(query, dialect)?;
    if found.hidden_tables {
        return Err(Unreadable);
    }
    found.tables.iter().for_each(|table| each(table));
    Ok(())
}

/// What a query does, over all of its readings.
#[derive(Default)]
struct Found {
    verbs: BTreeSet<String>,
    tables: BTreeSet<String>,
    /// A statement was there that may name tables out of sight.
    hidden_tables: bool,
}

fn read(query: &str, dialect: Dialect) -> Result<Found, Unreadable> {
    if query.len() > LONGEST || query.contains("/*!") || query.contains("/*M!") {
        return Err(Unreadable);
    }
    let mut found = Found::default();
    read_as(query, dialect, &mut found)?;
    // Where a string or a comment ends depends on the server. The readings that do
    // not parse there would not run there either.
    let ambiguous = ["\\", "#", "--", "/*", "$", "`", "\""];
    if dialect == Dialect::Generic && ambiguous.iter().any(|mark| query.contains(mark)) {
        for other in [Dialect::Postgres, Dialect::Sqlite, Dialect::Mysql] {
            let _ = read_as(query, other, &mut found);
        }
    }
    Ok(found)
}

fn read_as(query: &str, dialect: Dialect, found: &mut Found) -> Result<(), Unreadable> {
    let tokens = Tokenizer::new(dialect.parser(), query)
        .tokenize_with_location()
        .map_err(|_| Unreadable)?;
    let count = tokens.len();
    let work = |found: &mut Found| {
        let mut parser = Parser::new(dialect.parser()).with_tokens_with_locations(tokens);
        let statements = parser.parse_statements().map_err(|_| Unreadable)?;
        if statements.is_empty() {
            return Err(Unreadable);
        }
        let _ = statements.visit(found);
        Ok(())
    };
    if count <= FEW_TOKENS {
        return work(found);
    }
    if count > MANY_TOKENS {
        return Err(Unreadable);
    }
    let stack = (4 << 20) + count * STACK_PER_TOKEN;
    thread::scope(|scope| {
        let worker = thread::Builder::new()
            .stack_size(stack)
            .spawn_scoped(scope, || work(found));
        worker
            .map_err(|_| Unreadable)?
            .join()
            .map_err(|_| Unreadable)?
    })
}

impl Found {
    fn verb(&mut self, verb: &str) {
        if !self.verbs.contains(verb) {
            self.verbs.insert(verb.to_owned());
        }
    }

    fn table(&mut self, name: &ObjectName) {
        let mut full = String::new();
        let mut last = "";
        for part in &name.0 {
            let Some(ident) = part.as_ident() else {
                self.hidden_tables = true;
                return;
            };
            if !full.is_empty() {
                full.push('.');
            }
            full.push_str(&ident.value.to_lowercase());
            last = &ident.value;
        }
        if name.0.len() > 1 {
            self.tables.insert(last.to_lowercase());
        }
        self.tables.insert(full);
    }
}

impl Visitor for Found {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        // Selects announce themselves; these two do not.
        match &*query.body {
            SetExpr::Table(table) => {
                self.verb("select");
                let parts = table.schema_name.iter().chain(&table.table_name).cloned();
                self.table(&ObjectName::from(parts.collect::<Vec<_>>()));
            }
            SetExpr::SetOperation { .. } => self.verb("select"),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.verb("select");
        if let Some(into) = &select.into {
            self.verb("create");
            for target in &into.targets {
                match target {
                    Expr::Identifier(name) => self.table(&ObjectName::from(vec![name.clone()])),
                    Expr::CompoundIdentifier(parts) => self.table(&ObjectName::from(parts.clone())),
                    _ => self.hidden_tables = true,
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        self.table(relation);
        ControlFlow::Continue(())
    }

    // Long, because it is one list: what each kind of statement does, each in a line or two.
    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        // The visitor itself reports the relations of these.
        let mut complete = true;
        match statement {
            Statement::Query(query) => {
                if matches!(*query.body, SetExpr::Values(_)) {
                    self.verb("values");
                }
            }
            Statement::Insert(insert) => {
                self.verb("insert");
                if insert.replace_into || insert.or == Some(SqliteOnConflict::Replace) {
                    self.verb("replace");
                }
                if insert.on.is_some() {
                    self.verb("update");
                }
            }
            Statement::Update(_) => self.verb("update"),
            Statement::Delete(delete) => {
                self.verb("delete");
                delete.tables.iter().for_each(|table| self.table(table));
            }
            Statement::Merge(merge) => {
                self.verb("merge");
                for clause in &merge.clauses {
                    match clause.action {
                        MergeAction::Insert(_) => self.verb("insert"),
                        MergeAction::Update { .. } => self.verb("update"),
                        MergeAction::Delete { .. } => self.verb("delete"),
                        _ => {}
                    }
                }
            }
            Statement::Explain { .. } | Statement::ExplainTable { .. } => self.verb("explain"),
            Statement::StartTransaction { statements, .. } => {
                self.verb("begin");
                complete = statements.is_empty();
            }
            Statement::Drop { names, table, .. } => {
                self.verb("drop");
                names.iter().chain(table).for_each(|name| self.table(name));
            }
            Statement::Copy { source, .. } => {
                self.verb("copy");
                if let CopySource::Table { table_name, .. } = source {
                    self.table(table_name);
                }
            }
            Statement::Grant(grant) => {
                self.verb("grant");
                complete = self.granted(grant.objects.as_ref());
            }
            Statement::Revoke(revoke) => {
                self.verb("revoke");
                complete = self.granted(revoke.objects.as_ref());
            }
            Statement::Truncate(_) => self.verb("truncate"),
            Statement::CreateTable(table) => {
                self.verb("create");
                complete =
                    table.clone.is_none() && table.like.is_none() && table.inherits.is_none();
            }
            Statement::CreateView(_) | Statement::CreateIndex(_) => self.verb("create"),
            Statement::AlterTable(_) | Statement::AlterView(_) => self.verb("alter"),
            Statement::Set(_) => self.verb("set"),
            Statement::Commit { .. } => self.verb("commit"),
            Statement::Rollback { .. } => self.verb("rollback"),
            Statement::Savepoint { .. } => self.verb("savepoint"),
            Statement::ReleaseSavepoint { .. } => self.verb("release"),
            other => {
                complete = matches!(
                    other,
                    Statement::Prepare { .. } | Statement::ShowTables { .. }
                );
                let text = other.to_string().to_lowercase();
                let word = text
                    .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .next()
                    .unwrap_or("");
                self.verb(word);
            }
        }
        self.hidden_tables |= !complete;
        ControlFlow::Continue(())
    }
}

impl Found {
    /// Notes the tables of a grant; `false` if it is about something else.
    fn granted(&mut self, objects: Option<&GrantObjects>) -> bool {
        let Some(GrantObjects::Tables(names)) = objects else {
            return false;
        };
        names.iter().for_each(|name| self.table(name));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Dialect::*;

    fn verbs_of(query: &str, dialect: Dialect) -> Result<String, Unreadable> {
        let mut all = Vec::new();
        verbs(query, dialect, &mut |verb| all.push(verb.to_owned()))?;
        Ok(all.join(" "))
    }

    fn tables_of(query: &str, dialect: Dialect) -> Result<String, Unreadable> {
        let mut all = Vec::new();
        tables(query, dialect, &mut |table| all.push(table.to_owned()))?;
        Ok(all.join(" "))
    }

    #[test]
    fn every_statement_is_seen() {
        for (query, expected) in [
            ("SELECT 1", "select"),
            ("select * from t for update", "select"),
            ("(select 1) union select 2", "select"),
            ("values (1)", "values"),
            ("insert into t values (1)", "insert"),
            ("insert into t select * from u", "insert select"),
            ("update t set a = 1", "update"),
            ("delete from t", "delete"),
            ("delete from t where id in (select 1)", "delete select"),
            ("create table t (a int)", "create"),
            ("create table t as select 1", "create select"),
            ("alter table t add column b int", "alter"),
            ("drop table t", "drop"),
            ("truncate table t", "truncate"),
            ("grant select on t to bob", "grant"),
            ("revoke select on t from bob", "revoke"),
            ("set a = 1", "set"),
            ("begin", "begin"),
            ("start transaction", "begin"),
            ("commit", "commit"),
            ("rollback", "rollback"),
            ("select 1; drop table t; -- done", "drop select"),
            ("call p(1)", "call"),
            ("explain analyze delete from t", "delete explain"),
            ("explain select 1", "explain select"),
            ("select * into t2 from t", "create select"),
            ("drop /* x */ table t", "drop"),
        ] {
            assert_eq!(
                verbs_of(query, Generic).as_deref(),
                Ok(expected),
                "{query:?}"
            );
        }
        for (query, expected) in [
            (
                "with d as (delete from t returning *) select * from d",
                "delete select",
            ),
            (
                "with d as (select 1) insert into t select * from d",
                "insert select",
            ),
            (
                "with d as (select 1) delete from t using d",
                "delete select",
            ),
            ("copy t from stdin", "copy"),
            ("copy (select 1) to stdout", "copy select"),
            (
                "insert into t values (1) on conflict (a) do update set a = 2",
                "insert update",
            ),
            (
                "merge into t using u on t.a = u.a when matched then delete when not matched then insert values (1)",
                "delete insert merge",
            ),
            ("prepare p as delete from t", "delete prepare"),
            ("select '$$; drop table t; $$'", "select"),
        ] {
            assert_eq!(
                verbs_of(query, Postgres).as_deref(),
                Ok(expected),
                "{query:?}"
            );
        }
        assert_eq!(
            verbs_of("replace into t values (1)", Mysql).as_deref(),
            Ok("insert replace")
        );
        assert_eq!(
            verbs_of("insert or replace into t values (1)", Sqlite).as_deref(),
            Ok("insert replace")
        );
        assert_eq!(
            verbs_of("pragma writable_schema = 1", Sqlite).as_deref(),
            Ok("pragma")
        );
    }

    #[test]
    fn an_unknown_dialect_counts_every_reading() {
        // In MySQL the back-slash keeps the string open; elsewhere it does not.
        let query = "select '\\'; drop table t; --'";
        assert_eq!(verbs_of(query, Postgres).as_deref(), Ok("drop select"));
        assert_eq!(verbs_of(query, Mysql).as_deref(), Ok("select"));
        assert!(verbs_of(query, Generic).is_ok_and(|verbs| verbs.contains("drop")));
        let query = "select 'a\\' ; '; drop table t; -- '";
        assert!(
            verbs_of(query, Generic).is_ok_and(|verbs| verbs.contains("drop"))
                || verbs_of(query, Generic).is_err()
        );
    }

    #[test]
    fn what_cannot_be_read_is_said_so() {
        for query in [
            "",
            ";",
            "-- nothing",
            "hello world",
            "select 1 drop table t",
            "/*!50000 drop table t */",
            "select 1 /*! ; drop table t */",
            "select '/*! */'",
            "select /*M! 1 */",
            "\\! rm -rf /",
            "select 'open",
        ] {
            assert_eq!(verbs_of(query, Generic), Err(Unreadable), "{query:?}");
            assert_eq!(verbs_of(query, Mysql), Err(Unreadable), "{query:?}");
        }
        assert_eq!(verbs_of(&" ".repeat(LONGEST + 1), Generic), Err(Unreadable));
    }

    #[test]
    fn tables_are_named_with_and_without_schema() {
        for (query, expected) in [
            (
                "select * from Users u join app.Orders o on true",
                "app.orders orders users",
            ),
            ("delete from a where id in (select id from b)", "a b"),
            ("insert into a select * from (select * from b) x", "a b"),
            ("update a set x = (select max(y) from c)", "a c"),
            ("drop table a, s.b", "a b s.b"),
            ("truncate table a", "a"),
            ("create table a as select * from b", "a b"),
            ("alter table a add column c int", "a"),
            ("grant select on a to bob", "a"),
            ("explain analyze delete from a", "a"),
            ("select * into a from b", "a b"),
            ("select 1", ""),
            ("create view v as select * from a", "a v"),
            ("create index i on a (b)", "a"),
            ("begin", ""),
        ] {
            assert_eq!(
                tables_of(query, Generic).as_deref(),
                Ok(expected),
                "{query:?}"
            );
        }
        assert_eq!(tables_of("copy a from stdin", Postgres).as_deref(), Ok("a"));
        assert_eq!(
            tables_of("delete a from a join b on true", Mysql).as_deref(),
            Ok("a b")
        );
        assert_eq!(tables_of("call p(1)", Generic), Err(Unreadable));
        assert_eq!(
            tables_of("create table a (like b)", Postgres),
            Err(Unreadable)
        );
    }

    #[test]
    fn depth_cannot_overflow_the_stack() {
        let deep = [
            format!("select {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
            format!("select {}1", "(".repeat(1_000)),
            format!("select {}1", "- ".repeat(50_000)),
            format!("select {}1", "not ".repeat(40_000)),
            format!("select 1{}", "+1".repeat(25_000)),
            format!("select 1{}", " union select 1".repeat(15_000)),
            format!("select a{}", "[1]".repeat(15_000)),
            format!("select a{}", "::int".repeat(15_000)),
            format!("select {}1", "case when ".repeat(20_000)),
            format!("select * from {}t", "(".repeat(30_000)),
            "explain ".repeat(50_000) + "select 1",
            format!("select * from t{}", " join t on true".repeat(10_000)),
            format!("select 1{}", "+1".repeat(60)),
            format!("select 1{}", "; select 1".repeat(10_000)),
        ];
        let worker = thread::Builder::new().stack_size(256 << 10).spawn(move || {
            for query in deep {
                for dialect in [Postgres, Mysql] {
                    let _ = verbs_of(&query, dialect);
                }
            }
        });
        worker.unwrap().join().unwrap();
    }

    #[test]
    fn dialects_keep_their_bytes() {
        for byte in 0..4 {
            assert_eq!(Dialect::from_byte(byte).map(Dialect::as_byte), Some(byte));
        }
        assert_eq!(Dialect::from_byte(4), None);
    }
}
