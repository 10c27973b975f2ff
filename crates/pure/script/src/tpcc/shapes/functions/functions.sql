-- The five transactions as functions of the server, which the shape "functions" calls. Their parameters are what a
-- terminal enters, and they answer with what it shows.

CREATE FUNCTION tpcc_new_order(
    p_w_id int, p_d_id int, p_c_id int, p_all_local int, p_i_ids int[], p_supply_w_ids int[], p_quantities int[],
    OUT order_id int, OUT total numeric, OUT last_name text, OUT credit text, OUT names text[], OUT left_over int[],
    OUT brands text[], OUT prices numeric[], OUT amounts numeric[]
) LANGUAGE plpgsql AS $function$
DECLARE
    tax numeric;
    district_tax numeric;
    discount numeric;
    lines_found int;
BEGIN
    SELECT w_tax, c_discount, c_last, c_credit INTO tax, discount, last_name, credit
    FROM warehouse, customer
    WHERE w_id = p_w_id AND c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = p_c_id;
    UPDATE district SET d_next_o_id = d_next_o_id + 1
    WHERE d_w_id = p_w_id AND d_id = p_d_id
    RETURNING d_tax, d_next_o_id - 1 INTO district_tax, order_id;
    tax := tax + district_tax;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (order_id, p_d_id, p_w_id, p_c_id, now() AT TIME ZONE 'UTC', NULL, cardinality(p_i_ids), p_all_local);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (order_id, p_d_id, p_w_id);
    -- A line each. An item that is named twice is supplied once, by its sum: what is left is as line by line,
    -- since quantities of up to 10 wrap around at 10 by 91 each time (2.4.2.2).
    WITH line AS (
        SELECT i_id, supply_w_id, quantity, number
        FROM unnest(p_i_ids::int[], p_supply_w_ids::int[], p_quantities::int[])
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
            s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = p_w_id THEN 0 ELSE taken.lines END
        FROM taken
        WHERE s_w_id = taken.supply_w_id AND s_i_id = taken.i_id
        RETURNING s_i_id, s_w_id, s_quantity, s_data,
            CASE p_d_id::int WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
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
        SELECT order_id, p_d_id, p_w_id, number, i_id, supply_w_id, quantity, amount, s_dist
        FROM priced
    )
    SELECT count(*), sum(amount) * (1 - discount) * (1 + tax),
           array_agg(i_name ORDER BY number), array_agg(s_quantity ORDER BY number),
           array_agg(brand ORDER BY number), array_agg(i_price ORDER BY number),
           array_agg(amount ORDER BY number)
    INTO lines_found, total, names, left_over, brands, prices, amounts
    FROM priced;
    IF lines_found < cardinality(p_i_ids) THEN
        RAISE EXCEPTION 'item number is not valid' USING ERRCODE = 'TPC01';
    END IF;
END
$function$;

CREATE FUNCTION tpcc_payment(
    p_w_id int, p_d_id int, p_c_w_id int, p_c_d_id int, p_by_name boolean, p_c_id int, p_c_last text, p_amount numeric,
    p_attempt text, OUT warehouse_row warehouse, OUT district_row district, OUT customer_row customer
) LANGUAGE plpgsql AS $function$
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w_id RETURNING * INTO warehouse_row;
    UPDATE district SET d_ytd = d_ytd + p_amount
    WHERE d_w_id = p_w_id AND d_id = p_d_id RETURNING * INTO district_row;
    IF p_by_name THEN
        SELECT (array_agg(c_id ORDER BY c_first, c_id))[((count(*) + 1) / 2)::int] INTO p_c_id
        FROM customer WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_c_last;
    END IF;
    UPDATE customer
    SET c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount, c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE WHEN c_credit = 'BC' THEN
                     left(concat_ws(' ', c_id, c_d_id, c_w_id, p_d_id, p_w_id, p_amount, c_data), 500)
                     ELSE c_data END
    WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = p_c_id
    RETURNING * INTO customer_row;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (p_c_id, p_c_d_id, p_c_w_id, p_d_id, p_w_id, now() AT TIME ZONE 'UTC', p_amount,
            left(warehouse_row.w_name || '    ' || district_row.d_name, 23 - length(p_attempt)) || ' ' || p_attempt);
