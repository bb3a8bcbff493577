select date_format(ordered_at, '%Y-%m') as month, sum(total) from orders group by month order by month

SELECT * FROM orders WHERE ordered_at > NOW() - INTERVAL 30 DAY

select year(ordered_at) as y, month(ordered_at) as m, count(*) from orders group by y, m

SELECT DATE(ordered_at) AS day, COUNT(*) FROM orders GROUP BY DATE(ordered_at)

select datediff(now(), ordered_at) from orders

SELECT * FROM orders WHERE ordered_at BETWEEN DATE_SUB(CURDATE(), INTERVAL 7 DAY) AND CURDATE()

select `id`, `name` from `customers`

SELECT `c`.`name` AS `Customer name` FROM `customers` AS `c`

select * from `größe` where `länge` > 3

SELECT json_extract(data, '$.color') AS color, COUNT(*) FROM orders GROUP BY color

select json_unquote(json_extract(data, '$.address.city')) from orders

SELECT JSON_OBJECT('id', id, 'name', name) FROM customers

select json_arrayagg(name) from customers

SELECT GROUP_CONCAT(name ORDER BY name SEPARATOR ', ') FROM customers

select group_concat(distinct country) from customers

SELECT CONCAT(name, ' <', email, '>') FROM customers

select concat_ws(', ', name, country) from customers

SELECT IFNULL(email, 'none') FROM customers

select if(total > 100, 'big', 'small') from orders

INSERT INTO customers (id, name) VALUES (1, 'Ada') ON DUPLICATE KEY UPDATE name = VALUES(name)

insert ignore into products (id, name) values (3, 'Lamp')

REPLACE INTO categories (id, name) VALUES (2, 'Games')

update orders o join customers c on c.id = o.customer_id set o.note = c.name where o.status = 'open'

DELETE e FROM events e JOIN customers c ON c.id = e.user_id WHERE c.active = 0

delete from events order by created_at limit 10

SELECT * FROM orders LIMIT 10, 20

show tables

SHOW COLUMNS FROM orders

show create table orders

DESCRIBE orders

desc customers

SHOW INDEX FROM orders

show databases

SELECT table_name, table_rows FROM information_schema.tables WHERE table_schema = DATABASE()

select column_name, column_type from information_schema.columns where table_name = 'orders'

EXPLAIN SELECT * FROM orders WHERE customer_id = 5

SELECT VERSION(), DATABASE(), CURRENT_USER()

select last_insert_id()

SELECT * FROM customers WHERE name REGEXP '^A'

select * from customers where name rlike 'son$'

SELECT * FROM customers WHERE email LIKE '%@example.com' COLLATE utf8mb4_general_ci

select substring_index(email, '@', -1) as domain, count(*) from customers group by domain

SELECT LEFT(name, 3), RIGHT(name, 2), CHAR_LENGTH(name) FROM customers

CREATE TABLE measures (id INT AUTO_INCREMENT PRIMARY KEY, at DATETIME DEFAULT CURRENT_TIMESTAMP, value DOUBLE) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4

create table if not exists pairs (a varchar(20) not null, b varchar(20) not null, primary key (a, b), key by_b (b))

ALTER TABLE customers ADD COLUMN nickname VARCHAR(50) AFTER name

alter table customers modify email varchar(320)

ALTER TABLE orders ADD INDEX by_status (status)

drop index orders_idx on orders

TRUNCATE TABLE events

start transaction; update orders set status = 'paid' where id = 3; commit

select * from orders for update

SELECT 1 # a remark

select id, name # the names
from customers

SELECT * FROM orders WHERE status = "paid"

select * from customers where name = "Jürgen Müller"

SELECT @n := 1

set @n = 0

select @@version

SELECT rand(), uuid(), sleep(0)

select cast(total as signed), convert(total, char) from orders

SELECT * FROM customers ORDER BY FIELD(country, 'DE', 'FR', 'US'), name

select * from orders where find_in_set(status, 'open,paid')

SELECT STRAIGHT_JOIN o.id FROM orders o JOIN customers c ON c.id = o.customer_id

select sql_no_cache count(*) from orders

SELECT TIMESTAMPDIFF(DAY, hired_on, NOW()) FROM employees

select str_to_date('01,5,2024', '%d,%m,%Y')

SELECT id, LAG(total, 1) OVER (PARTITION BY customer_id ORDER BY ordered_at) AS earlier FROM orders

select status, count(*) from orders group by status with rollup

SELECT * FROM orders USE INDEX (PRIMARY) WHERE id = 3

select x'1F' as bytes, 0x1F as number, b'101' as bits

SELECT country, SUM(balance) total FROM customers WHERE balance <=> NULL OR balance > 0 GROUP BY country

select greatest(1, 2), least(1, 2), mod(7, 2), 7 div 2

SELECT name FROM employees WHERE MATCH(name) AGAINST ('smith')
