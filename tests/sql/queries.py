"""Queries around a canary, made to be read in two ways.

The pieces are from the servers' own documents: PostgreSQL 4.1 (lexical structure) and its
`scan.l`, SQLite's `tokenize.c` and `lang_*`, MySQL 9.1 to 9.7 and MariaDB's documentation
of comments, literals, `sql_mode` and dynamic SQL. A query hides a use of the canary behind a seam: for
one reader the use stands inside a comment, a literal or a name, for another outside of it.
"""

SPACES = [" ", " ", " ", "\t", "\n", "\r", "\r\n", "\f", "\v", "\u00a0", "\u2003", "\u3000", "\ufeff", "\u200b", "\u0085", "\x01", "\x1f", "\x7f", "", "/**/", "/* */"]
OPERATORS = ["+", "-", "*", "/", "%", "^", "&", "|", "||", "<", ">", "=", "<>", "!=", "<=", ">=", "~", "!", "@", "#", "?", "->", "->>", "#>", "@>", "<@", "::", ":", ":=", "<=>", "<<", ">>", "&&", "@@", "!~", "~*", "`", "=-", "@-", "|/", "--", "#-", "\\"]
LINE = ["--", "-- ", "--\t", "--\n", "--\r", "--\u00a0", "--\x01", "--\f", "--+", "#", "# ", "#-", "//", "-- \\", "--/*", "---", "-- -", "--;", "--\u2003", "--\v"]
BLOCK_OPEN = ["/*", "/* ", "/*!", "/*!50000 ", "/*!99999 ", "/*M!", "/*M!100000 ", "/*+", "/*/", "/**", "/* /*", "/*\n", "/*--", "/*'", "/* \\", "/*;"]
BLOCK_CLOSE = ["*/", " */", "*/ */", "**/", "*//*", "/*/", "", "*/*/", "\n*/", "*\\/", "* /"]
PREFIXES = ["", "", "", "e", "E", "x", "X", "b", "B", "n", "N", "u&", "U&", "_utf8", "_utf8mb4 ", "_latin1", "_binary", "q", "r", "R", "$", "@", "date ", "timestamp ", "interval ", "bytea ", "rb", "z", "_gbk", "_sjis"]
QUOTES = ["'", "'", "'", '"', "`", "$$", "$a$", "[", "''", '""', "'''", "\\'", "\u2019", "$_$", "``", "]"]
INNER = ["", "a", "\\", "\\\\", "\\\\\\", "''", '""', '\\"', "\\'", "'\n'", "' '", "--", "/*", "*/", ";", "$$", "$", "%", "é", "\u00a0", "]", "[", "`", "``", "0F", "01", "\\0", "\\x27", "\\u0027", "\\0027", "' /**/ '", "'\n--\n'", "{", "\x00", "\\\n", "北'", "\x1a"]
NAMES = ["canary", "CANARY", "Canary", '"canary"', "`canary`", "[canary]", "'canary'", "public.canary", "main.canary", "d.canary", "canary *", "only canary", "only (canary)", "(canary)", "((canary))", "public . canary", '"public"."canary"', ".canary", "d . canary", "`d`.`canary`", "cаnary", "canary\u200b", '"can""ary"', "U&\"can\\0061ry\"", "u&\"c!0061nary\" uescape '!'", "temp.canary", "canary partition (p0)", "canary c", "lateral canary", "canary tablesample system (100)", "canary indexed by x", "canary not indexed", "canary as of timestamp now()", "canary for system_time all", "canary use index ()", "dual, canary", "t, canary", "t join canary", "t natural join canary", "t straight_join canary", "t cross join canary", "(t, canary)", "{oj t left outer join canary on 1}", "t left join (canary) on true", "low_priority canary"]


# What stands between `select` and what is selected for MySQL and MariaDB, and names without their first part.
MODIFIERS = ["high_priority", "straight_join", "sql_no_cache", "sql_cache", "sql_calc_found_rows", "sql_small_result", "sql_big_result", "sql_buffer_result", "distinctrow", "distinct", "all", "high_priority straight_join", "distinct sql_no_cache", "all high_priority"]
LEADING_DOTS = [".canary", ". canary", "\n.canary", "/**/.canary", ".`canary`", "(.canary)", ".canary c", "t, .canary", "t join .canary", "t straight_join .canary", "(t, .canary)", ".canary.secret", "t natural join .canary"]


