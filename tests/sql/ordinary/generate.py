#!/usr/bin/env python3
"""Ordinary queries: what analysts and agents write on a working day.

Writes `postgres.jsonl`, `sqlite.jsonl` and `mysql.jsonl` beside this file: the queries
written by hand in `*.sql` (separated by empty lines), and 900 more of each dialect from
the grammar below. Always the same ones. Which of them have a view is no concern here.
"""

import json
import pathlib
import random

HERE = pathlib.Path(__file__).parent
MADE = 900

TABLES = {
    "customers": ["id", "name", "email", "country", "created_at", "balance", "active"],
    "orders": ["id", "customer_id", "status", "total", "ordered_at", "note"],
    "order_items": ["id", "order_id", "product_id", "quantity", "price"],
    "products": ["id", "name", "category_id", "price"],
    "categories": ["id", "name", "parent_id"],
    "employees": ["id", "name", "manager_id", "department", "salary", "hired_on"],
    "events": ["id", "user_id", "kind", "created_at"],
}
NUMBERS = {"id", "balance", "total", "quantity", "price", "salary", "customer_id"}
TIMES = {"created_at", "ordered_at", "hired_on"}
JOINS = [
    ("orders", "customer_id", "customers", "id"),
    ("order_items", "order_id", "orders", "id"),
    ("order_items", "product_id", "products", "id"),
    ("products", "category_id", "categories", "id"),
    ("events", "user_id", "customers", "id"),
    ("employees", "manager_id", "employees", "id"),
]
TEXTS = [
    "paid", "open", "it''s late", "Müller & Söhne", "東京", "a -- b", "50% off", "x;y",
    "/* draft */", "O''Neill", "naïve café", "she said \"yes\"", "user@example.com", "C# and F#",
    "{\"a\": [1, 2]}", "https://example.com/?q=1", "100 $", "`code`", "Ærø", "🙂",
]
COMMENTS = [
    "weekly report", "größte zuerst", "TODO: check with finance", "don't forget the index",
    "see ticket 4711", "only \"paid\" ones", "1st draft; may change", "今月",
]


