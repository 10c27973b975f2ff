//! Customers and their payments.

use super::{Population, Row, Table, place, places::address};
use crate::tpcc::{CUSTOMERS, last_name};

/// Of a district so many customers have a last name of their own; the others' are drawn (clause 4.3.3.1).
const NAMED: u64 = 1_000;
/// What every customer paid, in cents.
const PAID: i64 = 1_000;
/// In cents.
const CREDIT_LIMIT: i64 = 5_000_000;

pub(super) const CUSTOMER: &[&str] = &[
    "c_id",
    "c_d_id",
    "c_w_id",
    "c_first",
    "c_middle",
    "c_last",
    "c_street_1",
    "c_street_2",
    "c_city",
    "c_state",
    "c_zip",
    "c_phone",
    "c_since",
    "c_credit",
    "c_credit_lim",
    "c_discount",
    "c_balance",
    "c_ytd_payment",
    "c_payment_cnt",
    "c_delivery_cnt",
    "c_data",
];

pub(super) const HISTORY: &[&str] =
    &["h_c_id", "h_c_d_id", "h_c_w_id", "h_d_id", "h_w_id", "h_date", "h_amount", "h_data"];

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

/// The payment that a customer begins with.
pub(super) fn history(population: &Population, number: u64, row: &mut Row) {
    let (warehouse, district, customer) = place(number, CUSTOMERS);
    row.integer(customer).integer(district).integer(warehouse).integer(district).integer(warehouse);
    row.time(population.at_us).decimal(PAID, 2);
    row.characters(&mut population.draws(Table::History, number), 12, 24);
}
