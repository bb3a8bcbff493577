select strftime('%Y-%m', ordered_at) as month, sum(total) from orders group by 1 order by 1

SELECT * FROM orders WHERE ordered_at > datetime('now', '-30 days')

select date('now'), time('now'), julianday('now')

SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name

select sql from sqlite_schema where name = 'orders'

PRAGMA table_info(orders)

pragma foreign_key_list('orders')

PRAGMA index_list(orders)

select json_extract(data, '$.color') as color, count(*) from orders group by 1

SELECT data->>'$.address.city' FROM orders

select o.id, j.value from orders o, json_each(o.data, '$.lines') j

SELECT json_group_array(name) FROM customers

select json_object('id', id, 'name', name) from customers

SELECT group_concat(name, ', ') FROM customers

select group_concat(distinct country) from customers

INSERT INTO customers (id, name) VALUES (1, 'Ada') ON CONFLICT (id) DO UPDATE SET name = excluded.name

insert or replace into categories (id, name) values (1, 'Books')

INSERT OR IGNORE INTO products (id, name) VALUES (3, 'Lamp')

replace into categories (id, name) values (2, 'Games')

INSERT INTO categories (name) VALUES ('Toys') RETURNING id

update orders set status = 'closed' where id = 1 returning id, status

UPDATE orders SET note = c.name FROM customers c WHERE c.id = orders.customer_id

select "id", "name" from "customers"

SELECT [id], [name] FROM [customers]

select `id`, `name` from `customers`

SELECT "c"."name" AS "Customer name" FROM "customers" AS "c"

select * from "größe" where "länge" > 3

SELECT * FROM main.orders LIMIT 3

select rowid, * from events limit 10

SELECT last_insert_rowid(), changes()

select typeof(total), total from orders

SELECT ifnull(email, 'none') FROM customers

select iif(total > 100, 'big', 'small') from orders

SELECT printf('%.2f', total) FROM orders

select substr(name, 1, 3), instr(name, 'a') from customers

SELECT name || ' <' || email || '>' FROM customers

select hex(randomblob(4)), random()

SELECT * FROM customers WHERE name GLOB 'A*'

select * from customers where name like '10\%%' escape '\'

SELECT * FROM customers ORDER BY name COLLATE NOCASE

select * from orders order by total desc nulls last limit 5

SELECT * FROM orders LIMIT 10, 20

EXPLAIN QUERY PLAN SELECT * FROM orders WHERE customer_id = 5

explain select * from orders

CREATE TABLE measures (id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT DEFAULT CURRENT_TIMESTAMP, value REAL)

create table pairs (a text, b text, primary key (a, b)) without rowid

CREATE TABLE IF NOT EXISTS children (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES categories(id) ON DELETE CASCADE)

create index if not exists events_by_kind on events (kind) where kind is not null

CREATE TEMP TABLE picked AS SELECT id FROM orders WHERE total > 500

alter table events rename to log

DROP INDEX IF EXISTS old_index

vacuum

ANALYZE

begin immediate; insert into events (id, kind) values (88001, 'x'); commit

select count(*) filter (where status = 'paid') as paid, count(*) as everything from orders

SELECT total(total), avg(total) FROM orders

select * from orders indexed by orders_idx where customer_id = 5

select max(a, b) from (select 1 as a, 2 as b)

SELECT CAST(strftime('%w', ordered_at) AS INTEGER) AS weekday, AVG(total) FROM orders GROUP BY weekday

with days(d) as (select date('2024-01-01') union all select date(d, '+1 day') from days where d < '2024-01-31') select d from days

SELECT x'1F' AS bytes, 0x1F AS number

select * from products where name is not 'Lamp'

SELECT COUNT(*) FROM orders --all of them

select * from (values (1, 'one'), (2, 'two'))

SELECT key, value FROM json_each('{"a": 1, "b": 2}')

select quote(name), length(name), unicode(name) from customers

SELECT id, lag(total, 1, 0) OVER (PARTITION BY customer_id ORDER BY ordered_at) AS before FROM orders

select name, upper(substr(name, 1, 1)) || lower(substr(name, 2)) from customers

DELETE FROM events WHERE id IN (SELECT id FROM events ORDER BY created_at LIMIT 10)

select round(julianday('now') - julianday(ordered_at)) as age from orders
