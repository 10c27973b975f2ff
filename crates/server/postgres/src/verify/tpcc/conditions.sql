-- Conditions 1 to 12 of clause 3.3.2 and our own, for warehouses :first to :last. Each row is a violating place, with the
-- number of places that it stands for; condition 0 is the number of rows examined.
WITH
-- Everything about each order: its row, its lines, its row in new_order.
parts AS (
    SELECT o_w_id AS w, o_d_id AS d, o_id AS o, 1 AS orders, 0 AS lines, 0 AS dated, 0 AS queued,
        o_c_id AS c, o_ol_cnt AS announced, o_carrier_id AS carrier, NULL::int AS number, 0::numeric AS value
    FROM orders WHERE o_w_id BETWEEN :first AND :last
    UNION ALL
    SELECT ol_w_id, ol_d_id, ol_o_id, 0, 1, (ol_delivery_d IS NOT NULL)::int, 0,
        NULL, NULL, NULL, ol_number, CASE WHEN ol_delivery_d IS NULL THEN 0 ELSE ol_amount END
    FROM order_line WHERE ol_w_id BETWEEN :first AND :last
    UNION ALL
    SELECT no_w_id, no_d_id, no_o_id, 0, 0, 0, 1, NULL, NULL, NULL, NULL, 0
    FROM new_order WHERE no_w_id BETWEEN :first AND :last
),
an_order AS (
    SELECT w, d, o, sum(orders) AS orders, sum(lines) AS lines, sum(dated) AS dated, sum(queued) AS queued, max(c) AS c,
        sum(announced) AS announced, max(carrier) AS carrier, min(number) AS least, max(number) AS most, sum(value) AS value
    FROM parts GROUP BY w, d, o
),
numbered AS (
    SELECT w, d, sum(orders) AS orders, sum(queued) AS queued, sum(announced) AS announced, sum(lines) AS lines,
        min(o) FILTER (WHERE orders > 0) AS first_o, max(o) FILTER (WHERE orders > 0) AS last_o,
        min(o) FILTER (WHERE queued > 0) AS first_queued, max(o) FILTER (WHERE queued > 0) AS last_queued
    FROM an_order GROUP BY w, d
),
received AS (
    SELECT h_w_id AS w, h_d_id AS d, sum(h_amount) AS paid, count(*) AS payments
    FROM history WHERE h_w_id BETWEEN :first AND :last GROUP BY 1, 2
),
served AS (
    SELECT c_w_id AS w, c_d_id AS d, count(*) AS customers, sum(c_delivery_cnt) AS deliveries
    FROM customer WHERE c_w_id BETWEEN :first AND :last GROUP BY 1, 2
),
a_district AS (
    SELECT * FROM (
        SELECT d_w_id AS w, d_id AS d, d_ytd AS ytd, d_next_o_id AS next_o
        FROM district WHERE d_w_id BETWEEN :first AND :last
    ) itself
    FULL JOIN numbered USING (w, d) FULL JOIN received USING (w, d) FULL JOIN served USING (w, d)
),
a_warehouse AS (
    SELECT * FROM (SELECT w_id AS w, w_ytd AS ytd FROM warehouse WHERE w_id BETWEEN :first AND :last) itself
    FULL JOIN (
        SELECT w, sum(ytd) AS of_districts, count(ytd) AS districts, sum(paid) AS paid FROM a_district GROUP BY w
    ) below USING (w)
),
delivered AS (
    SELECT w, d, c, sum(value) AS delivered FROM an_order WHERE orders > 0 GROUP BY w, d, c
),
paying AS (
    SELECT h_c_w_id AS w, h_c_d_id AS d, h_c_id AS c, sum(h_amount) AS paid, count(*) AS payments
    FROM history WHERE h_c_w_id BETWEEN :first AND :last GROUP BY 1, 2, 3
),
a_customer AS (
    SELECT w, d, c, balance, ytd, payment_cnt, coalesce(delivered, 0) AS delivered, coalesce(paid, 0) AS paid,
        coalesce(payments, 0) AS payments
    FROM (
        SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance AS balance, c_ytd_payment AS ytd,
            c_payment_cnt AS payment_cnt
        FROM customer WHERE c_w_id BETWEEN :first AND :last
    ) itself
    FULL JOIN delivered USING (w, d, c) FULL JOIN paying USING (w, d, c)
),
found(condition, w, d, what, number) AS (
    SELECT 1, w, NULL::int, NULL::text, NULL::int FROM a_warehouse WHERE ytd IS DISTINCT FROM of_districts
    UNION ALL
    SELECT 2, w, d, NULL, NULL FROM a_district WHERE last_o IS DISTINCT FROM next_o - 1 OR last_queued <> next_o - 1
    UNION ALL
    SELECT 3, w, d, NULL, NULL FROM a_district WHERE last_queued - first_queued + 1 <> queued
    UNION ALL
    SELECT 4, w, d, NULL, NULL FROM a_district WHERE announced IS DISTINCT FROM lines
    UNION ALL
    SELECT 5, w, d, 'order', o FROM an_order
    WHERE CASE WHEN orders = 0 THEN queued > 0 ELSE (carrier IS NULL) <> (queued > 0) END
    UNION ALL
    SELECT 6, w, d, 'order', o FROM an_order WHERE orders + lines > 0 AND announced IS DISTINCT FROM lines
    UNION ALL
    SELECT 7, w, d, 'order', o FROM an_order
    WHERE lines > 0 AND CASE WHEN orders = 0 THEN true WHEN carrier IS NULL THEN dated > 0 ELSE dated < lines END
    UNION ALL
    SELECT 8, w, NULL, NULL, NULL FROM a_warehouse WHERE ytd IS DISTINCT FROM coalesce(paid, 0)
    UNION ALL
    SELECT 9, w, d, NULL, NULL FROM a_district WHERE ytd IS DISTINCT FROM coalesce(paid, 0)
    UNION ALL
    SELECT 10, w, d, 'customer', c FROM a_customer WHERE balance IS DISTINCT FROM delivered - paid
    UNION ALL
    -- 2,100 of a district's 3,000 initial orders are delivered, but not included in C_DELIVERY_CNT.
    SELECT 11, w, d, NULL, NULL FROM a_district
    WHERE coalesce(orders, 0) - coalesce(queued, 0) - coalesce(deliveries, 0) <> 2100
    UNION ALL
    SELECT 12, w, d, 'customer', c FROM a_customer WHERE balance + ytd IS DISTINCT FROM delivered
    UNION ALL
    SELECT 13, w, d, NULL, NULL FROM a_district WHERE first_o IS DISTINCT FROM 1 OR orders IS DISTINCT FROM next_o - 1
    UNION ALL
    SELECT 14, w, d, 'order', o FROM an_order WHERE lines > 0 AND (least <> 1 OR most <> lines)
    UNION ALL
    SELECT 15, w, d, 'customer', c FROM a_customer
    WHERE payment_cnt IS DISTINCT FROM payments OR ytd IS DISTINCT FROM paid
    UNION ALL
    SELECT 17, w, NULL, NULL, NULL FROM a_warehouse WHERE ytd IS NULL OR districts IS DISTINCT FROM 10
    UNION ALL
    SELECT 17, w, d, NULL, NULL FROM a_district WHERE customers IS DISTINCT FROM 3000
),
counted AS (
    SELECT *, count(*) OVER (PARTITION BY condition) AS times, row_number() OVER (PARTITION BY condition) AS at FROM found
)
SELECT condition, w, d, what, number, CASE WHEN at = :examples THEN times - at + 1 ELSE 1 END
FROM counted WHERE at <= :examples
UNION ALL
SELECT 0, NULL, NULL, NULL, NULL, coalesce((SELECT sum(orders + lines + queued) FROM an_order), 0)
    + coalesce((SELECT sum(payments) FROM a_district), 0) + (SELECT count(balance) FROM a_customer)
    + (SELECT count(ytd) FROM a_district) + (SELECT count(ytd) FROM a_warehouse)
