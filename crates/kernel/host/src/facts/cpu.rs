//! CPU facts.

use std::path::Path;

use pgdyno_core::{cpus::CpuList, facts::CpuFacts};

use super::file::{first_line, text};

/// Reads the facts of the CPUs that this process may run on.
pub(super) fn read(root: &Path) -> CpuFacts {
    let cpuinfo = text(root, "proc/cpuinfo").unwrap_or_default();
    let status = text(root, "proc/self/status").unwrap_or_default();
    CpuFacts {
        model: model(&cpuinfo),
        allowed: allowed(&status),
        governor: first_line(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    }
}

/// CPU model: `model name` on x86, `Processor` or `Hardware` on some ARM kernels, nothing on others.
pub(crate) fn model(cpuinfo: &str) -> Option<String> {
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
    line.and_then(|list| list.trim().parse::<CpuList>().ok()).map(CpuList::into_vec).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

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
