#!/usr/bin/env python3
"""Runs queries that a policy would allow on real servers, and looks whether they touched a canary.

    differential.py VIEWS [--queries N] [--seconds S] [--seed N]

VIEWS is the example `sql_views` of `bouncer-reader`. The policy is: deny where a table is
the canary, or a verb is one that changes things; what cannot be evaluated is denied. Each
query, or each sequence of calls, is made around the canary from what the documents of a
server's lexer say: operators, comments, literals, spaces, names, settings, statements. One
that the policy allows is run, with the dialect named and without. If the canary's secret
shows in a row or in a message, or the canary is not as it was, that is a finding.
"""

import argparse
import collections
import json
import pathlib
import random
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import servers  # noqa: E402
from queries import Maker  # noqa: E402

SECRET = "s3cret" + "canary" * 2
WRITES = {
    "alter", "attach", "copy", "create", "delete", "detach", "drop", "grant", "insert", "merge", "pragma", "rename",
    "replace", "revoke", "truncate", "update", "vacuum",
}


class Views:
    """The judge: a process that says what queries do."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def allowed(self, dialect, query):
        self.process.stdin.write(f"{dialect}\t{json.dumps(query)}\n")
        self.process.stdin.flush()
        views = json.loads(self.process.stdout.readline())
        if views["verbs"] is None or views["tables"] is None:
            return False
        return "canary" not in views["tables"] and not WRITES & set(views["verbs"])


class Sqlite:
    name = "sqlite"

    def __init__(self):
        self.base = sqlite3.connect(":memory:", isolation_level=None)
        self.base.executescript(TABLES + f"insert into canary values (1, '{SECRET}'); insert into t values (1, 'x'); insert into u values (2, 'y')")
        self.fresh()

    def fresh(self):
        self.copy = sqlite3.connect(":memory:", isolation_level=None)
        self.base.backup(self.copy)

    def run(self, query):
        """All that came back, and whether a statement was accepted."""
        seen, accepted = [], False
        # As `sqlite3_exec` does: statement by statement, each before the next is read, up
        # to the first U+0000.
        for part in split(query.split("\0")[0]):
            try:
                seen += self.copy.execute(part).fetchmany(1000)
                accepted = True
            except (sqlite3.Error, sqlite3.Warning) as error:
                seen.append(str(error))
                break
        return repr(seen), accepted

    def intact(self):
        try:
            return self.copy.execute("select id, secret from canary").fetchall() == [(1, SECRET)]
        except sqlite3.Error:
            return False


def split(query):
    """The statements of a text, as SQLite ends them."""
    part = ""
    for piece in query.split(";"):
        part += piece + ";"
        if sqlite3.complete_statement(part):
            yield part
            part = ""
    if part.strip(" ;\n"):
        yield part.removesuffix(";")


TABLES = """
create table canary (id integer, secret varchar(200));
create table t (a integer, b varchar(200));
create table u (a integer, b varchar(200));
"""


class Postgres:
    name = "postgres"

    def __init__(self, running):
        self.running = running
        self.connection = None
        self.fresh()

    def fresh(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = self.running.connect_postgres()
        self.cursor = self.connection.cursor()
        self.rebuild()

    def rebuild(self):
        self.cursor.execute("reset all; set statement_timeout = '3s'; drop schema if exists public cascade; create schema public;" + TABLES)
        self.cursor.execute(f"insert into canary values (1, '{SECRET}'); insert into t values (1, 'x'); insert into u values (2, 'y')")

    def run(self, query):
        try:
            self.cursor.execute(query)
            rows = self.cursor.fetchmany(1000) if self.cursor.description else []
            return repr(rows) + repr(self.connection.notices), True
        except Exception as error:  # a server's refusal, or a broken connection
            return str(error), False

    def intact(self):
        try:
            self.cursor.execute("rollback")
            self.cursor.execute("select id, secret from public.canary")
            return self.cursor.fetchall() == [(1, SECRET)]
        except Exception:
            return False


class Mysql:
    name = "mysql"

    def __init__(self, running):
        self.running = running
        self.connection = None
        self.fresh()

    def fresh(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = self.running.connect_mysql()
        self.cursor = self.connection.cursor()
        self.all("set max_statement_time = 3; drop database if exists d; create database d; use d;" + TABLES)
        self.all(f"insert into canary values (1, '{SECRET}'); insert into t values (1, 'x'); insert into u values (2, 'y')")

    def all(self, query):
        self.cursor.execute(query)
        seen = list(self.cursor.fetchmany(1000))
        while self.cursor.nextset():
            seen += self.cursor.fetchmany(1000)
        return seen

    def run(self, query):
        seen, accepted = [], False
        try:
            self.cursor.execute(query)
            accepted = True
            seen += self.cursor.fetchmany(1000)
            while self.cursor.nextset():
                seen += self.cursor.fetchmany(1000)
        except Exception as error:  # a server's refusal, or a broken connection
            seen.append(str(error))
        return repr(seen), accepted

    def intact(self):
        try:
            self.cursor.execute("rollback")
            self.cursor.execute("select id, secret from d.canary")
            return list(self.cursor.fetchall()) == [(1, SECRET)]
        except Exception:
            return False


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("views")
    arguments.add_argument("--queries", type=int, default=100_000)
    arguments.add_argument("--seconds", type=float, default=float("inf"))
    arguments.add_argument("--seed", default="1")
    arguments = arguments.parse_args()
    judge = Views(arguments.views)
    end = time.monotonic() + arguments.seconds
    counts = collections.Counter()
    findings = []
    with servers.Servers() as running:
        targets = [Sqlite(), Postgres(running), Mysql(running)]
        makers = {target.name: Maker(target.name, random.Random(f"{arguments.seed} {target.name}")) for target in targets}
        while counts["queries"] < arguments.queries and time.monotonic() < end:
            target = targets[counts["sequences"] % len(targets)]
            counts["sequences"] += 1
            calls = makers[target.name].calls()
            dirty = False
            for query in calls:
                counts["queries"] += 1
                named = judge.allowed(target.name, query)
                generic = judge.allowed("generic", query)
                if not (named or generic):
                    continue
                counts["allowed, dialect named"] += named
                counts["allowed, no dialect"] += generic
                seen, accepted = target.run(query)
                counts[f"accepted by {target.name}"] += accepted
                dirty = True
                if SECRET in seen or not target.intact():
                    findings.append((target.name, named, generic, calls))
                    print("FINDING", target.name, "named" * named, "generic" * generic, json.dumps(calls), flush=True)
                    target.fresh()
                    break
            if dirty and (len(calls) > 1 or counts["sequences"] % 50 == 0):
                target.fresh() if target.name != "postgres" else target.cursor.execute("rollback; reset all; set statement_timeout = '3s'")
    for name, count in sorted(counts.items()):
        print(f"{count:8} {name}")
    print(f"{len(findings):8} findings, seed {arguments.seed}")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
