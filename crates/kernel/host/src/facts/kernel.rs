//! The kernel: its release, boot line, clocks, parameters, modules, control group and container.

use std::path::Path;

use pgdyno_core::{
    host::{BlockedProcess, Cgroup, ClockSources, Kernel, Pressure},
    redact::REDACTED,
};

use super::{
    cgroup,
    file::{first_line, text},
    sysctl_files, sysctls, system,
};
use crate::observe::pressure;

/// Most words of the boot line, which the kernel limits to some thousand bytes.
const MOST_WORDS: usize = 256;

/// Modules that rules check.
const MODULES: [&str; 2] = ["nf_conntrack", "zfs"];

pub(super) fn read(root: &Path, blocked: Vec<BlockedProcess>) -> Kernel {
    let release = first_line(root, "proc/sys/kernel/osrelease");
    let own_release = || rustix::system::uname().release().to_string_lossy().into_owned();
    Kernel {
        release: release.unwrap_or_else(own_release),
        boot_words: boot_words(&text(root, "proc/cmdline").unwrap_or_default()),
        clocks: clocks(&root.join("sys/devices/system/clocksource/clocksource0")),
        sysctls: sysctls::read(root),
        sysctl_lines: sysctl_files::read(root),
        modules: modules(root),
        cgroup: group(root),
        container: container(root),
        blocked,
        init: first_line(root, "proc/1/comm"),
    }
}

/// Words of the boot line; blanks within double quotes belong to a word. What follows `--` is for the init program and
/// left out. Values that may be secrets are replaced.
fn boot_words(line: &str) -> Vec<String> {
    let mut quoted = false;
    let words = line.split(|c: char| {
        quoted ^= c == '"';
        c.is_whitespace() && !quoted
    });
    let words = words.filter(|word| !word.is_empty()).take_while(|word| *word != "--");
    words.take(MOST_WORDS).map(without_secret).collect()
}

fn without_secret(word: &str) -> String {
    const SECRET: [&str; 4] = ["pass", "key", "token", "secret"];
    match word.split_once('=') {
        Some((name, _)) if SECRET.iter().any(|of| name.to_ascii_lowercase().contains(of)) => {
            format!("{name}={REDACTED}")
        }
        _ => without_credentials(word).unwrap_or_else(|| word.to_owned()),
    }
}

/// An address such as `http://user:password@host/path` without what comes before the host; `None` if nothing does.
fn without_credentials(word: &str) -> Option<String> {
    let (scheme, rest) = word.split_once("://")?;
    let (_, host) = rest.rsplit_once('@')?;
    Some(format!("{scheme}://{REDACTED}@{host}"))
}

fn clocks(base: &Path) -> ClockSources {
    let available = first_line(base, "available_clocksource").unwrap_or_default();
    ClockSources {
        current: first_line(base, "current_clocksource"),
        available: available.split_whitespace().map(str::to_owned).collect(),
    }
}

/// A module that is built in has a directory in sysfs if it has parameters, as both have.
fn modules(root: &Path) -> Vec<String> {
    let loaded = text(root, "proc/modules").unwrap_or_default();
    let is_loaded = |name: &str| loaded.lines().any(|line| line.split(' ').next() == Some(name));
    let present =
        MODULES.into_iter().filter(|name| is_loaded(name) || root.join("sys/module").join(name).is_dir());
    present.map(str::to_owned).collect()
}

fn group(root: &Path) -> Cgroup {
    Cgroup {
        pressure: ["cpu", "io", "memory"].into_iter().filter_map(|of| stalls(root, of)).collect(),
        ..cgroup::read(root)
    }
}

/// Shares of the last minute, which the kernel writes in per cent (Documentation/accounting/psi.rst).
fn stalls(root: &Path, of: &str) -> Option<Pressure> {
    let text = text(root, &format!("proc/pressure/{of}"))?;
    let share =
        |kind| pressure::value(&text, kind, "avg60=")?.parse().ok().map(|percent: f64| percent / 100.0);
    let is_share = |share: &f64| (0.0..=1.0).contains(share);
    Some(Pressure {
        of: of.to_owned(),
        some_share: share("some").filter(is_share)?,
        full_share: share("full").filter(is_share),
    })
}

