-- Delivery (clause 2.7) in one statement. A district without an order that waits is passed over (2.7.4.2).
WITH oldest AS (
    SELECT d_id, no_o_id
    FROM generate_series(1, 10) AS d_id,
         LATERAL (SELECT no_o_id FROM new_order WHERE no_w_id = :w_id AND no_d_id = d_id
                  ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS waiting
), gone AS (
    DELETE FROM new_order USING oldest
    WHERE no_w_id = :w_id AND no_d_id = d_id AND new_order.no_o_id = oldest.no_o_id
    RETURNING no_d_id, new_order.no_o_id
), carried AS (
    UPDATE orders SET o_carrier_id = :carrier_id
    FROM gone
    WHERE o_w_id = :w_id AND o_d_id = no_d_id AND o_id = no_o_id
    RETURNING o_d_id, o_c_id
), arrived AS (
    UPDATE order_line SET ol_delivery_d = now() AT TIME ZONE 'UTC'
    FROM gone
    WHERE ol_w_id = :w_id AND ol_d_id = no_d_id AND ol_o_id = no_o_id
    RETURNING ol_d_id, ol_amount
), owed AS (
    SELECT o_d_id, o_c_id, sum(ol_amount) AS amount
    FROM carried JOIN arrived ON ol_d_id = o_d_id
    GROUP BY o_d_id, o_c_id
), credited AS (
    UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
    FROM owed
    WHERE c_w_id = :w_id AND c_d_id = o_d_id AND c_id = o_c_id
)
SELECT count(*) AS delivered FROM gone \gset
