-- Order-Status (clause 2.6) in one round trip.
\startpipeline
BEGIN;
SELECT c_id, c_balance, c_first, c_middle, c_last FROM customer
WHERE c_w_id = :w_id AND c_d_id = :d_id
      AND c_id = CASE WHEN :by_name::int = 1 THEN
              (SELECT (array_agg(c_id ORDER BY c_first, c_id))[((count(*) + 1) / 2)::int] FROM customer
               WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_last = :c_last)
              ELSE :c_id END;
SELECT o_id, o_entry_d, o_carrier_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
FROM (SELECT o_id, o_entry_d, o_carrier_id FROM orders
      WHERE o_w_id = :w_id AND o_d_id = :d_id
        AND o_c_id = CASE WHEN :by_name::int = 1 THEN
              (SELECT (array_agg(c_id ORDER BY c_first, c_id))[((count(*) + 1) / 2)::int] FROM customer
               WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_last = :c_last)
              ELSE :c_id END
      ORDER BY o_id DESC LIMIT 1) AS latest
JOIN order_line ON ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id = o_id;
END;
\endpipeline
