//! The initial population of the nine TPC-C tables (clause 4.3.3.1): any part of any table, on any host, always
//! the same.
//!
//! Every row, or every order with its lines, draws from its own random stream. Generators define a row once,
//! field by field; file formats follow from that.

mod csv;
mod customers;
mod field;
mod generator;
mod items;
mod orders;
mod row;
mod size;
mod table;
mod warehouses;

use pgdyno_core::tpcc::{CUSTOMERS, DISTRICTS, Draws, ITEMS, NuRand, ORDERS};

pub use csv::{CSV_FILES, CsvFile};
pub use field::{Field, Type};
pub use row::Row;
pub use table::Table;

use super::{Part, Population};
use table::RowSink;

impl Population {
    fn draws(&self, table: Table, number: u64) -> Draws {
        Draws::new(self.seed, table as u64, number)
    }

    /// Distribution of last names. Runs must use another constant than the load (clause 2.1.6.1).
    fn last_names(&self) -> NuRand {
        NuRand::last_names(Draws::new(self.seed, 0, 0).within(0, 255))
    }
}

impl Table {
    /// Columns of the table, in the order of the specification.
    pub fn fields(self) -> &'static [Field] {
        match self {
            Self::Warehouse => warehouses::WAREHOUSE,
            Self::District => warehouses::DISTRICT,
            Self::Customer => customers::CUSTOMER,
            Self::History => customers::HISTORY,
            Self::NewOrder => orders::NEW_ORDER,
            Self::Orders => orders::ORDERS_COLUMNS,
            Self::OrderLine => orders::ORDER_LINE,
            Self::Item => items::ITEM,
            Self::Stock => items::STOCK,
        }
    }

    /// Number of units, in which parts are counted, for this many warehouses: rows, or for `order_line` orders
    /// of 5 to 15 lines.
    pub fn units(self, warehouses: u64) -> u64 {
        match self {
            Self::Item => ITEMS,
            Self::Warehouse => warehouses,
            Self::District => warehouses * DISTRICTS,
            Self::Stock => warehouses * ITEMS,
            Self::NewOrder => warehouses * DISTRICTS * orders::OPEN,
            Self::Customer | Self::History => warehouses * DISTRICTS * CUSTOMERS,
            Self::Orders | Self::OrderLine => warehouses * DISTRICTS * ORDERS,
        }
    }

    /// Passes every row of a part to `sink` with its key as one ascending number from 1. The same population
    /// always gives the same rows.
    pub fn each(self, population: &Population, part: Part, sink: &mut RowSink<'_>) {
        let mut row = Row::default();
        let mut one = |make: fn(&Population, u64, &mut Row)| {
            for number in part.first..part.end {
                row.clear();
                make(population, number, &mut row);
                sink(number + 1, &mut row);
            }
        };
        match self {
            Self::Warehouse => one(warehouses::warehouse),
            Self::District => one(warehouses::district),
            Self::Customer => one(customers::customer),
            Self::History => one(customers::history),
            Self::NewOrder => one(orders::new_order),
            Self::Item => one(items::item),
            Self::Stock => one(items::stock),
            Self::Orders => orders::each_order(population, part, sink),
            Self::OrderLine => orders::each_line(population, part, sink),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use md5::{Digest, Md5};
    use proptest::prelude::*;

    use super::*;

    const POPULATION: Population = Population { seed: 7, at_us: 1_475_366_400_000_000 };

    /// Fields of the rows of a part, by column name.
    fn lines(table: Table, part: Part) -> Vec<BTreeMap<&'static str, String>> {
        let names = table.fields().iter().map(|field| field.name);
        text(table, &POPULATION, part)
            .lines()
            .map(|line| {
                assert_eq!(line.split(',').count(), names.len());
                names.clone().zip(line.split(',').map(str::to_owned)).collect()
            })
            .collect()
    }

    fn text(table: Table, population: &Population, part: Part) -> String {
        let mut out = Vec::new();
        let columns = table.fields().len();
        table.each(population, part, &mut |_, row| row.write_csv(0..columns, &mut out));
        String::from_utf8(out).expect("it is text")
    }

    fn whole(table: Table, warehouses: u64) -> Part {
        Part { first: 0, end: table.units(warehouses) }
    }

    /// Checks that a share is within four standard deviations of the expected one.
    fn share(of: usize, among: usize, per_cent: f64) {
        let (expected, among) = (per_cent / 100.0, among as f64);
        let deviations = (of as f64 / among - expected) / (expected * (1.0 - expected) / among).sqrt();
        assert!(deviations.abs() < 4.0, "{of} of {among}: {deviations} deviations");
    }

    fn range(lines: &[BTreeMap<&str, String>], column: &str, low: f64, high: f64) {
        let values = lines.iter().map(|line| line[column].parse::<f64>().expect("a number"));
        let (least, most) = values.fold((f64::MAX, f64::MIN), |(a, b), value| (a.min(value), b.max(value)));
        assert!(least >= low && most <= high, "{column}: {least} to {most}");
        assert!(
            least <= low + 0.05 * (high - low) && most >= high - 0.05 * (high - low),
            "{column} has a gap"
        );
    }

    fn lengths(lines: &[BTreeMap<&str, String>], column: &str, low: usize, high: usize) {
        let lengths = || lines.iter().map(|line| line[column].len());
        assert_eq!((lengths().min(), lengths().max()), (Some(low), Some(high)), "{column}");
    }

    proptest! {
        /// Lines do not depend on the parts, and keys ascend.
        #[test]
        fn parts_are_the_table(seed: u64, at in 0u64..59_000, rows in 1u64..200, parts in 1u64..9) {
            let population = Population { seed, ..POPULATION };
            for table in Table::ALL {
                let first = at % table.units(2);
                let (whole, n) = (Part { first, end: (first + rows).min(table.units(2)) }, parts);
                let cut = (0..n).map(|k| {
                    let part = Part::of(whole.rows(), k, n);
                    text(table, &population, Part { first: first + part.first, end: first + part.end })
                });
                prop_assert_eq!(cut.collect::<String>(), text(table, &population, whole));
                let mut last = 0;
                table.each(&population, whole, &mut |key, _| {
                    assert!(key > last);
                    last = key;
                });
            }
        }
    }

    /// Checks items and stock against clause 4.3.3.1.
    #[test]
    fn goods_are_those_of_the_specification() {
        let items = lines(Table::Item, whole(Table::Item, 1));
        assert_eq!(items.len(), 100_000);
        range(&items, "i_im_id", 1.0, 10_000.0);
        range(&items, "i_price", 1.0, 100.0);
        lengths(&items, "i_name", 14, 24);
        let stock = lines(Table::Stock, Part { first: 100_000, end: 150_000 });
        assert!(stock.iter().enumerate().all(|(at, line)| line["s_i_id"] == (at + 1).to_string()));
        assert!(stock.iter().all(|line| line["s_w_id"] == "2" && line["s_ytd"] == "0"));
        range(&stock, "s_quantity", 10.0, 100.0);
        lengths(&stock, "s_dist_01", 24, 24);
        lengths(&stock, "s_dist_10", 24, 24);
        for (lines, data) in [(&items, "i_data"), (&stock, "s_data")] {
            lengths(lines, data, 26, 50);
            let original = lines.iter().filter(|line| line[data].contains("ORIGINAL"));
            share(original.clone().count(), lines.len(), 10.0);
            let places = original.filter_map(|line| line[data].find("ORIGINAL"));
            assert_eq!((places.clone().min(), places.max()), (Some(0), Some(42)), "it is anywhere");
        }
    }

    #[test]
    fn people_are_those_of_the_specification() {
        let customers = lines(Table::Customer, whole(Table::Customer, 1));
        assert_eq!(customers.len(), 30_000);
        share(customers.iter().filter(|line| line["c_credit"] == "BC").count(), customers.len(), 10.0);
        assert!(customers.iter().all(|line| ["BC", "GC"].contains(&&*line["c_credit"])));
        range(&customers, "c_discount", 0.0, 0.5);
        for (column, value) in [
            ("c_balance", "-10.00"),
            ("c_ytd_payment", "10.00"),
            ("c_payment_cnt", "1"),
            ("c_delivery_cnt", "0"),
            ("c_credit_lim", "50000.00"),
            ("c_middle", "OE"),
            ("c_since", "2016-10-02 00:00:00.000000"),
        ] {
            assert!(customers.iter().all(|line| line[column] == value), "{column}");
        }
        for (column, low, high) in [
            ("c_first", 8, 16),
            ("c_street_1", 10, 20),
            ("c_city", 10, 20),
            ("c_state", 2, 2),
            ("c_phone", 16, 16),
        ] {
            lengths(&customers, column, low, high);
        }
        assert!(customers.iter().all(|line| line["c_zip"].len() == 9 && line["c_zip"].ends_with("11111")));
        lengths(&lines(Table::Customer, whole(Table::Customer, 2)), "c_data", 300, 500);
        // The first thousand customers of a district have all names, the others some much more often.
        let names = |lines: &[BTreeMap<&str, String>]| {
            let mut names = BTreeMap::<String, u64>::new();
            lines.iter().for_each(|line| *names.entry(line["c_last"].clone()).or_default() += 1);
            names
        };
        assert_eq!(names(&customers[3_000..4_000]).len(), 1_000);
        let drawn = names(&customers[4_000..6_000]);
        assert!(drawn.values().max() > Some(&9), "{:?}", drawn.values().max());
    }

    #[test]
    fn places_are_those_of_the_specification() {
        let warehouses = lines(Table::Warehouse, whole(Table::Warehouse, 2_000));
        let districts = lines(Table::District, whole(Table::District, 200));
        for (lines, tax, ytd, sum) in
            [(&warehouses, "w_tax", "w_ytd", "300000.00"), (&districts, "d_tax", "d_ytd", "30000.00")]
        {
            assert_eq!(lines.len(), 2_000);
            range(lines, tax, 0.0, 0.2);
            assert!(lines.iter().all(|line| line[ytd] == sum));
        }
        assert!(districts.iter().all(|line| line["d_next_o_id"] == "3001"));
        lengths(&districts, "d_name", 6, 10);
        let last = &districts[1_999];
        assert_eq!((last["d_id"].as_str(), last["d_w_id"].as_str()), ("10", "200"));
    }

    #[test]
    fn orders_and_lines_agree() {
        let (orders, lines_of) =
            (lines(Table::Orders, whole(Table::Orders, 1)), |part| lines(Table::OrderLine, part));
        for district in orders.chunks(3_000) {
            let mut customers: Vec<u64> =
                district.iter().filter_map(|line| line["o_c_id"].parse().ok()).collect();
            assert!(customers.windows(2).any(|pair| pair[0] > pair[1]), "they are shuffled");
            customers.sort_unstable();
            assert_eq!(customers, (1..=3_000).collect::<Vec<_>>());
        }
        assert_ne!(orders[0]["o_c_id"], orders[3_000]["o_c_id"], "each district in its own order");
        let district = Part { first: 3_000, end: 6_000 };
        let mut lines = lines_of(district).into_iter().peekable();
        for order in &orders[3_000..6_000] {
            let open = order["o_id"].parse::<u64>().expect("a number") >= 2_101;
            assert_eq!(order["o_carrier_id"].is_empty(), open);
            let mut count = 0;
            while let Some(line) = lines.next_if(|line| line["ol_o_id"] == order["o_id"]) {
                count += 1;
                assert_eq!(line["ol_number"], count.to_string());
                assert_eq!((line["ol_delivery_d"].is_empty(), line["ol_amount"] != "0.00"), (open, open));
            }
            assert_eq!(order["o_ol_cnt"], count.to_string());
            assert!((5..=15).contains(&count));
        }
        assert!(lines.next().is_none());
        let open = self::lines(Table::NewOrder, Part { first: 0, end: 901 });
        let first = |at: usize| (open[at]["no_o_id"].as_str(), open[at]["no_d_id"].as_str());
        assert_eq!((first(0), first(899), first(900)), (("2101", "1"), ("3000", "1"), ("2101", "2")));
    }

    /// The same seed gives the same population in every version of pgdyno: MD5 of the first hundred units,
    /// whose lines were checked against the clause by eye.
    #[test]
    fn rows_are_what_they_were() {
        let known = [
            (Table::Warehouse, "a788c1441524ee26a19aa5322974440e"),
            (Table::District, "bcf7490071b54bb4864c8720c994c44a"),
            (Table::Customer, "6983e23146d41a7be5fa59f1e4c4f09f"),
            (Table::History, "b3571aa721664bcff00c1446b1df6615"),
            (Table::NewOrder, "ca6ab698533e2ee160c61d6fda486e06"),
            (Table::Orders, "a3cad2cd545f252b169bbc1277709363"),
            (Table::OrderLine, "22065c038705a96dfc4ec89ede181934"),
            (Table::Item, "11214f0456f5b845b3fd0800262fd444"),
            (Table::Stock, "9fc80b755532ef7c344483ed88c3ded3"),
        ];
        let sums = known.map(|(table, _)| {
            let text = text(table, &POPULATION, Part { first: 0, end: 100 });
            Md5::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        });
        assert_eq!(sums, known.map(|(_, sum)| sum));
    }
}
