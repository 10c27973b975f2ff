//! Processes: whether one is alive, what it runs, its children, and which process listens on a TCP port.
//!
//! A process is identified by its PID and start time together, since PIDs are reused.

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::unix::ffi::OsStringExt,
    path::PathBuf,
};

use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal},
};

/// Identity of a process that survives reuse of its PID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessId {
    /// Process ID.
    pub pid: u32,
    /// Start time in clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub start_ticks: u64,
}

impl ProcessId {
    /// The process that has this PID now; `None` if there is none, or only a zombie.
    pub fn of(pid: u32) -> Option<Self> {
        let stat = Stat::read(pid)?;
        stat.lives().then_some(Self { pid, start_ticks: stat.start_ticks })
    }

    /// Whether this very process still runs.
    pub fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Sends SIGINT to this very process, as Ctrl-C does; returns whether it was still running. A process that got its
    /// PID since then is never signalled: a descriptor of the process (pidfd) is opened before its start time is
    /// compared. Kernels before 5.3 have none.
    ///
    /// # Errors
    /// This user may not signal the process.
    pub fn interrupt(self) -> io::Result<bool> {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return Ok(false) };
        let held = pidfd_open(pid, PidfdFlags::empty());
        if !self.is_alive() {
            return Ok(false);
        }
        let sent = match held {
            Ok(held) => pidfd_send_signal(held, Signal::INT),
            Err(_) => kill_process(pid, Signal::INT),
        };
        match sent {
            Err(Errno::SRCH) => Ok(false),
            sent => Ok(sent.map(|()| true)?),
        }
    }
}

/// The kernel's identifier of the time since the machine was started; empty if the kernel does not report it. Start
/// times of processes are comparable within it.
pub fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Clock ticks of a second in `/proc`: Linux reports 100 to user space on the platforms of PostgreSQL.
const TICKS_PER_S: f64 = 100.0;

/// Fields of `/proc/PID/stat` that are used here (`proc_pid_stat(5)`).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// Kernel's name of the process, at most 15 bytes.
    pub name: String,
    /// One letter, such as `D` for one that waits for a device.
    pub state: char,
    parent: u32,
    start_ticks: u64,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses the line. The name is in parentheses and may itself hold parentheses and spaces: the last one closes it.
    pub fn parse(line: &str) -> Option<Self> {
        let (front, back) = line.rsplit_once(')')?;
        let fields: Vec<&str> = back.split_whitespace().collect();
        Some(Self {
            name: front.split_once('(')?.1.to_owned(),
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            start_ticks: fields.get(19)?.parse().ok()?,
        })
    }

    /// Whether the process runs: `Z` and `X` have ended, and only their entry is left.
    fn lives(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Kernel's name of a process, at most 15 bytes, for example `postgres`.
pub fn name(pid: u32) -> Option<String> {
    Stat::read(pid).map(|stat| stat.name)
}

/// PID of the parent process, which may have adopted this one.
pub fn parent(pid: u32) -> Option<u32> {
    Stat::read(pid).map(|stat| stat.parent)
}

/// Seconds since a process began, to a hundredth; `None` if it is not visible.
pub fn age_s(pid: u32) -> Option<f64> {
    let up = fs::read_to_string("/proc/uptime").ok()?;
    let up_s: f64 = up.split_whitespace().next()?.parse().ok()?;
    Some(up_s - Stat::read(pid)?.start_ticks as f64 / TICKS_PER_S)
}

/// Whether this process ignores a signal, such as HUP after `nohup` (`SigIgn` of `/proc/self/status`, one bit for each
/// signal from 1); `false` if the kernel does not report it.
pub fn ignores_signal(signal: i32) -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| is_among_ignored(&status, signal))
}

fn is_among_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (1..=64).contains(&signal) && mask >> (signal - 1) & 1 == 1
}

/// Whether a PID is in use, by a running process or a zombie.
pub fn is_taken(pid: u32) -> bool {
    Stat::read(pid).is_some()
}

