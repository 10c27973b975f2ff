//! Parameters of a real kernel, in a network namespace that ends with the test: the host's stay as they are.

use std::{
    env, fs,
    io::{self},
    path::Path,
    process::Command,
};

use pgdyno_core::stop::Stop;
use testkit::left_out;

use super::tree::sysctl;
use crate::{
    Place, Plan,
    apply::apply_with,
    calls::{Calls, Unwatched, Watch},
    plan, status,
    undo::undo_with,
};

/// The network namespace of the host: set for the process that has another one.
const OF_HOST: &str = "PGDYNO_KNOBS_TEST_NETWORK_OF_HOST";
const NAMES: [(&str, &str); 4] = [
    ("net.ipv4.tcp_keepalive_time", "77"),
    ("net.ipv4.ip_local_port_range", "20000 40000"),
    ("net.ipv4.tcp_rmem", "4096 87380 16777216"),
    ("net.ipv4.conf.lo.rp_filter", "2"),
];

fn network() -> String {
    fs::read_link("/proc/self/ns/net").map(|link| link.to_string_lossy().into_owned()).unwrap_or_default()
}

#[test]
fn parameters_of_a_real_kernel_are_restored_after_deaths() {
    if !rustix::process::geteuid().is_root() {
        return left_out("in a user namespace of another user, root's directories have no owner");
    }
    let probe =
        Command::new("unshare").args(["-rn", "test", "-w", "/proc/sys/net/ipv4/tcp_keepalive_time"]).status();
    if !probe.is_ok_and(|status| status.success()) {
        return left_out("no network namespace can be made, or its parameters cannot be set");
    }
    let output = Command::new("unshare")
        .arg("-rn")
        .arg(env::current_exe().expect("it runs"))
        .args(["--exact", "tests::network::in_a_network_of_its_own", "--ignored", "--nocapture"])
        .env(OF_HOST, network())
        .output()
        .expect("it has just been tried");
    let out = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && out.contains("1 passed"), "{out}");
}

/// Fails all calls from one on, as if the process were gone.
struct Dying(std::cell::Cell<u32>);

impl Watch for Dying {
    fn before(&self, _call: &str, _path: &Path) -> io::Result<()> {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        if left == 0 { Err(rustix::io::Errno::IO.into()) } else { Ok(()) }
    }
}

fn values() -> Vec<String> {
    let path = |name: &str| format!("/proc/sys/{}", name.replace('.', "/"));
    NAMES.iter().map(|(name, _)| fs::read_to_string(path(name)).expect("it is there")).collect()
}

fn planned() -> Plan {
    let changes: Vec<_> = NAMES.iter().map(|(name, value)| sysctl(name, value)).collect();
    plan(&changes, "/".as_ref()).until_reboot()
}

#[test]
#[ignore = "started by another test"]
fn in_a_network_of_its_own() {
    // With all ignored tests it is started in the host's, which is left alone.
    let Ok(of_host) = env::var(OF_HOST) else { return };
    assert!(!of_host.is_empty() && network() != of_host, "it has a network namespace of its own");
    let dir = tempfile::tempdir().expect("a directory can be made");
    let place = Place::new("/", dir.path().join("journal"));
    let before = values();
    let stop = Stop::default();
    let mut after = 0;
    loop {
        let dying = Dying(after.into());
        let applied = apply_with(&planned(), &place, &stop, &Calls(&dying));
        let state = status(&place).expect("it can be read");
        assert!(applied.is_err() || state.items.len() == NAMES.len());
        assert!(applied.is_err() || values() != before);
        let _ = undo_with(&place, false, &stop, &Calls(&Dying((after / 3).into())));
        undo_with(&place, false, &stop, &Calls(&Unwatched)).expect("it is possible");
        assert_eq!(values(), before, "after {after} calls");
        if applied.is_ok() {
            break;
        }
        after += 1;
    }
    assert!(after >= 20, "{after} calls");
    kernel_refuses(&place, &before);
}

/// A value that the kernel does not take, after one that it does.
fn kernel_refuses(place: &Place, before: &[String]) {
    let changes = [sysctl("net.ipv4.tcp_keepalive_time", "77"), sysctl("net.ipv4.tcp_rmem", "no numbers")];
    let plan = plan(&changes, "/".as_ref()).until_reboot();
    let problem =
        apply_with(&plan, place, &Stop::default(), &Calls(&Unwatched)).expect_err("the kernel refuses it");
    assert!(problem.what.contains("Invalid argument"), "{problem:?}");
    assert!(problem.hint.is_some_and(|hint| hint.contains("this kernel refuses the value")));
    assert_eq!(values(), before);
}
