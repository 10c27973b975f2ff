//! Processors.

use std::path::Path;

use pgdyno_core::facts::CpuFacts;

use super::{first_line, text};

/// Highest number of a processor that is taken, as of the largest kernels (`CONFIG_NR_CPUS`).
const HIGHEST_CPU: u32 = 8191;

/// Reads the facts of the processors this process may run on.
pub(super) fn read(root: &Path) -> CpuFacts {
    let cpuinfo = text(root, "proc/cpuinfo").unwrap_or_default();
    let status = text(root, "proc/self/status").unwrap_or_default();
    CpuFacts {
        model: model(&cpuinfo),
        allowed: allowed(&status),
        governor: first_line(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    }
}

/// x86 says `model name`, some ARM kernels `Processor` or `Hardware`, and others nothing at all.
fn model(cpuinfo: &str) -> Option<String> {
    ["model name", "Processor", "Hardware", "cpu model"].into_iter().find_map(|key| {
        let value = cpuinfo.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim())
        })?;
        (!value.is_empty()).then(|| value.to_owned())
    })
}

fn allowed(status: &str) -> Vec<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.and_then(|list| parse_cpu_list(list.trim()).ok()).unwrap_or_default()
}

/// Why a text is no list of processors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a list of processors such as 0-3,8")]
pub struct NotACpuList(String);

/// Reads a list of processors such as `0-3,8` (`cpuset(7)`, "List format") into ascending numbers without
/// doubles.
///
/// # Errors
/// Where the text is empty or no list, a range runs backwards, or a number is above 8191.
pub fn parse_cpu_list(text: &str) -> Result<Vec<u32>, NotACpuList> {
    let wrong = || NotACpuList(text.to_owned());
    let number =
        |text: &str| text.trim().parse::<u32>().ok().filter(|cpu| *cpu <= HIGHEST_CPU).ok_or_else(wrong);
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(wrong());
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors() {
        assert_eq!(parse_cpu_list("0-3,8"), Ok(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse_cpu_list("5"), Ok(vec![5]));
        assert_eq!(parse_cpu_list("3,1,1-2"), Ok(vec![1, 2, 3]));
        for wrong in ["", ",", "3-1", "a", "-1", "0-", "0-99999999", "4294967296", "0 1"] {
            assert!(parse_cpu_list(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn models_of_several_makers() {
        let intel = "processor\t: 0\nmodel\t\t: 106\nmodel name\t: Intel(R) Xeon(R) CPU @ 2.60GHz\n";
        assert_eq!(model(intel).as_deref(), Some("Intel(R) Xeon(R) CPU @ 2.60GHz"));
        assert_eq!(model("Hardware\t: BCM2835\n").as_deref(), Some("BCM2835"));
        assert_eq!(model("processor : 0\nmodel name :\n"), None);
    }

    #[test]
    fn allowed_processors_come_from_status() {
        assert_eq!(allowed("Name:\tcat\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n"), [0, 1]);
        assert_eq!(allowed(""), Vec::<u32>::new());
    }
}
