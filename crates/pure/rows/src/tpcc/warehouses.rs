//! Rows of warehouses and districts.

use pgdyno_core::tpcc::{DISTRICTS, Draws, ORDERS};

use super::{
    Population,
    field::{Field, int, numeric, takings, text, varchar},
    row::Row,
    table::{Table, place},
};

/// Year-to-date amount of a district in cents: 10.00 paid by each customer.
const DISTRICT_YTD: i64 = 3_000_000;

pub(super) const WAREHOUSE: &[Field] = &[
    int("w_id"),
    varchar("w_name", 10),
    varchar("w_street_1", 20),
    varchar("w_street_2", 20),
    varchar("w_city", 20),
    text("w_state", 2),
    text("w_zip", 9),
    numeric("w_tax", 4, 4),
    takings("w_ytd"),
];

pub(super) const DISTRICT: &[Field] = &[
    int("d_id"),
    int("d_w_id"),
    varchar("d_name", 10),
    varchar("d_street_1", 20),
    varchar("d_street_2", 20),
    varchar("d_city", 20),
    text("d_state", 2),
    text("d_zip", 9),
    numeric("d_tax", 4, 4),
    takings("d_ytd"),
    int("d_next_o_id"),
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

/// A tax rate from 0.0000 to 0.2000.
fn tax(draws: &mut Draws, row: &mut Row) {
    row.decimal(draws.within(0, 2_000) as i64, 4);
}
