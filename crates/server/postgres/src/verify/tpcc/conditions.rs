//! Consistency conditions of the TPC-C tables.

/// A consistency condition, numbered from 1 in the queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition {
    /// Number of the clause, or a keyword.
    pub name: &'static str,
    /// The condition in words.
    pub words: &'static str,
}

const fn condition(name: &'static str, words: &'static str) -> Condition {
    Condition { name, words }
}

/// Conditions 1 to 12 of clause 3.3.2, followed by our own.
pub const CONDITIONS: [Condition; 17] = [
    condition("3.3.2.1", "W_YTD of a warehouse is the sum of its districts' D_YTD"),
    condition("3.3.2.2", "D_NEXT_O_ID - 1 is the largest O_ID and the largest NO_O_ID of a district"),
    condition("3.3.2.3", "NO_O_ID of a district's new orders has no gap"),
    condition("3.3.2.4", "the sum of O_OL_CNT of a district is the number of its order lines"),
    condition("3.3.2.5", "O_CARRIER_ID is null if and only if the order is a new order"),
    condition("3.3.2.6", "O_OL_CNT of an order is the number of its order lines"),
    condition("3.3.2.7", "OL_DELIVERY_D is null if and only if the order's O_CARRIER_ID is null"),
    condition("3.3.2.8", "W_YTD of a warehouse is the sum of H_AMOUNT paid to it"),
    condition("3.3.2.9", "D_YTD of a district is the sum of H_AMOUNT paid to it"),
    condition("3.3.2.10", "C_BALANCE is the sum of delivered OL_AMOUNT less the sum of H_AMOUNT"),
    condition("3.3.2.11", "orders less new orders of a district are 2,100 plus its C_DELIVERY_CNT"),
    condition("3.3.2.12", "C_BALANCE + C_YTD_PAYMENT is the sum of delivered OL_AMOUNT"),
    condition("orders", "O_ID of a district's orders begins with 1 and has no gap"),
    condition("lines", "OL_NUMBER of an order's lines begins with 1 and has no gap"),
    condition("payments", "C_PAYMENT_CNT and C_YTD_PAYMENT match the customer's rows of history"),
    condition("stock", "S_YTD, S_ORDER_CNT and S_REMOTE_CNT match the order lines supplied"),
    condition("rows", "districts, customers, stock and items have the right number of rows"),
];
