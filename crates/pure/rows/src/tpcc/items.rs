//! Rows of items and stock.

use pgdyno_core::tpcc::{Draws, ITEMS};

use super::{
    Population,
    field::{Field, int, numeric, text, varchar},
    row::Row,
    table::Table,
};

/// Text contained in the data of one row in ten.
const ORIGINAL: &[u8] = b"ORIGINAL";

pub(super) const ITEM: &[Field] =
    &[int("i_id"), int("i_im_id"), varchar("i_name", 24), numeric("i_price", 5, 2), varchar("i_data", 50)];

pub(super) const STOCK: &[Field] = &[
    int("s_i_id"),
    int("s_w_id"),
    int("s_quantity"),
    text("s_dist_01", 24),
    text("s_dist_02", 24),
    text("s_dist_03", 24),
    text("s_dist_04", 24),
    text("s_dist_05", 24),
    text("s_dist_06", 24),
    text("s_dist_07", 24),
    text("s_dist_08", 24),
    text("s_dist_09", 24),
    text("s_dist_10", 24),
    int("s_ytd"),
    int("s_order_cnt"),
    int("s_remote_cnt"),
    varchar("s_data", 50),
];

pub(super) fn item(population: &Population, number: u64, row: &mut Row) {
    let mut draws = population.draws(Table::Item, number);
    row.integer(number + 1).integer(draws.within(1, 10_000)).characters(&mut draws, 14, 24);
    row.decimal(draws.within(100, 10_000) as i64, 2).text(|out| data(&mut draws, out));
}

pub(super) fn stock(population: &Population, number: u64, row: &mut Row) {
    let mut draws = population.draws(Table::Stock, number);
    row.integer(number % ITEMS + 1).integer(number / ITEMS + 1).integer(draws.within(10, 100));
    for _ in 0..10 {
        row.text(|out| draws.characters(24, 24, out));
    }
    row.integer(0).integer(0).integer(0).text(|out| data(&mut draws, out));
}

/// 26 to 50 characters, which in one row of ten contain [`ORIGINAL`].
fn data(draws: &mut Draws, out: &mut Vec<u8>) {
    let from = out.len();
    draws.characters(26, 50, out);
    if draws.happens(10) {
        let text = &mut out[from..];
        let at = draws.within(0, (text.len() - ORIGINAL.len()) as u64) as usize;
        text[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}
