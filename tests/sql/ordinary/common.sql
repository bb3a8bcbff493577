select * from customers limit 10

SELECT id, name, email FROM customers WHERE country = 'DE' ORDER BY name

SELECT COUNT(*) FROM orders

select count(distinct customer_id) as buyers from orders where status = 'paid'

SELECT status, COUNT(*) AS n, SUM(total) AS revenue FROM orders GROUP BY status ORDER BY revenue DESC

select o.id, c.name, o.total from orders o join customers c on c.id = o.customer_id where o.total > 100

SELECT c.country, AVG(o.total) AS average FROM orders o INNER JOIN customers c ON c.id = o.customer_id GROUP BY c.country HAVING COUNT(*) > 5

select c.name, o.id from customers c left join orders o on o.customer_id = c.id where o.id is null

SELECT p.name, SUM(i.quantity * i.price) AS revenue
FROM order_items i
JOIN products p ON p.id = i.product_id
JOIN orders o ON o.id = i.order_id
WHERE o.ordered_at >= '2024-01-01' AND o.ordered_at < '2025-01-01'
GROUP BY p.name
ORDER BY revenue DESC
LIMIT 20

with recent as (select * from orders where ordered_at > '2024-06-01') select status, count(*) from recent group by status

WITH monthly AS (
  SELECT customer_id, SUM(total) AS total FROM orders GROUP BY customer_id
), ranked AS (
  SELECT customer_id, total, RANK() OVER (ORDER BY total DESC) AS position FROM monthly
)
SELECT c.name, r.total FROM ranked r JOIN customers c ON c.id = r.customer_id WHERE r.position <= 10

select id, total, row_number() over (partition by customer_id order by ordered_at desc) as nth from orders

