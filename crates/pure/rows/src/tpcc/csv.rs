//! The files of BenchmarkSQL's loading path (`LoadData` with `fileLocation`, then `sqlTableCopies`; version
//! 4.1, as used by article 001), with its names, columns and column order.

use super::{Population, row::Row, table::Table};
use crate::Part;

/// Units sampled to estimate the length of a file. Line lengths differ by at most a fifth.
const SAMPLE: u64 = 2_000;

/// A CSV file with the rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsvFile {
    /// Name of the file.
    pub name: &'static str,
    /// Table whose rows the file contains.
    pub table: Table,
    /// Columns of the table in file order, after the row number if there is one.
    columns: &'static [&'static str],
    /// Whether each row begins with its number, from 1: BenchmarkSQL's `hist_id`.
    numbered: bool,
}

const fn file(name: &'static str, table: Table, columns: &'static [&'static str]) -> CsvFile {
    CsvFile { name, table, columns, numbered: false }
}

/// All files, in the order in which BenchmarkSQL copies them.
pub const CSV_FILES: [CsvFile; 9] = [
    file(
        "warehouse.csv",
        Table::Warehouse,
        &["w_id", "w_ytd", "w_tax", "w_name", "w_street_1", "w_street_2", "w_city", "w_state", "w_zip"],
    ),
    file("item.csv", Table::Item, &["i_id", "i_name", "i_price", "i_data", "i_im_id"]),
    file(
        "stock.csv",
        Table::Stock,
        &[
            "s_i_id",
            "s_w_id",
            "s_quantity",
            "s_ytd",
            "s_order_cnt",
            "s_remote_cnt",
            "s_data",
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
        ],
    ),
    file(
        "district.csv",
        Table::District,
        &[
            "d_id",
            "d_w_id",
            "d_ytd",
            "d_tax",
            "d_next_o_id",
            "d_name",
            "d_street_1",
            "d_street_2",
            "d_city",
            "d_state",
            "d_zip",
        ],
    ),
    file(
        "customer.csv",
        Table::Customer,
        &[
            "c_id",
            "c_d_id",
            "c_w_id",
            "c_discount",
            "c_credit",
            "c_last",
            "c_first",
            "c_credit_lim",
            "c_balance",
            "c_ytd_payment",
            "c_payment_cnt",
            "c_delivery_cnt",
            "c_street_1",
            "c_street_2",
            "c_city",
            "c_state",
            "c_zip",
            "c_phone",
            "c_since",
            "c_middle",
            "c_data",
        ],
    ),
    CsvFile {
        numbered: true,
        ..file(
            "cust-hist.csv",
            Table::History,
            &["h_c_id", "h_c_d_id", "h_c_w_id", "h_d_id", "h_w_id", "h_date", "h_amount", "h_data"],
        )
    },
    file(
        "order.csv",
        Table::Orders,
        &["o_id", "o_w_id", "o_d_id", "o_c_id", "o_carrier_id", "o_ol_cnt", "o_all_local", "o_entry_d"],
    ),
    file(
        "order-line.csv",
        Table::OrderLine,
        &[
            "ol_w_id",
            "ol_d_id",
            "ol_o_id",
            "ol_number",
            "ol_i_id",
            "ol_delivery_d",
            "ol_amount",
            "ol_supply_w_id",
            "ol_quantity",
            "ol_dist_info",
        ],
    ),
    file("new-order.csv", Table::NewOrder, &["no_w_id", "no_d_id", "no_o_id"]),
];

impl CsvFile {
    /// Estimated bytes per unit with this many warehouses, from a sample across the file; within 1 % for 1,000
    /// warehouses.
    pub fn unit_bytes(&self, population: &Population, warehouses: u64) -> f64 {
        let total = self.table.units(warehouses);
        let sample = SAMPLE.min(total);
        let mut out = Vec::new();
        for number in 0..sample {
            let first = Part::of(total, number, sample).first;
            self.write(population, Part { first, end: first + 1 }, &mut out);
        }
        out.len() as f64 / sample as f64
    }

    /// Appends the lines of a part of the table; returns their number.
    pub fn write(&self, population: &Population, part: Part, out: &mut Vec<u8>) -> u64 {
        let mut lines = 0;
        let of_table = self.table.fields();
        let order: Vec<usize> = self
            .columns
            .iter()
            .filter_map(|name| of_table.iter().position(|field| field.name == *name))
            .collect();
        self.table.each(population, part, &mut |key, row: &mut Row| {
            if self.numbered {
                out.extend_from_slice(format!("{key},").as_bytes());
            }
            row.write_csv(order.iter().copied(), out);
            lines += 1;
        });
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_in_a_file_once() {
        for table in Table::ALL {
            let file = CSV_FILES.iter().find(|file| file.table == table).expect("every table has one");
            let mut in_file: Vec<_> = file.columns.to_vec();
            let mut of_table: Vec<_> = table.fields().iter().map(|field| field.name).collect();
            in_file.sort_unstable();
            of_table.sort_unstable();
            assert_eq!(in_file, of_table);
        }
    }
}
