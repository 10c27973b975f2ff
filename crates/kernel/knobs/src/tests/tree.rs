//! A tree that looks like a host, with a kernel that reacts to what is written, and calls that fail as planted.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use pgdyno_core::{
    host::{Change, Knob},
    problem::Problem,
    stop::Stop,
};
use rustix::io::Errno;
use tempfile::TempDir;

use crate::{
    Applied, Place, Plan, Undone,
    apply::apply_with,
    calls::{Calls, Watch},
    plan,
    undo::undo_with,
};

pub const SCHEDULER: &str = "/sys/block/sda/queue/scheduler";
pub const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const QUEUE: &str = "sys/devices/pci0/sda/queue";

const VALUES: [(&str, &str); 18] = [
    ("proc/sys/vm/swappiness", "60\n"),
    ("proc/sys/vm/overcommit_memory", "0\n"),
    ("proc/sys/vm/overcommit_ratio", "50\n"),
    ("proc/sys/vm/overcommit_kbytes", "0\n"),
    ("proc/sys/vm/dirty_ratio", "20\n"),
    ("proc/sys/vm/dirty_bytes", "0\n"),
    ("proc/sys/vm/min_free_kbytes", "67584\n"),
    ("proc/sys/vm/nr_hugepages", "0\n"),
    ("proc/sys/vm/drop_caches", "0\n"),
    ("proc/sys/kernel/sem", "32000\t1024000000\t500\t32000\n"),
    ("proc/sys/kernel/random/boot_id", "0a0b0c0d-0000-4000-8000-000000000001\n"),
    ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
    ("proc/sys/net/ipv4/conf/eth0.1/rp_filter", "1\n"),
    ("sys/devices/pci0/sda/queue/scheduler", "none [mq-deadline]\n"),
    ("sys/devices/pci0/sda/queue/nr_requests", "200\n"),
    ("sys/devices/pci0/sda/queue/read_ahead_kb", "128\n"),
    ("sys/devices/pci0/sda/queue/iosched/read_expire", "123\n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
];

/// A tree that looks like a host.
pub struct Tree {
    dir: TempDir,
}

impl Tree {
    pub fn new() -> Self {
        // In memory where possible: a test syncs some hundred times.
        let memory = tempfile::tempdir_in("/dev/shm");
        let tree = Self { dir: memory.or_else(|_| tempfile::tempdir()).expect("a directory can be made") };
        for (path, text) in VALUES {
            tree.write(path, text);
        }
        tree.set_mode("proc/sys/vm/drop_caches", 0o200);
        for dir in ["etc/sysctl.d", "etc/security", "etc/systemd/system", "var/lib", "sys/block"] {
            fs::create_dir_all(tree.at(dir)).expect("it is ours");
        }
        symlink("../devices/pci0/sda", tree.at("sys/block/sda")).expect("it is ours");
        // A file of pgdyno's name with another mode, from an administrator.
        tree.write("etc/sysctl.d/99-pgdyno.conf", "# by hand\nvm.swappiness = 1\nkernel.sysrq = 0\n");
        tree.set_mode("etc/sysctl.d/99-pgdyno.conf", 0o640);
        tree
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    pub fn place(&self) -> Place {
        place(self.root())
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.root().join(path.trim_start_matches('/'))
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).expect("it is there").trim_end().to_owned()
    }

    pub fn write(&self, path: &str, text: &str) {
        let at = self.at(path);
        fs::create_dir_all(at.parent().expect("it is in the tree")).expect("it is ours");
        fs::write(at, text).expect("it is ours");
    }

    pub fn set_mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    pub fn plan(&self, changes: &[Change]) -> Plan {
        plan(changes, self.root())
    }

    pub fn apply(&self, changes: &[Change], watch: &dyn Watch) -> Result<Applied, Problem> {
        apply_with(&self.plan(changes), &self.place(), &Stop::default(), &Calls(watch))
    }

    pub fn undo(&self, watch: &dyn Watch) -> Result<Undone, Problem> {
        undo_with(&self.place(), false, &Stop::default(), &Calls(watch))
    }

    /// Everything but the journal's directory: kind, mode, owner and content by path.
    pub fn snapshot(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        self.walk(self.root(), &mut found);
        found
    }

    fn walk(&self, dir: &Path, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(dir).expect("it is ours").flatten() {
            let path = entry.path();
            let name = path.strip_prefix(self.root()).expect("it is below").to_string_lossy().into_owned();
            let metadata = fs::symlink_metadata(&path).expect("it is there");
            let content = match () {
                () if metadata.is_symlink() => format!("{:?}", fs::read_link(&path)),
                () if metadata.is_dir() => "directory".to_owned(),
                // One that is only written, as drop_caches is, only root can read.
                () => fs::read(&path).map_or_else(
                    |error| error.kind().to_string(),
                    |bytes| String::from_utf8_lossy(&bytes).into_owned(),
                ),
            };
            let (mode, uid, gid) = (metadata.mode(), metadata.uid(), metadata.gid());
            if name == "var" {
                continue;
            }
            found.insert(name, format!("{mode:o} {uid}:{gid} {content}"));
            if metadata.is_dir() {
                self.walk(&path, found);
            }
        }
    }

    /// Names in the journal's directory.
    pub fn journal_files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.place().journal).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// Nothing differs from a snapshot, and no journal is left.
    pub fn assert_restored(&self, before: &BTreeMap<String, String>, when: &str) {
        let now = self.snapshot();
        let differing: Vec<_> =
            before.keys().chain(now.keys()).filter(|path| before.get(*path) != now.get(*path)).collect();
        assert!(
            differing.is_empty(),
            "{when}: {differing:?}\n{:?}",
            differing.iter().map(|path| now.get(*path)).collect::<Vec<_>>()
        );
        assert_eq!(self.journal_files(), [""; 0], "{when}");
    }
}

