//! The processes of a server by their role: CPU, run delay, and bytes asked of the kernel against bytes that reached a
//! device.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
};

use pgdyno_core::observe::{ProcessSample, Role, RoleSample, StuckProcess};
use rustix::process::{Resource, getrlimit};

use super::roles::role_of;
use crate::procs;

/// Nanoseconds of a clock tick: Linux reports 100 a second to user space on the platforms of PostgreSQL.
const TICK_NS: u64 = 10_000_000;
/// Most stuck processes of a sample.
const MOST_STUCK: usize = 20;
/// Longest text of a stack.
const LONGEST_STACK: usize = 1_000;
/// Readings after which a process without a title counts as [`Role::Other`].
const PATIENCE: u32 = 5;
/// Most tries to read the postmaster while no child is reaped.
const TRIES: u32 = 5;
/// Longest text of the files that are read here.
const LONGEST: usize = 1_024;

/// What a process has used since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Used {
    cpu_ns: u64,
    waited_ns: Option<u64>,
    /// Bytes asked to read and to write, and bytes fetched from and sent to devices; `None` if they may not be read.
    io: Option<[u64; 4]>,
}

impl Used {
    /// Growth since `earlier`. A process whose counters went back is another one with the same number.
    fn since(&self, earlier: &Self) -> Self {
        let earlier = if self.cpu_ns < earlier.cpu_ns { Self::default() } else { *earlier };
        let then = earlier.io.unwrap_or_default();
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            waited_ns: self.waited_ns.map(|ns| ns.saturating_sub(earlier.waited_ns.unwrap_or(0))),
            io: self.io.map(|now| std::array::from_fn(|at| now[at].saturating_sub(then[at]))),
        }
    }

    fn add(&mut self, more: &Self) {
        self.cpu_ns = self.cpu_ns.saturating_add(more.cpu_ns);
        if let Some(ns) = more.waited_ns {
            self.waited_ns = Some(self.waited_ns.unwrap_or(0).saturating_add(ns));
        }
        if let Some(io) = more.io {
            let sum = self.io.unwrap_or_default();
            self.io = Some(std::array::from_fn(|at| sum[at].saturating_add(io[at])));
        }
    }
}

/// What the processes of a server used over a time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ProcessUse {
    over_s: f64,
    roles: BTreeMap<Role, Used>,
    /// CPU time of each process.
    cpu_ns: BTreeMap<u32, (Role, u64)>,
    /// Most processes of each role at a reading.
    present: BTreeMap<Role, u64>,
    /// Readings, and processes in uninterruptible sleep of all of them.
    readings: u64,
    asleep: BTreeMap<Role, Asleep>,
}

/// Processes in uninterruptible sleep.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Asleep {
    all: u64,
    /// Those that wait for dirty pages to be written, or behind one that does; `None` if the kernel does not report
    /// where any of them sleeps.
    throttled: Option<u64>,
}

impl Asleep {
    fn add(&mut self, more: &Self) {
        self.all += more.all;
        if let Some(count) = more.throttled {
            self.throttled = Some(self.throttled.unwrap_or(0) + count);
        }
    }
}

impl ProcessUse {
    fn add_process(&mut self, pid: u32, role: Role, used: &Used) {
        self.roles.entry(role).or_default().add(used);
        if used.cpu_ns > 0 {
            let (_, sum) = self.cpu_ns.entry(pid).or_insert((role, 0));
            *sum = sum.saturating_add(used.cpu_ns);
        }
    }

    /// Adds a later time.
    pub(super) fn add(&mut self, more: &Self) {
        self.over_s += more.over_s;
        more.roles.iter().for_each(|(role, used)| self.roles.entry(*role).or_default().add(used));
        for (pid, (role, ns)) in &more.cpu_ns {
            let (known, sum) = self.cpu_ns.entry(*pid).or_insert((*role, 0));
            (*known, *sum) = (*role, sum.saturating_add(*ns));
        }
        self.readings += more.readings;
        more.asleep.iter().for_each(|(role, asleep)| self.asleep.entry(*role).or_default().add(asleep));
        for (role, count) in &more.present {
            let most = self.present.entry(*role).or_default();
            *most = (*most).max(*count);
        }
    }

