//! What a vendor or an owner declares about storage, next to what was measured, and the cost per transaction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Declared facts about storage and its machine, none of them measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeclaredStorage {
    /// Its name.
    pub name: String,
    /// The directory or block device that it is about; absent: every one of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// Number of disks.
    pub disks: u32,
    /// Nominal reads or writes per second of a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iops: Option<f64>,
    /// Nominal bytes per second of a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<f64>,
    /// Reads and writes per second to which the machine is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_iops: Option<f64>,
    /// Bytes per second to which the machine is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_bytes_per_s: Option<f64>,
    /// Price of an hour of machine and storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_per_hour: Option<f64>,
    /// Currency of the price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
}

impl DeclaredStorage {
    /// Reads and writes per second of all disks, as far as the machine lets them through.
    pub fn most_iops(&self) -> Option<f64> {
        self.limited(self.iops, self.instance_iops)
    }

    /// Bytes per second of all disks, as far as the machine lets them through.
    pub fn most_bytes_per_s(&self) -> Option<f64> {
        self.limited(self.bytes_per_s, self.instance_bytes_per_s)
    }

    fn limited(&self, of_disk: Option<f64>, cap: Option<f64>) -> Option<f64> {
        let of_disks = of_disk.map(|each| each * f64::from(self.disks));
        of_disks.into_iter().chain(cap).reduce(f64::min)
    }
}

/// What was declared, and the most that was measured in the same run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NominalShare {
    /// Name of what was declared.
    pub name: String,
    /// The directory or block device that was measured.
    pub path: String,
    /// Name of the pattern that reached the most.
    pub pattern: String,
    /// Whether it counts reads and writes, or bytes.
    pub unit: NominalUnit,
    /// Declared per second, of all disks and within the limits of the machine.
    pub declared_per_s: f64,
    /// Measured per second.
    pub measured_per_s: f64,
    /// The second over the first.
    pub share: f64,
}

/// What a nominal rate counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NominalUnit {
    /// Reads and writes.
    Operations,
    /// Bytes.
    Bytes,
}

/// What transactions of a cell cost by a declared price.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellCost {
    /// The cell.
    pub cell: String,
    /// Name of what was declared.
    pub name: String,
    /// Price of a million transactions at the mean rate of the cell, if machine and storage are paid for by the hour
    /// and always as busy.
    pub per_million: f64,
    /// The same at both ends of the 95 % confidence interval of the rate, cheapest first; absent without an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_million_range: Option<(f64, f64)>,
    /// Currency of the price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
}

impl CellCost {
    /// Price of a million transactions, by the price of an hour and transactions per second; `None` for a rate of 0.
    pub fn per_million(price_per_hour: f64, tps: f64) -> Option<f64> {
        let price = price_per_hour / 3_600.0 / tps * 1e6;
        price.is_finite().then_some(price)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_add_up_to_what_the_machine_lets_through() {
        let mut declared = DeclaredStorage {
            name: "ssd".to_owned(),
            dir: None,
            disks: 4,
            iops: Some(100_000.0),
            bytes_per_s: None,
            instance_iops: None,
            instance_bytes_per_s: Some(2e9),
            price_per_hour: None,
            currency: None,
        };
        assert_eq!((declared.most_iops(), declared.most_bytes_per_s()), (Some(400_000.0), Some(2e9)));
        declared.instance_iops = Some(150_000.0);
        assert_eq!(declared.most_iops(), Some(150_000.0));
        declared.iops = None;
        declared.instance_bytes_per_s = None;
        assert_eq!((declared.most_iops(), declared.most_bytes_per_s()), (Some(150_000.0), None));
    }

    #[test]
    fn a_million_transactions_cost_their_share_of_an_hour() {
        // 1,000 a second are 3.6 million an hour.
        assert_eq!(CellCost::per_million(3.6, 1_000.0), Some(1.0));
        assert_eq!(CellCost::per_million(3.6, 0.0), None);
    }
}
