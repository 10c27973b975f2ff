//! Where a value is found, and what the kernel does when it is written. Paths are relative to the root.

use pgdyno_core::host::with_separators_swapped;

/// Parameters that are never set, because writing them does something, or cannot be reversed while the kernel runs.
/// Sources: Documentation/admin-guide/sysctl/{vm,kernel}.rst and Documentation/networking/ip-sysctl.rst.
const ONE_WAY: [(&str, &str); 16] = [
    ("vm/drop_caches", "writing it empties the page cache once; nothing fills it again"),
    ("vm/compact_memory", "writing it compacts memory once"),
    ("vm/stat_refresh", "writing it updates the counters of memory once"),
    ("net/ipv4/route/flush", "writing it empties the routing cache once"),
    ("net/ipv6/route/flush", "writing it empties the routing cache once"),
    ("net/ipv4/ip_forward", "changing it changes parameters of every interface"),
    ("net/ipv4/conf/all/forwarding", "changing it changes parameters of every interface"),
    ("net/ipv6/conf/all/forwarding", "changing it changes parameters of every interface"),
    ("kernel/modules_disabled", "it cannot be unset until the next reboot"),
    ("kernel/kexec_load_disabled", "it cannot be unset until the next reboot"),
    ("kernel/kexec_load_limit_panic", "it can only be lowered until the next reboot"),
    ("kernel/kexec_load_limit_reboot", "it can only be lowered until the next reboot"),
    ("kernel/unprivileged_bpf_disabled", "the value 1 cannot be unset until the next reboot"),
    ("kernel/yama/ptrace_scope", "the value 3 cannot be unset until the next reboot"),
    ("kernel/tainted", "a taint cannot be removed until the next reboot"),
    ("kernel/shm_rmid_forced", "setting it destroys shared memory segments that no process has attached"),
];

/// Files of sysfs, by their last name, that do something when they are written.
const ACTIONS: [(&str, &str); 11] = [
    ("bind", "writing it binds a driver"),
    ("unbind", "writing it takes a device from its driver"),
    ("delete", "writing it removes a device"),
    ("disksize", "it can be set only once"),
    ("online", "a processor or memory that goes offline changes affinities, which would not be restored"),
    ("remove", "writing it removes a device"),
    ("rescan", "writing it searches for devices"),
    ("reset", "writing it resets a device"),
    ("scan", "writing it searches for devices"),
    ("state", "writing it changes what the system or a device does"),
    ("uevent", "writing it sends an event"),
];

/// Parameters of which the kernel keeps one: writing one sets the other to 0, and 0 cannot be written back
/// (Documentation/admin-guide/sysctl/vm.rst; `dirty_bytes_handler` of mm/page-writeback.c, `overcommit_kbytes_handler`
/// of mm/util.c).
const PAIRS: [(&str, &str); 3] = [
    ("proc/sys/vm/dirty_bytes", "proc/sys/vm/dirty_ratio"),
    ("proc/sys/vm/dirty_background_bytes", "proc/sys/vm/dirty_background_ratio"),
    ("proc/sys/vm/overcommit_kbytes", "proc/sys/vm/overcommit_ratio"),
];

/// What the kernel may change when another value is written.
#[derive(Debug, PartialEq, Eq)]
pub enum SideEffect {
    /// This value.
    Value(String),
    /// All values in this directory.
    AllIn(String),
}

/// The file of a kernel parameter. As sysctl.d(5) has it: if the first separator is a slash, the rest is taken as it
/// is; if it is a dot, dots and slashes change places, as in `net.ipv4.conf.eth0/1.rp_filter`.
///
/// # Errors
/// Why it is no such name.
pub fn sysctl_path(name: &str) -> Result<String, String> {
    let first = name.find(['.', '/']).map(|at| name.as_bytes()[at]);
    let path = match first {
        Some(b'.') => with_separators_swapped(name),
        _ => name.to_owned(),
    };
    checked(&path).map(|()| format!("proc/sys/{path}"))
}

/// The name of a kernel parameter by its file, in the form of dots.
pub fn sysctl_name(path: &str) -> String {
    let path = path.strip_prefix("proc/sys/").unwrap_or(path);
    with_separators_swapped(path)
}

/// The path of a file of sysfs below the root.
///
/// # Errors
/// Why it is no such path.
pub fn sysfs_path(path: &str) -> Result<String, String> {
    let Some(inside) = path.strip_prefix("/sys/") else { return Err("is not below /sys".to_owned()) };
    checked(inside).map(|()| format!("sys/{inside}"))
}

fn checked(path: &str) -> Result<(), String> {
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("has an empty part, or one of dots".to_owned());
    }
    let strange = |c: char| !c.is_ascii_graphic() || "'\"\\$`%#;=".contains(c);
    match path.chars().find(|&c| strange(c)) {
        Some(c) => Err(format!("has the character {c:?}")),
        None => Ok(()),
    }
}

/// Whether a path of a journal is one that a plan may have.
pub fn is_value_path(path: &str) -> bool {
    let below = path.strip_prefix("proc/sys/").or_else(|| path.strip_prefix("sys/"));
    below.is_some_and(|below| checked(below).is_ok())
}