pub fn place(root: &Path) -> Place {
    Place::new(root, root.join("var/lib/pgdyno/host"))
}

pub fn sysctl(name: &str, value: &str) -> Change {
    Change { knob: Knob::Sysctl(name.to_owned()), value: value.to_owned() }
}

pub fn sysfs(path: &str, value: &str) -> Change {
    Change { knob: Knob::Sysfs(path.to_owned()), value: value.to_owned() }
}

pub fn limit(domain: &str, item: &str, value: &str) -> Change {
    Change {
        knob: Knob::LoginLimit { domain: domain.to_owned(), item: item.to_owned() },
        value: value.to_owned(),
    }
}

/// Changes of every kind, with side effects, a pair, and a value of which the kernel grants a part.
pub fn all_kinds() -> Vec<Change> {
    vec![
        sysctl("vm.swappiness", "10"),
        sysctl("vm.dirty_bytes", "1073741824"),
        sysctl("vm.overcommit_kbytes", "4000000"),
        sysctl("vm.nr_hugepages", "1000"),
        sysctl("net.ipv4.tcp_rmem", "4096 87380 16777216"),
        sysctl("net.ipv4.conf.eth0/1.rp_filter", "2"),
        // Before the scheduler that resets it.
        sysfs("/sys/block/sda/queue/nr_requests", "512"),
        sysfs(SCHEDULER, "none"),
        sysfs("/sys/block/sda/queue/read_ahead_kb", "4096"),
        sysfs(THP, "never"),
        limit("postgres", "nofile", "65536"),
    ]
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy)]
pub enum Then {
    /// This process ends at once, as by `kill -9`.
    Killed,
    /// This call and all later ones fail, so nothing changes any more, as if the process were gone.
    Dead,
    /// This call fails.
    Fails(Errno),
}

/// Counts calls, lets one fail, and is the kernel of a tree.
pub struct Fake {
    pub root: PathBuf,
    pub calls: Cell<u32>,
    pub at: Option<(u32, Then)>,
    /// Calls of this name on paths that end so fail.
    pub fails: Option<(&'static str, &'static str, Errno)>,
}

