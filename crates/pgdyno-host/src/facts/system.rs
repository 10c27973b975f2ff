//! Operating system and virtualization.

use std::path::Path;

use super::file::{first_line, text};

/// `PRETTY_NAME` of `/etc/os-release`.
pub(crate) fn os(root: &Path) -> Option<String> {
    let release = text(root, "etc/os-release").or_else(|| text(root, "usr/lib/os-release"))?;
    let value = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let name = value.trim().trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

/// Container or hypervisor; the container takes precedence, since its limits are tighter.
pub(crate) fn virtualization(root: &Path) -> Option<String> {
    container(root).map(|kind| format!("container ({kind})")).or_else(|| hypervisor(root))
}

/// The kind of container that this process is in, by the files that container engines leave in it.
pub(crate) fn container(root: &Path) -> Option<String> {
    if root.join(".dockerenv").exists() {
        return Some("docker".to_owned());
    }
    if root.join("run/.containerenv").exists() {
        return Some("podman".to_owned());
    }
    first_line(root, "run/systemd/container")
}

fn hypervisor(root: &Path) -> Option<String> {
    if let Some(kind) = first_line(root, "sys/hypervisor/type") {
        return Some(format!("hypervisor ({kind})"));
    }
    is_virtual(&text(root, "proc/cpuinfo")?).then(|| "hypervisor".to_owned())
}

/// Whether `/proc/cpuinfo` has the flag that hypervisors set on x86.
pub(crate) fn is_virtual(cpuinfo: &str) -> bool {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

#[cfg(test)]
mod tests {
    use super::{super::tests::tree, *};

    #[test]
    fn the_name_of_the_system() {
        let root = tree(&[("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n")]);
        assert_eq!(os(root.path()).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(os(tree(&[("etc/os-release", "PRETTY_NAME=\"\"\n")]).path()), None);
        assert_eq!(os(tree(&[]).path()), None);
    }

    #[test]
    fn containers_come_before_hypervisors() {
        let cpuinfo = ("proc/cpuinfo", "flags\t\t: fpu hypervisor sse\n");
        assert_eq!(virtualization(tree(&[cpuinfo]).path()).as_deref(), Some("hypervisor"));
        let root = tree(&[cpuinfo, (".dockerenv", "")]);
        assert_eq!(virtualization(root.path()).as_deref(), Some("container (docker)"));
        assert_eq!(virtualization(tree(&[("proc/cpuinfo", "flags : fpu\n")]).path()), None);
    }
}
