//! `mitigations=`.

use pgdyno_inventory::Knob;

use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `mitigations=`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "mitigations=",
        also: &["mitigations", "mitigations=off"],
        what: "Whether the kernel works around vulnerabilities of processors (Spectre, Meltdown and others).",
        today: Today::Depends,
        why: "Most of their cost is in system calls and context switches, of which a server with many clients has \
              plenty, and it differs widely between processors: recent ones need few of them. Measure both ways on \
              the same host, and compare results of hosts only if they agree in this.",
        danger: "Without them, code of another user, container or virtual machine can read memory of the server \
                 and the kernel.",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (mitigations=) and \
                 Documentation/admin-guide/hw-vuln/index.rst.",
        since_kernel: Some((5, 2)),
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let host = facts.host;
    if host.kernel.boot_word("mitigations") != Some("off") {
        return Vec::new();
    }
    let open: Vec<&str> = host
        .cpu
        .mitigations
        .iter()
        .filter(|(_, state)| state.starts_with("Vulnerable"))
        .map(|(name, _)| name.as_str())
        .collect();
    let finding = match open[..] {
        [] if host.cpu.mitigations.is_empty() => {
            let reason = "What it leaves open on this processor could not be read.";
            return vec![RULE.finding(Standing::Unknown, reason).seen("mitigations=off")];
        }
        [] => RULE.finding(
            Standing::NoEffect,
            "The kernel reports no vulnerability as open: this processor needs none of the workarounds.",
        ),
        _ => RULE.finding(
            Standing::Improve,
            format!("These vulnerabilities are open to any code that runs on the host: {}.", open.join(", ")),
        ),
    };
    vec![
        finding
            .seen("mitigations=off")
            .better("mitigations=auto")
            .by(Knob::BootWord("mitigations".to_owned()), "auto"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{booted, judged, standings};

    #[test]
    fn open_vulnerabilities_are_named() {
        let mut host = booted(&["mitigations=off"]);
        assert_eq!(standings(&RULE, &host), [Standing::Unknown], "vulnerabilities unknown");
        host.cpu.mitigations.insert("meltdown".to_owned(), "Not affected".to_owned());
        assert_eq!(standings(&RULE, &host), [Standing::NoEffect]);
        host.cpu.mitigations.insert("spectre_v2".to_owned(), "Vulnerable; STIBP: disabled".to_owned());
        let findings = judged(&RULE, &host);
        assert_eq!(findings[0].standing, Standing::Improve);
        assert!(findings[0].reason.contains("spectre_v2") && !findings[0].reason.contains("meltdown"));
        host.kernel.boot_words = vec!["mitigations=auto".to_owned()];
        assert_eq!(standings(&RULE, &host), []);
    }
}
