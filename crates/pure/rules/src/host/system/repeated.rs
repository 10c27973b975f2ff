//! Names that are set more than once in the files of sysctl, and equal lines of limits.

use std::collections::BTreeMap;

use pgdyno_core::host::SysctlLine;

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule.
pub static RULE: Rule = Rule {
    page: Page {
        name: "repeated-settings",
        also: &["sysctl.conf", "sysctl.d"],
        what: "A kernel parameter that several lines of sysctl.conf and sysctl.d set, or a line of limits.conf that \
               is there twice.",
        today: Today::NoEffect,
        why: "The last line that is read holds, and the others only mislead: who changes one of them changes \
              nothing. systemd-sysctl reads all files in the order of their names whatever their directory, sysctl \
              --system reads /etc/sysctl.conf last.",
        danger: "After the next boot another value may hold than the one that was set by hand.",
        source: "sysctl.d(5), systemd-sysctl.service(8), sysctl(8).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let mut by_name: BTreeMap<&str, Vec<&SysctlLine>> = BTreeMap::new();
    for line in &facts.host.kernel.sysctl_lines {
        by_name.entry(&line.name).or_default().push(line);
    }
    let mut found: Vec<Finding> =
        by_name.into_iter().filter_map(|(name, lines)| repeated(name, &lines)).collect();
    let limits = &facts.host.login.lines;
    found.extend(limits.iter().enumerate().filter(|(at, line)| limits[..*at].contains(line)).map(
        |(_, line)| {
            let text = format!("{} {} {} {}", line.domain, line.kind, line.item, line.value);
            RULE.finding(Standing::NoEffect, format!("{} has the line {text} more than once.", line.file))
                .on(text)
        },
    ));
    found
}

fn repeated(name: &str, lines: &[&SysctlLine]) -> Option<Finding> {
    let (last, earlier) = lines.split_last()?;
    let first = earlier.last()?;
    let values = if earlier.iter().all(|line| line.value == last.value) {
        "to the same value"
    } else {
        "to different values"
    };
    let reason = format!(
        "{} lines set {name} {values}; {} = {} in {} holds, not {} in {}.",
        lines.len(),
        last.name,
        last.value,
        last.file,
        first.value,
        first.file
    );
    Some(RULE.finding(Standing::NoEffect, reason).on(name).present(&last.value))
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::LimitLine;

    use super::*;
    use crate::host::testing::{findings, host, standings, with_line};

    #[test]
    fn the_last_line_holds() {
        let once = with_line(host(&[]), "vm.swappiness", "0");
        assert!(standings(&RULE, &once).is_empty());
        let twice = with_line(with_line(once, "vm.dirty_ratio", "80"), "vm.swappiness", "1");
        let found = findings(&RULE, &twice);
        assert_eq!((found.len(), found[0].object.as_str()), (1, "vm.swappiness"));
        assert!(found[0].reason.contains("to different values"), "{}", found[0].reason);
        let same = with_line(twice, "vm.dirty_ratio", "80");
        assert!(findings(&RULE, &same)[0].reason.contains("to the same value"));
    }

    #[test]
    fn equal_lines_of_limits_are_one_too_many() {
        let mut host = host(&[]);
        host.login.lines = vec![LimitLine { item: "nofile".to_owned(), ..LimitLine::default() }; 2];
        assert_eq!(standings(&RULE, &host), [Standing::NoEffect]);
    }
}