    /// Figures by role, the busiest first.
    pub(super) fn roles(&self) -> Vec<RoleSample> {
        let all: BTreeSet<Role> = self.roles.keys().chain(self.present.keys()).copied().collect();
        let mut roles: Vec<_> = all.into_iter().filter_map(|role| self.role(role)).collect();
        roles.sort_by(|a, b| b.cpus.total_cmp(&a.cpus).then(a.role.cmp(&b.role)));
        roles
    }

    fn role(&self, role: Role) -> Option<RoleSample> {
        let used = self.roles.get(&role).copied().unwrap_or_default();
        let processes = self.present.get(&role).copied().unwrap_or(0);
        let is_nothing = used.cpu_ns == 0 && used.io.unwrap_or_default() == [0; 4];
        if self.over_s <= 0.0 || (processes == 0 && is_nothing) {
            return None;
        }
        let per_s = |amount: u64| amount as f64 / self.over_s;
        let of_role = self.cpu_ns.values().filter(|(of, _)| *of == role).map(|(_, ns)| *ns);
        let asleep = self.asleep.get(&role).copied().unwrap_or_default();
        let of_a_reading = |count: u64| count as f64 / self.readings.max(1) as f64;
        let [asked_read, asked_written, device_read, device_written] =
            std::array::from_fn(|at| used.io.map(|io| per_s(io[at])));
        Some(RoleSample {
            role,
            processes,
            cpus: per_s(used.cpu_ns) / 1e9,
            busiest_cpus: per_s(of_role.max().unwrap_or(0)) / 1e9,
            run_delay: used.waited_ns.map(|ns| per_s(ns) / 1e9),
            asked_read_bytes_per_s: asked_read,
            asked_written_bytes_per_s: asked_written,
            device_read_bytes_per_s: device_read,
            device_written_bytes_per_s: device_written,
            stuck: of_a_reading(asleep.all),
            throttled: asleep.throttled.map(of_a_reading),
        })
    }
}

/// A process that is watched.
#[derive(Debug)]
struct Tracked {
    files: Files,
    /// `None` as long as its title is not known.
    role: Option<Role>,
    readings: u32,
    last: Used,
    state: char,
    resident_bytes: u64,
}

/// Files of a process. Kept open they cost half as much to read, and cannot be those of another process.
#[derive(Debug)]
struct Files {
    pid: u32,
    open: Option<[Option<File>; 3]>,
}

/// How the kernel's functions begin in which writers wait for dirty pages to be written (mm/page-writeback.c).
const THROTTLED: &str = "balance_dirty_pages";
/// Parts of the names of functions in which a writer waits for another one of the same file: file systems hold the lock
/// of its inode meanwhile (`ext4_buffered_write_iter`, `xfs_file_buffered_write`).
const BUFFERED: [&str; 2] = ["write_iter", "buffered_write"];
/// Names of the files, in the order of [`Files::open`].
const NAMES: [&str; 3] = ["schedstat", "io", "stat"];
const SCHEDSTAT: usize = 0;
const IO: usize = 1;
const STAT: usize = 2;

impl Files {
    fn new(pid: u32, keeps: bool) -> Self {
        let open = || NAMES.map(|name| File::open(format!("/proc/{pid}/{name}")).ok());
        Self { pid, open: keeps.then(open) }
    }

    /// The text of a file; `None` if the process has ended, or the file may not be read.
    fn text<'a>(&self, which: usize, buffer: &'a mut [u8; LONGEST]) -> Option<&'a str> {
        let read = |file: &File, buffer: &mut [u8; LONGEST]| -> io::Result<usize> { file.read_at(buffer, 0) };
        let length = match &self.open {
            Some(files) => read(files[which].as_ref()?, buffer),
            None => File::open(format!("/proc/{}/{}", self.pid, NAMES[which]))
                .and_then(|file| read(&file, buffer)),
        };
        std::str::from_utf8(&buffer[..length.ok()?]).ok()
    }
}

