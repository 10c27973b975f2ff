-- Compares the counters of stock of warehouses :first to :last with the order lines that it supplied, without the first
-- 3,000 orders of a district. Rows are as in conditions.sql.
WITH
supplied AS (
    SELECT ol_supply_w_id AS w, ol_i_id AS i, sum(ol_quantity) AS quantity, count(*) AS times,
        count(*) FILTER (WHERE ol_w_id <> ol_supply_w_id) AS remote
    FROM order_line WHERE ol_supply_w_id BETWEEN :first AND :last AND ol_o_id > 3000 GROUP BY 1, 2
),
kept AS (
    SELECT s_w_id AS w, s_i_id AS i, s_ytd, s_order_cnt, s_remote_cnt
    FROM stock WHERE s_w_id BETWEEN :first AND :last
),
compared AS (
    SELECT w, i, s_ytd IS NOT NULL AS there, s_ytd IS DISTINCT FROM coalesce(quantity, 0)
        OR s_order_cnt IS DISTINCT FROM coalesce(times, 0) OR s_remote_cnt IS DISTINCT FROM coalesce(remote, 0) AS wrong
    FROM kept FULL JOIN supplied USING (w, i)
),
a_warehouse AS (
    SELECT w, count(*) FILTER (WHERE there) AS kept, count(*) FILTER (WHERE wrong) AS wrong,
        min(i) FILTER (WHERE wrong) AS first_wrong
    FROM compared GROUP BY w
)
SELECT 16, w, NULL::int, 'item', first_wrong, wrong FROM a_warehouse WHERE wrong > 0
UNION ALL
SELECT 17, w, NULL, NULL, NULL, 1
FROM (SELECT w_id AS w FROM warehouse WHERE w_id BETWEEN :first AND :last) itself FULL JOIN a_warehouse USING (w)
WHERE coalesce(kept, 0) <> 100000
UNION ALL
SELECT 0, NULL, NULL, NULL, NULL, coalesce(sum(kept), 0) FROM a_warehouse
