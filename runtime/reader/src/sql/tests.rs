//! What has a view, and what it is.

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
        ("set work_mem = 1", "set"),
        ("begin", "begin"),
        ("start transaction", "begin"),
        ("commit", "commit"),
        ("rollback", "rollback"),
        ("select 1; drop table t; -- done", "drop select"),
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
        verbs_of("pragma foreign_key_list('t')", Sqlite).as_deref(),
        Ok("pragma")
    );
    assert_eq!(verbs_of("reset master", Mysql), Err(Unreadable));
}

#[test]
fn what_servers_cut_up_differently_has_no_view() {
    for query in [
        // In MySQL the back-slash keeps the string open; elsewhere it does not.
        "select '\\'; drop table t; --'",
        "select 'a\\' ; '; drop table t; -- '",
        "select x'\\'",
        "select n'a'",
        "select e'a'",
        "select _utf8'a'",
        "select u&'a'",
        "select 'a' 'b'",
        "select 'a'\n'b'",
        "select 1 --1",
        "select 1 --\u{a0}1",
        "select 1 -/* '*/ 2",
        "select 1 =-- 2\n1",
        "select 1 /* /* */ + 2 -- */",
        "select 1 /*/ 2 */",
        "select 1 */ 2",
        "select 1 /*+ set_var(sql_mode='') */",
        "select 1 /* open",
        "select 1 # 2",
        "select 1 -- a\rb",
        "select $$a$$",
        "select $a$ ; $a$",
        "select \u{a0}1",
        "select größe",
        "select 1\u{b}+ 1",
        "select 'a\0b'",
        "select \\N",
        "select {d '2024-01-01'}",
        "select @'a'",
        "select a[']' || 'b']",
        "select 1a",
        "select t.1",
        "select `a-b`",
        "select \"İ\" from t",
        "select :a(b)",
        "select [a",
        // To MySQL `.t` is a table of the current database.
        "select high_priority * from .t",
        "select * from .t",
        "select * from a join .t",
        "select * from a, .t",
        "select * from (.t)",
        "select * from /**/.t",
        "select a from\n.t",
        "select a . b from c",
        "select 1 in .t",
        "delete from .t",
        "update .t set a = 1",
        "insert into .t values (1)",
        "truncate .t",
        "select *.t",
    ] {
        assert_eq!(verbs_of(query, Generic), Err(Unreadable), "{query:?}");
    }
    let long = "a".repeat(64);
    for query in [
        format!("select * from {long}"),
        format!("select * from \"{long}\""),
    ] {
        for dialect in [Generic, Postgres] {
            assert_eq!(verbs_of(&query, dialect), Err(Unreadable), "{query:?}");
        }
        assert!(verbs_of(&query, Sqlite).is_ok(), "{query:?}");
    }
}

#[test]
fn a_named_dialect_has_its_own_lexemes() {
    for (query, dialect) in [
        ("select 1 --1", Postgres),
        ("select 1 --1", Sqlite),
        ("select 1 # 2", Mysql),
        ("select '\\' || 'b'", Sqlite),
        ("select a from t where b ~ '^\\d+$'", Postgres),
        ("select e'a\\n'", Postgres),
        ("select n'a'", Mysql),
        ("select [a b] from [t u]", Sqlite),
        ("select `a-b`", Mysql),
        ("select a[1] from t", Postgres),
        ("select a #> '{b}' from t", Postgres),
    ] {
        assert!(verbs_of(query, dialect).is_ok(), "{dialect:?} {query:?}");
    }
    for (query, dialect) in [
        ("select 1 --1", Mysql),
        ("select 1# 2", Mysql),
        ("select e'a\\'; drop table t; --'", Postgres),
        ("select '\\'; drop table t; --'", Mysql),
        ("select \"\\\"; drop table t; --\"", Mysql),
        ("select \"a\" 'b'", Mysql),
        ("select 1 --\u{a0}2", Mysql),
        ("select 1 +-- 2\n", Postgres),
        ("select $$ a $$", Postgres),
        ("select `a`", Postgres),
        ("select $a(b)", Sqlite),
        ("select $a::b(c)", Sqlite),
        ("select 1 /* a", Sqlite),
    ] {
        assert_eq!(
            verbs_of(query, dialect),
            Err(Unreadable),
            "{dialect:?} {query:?}"
        );
    }
}