/// The kind of container by its files, by the environment of its first process, which is rarely readable, or by the
/// path of its control group, which a control-group namespace hides.
pub(super) fn container(root: &Path) -> Option<String> {
    system::container(root)
        .or_else(|| of_environment(&text(root, "proc/1/environ").unwrap_or_default()))
        .or_else(|| of_groups(&text(root, "proc/self/cgroup").unwrap_or_default()))
}

fn of_environment(environ: &str) -> Option<String> {
    let kind = environ.split('\0').find_map(|entry| entry.strip_prefix("container="))?;
    (!kind.is_empty()).then(|| kind.to_owned())
}

fn of_groups(groups: &str) -> Option<String> {
    const KINDS: [(&str, &str); 7] = [
        ("kubepods", "kubernetes"),
        ("/docker/", "docker"),
        ("docker-", "docker"),
        ("/libpod-", "podman"),
        ("cri-containerd", "containerd"),
        ("/lxc/", "lxc"),
        ("/lxc.payload", "lxc"),
    ];
    let paths = || groups.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let kind = KINDS.iter().find(|(mark, _)| paths().any(|path| path.contains(mark)));
    kind.map(|(_, kind)| (*kind).to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::facts::tests::tree;

    #[test]
    fn secrets_of_the_boot_line_are_cut() {
        let line = "BOOT_IMAGE=/vmlinuz root=/dev/vda1 ro ip=10.0.0.2::10.0.0.1:255.255.255.0 \
                    dyndbg=\"file a.c +p\" RootPassword=hunter2 rd.luks.key=/k join_token=abc \
                    inst.ks=http://user:geheim@host/ks numa=off -- --debug secret\n";
        assert_eq!(
            boot_words(line),
            [
                "BOOT_IMAGE=/vmlinuz",
                "root=/dev/vda1",
                "ro",
                "ip=10.0.0.2::10.0.0.1:255.255.255.0",
                "dyndbg=\"file a.c +p\"",
                "RootPassword=***",
                "rd.luks.key=***",
                "join_token=***",
                "inst.ks=http://***@host/ks",
                "numa=off"
            ]
        );
        assert_eq!(boot_words(&"x ".repeat(9_999)).len(), MOST_WORDS);
    }

    #[test]
    fn pressure_is_a_share_of_the_last_minute() {
        let root = tree(&[
            (
                "proc/pressure/io",
                "some avg10=0.00 avg60=12.50 avg300=0.05 total=15\nfull avg10=0.00 avg60=1.00 x\n",
            ),
            ("proc/pressure/cpu", "some avg10=0.00 avg60=NaN avg300=0.05 total=15\n"),
            ("proc/pressure/memory", "some avg60=2.00\n"),
        ]);
        let of = |of: &str, some_share, full_share| Pressure { of: of.into(), some_share, full_share };
        assert_eq!(group(root.path()).pressure, [of("io", 0.125, Some(0.01)), of("memory", 0.02, None)]);
    }

    #[test]
    fn containers_leave_traces() {
        for (path, text, kind) in [
            (".dockerenv", "", Some("docker")),
            ("run/.containerenv", "", Some("podman")),
            ("run/systemd/container", "lxc\n", Some("lxc")),
            ("proc/1/environ", "A=b\0container=lxc\0", Some("lxc")),
            ("proc/self/cgroup", "0::/kubepods.slice/kubepods-burstable.slice/x\n", Some("kubernetes")),
            ("proc/self/cgroup", "4:memory:/docker/abc\n", Some("docker")),
            ("proc/self/cgroup", "0::/user.slice/user-0.slice\n", None),
        ] {
            assert_eq!(container(tree(&[(path, text)]).path()).as_deref(), kind, "{path} {text}");
        }
    }

    #[test]
    fn modules_may_be_built_in() {
        let root = tree(&[
            ("proc/modules", "zfs 4096 1 - Live 0x0\nnf_conntrack_netlink 1 0 - Live 0x0\n"),
            ("sys/module/nf_conntrack/parameters/hashsize", "1\n"),
        ]);
        assert_eq!(modules(root.path()), ["nf_conntrack", "zfs"]);
        let root = tree(&[("proc/modules", "zfs_x 4096\nnf_conntrack_netlink 1 0\n")]);
        assert_eq!(modules(root.path()), [""; 0]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,300}") {
            let _ = (of_environment(&text), of_groups(&text));
            let words = boot_words(&text);
            prop_assert!(words.iter().all(|word| !word.is_empty()));
        }
    }
}
