SELECT tpcc_delivery(:w_id, :carrier_id) AS delivered \gset
