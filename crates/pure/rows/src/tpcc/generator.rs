//! The TPC-C tables for loading and verification.

use super::{field::names, table::Table};
use crate::{Check, Column, Part, Population, RowGenerator, Sums, text::of_text};

impl RowGenerator for Table {
    fn table(&self) -> &'static str {
        self.name()
    }

    /// Rows have one checksum each, since there are 92 mostly short columns.
    fn columns(&self) -> &'static [Column] {
        &[]
    }

    fn names(&self) -> String {
        names(self.fields())
    }

    fn query(&self, _: &Population, _: Part) -> Option<String> {
        None
    }

    /// Parts are whole warehouses, except for items.
    fn within(&self, part: Part) -> String {
        let (column, each) = self.warehouse().map_or(("i_id", 1), |column| (column, self.units(1)));
        format!("{column} > {} AND {column} <= {}", part.first / each, part.end.div_ceil(each))
    }

    fn checks(&self) -> Vec<Check> {
        let texts: Vec<_> = self.fields().iter().map(|field| field.text()).collect();
        vec![Check::of_rows(&format!("pg_catalog.concat({})", texts.join(", ',', ")))]
    }

    fn units_at(&self, warehouses: u64) -> u64 {
        self.units(warehouses)
    }

    /// Generating orders begins with a permutation of all customers of a district, so few pieces are best.
    fn piece(&self) -> u64 {
        match self {
            Self::Customer | Self::OrderLine => 100,
            Self::Stock => 200,
            _ => 1_000,
        }
    }

    fn write(&self, population: &Population, part: Part, out: &mut Vec<u8>) -> u64 {
        let mut rows = 0;
        self.each(population, part, &mut |_, row| {
            row.write_copy(out);
            rows += 1;
        });
        rows
    }

    fn sums(&self, population: &Population, part: Part) -> Sums {
        let (mut line, mut sums) = (Vec::new(), Sums::none(1));
        self.each(population, part, &mut |_, row| {
            line.clear();
            row.write_whole(&mut line);
            sums.rows += 1;
            sums.columns[0] += i128::from(of_text(&line));
        });
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POPULATION: Population = Population { seed: 7, at_us: 1_475_366_400_000_000 };

    /// Sums do not depend on the parts; a duplicate, lost or changed row changes them.
    #[test]
    fn sums_are_of_all_rows() {
        for table in Table::ALL {
            let whole = Part { first: 0, end: table.units(1).min(3_100) };
            let all = table.sums(&POPULATION, whole);
            let mut parts = Sums::none(1);
            for part in (0..7).map(|k| Part::of(whole.end, k, 7)) {
                parts += &table.sums(&POPULATION, part);
            }
            let mut text = Vec::new();
            assert_eq!((&parts, table.write(&POPULATION, whole, &mut text)), (&all, all.rows));
            assert_eq!(text.iter().filter(|byte| **byte == b'\n').count() as u64, all.rows);
            let twice = table.sums(&POPULATION, Part { first: 0, end: 1 });
            assert_ne!(twice.columns[0], 0);
            let other = table.sums(&Population { seed: 8, ..POPULATION }, whole);
            // Which orders are undelivered does not depend on the seed.
            assert_eq!(other == all, table == Table::NewOrder, "{table:?}");
        }
    }

    #[test]
    fn parts_are_found_by_their_warehouses() {
        let within = |table: Table, first, end| {
            table.within(Part { first: table.units(first), end: table.units(end) })
        };
        assert_eq!(within(Table::Stock, 2, 5), "s_w_id > 2 AND s_w_id <= 5");
        assert_eq!(within(Table::History, 0, 1), "h_w_id > 0 AND h_w_id <= 1");
        let items = Part { first: 0, end: 100_000 };
        assert_eq!(Table::Item.within(items), "i_id > 0 AND i_id <= 100000");
    }
}
