-- Stock-Level (clause 2.8): items of the last 20 orders that run low.
BEGIN;
SELECT d_next_o_id FROM district WHERE d_w_id = :w_id AND d_id = :d_id \gset
SELECT count(DISTINCT s_i_id) AS low_stock
FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id >= :d_next_o_id::int - 20 AND ol_o_id < :d_next_o_id
  AND s_w_id = :w_id AND s_quantity < :threshold;
END;
