//! Functions that run text, read other tables or files by name, or change settings: a
//! query that calls one does more than it shows. After the documents of PostgreSQL 9.27,
//! 9.15.3 and its `contrib` modules, of SQLite's shell and extensions, of MariaDB and of
//! SQL Server.

use super::lexemes::{Kind, Lexeme};

/// By name. `*` at the end stands for any rest.
const RUN_TEXT: &[&str] = &[
    // PostgreSQL: queries as text, tables by name, files, settings.
    "connectby",
    "crosstab*",
    "currtid",
    "currtid2",
    "cursor_to_xml*",
    "database_to_xml*",
    "dblink*",
    "get_raw_page",
    "lo_export",
    "lo_get",
    "lo_import",
    "loread",
    "pg_background_*",
    "pg_execute_*",
    "pg_file_*",
    "pg_get_wal_*",
    "pg_logical_*",
    "pg_ls_*",
    "pg_read_binary_file",
    "pg_read_file",
    "pg_stat_file",
    "pg_read_server_files",
    "plv8_*",
    "query_to_xml*",
    "schema_to_xml*",
    "set_config",
    "table_to_xml*",
    "ts_rewrite",
    "ts_stat",
    "xpath_table",
    // SQLite: extensions and the shell's files.
    "fsdir",
    "fts3_tokenizer",
    "load_extension",
    "lsdir",
    "readfile",
    "sqlite_dbdata",
    "sqlite_dbpage",
    "writefile",
    "zipfile",
    // MySQL and MariaDB, with the usual libraries.
    "load_file",
    "sys_eval",
    "sys_exec",
    "sys_get",
    "sys_set",
    // SQL Server and Oracle: no dialect of ours, but somebody's server.
    "dbms_*",
    "opendatasource",
    "openquery",
    "openrowset",
    "sp_*",
    "utl_*",
    "xp_*",
];

/// As [`RUN_TEXT`], where the name alone is a word that columns have: only before `(`.
const RUN_TEXT_WHERE_CALLED: &[&str] = &["edit", "eval", "exec", "shell", "system"];

/// Schemas of extensions that run what they are given, now or later.
const RUNNING_SCHEMAS: &[&str] = &["cron", "plv8"];

/// Tables that show what stands in other tables.
const MIRRORS: &[&str] = &[
    "pg_stats",
    "pg_stats_ext",
    "pg_stats_ext_exprs",
    "pg_statistic",
    "pg_statistic_ext_data",
    "pg_largeobject",
    "sqlite_dbpage",
    "sqlite_stat3",
    "sqlite_stat4",
    "sqlite_dbdata",
    "column_stats",
    "column_statistics",
    "innodb_buffer_page",
];

/// Whether the table shows what stands in others.
pub(super) fn is_mirror(table: &str) -> bool {
    MIRRORS.contains(&table) || table.starts_with("pg_toast")
}

/// Whether a function is named that runs text. It is enough that the name stands there:
/// PostgreSQL calls `f` for `(x).f` as well.
pub(super) fn any_runs_text(all: &[Lexeme<'_>]) -> bool {
    all.iter().enumerate().any(|(index, lexeme)| {
        if !lexeme.is_name() {
            return false;
        }
        let name = lexeme.text.to_ascii_lowercase();
        let next = all.get(index + 1).map(|next| next.kind);
        matches(RUN_TEXT, &name)
            || (next == Some(Kind::Sign(b'(')) && matches(RUN_TEXT_WHERE_CALLED, &name))
            || (next == Some(Kind::Sign(b'.')) && matches(RUNNING_SCHEMAS, &name))
    })
}

fn matches(list: &[&str], name: &str) -> bool {
    list.iter().any(|listed| match listed.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *listed,
    })
}
