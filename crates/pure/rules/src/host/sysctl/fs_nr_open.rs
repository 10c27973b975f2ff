//! `fs.nr_open`.

use pgdyno_core::units;

use crate::{
    Finding, Page, Standing, Today,
    host::{
        Facts, Rule,
        known::{DEFAULT_FILES, UNCOUNTED_FILES},
    },
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "fs.nr_open",
        what: "Highest limit of open files (nofile) that a process can be given, 1048576 by default; systemd since \
               240 raises it where it was built to.",
        today: Today::DefaultIsRight,
        why: "A process of the server opens up to max_files_per_process files, 1000 by default, so the default is a \
              thousandfold. It has to be raised only before a nofile above it, which a server does not need.",
        danger: "A nofile above it is refused: depending on the version of PAM the login fails altogether.",
        source: "Linux Documentation/admin-guide/sysctl/fs.rst; getrlimit(2); pam_limits(8).",
        ..Page::EMPTY
    },
    judge,
};

/// The default of the kernel.
const DEFAULT: u64 = 1_048_576;
/// The highest value that the kernel takes: the largest `int` that is a multiple of 64.
const MOST: u64 = 2_147_483_584;

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(value) = RULE.number(facts) else { return Vec::new() };
    let files = facts.files_of_process().unwrap_or(DEFAULT_FILES + UNCOUNTED_FILES);
    let logins = facts.host.login.lines.iter().filter(|line| line.item == "nofile");
    let held = facts.host.server.as_ref().and_then(|server| server.limits.get("Max open files"));
    let held = held.and_then(|limit| limit.hard.max(limit.soft));
    let highest = logins.filter_map(|line| line.value.parse::<u64>().ok()).chain(held).max().unwrap_or(0);
    let wanted = highest.max(files);
    if wanted > MOST {
        let reason = format!("A nofile of {} is requested, which no kernel can give.", units::count(wanted));
        return vec![RULE.finding(Standing::Improve, reason).present(value).recommend("a lower nofile")];
    }
    if wanted > value {
        let reason =
            format!("A process would be given {} files, which the kernel refuses.", units::count(wanted));
        return vec![RULE.finding(Standing::Improve, reason).present(value).set_sysctl(wanted.max(DEFAULT))];
    }
    RULE.fine(value, format!("It is above every limit that is needed or set ({}).", units::count(wanted)))
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{Limit, LimitLine};

    use super::*;
    use crate::host::testing::{changes, check_values, findings, host, with_server};

    #[test]
    fn the_default_is_above_what_a_server_opens() {
        check_values(
            &RULE,
            &[("1048576", Standing::Fine), ("20480000", Standing::Fine), ("1000", Standing::Improve)],
        );
    }

    #[test]
    fn a_server_needs_what_its_nofile_is_compared_with() {
        let sysctls = [("fs.nr_open", "1048576")];
        for (settings, files) in [
            (vec![("port", "5432")], "(1,024)"),
            (vec![("max_files_per_process", "2000")], "(2,024)"),
            // 16 + 100 + 16 + 8 + 10 rings.
            (vec![("io_method", "io_uring")], "(1,174)"),
        ] {
            let host = with_server(host(&sysctls), 18, &settings);
            let reason = &findings(&RULE, &host)[0].reason;
            assert!(reason.contains(files), "{settings:?}: {reason}");
        }
        assert!(findings(&RULE, &host(&sysctls))[0].reason.contains("(1,024)"), "no server");
    }

    #[test]
    fn what_a_server_may_raise_its_limit_to_counts() {
        let mut host = with_server(host(&[("fs.nr_open", "1048576")]), 18, &[("port", "5432")]);
        let server = host.server.as_mut().expect("it was put there");
        server.limits.insert("Max open files".to_owned(), Limit { soft: Some(1_024), hard: Some(524_288) });
        assert!(findings(&RULE, &host)[0].reason.contains("(524,288)"), "{:?}", findings(&RULE, &host));
    }

    #[test]
    fn limits_of_logins_have_to_be_below() {
        let mut host = host(&[("fs.nr_open", "1048576")]);
        let line = |value: &str| LimitLine {
            item: "nofile".to_owned(),
            value: value.to_owned(),
            ..LimitLine::default()
        };
        host.login.lines = vec![line("2000000"), line("unlimited")];
        assert_eq!(changes(&RULE, &host), ["2000000"]);
        host.login.lines = vec![line("99999999999")];
        assert!(changes(&RULE, &host).is_empty(), "no kernel takes it");
    }
}