class Maker:
    """Makes the calls of one conversation with a server of a dialect."""

    def __init__(self, dialect, random):
        self.dialect = dialect
        self.random = random

    def pick(self, items):
        return self.random.choice(items)

    def chance(self, share):
        return self.random.random() < share

    def space(self):
        return " " if self.chance(0.8) else self.pick(SPACES)

    def spaced(self, text):
        """Puts other spaces in place of some."""
        return "".join(self.space() if char == " " and self.chance(0.2) else char for char in text)

    def canary(self):
        """A name that may be the canary's."""
        return "canary" if self.chance(0.6) else self.pick(NAMES)

    def tail(self):
        """What follows a query `select 1, 'a'` (or a number and a text) and uses the canary."""
        name = self.canary()
        return self.pick([
            f" union all select id, secret from {name}",
            f" union all select id, secret from {name}",
            f" union select 1, secret from {name}",
            f" union all table {name}",
            f"; select * from {name}",
            f"; delete from {name}",
            f"; drop table {name}",
            f"; update {name} set secret = 'x'",
            f"; update {name} set id = 2",
            f"; insert into {name} values (2, 'x')",
            f"; truncate table {name}",
            f"; alter table {name} rename to gone",
            f" where (select count(*) from {name} where 1 / (id - 1) = 0) = 1",
            f" union all select 1, (select max(secret) from {name})",
            f" union all (select id, secret from {name})",
        ])

    def literal(self):
        quote = self.pick(QUOTES)
        close = {"[": "]"}.get(quote, quote)
        return self.pick(PREFIXES) + quote + "".join(self.pick(INNER) for _ in range(self.random.randrange(0, 3))) + close

    def harmless(self):
        """An expression of a row's second column."""
        return self.pick(["'a'", "'it''s'", "b", "'x' || b", "concat('a', b)", "upper(b)", "case when a > 1 then 'c' else 'd' end", "cast(a as char(5))", "coalesce(b, '')", self.literal()])

    def head(self):
        return self.pick([
            "select 1, {}", "select 1, {} from t", "select a, {} from t", "select a, {} from t where b <> 'z'",
            "select a as x, {} from t as y", "with w as (select 1 as a, 'q' as b) select a, {} from w",
            "select 1, {} from (select 1 as a, 'r' as b) z", "values (1, {})",
        ]).format(self.harmless())

    def seam(self):
        """What one reader takes for the start or end of a comment or literal, and another not."""
        kind = self.random.randrange(9)
        operator = self.pick(OPERATORS) if self.chance(0.6) else ""
        if kind == 0:
            return f" {operator}{self.pick(LINE)}{self.pick(['', ' ', '1', 'x', chr(39), chr(34)])}"
        if kind == 1:
            return f" {operator}{self.pick(BLOCK_OPEN)}{self.pick(['', ' ', 'x', chr(39), self.literal()])}{self.pick(BLOCK_CLOSE)}"
        if kind == 2:
            return f" {self.literal()} {self.literal()}"
        if kind == 3:
            return f" {operator} {self.pick(PREFIXES)}{self.pick(QUOTES)}{self.pick(INNER)}{self.pick(INNER)}{self.pick(QUOTES)}"
        if kind == 4:
            return f" {self.pick(BLOCK_OPEN)}{self.pick(INNER)}{self.pick(BLOCK_OPEN)}{self.pick(BLOCK_CLOSE)}"
        if kind == 5:
            return f" as {self.pick(['x', chr(34) + 'x' + chr(34), '`x`', '[x]', chr(39) + 'x' + chr(39)])}{self.pick(SPACES)}"
        if kind == 6:
            return f" {self.pick(['$1', ':a', '@a', '?', '$a', '@@a', ':a(', '$a(', '#a', '@a(', '$a::b('])}{self.pick(INNER)}{self.pick([')', '', ' '])}"
        if kind == 7:
            return f" {operator} {self.pick(['1', '1.', '.5', '1e5', '1e', '0x1F', '0x', '1_0', '1a', '1.a', '0b1', '1e+', '9' * 30])}"
        return f"{self.pick(SPACES)}{operator}{self.pick(SPACES)}"

    def hidden(self):
        """A use of the canary that one reader sees and another takes for a comment or a literal."""
        q = self.pick(["'", "'", "'", '"', "`", "$$", "]"])
        line = self.pick(LINE) if self.chance(0.5) else self.pick(["-- ", "--", "#", "--1"])
        opened = self.pick(BLOCK_OPEN) if self.chance(0.6) else "/*"
        closed = self.pick(BLOCK_CLOSE) if self.chance(0.4) else "*/"
        operator = self.pick(OPERATORS) if self.chance(0.5) else self.pick(["-", "+", "*", "=", "||", "<", ">", "%", ""])
        slash = self.pick(["\\", "\\", "\\\\", "\\\\\\", "a\\", "\\x", "''\\", ""])
        prefix = self.pick(PREFIXES)
        operand = self.pick(["1", "2", "-1", "(1)", "'a'", "a", "null", self.literal()])
        glue = self.pick([" , ", " || ", " = ", " as x, ", " ", "\n", " <> ", ",", " /**/ ", "||"])
        gap = self.pick(SPACES) if self.chance(0.4) else self.pick([" ", "\n", ""])
        use = self.tail()
        end = self.pick([f" {line}{q}", f" {line} {q}", f" -- {q}", f" --{q}", f" # {q}", f" {opened}{q}{closed}", "", f"; {q}", f" {line}"])
        first = self.pick(["select 1, ", "select 1, ", "select a, ", "select 1 as n, ", "values (1, "])
        close = ")" if first.startswith("values") and self.chance(0.8) else ""
        query = self.pick([
            # A comment that begins, or ends, for some only.
            f"{first}{operand} {operator}{line}{gap}{operand}{close}{use}{end}",
            f"{first}{operand}{close}{gap}{line}{gap}{use}{end}",
            f"{first}1 {line}1{close}{use}",
            f"{first}{operand}{close} {line}{self.pick(['', ' x', q])}{self.pick(SPACES)}{use}{end}",
            f"{first}{q}{q} {operator}{opened} {q}{closed} {operand}{close}{use}{end}",
            f"{first}2 {operator}{opened} {q}{closed} {operand}{close}{use}{end}",
            f"{first}2{close} {opened} {self.pick(BLOCK_OPEN)} {closed}{use} -- {closed}",
            f"{first}2{close} {opened}{use}{closed}",
            f"{first}2{close} {opened}{gap}{closed}{use}{self.pick([end, ' -- */', ' /* */', ' */'])}",
            # A literal that goes on for some.
            f"{first}{prefix}{q}{slash}{q}{close}{use}{end}",
            f"{first}{q}{slash}{q}{glue}{prefix}{q}{close}{use}{end}",
            f"{first}{prefix}{q}{slash}{q}{glue}{q}{slash}{q}{close}{use}{end}",
            f"{first}{q}a{q}{gap}{prefix}{q}{slash}{q}{close}{use}{end}",
            f"{first}{prefix}{q}{self.pick(INNER)}{self.pick(INNER)}{q}{close}{use}{end}",
            f"{first}{q}{self.pick(INNER)}{slash}{q}{glue}{q}{close}{use}{end}",
            # Names in quotes that are none for some.
            f"select 1, {q}{self.pick(INNER)}{q} from (select 2 as {q}{self.pick(INNER)}{q}) z{use}{end}",
            f"select 1, $${gap} from (select 3 as $$) z{use} -- $$",
            f"select 1, 2 as {q}x{slash}{q}{use}{end}",
            f"select 1, b from t where {line}{gap}{self.pick(['', '1', 'a'])}{use}",
            f"select 1, b from (select 1 as `\u00a0`, 'k' as b) x where 1 --\u00a0{use}",
            f"select a[{q}]{q}{glue}{q}], b from t{use}{end}",
            # Statements that are run before one that is not understood.
            f"{first}{operand}{close} {operator}{line}{gap}{operand}{use}; garbage",
            f"{first}{operand}{close}{use}; {self.pick(['garbage', q, opened, line, ')', 'select', chr(92)])}",
            f"{first}{self.harmless()}{close}{self.seam()}{use}{self.seam() if self.chance(0.5) else end}",
        ])
        return self.spaced(query) if self.chance(0.3) else query

    def structure(self):
        """A query that names the canary where a grammar may not look."""
        name = self.canary()
        return self.spaced(self.pick([
            f"select * from {name}", f"table {name}", f"select * from t where a in {name}", f"select * from t where a in (table {name})",
            f"select (select secret from {name})", f"with canary2 as (select * from {name}) select * from canary2",
            f"with w as (delete from {name} returning *) select * from w", f"with w as materialized (select * from {name}) select * from w",
            f"select * from t where exists (select 1 from {name} where 1 / (id - 1) = 0)",
            f"select * from t order by (select secret from {name})", f"select b from t limit (select id from {name})",
            f"select max(b) over (order by (select secret from {name})) from t", f"select * from t join lateral (select * from {name}) l on true",
            f"explain analyze select * from {name}", f"explain analyze delete from {name}", f"explain delete from {name}", f"analyze {name}",
            f"update only {name} set id = 3", f"update low_priority {name} set id = 3", f"update ignore {name} set id = 3",
            f"delete quick from {name}", f"delete from only {name}", f"delete low_priority from {name}", f"delete {name} from {name}",
            f"insert low_priority {name} values (3, 'x')", f"insert ignore {name} values (3, 'x')", f"replace delayed {name} values (3, 'x')",
            f"truncate {name}", f"truncate only {name}", f"lock table {name}", f"lock tables {name} write", f"handler {name} open", f"checksum table {name}",
            f"rename table {name} to gone", f"alter table {name} add x int", f"drop table if exists {name}", f"drop table t, {name}", f"drop table {name} cascade",
            "drop schema public cascade", "drop database d", "drop owned by current_user", f"comment on table {name} is 'x'", f"copy {name} to stdout",
            f"create table n as table {name}", f"create table n as select * from {name}", f"select * into n from {name}", f"create view v as select * from {name}",
            f"select * from t, rows from (generate_series(1, 2)) g, {name}", f"select * from json_table('[1]', '$[*]' columns (x int path '$')) j, {name}",
            f"select {name} from {name}", f"select ({name}).secret from {name}", f"select {name}.* from {name}", f"select row_to_json(c) from {name} c",
            f"select * from t union all select * from {name}", f"(select * from t) union all (select * from {name})", f"select * from (table {name}) x",
            f"merge into {name} c using t on true when matched then delete", f"merge into t using {name} c on true when matched then update set b = c.secret",
            f"insert into t select * from {name}", f"insert into t table {name}", f"insert into t values (5, (select secret from {name})) returning *",
            f"update t set b = (select secret from {name})", f"update t, {name} set secret = 'x'", f"delete from t using {name} where true",
            f"select array(select secret from {name})", f"select * from t where b = any (select secret from {name})", f"select * from t where (a, b) in (select * from {name})",
            f"select case when true then (select secret from {name}) end", f"select cast((select secret from {name}) as char(99))", f"values ((select secret from {name}))",
            f"select string_agg(secret, ',') from {name}", f"select group_concat(secret) from {name}", f"select b from t group by b having (select secret from {name}) > ''",
            f"select b from t window w as (order by (select secret from {name}))", f"select distinct on ((select secret from {name})) b from t",
            f"select b from t tablesample system ((select id from {name}))", f"select b from t offset (select id from {name})", f"select sql_no_cache * from {name}",
            f"select straight_join * from {name}", f"select high_priority * from {name}", f"select all secret from {name}", f"show columns from {name}", f"desc {name}", f"describe {name}",
            f"select 1 from t for update of t; select * from {name}", f"begin; select * from {name}; commit", f"begin not atomic select * from {name}; end", f"if 1 then select * from {name}; end if",
            f"select 1 where 1 in (select 1) or (select count(*) from {name}) > 5", f"pragma table_info({name})", f"select * from pragma_table_info('{name}')",
            f"select 1 into @x from {name}; select @x", f"select secret into @x from {name}", f"set @x = (select secret from {name}); select @x", "select @x, @y",
            f"select * from t procedure analyse()", f"select * from t into outfile '/tmp/x'", "select * from sqlite_dbpage", "select * from dbstat", "select * from sqlite_stat1",
            "select * from pg_stats where tablename = 'canary'", "select most_common_vals from pg_stats", "select * from information_schema.column_statistics",
            f"declare c cursor for select * from {name}", "fetch all from c", f"select * from t where b = (select secret from {name} limit 1)", f"select * from t left join {name} using (a)",
            f"with recursive r(n, s) as (select 1, secret from {name} union all select n + 1, s from r where n < 2) select * from r",
            f"select * from t where not exists (table {name})", f"vacuum into '/tmp/x'", f"attach ':memory:' as m; select * from main.{name}", f"select * from t as of {name}",
        ]))

    def modified(self):
        """A query whose words before or around the canary's name are a name for some."""
        name = self.pick(LEADING_DOTS) if self.chance(0.6) else self.canary()
        words = self.pick(MODIFIERS) if self.chance(0.8) else ""
        what = self.pick(["*", "secret", "canary.*", "id, secret", "-id, secret", "(secret)", "'a', secret", "secret as from_", "canary.secret", "max(secret)", ".canary.secret", "* ,1"])
        use = f"select {words} {what} from {name}"
        return self.spaced(self.pick([
            use, use, f"{use} limit 1", f"select 1, 'a' union all select {words} id, secret from {name}", f"select * from ({use}) x", f"select (select {words} max(secret) from {name})",
            f"select * from t where b in (select {words} secret from {name})", f"insert into t select {words} id, secret from {name}", f"with w as ({use}) select * from w",
            f"delete from {name}", f"update {name} set secret = 'x'", f"insert into {name} values (4, 'x')", f"truncate {name}", f"drop table {name}", f"desc {name}", f"explain {use}", f"table {name}",
            f"select {words} {what} from t, {name}", f"select {words} {what} from{name}", f"select t.a from t where exists ({use})",
        ]))

    def indirect(self):
        """A query that runs text, reads files, or calls what does."""
        text = self.pick(["select * from canary", "drop table canary", "delete from canary", "update canary set id = 9"])
        return self.spaced(self.pick([
            f"execute immediate '{text}'", f"prepare p from '{text}'", "execute p", f"prepare p as {text}", f"set @q = '{text}'; prepare p from @q; execute p",
            f"do $$ begin {text}; end $$", f"do 'begin {text}; end'", f"do language plpgsql $x$ begin execute '{text}'; end $x$",
            f"create function f() returns int language sql as '{text}; select 1'", f"create function f() returns text language sql as $$ select secret from canary $$", "select f()", "select * from f()", "call p()",
            f"create procedure p() {text}", f"create procedure p() language sql as '{text}'", f"create or replace procedure p() begin {text}; end", f"create trigger g after insert on t begin {text}; end", "insert into t values (9, 'q')",
            f"create event e on schedule every 1 second do {text}", f"create rule r as on insert to t do also {text}", "select query_to_xml('select * from canary', true, true, '')", "select table_to_xml('canary', true, true, '')",
            "select schema_to_xml('public', true, true, '')", "select database_to_xml(true, true, '')", "select pg_catalog.query_to_xml('select * from canary', true, true, '')", "select \"query_to_xml\"('select * from canary', true, true, '')",
            "select * from ts_stat('select secret::tsvector from canary')", "select ('select secret::tsvector from canary'::text).ts_stat", "select ts_rewrite('a', 'select secret::tsquery, secret::tsquery from canary')",
            "select pg_read_file('PG_VERSION')", "select lo_import('/etc/hostname')", "select load_file('/etc/hostname')", "select load_extension('x')", "select currtid2('canary', '(0,1)')", "select cursor_to_xml('c', 9, true, true, '')",
            f"explain execute p", f"explain analyze execute p", f"create table n as execute p", f"deallocate p; {text}", "select dblink('dbname=postgres', 'select secret from canary')", "create extension dblink", "load data infile '/x' into table canary",
            f"create view v as {text}", "select * from v", "select secret from v", "alter table canary rename to k", "select * from k", "create table l (like canary including all)", "create table l (id int, secret varchar(200)) engine=merge union=(canary)", "select * from l",
            "alter table t inherit canary", "create table i () inherits (canary)", "alter table canary inherit t", "select * from t", "alter schema public rename to s", "select * from s.canary", "create temp table canary2 as select * from canary", "select * from canary2",
            "create virtual table w using fts5(secret, content='canary')", "select * from w", "create synonym y for canary", "select json_populate_record(null::canary, '{}')", "select nextval('canary')", "select pg_relation_size('canary')", "select setval('t', 1)", "select sleep(0)",
            "select * from canary_view", "binlog 'x'", "kill 1", "select sys_exec('x')", "xa start 'x'", "begin; savepoint s", "rollback to s", "commit", "set role none", "use mysql", "use d", "set search_path = pg_catalog, public",
        ]))

    def setting(self):
        """A call that changes how the next one is read."""
        name = self.pick(["standard_conforming_strings", "backslash_quote", "sql_mode", "client_encoding", "names", "character_set_client", "writable_schema", "escape_string_warning", "quoted_identifier"])
        value = self.pick(["off", "'off'", "on", "''", "'ANSI_QUOTES'", "'NO_BACKSLASH_ESCAPES'", "'ORACLE'", "'MSSQL'", "gbk", "'sjis'", "1", "default", "(select 'ANSI_QUOTES')"])
        return self.spaced(self.pick([
            f"set {name} = {value}", f"set {name} to {value}", f"set session {name} = {value}", f"set local {name} to {value}", f"set @@{name} = {value}", f"set @@session.{name} = {value}", f"set @a = 1, {name} = {value}",
            f"set @a := 1, @@{name} := {value}", f"set \"{name}\" = {value}", f"set `{name}` = {value}", f"set names {value}", f"set character set {value}", f"select set_config('{name}', 'off', false)",
            f"select set_config('standard_' || 'conforming_strings', 'off', false)", f"select pg_catalog.set_config('{name}', 'off', false)", f"update pg_settings set setting = 'off' where name = '{name}'",
            f"update pg_settings set setting = 'off' where name like 'standard_conf%'", f"alter role current_user set {name} = {value}", f"alter database postgres set {name} = off", f"pragma {name} = 1", f"pragma {name}(1)",
            f"set statement {name} = {value} for select 1", f"set global {name} = {value}", f"select 1; set {name} = {value}", f"/*!set {name} = {value}*/", f"begin; set local {name} = {value}", f"reset {name}", "set time zone 'UTC'",
            f"create function f() returns int language sql set {name} = off as 'select 1'", f"with w as (select set_config('{name}', 'off', false)) select * from w", f"explain analyze select set_config('{name}', 'off', false)",
            f"select ('{name}').set_config", f"select set_config(n, 'off', false) from (values ('{name}')) v(n)", f"set @s = 'x', sql_mode = {value}", f"set sql_mode = concat(@@sql_mode, ',ANSI_QUOTES')",
        ]))

    def mutated(self):
        """An ordinary use of the canary with one byte changed, gone or added."""
        query = self.pick([self.structure, self.hidden, self.indirect, self.modified])()
        for _ in range(self.random.randrange(1, 4)):
            at = self.random.randrange(len(query) + 1)
            change = self.random.randrange(3)
            if change == 0:
                query = query[:at] + self.pick(SPACES + OPERATORS + QUOTES + LINE + BLOCK_OPEN + BLOCK_CLOSE + INNER) + query[at:]
            elif change == 1:
                query = query[:at] + query[at + 1:]
            else:
                query = query[:at] + self.pick(list(" '\"`\\;/*-#$@()[]{}\n")) + query[at + 1:]
        return query

    def calls(self):
        """The queries of one conversation: mostly one, now and then several that build on each other."""
        kind = self.random.random()
        if kind < 0.60:
            return [self.hidden()]
        if kind < 0.66:
            return [self.structure()]
        if kind < 0.72:
            return [self.modified()]
        if kind < 0.82:
            return [self.mutated()]
        if kind < 0.90:
            return [self.setting(), *(self.hidden() for _ in range(3))]
        return [self.indirect() for _ in range(self.random.randrange(1, 4))]
