//! `mitigations=`.

use pgdyno_core::host::Knob;

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
              the same host, and compare results of hosts only if they agree in this. Since Linux 6.17 kinds of \
              attacks can be left out one by one (no_user_kernel, no_user_user, no_guest_host, no_guest_guest); the \
              last two protect a host from its virtual machines, and these from each other.",
        danger: "Without them, code of another user, container or virtual machine can read memory of the server \
                 and the kernel.",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (mitigations=) and \
                 Documentation/admin-guide/hw-vuln (index.rst, attack_vector_controls.rst).",
        since_kernel: Some((5, 2)),
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    match facts.host.kernel.boot_word("mitigations") {
        Some("off") => judge_off(facts),
        Some(word) => vec![judge_part(word)],
        None => Vec::new(),
    }
}

/// Judges words that leave out no workaround, or those against some kinds of attacks.
fn judge_part(word: &str) -> Finding {
    let left_out: Vec<&str> = word.split([',', ';']).filter(|kind| kind.starts_with("no_")).collect();
    let seen = format!("mitigations={word}");
    let kinds = left_out.join(", ");
    let finding = match left_out[..] {
        [] => RULE.finding(Standing::Fine, "The kernel works around what this processor is vulnerable to."),
        _ if left_out.iter().all(|kind| kind.starts_with("no_guest")) => RULE.finding(
            Standing::Fine,
            format!(
                "It leaves open ({kinds}) what only virtual machines that this host itself runs could use, against \
                 it or against each other."
            ),
        ),
        _ => RULE
            .finding(
                Standing::Improve,
                format!("Code that runs on the host may read memory of others: {kinds} leaves that open."),
            )
            .better("mitigations=auto")
            .by(Knob::BootWord("mitigations".to_owned()), "auto"),
    };
    finding.seen(seen)
}

/// Judges a kernel that works around nothing.
fn judge_off(facts: &Facts<'_>) -> Vec<Finding> {
    let host = facts.host;
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
    }

    #[test]
    fn what_protects_from_guests_may_be_left_out() {
        for (word, expected) in [
            ("mitigations=auto", &[Standing::Fine][..]),
            ("mitigations=auto,nosmt", &[Standing::Fine]),
            ("mitigations=auto,no_guest_host,no_guest_guest", &[Standing::Fine]),
            ("mitigations=auto,nosmt,no_user_kernel,no_guest_host", &[Standing::Improve]),
            ("quiet", &[]),
        ] {
            assert_eq!(standings(&RULE, &booted(&[word])), expected, "{word}");
        }
        let reason = judged(&RULE, &booted(&["mitigations=auto;no_user_user"])).remove(0).reason;
        assert!(reason.contains("no_user_user leaves that open"), "{reason}");
    }
}
