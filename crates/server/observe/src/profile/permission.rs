//! Whether this user may sample the processes of a server, and what of the kernel.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::MetadataExt,
    path::Path,
};

use pgdyno_core::profile::KernelSide;

/// Bits of the capabilities that allow all of it (capability.h).
const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;
/// Values of `kernel.perf_event_paranoid` from which on more is forbidden. Debian, Ubuntu and others know the last one.
const NO_KERNEL: i64 = 2;
const NOTHING: i64 = 3;

/// What decides about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Permission {
    /// `kernel.perf_event_paranoid`.
    pub(crate) paranoid: Option<i64>,
    /// `kernel.kptr_restrict`.
    pub(crate) kptr_restrict: Option<i64>,
    /// Effective capabilities of this process.
    capabilities: u64,
    /// Whether the addresses of the kernel's functions can be read.
    has_names: bool,
    /// User of this process, and of the postmaster.
    uid: u32,
    server_uid: Option<u32>,
}

impl Permission {
    /// Reads what concerns a server.
    pub(crate) fn read(postmaster: u32) -> Self {
        let number =
            |name: &str| fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let process = Path::new("/proc").join(postmaster.to_string());
        Self {
            paranoid: number("perf_event_paranoid"),
            kptr_restrict: number("kptr_restrict"),
            capabilities: capabilities(&status),
            has_names: has_names(),
            uid: rustix::process::geteuid().as_raw(),
            server_uid: fs::metadata(process).map(|of| of.uid()).ok(),
        }
    }

    /// What may be seen of the kernel.
    ///
    /// # Errors
    /// Why the server's processes may not be sampled at all.
    pub(crate) fn kernel(&self) -> Result<KernelSide, String> {
        let paranoid = self.paranoid.unwrap_or(NO_KERNEL);
        let is_privileged = self.capabilities & (CAP_SYS_ADMIN | CAP_PERFMON) != 0;
        if !is_privileged && paranoid >= NOTHING {
            return Err(format!(
                "kernel.perf_event_paranoid = {paranoid} forbids perf to this user; run pgdyno as root, or set it to 1"
            ));
        }
        if !is_privileged && self.server_uid.is_some_and(|uid| uid != self.uid) {
            return Err("the server's processes belong to another user; run pgdyno as that user, or as root"
                .to_owned());
        }
        Ok(match is_privileged || paranoid < NO_KERNEL {
            true if self.has_names => KernelSide::Named,
            true => KernelSide::Unnamed,
            false => KernelSide::NotSampled,
        })
    }
}

/// Effective capabilities by `/proc/self/status`.
fn capabilities(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Whether the kernel shows this user the addresses of its functions: otherwise all are 0.
fn has_names() -> bool {
    let Ok(file) = fs::File::open("/proc/kallsyms") else { return false };
    let mut first = BufReader::new(file).lines().take(8).map_while(Result::ok);
    first.any(|line| line.bytes().take_while(u8::is_ascii_hexdigit).any(|digit| digit != b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forbidden_has_its_reason() {
        let user = Permission {
            paranoid: Some(2),
            has_names: true,
            uid: 5,
            server_uid: Some(5),
            ..Permission::default()
        };
        assert_eq!(user.kernel(), Ok(KernelSide::NotSampled));
        assert_eq!(Permission { paranoid: Some(1), ..user }.kernel(), Ok(KernelSide::Named));
        assert_eq!(
            Permission { paranoid: Some(-1), has_names: false, ..user }.kernel(),
            Ok(KernelSide::Unnamed)
        );
        let forbidden = Permission { paranoid: Some(4), ..user }.kernel();
        assert!(forbidden.is_err_and(|why| why.contains("kernel.perf_event_paranoid = 4")));
        let other = Permission { server_uid: Some(26), ..user };
        assert!(other.kernel().is_err_and(|why| why.contains("another user")));
        for capability in [CAP_SYS_ADMIN, CAP_PERFMON] {
            let root = Permission { capabilities: capability, paranoid: Some(4), ..other };
            assert_eq!(root.kernel(), Ok(KernelSide::Named));
        }
    }

    #[test]
    fn capabilities_are_read() {
        assert_eq!(capabilities("Name:\tx\nCapEff:\t000001ffffffffff\n"), 0x1ff_ffff_ffff);
        assert_eq!(capabilities("CapPrm:\t1\n"), 0);
    }
}
