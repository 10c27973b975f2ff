//! Processors: `/proc/cpuinfo` and `/sys/devices/system` (Documentation/ABI/testing/sysfs-devices-system-cpu).

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use pgdyno_core::{
    cpus::CpuList,
    host::{Cache, Cpu, IdleState, NumaNode},
    measure::HostShares,
};

use super::{
    dir::{flag, names, number, numbered},
    file::{first_line, text},
    meminfo::Meminfo,
};
use crate::observe::ProcessorTimes;

/// Most NUMA nodes, caches or idle states that are read.
const MOST: usize = 256;

pub(super) fn read(root: &Path) -> Cpu {
    let cpuinfo = text(root, "proc/cpuinfo").unwrap_or_default();
    let base = root.join("sys/devices/system/cpu");
    let online = online(&base, &cpuinfo);
    let first = base.join(format!("cpu{}", online.first().copied().unwrap_or(0)));
    let topology = Topology::read(&base, &online);
    let shares = shares(root);
    Cpu {
        model: model(&cpuinfo),
        logical: u32::try_from(online.len()).unwrap_or(u32::MAX),
        cores: topology.cores,
        sockets: topology.sockets,
        smt: first_line(&base, "smt/control"),
        numa_nodes: numa_nodes(&root.join("sys/devices/system/node")),
        caches: caches(&first.join("cache")),
        frequency_driver: first_line(&first, "cpufreq/scaling_driver"),
        governor: first_line(&first, "cpufreq/scaling_governor"),
        turbo: turbo(&base),
        idle_driver: first_line(&base, "cpuidle/current_driver").filter(|driver| driver != "none"),
        idle_states: idle_states(&first.join("cpuidle")),
        microcode: value(&cpuinfo, "microcode").map(str::to_owned),
        mitigations: mitigations(&base.join("vulnerabilities")),
        steal_share: shares.map(|shares| shares.steal),
        steal_share_of_wanted: shares.and_then(steal_of_wanted),
        hypervisor: hypervisor(root),
    }
}

/// Processors that are online; without sysfs those that cpuinfo shows.
fn online(base: &Path, cpuinfo: &str) -> Vec<u32> {
    let list = first_line(base, "online").and_then(|list| list.parse::<CpuList>().ok());
    list.map(CpuList::into_vec).unwrap_or_else(|| {
        let numbers = cpuinfo
            .lines()
            .filter(|line| line.starts_with("processor"))
            .filter_map(|line| line.split_once(':')?.1.trim().parse().ok());
        numbers.collect()
    })
}

/// The value of the first line of cpuinfo that has this name.
fn value<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name && !value.trim().is_empty()).then(|| value.trim())
    })
}

struct Topology {
    cores: Option<u32>,
    sockets: Option<u32>,
}

impl Topology {
    /// Threads of a core have the same list of siblings, and cores of a socket the same package, which is -1 where the
    /// firmware reports none.
    fn read(base: &Path, online: &[u32]) -> Self {
        let of = |cpu: u32| base.join(format!("cpu{cpu}/topology"));
        let siblings = online.iter().map(|cpu| first_line(&of(*cpu), "thread_siblings_list"));
        let packages = online.iter().map(|cpu| number::<u32>(&of(*cpu), "physical_package_id"));
        Self { cores: distinct(siblings), sockets: distinct(packages) }
    }
}

/// How many different ones there are; `None` if there is none, or one that is unknown.
fn distinct<T: Ord>(all: impl Iterator<Item = Option<T>>) -> Option<u32> {
    let different: BTreeSet<T> = all.collect::<Option<_>>()?;
    u32::try_from(different.len()).ok().filter(|count| *count > 0)
}

fn numa_nodes(base: &Path) -> Vec<NumaNode> {
    let nodes = numbered(base, "node").into_iter().take(MOST).map(|number| {
        let dir = base.join(format!("node{number}"));
        let prefix = format!("Node {number} ");
        let meminfo = text(&dir, "meminfo").unwrap_or_default().replace(&prefix, "");
        NumaNode {
            number,
            cpus: first_line(&dir, "cpulist").unwrap_or_default(),
            memory_bytes: Meminfo::of(meminfo).bytes("MemTotal"),
        }
    });
    nodes.collect()
}

fn caches(base: &Path) -> Vec<Cache> {
    let caches = numbered(base, "index").into_iter().take(MOST).filter_map(|index| {
        let dir = base.join(format!("index{index}"));
        Some(Cache {
            level: number(&dir, "level")?,
            kind: first_line(&dir, "type")?,
            size_bytes: size(&first_line(&dir, "size")?)?,
            shared_by: first_line(&dir, "shared_cpu_list").unwrap_or_default(),
        })
    });
    caches.collect()
}