impl Tracked {
    fn new(pid: u32, keeps: bool) -> Self {
        let files = Files::new(pid, keeps);
        Self { files, role: None, readings: 0, last: Used::default(), state: '?', resident_bytes: 0 }
    }

    /// Reads what the process has used; `None` if it has ended. One that used no CPU since the last reading did no I/O
    /// either, so that of a thousand idle sessions one short file each is read.
    fn read(&mut self) -> Option<Used> {
        let mut buffer = [0; LONGEST];
        let times = self.files.text(SCHEDSTAT, &mut buffer).and_then(schedstat);
        if let Some([cpu_ns, _]) = times
            && self.readings > 0
            && cpu_ns == self.last.cpu_ns
            && self.state != 'D'
        {
            return Some(self.last);
        }
        let stat = self.files.text(STAT, &mut buffer).and_then(Stat::parse)?;
        (self.state, self.resident_bytes) = (stat.state, stat.resident_pages.saturating_mul(page_bytes()));
        let io = self.files.text(IO, &mut buffer).and_then(parse_io);
        Some(match times {
            Some([cpu_ns, waited_ns]) => Used { cpu_ns, waited_ns: Some(waited_ns), io },
            None => Used { cpu_ns: stat.own_ticks.saturating_mul(TICK_NS), waited_ns: None, io },
        })
    }

    /// Looks at the title until it is known.
    fn look(&mut self, is_own: bool) -> Option<Role> {
        self.readings += 1;
        if self.role.is_none() {
            let title = fs::read(format!("/proc/{}/cmdline", self.files.pid)).unwrap_or_default();
            let title = String::from_utf8_lossy(&title).replace('\0', " ");
            self.role = role_of(&title).or((self.readings >= PATIENCE).then_some(Role::Other));
        }
        if is_own { Some(Role::Observer) } else { self.role }
    }

    /// The kernel function in which it is in uninterruptible sleep; empty if the kernel does not report it.
    fn sleeps_in(&self) -> Option<String> {
        let function = || {
            let wchan = fs::read_to_string(format!("/proc/{}/wchan", self.files.pid)).unwrap_or_default();
            Some(wchan.trim()).filter(|name| *name != "0").unwrap_or_default().to_owned()
        };
        (self.state == 'D').then(function)
    }

    fn stuck(&self, role: Role) -> Option<StuckProcess> {
        let pid = self.files.pid;
        let text = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
        let said = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty() && text != "0");
        (self.state == 'D').then(|| StuckProcess {
            pid,
            role,
            wchan: text("wchan").and_then(said),
            stack: text("stack").and_then(said).map(|stack| stack.chars().take(LONGEST_STACK).collect()),
        })
    }
}

/// CPU time and time spent waiting for a CPU, in nanoseconds.
fn schedstat(text: &str) -> Option<[u64; 2]> {
    let mut numbers = text.split_whitespace();
    let both = [numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?];
    // Kernels without the counters show zeros.
    (both != [0, 0]).then_some(both)
}

/// Bytes of `/proc/PID/io`: what was requested (`rchar`, `wchar`), and what reached devices.
pub(super) fn parse_io(text: &str) -> Option<[u64; 4]> {
    let bytes =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok());
    Some([bytes("rchar")?, bytes("wchar")?, bytes("read_bytes")?, bytes("write_bytes")?])
}

/// Fields of `/proc/PID/stat` that are used here (proc_pid_stat(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    state: char,
    own_ticks: u64,
    reaped_ticks: u64,
    resident_pages: u64,
}

