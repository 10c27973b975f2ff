//! Storage of a host as a tree, from the directories of a server down to the disks.

use std::collections::BTreeSet;

use pgdyno_core::host::{BlockDevice, DeviceKind, Inventory, Mount};
use pgdyno_document::{
    block::{Cell, Column, Row, Table},
    figure::Format::{Bytes, Count, Text},
    phrase::{Phrase, joined, maybe, phrase},
};

use crate::source::Place;

/// Deepest stack of devices that is drawn.
const DEEPEST: usize = 12;

/// The tree: directories with their mounts first, then mounts without a directory, then devices without a mount.
pub(super) fn tree(host: &Inventory, at: &Place<'_>) -> Table {
    let mut tree = Tree { host, at, rows: Vec::new(), seen: BTreeSet::new() };
    let holds =
        |mount: &Mount| host.directories.iter().any(|of| of.mount_point.as_deref() == Some(&mount.point));
    let (holding, others): (Vec<usize>, Vec<usize>) =
        (0..host.mounts.len()).partition(|index| holds(&host.mounts[*index]));
    holding.iter().chain(&others).for_each(|index| tree.mount(*index));
    tree.directories_elsewhere();
    let parts: BTreeSet<&String> = host.devices.iter().flat_map(|device| &device.parents).collect();
    let tops: Vec<&str> = host
        .devices
        .iter()
        .map(|device| device.name.as_str())
        .filter(|name| !parts.iter().any(|part| part == name) && !tree.seen.contains(*name))
        .collect();
    tree.devices(&tops, 0);
    let columns =
        vec![first_column(&tree.rows), Column::words("kind"), Column::number("size"), Column::text("how")];
    Table::new(columns, tree.rows)
}

/// The column of names, which are on one line unless they are very long.
fn first_column(rows: &[Row]) -> Column {
    const LONGEST: usize = 36;
    let length = |row: &Row| row.cells[0].text.plain().chars().count();
    match rows.iter().map(length).max() {
        Some(longest) if longest > LONGEST => Column::text("what"),
        _ => Column::words("what"),
    }
}

struct Tree<'a> {
    host: &'a Inventory,
    at: &'a Place<'a>,
    rows: Vec<Row>,
    /// Devices that are drawn.
    seen: BTreeSet<String>,
}

impl Tree<'_> {
    /// Adds a row; rows below others are indented.
    fn row(&mut self, depth: usize, what: Phrase, rest: [Phrase; 3]) {
        let branch = match depth {
            0 => String::new(),
            // No-break spaces keep their places when lines are broken.
            depth => format!("{}└\u{a0}", "\u{a0}\u{a0}".repeat(depth - 1)),
        };
        let cells = [phrase![branch, what]].into_iter().chain(rest).map(Cell::from);
        self.rows.push(Row::new(true, cells));
    }

    /// The directories on a mount, the mount, and what is below it.
    fn mount(&mut self, index: usize) {
        let mount = &self.host.mounts[index];
        let on_it =
            |of: &usize| self.host.directories[*of].mount_point.as_deref() == Some(mount.point.as_str());
        let directories: Vec<usize> = (0..self.host.directories.len()).filter(on_it).collect();
        directories.iter().for_each(|of| self.directory(*of));
        let depth = usize::from(!directories.is_empty());
        let at = self.at.at("mounts").at(index);
        let options = at.texts("options", mount.options.len(), usize::MAX);
        let running = mount.initialises_inodes == Some(true);
        let running = if running { "; inode tables are being initialised" } else { "" };
        let free = maybe("; free ", at.figure("available_bytes", Bytes), "");
        let reserved = at.figure("reserved_bytes", Bytes).filter(|_| mount.reserved_bytes > Some(0));
        let reserved = match reserved {
            Some(_) => phrase![maybe(", and ", reserved, " for "), mount.reserved_for(), " alone"],
            None => Phrase::default(),
        };
        let journal = if mount.has_journal == Some(false) { "; NO JOURNAL" } else { "" };
        let how = phrase![joined(options, ", "), free, reserved, journal, running];
        let size = at.figure("size_bytes", Bytes).map_or_else(Phrase::default, |size| Some(size).into());
        self.row(depth, at.figure("point", Text).into(), [at.figure("filesystem", Text).into(), size, how]);
        if let Some(device) = &mount.device {
            self.devices(&[device], depth + 1);
        }
    }

    fn directory(&mut self, index: usize) {
        let at = self.at.at("directories").at(index);
        let words = self.host.directories[index].purpose.words();
        let path = at.figure("path", Text).into();
        self.row(0, words.into(), [Phrase::default(), Phrase::default(), path]);
    }

    /// Directories whose mount is unknown.
    fn directories_elsewhere(&mut self) {
        let is_known = |index: &usize| {
            let point = self.host.directories[*index].mount_point.as_deref();
            point.is_some_and(|point| self.host.mount(point).is_some())
        };
        let unknown: Vec<usize> = (0..self.host.directories.len()).filter(|index| !is_known(index)).collect();
        unknown.into_iter().for_each(|index| self.directory(index));
    }

    /// Devices side by side, those that are alike in one row.
    fn devices(&mut self, names: &[&str], depth: usize) {
        let known: Vec<&BlockDevice> = names.iter().filter_map(|name| self.host.device(name)).collect();
        if depth > DEEPEST {
            return;
        }
        let host = self.host;
        for group in known.chunk_by(|one, other| alike(host, one, other, 0)) {
            let was_seen = group.iter().all(|device| self.seen.contains(&device.name));
            self.seen
                .extend(group.iter().flat_map(|device| host.stack(&device.name)).map(|of| of.name.clone()));
            self.device(group, depth, was_seen);
            if was_seen {
                continue;
            }
            let one_by_one: Vec<&BlockDevice> =
                group.iter().flat_map(|device| parents(host, device)).collect();
            let names: Vec<&str> = one_by_one.iter().map(|device| device.name.as_str()).collect();
            // They are marked as seen with those above them, and are drawn now.
            names.iter().for_each(|name| {
                self.seen.remove(*name);
            });
            self.devices(&names, depth + 1);
        }
    }

    fn device(&mut self, group: &[&BlockDevice], depth: usize, was_seen: bool) {
        let Some((index, device)) =
            self.host.devices.iter().enumerate().find(|(_, of)| of.name == group[0].name)
        else {
            return;
        };
        let at = self.at.at("devices").at(index);
        let alias = maybe(" (", at.figure("alias", Text), ")");
        let last = group.last().filter(|_| group.len() > 1);
        let last = last.and_then(|last| self.host.devices.iter().position(|of| of.name == last.name));
        let to_last = last.map_or_else(Phrase::default, |last| {
            phrase![" … ", self.at.at("devices").at(last).figure("name", Text)]
        });
        let how = if was_seen { "as above".into() } else { settings(&at, device, group.len()) };
        let what = phrase![at.figure("name", Text), to_last, alias];
        self.row(depth, what, [kind(device.kind).into(), at.figure("size_bytes", Bytes).into(), how]);
    }
}