/// Working directory of a process, if this user may see it.
pub fn working_dir(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Arguments of a process, the program first; empty if they cannot be read.
pub fn arguments(pid: u32) -> Vec<PathBuf> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes.strip_suffix(b"\0").unwrap_or(&bytes).split(|byte| *byte == 0);
    words.map(|word| PathBuf::from(std::ffi::OsString::from_vec(word.to_vec()))).collect()
}

/// PIDs of all processes visible to this one.
pub fn all() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// PIDs of the children of a process, including zombies: until these are reaped, only their own entries show what they
/// used.
pub fn children(pid: u32) -> Vec<u32> {
    let child = |other: &u32| Stat::read(*other).is_some_and(|stat| stat.parent == pid);
    all().into_iter().filter(child).collect()
}

/// PID of the holder of a lock (`flock(2)`) on a file with this inode, if this user may see it. The kernel's table
/// mixes the inodes of all file systems: good for a message, not for a decision.
pub fn lock_holder(inode: u64) -> Option<u32> {
    parse_locks(&fs::read_to_string("/proc/locks").ok()?, inode)
}

/// Finds the holder in `proc_locks(5)`, in which the line of a waiting process has an arrow after its number.
fn parse_locks(table: &str, inode: u64) -> Option<u32> {
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, pid, file, ..] = fields[..] else { return None };
        let (_, of_file) = file.rsplit_once(':')?;
        (of_file.parse() == Ok(inode)).then(|| pid.parse().ok().filter(|pid| *pid > 0))?
    })
}

/// Process that listens on a TCP port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Address and port it listens on.
    pub address: SocketAddr,
    /// PID and name of the process, if this user may see them.
    pub process: Option<(u32, String)>,
}

/// Lists the listeners on a TCP port of this machine, on any address.
pub fn listeners(port: u16) -> Vec<Listener> {
    let mut found = Vec::new();
    for (table, version) in [("/proc/net/tcp", 4), ("/proc/net/tcp6", 6)] {
        for (address, inode) in parse_tcp_table(&fs::read_to_string(table).unwrap_or_default(), version) {
            if address.port() == port {
                found.push(Listener { address, process: holder_of_socket(inode) });
            }
        }
    }
    found
}

/// State `TCP_LISTEN` in `/proc/net/tcp`.
const LISTEN: &str = "0A";

/// Parses the addresses and socket inodes of the listening lines of `/proc/net/tcp` or `tcp6`.
fn parse_tcp_table(text: &str, version: u8) -> Vec<(SocketAddr, u64)> {
    let lines = text.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines
        .filter(|fields| fields.get(3) == Some(&LISTEN))
        .filter_map(|fields| Some((parse_address(fields[1], version)?, fields.get(9)?.parse().ok()?)))
        .collect()
}