impl Fake {
    pub fn new(tree: &Tree) -> Self {
        Self::at(tree.root())
    }

    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), calls: Cell::new(0), at: None, fails: None }
    }

    pub fn then(tree: &Tree, at: u32, then: Then) -> Self {
        Self { at: Some((at, then)), ..Self::new(tree) }
    }

    pub fn failing(tree: &Tree, call: &'static str, path: &'static str, errno: Errno) -> Self {
        Self { fails: Some((call, path, errno)), ..Self::new(tree) }
    }

    fn set(&self, path: &str, text: &str) {
        let at = self.root.join(path);
        fs::create_dir_all(at.parent().expect("it is in the tree")).expect("it is ours");
        fs::write(at, text).expect("it is ours");
    }

    /// What Linux does when these are written.
    fn react(&self, path: &str, value: &str) {
        let refused = |name: &str| assert_ne!(value, "0", "the kernel takes no 0 for {name}");
        match path {
            "sys/block/sda/queue/scheduler" => self.switch_scheduler(value),
            "sys/kernel/mm/transparent_hugepage/enabled" => {
                let mark =
                    |choice: &str| if choice == value { format!("[{choice}]") } else { choice.to_owned() };
                self.set(path, &format!("{} {} {}\n", mark("always"), mark("madvise"), mark("never")));
                self.set("proc/sys/vm/min_free_kbytes", if value == "never" { "11584\n" } else { "67584\n" });
            }
            "proc/sys/vm/nr_hugepages" => {
                let granted = value.parse::<u32>().map_or(0, |pages| pages.min(900));
                self.set(path, &format!("{granted}\n"));
            }
            "proc/sys/vm/dirty_bytes" => {
                refused(path);
                self.set("proc/sys/vm/dirty_ratio", "0\n");
            }
            "proc/sys/vm/dirty_ratio" => self.set("proc/sys/vm/dirty_bytes", "0\n"),
            "proc/sys/vm/overcommit_kbytes" => self.set("proc/sys/vm/overcommit_ratio", "0\n"),
            "proc/sys/vm/overcommit_ratio" => self.set("proc/sys/vm/overcommit_kbytes", "0\n"),
            "proc/sys/net/ipv4/tcp_rmem" | "proc/sys/kernel/sem" => {
                self.set(path, &format!("{}\n", value.replace(' ', "\t")));
            }
            _ => {}
        }
    }

    fn switch_scheduler(&self, value: &str) {
        let deadline = value == "mq-deadline";
        let choices = if deadline { "none [mq-deadline]\n" } else { "[none] mq-deadline\n" };
        self.set(&format!("{QUEUE}/scheduler"), choices);
        self.set(&format!("{QUEUE}/nr_requests"), if deadline { "64\n" } else { "31\n" });
        match deadline {
            true => self.set(&format!("{QUEUE}/iosched/read_expire"), "500\n"),
            false => drop(fs::remove_file(self.root.join(QUEUE).join("iosched/read_expire"))),
        }
    }
}

impl Watch for Fake {
    fn before(&self, call: &str, path: &Path) -> io::Result<()> {
        self.calls.set(self.calls.get() + 1);
        if let Some((name, end, errno)) = self.fails
            && name == call
            && path.to_string_lossy().ends_with(end)
        {
            return Err(errno.into());
        }
        match self.at {
            Some((at, Then::Killed)) if self.calls.get() == at => {
                let own = rustix::process::getpid();
                rustix::process::kill_process(own, rustix::process::Signal::KILL)?;
                loop {
                    std::thread::park();
                }
            }
            Some((at, Then::Dead)) if self.calls.get() >= at => Err(Errno::IO.into()),
            Some((at, Then::Fails(errno))) if self.calls.get() == at => Err(errno.into()),
            _ => Ok(()),
        }
    }

    fn written(&self, path: &Path) {
        let Ok(below) = path.strip_prefix(&self.root) else { return };
        let value = fs::read_to_string(path).expect("it was written");
        self.react(&below.to_string_lossy(), value.trim_end());
    }
}
