//! Bounds of partitions.

use pgdyno_rows::load::PartitionMethod;

/// The partition bound of a partition, given the number of keys. The outer ranges are unbounded, so that every
/// key has a partition.
pub(super) fn values(keys: u64, method: PartitionMethod, partitions: u64, number: u64) -> String {
    match method {
        PartitionMethod::Hash => format!("WITH (MODULUS {partitions}, REMAINDER {})", number - 1),
        PartitionMethod::Range => {
            let size = keys.div_ceil(partitions);
            let bound = |number: u64, open: &str| match number {
                0 => open.to_owned(),
                number if number == partitions => open.to_owned(),
                number => (number * size + 1).to_string(),
            };
            format!("FROM ({}) TO ({})", bound(number - 1, "MINVALUE"), bound(number, "MAXVALUE"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_place() {
        assert_eq!(values(10, PartitionMethod::Range, 1, 1), "FROM (MINVALUE) TO (MAXVALUE)");
        assert_eq!(values(10, PartitionMethod::Range, 4, 2), "FROM (4) TO (7)");
        assert_eq!(values(10, PartitionMethod::Hash, 4, 4), "WITH (MODULUS 4, REMAINDER 3)");
    }
}
