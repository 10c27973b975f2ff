//! Derivations by table; the articles' layouts where they were right.

use pgdyno_layout::{
    Amount, Disk, Filesystem, FilesystemKind, FullPageWrites, Group, Layout, Manager, Overrides, Purpose,
    Raid, Request, Stack, Volume, VolumeKind, Xfs, derive,
};

use crate::request::{GIB, KIB, MIB, TIB, disks, request, three_volumes, volume};

fn layout(request: &Request) -> Layout {
    derive(request).expect("the request is valid")
}

fn group(layout: &Layout) -> &Group {
    let Stack::Lvm(group) = &layout.stack else { panic!("it is a volume group") };
    group
}

fn xfs(layout: &Layout) -> &Xfs {
    let Filesystem::Xfs(xfs) = &layout.volumes[0].filesystem else { panic!("it is XFS") };
    xfs
}

/// Stride, stripe width and bytes per inode of a volume.
fn ext4_numbers(layout: &Layout, volume: usize) -> (Option<u64>, Option<u64>, u64) {
    let Filesystem::Ext4(ext4) = &layout.volumes[volume].filesystem else { panic!("it is ext4") };
    let value = |number: &Option<pgdyno_layout::Derived<u64>>| number.as_ref().map(|number| number.value);
    (value(&ext4.stride_blocks), value(&ext4.stripe_width_blocks), ext4.bytes_per_inode.value)
}

fn problem(request: &Request) -> String {
    let problem = derive(request).expect_err("it is refused");
    format!("{problem} {}", problem.detail.as_deref().unwrap_or_default())
}

/// The 1.75 TiB of articles 000, and the 20 TiB of 004.
const ARTICLE_000: u64 = 1_924_145_348_608;
const ARTICLE_004: u64 = 20 * TIB;

#[test]
fn article_000_comes_out_but_for_what_is_wrong_today() {
    let mut request = request(disks(8, ARTICLE_000), Raid::Striped, Manager::Lvm, FilesystemKind::Ext4);
    request.overrides.stripe_bytes = Some(8 * KIB);
    let layout = layout(&request);
    assert!(layout.partitions.iter().all(|partition| partition.start_bytes() == MIB), "GPT at 1 MiB");
    let stripes = layout.stripes.as_ref().expect("it is striped");
    assert_eq!((stripes.data_disks.value, stripes.stripe_bytes.value), (8, 8 * KIB), "-i 8 -I 8");
    assert!(
        stripes.stripe_bytes.because.contains("recommended are 64 KiB"),
        "{}",
        stripes.stripe_bytes.because
    );
    assert_eq!(group(&layout).extent_bytes.value, 128 * MIB, "vgcreate -s 128M");
    assert_eq!(ext4_numbers(&layout, 0), (Some(2), Some(16), MIB), "stride=2,stripe_width=16 -T largefile");
    let Filesystem::Ext4(ext4) = &layout.volumes[0].filesystem else { panic!("it is ext4") };
    assert_eq!((ext4.block_bytes.value, ext4.reserved_percent.value), (4096, 0), "-b 4096 -m 0");
    // Not as the article has it.
    assert!(!ext4.lazy_inode_tables.value, "lazy_itable_init=1 runs into the measurement");
    let options: Vec<&str> =
        layout.volumes[0].mount_options.iter().map(|option| option.value.as_str()).collect();
    assert_eq!(options, ["noatime", "errors=remount-ro"], "neither barrier=0 nor data=writeback");
    // lvs of the article: <13.97t.
    let size = layout.volumes[0].size_bytes.value;
    assert!(size < ARTICLE_000 * 8 && size > ARTICLE_000 * 8 - 2 * GIB, "{size}");
}

