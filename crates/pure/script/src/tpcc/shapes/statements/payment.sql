-- Payment (clause 2.5). history.h_data has the number of the attempt behind the names of warehouse and district.
BEGIN;
UPDATE warehouse SET w_ytd = w_ytd + :amount
WHERE w_id = :w_id
RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip \gset
UPDATE district SET d_ytd = d_ytd + :amount
WHERE d_w_id = :w_id AND d_id = :d_id
RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip \gset
\if :by_name
-- The one in the middle, by first names (2.5.2.2).
SELECT (array_agg(c_id ORDER BY c_first, c_id))[((count(*) + 1) / 2)::int] AS c_id
FROM customer WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_last = :c_last \gset
\endif
WITH paid AS (
    UPDATE customer
    SET c_balance = c_balance - :amount, c_ytd_payment = c_ytd_payment + :amount, c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE WHEN c_credit = 'BC' THEN
                     left(concat_ws(' ', c_id, c_d_id, c_w_id, :d_id::int, :w_id::int, :amount::numeric, c_data), 500)
                     ELSE c_data END
    WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id
    RETURNING *
), kept AS (
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    SELECT c_id, c_d_id, c_w_id, :d_id::int, :w_id::int, now() AT TIME ZONE 'UTC', :amount::numeric,
           left(:w_name::text || '    ' || :d_name::text, 23 - length(:attempt::text)) || ' ' || :attempt::text
    FROM paid
)
SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
       c_credit_lim, c_discount, c_balance, CASE WHEN c_credit = 'BC' THEN left(c_data, 200) END AS c_data
FROM paid;
END;
