//! Interrupts and queues of network interfaces.

use pgdyno_core::units::plural;

use crate::{
    Finding, Page, Standing, Today,
    host::{Facts, Rule},
};

/// The rule of the daemon that spreads interrupts.
pub static BALANCE: Rule = Rule {
    page: Page {
        name: "irqbalance",
        what: "A daemon that spreads interrupts over processors.",
        today: Today::Depends,
        why: "Disks of NVMe and current network drivers have a queue and an interrupt for each processor, which the \
              kernel places by itself; for those there is nothing to spread. It helps where several interrupts are \
              all sent to the same processor. For measurements interrupts that move are a source of scatter.",
        danger: "All interrupts on one processor make it the bottleneck of the network.",
        source: "irqbalance(1); Linux Documentation/core-api/irq/irq-affinity.rst.",
        ..Page::EMPTY
    },
    judge: judge_balance,
};

/// The rule of queues.
pub static QUEUES: Rule = Rule {
    page: Page {
        name: "nic-queues",
        also: &["ethtool -L", "combined", "NIC queues"],
        what: "Queues of a network interface, each with an interrupt and a processor of its own.",
        today: Today::Kept,
        why: "Packets of a queue are processed by one processor. The recommended number is what the device offers, \
              at most one for each logical processor: ethtool -L NAME combined N. It lasts by a unit or a rule of \
              udev.",
        danger: "Changing it interrupts traffic for a moment.",
        source: "ethtool(8), -L; Linux Documentation/networking/scaling.rst.",
        ..Page::EMPTY
    },
    judge: judge_queues,
};

fn judge_balance(facts: &Facts<'_>) -> Vec<Finding> {
    let interrupts = &facts.host.interrupts;
    let several = interrupts.affinities.len() > 1 && facts.host.cpu.logical > 1;
    let mut places = interrupts.affinities.iter().map(|(_, cpus)| cpus.trim());
    let first = places.next().unwrap_or_default();
    let one_place = !first.is_empty() && first.parse::<u32>().is_ok() && places.all(|place| place == first);
    match interrupts.irqbalance_runs {
        _ if several && one_place => {
            let reason = format!(
                "All {} interrupts of disks and network interfaces go to processor {first}.",
                interrupts.affinities.len()
            );
            vec![
                BALANCE
                    .finding(Standing::Improve, reason)
                    .present(first)
                    .recommend("irqbalance, or several processors"),
            ]
        }
        None => Vec::new(),
        Some(true) => BALANCE.fine("runs", "It spreads what the kernel does not place by itself."),
        Some(false) => {
            BALANCE.fine("does not run", "No interrupts are seen that would all go to one processor.")
        }
    }
}

fn judge_queues(facts: &Facts<'_>) -> Vec<Finding> {
    let processors = facts.host.cpu.logical;
    let judged = facts.host.network.iter().filter_map(|interface| {
        let (receive, transmit) = interface.queues?;
        let most = interface.most_queues?.min(processors);
        let present = receive.min(transmit);
        let text = format!(
            "{} has {}; with {} it could have {most}",
            interface.name,
            plural(u64::from(present), "queue"),
            plural(u64::from(processors), "processor")
        );
        let finding = if present < most {
            QUEUES.finding(Standing::Improve, format!("{text}.")).recommend(most)
        } else {
            QUEUES.finding(Standing::Fine, format!("{text} and needs no more."))
        };
        Some(finding.present(present).on(interface.name.as_str()))
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::Interface;

    use super::*;
    use crate::host::testing::{findings, host, standings};

    #[test]
    fn interrupts_share_processors() {
        let mut host = host(&[]);
        assert!(standings(&BALANCE, &host).is_empty());
        host.interrupts.irqbalance_runs = Some(false);
        assert_eq!(standings(&BALANCE, &host), [Standing::Fine]);
        let at = |cpus: &str| ("eth0".to_owned(), cpus.to_owned());
        host.interrupts.affinities = vec![at("0"), at("0")];
        assert_eq!(standings(&BALANCE, &host), [Standing::Improve]);
        host.interrupts.affinities = vec![at("0"), at("1")];
        assert_eq!(standings(&BALANCE, &host), [Standing::Fine]);
        host.interrupts.affinities = vec![at("0-15"), at("0-15")];
        assert_eq!(standings(&BALANCE, &host), [Standing::Fine], "the kernel may place them");
    }

    #[test]
    fn queues_are_as_many_as_processors() {
        let mut host = host(&[]);
        assert!(standings(&QUEUES, &host).is_empty());
        let interface = |queues, most_queues| Interface {
            queues: Some((queues, queues)),
            most_queues,
            ..Interface::default()
        };
        host.network =
            vec![interface(4, Some(32)), interface(16, Some(32)), interface(4, Some(4)), interface(4, None)];
        let recommended: Vec<_> =
            findings(&QUEUES, &host).into_iter().map(|finding| finding.recommended).collect();
        assert_eq!(recommended, [Some("16".to_owned()), None, None]);
    }
}
