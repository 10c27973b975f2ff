//! Limits of this process's control groups, versions 1 and 2 (kernel manual, "Control Group v2" and "CGROUPS"). A group
//! is bound by its own limits and by those of every group above it.

use std::path::{Path, PathBuf};

use pgdyno_core::host::Cgroup;

use super::{
    file::{first_line, text},
    mountinfo,
};

/// Smallest version 1 memory limit that means "none": the kernel writes 2^63 rounded down to a page.
const V1_NO_LIMIT: u64 = 1 << 62;

/// Mount point of one hierarchy, and the path of this process's group in it.
struct Hierarchy {
    version: Version,
    /// Whether it has controllers, not just a name.
    has_controllers: bool,
    mount: PathBuf,
    group: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Reads the version that has the controllers, and the tightest limits over all groups of this process.
pub(super) fn read(root: &Path) -> Cgroup {
    let all = of_this_process(root);
    let has_controllers = |of: &Hierarchy| of.version == Version::One && of.has_controllers;
    let version = if all.iter().any(has_controllers) { 1 } else { 2 };
    let mut group = Cgroup { version: (!all.is_empty()).then_some(version), ..Cgroup::default() };
    for hierarchy in all {
        hierarchy.places().iter().for_each(|place| tighten(&mut group, root, hierarchy.version, place));
    }
    group
}

fn of_this_process(root: &Path) -> Vec<Hierarchy> {
    hierarchies(&text(root, "proc/self/cgroup").unwrap_or_default(), &mountinfo::read(root))
}

impl Hierarchy {
    /// Directories of the group and of all groups above it.
    fn places(&self) -> Vec<PathBuf> {
        let groups = self.group.ancestors();
        groups.map(|group| self.mount.join(group.strip_prefix("/").unwrap_or(group))).collect()
    }
}

fn line(root: &Path, place: &Path, name: &str) -> Option<String> {
    let path = place.join(name);
    first_line(root, path.strip_prefix("/").unwrap_or(&path).to_str()?)
}

fn tighten(limits: &mut Cgroup, root: &Path, version: Version, place: &Path) {
    let file = |name: &str| line(root, place, name);
    let (memory, cpus) = match version {
        Version::Two => (
            file("memory.max").and_then(|line| parse_memory(&line)),
            file("cpu.max").and_then(|line| parse_cpu_max(&line)),
        ),
        Version::One => (
            file("memory.limit_in_bytes").and_then(|line| parse_memory(&line)),
            file("cpu.cfs_quota_us").zip(file("cpu.cfs_period_us")).and_then(|(q, p)| share(&q, &p)),
        ),
    };
    limits.memory_bytes = limits.memory_bytes.into_iter().chain(memory).min();
    limits.cpus = limits.cpus.into_iter().chain(cpus).min_by(f64::total_cmp);
    // Both versions have this file.
    let processes = file("pids.max").and_then(|line| line.parse().ok());
    limits.processes = limits.processes.into_iter().chain(processes).min();
}

/// Pairs the lines of `/proc/self/cgroup` with their mounts.
fn hierarchies(own: &str, mounts: &[mountinfo::Mount]) -> Vec<Hierarchy> {
    own.lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (number, controllers, group) = (fields.next()?, fields.next()?, fields.next()?);
            let version = if number == "0" && controllers.is_empty() { Version::Two } else { Version::One };
            let mount = mounts.iter().find(|mount| serves(mount, version, controllers))?;
            let has_controllers = controllers.split(',').any(|name| !name.is_empty() && !name.contains('='));
            let group = within(group, &mount.root);
            Some(Hierarchy { version, has_controllers, mount: mount.mount_point.clone(), group })
        })
        .collect()
}

fn serves(mount: &mountinfo::Mount, version: Version, controllers: &str) -> bool {
    match version {
        Version::Two => mount.filesystem == "cgroup2",
        Version::One => {
            mount.filesystem == "cgroup"
                && controllers.split(',').all(|name| mount.super_options.split(',').any(|o| o == name))
        }
    }
}

/// Path of the group below the mount. In a container the mount may show only a part of the hierarchy; for a group
/// outside that part the mount itself is used.
fn within(group: &str, mount_root: &Path) -> PathBuf {
    let group = Path::new(group);
    let inside = group.strip_prefix(mount_root).map(|rest| Path::new("/").join(rest));
    inside.unwrap_or_else(|_| PathBuf::from("/"))
}