#[test]
fn what_runs_text_or_changes_readings_has_no_view() {
    for query in [
        "execute immediate 'drop table t'",
        "prepare p from 'drop table t'",
        "prepare p as delete from t",
        "execute p",
        "explain execute p",
        "do sleep(1)",
        "call p(1)",
        "create function f() returns int return 1",
        "create or replace procedure p() select 1",
        "create trigger a after insert on t for each row delete from u",
        "create event e on schedule every 1 hour do delete from t",
        "create extension dblink",
        "delimiter //",
        "handler t open",
        "load data infile 'a' into table t",
        "select * from t into outfile 'a'",
        "select 'a' into dumpfile 'b'",
        "set standard_conforming_strings = off",
        "set \"standard_conforming_strings\" = off",
        "set sql_mode = 'ANSI_QUOTES'",
        "set @@session.sql_mode = ''",
        "set @a = 1, sql_mode = ''",
        "set @a = 1, @@sql_mode = ''",
        "set names gbk",
        "set character set gbk",
        "set client_encoding to sjis",
        "set quoted_identifier off",
        "set global general_log_file = 'a'",
        "set statement sql_mode = '' for select 1",
        "alter role a set standard_conforming_strings = off",
        "alter system set work_mem = 1",
        "pragma writable_schema = 1",
        "pragma main.writable_schema = 1",
        "update sqlite_master set sql = 'a'",
        "update pg_settings set setting = 'off' where name = 'a'",
        "insert into mysql.event select * from a",
        "select set_config('standard_conforming_strings', 'off', false)",
        "select query_to_xml('select 1', true, true, '')",
        "select pg_catalog.query_to_xml('select 1', true, true, '')",
        "select \"query_to_xml\"('select 1', true, true, '')",
        "select lo_export(1, 'a')",
        "select load_extension('a')",
        "select load_file('a')",
        "select writefile('a', 'b')",
        "select cron.schedule('a', 'b')",
        "copy t to program 'sh'",
        "copy t from '/etc/passwd'",
        "create table t (a int) engine = merge union = (u)",
        "create table t (a int) engine = federated connection = 'a'",
        "alter table t inherit u",
        "update low_priority t set a = 1",
        "update only t set a = 1",
        "select * from only t",
        "select * from a, only t",
        "select 1; garbage",
        "select 1; drop table t; garbage",
    ] {
        for dialect in [Generic, Postgres, Sqlite, Mysql] {
            assert_eq!(
                verbs_of(query, dialect),
                Err(Unreadable),
                "{dialect:?} {query:?}"
            );
            assert_eq!(
                tables_of(query, dialect),
                Err(Unreadable),
                "{dialect:?} {query:?}"
            );
        }
    }
}

#[test]
fn words_between_select_and_what_is_selected_have_no_view_without_a_dialect() {
    for word in [
        "distinctrow",
        "high_priority",
        "sql_big_result",
        "sql_buffer_result",
        "sql_cache",
        "SQL_CALC_FOUND_ROWS",
        "sql_no_cache",
        "sql_small_result",
        "straight_join",
    ] {
        for query in [
            format!("select {word} * from t"),
            format!("select {word} a from t"),
            format!("select {word} -a from t"),
            format!("select distinct {word} a from t"),
            format!("select all {word} a from t"),
            format!("select 1 union select {word} a from t"),
            format!("select * from a where b in (select {word} (c) from t)"),
        ] {
            assert_eq!(tables_of(&query, Generic), Err(Unreadable), "{query:?}");
            if let Ok(tables) = tables_of(&query, Mysql) {
                assert!(tables.ends_with('t'), "{query:?} {tables}");
            }
        }
        // As a name that nothing can take for a modifier it stays one.
        let query = format!("select a.{word} from t as a");
        assert!(tables_of(&query, Generic).is_ok(), "{query:?}");
    }
}

#[test]
fn the_tables_of_some_statements_are_not_all_known() {
    for (query, dialect) in [
        ("drop schema s cascade", Postgres),
        ("drop table t cascade", Postgres),
        ("truncate t cascade", Postgres),
        ("create table t (like u)", Postgres),
        ("create table t like u", Mysql),
        ("drop index i", Generic),
        ("select * from pg_stats", Postgres),
        ("vacuum", Sqlite),
        ("show create table t", Mysql),
    ] {
        assert!(verbs_of(query, dialect).is_ok(), "{query:?}");
        assert_eq!(tables_of(query, dialect), Err(Unreadable), "{query:?}");
    }
}

#[test]
fn functions_are_named_with_and_without_schema() {
    for (query, expected) in [
        ("select 1", ""),
        ("select Count(*), max(a) from t", "count max"),
        ("select app.f(g(1))", "app.f f g"),
        (
            "select * from f(1) x where a in (select h(b) from t)",
            "f h",
        ),
        (
            "select cast(a as int), extract(year from b) from t",
            "cast extract",
        ),
        ("insert into t values (now())", "now"),
        ("select sum(a) over (order by lower(b)) from t", "lower sum"),
    ] {
        let mut all = Vec::new();
        let mut each = |function: &str| all.push(function.to_owned());
        assert_eq!(functions(query, Generic, &mut each), Ok(()), "{query:?}");
        assert_eq!(all.join(" "), expected, "{query:?}");
    }
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
        format!("select 1{}", " union select 1".repeat(6_000)),
        format!("select a{}", "[1]".repeat(15_000)),
        format!("select a{}", "::int".repeat(15_000)),
        format!("select {}1", "case when ".repeat(20_000)),
        format!("select * from {}t", "(".repeat(30_000)),
        "explain ".repeat(50_000) + "select 1",
        format!("select * from t{}", " join t on true".repeat(4_000)),
        format!("select 1{}", "+1".repeat(60)),
        format!("select 1{}", "; select 1".repeat(3_000)),
    ];
    let worker = thread::Builder::new().stack_size(256 << 10).spawn(move || {
        for query in deep {
            for dialect in [Generic, Postgres, Sqlite, Mysql] {
                let _ = verbs_of(&query, dialect);
            }
        }
    });
    worker.unwrap().join().unwrap();
}
