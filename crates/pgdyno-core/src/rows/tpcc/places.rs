//! Warehouses and districts.

use super::{Population, Row, Table, place};
use crate::tpcc::{DISTRICTS, Draws, ORDERS};

/// Of a district, in cents: what its customers paid, 10.00 each.
const DISTRICT_YTD: i64 = 3_000_000;

pub(super) const WAREHOUSE: &[&str] =
    &["w_id", "w_name", "w_street_1", "w_street_2", "w_city", "w_state", "w_zip", "w_tax", "w_ytd"];

pub(super) const DISTRICT: &[&str] = &[
    "d_id",
    "d_w_id",
    "d_name",
    "d_street_1",
    "d_street_2",
    "d_city",
    "d_state",
    "d_zip",
    "d_tax",
    "d_ytd",
    "d_next_o_id",
];

pub(super) fn warehouse(population: &Population, number: u64, row: &mut Row) {
    let mut draws = population.draws(Table::Warehouse, number);
    row.integer(number + 1).characters(&mut draws, 6, 10);
    address(&mut draws, row);
    tax(&mut draws, row);
    row.decimal(DISTRICT_YTD * DISTRICTS as i64, 2);
}

pub(super) fn district(population: &Population, number: u64, row: &mut Row) {
    let (mut draws, (warehouse, id, _)) = (population.draws(Table::District, number), place(number, 1));
    row.integer(id).integer(warehouse).characters(&mut draws, 6, 10);
    address(&mut draws, row);
    tax(&mut draws, row);
    row.decimal(DISTRICT_YTD, 2).integer(ORDERS + 1);
}

/// Two streets, city, state and zip (clause 4.3.2.7: four digits and "11111").
pub(super) fn address(draws: &mut Draws, row: &mut Row) {
    row.characters(draws, 10, 20).characters(draws, 10, 20).characters(draws, 10, 20);
    row.text(|out| draws.letters(2, 2, out));
    row.text(|out| {
        draws.digits(4, 4, out);
        out.extend(b"11111");
    });
}

/// 0.0000 to 0.2000.
fn tax(draws: &mut Draws, row: &mut Row) {
    row.decimal(draws.within(0, 2_000) as i64, 4);
}