SELECT id, total, SUM(total) OVER (ORDER BY ordered_at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running FROM orders

select name, salary, salary - avg(salary) over (partition by department) as difference from employees

SELECT name, salary, LAG(salary) OVER (PARTITION BY department ORDER BY hired_on) AS previous FROM employees

select name, dense_rank() over w as place from employees window w as (order by salary desc)

SELECT * FROM employees WHERE salary BETWEEN 30000 AND 60000 AND department IN ('sales', 'support')

select * from customers where name like 'A%' or email like '%@example.com'

SELECT * FROM customers WHERE email IS NOT NULL AND active = 1

select case when total >= 1000 then 'large' when total >= 100 then 'medium' else 'small' end as size, count(*) from orders group by 1

SELECT c.id, c.name, (SELECT MAX(o.total) FROM orders o WHERE o.customer_id = c.id) AS largest FROM customers c

select * from customers c where exists (select 1 from orders o where o.customer_id = c.id and o.status = 'open')

SELECT * FROM products WHERE id NOT IN (SELECT product_id FROM order_items)

select name from customers union select name from employees

SELECT country FROM customers UNION ALL SELECT 'unknown' ORDER BY 1

select name from customers except select name from employees

SELECT id FROM products INTERSECT SELECT product_id FROM order_items

with recursive tree as (select id, name, parent_id from categories where parent_id is null union all select c.id, c.name, c.parent_id from categories c join tree t on t.id = c.parent_id) select * from tree

WITH RECURSIVE chain AS (
    SELECT id, name, manager_id, 1 AS depth FROM employees WHERE manager_id IS NULL
    UNION ALL
    SELECT e.id, e.name, e.manager_id, chain.depth + 1 FROM employees e JOIN chain ON chain.id = e.manager_id
)
SELECT depth, COUNT(*) FROM chain GROUP BY depth

with recursive n as (select 1 as i union all select i + 1 from n where i < 10) select i from n

insert into customers (id, name, email) values (9001, 'Ada Lovelace', 'ada@example.com')

INSERT INTO customers (id, name, email, country) VALUES (9002, 'Grace Hopper', 'grace@example.com', 'US'), (9003, 'Alan Turing', 'alan@example.com', 'GB')

insert into categories (id, name) select id + 1000, name from categories

INSERT INTO events (id, user_id, kind) SELECT id + 5000, customer_id, 'migrated' FROM orders WHERE status = 'paid'

update customers set email = 'new@example.com' where id = 17

UPDATE orders SET status = 'shipped', note = 'sent by post' WHERE status = 'paid' AND total > 50

update products set price = price * 1.05 where category_id in (select id from categories where name = 'books')

UPDATE employees SET salary = CASE WHEN department = 'sales' THEN salary + 100 ELSE salary + 50 END

delete from events where created_at < '2020-01-01'

DELETE FROM order_items WHERE order_id IN (SELECT id FROM orders WHERE status = 'cancelled')

create table notes (id integer primary key, body text not null, created_at timestamp)

CREATE TABLE IF NOT EXISTS visits (id INTEGER PRIMARY KEY, page VARCHAR(200) NOT NULL, hits INTEGER DEFAULT 0)

create table archive as select * from orders where status = 'closed'

CREATE VIEW paid_orders AS SELECT * FROM orders WHERE status = 'paid'

create index orders_by_customer on orders (customer_id)

CREATE UNIQUE INDEX products_by_name ON products (name)

alter table customers add column phone varchar(40)

ALTER TABLE orders RENAME COLUMN note TO remark

drop table if exists scratch

DROP VIEW IF EXISTS old_report

begin

BEGIN; UPDATE orders SET status = 'paid' WHERE id = 3; COMMIT

rollback

select 1

SELECT 1;

select 1 + 2 * 3 as answer, 7 / 2 as quotient, 7 % 2 as remainder

SELECT -1, +2, 1.5, 1e3, .5

select coalesce(email, 'none') from customers

SELECT UPPER(name), LOWER(email), LENGTH(name) FROM customers

select round(avg(total), 2), min(total), max(total) from orders

SELECT NULLIF(status, '') FROM orders

select cast(total as decimal(10, 2)) from orders

SELECT TRIM(name), REPLACE(name, 'a', 'b') FROM customers

select abs(balance) from customers where balance < 0

-- customers without an order
select c.* from customers c left join orders o on o.customer_id = c.id where o.id is null

/* monthly report */ SELECT status, COUNT(*) FROM orders GROUP BY status

select id, -- the key
       name -- what people see
from products
where price > 10

SELECT /* all of them */ * FROM categories

/*
 * Revenue by department.
 * Written for the board; do not change.
 */
select department, sum(salary) from employees group by department

select 'it''s late' as note

SELECT * FROM orders WHERE note = 'He said "no"'

select * from customers where name = 'Jürgen Müller'

SELECT * FROM customers WHERE name IN ('北京', '東京', 'Москва')

select * from orders where note like '%größer%' -- ü in a comment

SELECT '--' AS dashes, '/* no comment */' AS stars, ';' AS semicolon

select '100% sure' as a, '#hashtag' as b, '$5' as c

SELECT * FROM orders WHERE note = 'https://example.com/a?b=c&d=e#f'

select * from orders where note <> '' and note != 'x'

SELECT id FROM orders WHERE NOT (status = 'open' OR status = 'paid')

select o.*, c.name as customer from orders as o, customers as c where o.customer_id = c.id

SELECT * FROM orders ORDER BY total DESC, ordered_at ASC LIMIT 50 OFFSET 100

select distinct country from customers

SELECT a.name, b.name FROM employees a JOIN employees b ON a.manager_id = b.id

select * from (select customer_id, count(*) as n from orders group by customer_id) t where t.n > 3

SELECT x.name FROM (SELECT name FROM products WHERE price > 100) AS x ORDER BY x.name

select * from orders cross join categories limit 5

SELECT * FROM orders JOIN order_items USING (id)

select e.name, coalesce(m.name, 'nobody') as manager from employees e left outer join employees m on m.id = e.manager_id

SELECT department, COUNT(*) AS n FROM employees WHERE hired_on >= '2020-01-01' GROUP BY department HAVING COUNT(*) >= 2 ORDER BY n DESC, department

select sum(case when status = 'paid' then total else 0 end) as paid, sum(case when status = 'open' then total else 0 end) as open_total from orders

select first_value(name) over (partition by department order by salary desc) from employees

SELECT NTILE(4) OVER (ORDER BY total) AS quartile, total FROM orders

select count(*) filter_count from events where kind = 'login'

SELECT * FROM customers WHERE (country = 'DE' AND active = 1) OR (country = 'FR' AND balance >= 0)

select customer_id, max(ordered_at) as last_order from orders group by customer_id order by last_order desc limit 1

INSERT INTO events (id, user_id, kind, created_at) VALUES (77001, 1, 'note: customer wrote -- again', CURRENT_TIMESTAMP)

update customers set name = 'O''Brien' where id = 5; select * from customers where id = 5
