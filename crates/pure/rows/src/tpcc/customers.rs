//! Rows of customers and their payment history.

use pgdyno_core::tpcc::{CUSTOMERS, last_name};

use super::{
    Population,
    field::{Field, int, money, numeric, text, time, varchar},
    row::Row,
    table::{Table, place},
    warehouses::address,
};

/// Number of customers of a district with a fixed last name; the others' are drawn (clause 4.3.3.1).
const NAMED: u64 = 1_000;
/// Initial payment of every customer, in cents.
const PAID: i64 = 1_000;
/// Credit limit in cents.
const CREDIT_LIMIT: i64 = 5_000_000;

pub(super) const CUSTOMER: &[Field] = &[
    int("c_id"),
    int("c_d_id"),
    int("c_w_id"),
    varchar("c_first", 16),
    text("c_middle", 2),
    varchar("c_last", 16),
    varchar("c_street_1", 20),
    varchar("c_street_2", 20),
    varchar("c_city", 20),
    text("c_state", 2),
    text("c_zip", 9),
    text("c_phone", 16),
    time("c_since"),
    text("c_credit", 2),
    money("c_credit_lim"),
    numeric("c_discount", 4, 4),
    money("c_balance"),
    money("c_ytd_payment"),
    int("c_payment_cnt"),
    int("c_delivery_cnt"),
    varchar("c_data", 500),
];

pub(super) const HISTORY: &[Field] = &[
    int("h_c_id"),
    int("h_c_d_id"),
    int("h_c_w_id"),
    int("h_d_id"),
    int("h_w_id"),
    time("h_date"),
    numeric("h_amount", 6, 2),
    varchar("h_data", 24),
];

pub(super) fn customer(population: &Population, number: u64, row: &mut Row) {
    let mut draws = population.draws(Table::Customer, number);
    let (warehouse, district, id) = place(number, CUSTOMERS);
    row.integer(id).integer(district).integer(warehouse);
    row.characters(&mut draws, 8, 16).text(|out| out.extend(b"OE"));
    let name = if id <= NAMED { id - 1 } else { population.last_names().draw(&mut draws) };
    row.text(|out| last_name(name, out));
    address(&mut draws, row);
    row.text(|out| draws.digits(16, 16, out)).time(population.at_us);
    let credit = if draws.happens(10) { b"BC" } else { b"GC" };
    row.text(|out| out.extend(credit)).decimal(CREDIT_LIMIT, 2);
    row.decimal(draws.within(0, 5_000) as i64, 4);
    row.decimal(-PAID, 2).decimal(PAID, 2).integer(1).integer(0);
    row.characters(&mut draws, 300, 500);
}

/// Initial payment of a customer.
pub(super) fn history(population: &Population, number: u64, row: &mut Row) {
    let (warehouse, district, customer) = place(number, CUSTOMERS);
    row.integer(customer).integer(district).integer(warehouse).integer(district).integer(warehouse);
    row.time(population.at_us).decimal(PAID, 2);
    row.characters(&mut population.draws(Table::History, number), 12, 24);
}
