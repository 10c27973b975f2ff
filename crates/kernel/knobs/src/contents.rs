//! Contents of the files that make changes outlast a reboot. Lines of such a file that set something else are kept.

/// Kernel parameters, read by systemd-sysctl and by sysctl(8) of procps at boot.
pub const SYSCTLS: &str = "etc/sysctl.d/99-pgdyno.conf";
/// Limits of logins, read by pam_limits(8).
pub const LIMITS: &str = "etc/security/limits.d/99-pgdyno.conf";
/// Unit that writes values of sysfs at boot.
pub const UNIT: &str = "etc/systemd/system/pgdyno-host.service";
/// Makes the boot want that unit, as `systemctl enable` would by a link.
pub const WANTS: &str = "etc/systemd/system/sysinit.target.d/pgdyno-host.conf";
/// All of them.
pub const FILES: [&str; 4] = [SYSCTLS, LIMITS, UNIT, WANTS];

const HEADER: &str = "# Written by pgdyno; `pgdyno host undo` restores what was here.\n";

/// A file of `sysctl.d` that also sets these parameters, by name and value.
pub fn sysctls(present: Option<&str>, wanted: &[(String, String)]) -> String {
    let key = |line: &str| sysctl_key(line);
    let lines = wanted.iter().map(|(name, value)| (name.clone(), format!("{name} = {value}")));
    merged(present, key, lines.collect())
}

/// The parameter that a line of `sysctl.d` sets, in the form of dots.
pub fn sysctl_key(line: &str) -> Option<String> {
    let line = line.trim();
    let name = line.split_once('=')?.0.trim();
    let name = name.strip_prefix('-').unwrap_or(name);
    let is_comment = line.starts_with('#') || line.starts_with(';');
    let path = crate::names::sysctl_path(name).ok().filter(|_| !is_comment)?;
    Some(crate::names::sysctl_name(&path))
}

/// A file of `limits.d` that also sets these limits, by domain, item and value.
pub fn limits(present: Option<&str>, wanted: &[(String, String, String)]) -> String {
    let key = |line: &str| limit_of(line).map(|(domain, item, _)| format!("{domain} {item}"));
    let line = |(domain, item, value): &(String, String, String)| {
        (format!("{domain} {item}"), format!("{domain} - {item} {value}"))
    };
    merged(present, key, wanted.iter().map(line).collect())
}

/// Domain, item and value of a line of `limits.d`, for soft or hard limits or both.
fn limit_of(line: &str) -> Option<(&str, &str, &str)> {
    let line = line.split('#').next()?;
    match line.split_whitespace().collect::<Vec<_>>()[..] {
        [domain, "-" | "soft" | "hard", item, value] => Some((domain, item, value)),
        _ => None,
    }
}

/// What a file of `limits.d` sets soft and hard limits of an item to, for a domain: both, separated by `:` if they
/// differ.
pub fn limit_in(text: &str, domain: &str, item: &str) -> Option<String> {
    let (mut soft, mut hard) = (None, None);
    for line in text.lines() {
        let Some((_, _, value)) = limit_of(line).filter(|of| (of.0, of.1) == (domain, item)) else {
            continue;
        };
        let kind = line.split_whitespace().nth(1);
        if kind != Some("hard") {
            soft = Some(value);
        }
        if kind != Some("soft") {
            hard = Some(value);
        }
    }
    match (soft, hard) {
        (None, None) => None,
        (Some(soft), Some(hard)) if soft == hard => Some(soft.to_owned()),
        (soft, hard) => Some(format!("{}:{}", soft.unwrap_or("unset"), hard.unwrap_or("unset"))),
    }
}