fn parents<'a>(host: &'a Inventory, device: &BlockDevice) -> Vec<&'a BlockDevice> {
    device.parents.iter().filter_map(|name| host.device(name)).collect()
}

/// Whether two devices differ in nothing but their names, and what they consist of neither.
fn alike(host: &Inventory, one: &BlockDevice, other: &BlockDevice, depth: usize) -> bool {
    let without_name = |device: &BlockDevice| BlockDevice {
        name: String::new(),
        serial: None,
        parents: Vec::new(),
        queues: Vec::new(),
        ..device.clone()
    };
    let (of_one, of_other) = (parents(host, one), parents(host, other));
    depth < DEEPEST
        && one.alias.is_none()
        && without_name(one) == without_name(other)
        && of_one.len() == of_other.len()
        && of_one.iter().zip(&of_other).all(|(one, other)| alike(host, one, other, depth + 1))
}

fn kind(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Disk => "disk",
        DeviceKind::Nvme => "NVMe disk",
        DeviceKind::Virtual => "virtual disk",
        DeviceKind::Partition => "partition",
        DeviceKind::Md => "md array",
        DeviceKind::Lvm => "LVM volume",
        DeviceKind::Crypt => "dm-crypt",
        DeviceKind::Multipath => "multipath",
        DeviceKind::Mapper => "device mapper",
        DeviceKind::Loop => "loop device",
        DeviceKind::Memory => "memory",
        DeviceKind::Other => "device",
    }
}

/// How a device is set, in few words: what is unknown is left out.
fn settings(at: &Place<'_>, device: &BlockDevice, alike: usize) -> Phrase {
    let text = |before: &str, field: &str, after: &str| maybe(before, at.figure(field, Text), after);
    let size = |before: &str, field: &str| maybe(before, at.figure(field, Bytes), "");
    let flag = |value: Option<bool>, yes: &str, no: &str| {
        value.map_or_else(Phrase::default, |value| Phrase::from(if value { yes } else { no }))
    };
    let stripe = device.stripe.as_ref().map_or_else(Phrase::default, |_| {
        let at = at.at("stripe");
        let [level, members] = [at.figure("level", Text), at.figure("members", Count)];
        phrase![level, " over ", members, " in chunks of ", at.figure("chunk_bytes", Bytes)]
    });
    let shifted =
        device.alignment_offset_bytes.filter(|offset| *offset != 0).map_or_else(Phrase::default, |_| {
            phrase!["MISALIGNED by ", at.figure("alignment_offset_bytes", Text), " bytes"]
        });
    let count = if alike > 1 { format!("{alike} identical") } else { String::new() };
    let parts = [
        count.into(),
        stripe,
        text("model ", "model", ""),
        flag(device.rotational, "said to rotate", "does not rotate"),
        size("starts at ", "start_bytes"),
        shifted,
        text("scheduler ", "scheduler", ""),
        size("read-ahead ", "read_ahead_bytes"),
        maybe("", at.figure("queue_depth", Count), " requests in the queue"),
        maybe("rq_affinity ", at.figure("completion_affinity", Count), ""),
        text("cache ", "write_cache", ""),
        flag(device.force_unit_access, "FUA", ""),
        size("physical block ", "physical_block_bytes"),
        size("preferred request ", "optimal_io_bytes"),
        device
            .atomic_write_bytes
            .filter(|bytes| *bytes > 0)
            .map_or_else(Phrase::default, |_| size("atomic writes up to ", "atomic_write_bytes")),
        text("file ", "backing_file", ""),
    ];
    joined(parts.into_iter().filter(|part| !part.is_empty()), ", ")
}