/// Parses an address such as `0100007F:1538`: 32-bit words in the host's byte order, then the port as a plain number.
fn parse_address(text: &str, version: u8) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let word = |at: usize| u32::from_str_radix(address.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = if version == 4 {
        IpAddr::V4(Ipv4Addr::from(word(0)?))
    } else {
        let words = [word(0)?, word(8)?, word(16)?, word(24)?].concat();
        IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(words).ok()?))
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// Process with the lowest PID that has this socket open: a server's children have it open as well.
fn holder_of_socket(inode: u64) -> Option<(u32, String)> {
    let wanted = PathBuf::from(format!("socket:[{inode}]"));
    let mut pids = all();
    pids.sort_unstable();
    let pid = pids.into_iter().find(|pid| {
        let fds = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        fds.into_iter().any(|fd| fs::read_link(fd.path()).is_ok_and(|link| link == wanted))
    })?;
    Some((pid, name(pid)?))
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, os::unix::process::ExitStatusExt, process::Command};

    use super::*;

    #[test]
    fn a_signal_is_ignored_where_its_bit_is_set() {
        // HUP is 1, INT 2, PIPE 13.
        let status =
            "Name:\tx\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n";
        assert_eq!([1, 2, 13].map(|signal| is_among_ignored(status, signal)), [true, false, true]);
        assert!(!is_among_ignored("Name:\tx\n", 1) && !is_among_ignored("SigIgn:\tzz\n", 1));
        assert!([-1, 0, 65].iter().all(|signal| !is_among_ignored(status, *signal)));
    }

    #[test]
    fn names_with_brackets_and_spaces_do_not_shift_the_fields() {
        let rest = "S 1 2 3 0 -1 4194560 5 0 0 0 1 2 0 0 20 0 1 0 987654 1000 200";
        for name in ["postgres", "a b", "(x) S 9", ")"] {
            let stat = Stat::parse(&format!("42 ({name}) {rest}")).expect("it is a stat line");
            assert_eq!((stat.name.as_str(), stat.parent, stat.start_ticks), (name, 1, 987_654));
        }
        for wrong in ["", "42", "42 (x)", "42 (x) S", "42 (x) S 1 2 3"] {
            assert_eq!(Stat::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_process_ends_even_while_nobody_has_collected_it() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep can be started");
        let id = ProcessId::of(child.id()).expect("it runs");
        assert!(id.is_alive());
        assert!(!ProcessId { start_ticks: id.start_ticks + 1, ..id }.is_alive());
        assert!(children(std::process::id()).contains(&child.id()));
        child.kill().expect("it can be killed");
        while id.is_alive() {
            std::thread::yield_now();
        }
        assert!(is_taken(id.pid), "nobody has collected it");
        child.wait().expect("it can be collected");
        assert_eq!(ProcessId::of(id.pid), None);
    }

    #[test]
    fn only_the_very_process_is_interrupted() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep can be started");
        let id = ProcessId::of(child.id()).expect("it runs");
        let earlier = ProcessId { start_ticks: id.start_ticks - 1, ..id };
        assert!(!earlier.interrupt().expect("there is nothing to refuse") && id.is_alive());
        assert!(id.interrupt().expect("it is ours"));
        // What a shell starts in the background may ignore this signal, and passes that on.
        let ignored = ignores_signal(Signal::INT.as_raw());
        if ignored {
            child.kill().expect("it runs");
        }
        let ended = child.wait().expect("it can be collected").signal();
        assert_eq!(ended, Some(if ignored { Signal::KILL } else { Signal::INT }.as_raw()));
        assert!(!id.interrupt().expect("it has ended"));
        assert_eq!(boot_id().len(), 36);
    }

    #[test]
    fn this_process_is_seen() {
        let pid = std::process::id();
        assert!(all().contains(&pid));
        assert_eq!(working_dir(pid), std::env::current_dir().ok());
        assert!(!arguments(pid).is_empty());
        assert!(parent(pid).is_some());
    }

    #[test]
    fn tables_of_sockets_are_read() {
        let v4 = "  sl  local_address rem_address st tx rx tr tm->when retrnsmt uid timeout inode\n\
   0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000 101 0 4711 1 0 100\n\
   1: 0100007F:1539 0100007F:0001 01 00000000:00000000 00:00000000 00000000 101 0 4712 1 0 100\n\
   2: garbage\n";
        let rows = parse_tcp_table(v4, 4);
        assert_eq!(rows, [("127.0.0.1:5432".parse().expect("an address"), 4711)]);
        let v6 = parse_address("00000000000000000000000001000000:1538", 6);
        assert_eq!(v6, Some("[::1]:5432".parse().expect("an address")));
        for wrong in ["", ":", "0100007F", "01:1538", "ÄÄÄÄ:1538", "0100007F:99999"] {
            assert_eq!(parse_address(wrong, 4), None, "{wrong}");
        }
    }

    #[test]
    fn a_listener_is_named() {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = socket.local_addr().expect("it is bound");
        let found = listeners(address.port());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].address, address);
        assert_eq!(found[0].process.as_ref().map(|(pid, _)| *pid), Some(std::process::id()));
    }
}
