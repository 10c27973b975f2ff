//! A rule, and what it judges by.

use std::ops::Deref;

use pgdyno_core::host::{BlockDevice, Inventory, Mount, SysctlLine, ZfsDataset};

use super::scope;
use crate::{Finding, Page, Purpose, Standing};

/// What a rule judges by.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The host.
    pub host: &'a Inventory,
    /// What the server is for.
    pub purpose: Purpose,
}

/// A rule of a host: its page, and how it judges.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// What is to be known of it.
    pub page: Page,
    judge: Judge,
}

/// Which part of a host a rule judges. Whatever the host does not have or does not show has no finding.
#[derive(Debug, Clone, Copy)]
enum Judge {
    /// No running host shows it: the rule is its page.
    Explained,
    /// What the function asks the host for.
    Host(fn(&Given<'_>) -> Vec<Finding>),
    /// The same, with one finding at most.
    Once(fn(&Given<'_>) -> Option<Finding>),
    /// The number of the kernel parameter of this name.
    Sysctl(fn(&Given<'_>, u64) -> Finding),
    /// The same; that it could not be read is a finding.
    ExpectedSysctl(fn(&Given<'_>, u64) -> Finding),
    /// The value of the word of this name in the boot line.
    BootWord(fn(&Given<'_>, &str) -> Option<Finding>),
    /// Each mount with one of these file systems; with any, if there are none.
    Mounts(&'static [&'static str], fn(&Given<'_>, &Mount) -> Option<Finding>),
    /// The value of an option of each such mount that has it.
    MountOption(&'static str, &'static [&'static str], fn(&Given<'_>, &Mount, &str) -> Option<Finding>),
    /// Each dataset of ZFS.
    Datasets(fn(&Given<'_>, &Mount, &ZfsDataset) -> Option<Finding>),
    /// A property of each dataset of ZFS.
    Property(fn(&ZfsDataset) -> Option<&str>, fn(&Given<'_>, &Mount, &str) -> Option<Finding>),
    /// Each device below the server.
    Devices(fn(&Given<'_>, &BlockDevice) -> Option<Finding>),
    /// Each disk below the server.
    Disks(fn(&Given<'_>, &BlockDevice) -> Option<Finding>),
}

impl Rule {
    /// A rule that only explains.
    pub(crate) const fn of(page: Page) -> Self {
        Self { page, judge: Judge::Explained }
    }

    const fn by(self, judge: Judge) -> Self {
        Self { judge, ..self }
    }

    /// Judges what it asks the host for, with one finding at most.
    pub(crate) const fn judges(self, judge: fn(&Given<'_>) -> Option<Finding>) -> Self {
        self.by(Judge::Once(judge))
    }

    /// Judges what it asks the host for.
    pub(crate) const fn finds(self, judge: fn(&Given<'_>) -> Vec<Finding>) -> Self {
        self.by(Judge::Host(judge))
    }

    /// Judges the number of the kernel parameter that it is named after.
    pub(crate) const fn sysctl(self, judge: fn(&Given<'_>, u64) -> Finding) -> Self {
        self.by(Judge::Sysctl(judge))
    }

    /// The same of a parameter that every kernel has, so that it is reported where it could not be read.
    pub(crate) const fn expected_sysctl(self, judge: fn(&Given<'_>, u64) -> Finding) -> Self {
        self.by(Judge::ExpectedSysctl(judge))
    }

    /// Judges the value of the word of the boot line that it is named after.
    pub(crate) const fn boot_word(self, judge: fn(&Given<'_>, &str) -> Option<Finding>) -> Self {
        self.by(Judge::BootWord(judge))
    }

    /// Judges each mount with one of these file systems; without any, all mounts.
    pub(crate) const fn mounts(
        self,
        filesystems: &'static [&'static str],
        judge: fn(&Given<'_>, &Mount) -> Option<Finding>,
    ) -> Self {
        self.by(Judge::Mounts(filesystems, judge))
    }

    /// Judges the value of an option, empty if it has none, of each such mount that has it.
    pub(crate) const fn mount_option(
        self,
        option: &'static str,
        filesystems: &'static [&'static str],
        judge: fn(&Given<'_>, &Mount, &str) -> Option<Finding>,
    ) -> Self {
        self.by(Judge::MountOption(option, filesystems, judge))
    }

    /// Judges each dataset of ZFS.
    pub(crate) const fn datasets(
        self,
        judge: fn(&Given<'_>, &Mount, &ZfsDataset) -> Option<Finding>,
    ) -> Self {
        self.by(Judge::Datasets(judge))
    }

    /// Judges a property of each dataset of ZFS.
    pub(crate) const fn property(
        self,
        of: fn(&ZfsDataset) -> Option<&str>,
        judge: fn(&Given<'_>, &Mount, &str) -> Option<Finding>,
    ) -> Self {
        self.by(Judge::Property(of, judge))
    }

    /// Judges each device below the server.
    pub(crate) const fn devices(self, judge: fn(&Given<'_>, &BlockDevice) -> Option<Finding>) -> Self {
        self.by(Judge::Devices(judge))
    }

    /// Judges each disk below the server.
    pub(crate) const fn disks(self, judge: fn(&Given<'_>, &BlockDevice) -> Option<Finding>) -> Self {
        self.by(Judge::Disks(judge))
    }

    /// What it says of a host; empty where the host has nothing that it is about.
    pub fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let host = facts.host;
        let given = Given { page: &self.page, facts, object: "", present: None };
        match self.judge {
            Judge::Explained => Vec::new(),
            Judge::Host(judge) => judge(&given),
            Judge::Once(judge) => judge(&given).into_iter().collect(),
            Judge::Sysctl(judge) => {
                given.number().map(|value| judge(&given.seen(value), value)).into_iter().collect()
            }
            Judge::ExpectedSysctl(judge) => vec![match given.number() {
                Some(value) => judge(&given.seen(value), value),
                None => given.unread(),
            }],
            Judge::BootWord(judge) => {
                let name = boot_word(given.page.name);
                let word = host.kernel.boot_word(name);
                word.and_then(|word| judge(&given.seen(format!("{name}={word}")), word)).into_iter().collect()
            }
            Judge::Mounts(filesystems, judge) => given.of_mounts(filesystems, judge),
            Judge::MountOption(name, filesystems, judge) => given.of_mounts(filesystems, |given, mount| {
                let value = mount.option(name)?;
                let present = if value.is_empty() { name.to_owned() } else { format!("{name}={value}") };
                judge(&given.seen(present), mount, value)
            }),
            Judge::Datasets(judge) => {
                given.of_mounts(&[], |given, mount| judge(given, mount, mount.zfs.as_ref()?))
            }
            Judge::Property(of, judge) => given.of_mounts(&[], |given, mount| {
                let value = of(mount.zfs.as_ref()?)?;
                judge(&given.seen(value), mount, value)
            }),
            Judge::Devices(judge) => given.of_devices(scope::devices(host), judge),
            Judge::Disks(judge) => given.of_devices(scope::disks(host), judge),
        }
    }
}

/// The word of the boot line that a rule such as `numa=off` is named after.
pub(super) fn boot_word(name: &str) -> &str {
    name.split_once('=').map_or(name, |(word, _)| word)
}

/// What a rule judges: the facts, and what its findings begin with.
#[derive(Debug, Clone)]
pub(crate) struct Given<'a> {
    /// Its page.
    pub page: &'a Page,
    /// What it judges by.
    pub facts: &'a Facts<'a>,
    /// The object that is judged: a mount point, a device; empty if there is only one.
    object: &'a str,
    /// The value that is judged, if there is only one.
    present: Option<String>,
}

impl<'a> Deref for Given<'a> {
    type Target = Facts<'a>;

    fn deref(&self) -> &Self::Target {
        self.facts
    }
}

impl Given<'_> {
    fn seen(&self, present: impl ToString) -> Self {
        Self { present: Some(present.to_string()), ..self.clone() }
    }

    fn of_mounts(
        &self,
        filesystems: &[&str],
        judge: impl Fn(&Given<'_>, &Mount) -> Option<Finding>,
    ) -> Vec<Finding> {
        let mounts = scope::mounts(self.host)
            .into_iter()
            .filter(|mount| filesystems.is_empty() || filesystems.contains(&mount.filesystem.as_str()));
        mounts.filter_map(|mount| judge(&Given { object: &mount.point, ..self.clone() }, mount)).collect()
    }

    fn of_devices(
        &self,
        devices: Vec<&BlockDevice>,
        judge: fn(&Given<'_>, &BlockDevice) -> Option<Finding>,
    ) -> Vec<Finding> {
        let devices = devices.into_iter();
        devices.filter_map(|device| judge(&Given { object: &device.name, ..self.clone() }, device)).collect()
    }

    /// The numbers of the kernel parameter that the rule is named after; `None` if it is absent or no list of numbers.
    pub(crate) fn numbers(&self) -> Option<Vec<u64>> {
        let text = self.host.sysctl(self.page.name)?;
        text.split_whitespace().map(|number| number.parse().ok()).collect()
    }

    /// The same of a parameter that has so many numbers.
    pub(crate) fn numbers_of<const N: usize>(&self) -> Option<[u64; N]> {
        self.numbers()?.try_into().ok()
    }

    /// The one number of the kernel parameter that the rule is named after.
    pub(crate) fn number(&self) -> Option<u64> {
        self.numbers_of::<1>().map(|[number]| number)
    }

    /// The line in the files of sysctl that sets the kernel parameter that the rule is named after.
    pub(crate) fn line(&self) -> Option<&SysctlLine> {
        self.sysctl_line(self.page.name)
    }

    /// A finding about what is judged.
    pub(crate) fn finding(&self, standing: Standing, reason: impl Into<String>) -> Finding {
        Finding {
            name: self.page.name.to_owned(),
            object: self.object.to_owned(),
            standing,
            present: self.present.clone(),
            recommended: None,
            reason: reason.into(),
            change: None,
        }
    }

    /// It is as it should be.
    pub(crate) fn fine(&self, reason: impl Into<String>) -> Finding {
        self.finding(Standing::Fine, reason)
    }

    /// Another value would serve better.
    pub(crate) fn improve(&self, reason: impl Into<String>) -> Finding {
        self.finding(Standing::Improve, reason)
    }

    /// It can lose data or bring the host down.
    pub(crate) fn dangerous(&self, reason: impl Into<String>) -> Finding {
        self.finding(Standing::Dangerous, reason)
    }

    /// It does nothing here.
    pub(crate) fn no_effect(&self, reason: impl Into<String>) -> Finding {
        self.finding(Standing::NoEffect, reason)
    }

    /// Current kernels or servers no longer have it or no longer need it.
    pub(crate) fn obsolete(&self, reason: impl Into<String>) -> Finding {
        self.finding(Standing::Obsolete, reason)
    }

    /// It cannot be judged.
    pub(crate) fn unknown(&self, reason: impl Into<String>) -> Finding {
        self.finding(Standing::Unknown, reason)
    }

    /// The kernel parameter could not be read, or is none of the kernel's.
    pub(crate) fn unread(&self) -> Finding {
        self.unknown(format!("{} could not be read on this host.", self.page.name))
    }
}
