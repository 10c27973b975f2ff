SELECT * FROM tpcc_order_status(:w_id, :d_id, :by_name::int = 1, :c_id, :c_last);