#[test]
fn article_004_comes_out_on_sixteen_disks() {
    let mut request = request(disks(16, ARTICLE_004), Raid::Striped, Manager::Lvm, FilesystemKind::Ext4);
    request.overrides.stripe_bytes = Some(8 * KIB);
    request.volumes = vec![
        volume(VolumeKind::Wal, Amount::Bytes(4 * TIB)),
        volume(VolumeKind::Data, Amount::Bytes(220 * TIB)),
        volume(VolumeKind::Index, Amount::Rest),
    ];
    let wide = layout(&request);
    let sizes: Vec<u64> = wide.volumes.iter().map(|volume| volume.size_bytes.value).collect();
    assert_eq!(sizes[..2], [4 * TIB, 220 * TIB]);
    assert!(
        sizes[2] < 96 * TIB && sizes[2] > 96 * TIB - 8 * GIB,
        "lvs of the article: <96.00t, {}",
        sizes[2]
    );
    for volume in 0..3 {
        assert_eq!(ext4_numbers(&wide, volume), (Some(2), Some(32), MIB), "stride 2, stripe_width 32");
    }
    // Its title has blocks of 32 KiB, of which each is then on four disks.
    request.block_bytes = 32 * KIB;
    let because = layout(&request).stripes.expect("it is striped").stripe_bytes.because;
    assert!(because.contains("lies on 4 disks"), "{because}");
}

#[test]
fn article_001_comes_out_on_three_disks() {
    // lv02 of 17.46 TiB: 4686971904 blocks, on -i 3 -I 8.
    let mut request = request(disks(3, 6 * TIB), Raid::Striped, Manager::Lvm, FilesystemKind::Xfs);
    request.overrides =
        Overrides { stripe_bytes: Some(8 * KIB), allocation_groups: Some(30_000), ..Overrides::default() };
    let many = layout(&request);
    let stripe = xfs(&many).stripe.as_ref().expect("it is striped");
    assert_eq!((stripe.sunit, stripe.swidth), (16, 48));
    let blocks = xfs(&many).groups.blocks.value;
    assert!(blocks.is_multiple_of(2) && !blocks.is_multiple_of(6), "{blocks}");
    request.overrides.allocation_groups = None;
    let few = layout(&request);
    assert_eq!(xfs(&few).groups.count.value, 32, "30000 groups are no advantage");
    assert_eq!(xfs(&few).log_bytes.value, 2_136_997_888, "its log has the same size");
}

#[test]
fn stripes_follow_from_data_disks() {
    use Raid::{DoubleParity, MirroredStripes, Parity, Striped};
    // Article 001: RAID 5 of 5 gives 4, RAID 10 of 10 gives 5, RAID 0 of 10 gives 10.
    let cases =
        [(Parity, 5, 4), (MirroredStripes, 10, 5), (Striped, 10, 10), (DoubleParity, 8, 6), (Striped, 2, 2)];
    for manager in [Manager::Lvm, Manager::Md] {
        for (raid, count, data) in cases {
            let layout = layout(&request(disks(count, TIB), raid, manager, FilesystemKind::Xfs));
            let stripes = layout.stripes.as_ref().expect("it is striped");
            assert_eq!(stripes.data_disks.value, data, "{raid:?} of {count}");
            let stripe = xfs(&layout).stripe.as_ref().expect("it is striped");
            assert_eq!((stripe.units.value, stripe.unit_bytes.value), (data, stripes.stripe_bytes.value));
        }
    }
}

