//! Hosts for the tests of rules.

use pgdyno_core::facts::amount::{GB, MB};
use pgdyno_core::host::{Cpu, HugePagePool, Inventory, Kernel, Memory, NumaNode, ServerProcess, SysctlLine};

use super::{Facts, Rule};
use crate::{Finding, Purpose, Standing};

/// A host of 64 GiB, 16 processors and Linux 6.1 with these kernel parameters.
pub(crate) fn host(sysctls: &[(&str, &str)]) -> Inventory {
    let pool = HugePagePool { page_bytes: 2 * MB, ..HugePagePool::default() };
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Inventory {
        cpu: Cpu { logical: 16, ..Cpu::default() },
        memory: Memory {
            total_bytes: 64 * GB,
            page_bytes: 4096,
            huge_pages: vec![pool],
            default_huge_page_bytes: Some(2 * MB),
            swaps: Some(Vec::new()),
            ..Memory::default()
        },
        kernel: Kernel {
            release: "6.1.0-18-amd64".to_owned(),
            sysctls: sysctls.iter().map(own).collect(),
            ..Kernel::default()
        },
        ..Inventory::default()
    }
}

/// The same host with another kernel.
pub(crate) fn on_kernel(mut host: Inventory, release: &str) -> Inventory {
    release.clone_into(&mut host.kernel.release);
    host
}

/// The same host with a server of a major (9 is 9.6) and its settings.
pub(crate) fn with_server(mut host: Inventory, major: u32, settings: &[(&str, &str)]) -> Inventory {
    let version_num = if major == 9 { 90_600 } else { major * 10_000 };
    host.server = Some(ServerProcess {
        pid: 4711,
        user: Some("postgres".to_owned()),
        version_num: Some(version_num),
        settings: settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        ..ServerProcess::default()
    });
    host
}

/// The same host with so many NUMA nodes.
pub(crate) fn with_nodes(mut host: Inventory, count: u32) -> Inventory {
    host.cpu.numa_nodes = (0..count).map(|number| NumaNode { number, ..NumaNode::default() }).collect();
    host
}

/// The same host with a line in `/etc/sysctl.conf`.
pub(crate) fn with_line(mut host: Inventory, name: &str, value: &str) -> Inventory {
    let line =
        SysctlLine { file: "/etc/sysctl.conf".to_owned(), name: name.to_owned(), value: value.to_owned() };
    host.kernel.sysctl_lines.push(line);
    host
}

/// What a rule finds for short transactions.
pub(crate) fn findings(rule: &Rule, host: &Inventory) -> Vec<Finding> {
    (rule.judge)(&Facts { host, purpose: Purpose::Oltp })
}

/// How the findings of a rule stand.
pub(crate) fn standings(rule: &Rule, host: &Inventory) -> Vec<Standing> {
    findings(rule, host).into_iter().map(|finding| finding.standing).collect()
}

/// The values that a rule would set.
pub(crate) fn changes(rule: &Rule, host: &Inventory) -> Vec<String> {
    findings(rule, host).into_iter().filter_map(|finding| Some(finding.change?.value)).collect()
}

/// What a rule says of each value of its kernel parameter on a host without a server.
pub(crate) fn check_values(rule: &Rule, table: &[(&str, Standing)]) {
    for (value, expected) in table {
        let found = standings(rule, &host(&[(rule.page.name, value)]));
        assert_eq!(found, [*expected], "{} = {value}", rule.page.name);
    }
    for finding in findings(rule, &host(&[])) {
        assert_eq!(finding.standing, Standing::Unknown, "{} is absent", rule.page.name);
    }
    let odd = standings(rule, &host(&[(rule.page.name, "no number")]));
    assert!(odd.iter().all(|standing| *standing == Standing::Unknown), "{odd:?}");
}
