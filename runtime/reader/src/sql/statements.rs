//! The statements of a query by their words, and those that nobody can read: what runs
//! text or programs, what changes how later text is cut up, and what names things in
//! ways that a parser may take for others. Lists of what is known, rather than of what
//! is feared: a statement that no list names has no view.

use super::functions;
use super::lexemes::{Kind, Lexeme};
use super::{Dialect, Unreadable};

/// The first words of statements whose effect is in their text. Not here, among others:
/// [`UNREAD_VERBS`].
pub const VERBS: &[&str] = &[
    "alter",
    "analyze",
    "attach",
    "begin",
    "comment",
    "commit",
    "copy",
    "create",
    "delete",
    "desc",
    "describe",
    "detach",
    "discard",
    "drop",
    "end",
    "explain",
    "grant",
    "insert",
    "listen",
    "lock",
    "merge",
    "notify",
    "optimize",
    "pragma",
    "refresh",
    "reindex",
    "release",
    "rename",
    "replace",
    "reset",
    "revoke",
    "rollback",
    "savepoint",
    "select",
    "set",
    "show",
    "start",
    "table",
    "truncate",
    "unlisten",
    "unlock",
    "update",
    "use",
    "vacuum",
    "values",
    "with",
];

/// The first words of known statements whose effect is not in their text: a query with one
/// has no view. For messages only: what is in neither list has none either.
pub const UNREAD_VERBS: &[&str] = &[
    "abort",
    "backup",
    "binlog",
    "bulk",
    "call",
    "change",
    "checkpoint",
    "close",
    "cluster",
    "dbcc",
    "deallocate",
    "declare",
    "delimiter",
    "deny",
    "do",
    "exec",
    "execute",
    "export",
    "fetch",
    "flush",
    "handler",
    "help",
    "import",
    "install",
    "kill",
    "load",
    "move",
    "prepare",
    "print",
    "purge",
    "reassign",
    "repair",
    "restore",
    "security",
    "shutdown",
    "stop",
    "uninstall",
    "upsert",
    "waitfor",
    "xa",
];

/// What may be created: nothing that holds a program or runs one later.
const CREATED: &[&str] = &[
    "database",
    "domain",
    "group",
    "index",
    "role",
    "schema",
    "sequence",
    "statistics",
    "table",
    "tablespace",
    "type",
    "user",
    "view",
    "virtual",
];

/// Words between `create` and what is created.
const BEFORE_CREATED: &[&str] = &[
    "fulltext",
    "global",
    "local",
    "materialized",
    "or",
    "recursive",
    "replace",
    "spatial",
    "temp",
    "temporary",
    "unique",
    "unlogged",
];

/// What may be altered: no settings, no programs.
const ALTERED: &[&str] = &[
    "domain",
    "index",
    "materialized",
    "schema",
    "sequence",
    "table",
    "type",
    "view",
];

/// Settings that change nothing about how text is read.
const SETTINGS: &[&str] = &[
    "application_name",
    "autocommit",
    "bytea_output",
    "client_min_messages",
    "constraints",
    "datestyle",
    "default_statistics_target",
    "default_transaction_isolation",
    "default_transaction_read_only",
    "effective_cache_size",
    "effective_io_concurrency",
    "extra_float_digits",
    "foreign_key_checks",
    "geqo",
    "group_concat_max_len",
    "idle_in_transaction_session_timeout",
    "innodb_lock_wait_timeout",
    "intervalstyle",
    "jit",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
    "lock_timeout",
    "lock_wait_timeout",
    "maintenance_work_mem",
    "max_execution_time",
    "max_parallel_workers",
    "max_parallel_workers_per_gather",
    "max_statement_time",
    "net_read_timeout",
    "net_write_timeout",
    "optimizer_switch",
    "random_page_cost",
    "role",
    "row_security",
    "schema",
    "search_path",
    "seq_page_cost",
    "sql_big_selects",
    "sql_safe_updates",
    "sql_select_limit",
    "statement_timeout",
    "synchronous_commit",
    "temp_buffers",
    "time",
    "time_zone",
    "timezone",
    "transaction",
    "transaction_isolation",
    "transaction_read_only",
    "tx_isolation",
    "unique_checks",
    "wait_timeout",
    "work_mem",
];

/// Settings that change how later text is cut up or what later names mean, under any
/// statement and in any quotes.
const LEXING: &[&str] = &[
    "standard_conforming_strings",
    "backslash_quote",
    "escape_string_warning",
    "sql_mode",
    "client_encoding",
    "quoted_identifier",
    "writable_schema",
    "trusted_schema",
    "character_set_client",
    "character_set_connection",
    "character_set_results",
    "character_set_system",
    "collation_connection",
    "init_connect",
    "session_preload_libraries",
    "local_preload_libraries",
    "shared_preload_libraries",
    "dynamic_library_path",
];

