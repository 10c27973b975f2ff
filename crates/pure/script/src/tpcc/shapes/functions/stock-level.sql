SELECT tpcc_stock_level(:w_id, :d_id, :threshold) AS low_stock;