/// Bytes of a size such as `32K`.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// intel_pstate has a switch of its own; other drivers share `cpufreq/boost`.
fn turbo(base: &Path) -> Option<bool> {
    flag(base, "intel_pstate/no_turbo").map(|off| !off).or_else(|| flag(base, "cpufreq/boost"))
}

fn idle_states(base: &Path) -> Vec<IdleState> {
    let states = numbered(base, "state").into_iter().take(MOST).filter_map(|index| {
        let dir = base.join(format!("state{index}"));
        Some(IdleState {
            name: first_line(&dir, "name")?,
            latency_us: number(&dir, "latency")?,
            // A bit set of who disabled it.
            disabled: number::<u64>(&dir, "disable").is_some_and(|by| by != 0),
        })
    });
    states.collect()
}

fn mitigations(base: &Path) -> BTreeMap<String, String> {
    let known = names(base).into_iter().take(MOST);
    known.filter_map(|name| first_line(base, &name).map(|state| (name, state))).collect()
}

/// Shares of all CPU time since boot.
fn shares(root: &Path) -> Option<HostShares> {
    ProcessorTimes::parse(&text(root, "proc/stat")?)?.since(&ProcessorTimes::default())
}

/// Steal as a share of what was wanted: idle CPUs, also those that wait for a disk, want nothing.
fn steal_of_wanted(shares: HostShares) -> Option<f64> {
    let wanted = shares.user + shares.system + shares.steal;
    (wanted > 0.0).then(|| shares.steal / wanted)
}

/// The hypervisor by what it shows: Xen in a file, KVM and Hyper-V by their clock sources, others by the maker's name.
/// `unknown` if the processor only says that there is one; `None` if it does not, which on ARM may be a virtual
/// machine too.
pub(super) fn hypervisor(root: &Path) -> Option<String> {
    if let Some(kind) = first_line(root, "sys/hypervisor/type") {
        return Some(kind);
    }
    let clocks = first_line(root, "sys/devices/system/clocksource/clocksource0/available_clocksource");
    let clocks = clocks.unwrap_or_default();
    let maker = first_line(root, "sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let product = first_line(root, "sys/class/dmi/id/product_name").unwrap_or_default();
    let known = match () {
        () if clocks.contains("kvm-clock") => "kvm",
        () if clocks.contains("hyperv_clocksource") => "hyperv",
        () if maker.contains("VMware") => "vmware",
        () if maker == "QEMU" || product == "KVM Virtual Machine" => "qemu",
        () if is_virtual(&text(root, "proc/cpuinfo").unwrap_or_default()) => "unknown",
        () => return None,
    };
    Some(known.to_owned())
}

/// CPU model: `model name` on x86, `Processor` or `Hardware` on some ARM kernels, nothing on others.
fn model(cpuinfo: &str) -> Option<String> {
    ["model name", "Processor", "Hardware", "cpu model"].into_iter().find_map(|key| {
        let value = cpuinfo.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim())
        })?;
        (!value.is_empty()).then(|| value.to_owned())
    })
}

