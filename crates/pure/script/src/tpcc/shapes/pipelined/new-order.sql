-- New-Order (clause 2.4) in three round trips: all that needs no answer goes at once, and what the client has to know
-- before it commits is whether all items were found.
\startpipeline
BEGIN;
UPDATE district SET d_next_o_id = d_next_o_id + 1
WHERE d_w_id = :w_id AND d_id = :d_id
RETURNING d_tax, d_next_o_id - 1;
SELECT w_tax, c_discount, c_last, c_credit
FROM warehouse, customer
WHERE w_id = :w_id AND c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id;
INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
SELECT d_next_o_id - 1, d_id, d_w_id, :c_id::int, now() AT TIME ZONE 'UTC', NULL, :ol_cnt::int, :all_local::int
FROM district WHERE d_w_id = :w_id AND d_id = :d_id;
INSERT INTO new_order (no_o_id, no_d_id, no_w_id)
SELECT d_next_o_id - 1, d_id, d_w_id FROM district WHERE d_w_id = :w_id AND d_id = :d_id;
\endpipeline
-- A line each. An item that is named twice is supplied once, by its sum: what is left is as line by line,
-- since quantities of up to 10 wrap around at 10 by 91 each time (2.4.2.2).
WITH placed AS (
    SELECT d_next_o_id - 1 AS o_id FROM district WHERE d_w_id = :w_id AND d_id = :d_id
), line AS (
    SELECT i_id, supply_w_id, quantity, number
    FROM unnest(:i_ids::int[], :supply_w_ids::int[], :quantities::int[])
         WITH ORDINALITY AS entered (i_id, supply_w_id, quantity, number)
), taken AS (
    SELECT i_id, supply_w_id, sum(quantity)::int AS quantity, count(*)::int AS lines
    FROM line GROUP BY i_id, supply_w_id ORDER BY supply_w_id, i_id
), supplied AS (
    UPDATE stock
    SET s_quantity = s_quantity - taken.quantity
            + CASE WHEN s_quantity - taken.quantity >= 10 THEN 0
                   ELSE 91 * ((100 + taken.quantity - s_quantity) / 91) END,
        s_ytd = s_ytd + taken.quantity,
        s_order_cnt = s_order_cnt + taken.lines,
        s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = :w_id THEN 0 ELSE taken.lines END
    FROM taken
    WHERE s_w_id = taken.supply_w_id AND s_i_id = taken.i_id
    RETURNING s_i_id, s_w_id, s_quantity, s_data,
        CASE :d_id::int WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
            WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
            WHEN 9 THEN s_dist_09 WHEN 10 THEN s_dist_10 END AS s_dist
), priced AS (
    SELECT number, line.i_id, supply_w_id, quantity, quantity * i_price AS amount, s_dist, i_name, i_price,
           s_quantity,
           CASE WHEN i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END AS brand
    FROM line
    JOIN item ON item.i_id = line.i_id
    JOIN supplied ON s_w_id = supply_w_id AND s_i_id = line.i_id
), ordered AS (
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
                            ol_dist_info)
    SELECT (SELECT o_id FROM placed), :d_id::int, :w_id::int, number, i_id, supply_w_id, quantity, amount, s_dist
    FROM priced
)
SELECT count(*) AS found, (SELECT o_id FROM placed) AS o_id,
       (SELECT sum(amount) * (1 - c_discount) * (1 + w_tax + d_tax) FROM warehouse, district, customer
        WHERE w_id = :w_id AND d_w_id = :w_id AND d_id = :d_id
          AND c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id) AS total,
       array_agg(i_name ORDER BY number) AS names, array_agg(s_quantity ORDER BY number) AS left_over,
       array_agg(brand ORDER BY number) AS brands, array_agg(i_price ORDER BY number) AS prices,
       array_agg(amount ORDER BY number) AS amounts
FROM priced \gset
\if :found = :ol_cnt
END;
\else
ROLLBACK;
\endif