/// Pragmas that report, or tune what no text is read by.
const PRAGMAS: &[&str] = &[
    "application_id",
    "auto_vacuum",
    "automatic_index",
    "busy_timeout",
    "cache_size",
    "collation_list",
    "compile_options",
    "data_version",
    "database_list",
    "defer_foreign_keys",
    "foreign_key_check",
    "foreign_key_list",
    "foreign_keys",
    "freelist_count",
    "function_list",
    "incremental_vacuum",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "journal_mode",
    "journal_size_limit",
    "max_page_count",
    "mmap_size",
    "module_list",
    "optimize",
    "page_count",
    "page_size",
    "pragma_list",
    "query_only",
    "quick_check",
    "read_uncommitted",
    "recursive_triggers",
    "synchronous",
    "table_info",
    "table_list",
    "table_xinfo",
    "temp_store",
    "threads",
    "user_version",
    "wal_autocheckpoint",
    "wal_checkpoint",
];

/// Words that stand between a verb and a name, or before a name, in one dialect, and that
/// another's grammar takes for the name itself: `update low_priority t`, `from only t`.
const MODIFIERS: &[&str] = &[
    "delayed",
    "dumpfile",
    "high_priority",
    "ignore",
    "infile",
    "lateral",
    "low_priority",
    "only",
    "outfile",
    "quick",
    "sql_big_result",
    "sql_buffer_result",
    "sql_small_result",
];

/// Words that MySQL and MariaDB know between `select` and what is selected. To others they
/// are columns, and what follows is an operand or an alias: `select high_priority * from t`.
const SELECT_MODIFIERS: &[&str] = &[
    "distinctrow",
    "high_priority",
    "sql_big_result",
    "sql_buffer_result",
    "sql_cache",
    "sql_calc_found_rows",
    "sql_no_cache",
    "sql_small_result",
    "straight_join",
];