/// Whether `/proc/cpuinfo` has the flag that hypervisors set on x86.
fn is_virtual(cpuinfo: &str) -> bool {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::facts::tests::tree;

    const CPU: &str = "sys/devices/system/cpu";

    fn read_tree(files: &[(&str, &str)]) -> Cpu {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (path.replace("CPU", CPU), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        read(tree(&files).path())
    }

    #[test]
    fn a_core_is_counted_once_for_its_threads() {
        let siblings = ["0,2", "1,3", "0,2", "1,3"];
        let mut files = vec![("CPU/online".to_owned(), "0-3\n".to_owned())];
        for (cpu, list) in siblings.iter().enumerate() {
            let dir = format!("CPU/cpu{cpu}/topology");
            files.push((format!("{dir}/thread_siblings_list"), format!("{list}\n")));
            files.push((format!("{dir}/physical_package_id"), format!("{}\n", cpu % 2)));
        }
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let cpu = read_tree(&files);
        assert_eq!((cpu.logical, cpu.cores, cpu.sockets), (4, Some(2), Some(2)));
    }

    #[test]
    fn a_package_that_is_not_reported_is_unknown() {
        let cpu = read_tree(&[
            ("CPU/online", "0\n"),
            ("CPU/cpu0/topology/physical_package_id", "-1\n"),
            ("CPU/cpu0/topology/thread_siblings_list", "0\n"),
        ]);
        assert_eq!((cpu.logical, cpu.cores, cpu.sockets), (1, Some(1), None));
        let cpu = read_tree(&[("proc/cpuinfo", "processor\t: 0\n\nprocessor\t: 1\nmicrocode\t: 0x1\n")]);
        assert_eq!((cpu.logical, cpu.cores, cpu.microcode.as_deref()), (2, None, Some("0x1")));
    }

    #[test]
    fn nodes_caches_and_states_are_read() {
        let cpu = read_tree(&[
            ("sys/devices/system/node/node1/cpulist", "2-3\n"),
            ("sys/devices/system/node/node1/meminfo", "Node 1 MemTotal:  2048 kB\nNode 1 MemFree: 1 kB\n"),
            ("CPU/cpu0/cache/index0/level", "1\n"),
            ("CPU/cpu0/cache/index0/type", "Data\n"),
            ("CPU/cpu0/cache/index0/size", "32K\n"),
            ("CPU/cpu0/cache/index0/shared_cpu_list", "0,4\n"),
            ("CPU/cpu0/cache/index1/level", "x\n"),
            ("CPU/cpu0/cpuidle/state0/name", "POLL\n"),
            ("CPU/cpu0/cpuidle/state0/latency", "0\n"),
            ("CPU/cpu0/cpuidle/state0/disable", "2\n"),
            ("CPU/cpuidle/current_driver", "none\n"),
            ("CPU/vulnerabilities/meltdown", "Not affected\n"),
            ("proc/stat", "cpu  10 0 10 70 0 0 0 10 0 0\n"),
        ]);
        assert_eq!(cpu.numa_nodes, [NumaNode { number: 1, cpus: "2-3".into(), memory_bytes: Some(2 << 20) }]);
        let cache = Cache { level: 1, kind: "Data".into(), size_bytes: 32 << 10, shared_by: "0,4".into() };
        assert_eq!(cpu.caches, [cache]);
        assert_eq!(cpu.idle_states, [IdleState { name: "POLL".into(), latency_us: 0, disabled: true }]);
        assert_eq!((cpu.idle_driver, cpu.steal_share), (None, Some(0.1)));
        assert_eq!(cpu.mitigations["meltdown"], "Not affected");
    }

    #[test]
    fn steal_is_a_share_of_all_time_and_of_what_was_wanted() {
        // user 20 + nice 5, system 10, idle 40, iowait 15, steal 10: 10 of 100, and 10 of 45.
        for (stat, all, wanted) in [
            ("cpu  20 5 10 40 15 0 0 10 0 0\n", Some(0.1), Some(10.0 / 45.0)),
            ("cpu  0 0 0 40 15 0 0 0 0 0\n", Some(0.0), None),
            ("intr 5\n", None, None),
        ] {
            let cpu = read_tree(&[("proc/stat", stat)]);
            assert_eq!(cpu.steal_share, all, "{stat}");
            let near = |found: f64, wanted: f64| (found - wanted).abs() < 1e-9;
            let is_same = match (cpu.steal_share_of_wanted, wanted) {
                (Some(found), Some(wanted)) => near(found, wanted),
                (found, wanted) => found == wanted,
            };
            assert!(is_same, "{stat}: {:?}", cpu.steal_share_of_wanted);
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
    fn turbo_has_two_switches() {
        for (file, text, turbo) in [
            ("CPU/intel_pstate/no_turbo", "0\n", Some(true)),
            ("CPU/intel_pstate/no_turbo", "1\n", Some(false)),
            ("CPU/cpufreq/boost", "1\n", Some(true)),
            ("CPU/cpufreq/boost", "x\n", None),
        ] {
            assert_eq!(read_tree(&[(file, text)]).turbo, turbo, "{file} {text}");
        }
    }

    #[test]
    fn hypervisors_show_themselves() {
        let clock = "sys/devices/system/clocksource/clocksource0/available_clocksource";
        for (file, text, kind) in [
            ("sys/hypervisor/type", "xen\n", Some("xen")),
            (clock, "kvm-clock tsc acpi_pm \n", Some("kvm")),
            (clock, "hyperv_clocksource_tsc_page acpi_pm\n", Some("hyperv")),
            (clock, "tsc hpet acpi_pm\n", None),
            ("sys/class/dmi/id/sys_vendor", "VMware, Inc.\n", Some("vmware")),
            ("proc/cpuinfo", "flags : fpu hypervisor\n", Some("unknown")),
        ] {
            assert_eq!(read_tree(&[(file, text)]).hypervisor.as_deref(), kind, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,200}") {
            let _ = (size(&text), value(&text, "microcode"), model(&text), is_virtual(&text));
            let _ = online(Path::new("/nonexistent"), &text);
        }

        #[test]
        fn sizes_are_read(number in 0_u64..1 << 40) {
            prop_assert_eq!(size(&format!("{number}K")), Some(number << 10));
        }
    }
}
