//! Lines of `limits.conf` and `limits.d` that do nothing.

use std::collections::BTreeSet;

use pgdyno_core::host::LimitLine;
use pgdyno_core::units::plural;

use super::login;
use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "limits.d",
        also: &["limits.conf", "20-nproc.conf"],
        what: "Files in /etc/security/limits.d, read after limits.conf in the order of their names; the last line of \
               an item holds, but a line of a user overrides one of a group, and that one of everybody (*).",
        today: Today::Kept,
        why: "Distributions put lines there, such as 20-nproc.conf with 4096 processes for everybody, which \
              override what stands in limits.conf. A server that systemd starts reads none of them: its unit has \
              LimitNOFILE= and others. Deleting the directory's files, as published, also takes guards from other \
              users; a file of one's own that is read last, with the user's name, is enough.",
        danger: "A limit that one believes to have set is not in force.",
        source: "limits.conf(5), pam_limits(8), systemd.exec(5).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let lines = &facts.host.login.lines;
    let mut found: Vec<Finding> =
        lines.iter().enumerate().filter_map(|(at, line)| overridden(facts, at, line)).collect();
    let unit = facts.host.server.as_ref().and_then(|server| server.unit.as_deref());
    if let Some(unit) = unit.filter(|_| !lines.is_empty()) {
        let reason = format!(
            "The server is started by {unit}, which does not read limits.conf; Limit…= in the unit counts."
        );
        found.push(RULE.finding(Standing::NoEffect, reason).on(unit));
    }
    found.extend(facts.host.login.unread.iter().map(|file| unread(file)));
    if found.is_empty() && !lines.is_empty() {
        let files: BTreeSet<&str> = lines.iter().map(|line| line.file.as_str()).collect();
        return RULE.fine(
            format!("{} in {}", plural(lines.len() as u64, "line"), plural(files.len() as u64, "file")),
            "No line for the server's user is overridden by another.",
        );
    }
    found
}

/// That it is not known what a file or directory says.
fn unread(file: &str) -> Finding {
    let reason = "What it says is not known. It may override limits.conf, as 20-nproc.conf of some distributions does \
                  with 4096 processes.";
    RULE.finding(Standing::Unknown, reason).on(file)
}

/// That a line does not hold, because another one of another value does.
fn overridden(facts: &Facts<'_>, at: usize, line: &LimitLine) -> Option<Finding> {
    let kinds: &[&str] = if line.kind == "-" { &["soft", "hard"] } else { &[line.kind.as_str()] };
    let winners = kinds.iter().map(|kind| login::holding(facts.host, &line.item, kind));
    let mut others = winners.flatten().filter(|winner| !std::ptr::eq(*winner, &facts.host.login.lines[at]));
    let winner = others.next()?;
    if others.next().is_none() && kinds.len() > 1 || winner.value == line.value {
        return None;
    }
    let because = if login::rank(&winner.domain) < login::rank(&line.domain) {
        "names the user more closely"
    } else {
        "is read later"
    };
    let reason = format!(
        "{} {} {} {} of {} does not hold: {} {} {} {} of {} {because}.",
        line.domain,
        line.kind,
        line.item,
        line.value,
        line.file,
        winner.domain,
        winner.kind,
        winner.item,
        winner.value,
        winner.file
    );
    Some(
        RULE.finding(Standing::NoEffect, reason)
            .on(format!("{}: {}", line.file, line.item))
            .present(&line.value),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{findings, host, standings, with_server};

    fn line(file: &str, domain: &str, kind: &str, item: &str, value: &str) -> LimitLine {
        let [file, domain, kind, item, value] = [file, domain, kind, item, value].map(str::to_owned);
        LimitLine { file, domain, kind, item, value }
    }

    #[test]
    fn later_files_override() {
        let mut host = host(&[]);
        host.login.lines = vec![
            line("limits.conf", "*", "soft", "nproc", "unlimited"),
            line("limits.conf", "*", "hard", "nproc", "unlimited"),
            line("limits.d/20-nproc.conf", "*", "soft", "nproc", "4096"),
        ];
        let found = findings(&RULE, &host);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].reason.contains("20-nproc.conf is read later"), "{}", found[0].reason);
        host.login.lines.push(line("limits.d/99.conf", "postgres", "-", "nproc", "9000"));
        assert_eq!(standings(&RULE, &host), [Standing::NoEffect; 3], "the user goes before everybody");
    }

    #[test]
    fn units_read_no_limits() {
        let mut host = with_server(host(&[]), 17, &[]);
        host.login.lines = vec![line("limits.conf", "*", "-", "nofile", "65536")];
        assert_eq!(standings(&RULE, &host), [Standing::Fine]);
        assert_eq!(findings(&RULE, &host)[0].present.as_deref(), Some("1 line in 1 file"));
        host.login.unread.push("/etc/security/limits.d".to_owned());
        assert_eq!(standings(&RULE, &host), [Standing::Unknown]);
        host.login.unread.clear();
        host.server.as_mut().expect("it was put there").unit = Some("postgresql.service".to_owned());
        assert_eq!(standings(&RULE, &host), [Standing::NoEffect]);
        host.login.lines.clear();
        assert!(standings(&RULE, &host).is_empty());
    }
}