class Maker:
    def __init__(self, dialect, seed):
        self.dialect = dialect
        self.random = random.Random(f"{dialect} {seed}")

    def pick(self, items):
        return self.random.choice(list(items))

    def chance(self, share):
        return self.random.random() < share

    def name(self, text):
        """A name, now and then in the dialect's quotes."""
        if not self.chance(0.12):
            return text
        quotes = {"postgres": ['""'], "sqlite": ['""', "``", "[]"], "mysql": ["``"]}
        left, right = self.pick(quotes[self.dialect])
        return left + text + right

    def literal(self, column):
        if column in NUMBERS or column.endswith("_id") or column == "active":
            return str(self.random.randrange(1, 5000))
        if column in TIMES:
            return f"'20{self.random.randrange(18, 26)}-0{self.random.randrange(1, 10)}-1{self.random.randrange(10)}'"
        return "'" + self.pick(TEXTS) + "'"

    def test(self, table, alias=""):
        column = self.pick(TABLES[table])
        left = alias + self.name(column)
        kind = self.random.randrange(8)
        if kind == 0:
            return f"{left} in ({self.literal(column)}, {self.literal(column)})"
        if kind == 1:
            return f"{left} is not null"
        if kind == 2 and column not in NUMBERS | TIMES and not column.endswith("_id") and column != "active":
            like = "ilike" if self.dialect == "postgres" and self.chance(0.5) else "like"
            return f"{left} {like} '%{self.pick(['son', 'ü', 'a_b', 'x%y'])}%'"
        if kind == 3:
            return f"{left} between {self.literal(column)} and {self.literal(column)}"
        if kind == 4:
            inner = self.pick(TABLES)
            return f"exists (select 1 from {inner} q where q.id = {alias}{self.name('id')})"
        operator = self.pick(["=", "<>", ">", "<=", ">=", "!="])
        return f"{left} {operator} {self.literal(column)}"

    def where(self, table, alias=""):
        if self.chance(0.25):
            return ""
        tests = [self.test(table, alias) for _ in range(self.random.randrange(1, 4))]
        joined = tests[0]
        for test in tests[1:]:
            joined += self.pick([" and ", " or "]) + (f"({test})" if self.chance(0.2) else test)
        return " where " + joined

    def month(self, column):
        return {
            "postgres": [f"date_trunc('month', {column})", f"to_char({column}, 'YYYY-MM')", f"{column}::date", f"extract(year from {column})"],
            "sqlite": [f"strftime('%Y-%m', {column})", f"date({column})", f"cast(strftime('%Y', {column}) as integer)"],
            "mysql": [f"date_format({column}, '%Y-%m')", f"date({column})", f"year({column})"],
        }[self.dialect]

    def value(self, table, alias=""):
        column = self.pick(TABLES[table])
        left = alias + self.name(column)
        kind = self.random.randrange(9)
        if column in TIMES and kind < 5:
            return self.pick(self.month(alias + column))
        if column in NUMBERS:
            return self.pick([left, f"{left} * 2 + 1", f"round({left} / 3.0, 2)", f"coalesce({left}, 0)", f"abs({left} - 10)"])
        if column not in TIMES and not column.endswith("_id") and column != "active":
            joined = f"concat({left}, ' (', 'x', ')')" if self.dialect == "mysql" else f"{left} || ' (x)'"
            return self.pick([left, f"upper({left})", f"coalesce({left}, '-')", joined, f"replace({left}, 'a', 'b')", f"length({left})"])
        return left

    def order(self, columns):
        tail = ""
        if self.chance(0.5):
            tail += f" order by {self.random.randrange(1, columns + 1)}" + self.pick(["", " desc", " asc"])
        if self.chance(0.4):
            tail += f" limit {self.random.randrange(1, 500)}"
            if self.chance(0.2):
                tail += f" offset {self.random.randrange(1, 100)}"
        return tail

    def simple(self):
        table = self.pick(TABLES)
        count = self.random.randrange(1, 4)
        columns = [self.value(table) + (f" as {self.name('v' + str(n))}" if self.chance(0.5) else "") for n in range(count)]
        head = "select distinct" if self.chance(0.1) else "select"
        return f"{head} {', '.join(columns)} from {self.name(table)}{self.where(table)}{self.order(count)}"

    def report(self):
        table = self.pick(TABLES)
        column = self.pick(TABLES[table])
        sums = self.pick(["count(*)", "sum(id)", "avg(id)", f"count(distinct {self.name(column)})", "max(id) - min(id)"])
        having = self.pick(["", "", f" having count(*) > {self.random.randrange(1, 9)}"])
        return f"select {self.name(column)}, {sums} as n from {table}{self.where(table)} group by {column}{having}{self.order(2)}"

    def join(self):
        left, key, right, other = self.pick(JOINS)
        kind = self.pick(["join", "left join", "inner join", "left outer join"])
        columns = [self.value(left, "a."), self.value(right, "b.")]
        as_ = self.pick(["", "as "])
        return f"select {', '.join(columns)} from {self.name(left)} {as_}a {kind} {self.name(right)} {as_}b on b.{other} = a.{key}{self.where(left, 'a.')}{self.order(2)}"

    def window(self):
        table = self.pick(TABLES)
        by = self.pick(TABLES[table])
        function = self.pick(["row_number()", "rank()", "sum(id)", "lag(id)", "first_value(id)", "count(*)"])
        part = f"partition by {by} " if self.chance(0.6) else ""
        return f"select id, {function} over ({part}order by {self.pick(TABLES[table])}) as w from {table}{self.where(table)}{self.order(2)}"

    def cte(self):
        table = self.pick(TABLES)
        inner = f"select id, {self.pick(TABLES[table][1:])} as x from {table}{self.where(table)}"
        second = f", picked as (select x, count(*) as n from base group by x)" if self.chance(0.5) else ""
        last = "select * from picked where n > 1" if second else "select count(*) from base"
        return f"with base as ({inner}){second} {last}"

    def write(self):
        table = self.pick(TABLES)
        columns = self.random.sample(TABLES[table][1:], 2)
        key = self.random.randrange(100000, 900000)
        values = f"{key}, " + ", ".join(self.literal(column) for column in columns)
        insert = f"insert into {self.name(table)} (id, {', '.join(columns)}) values ({values})"
        kind = self.random.randrange(5)
        if kind == 0:
            return insert
        if kind == 1:
            if self.dialect == "mysql":
                return f"{insert} on duplicate key update {columns[0]} = values({columns[0]})"
            return f"{insert} on conflict (id) do update set {columns[0]} = excluded.{columns[0]}"
        if kind == 2:
            sets = ", ".join(f"{self.name(column)} = {self.literal(column)}" for column in columns)
            return f"update {self.name(table)} set {sets}{self.where(table)}"
        if kind == 3:
            return f"delete from {self.name(table)}{self.where(table)}"
        return insert + {"postgres": " returning id", "sqlite": " returning *", "mysql": ""}[self.dialect]

    def json(self):
        path = self.pick(["color", "size", "city"])
        return self.pick({
            "postgres": [
                f"select data->>'{path}' as v, count(*) from orders group by 1",
                f"select id from orders where data->>'{path}' = {self.literal('note')}",
                f"select id, data#>>'{{{path},x}}' from orders where data @> '{{\"{path}\": 1}}'",
            ],
            "sqlite": [
                f"select json_extract(data, '$.{path}') as v, count(*) from orders group by 1",
                f"select data->>'$.{path}' from orders where id > {self.random.randrange(900)}",
            ],
            "mysql": [
                f"select json_extract(data, '$.{path}') as v, count(*) from orders group by v",
                f"select id from orders where json_unquote(json_extract(data, '$.{path}')) = {self.literal('note')}",
            ],
        }[self.dialect])

    def shape(self, query):
        """Comments, line breaks and letter case, as people write them."""
        if self.chance(0.15):
            query = f"-- {self.pick(COMMENTS)}\n{query}"
        elif self.chance(0.1):
            query = f"/* {self.pick(COMMENTS)} */ {query}"
        if self.chance(0.3):
            for word in [" from ", " where ", " group by ", " order by "]:
                query = query.replace(word, "\n" + word[1:])
        if self.chance(0.1):
            query += f" -- {self.pick(COMMENTS)}"
        elif self.chance(0.2):
            query += ";"
        if self.chance(0.3):
            for word in ["select", "from", "where", "group by", "order by", "join", "insert into", "values"]:
                query = query.replace(word + " ", word.upper() + " ")
        return query

    def query(self):
        kinds = [self.simple, self.simple, self.report, self.report, self.join, self.join, self.window, self.cte, self.write, self.json]
        return self.shape(self.pick(kinds)())


def main():
    for dialect in ["postgres", "sqlite", "mysql"]:
        queries = []
        for source in ["common", dialect]:
            text = (HERE / f"{source}.sql").read_text()
            queries += [query.strip("\n") for query in text.split("\n\n") if query.strip()]
        maker, seen = Maker(dialect, 1), set(queries)
        made = 0
        while made < MADE:
            query = maker.query()
            if query not in seen:
                seen.add(query)
                queries.append(query)
                made += 1
        lines = [json.dumps(query, ensure_ascii=False) for query in queries]
        (HERE / f"{dialect}.jsonl").write_text("\n".join(lines) + "\n")
        print(dialect, len(queries))


if __name__ == "__main__":
    main()
