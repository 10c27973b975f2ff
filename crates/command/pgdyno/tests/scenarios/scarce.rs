//! Machines on which something is scarce: CPU time, memory, requests of a device, dirty pages. Only for programs of a
//! test, by control groups and loop devices, which need root.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, id},
    sync::atomic::{AtomicU32, Ordering},
};

use testkit::left_out;

use crate::common::{am_root, text};

/// A control group (version 1) of a test, with limits.
pub struct Group(PathBuf);

impl Group {
    /// One that may use this part of a CPU.
    pub fn with_quota(cpus: f64) -> Option<Self> {
        let quota = (cpus * 100_000.0).round().to_string();
        Self::with("cpu", &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", &quota)])
    }

    /// One that may use so much memory, page cache included.
    pub fn with_memory(bytes: u64) -> Option<Self> {
        Self::with("memory", &[("memory.limit_in_bytes", &bytes.to_string())])
    }

    /// One for which the device under the temporary directories has a limit.
    pub fn with_slow_device(limit: &str, per_s: u32) -> Option<Self> {
        let device = fs::metadata(std::env::temp_dir()).ok()?.dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        Self::with("blkio", &[(limit, &format!("{major}:{minor} {per_s}"))])
    }

    /// `None` where it cannot be made, which is said.
    fn with(controller: &str, limits: &[(&str, &str)]) -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let dir = PathBuf::from(format!("/sys/fs/cgroup/{controller}/pgdyno-test-{}-{number}", id()));
        let made = fs::create_dir(&dir).ok().filter(|()| am_root()).map(|()| Self(dir));
        let limited =
            made.filter(|of| limits.iter().all(|(name, value)| fs::write(of.0.join(name), value).is_ok()));
        if limited.is_none() {
            left_out(&format!("a control group with limits ({controller}) cannot be made"));
        }
        limited
    }

    /// A command within it.
    pub fn around(&self, command: &Command) -> Command {
        let enter = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.0.display());
        through(&["sh", "-c", &enter, "sh"], command)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0); // It is empty as soon as its programs have ended.
    }
}

/// A command by way of another.
pub fn through(other: &[&str], command: &Command) -> Command {
    let mut through = Command::new(other[0]);
    through.args(&other[1..]).arg(command.get_program()).args(command.get_args());
    through.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.get_current_dir().into_iter().for_each(|dir| {
        through.current_dir(dir);
    });
    through
}

/// A file system on a loop device for which the kernel keeps few dirty pages.
pub struct FewDirty {
    dir: tempfile::TempDir,
    device: String,
    /// Limits of the device before, by file: they outlive its detaching, and the next one of this number has them.
    before: Vec<(PathBuf, String)>,
}

impl FewDirty {
    /// `None` where that cannot be had, which is said.
    pub fn mount(kind: &str, dirty_bytes: u64) -> Option<Self> {
        let made = am_root().then(|| Self::made(kind, dirty_bytes)).flatten();
        if made.is_none() {
            left_out("loop devices and limits of their dirty pages need root and Linux 6.2");
        }
        made
    }

    fn made(kind: &str, dirty_bytes: u64) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let image = dir.path().join("image");
        fs::File::create(&image).and_then(|file| file.set_len(3 << 30)).ok()?;
        let device = said("losetup", &["-f", "--show", path(&image)])?.trim().to_owned();
        let mut mounted = Self { dir, device, before: Vec::new() };
        let number = fs::read_to_string(mounted.device.replace("/dev/", "/sys/block/") + "/dev").ok()?;
        let limits = PathBuf::from(format!("/sys/class/bdi/{}", number.trim()));
        for name in ["strict_limit", "max_ratio"] {
            let file = limits.join(name);
            let value = fs::read_to_string(&file).ok()?;
            mounted.before.push((file, value));
        }
        fs::write(limits.join("strict_limit"), "1").ok()?;
        fs::write(limits.join("max_bytes"), dirty_bytes.to_string()).ok()?;
        let at = mounted.dir.path().join("at");
        fs::create_dir(&at).expect("there is room");
        said(&format!("mkfs.{kind}"), &["-q", &mounted.device])?;
        said("mount", &[&mounted.device, path(&at)])?;
        said("chmod", &["777", path(mounted.dir.path()), path(&at)])?;
        Some(mounted)
    }

    /// A data directory that can be made there.
    pub fn data(&self) -> Option<PathBuf> {
        Some(self.dir.path().join("at/data"))
    }
}

impl Drop for FewDirty {
    fn drop(&mut self) {
        let _ = said("umount", &["-l", path(&self.dir.path().join("at"))]);
        for (file, value) in &self.before {
            let _ = fs::write(file, value);
        }
        let _ = said("losetup", &["-d", &self.device]);
    }
}

fn path(of: &Path) -> &str {
    of.to_str().expect("it is UTF-8")
}

/// What a program prints that succeeds.
fn said(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    output.status.success().then(|| text(&output.stdout))
}