/// The lines that set something else, then the wanted ones.
fn merged(
    present: Option<&str>,
    key: impl Fn(&str) -> Option<String>,
    wanted: Vec<(String, String)>,
) -> String {
    let is_ours = |line: &str| key(line).is_some_and(|key| wanted.iter().any(|(ours, _)| *ours == key));
    let mut text = present.map_or_else(
        || HEADER.to_owned(),
        |present| present.lines().filter(|line| !is_ours(line)).map(|line| format!("{line}\n")).collect(),
    );
    for (_, line) in &wanted {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// A systemd unit that writes values of sysfs, by path and value, before any service starts.
pub fn unit(wanted: &[(String, String)]) -> String {
    let mut text = format!(
        "{HEADER}[Unit]\n\
         Description=Values of sysfs for PostgreSQL, planned by pgdyno\n\
         ConditionPathIsReadWrite=/sys\n\
         DefaultDependencies=no\n\
         Conflicts=shutdown.target\n\
         After=local-fs.target systemd-modules-load.service\n\
         Before=sysinit.target shutdown.target\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n"
    );
    for (path, value) in wanted {
        let command = format!("printf '%s\\n' '{value}' > '{path}'");
        text.push_str(&format!("ExecStart=-/bin/sh -c \"{}\"\n", escaped(&command)));
    }
    text + "\n[Install]\nWantedBy=sysinit.target\n"
}

/// As systemd.service(5) has it for words in double quotes.
fn escaped(command: &str) -> String {
    let escape = |c: char| match c {
        '\\' | '"' => format!("\\{c}"),
        '$' | '%' => format!("{c}{c}"),
        c => c.to_string(),
    };
    command.chars().map(escape).collect()
}

/// A drop-in file that makes the boot want the unit.
pub fn wants() -> String {
    format!("{HEADER}[Unit]\nWants=pgdyno-host.service\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn lines_that_set_something_else_are_kept() {
        let present = "# mine\nvm/swappiness=60\n-vm.swappiness = 50\nvm.overcommit_memory = 2";
        let text = sysctls(Some(present), &[pair("vm.swappiness", "10")]);
        assert_eq!(text, "# mine\nvm.overcommit_memory = 2\nvm.swappiness = 10\n");
        assert_eq!(sysctls(None, &[pair("a.b", "1")]), format!("{HEADER}a.b = 1\n"));
    }

    #[test]
    fn a_comment_sets_nothing() {
        for line in ["# a.b = 1", "; a.b = 1", "a.b", "", " = 2"] {
            assert_eq!(sysctl_key(line), None, "{line:?}");
        }
        let vlan = "net/ipv4/conf/eth0.1/rp_filter = 1";
        assert_eq!(sysctl_key(vlan).as_deref(), Some("net.ipv4.conf.eth0/1.rp_filter"));
    }

    #[test]
    fn a_limit_has_a_soft_and_a_hard_side() {
        let text =
            "postgres soft nofile 1024 # low\npostgres hard nofile 4096\n* - nofile 9\npostgres - core 0\n";
        assert_eq!(limit_in(text, "postgres", "nofile").as_deref(), Some("1024:4096"));
        assert_eq!(limit_in(text, "*", "nofile").as_deref(), Some("9"));
        assert_eq!(limit_in(text, "postgres", "core").as_deref(), Some("0"));
        assert_eq!(limit_in(text, "postgres", "nproc"), None);
        assert_eq!(limit_in("# postgres - nproc 1", "postgres", "nproc"), None);
        let wanted = [("postgres".to_owned(), "nofile".to_owned(), "65536".to_owned())];
        let merged = limits(Some(text), &wanted);
        assert_eq!(merged, "* - nofile 9\npostgres - core 0\npostgres - nofile 65536\n");
    }

    #[test]
    fn a_unit_writes_what_a_shell_would() {
        let text = unit(&[pair("/sys/x/enabled", "a $b %c \"d\"")]);
        let line = r#"ExecStart=-/bin/sh -c "printf '%%s\\n' 'a $$b %%c \"d\"' > '/sys/x/enabled'""#;
        assert!(text.lines().any(|found| found == line), "{text}");
    }
}