#[test]
fn the_stripe_follows_from_purpose_block_and_disks() {
    let fast = Disk { optimal_io_bytes: Some(128 * KIB), ..Disk::default() };
    let slow = Disk { rotational: true, ..Disk::default() };
    // A limit of a SAS adapter, which is no stripe.
    let odd = Disk { optimal_io_bytes: Some(33_553_920), ..Disk::default() };
    let plain = Disk::default();
    let cases = [
        (Purpose::Oltp, Raid::Striped, &plain, 8, 4, 64),
        (Purpose::Oltp, Raid::Striped, &plain, 32, 4, 64),
        (Purpose::Olap, Raid::Striped, &plain, 8, 4, 256),
        (Purpose::Oltp, Raid::Striped, &slow, 8, 4, 256),
        (Purpose::Oltp, Raid::Parity, &slow, 8, 4, 64),
        (Purpose::Oltp, Raid::Striped, &fast, 8, 4, 128),
        (Purpose::Oltp, Raid::Striped, &odd, 8, 4, 64),
        (Purpose::Oltp, Raid::Striped, &plain, 8, 64, 64),
    ];
    for (purpose, raid, traits, block, page, stripe) in cases {
        let with = |disk: Disk| Disk {
            rotational: traits.rotational,
            optimal_io_bytes: traits.optimal_io_bytes,
            ..disk
        };
        let disks = disks(4, TIB).into_iter().map(with).collect();
        let mut request = request(disks, raid, Manager::Lvm, FilesystemKind::Ext4);
        (request.purpose, request.block_bytes, request.page_bytes) = (purpose, block * KIB, page * KIB);
        let stripes = layout(&request).stripes.expect("it is striped");
        assert_eq!(
            stripes.stripe_bytes.value,
            stripe * KIB,
            "{purpose:?} {raid:?} {traits:?} {block} {page}"
        );
    }
}

#[test]
fn a_raid_controller_reports_its_stripes() {
    let mut disk = disks(1, 4 * TIB);
    (disk[0].minimum_io_bytes, disk[0].optimal_io_bytes) = (Some(64 * KIB), Some(384 * KIB));
    let mut request = request(disk, Raid::None, Manager::None, FilesystemKind::Ext4);
    let planned = layout(&request);
    assert_eq!(planned.partitions[0].start_bytes(), 3 * MIB, "a multiple of 1 MiB and of 384 KiB");
    assert_eq!(ext4_numbers(&planned, 0), (Some(16), Some(96), MIB));
    request.disks[0].optimal_io_bytes = Some(33_553_920);
    assert_eq!(layout(&request).stripes, None);
}

#[test]
fn disks_with_large_logical_blocks_are_counted_in_them() {
    let mut disk = disks(1, TIB);
    (disk[0].logical_block_bytes, disk[0].physical_block_bytes) = (4096, 4096);
    let layout = layout(&request(disk, Raid::None, Manager::None, FilesystemKind::Xfs));
    assert_eq!((layout.partitions[0].start_sector.value, xfs(&layout).sector_bytes.value), (256, 4096));
}

#[test]
fn every_volume_lies_within_its_group() {
    for raid in [Raid::Striped, Raid::MirroredStripes, Raid::Parity, Raid::DoubleParity, Raid::None] {
        let mut request = request(disks(6, 100 * GIB), raid, Manager::Lvm, FilesystemKind::Xfs);
        request.volumes = three_volumes(16 * GIB);
        request.snapshot = true;
        let layout = layout(&request);
        let (group, data) = (group(&layout), layout.stripes.as_ref().map_or(1, |it| it.data_disks.value));
        let used: u64 = layout.volumes.iter().filter_map(|volume| volume.extents).sum();
        let metadata = if [Raid::None, Raid::Striped].contains(&raid) { 0 } else { 3 };
        let disks = if raid == Raid::None { 6 } else { 1 };
        let kept = group.snapshot_extents.value / if raid == Raid::None { 1 } else { 6 };
        assert!(used.is_multiple_of(data));
        assert_eq!(used / data + metadata + kept, group.extents_per_disk.value * disks, "{raid:?}");
        assert_eq!(group.snapshot_chunk_bytes.as_ref().map(|chunk| chunk.value), Some(8 * KIB));
    }
}

#[test]
fn an_array_ends_within_its_members() {
    let layout = layout(&request(disks(8, TIB), Raid::DoubleParity, Manager::Md, FilesystemKind::Ext4));
    let Stack::Md(md) = &layout.stack else { panic!("it is an array") };
    let member = layout.partitions[0].size_bytes() - md.data_offset_bytes.value;
    assert!(md.size_bytes.value <= member * 6 && md.size_bytes.value > (member - 64 * KIB) * 6);
    let inner = &md.partitions[0];
    assert!(inner.start_bytes() + inner.size_bytes() <= md.size_bytes.value);
    assert!(inner.start_bytes().is_multiple_of(384 * KIB), "partitions of the array begin at whole stripes");
}

