//! Items and their stock.

use super::{Population, Row, Table};
use crate::tpcc::{Draws, ITEMS};

/// What data of one in ten holds somewhere.
const ORIGINAL: &[u8] = b"ORIGINAL";

pub(super) const ITEM: &[&str] = &["i_id", "i_im_id", "i_name", "i_price", "i_data"];

pub(super) const STOCK: &[&str] = &[
    "s_i_id",
    "s_w_id",
    "s_quantity",
    "s_dist_01",
    "s_dist_02",
    "s_dist_03",
    "s_dist_04",
    "s_dist_05",
    "s_dist_06",
    "s_dist_07",
    "s_dist_08",
    "s_dist_09",
    "s_dist_10",
    "s_ytd",
    "s_order_cnt",
    "s_remote_cnt",
    "s_data",
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

/// 26 to 50 characters; of one in ten, eight of them are [`ORIGINAL`].
fn data(draws: &mut Draws, out: &mut Vec<u8>) {
    let from = out.len();
    draws.characters(26, 50, out);
    if draws.happens(10) {
        let text = &mut out[from..];
        let at = draws.within(0, (text.len() - ORIGINAL.len()) as u64) as usize;
        text[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}