impl Stat {
    /// The name may hold blanks and parentheses: fields are counted from its end.
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?.chars().next()?;
        // The next field is the fourth; each number is given by how many fields are before it.
        let mut number = |skipped: usize| fields.nth(skipped)?.parse::<u64>().ok();
        let own_ticks = number(14 - 4)?.saturating_add(number(0)?);
        let reaped_ticks = number(0)?.saturating_add(number(0)?);
        Some(Self { state, own_ticks, reaped_ticks, resident_pages: number(24 - 18)? })
    }
}

fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// What the postmaster has of children that it reaped, and its own input and output: the kernel adds both up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reaped {
    cpu_ns: u64,
    io: Option<[u64; 4]>,
}

/// The processes of one server from reading to reading.
#[derive(Debug)]
pub(super) struct Processes {
    postmaster: u32,
    /// Backends of pgdyno's own sessions.
    pub own: BTreeSet<u32>,
    tracked: BTreeMap<u32, Tracked>,
    /// What the postmaster had reaped at the last reading; `None` if that could not be read.
    reaped: Option<Reaped>,
    most_kept: usize,
}

impl Processes {
    /// Begins to watch the processes of a postmaster: what they used before does not count.
    pub(super) fn begin(postmaster: u32, own: BTreeSet<u32>) -> Self {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        // A quarter of the files that this process may have open.
        let most_kept = usize::try_from(limit / 4).unwrap_or(usize::MAX) / NAMES.len();
        let mut processes = Self { postmaster, own, tracked: BTreeMap::new(), reaped: None, most_kept };
        processes.read(0.0);
        processes
    }

    /// What the processes used since the last reading, `over_s` seconds ago, and those that are stuck; `None` if the
    /// postmaster does not exist, or may not be seen.
    pub(super) fn read(&mut self, over_s: f64) -> Option<ProcessUse> {
        let children = children(self.postmaster)?;
        let mut found = ProcessUse { over_s, readings: 1, ..ProcessUse::default() };
        let mut gone = Vec::new();
        for pid in children.into_iter().chain([self.postmaster]) {
            if !self.read_one(pid, &mut found) {
                gone.extend(self.tracked.remove(&pid).map(|tracked| tracked.last));
            }
        }
        self.read_ended(gone, &mut found)?;
        let mut sleepers = Vec::new();
        for (pid, tracked) in &self.tracked {
            let role = if self.own.contains(pid) { Some(Role::Observer) } else { tracked.role };
            let role = role.unwrap_or(Role::Other);
            *found.present.entry(role).or_default() += 1;
            sleepers.extend(tracked.sleeps_in().map(|function| (role, function)));
        }
        add_sleepers(&mut found.asleep, &sleepers);
        Some(found)
    }

    /// Reads one process; returns whether it still exists.
    fn read_one(&mut self, pid: u32, found: &mut ProcessUse) -> bool {
        let keeps = self.tracked.len() < self.most_kept;
        let is_first = found.over_s <= 0.0;
        let tracked = self.tracked.entry(pid).or_insert_with(|| Tracked::new(pid, keeps));
        let Some(mut now) = tracked.read() else { return false };
        if pid == self.postmaster {
            // Its bytes are in what it reaped.
            (tracked.role, now.io) = (Some(Role::Other), None);
        }
        match tracked.look(self.own.contains(&pid)) {
            _ if is_first => tracked.last = now,
            Some(role) => {
                let used = now.since(&tracked.last);
                tracked.last = now;
                found.add_process(pid, role, &used);
            }
            // It counts as soon as its role is known.
            None => {}
        }
        true
    }