/// Refuses a query with a statement that cannot be read. Hands back how many statements
/// there are.
pub(super) fn readable(all: &[Lexeme<'_>], dialect: Dialect) -> Result<usize, Unreadable> {
    if all
        .iter()
        .any(|lexeme| lexeme.is_name() && listed(LEXING, lexeme.text))
    {
        return Err(Unreadable);
    }
    if functions::any_runs_text(all) {
        return Err(Unreadable);
    }
    let mut count = 0;
    for statement in all.split(|lexeme| lexeme.is_sign(b';')) {
        if !statement.is_empty() {
            one(statement, dialect)?;
            count += 1;
        }
    }
    Ok(count)
}

fn listed(list: &[&str], word: &str) -> bool {
    list.iter().any(|listed| listed.eq_ignore_ascii_case(word))
}

fn one(statement: &[Lexeme<'_>], dialect: Dialect) -> Result<(), Unreadable> {
    let known = |yes: bool| if yes { Ok(()) } else { Err(Unreadable) };
    let start = statement.iter().position(|lexeme| !lexeme.is_sign(b'('));
    let words = start
        .and_then(|start| statement.get(start..))
        .unwrap_or_default();
    let (Some(verb), rest) = (words.first(), words.get(1..).unwrap_or_default()) else {
        return Err(Unreadable);
    };
    known(verb.kind == Kind::Word && listed(VERBS, verb.text))?;
    modifiers(statement)?;
    if dialect == Dialect::Generic {
        select_modifiers(statement)?;
    }
    let next = |skipped: &[&str]| {
        let word = rest
            .iter()
            .find(|lexeme| !lexeme.is_name() || !listed(skipped, lexeme.text));
        word.filter(|lexeme| lexeme.kind == Kind::Word)
            .map(|lexeme| lexeme.text)
    };
    match verb.text.to_ascii_lowercase().as_str() {
        "create" => {
            known(next(BEFORE_CREATED).is_some_and(|what| listed(CREATED, what)))?;
            known(!borrows(rest))
        }
        "alter" => {
            known(next(&[]).is_some_and(|what| listed(ALTERED, what)))?;
            known(!borrows(rest))
        }
        "pragma" => known(pragma(rest)),
        "set" => known(settings(rest)),
        // For MySQL it may be `reset master`.
        "reset" => known(dialect == Dialect::Postgres),
        // Programs and files of the server's machine.
        "copy" => known(rest.windows(2).all(|pair| match pair {
            [one, other] => {
                let direction = one.is("to") || one.is("from");
                !direction || !(other.kind == Kind::Text || other.is("program"))
            }
            _ => true,
        })),
        _ => Ok(()),
    }
}

/// Refuses words that one grammar takes for a modifier of the name that follows, and
/// another for the name. `insert ignore` is known to all that run it.
fn modifiers(statement: &[Lexeme<'_>]) -> Result<(), Unreadable> {
    for (before, lexeme) in statement.iter().zip(statement.get(1..).unwrap_or_default()) {
        let leads = [
            "from", "join", "update", "into", "insert", "replace", "delete", "table",
        ]
        .iter()
        .any(|word| before.is(word))
            || before.is_sign(b',')
            || before.is_sign(b'(');
        let lateral = lexeme.is("lateral") || (lexeme.is("ignore") && before.is("insert"));
        if leads && lexeme.kind == Kind::Word && listed(MODIFIERS, lexeme.text) && !lateral {
            return Err(Unreadable);
        }
    }
    Ok(())
}

/// Refuses a query that selects what is a column in one dialect and a modifier in another.
fn select_modifiers(statement: &[Lexeme<'_>]) -> Result<(), Unreadable> {
    let pairs = statement.iter().zip(statement.get(1..).unwrap_or_default());
    for (before, lexeme) in pairs {
        let leads = ["select", "all", "distinct"]
            .iter()
            .any(|word| before.is(word));
        if leads && lexeme.kind == Kind::Word && listed(SELECT_MODIFIERS, lexeme.text) {
            return Err(Unreadable);
        }
    }
    Ok(())
}

/// Whether a table is said to be made of other tables or files: `union = (t)`,
/// `engine = merge`, `inherit t`, `attach partition t`, `partition of t`.
fn borrows(rest: &[Lexeme<'_>]) -> bool {
    const ENGINES: &[&str] = &["aria", "innodb", "memory", "myisam", "rocksdb"];
    let mut engine = false;
    for (index, lexeme) in rest.iter().enumerate() {
        if engine && !lexeme.is_sign(b'=') {
            if !listed(ENGINES, lexeme.text) {
                return true;
            }
            engine = false;
        }
        engine |= lexeme.is("engine")
            && rest
                .get(index + 1)
                .is_some_and(|next| next.is_sign(b'=') || next.kind == Kind::Word);
        let union = lexeme.is("union")
            && rest
                .get(index + 1)
                .is_some_and(|next| next.is_sign(b'=') || next.is_sign(b'('))
            && rest
                .get(index + 2)
                .is_some_and(|next| next.is_name() && !next.is("select"));
        let other = ["inherit", "inherits", "attach", "exchange", "connection"]
            .iter()
            .any(|word| lexeme.is(word))
            || (lexeme.is("partition") && rest.get(index + 1).is_some_and(|next| next.is("of")));
        if union || other {
            return true;
        }
    }
    false
}

fn pragma(rest: &[Lexeme<'_>]) -> bool {
    let name = match rest {
        [_, dot, name, ..] if dot.is_sign(b'.') => Some(name),
        [name, ..] => Some(name),
        [] => None,
    };
    name.is_some_and(|name| listed(PRAGMAS, name.text))
}

/// Whether `set` sets what is known to change no reading: a listed setting, or a variable
/// of the session's own (`@x`).
fn settings(rest: &[Lexeme<'_>]) -> bool {
    let scopes = ["session", "local"];
    let skip = rest
        .iter()
        .take_while(|lexeme| {
            lexeme.is_sign(b'@')
                || lexeme.is_sign(b'.')
                || scopes.iter().any(|word| lexeme.is(word))
        })
        .count();
    let own = |name: usize| {
        let at = |back: usize| name.checked_sub(back).and_then(|at| rest.get(at));
        at(1).is_some_and(|one| one.is_sign(b'@')) && !at(2).is_some_and(|one| one.is_sign(b'@'))
    };
    let known = |name: usize| {
        rest.get(name).is_some_and(|lexeme| {
            lexeme.is_name()
                && (own(name)
                    || listed(SETTINGS, lexeme.text)
                    || lexeme.text.to_ascii_lowercase().starts_with("enable_")
                    || lexeme.is("characteristics"))
        })
    };
    if !known(skip) {
        return false;
    }
    let mut depth = 0_usize;
    for (index, lexeme) in rest.iter().enumerate() {
        match lexeme.kind {
            Kind::Sign(b'(') => depth += 1,
            Kind::Sign(b')') => depth = depth.saturating_sub(1),
            // Each further assignment: what stands before its `=` or `:=`.
            Kind::Sign(b'=') if depth == 0 => {
                let colon = index.checked_sub(1).and_then(|at| rest.get(at));
                let back = if colon.is_some_and(|one| one.is_sign(b':')) {
                    2
                } else {
                    1
                };
                if !index.checked_sub(back).is_some_and(known) {
                    return false;
                }
            }
            _ => {}
        }
    }
    true
}