#[test]
fn blocks_above_the_page_need_a_kernel() {
    use FilesystemKind::{Ext4, Xfs};
    let cases = [
        (Xfs, 4, "3.10.0-693.el7.x86_64", 4, true),
        (Xfs, 8, "3.10.0-693.el7.x86_64", 4, false),
        (Xfs, 8, "6.11.9", 4, false),
        (Xfs, 8, "6.12.0-rc1", 4, true),
        (Xfs, 8, "6.1.0", 64, true),
        (Xfs, 8, "unknown", 4, false),
        (Ext4, 8, "6.18.0", 4, false),
        (Ext4, 8, "6.19.0", 4, true),
        (Xfs, 128, "6.12.0", 4, false),
    ];
    for (filesystem, block, kernel, page, works) in cases {
        let mut request = request(disks(1, TIB), Raid::None, Manager::None, filesystem);
        (request.kernel, request.page_bytes) = (kernel.into(), page * KIB);
        request.overrides.filesystem_block_bytes = Some(block * KIB);
        assert_eq!(derive(&request).is_ok(), works, "{filesystem:?} {block} {kernel} {page}");
    }
    let mut request = request(disks(1, TIB), Raid::None, Manager::None, Xfs);
    request.overrides.filesystem_block_bytes = Some(8 * KIB);
    assert!(problem(&request).contains("since Linux 6.12"), "{}", problem(&request));
}

#[test]
fn zfs_has_the_numbers_of_article_004_where_they_were_right() {
    let mut request = request(disks(16, ARTICLE_004), Raid::Striped, Manager::None, FilesystemKind::Zfs);
    let dataset = |request: &Request| {
        let layout = layout(request);
        let Filesystem::Zfs(dataset) = layout.volumes[0].filesystem.clone() else { panic!("it is ZFS") };
        let Stack::Zfs(pool) = layout.stack else { panic!("it is a pool") };
        (pool.ashift.value, dataset)
    };
    let (ashift, numbers) = dataset(&request);
    assert_eq!((ashift, numbers.record_bytes.value), (12, 8 * KIB), "ashift 13 leaves nothing to compress");
    assert_eq!(numbers.access_time.value, "off");
    assert_eq!((numbers.log_bias.value.as_str(), numbers.primary_cache.value.as_str()), ("latency", "all"));
    assert_eq!(numbers.full_page_writes.value, FullPageWrites::MayBeOff);
    request.disks[3].physical_block_bytes = 8 * KIB;
    let (ashift, numbers) = dataset(&request);
    assert_eq!((ashift, numbers.compression.value.as_str()), (13, "off"));
    request.block_bytes = 32 * KIB;
    assert_eq!(dataset(&request).1.record_bytes.value, 32 * KIB);
    request.purpose = Purpose::Olap;
    assert_eq!(dataset(&request).1.record_bytes.value, 128 * KIB);
}