    /// Counts what children used that ended since the last reading: all that the postmaster reaped of them, less what
    /// they had been seen to use. `gone` had ended when they were read. `None` if the postmaster does not exist.
    fn read_ended(&mut self, mut gone: Vec<Used>, found: &mut ProcessUse) -> Option<()> {
        let (reaped, there) = self.settled()?;
        let ended: Vec<u32> = self.tracked.keys().filter(|pid| !there.contains(pid)).copied().collect();
        gone.extend(ended.iter().filter_map(|pid| self.tracked.remove(pid)).map(|tracked| tracked.last));
        let earlier = std::mem::replace(&mut self.reaped, reaped);
        if let Some((now, then)) = reaped.zip(earlier)
            && found.over_s > 0.0
        {
            let used = ended_use(&now, &then, &gone);
            let role = if gone.is_empty() && used.cpu_ns == 0 { Role::Other } else { Role::Ended };
            found.roles.entry(role).or_default().add(&used);
        }
        Some(())
    }

    /// What the postmaster has reaped, and the children that it had at that moment, itself included. The former is
    /// `None` if children end all the time: then nothing is said of them.
    fn settled(&self) -> Option<(Option<Reaped>, BTreeSet<u32>)> {
        let mut there = BTreeSet::new();
        for _ in 0..TRIES {
            let before = self.read_reaped()?;
            there = children(self.postmaster)?.into_iter().chain([self.postmaster]).collect();
            if self.read_reaped()? == before {
                return Some((Some(before), there));
            }
        }
        Some((None, there))
    }

    fn read_reaped(&self) -> Option<Reaped> {
        let text = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", self.postmaster)).ok();
        let stat = Stat::parse(&text("stat")?)?;
        let io = text("io").as_deref().and_then(parse_io);
        Some(Reaped { cpu_ns: stat.reaped_ticks.saturating_mul(TICK_NS), io })
    }

    /// Processes in uninterruptible sleep, and the largest resident set.
    pub(super) fn sample(&self, used: &ProcessUse) -> ProcessSample {
        let role = |pid: &u32, tracked: &Tracked| {
            if self.own.contains(pid) { Role::Observer } else { tracked.role.unwrap_or(Role::Other) }
        };
        let stuck = self.tracked.iter().filter_map(|(pid, tracked)| tracked.stuck(role(pid, tracked)));
        ProcessSample {
            roles: used.roles(),
            stuck: stuck.take(MOST_STUCK).collect(),
            largest_resident_bytes: self.tracked.values().map(|tracked| tracked.resident_bytes).max(),
        }
    }
}

/// Counts processes in uninterruptible sleep, by the functions in which they sleep.
fn add_sleepers(asleep: &mut BTreeMap<Role, Asleep>, sleepers: &[(Role, String)]) {
    let is_throttled = |function: &str| function.starts_with(THROTTLED);
    let one_is = sleepers.iter().any(|(_, function)| is_throttled(function));
    let is_behind = |function: &str| one_is && BUFFERED.iter().any(|part| function.contains(part));
    for (role, function) in sleepers {
        let throttled = u64::from(is_throttled(function) || is_behind(function));
        let throttled = (!function.is_empty()).then_some(throttled);
        asleep.entry(*role).or_default().add(&Asleep { all: 1, throttled });
    }
}

/// What ended processes used after they were read for the last time.
fn ended_use(now: &Reaped, then: &Reaped, gone: &[Used]) -> Used {
    let known_ns = gone.iter().fold(0_u64, |sum, used| sum.saturating_add(used.cpu_ns));
    let known_io =
        |at: usize| gone.iter().fold(0_u64, |sum, used| sum.saturating_add(used.io.unwrap_or_default()[at]));
    let grown = |now: u64, then: u64, known: u64| now.saturating_sub(then).saturating_sub(known);
    let both = now.io.zip(then.io);
    Used {
        cpu_ns: grown(now.cpu_ns, then.cpu_ns, known_ns),
        waited_ns: None,
        io: both.map(|(now, then)| std::array::from_fn(|at| grown(now[at], then[at], known_io(at)))),
    }
}

