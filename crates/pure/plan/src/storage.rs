//! `[storage]`: declared facts about the storage, to be shown next to what is measured.

use std::{collections::BTreeMap, path::PathBuf};

use pgdyno_core::{disk::DeclaredStorage, facts::amount, problem::Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, fault};

/// What is known of storage without measuring it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoragePlan {
    /// What vendors and owners say, by name. It is shown as declared, next to what was measured.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-expects" = "tables by name: write [storage.declared.NAME] and its keys below, once for each"))]
    pub declared: BTreeMap<String, DeclaredPlan>,
}

/// Facts of one storage and its machine, as declared; at least one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeclaredPlan {
    /// The directory or block device that it is about. Default: all that are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["/data01"]))]
    pub dir: Option<PathBuf>,
    /// Number of disks. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub disks: Option<u32>,
    /// Nominal reads or writes per second of a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [50000]))]
    pub iops: Option<f64>,
    /// Nominal bytes per second of a disk, such as "350MB".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["350MB"]))]
    pub bandwidth: Option<String>,
    /// Reads and writes per second to which the machine is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [40000]))]
    pub instance_iops: Option<f64>,
    /// Bytes per second to which the machine is limited, such as "1GB".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["1GB"]))]
    pub instance_bandwidth: Option<String>,
    /// Price of an hour of machine and storage: a million transactions cost their share of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [1.25]))]
    pub price_per_hour: Option<f64>,
    /// Currency of the price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["USD"]))]
    pub currency: Option<String>,
}

impl StoragePlan {
    /// Whether nothing is declared.
    pub(crate) fn is_empty(&self) -> bool {
        self.declared.is_empty()
    }

    /// The tables of a file that `--declared` names; `file` is its name in messages.
    ///
    /// # Errors
    /// The text is no such file, or a value is out of its range.
    pub fn declared_in(text: &str, file: &str) -> Result<Self, Problem> {
        let wrong =
            |why: String| Problem::wrong_request(format!("could not read declared facts from {file}: {why}"));
        let hint =
            "it has a table for each storage, such as [ssd], with iops = 50000 or price_per_hour = 1.25";
        let declared = toml::from_str(text).map_err(|error| wrong(error.message().to_owned()).hint(hint))?;
        let plan = Self { declared };
        let mut faults = Vec::new();
        plan.faults("", &mut faults);
        match faults.into_iter().next() {
            Some(Fault { path, what, hint }) => Err(wrong(format!("{path}: {what}")).hint(hint)),
            None if plan.is_empty() => Err(wrong("it has no table".to_owned()).hint(hint)),
            None => Ok(plan),
        }
    }

    /// What is declared, in the order of its names.
    pub fn declared(&self) -> Vec<DeclaredStorage> {
        self.declared.iter().map(|(name, plan)| plan.as_declared(name)).collect()
    }

    /// Appends the faults; keys are below this one.
    pub(crate) fn faults(&self, below: &str, faults: &mut Vec<Fault>) {
        for (name, declared) in &self.declared {
            declared.faults(&format!("{below}{name}"), faults);
        }
    }
}

impl DeclaredPlan {
    fn as_declared(&self, name: &str) -> DeclaredStorage {
        DeclaredStorage {
            name: name.to_owned(),
            dir: self.dir.as_ref().map(|dir| dir.display().to_string()),
            disks: self.disks.unwrap_or(1),
            iops: self.iops,
            bytes_per_s: self.bandwidth.as_deref().and_then(bytes),
            instance_iops: self.instance_iops,
            instance_bytes_per_s: self.instance_bandwidth.as_deref().and_then(bytes),
            price_per_hour: self.price_per_hour,
            currency: self.currency.clone(),
        }
    }

    fn faults(&self, at: &str, faults: &mut Vec<Fault>) {
        let rates = [
            ("iops", self.iops),
            ("instance_iops", self.instance_iops),
            ("price_per_hour", self.price_per_hour),
        ];
        let is_wrong = |value: f64| !(value.is_finite() && value > 0.0);
        for (key, _) in rates.iter().filter(|(_, value)| value.is_some_and(is_wrong)) {
            faults.push(fault(
                format!("{at}.{key}"),
                format!("`{key}` is not a number above 0"),
                "leave it out if it is unknown",
            ));
        }
        let sizes = [("bandwidth", &self.bandwidth), ("instance_bandwidth", &self.instance_bandwidth)];
        let is_wrong = |text: &String| bytes(text).is_none();
        for (key, _) in sizes.iter().filter(|(_, value)| value.as_ref().is_some_and(is_wrong)) {
            faults.push(fault(
                format!("{at}.{key}"),
                format!("`{key}` is not a size above 0"),
                "write it like \"350MB\": bytes per second",
            ));
        }
        if self.disks == Some(0) {
            faults.push(fault(format!("{at}.disks"), "there is at least 1 disk", "leave it out for 1"));
        }
        if self.currency.is_some() && self.price_per_hour.is_none() {
            faults.push(fault(format!("{at}.currency"), "a currency needs a price", "add `price_per_hour`"));
        }
        let facts = [self.iops, self.instance_iops, self.price_per_hour].iter().any(Option::is_some);
        if !facts && self.bandwidth.is_none() && self.instance_bandwidth.is_none() {
            faults.push(fault(at, "nothing is declared", "add `iops`, `bandwidth` or `price_per_hour`"));
        }
    }
}

fn bytes(text: &str) -> Option<f64> {
    amount::parse(text, 1).filter(|bytes| *bytes > 0).map(|bytes| bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_table_for_each_storage() {
        let text = "[ssd]\ndisks = 2\niops = 1e5\nbandwidth = \"1GB\"\n\
                    [nas]\ndir = \"/nas\"\nprice_per_hour = 0.5\ncurrency = \"EUR\"\n";
        let declared = StoragePlan::declared_in(text, "x.toml").expect("it is right").declared();
        assert_eq!(declared.len(), 2);
        assert_eq!((declared[0].name.as_str(), declared[0].dir.as_deref()), ("nas", Some("/nas")));
        assert_eq!(
            (declared[1].most_iops(), declared[1].most_bytes_per_s()),
            (Some(2e5), Some(2.0 * 1_073_741_824.0))
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, words) in [
            ("", "it has no table"),
            ("x", "could not read declared facts from x.toml"),
            ("[a]\niop = 1", "unknown field `iop`"),
            ("[a]\niops = 0", "a.iops: `iops` is not a number above 0"),
            ("[a]\nprice_per_hour = nan", "a.price_per_hour"),
            ("[a]\nbandwidth = \"fast\"", "a.bandwidth: `bandwidth` is not a size"),
            ("[a]\niops = 1\ndisks = 0", "a.disks"),
            ("[a]\niops = 1\ncurrency = \"EUR\"", "a.currency"),
            ("[a]\ndir = \"/a\"", "a: nothing is declared"),
        ] {
            let problem = StoragePlan::declared_in(text, "x.toml").expect_err(text);
            assert!(problem.what.contains(words), "{}", problem.what);
        }
    }
}