END
$function$;

CREATE FUNCTION tpcc_order_status(
    p_w_id int, p_d_id int, p_by_name boolean, p_c_id int, p_c_last text, OUT customer_row customer,
    OUT order_row orders, OUT lines order_line[]
) LANGUAGE plpgsql AS $function$
BEGIN
    IF p_by_name THEN
        SELECT (array_agg(c_id ORDER BY c_first, c_id))[((count(*) + 1) / 2)::int] INTO p_c_id
        FROM customer WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_last = p_c_last;
    END IF;
    SELECT * INTO customer_row FROM customer WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = p_c_id;
    SELECT * INTO order_row FROM orders
    WHERE o_w_id = p_w_id AND o_d_id = p_d_id AND o_c_id = p_c_id
    ORDER BY o_id DESC LIMIT 1;
    SELECT array_agg(order_line) INTO lines FROM order_line
    WHERE ol_w_id = p_w_id AND ol_d_id = p_d_id AND ol_o_id = order_row.o_id;
END
$function$;

CREATE FUNCTION tpcc_delivery(p_w_id int, p_carrier_id int) RETURNS bigint LANGUAGE plpgsql AS $function$
DECLARE
    delivered bigint;
BEGIN
    WITH oldest AS (
        SELECT d_id, no_o_id
        FROM generate_series(1, 10) AS d_id,
             LATERAL (SELECT no_o_id FROM new_order WHERE no_w_id = p_w_id AND no_d_id = d_id
                      ORDER BY no_o_id LIMIT 1 FOR UPDATE) AS waiting
    ), gone AS (
        DELETE FROM new_order USING oldest
        WHERE no_w_id = p_w_id AND no_d_id = d_id AND new_order.no_o_id = oldest.no_o_id
        RETURNING no_d_id, new_order.no_o_id
    ), carried AS (
        UPDATE orders SET o_carrier_id = p_carrier_id
        FROM gone
        WHERE o_w_id = p_w_id AND o_d_id = no_d_id AND o_id = no_o_id
        RETURNING o_d_id, o_c_id
    ), arrived AS (
        UPDATE order_line SET ol_delivery_d = now() AT TIME ZONE 'UTC'
        FROM gone
        WHERE ol_w_id = p_w_id AND ol_d_id = no_d_id AND ol_o_id = no_o_id
        RETURNING ol_d_id, ol_amount
    ), owed AS (
        SELECT o_d_id, o_c_id, sum(ol_amount) AS amount
        FROM carried JOIN arrived ON ol_d_id = o_d_id
        GROUP BY o_d_id, o_c_id
    ), credited AS (
        UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
        FROM owed
        WHERE c_w_id = p_w_id AND c_d_id = o_d_id AND c_id = o_c_id
    )
    SELECT count(*) INTO delivered FROM gone;
    RETURN delivered;
END
$function$;

CREATE FUNCTION tpcc_stock_level(p_w_id int, p_d_id int, p_threshold int) RETURNS bigint LANGUAGE plpgsql
AS $function$
DECLARE
    next_id int;
    low_stock bigint;
BEGIN
    SELECT d_next_o_id INTO next_id FROM district WHERE d_w_id = p_w_id AND d_id = p_d_id;
    SELECT count(DISTINCT s_i_id) INTO low_stock
    FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
    WHERE ol_w_id = p_w_id AND ol_d_id = p_d_id AND ol_o_id >= next_id - 20 AND ol_o_id < next_id
      AND s_w_id = p_w_id AND s_quantity < p_threshold;
    RETURN low_stock;
END
$function$;