/// Children of a process, zombies included; `None` if it does not exist. Kernels list those of each thread in a file;
/// without it, the parent of every process is read.
fn children(pid: u32) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let Ok(text) = fs::read_to_string(thread.path().join("children")) else {
            return procs::is_taken(pid).then(|| procs::children(pid));
        };
        all.extend(text.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use std::{
        process::{self, Command},
        time::{Duration, Instant},
    };

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whoever_waits_behind_a_throttled_writer_counts_as_throttled() {
        let counted = |functions: &[&str]| {
            let sleepers: Vec<_> = functions.iter().map(|name| (Role::Client, (*name).to_owned())).collect();
            let mut asleep = BTreeMap::new();
            add_sleepers(&mut asleep, &sleepers);
            asleep.get(&Role::Client).map(|of| (of.all, of.throttled))
        };
        let (throttled, behind) = ("balance_dirty_pages_ratelimited_flags", "ext4_buffered_write_iter");
        assert_eq!(counted(&[]), None);
        assert_eq!(counted(&[throttled, behind, "folio_wait_bit_common"]), Some((3, Some(2))));
        assert_eq!(counted(&[behind, "xfs_file_buffered_write"]), Some((2, Some(0))), "nobody is throttled");
        assert_eq!(counted(&["", ""]), Some((2, None)), "the kernel does not report it");
        assert_eq!(counted(&["", throttled]), Some((2, Some(1))));
    }

    #[test]
    fn fields_are_counted_from_the_end_of_the_name() {
        let rest = "S 1 7 7 0 -1 4194560 100 0 0 0 3 4 5 6 20 0 1 0 900 1000 77 18446744073709551615";
        let stat = Stat::parse(&format!("7 (a) b (c) {rest}")).expect("a line");
        assert_eq!(stat, Stat { state: 'S', own_ticks: 7, reaped_ticks: 11, resident_pages: 77 });
        assert_eq!(Stat::parse("7 (a"), None);
        assert_eq!(schedstat("123 45 6\n"), Some([123, 45]));
        assert_eq!(schedstat("0 0 0\n"), None);
        let io = "rchar: 9\nwchar: 8\nsyscr: 7\nsyscw: 6\nread_bytes: 5\nwrite_bytes: 4\ncancelled_write_bytes: 1\n";
        assert_eq!(parse_io(io), Some([9, 8, 5, 4]));
    }

    /// What a child had been seen to use is not counted again when the postmaster reaps it.
    #[test]
    fn a_child_that_ends_counts_once() {
        let used = |cpu_ns, bytes| Used { cpu_ns, waited_ns: Some(1), io: Some([bytes; 4]) };
        let reaped = |cpu_ns, bytes| Reaped { cpu_ns, io: Some([bytes; 4]) };
        let rest = ended_use(&reaped(900, 70), &reaped(100, 10), &[used(500, 20), used(200, 30)]);
        assert_eq!((rest.cpu_ns, rest.io), (100, Some([10; 4])));
        let hidden = Reaped { cpu_ns: 900, io: None };
        assert_eq!(ended_use(&hidden, &reaped(100, 10), &[]).io, None);
    }

    proptest! {
        #[test]
        fn whatever_comes_and_goes_no_figure_is_wild(
            readings in prop::collection::vec(any::<([u64; 2], [u64; 4])>(), 2..9),
            reaped in any::<[u64; 4]>(),
        ) {
            let text = |([cpu, waited], io): &([u64; 2], [u64; 4])| {
                let io = format!("rchar: {}\nwchar: {}\nread_bytes: {}\nwrite_bytes: {}\n", io[0], io[1], io[2], io[3]);
                (format!("{cpu} {waited} 1\n"), io)
            };
            let parse = |(times, io): (String, String)| {
                let [cpu_ns, waited] = schedstat(&times).unwrap_or_default();
                Used { cpu_ns, waited_ns: Some(waited), io: parse_io(&io) }
            };
            let read: Vec<Used> = readings.iter().map(text).map(parse).collect();
            let mut all = ProcessUse::default();
            for pair in read.windows(2) {
                let mut one = ProcessUse { over_s: 1.0, ..ProcessUse::default() };
                one.add_process(7, Role::Client, &pair[1].since(&pair[0]));
                let at = |n: usize| Reaped { cpu_ns: reaped[n], io: Some([reaped[n + 1]; 4]) };
                one.roles.entry(Role::Ended).or_default().add(&ended_use(&at(2), &at(0), &read));
                all.add(&one);
            }
            for role in all.roles() {
                let figures = [Some(role.cpus), Some(role.busiest_cpus), role.run_delay, role.asked_read_bytes_per_s,
                    role.asked_written_bytes_per_s, role.device_read_bytes_per_s, role.device_written_bytes_per_s];
                let mut known = figures.into_iter().flatten();
                prop_assert!(known.all(|figure| figure.is_finite() && (0.0..=2e19).contains(&figure)), "{role:?}");
                prop_assert!(role.busiest_cpus <= role.cpus * 1.000_001);
            }
        }
    }

    #[test]
    fn bytes_of_children_are_those_of_proc_before_and_after_they_end() {
        let mut processes = Processes::begin(process::id(), BTreeSet::new());
        let mut child = Command::new("sh")
            .args(["-c", "head -c 30000000 /dev/zero >/dev/null; read x"])
            .stdin(process::Stdio::piped())
            .spawn()
            .expect("a shell can be run");
        std::thread::sleep(Duration::from_millis(300));
        let io = fs::read_to_string(format!("/proc/{}/io", child.id())).expect("it is ours");
        let by_hand = parse_io(&io).expect("it has all lines");
        // Without a title of a server it is `Other` after some readings.
        let mut all = ProcessUse::default();
        (0..PATIENCE).for_each(|_| all.add(&processes.read(1.0).expect("we are here")));
        let asked = |all: &ProcessUse, at: usize| {
            all.roles.values().filter_map(|used| used.io).map(|io| io[at]).sum::<u64>()
        };
        assert!(by_hand[0] > 30_000_000, "{by_hand:?}");
        // Other tests of this process read as well; what it does itself is counted like that of children.
        assert!(asked(&all, 0) >= by_hand[0], "{all:?}");
        let seen = processes.tracked[&child.id()].last.io;
        assert_eq!(seen, Some(by_hand));
        drop(child.stdin.take());
        child.wait().expect("it ends");
        let mut after = processes.read(1.0).expect("we are here");
        assert!(!processes.tracked.contains_key(&child.id()));
        after.roles.retain(|role, _| *role == Role::Ended);
        assert!(asked(&after, 0) < 30_000_000, "its bytes do not count twice: {after:?}");
    }

    #[test]
    fn a_postmaster_that_does_not_exist_has_no_processes() {
        assert_eq!(Processes::begin(u32::MAX, BTreeSet::new()).read(1.0), None);
    }

    /// The cost of a reading with a thousand processes, for docs/observers.md.
    #[test]
    #[ignore = "starts 1,000 processes"]
    fn cost_of_a_thousand_processes() {
        let script = "for i in $(seq 1000); do sleep 60 & done; wait";
        let mut shell = Command::new("sh").args(["-c", script]).spawn().expect("a shell can be run");
        let begun = Instant::now();
        while children(shell.id()).is_none_or(|all| all.len() < 1_000) && begun.elapsed().as_secs() < 30 {
            std::thread::sleep(Duration::from_millis(50));
        }
        for kept in [usize::MAX, 85] {
            let mut processes = Processes::begin(shell.id(), BTreeSet::new());
            processes.tracked.clear();
            processes.most_kept = kept.min(processes.most_kept);
            (0..PATIENCE).for_each(|_| drop(processes.read(1.0)));
            let begun = Instant::now();
            (0..100).for_each(|_| drop(processes.read(1.0)));
            println!("{} kept open: {:?} a reading", processes.most_kept.min(1_001), begun.elapsed() / 100);
        }
        children(shell.id()).into_iter().flatten().for_each(|pid| {
            let _ = Command::new("kill").arg(pid.to_string()).status();
        });
        shell.wait().expect("it ends");
    }
}
