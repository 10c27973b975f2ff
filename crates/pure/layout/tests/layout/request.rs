//! Requests of tests.

use pgdyno_layout::{
    Amount, Disk, FilesystemKind, Manager, Overrides, Purpose, Raid, Request, Volume, VolumeKind,
};

pub const KIB: u64 = 1 << 10;
pub const MIB: u64 = 1 << 20;
pub const GIB: u64 = 1 << 30;
pub const TIB: u64 = 1 << 40;

/// Disks of a cloud as articles 000 and 004 have them: `/dev/vdb`, `/dev/vdc`, …
pub fn disks(count: u8, size_bytes: u64) -> Vec<Disk> {
    let disk = |letter: u8| Disk {
        path: format!("/dev/vd{}", char::from(b'b' + letter)),
        size_bytes,
        logical_block_bytes: 512,
        physical_block_bytes: 512,
        ..Disk::default()
    };
    (0..count).map(disk).collect()
}

pub fn volume(kind: VolumeKind, amount: Amount) -> Volume {
    Volume { kind, amount, mount: None }
}

/// One volume for data on everything.
pub fn request(disks: Vec<Disk>, raid: Raid, manager: Manager, filesystem: FilesystemKind) -> Request {
    Request {
        disks,
        purpose: Purpose::Oltp,
        raid,
        manager,
        filesystem,
        block_bytes: 8 * KIB,
        volumes: vec![volume(VolumeKind::Data, Amount::Rest)],
        snapshot: false,
        kernel: "6.1.0-18-amd64".into(),
        page_bytes: 4 * KIB,
        name: "pg".into(),
        overrides: Overrides::default(),
    }
}

/// Data, index and WAL as article 004 has them.
pub fn three_volumes(wal: u64) -> Vec<Volume> {
    vec![
        volume(VolumeKind::Wal, Amount::Bytes(wal)),
        volume(VolumeKind::Data, Amount::Percent(69)),
        volume(VolumeKind::Index, Amount::Rest),
    ]
}
