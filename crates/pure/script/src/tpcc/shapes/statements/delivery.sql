-- Delivery (clause 2.7), of all districts in one transaction. One without an order that waits is passed over (2.7.4.2).
BEGIN;
WITH oldest AS (
    SELECT d_id, no_o_id
    FROM generate_series(1, 10) AS d_id,
         LATERAL (SELECT no_o_id FROM new_order WHERE no_w_id = :w_id AND no_d_id = d_id
                  ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS waiting
), gone AS (
    DELETE FROM new_order USING oldest
    WHERE no_w_id = :w_id AND no_d_id = d_id AND new_order.no_o_id = oldest.no_o_id
    RETURNING no_d_id, new_order.no_o_id
)
SELECT count(*) AS delivered, coalesce(array_agg(no_d_id ORDER BY no_d_id), '{}') AS d_ids,
       coalesce(array_agg(no_o_id ORDER BY no_d_id), '{}') AS o_ids
FROM gone \gset
WITH carried AS (
    UPDATE orders SET o_carrier_id = :carrier_id
    FROM unnest(:d_ids::int[], :o_ids::int[]) AS gone (d_id, no_o_id)
    WHERE o_w_id = :w_id AND o_d_id = d_id AND o_id = no_o_id
    RETURNING o_d_id, o_c_id
)
SELECT coalesce(array_agg(o_c_id ORDER BY o_d_id), '{}') AS c_ids FROM carried \gset
WITH arrived AS (
    UPDATE order_line SET ol_delivery_d = now() AT TIME ZONE 'UTC'
    FROM unnest(:d_ids::int[], :o_ids::int[]) AS gone (d_id, no_o_id)
    WHERE ol_w_id = :w_id AND ol_d_id = d_id AND ol_o_id = no_o_id
    RETURNING ol_d_id, ol_amount
), owed AS (
    SELECT ol_d_id, sum(ol_amount) AS amount FROM arrived GROUP BY ol_d_id
)
SELECT coalesce(array_agg(amount ORDER BY ol_d_id), '{}') AS amounts FROM owed \gset
UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
FROM unnest(:d_ids::int[], :c_ids::int[], :amounts::numeric[]) AS owed (d_id, o_c_id, amount)
WHERE c_w_id = :w_id AND c_d_id = d_id AND c_id = o_c_id;
END;
