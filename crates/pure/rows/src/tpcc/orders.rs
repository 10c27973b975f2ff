//! Rows of orders, order lines, and new orders.

use pgdyno_core::tpcc::{CUSTOMERS, FIRST_OPEN_ORDER, ITEMS, ORDERS};

use super::{
    Population,
    field::{Field, int, numeric, text, time},
    row::Row,
    table::{RowSink, Table, place},
};
use crate::Part;

/// Number of undelivered orders of a district.
pub(super) const OPEN: u64 = ORDERS + 1 - FIRST_OPEN_ORDER;
/// Upper bound of the lines of an order, used to number lines.
const LINES: u64 = 16;

pub(super) const NEW_ORDER: &[Field] = &[int("no_o_id"), int("no_d_id"), int("no_w_id")];

pub(super) const ORDERS_COLUMNS: &[Field] = &[
    int("o_id"),
    int("o_d_id"),
    int("o_w_id"),
    int("o_c_id"),
    time("o_entry_d"),
    int("o_carrier_id").or_null(),
    int("o_ol_cnt"),
    int("o_all_local"),
];

pub(super) const ORDER_LINE: &[Field] = &[
    int("ol_o_id"),
    int("ol_d_id"),
    int("ol_w_id"),
    int("ol_number"),
    int("ol_i_id"),
    int("ol_supply_w_id"),
    time("ol_delivery_d").or_null(),
    int("ol_quantity"),
    numeric("ol_amount", 6, 2),
    text("ol_dist_info", 24),
];

pub(super) fn new_order(_: &Population, number: u64, row: &mut Row) {
    let (warehouse, district, open) = place(number, OPEN);
    row.integer(FIRST_OPEN_ORDER - 1 + open).integer(district).integer(warehouse);
}

/// Values shared by an order and its lines, drawn from the order's stream.
struct Order {
    warehouse: u64,
    district: u64,
    id: u64,
    lines: u64,
    /// `None` for an undelivered order.
    carrier: Option<u64>,
}

impl Order {
    fn new(population: &Population, number: u64) -> Self {
        let mut draws = population.draws(Table::Orders, number);
        let (warehouse, district, id) = place(number, ORDERS);
        let lines = draws.within(5, 15);
        let carrier = (id < FIRST_OPEN_ORDER).then(|| draws.within(1, 10));
        Self { warehouse, district, id, lines, carrier }
    }
}

/// The customers of a district in random order, one for each order.
fn customers(population: &Population, district: u64) -> Vec<u16> {
    // A number above those of all orders, so that no order has the same stream.
    let mut draws = population.draws(Table::Orders, u64::MAX - district);
    let mut customers: Vec<u16> = (1..=CUSTOMERS as u16).collect();
    for last in (1..customers.len()).rev() {
        customers.swap(last, draws.within(0, last as u64) as usize);
    }
    customers
}

pub(super) fn each_order(population: &Population, part: Part, sink: &mut RowSink<'_>) {
    let (mut row, mut known) = (Row::default(), None);
    for number in part.first..part.end {
        let district = number / ORDERS;
        let (_, customers) = match known.take() {
            Some((of, customers)) if of == district => known.insert((of, customers)),
            _ => known.insert((district, customers(population, district))),
        };
        let order = Order::new(population, number);
        row.clear();
        row.integer(order.id).integer(order.district).integer(order.warehouse);
        row.integer(customers[(number % ORDERS) as usize].into()).time(population.at_us);
        match order.carrier {
            Some(carrier) => row.integer(carrier),
            None => row.null(),
        };
        row.integer(order.lines).integer(1);
        sink(number + 1, &mut row);
    }
}

pub(super) fn each_line(population: &Population, part: Part, sink: &mut RowSink<'_>) {
    let mut row = Row::default();
    for number in part.first..part.end {
        let order = Order::new(population, number);
        let mut draws = population.draws(Table::OrderLine, number);
        for line in 1..=order.lines {
            row.clear();
            row.integer(order.id).integer(order.district).integer(order.warehouse).integer(line);
            row.integer(draws.within(1, ITEMS)).integer(order.warehouse);
            // Amounts of delivered lines are 0; those of others are 0.01 to 9,999.99.
            match order.carrier {
                Some(_) => row.time(population.at_us).integer(5).decimal(0, 2),
                None => row.null().integer(5).decimal(draws.within(1, 999_999) as i64, 2),
            };
            row.text(|out| draws.characters(24, 24, out));
            sink(number * LINES + line, &mut row);
        }
    }
}