/// Why a value could not be restored, if so.
pub fn one_way(path: &str) -> Option<&'static str> {
    if let Some(parameter) = path.strip_prefix("proc/sys/") {
        if parameter.starts_with("net/ipv6/conf/") && parameter.ends_with("/disable_ipv6") {
            return Some("setting it removes addresses, which would not be restored");
        }
        return ONE_WAY.iter().find(|(name, _)| *name == parameter).map(|(_, why)| *why);
    }
    if path.contains("/md/") {
        return Some("writing it changes what an array does");
    }
    let name = path.rsplit('/').next()?;
    ACTIONS.iter().find(|(action, _)| *action == name).map(|(_, why)| *why)
}

/// The other one of a pair of which the kernel keeps one.
pub fn counterpart(path: &str) -> Option<&'static str> {
    PAIRS.iter().find_map(|(one, other)| match path {
        _ if path == *one => Some(*other),
        _ if path == *other => Some(*one),
        _ => None,
    })
}

/// What the kernel may change when this value is written.
///
/// A new scheduler gets its own queue depth and parameters (`elevator_switch` of block/elevator.c), and BFQ switches
/// write-back throttling off; the governor `performance` of intel_pstate sets the energy preference; transparent huge
/// pages raise `vm.min_free_kbytes` (`set_recommended_min_free_kbytes` of mm/khugepaged.c).
pub fn side_effects(path: &str) -> Vec<SideEffect> {
    let value = |path: String| SideEffect::Value(path);
    if let Some(other) = counterpart(path) {
        return vec![value(other.to_owned())];
    }
    let Some((dir, name)) = path.rsplit_once('/') else { return Vec::new() };
    match name {
        "scheduler" if dir.ends_with("/queue") => vec![
            value(format!("{dir}/nr_requests")),
            value(format!("{dir}/wbt_lat_usec")),
            SideEffect::AllIn(format!("{dir}/iosched")),
        ],
        "scaling_governor" => vec![value(format!("{dir}/energy_performance_preference"))],
        "enabled" if dir.contains("/transparent_hugepage") => {
            vec![value("proc/sys/vm/min_free_kbytes".to_owned())]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_those_of_sysctl_d() {
        for (name, path) in [
            ("vm.swappiness", "vm/swappiness"),
            ("net.ipv4.conf.eth0/1.rp_filter", "net/ipv4/conf/eth0.1/rp_filter"),
            ("net/ipv4/conf/eth0.1/rp_filter", "net/ipv4/conf/eth0.1/rp_filter"),
            ("kernel/sem", "kernel/sem"),
        ] {
            let found = sysctl_path(name).expect("it is a name");
            assert_eq!(found, format!("proc/sys/{path}"));
            assert_eq!(sysctl_path(&sysctl_name(&found)), Ok(found));
        }
    }

    #[test]
    fn a_name_cannot_leave_its_tree() {
        for name in ["", "vm..x", "vm/../../etc/passwd", "vm. x", "vm.'x", "/etc/passwd", "vm.x\n", "vm."] {
            assert!(sysctl_path(name).is_err(), "{name:?}");
        }
        for path in ["/proc/x", "/sys/", "/sys/../etc/passwd", "/sys/a b", "/sysx/a", "sys/a", "/sys/a//b"] {
            assert!(sysfs_path(path).is_err(), "{path:?}");
        }
        assert_eq!(
            sysfs_path("/sys/block/cciss!c0d0/queue/x"),
            Ok("sys/block/cciss!c0d0/queue/x".to_owned())
        );
        assert!(is_value_path("proc/sys/vm/swappiness") && is_value_path("sys/block/sda/queue/scheduler"));
        assert!(!is_value_path("etc/passwd") && !is_value_path("proc/sys/../../etc/passwd"));
    }

    #[test]
    fn what_acts_when_it_is_written_has_no_way_back() {
        for path in [
            "proc/sys/vm/drop_caches",
            "proc/sys/net/ipv6/conf/eth0/disable_ipv6",
            "sys/block/sda/device/delete",
            "sys/block/md0/md/sync_action",
            "sys/devices/system/cpu/cpu1/online",
        ] {
            assert!(one_way(path).is_some(), "{path}");
        }
        for path in
            ["proc/sys/vm/swappiness", "sys/block/md0/queue/scheduler", "sys/block/sda/queue/nr_requests"]
        {
            assert_eq!(one_way(path), None, "{path}");
        }
    }

    #[test]
    fn a_scheduler_takes_its_parameters_with_it() {
        assert_eq!(
            side_effects("sys/block/sda/queue/scheduler"),
            [
                SideEffect::Value("sys/block/sda/queue/nr_requests".to_owned()),
                SideEffect::Value("sys/block/sda/queue/wbt_lat_usec".to_owned()),
                SideEffect::AllIn("sys/block/sda/queue/iosched".to_owned()),
            ]
        );
        let ratio = "proc/sys/vm/dirty_ratio".to_owned();
        assert_eq!(side_effects("proc/sys/vm/dirty_bytes"), [SideEffect::Value(ratio)]);
        assert_eq!(counterpart("proc/sys/vm/dirty_ratio"), Some("proc/sys/vm/dirty_bytes"));
        assert!(side_effects("proc/sys/vm/swappiness").is_empty());
    }
}