/// Parses a memory limit in bytes; `None` if there is no limit.
fn parse_memory(line: &str) -> Option<u64> {
    line.trim().parse().ok().filter(|bytes| *bytes < V1_NO_LIMIT)
}

/// Parses `cpu.max`, quota and period in µs, into a number of CPUs; `None` if the quota is `max`.
fn parse_cpu_max(line: &str) -> Option<f64> {
    let (quota, period) = line.trim().split_once(' ')?;
    share(quota, period)
}

fn share(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (f64, f64) = (quota.trim().parse().ok()?, period.trim().parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::{super::tests::tree, *};

    fn limits(root: &tempfile::TempDir) -> (Option<u64>, Option<f64>) {
        let group = read(root.path());
        (group.memory_bytes, group.cpus)
    }

    #[test]
    fn limits_are_read() {
        assert_eq!(parse_memory("max"), None);
        assert_eq!(parse_memory("9223372036854771712"), None);
        assert_eq!(parse_memory("536870912\n"), Some(512 << 20));
        assert_eq!(parse_cpu_max("max 100000"), None);
        assert_eq!(parse_cpu_max("150000 100000"), Some(1.5));
        assert_eq!(parse_cpu_max("garbage"), None);
        assert_eq!(share("-1", "100000"), None);
        assert_eq!(share("100000", "0"), None);
    }

    #[test]
    fn version_2_takes_the_tightest_limit_on_the_way_up() {
        let root = tree(&[
            ("proc/self/cgroup", "0::/user.slice/work.scope\n"),
            ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/user.slice/memory.max", "1073741824\n"),
            ("sys/fs/cgroup/user.slice/work.scope/memory.max", "max\n"),
            ("sys/fs/cgroup/user.slice/cpu.max", "400000 100000\n"),
            ("sys/fs/cgroup/user.slice/work.scope/cpu.max", "50000 100000\n"),
        ]);
        assert_eq!(limits(&root), (Some(1 << 30), Some(0.5)));
    }

    #[test]
    fn version_1_finds_each_controller_at_its_mount() {
        let root = tree(&[
            ("proc/self/cgroup", "4:memory:/job/inner\n2:cpu,cpuacct:/job\n1:name=systemd:/\n0::/\n"),
            (
                "proc/self/mountinfo",
                "35 31 0:32 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n\
                 32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
            ),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648\n"),
            ("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "200000\n"),
            ("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"),
        ]);
        assert_eq!(limits(&root), (Some(2 << 30), Some(2.0)));
    }

    #[test]
    fn a_container_sees_its_group_as_the_root_of_the_mount() {
        let root = tree(&[
            ("proc/self/cgroup", "0::/docker/abc\n"),
            ("proc/self/mountinfo", "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup ro\n"),
            ("sys/fs/cgroup/memory.max", "268435456\n"),
        ]);
        assert_eq!(read(root.path()).memory_bytes, Some(256 << 20));
        assert_eq!(within("/../outside", Path::new("/docker/abc")), Path::new("/"));
    }

    #[test]
    fn the_version_is_that_of_the_controllers() {
        let mounts = "35 31 0:32 / /cg/pids rw - cgroup cgroup rw,pids\n\
                      36 31 0:33 / /cg/systemd rw - cgroup cgroup rw,name=systemd\n\
                      37 31 0:34 / /cg/unified rw - cgroup2 cgroup2 rw\n";
        for (own, expected) in [
            ("3:pids:/a/b\n1:name=systemd:/\n0::/\n", (Some(1), Some(50))),
            ("1:name=systemd:/\n0::/x\n", (Some(2), Some(70))),
            ("", (None, None)),
        ] {
            let root = tree(&[
                ("proc/self/cgroup", own),
                ("proc/self/mountinfo", mounts),
                ("cg/pids/a/pids.max", "50\n"),
                ("cg/pids/a/b/pids.max", "max\n"),
                ("cg/unified/x/pids.max", "70\n"),
            ]);
            let group = read(root.path());
            assert_eq!((group.version, group.processes), expected, "{own:?}");
        }
    }

    #[test]
    fn weird_lines_give_no_limit() {
        for own in ["", "\n\n", "0", "0::", ":::", "x:y", "\u{0}"] {
            let root = tree(&[("proc/self/cgroup", own), ("proc/self/mountinfo", "30 23\n - - -\n")]);
            assert_eq!(read(root.path()), Cgroup::default(), "{own:?}");
        }
    }
}