#[test]
fn what_cannot_be_is_refused() {
    type Change = fn(&mut Request);
    let cases: [(&str, Change); 27] = [
        ("no disk is named", |it| it.disks.clear()),
        ("named twice", |it| it.disks[1] = it.disks[0].clone()),
        ("not accepted as the path", |it| it.disks[0].path = "/dev/sdb; reboot".into()),
        ("not accepted as a serial", |it| it.disks[0].serial = Some("a\nb".into())),
        ("too small", |it| it.disks[0].size_bytes = MIB),
        ("blocks that no disk has", |it| it.disks[0].logical_block_bytes = 0),
        ("blocks that no disk has", |it| it.disks[0].physical_block_bytes = 256),
        ("different logical blocks", |it| {
            (it.disks[0].logical_block_bytes, it.disks[0].physical_block_bytes) = (4096, 4096);
        }),
        ("RAID 5 cannot be made of 2", |it| {
            it.raid = Raid::Parity;
            it.disks.truncate(2);
        }),
        ("RAID 10 cannot be made of 7", |it| {
            it.raid = Raid::MirroredStripes;
            it.disks.truncate(7);
        }),
        ("RAID 6 cannot be made of 4", |it| {
            it.raid = Raid::DoubleParity;
            it.disks.truncate(4);
        }),
        ("needs a RAID level", |it| (it.raid, it.manager) = (Raid::None, Manager::Md)),
        ("needs a manager", |it| it.manager = Manager::None),
        ("cannot be put on 8 disks", |it| (it.raid, it.manager) = (Raid::None, Manager::None)),
        ("ZFS is not put on lvm", |it| it.filesystem = FilesystemKind::Zfs),
        ("ext4 has no snapshots", |it| (it.manager, it.snapshot) = (Manager::Md, true)),
        ("stripe of 12 KiB", |it| it.overrides.stripe_bytes = Some(12 * KIB)),
        ("stripe of 4 KiB", |it| {
            (it.page_bytes, it.overrides.stripe_bytes) = (64 * KIB, Some(4 * KIB));
        }),
        ("extent of 3 MiB", |it| it.overrides.extent_bytes = Some(3 * MIB)),
        ("block of 4 KiB is not supported", |it| it.block_bytes = 4 * KIB),
        ("no volume is named", |it| it.volumes.clear()),
        ("no volume for data", |it| it.purpose = Purpose::Wal),
        ("from 1 to 100 percent", |it| it.volumes[0].amount = Amount::Percent(101)),
        ("the volumes need", |it| it.volumes[0].amount = Amount::Bytes(100 * TIB)),
        ("would have 32 MiB", |it| it.volumes[0].amount = Amount::Bytes(1)),
        ("not accepted as a mount point", |it| it.volumes[0].mount = Some("/srv/$x".into())),
        ("hide each other", |it| {
            it.volumes = three_volumes(GIB);
            it.volumes[0].mount = Some("/srv/pg/data/wal".into());
        }),
    ];
    for (part, change) in cases {
        let mut request = request(disks(8, 100 * GIB), Raid::Striped, Manager::Lvm, FilesystemKind::Ext4);
        request.overrides.extent_bytes = Some(4 * MIB);
        change(&mut request);
        assert!(problem(&request).contains(part), "{part}: {}", problem(&request));
    }
}

#[test]
fn labels_fit_their_file_systems() {
    let mut long = request(disks(1, TIB), Raid::None, Manager::None, FilesystemKind::Xfs);
    long.volumes = vec![Volume { kind: VolumeKind::Index, amount: Amount::Rest, mount: None }];
    for (name, fits) in [("pgdyno", true), ("pgdyno1", false)] {
        long.name = name.into();
        assert_eq!(derive(&long).is_ok(), fits, "{name}-index in 12 bytes");
    }
    long.filesystem = FilesystemKind::Ext4;
    for (name, fits) in [("pgdyno_bet", true), ("pgdyno_beta", false)] {
        long.name = name.into();
        assert_eq!(derive(&long).is_ok(), fits, "{name}-index in 16 bytes");
    }
}

#[test]
fn every_number_says_what_it_comes_from() {
    for (manager, filesystem) in [
        (Manager::Lvm, FilesystemKind::Xfs),
        (Manager::Md, FilesystemKind::Ext4),
        (Manager::None, FilesystemKind::Zfs),
    ] {
        let numbers = layout(&request(disks(4, TIB), Raid::Striped, manager, filesystem)).numbers();
        assert!(numbers.len() >= 10, "{manager:?}");
        for number in numbers {
            assert!(!number.because.is_empty() && !number.because.ends_with('.'), "{number:?}");
        }
    }
}
