select date_trunc('month', ordered_at) as month, sum(total) from orders group by 1 order by 1

SELECT * FROM orders WHERE ordered_at > now() - interval '30 days'

select to_char(ordered_at, 'YYYY-MM') as month, count(*) from orders group by month order by month

SELECT extract(year from ordered_at) AS year, count(*) FROM orders GROUP BY year

select data->>'color' as color, count(*) from orders group by 1

SELECT * FROM orders WHERE data->'address'->>'city' = 'Berlin'

select * from orders where data @> '{"vip": true}'

SELECT jsonb_agg(jsonb_build_object('id', id, 'total', total)) FROM orders

select data#>>'{a,b}' from orders where data ? 'a'

SELECT key, value FROM orders, jsonb_each_text(data) LIMIT 5

select id, elem->>'sku' from orders cross join lateral jsonb_array_elements(data->'lines') as elem

SELECT string_agg(name, ', ' ORDER BY name) FROM customers

select array_agg(id order by id) from products

SELECT name FROM products WHERE 'sale' = ANY(tags)

select unnest(tags) as tag, count(*) from products group by 1

SELECT tags[1] FROM products

select * from products where tags && array['new', 'sale']

SELECT total::numeric(10,2), id::text FROM orders

select '2024-01-01'::date + 7

SELECT * FROM customers WHERE name ILIKE '%smith%'

select * from customers where email ~* '^[a-z]+@example\.com$'

SELECT regexp_replace(email, '\d+', '', 'g') FROM customers

select distinct on (customer_id) customer_id, id, total from orders order by customer_id, ordered_at desc

SELECT count(*) FILTER (WHERE status = 'paid') AS paid, count(*) AS everything FROM orders

select percentile_cont(0.5) within group (order by total) from orders

SELECT generate_series(1, 10)

select d::date, count(o.id) from generate_series('2024-01-01'::timestamp, '2024-01-31', '1 day') d left join orders o on o.ordered_at::date = d::date group by 1 order by 1

INSERT INTO customers (id, name) VALUES (1, 'Ada') ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name

insert into products (id, name) values (3, 'Lamp') on conflict do nothing

INSERT INTO categories (id, name) VALUES (500, 'Toys') RETURNING id

update orders set status = 'closed' where id = 1 returning id, status

UPDATE orders o SET note = c.name FROM customers c WHERE c.id = o.customer_id AND o.status = 'open'

delete from events e using customers c where c.id = e.user_id and c.active = 0

WITH gone AS (DELETE FROM events WHERE kind = 'debug' RETURNING id) SELECT count(*) FROM gone

with moved as (update orders set status = 'archived' where status = 'closed' returning *) select count(*) from moved

SELECT "id", "name" FROM "customers"

select "c"."name" as "Customer name" from "public"."customers" as "c"

SELECT * FROM "größe" WHERE "länge" > 3

select * from public.orders limit 3

SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position

select schemaname, relname, n_live_tup from pg_stat_user_tables order by n_live_tup desc

SELECT pg_size_pretty(pg_total_relation_size('orders'))

select c.relname, i.relname from pg_class c join pg_index x on x.indrelid = c.oid join pg_class i on i.oid = x.indexrelid

EXPLAIN SELECT * FROM orders WHERE customer_id = 5

explain (analyze, buffers) select count(*) from orders

EXPLAIN ANALYZE SELECT * FROM orders o JOIN customers c ON c.id = o.customer_id

select current_date, current_timestamp, now(), version()

SELECT current_user, current_database()

create table measures (id bigserial primary key, at timestamptz not null default now(), value double precision, tags text[])

CREATE TABLE IF NOT EXISTS tokens (id uuid PRIMARY KEY, body jsonb NOT NULL DEFAULT '{}'::jsonb)

create index concurrently if not exists events_by_kind on events (kind)

CREATE INDEX orders_data ON orders USING gin (data)

alter table customers alter column email type varchar(320)

ALTER TABLE orders ADD CONSTRAINT total_positive CHECK (total >= 0) NOT VALID

create materialized view daily as select ordered_at::date as day, sum(total) as total from orders group by 1

SELECT * FROM orders FOR UPDATE SKIP LOCKED LIMIT 1

select * from customers fetch first 5 rows only

TRUNCATE TABLE events

select row_to_json(c) from customers c limit 1

SELECT split_part(email, '@', 2) AS domain, count(*) FROM customers GROUP BY domain ORDER BY 2 DESC

select coalesce(sum(total) filter (where ordered_at >= date '2024-01-01'), 0) from orders --no rows gives null

select id, lag(total, 1, 0) over (partition by customer_id order by ordered_at) as before from orders

SELECT substring(name from 1 for 3), position('a' in name), overlay(name placing 'x' from 1 for 1) FROM customers

select trim(both ' ' from name) from customers

SELECT * FROM (VALUES (1, 'one'), (2, 'two')) AS t(n, word)

select c.name, l.total from customers c left join lateral (select total from orders o where o.customer_id = c.id order by total desc limit 1) l on true

SELECT date_part('dow', ordered_at) AS weekday, avg(total) FROM orders GROUP BY GROUPING SETS ((date_part('dow', ordered_at)), ())

select status, count(*) from orders group by rollup (status)

set search_path to public

SHOW search_path

SET statement_timeout = '30s'

analyze orders

select name from employees where name similar to '(A|B)%'

SELECT x.id, x.tags FROM products x WHERE cardinality(x.tags) > 1

select md5(email) from customers
