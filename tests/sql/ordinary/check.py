#!/usr/bin/env python3
"""Checks that the ordinary queries are valid on the real servers: none is a syntax error."""

import json
import pathlib
import sqlite3
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import servers  # noqa: E402

TEXT, NUMBER = {"postgres": "text", "sqlite": "text", "mysql": "varchar(300)"}, "integer"
COLUMNS = {
    "customers": "id N primary key, name T, email T, country T, created_at timestamp, balance N, active N",
    "orders": "id N primary key, customer_id N, status T, total N, ordered_at timestamp, note T, data J",
    "order_items": "id N primary key, order_id N, product_id N, quantity N, price N",
    "products": "id N primary key, name T, category_id N, price N TAGS",
    "categories": "id N primary key, name T, parent_id N",
    "employees": "id N primary key, name T, manager_id N, department T, salary N, hired_on timestamp FULL",
    "events": "id N primary key, user_id N, kind T, created_at timestamp",
}


def schema(dialect):
    """The statements that make the tables."""
    for table, columns in COLUMNS.items():
        columns = columns.replace(" N", " integer").replace(" T,", f" {TEXT[dialect]},")
        columns = columns.replace(" J", " jsonb" if dialect == "postgres" else " text")
        columns = columns.replace(" TAGS", ", tags text[]" if dialect == "postgres" else "")
        columns = columns.replace(" FULL", ", fulltext (name)" if dialect == "mysql" else "")
        columns = columns.removesuffix(" T") + (f" {TEXT[dialect]}" if columns.endswith(" T") else "")
        yield f"create table {table} ({columns})"
    quote = "`" if dialect == "mysql" else '"'
    yield f"create table {quote}größe{quote} ({quote}länge{quote} integer)"
    if dialect != "postgres":
        yield "create index orders_idx on orders (customer_id)"


def queries(dialect):
    """The ordinary queries of a dialect."""
    return [json.loads(line) for line in (HERE / f"{dialect}.jsonl").read_text().splitlines()]


def wrong(dialect, run, is_syntax):
    """How many queries the server takes for a syntax error; others' errors are said too."""
    failed = 0
    other = {}
    for query in queries(dialect):
        try:
            run(query)
        except Exception as error:  # each driver has its own
            if is_syntax(error):
                failed += 1
                print(f"{dialect}: {query!r}: {error}", file=sys.stderr)
            else:
                other.setdefault(str(error).splitlines()[0][:90], query)
    for error, query in list(other.items()) if "--errors" in sys.argv else []:
        print(f"{dialect}: (no syntax error) {query!r}: {error}")
    print(f"{dialect}: {len(queries(dialect))} queries, {failed} syntax errors")
    return failed


def sqlite():
    base = sqlite3.connect(":memory:")
    for statement in schema("sqlite"):
        base.execute(statement)

    def run(query):
        copy = sqlite3.connect(":memory:", isolation_level=None)
        base.backup(copy)
        copy.executescript(query)

    marks = ("syntax error", "unrecognized token", "incomplete input")
    return wrong("sqlite", run, lambda error: any(mark in str(error) for mark in marks))


def postgres(running):
    connection = running.connect_postgres()
    with connection.cursor() as cursor:
        for statement in schema("postgres"):
            cursor.execute(statement)

        def run(query):
            cursor.execute("rollback; begin" if "concurrently" not in query else "rollback")
            cursor.execute(query)

        failed = wrong("postgres", run, lambda error: getattr(error, "pgcode", "")[:5] in ("42601", "22025"))
        cursor.execute("rollback")
        return failed


def mysql(running):
    connection = running.connect_mysql()
    with connection.cursor() as cursor:

        cursor.execute("create database ordinary")
        cursor.execute("use ordinary")
        for statement in schema("mysql"):
            cursor.execute(statement)

        def run(query):
            cursor.execute("begin")
            try:
                cursor.execute(query)
                while cursor.nextset():
                    pass
            finally:
                cursor.execute("rollback")

        return wrong("mysql", run, lambda error: error.args[0] == 1064)


if __name__ == "__main__":
    with servers.Servers() as running:
        sys.exit(bool(sqlite() + postgres(running) + mysql(running)))
