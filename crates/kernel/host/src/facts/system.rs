//! Operating system and container.

use std::{fs, path::Path};

use super::file::{first_line, text};

/// `PRETTY_NAME` of `/etc/os-release`.
pub(super) fn os(root: &Path) -> Option<String> {
    let release = text(root, "etc/os-release").or_else(|| text(root, "usr/lib/os-release"))?;
    let value = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let name = value.trim().trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

/// The kind of container that this process is in, by the files that container engines leave in it. A virtual machine
/// whose disk was made from an image of a container has the files of Docker and Podman as well: they say nothing where
/// this process is in the namespaces that the kernel started with.
pub(super) fn container(root: &Path) -> Option<String> {
    const FILES: [(&str, &str); 2] = [(".dockerenv", "docker"), ("run/.containerenv", "podman")];
    let marks = FILES.into_iter().find(|(file, _)| root.join(file).exists());
    let kind = marks.filter(|_| !is_in_first_namespaces(root)).map(|(_, kind)| kind.to_owned());
    kind.or_else(|| first_line(root, "run/systemd/container"))
}

/// Whether this process is in the first namespaces of processes and of control groups, whose numbers the kernel fixes
/// (`PROC_PID_INIT_INO` and `PROC_CGROUP_INIT_INO`). Kernels before 4.6 have no namespaces of control groups.
fn is_in_first_namespaces(root: &Path) -> bool {
    let namespace = |kind: &str| fs::read_link(root.join("proc/self/ns").join(kind)).ok();
    let is_first =
        |kind: &str, number: u32| namespace(kind).map(|of| of == Path::new(&format!("{kind}:[{number}]")));
    is_first("pid", 0xEFFF_FFFC) == Some(true) && is_first("cgroup", 0xEFFF_FFFB) != Some(false)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::{super::tests::tree, *};

    #[test]
    fn the_name_of_the_system() {
        let root = tree(&[("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n")]);
        assert_eq!(os(root.path()).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(os(tree(&[("etc/os-release", "PRETTY_NAME=\"\"\n")]).path()), None);
        assert_eq!(os(tree(&[]).path()), None);
    }

    #[test]
    fn a_file_of_docker_says_nothing_in_the_first_namespaces() {
        for (pid, cgroup, expected) in [
            (Some("pid:[4026531836]"), Some("cgroup:[4026531835]"), None),
            (Some("pid:[4026531836]"), None, None),
            (Some("pid:[4026531836]"), Some("cgroup:[4026532999]"), Some("docker")),
            (Some("pid:[4026532123]"), Some("cgroup:[4026531835]"), Some("docker")),
            (None, None, Some("docker")),
        ] {
            let root = tree(&[(".dockerenv", ""), ("proc/self/ns/x", "")]);
            for (name, to) in [("pid", pid), ("cgroup", cgroup)] {
                let link = root.path().join("proc/self/ns").join(name);
                to.into_iter().for_each(|to| symlink(to, &link).expect("a link can be made"));
            }
            assert_eq!(container(root.path()).as_deref(), expected, "{pid:?} {cgroup:?}");
        }
    }
}
