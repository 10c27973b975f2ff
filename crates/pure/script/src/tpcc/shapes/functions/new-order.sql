-- New-Order (clause 2.4): an item that is not there is an error of the function, TPC01, which ends its transaction.
SELECT order_id AS o_id, *
FROM tpcc_new_order(:w_id, :d_id, :c_id, :all_local, :i_ids::int[], :supply_w_ids::int[], :quantities::int[]) \gset
