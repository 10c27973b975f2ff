//! From a request to a layout.

use pgdyno_core::{host::Kernel, problem::Problem};

use crate::{
    amounts,
    derived::Derived,
    ext4::{self, ext4},
    layout::{Filesystem, Group, Layout, Md, Partition, Stack, VolumeLayout},
    mount, names, notes,
    partitions::{Surface, alignment},
    request::{Amount, FilesystemKind, Manager, Purpose, Raid, Request, Volume, VolumeKind},
    stripes::{Stripes, stripes},
    units::{GIB, KIB, MIB, common_multiple, round_down, size_text},
    xfs::{self, Ground, xfs},
    zfs,
};

const SMALLEST_VOLUME: u64 = GIB;
const SMALLEST_DISK: u64 = GIB;
/// What md keeps for itself on each member: bitmap, and space to reshape into.
const MD_DATA_OFFSET: u64 = 128 * MIB;
/// Extents that a volume group should have at most, unless extents would exceed the largest one below.
const EXTENTS_WANTED: u64 = 65_536;
const SMALLEST_EXTENT: u64 = 4 * MIB;
const LARGEST_EXTENT: u64 = 128 * MIB;
/// Share of a volume group that is left for snapshots, in percent.
const SNAPSHOT_PERCENT: u64 = 20;

/// Derives a layout.
///
/// # Errors
/// If the request contradicts itself, or one of the tools or kernels below would refuse it.
pub fn derive(request: &Request) -> Result<Layout, Problem> {
    check_disks(request)?;
    check_volumes(request)?;
    check_combination(request)?;
    let block = filesystem_block(request)?;
    let stripes = stripes(request)?;
    let parts = match (request.filesystem, request.manager) {
        (FilesystemKind::Zfs, _) => pool(request, stripes.as_ref()),
        (_, Manager::None) => plain(request, stripes.as_ref())?,
        (_, Manager::Lvm) => group(request, stripes.as_ref())?,
        (_, Manager::Md) => array(request, stripes.as_ref())?,
    };
    let volumes = request.volumes.iter().zip(parts.sizes);
    let volumes: Result<_, Problem> = volumes
        .map(|(volume, size)| volume_layout(request, volume, size, &block, stripes.as_ref(), &parts.stack))
        .collect();
    let volumes: Vec<VolumeLayout> = volumes?;
    check_mounts(&volumes)?;
    let notes = notes::notes(request);
    // A pool has records, no stripes of a fixed size.
    let stripes = stripes.filter(|_| request.filesystem != FilesystemKind::Zfs);
    Ok(Layout {
        request: request.clone(),
        partitions: parts.partitions,
        stack: parts.stack,
        stripes,
        volumes,
        notes,
    })
}

/// What lies below the file systems.
struct Parts {
    partitions: Vec<Partition>,
    stack: Stack,
    sizes: Vec<Size>,
}

/// The size of a volume.
struct Size {
    bytes: Derived<u64>,
    extents: Option<u64>,
}

impl Size {
    fn of(partition: &Partition) -> Self {
        Self { bytes: Derived::new(partition.size_bytes(), partition.sectors.because.clone()), extents: None }
    }
}

fn check_disks(request: &Request) -> Result<(), Problem> {
    names::group(&request.name)?;
    if request.disks.is_empty() {
        return Err(
            Problem::wrong_request("no disk is named").hint("name some with --disks /dev/sdb,/dev/sdc")
        );
    }
    for (index, disk) in request.disks.iter().enumerate() {
        names::device_path(&disk.path)?;
        disk.serial.as_deref().map_or(Ok(()), names::serial)?;
        if request.disks[..index].iter().any(|other| other.path == disk.path) {
            return Err(Problem::wrong_request(format!("{} is named twice", disk.path)));
        }
        let (logical, physical) = (disk.logical_block_bytes, disk.physical_block_bytes);
        let plausible = |bytes: u64| bytes.is_power_of_two() && (512..=64 * KIB).contains(&bytes);
        if !plausible(logical) || !plausible(physical) || logical > 4096 || physical < logical {
            return Err(Problem::wrong_request(format!("{} has blocks that no disk has", disk.path))
                .detail(format!("logical {logical} bytes, physical {physical} bytes")));
        }
        if disk.size_bytes < SMALLEST_DISK {
            return Err(Problem::wrong_request(format!("{} is too small", disk.path)).detail(format!(
                "it has {}; {} are the least",
                size_text(disk.size_bytes),
                size_text(SMALLEST_DISK)
            )));
        }
    }
    Ok(())
}

fn check_volumes(request: &Request) -> Result<(), Problem> {
    let volumes = &request.volumes;
    if volumes.is_empty() {
        return Err(Problem::wrong_request("no volume is named"));
    }
    for (index, volume) in volumes.iter().enumerate() {
        volume.mount.as_deref().map_or(Ok(()), names::mount_point)?;
        if volumes[..index].iter().any(|other| other.kind == volume.kind) {
            return Err(Problem::wrong_request(format!("the {} volume is named twice", volume.kind.name())));
        }
        if matches!(volume.amount, Amount::Percent(percent) if !(1..=100).contains(&percent)) {
            return Err(Problem::wrong_request(format!(
                "the share of the {} volume is not from 1 to 100 percent",
                volume.kind.name()
            )));
        }
    }
    if volumes.iter().filter(|volume| volume.amount == Amount::Rest).count() > 1 {
        return Err(Problem::wrong_request("only one volume can take the rest"));
    }
    if request.purpose == Purpose::Wal && volumes.iter().any(|volume| volume.kind != VolumeKind::Wal) {
        return Err(Problem::wrong_request("storage for WAL alone has no volume for data")
            .hint("choose --purpose oltp or olap, which have a WAL volume too"));
    }
    Ok(())
}

fn check_combination(request: &Request) -> Result<(), Problem> {
    let Request { filesystem, manager, raid, disks, .. } = request;
    if ![8 * KIB, 16 * KIB, 32 * KIB].contains(&request.block_bytes) {
        return Err(Problem::wrong_request(format!(
            "a block of {} is not supported",
            size_text(request.block_bytes)
        ))
        .hint("PostgreSQL is built with blocks of 8k, 16k or 32k"));
    }
    if !request.page_bytes.is_power_of_two() || !(4 * KIB..=64 * KIB).contains(&request.page_bytes) {
        return Err(Problem::wrong_request(format!("no kernel has pages of {} bytes", request.page_bytes)));
    }
    if *filesystem == FilesystemKind::Zfs && *manager != Manager::None {
        return Err(Problem::wrong_request(format!("ZFS is not put on {}", manager.name()))
            .detail(
                "a pool spreads data itself; above another manager it finds damage, and has no second copy \
                to repair it",
            )
            .hint("choose --manager none"));
    }
    let zfs = *filesystem == FilesystemKind::Zfs;
    let (is_spread, can_spread) = (*raid != Raid::None, *manager != Manager::None || zfs);
    if is_spread && !can_spread {
        return Err(Problem::wrong_request(format!("{} needs a manager", raid.words()))
            .hint("choose --manager lvm or md"));
    }
    if !is_spread && (*manager == Manager::Md || zfs && disks.len() > 1) {
        return Err(Problem::wrong_request("an array or a pool of several disks needs a RAID level")
            .hint("choose --raid 0, 10, 5 or 6"));
    }
    let mixed = disks.iter().any(|disk| disk.logical_block_bytes != disks[0].logical_block_bytes);
    if mixed && *manager != Manager::None {
        return Err(Problem::wrong_request("the disks have different logical blocks")
            .detail("LVM refuses such a group, and an array takes the largest")
            .hint("use disks of one kind, or reformat their namespaces (nvme-format(1))"));
    }
    if request.snapshot && *manager != Manager::Lvm && !zfs {
        return Err(Problem::wrong_request(format!("{} has no snapshots", filesystem.name()))
            .hint("choose --manager lvm, or --fs zfs"));
    }
    Ok(())
}

fn filesystem_block(request: &Request) -> Result<Derived<u64>, Problem> {
    let page = size_text(request.page_bytes);
    let Some(bytes) = request.overrides.filesystem_block_bytes else {
        let because = format!("mounted by every kernel, whatever its page is (here {page})");
        return Ok(Derived::new(4 * KIB, because));
    };
    let logical = request.disks.iter().map(|disk| disk.logical_block_bytes).max().unwrap_or(512);
    if !bytes.is_power_of_two() || !(logical.max(KIB)..=xfs::LARGEST_BLOCK).contains(&bytes) {
        return Err(Problem::wrong_request(format!(
            "a file system with blocks of {} is not possible",
            size_text(bytes)
        ))
        .hint(format!("choose a power of two from {} to 64 KiB", size_text(logical.max(KIB)))));
    }
    let (name, since) = match request.filesystem {
        FilesystemKind::Xfs => ("XFS", xfs::LARGE_BLOCKS_SINCE),
        FilesystemKind::Ext4 => ("ext4", ext4::LARGE_BLOCKS_SINCE),
        FilesystemKind::Zfs => {
            return Err(Problem::wrong_request("ZFS has records in place of blocks")
                .hint("its recordsize follows from --block and --purpose"));
        }
    };
    let since_text = format!("Linux {}.{}", since.0, since.1);
    if bytes <= request.page_bytes {
        return Ok(Derived::new(
            bytes,
            format!("it was given; not above the page of {page}, so every {name} mounts it"),
        ));
    }
    let kernel = Kernel { release: request.kernel.clone(), ..Kernel::default() };
    if kernel.version().is_some_and(|kernel| kernel >= since) {
        let because =
            format!("it was given; above the page of {page}, which {name} mounts since {since_text}");
        return Ok(Derived::new(bytes, because));
    }
    Err(Problem::wrong_request(format!(
        "Linux {} does not mount {name} with blocks of {}: its page is {page}",
        request.kernel,
        size_text(bytes)
    ))
    .detail(format!("{name} has blocks above the page since {since_text}"))
    .hint("keep 4k: the block of PostgreSQL need not be that of the file system"))
}

fn check_mounts(volumes: &[VolumeLayout]) -> Result<(), Problem> {
    for (index, volume) in volumes.iter().enumerate() {
        for other in &volumes[..index] {
            let (a, b) = (format!("{}/", volume.mount), format!("{}/", other.mount));
            if a.starts_with(&b) || b.starts_with(&a) {
                return Err(Problem::wrong_request(format!(
                    "{} and {} hide each other",
                    other.mount, volume.mount
                ))
                .hint("give each volume a mount point outside the others"));
            }
        }
    }
    Ok(())
}

/// One partition on each disk, all as large as the smallest disk allows.
fn equal_partitions(request: &Request, below: Option<&Stripes>) -> Vec<Partition> {
    let surface = |(index, disk)| Surface::of(index, disk, below);
    let surfaces: Vec<Surface> = request.disks.iter().enumerate().map(surface).collect();
    let bytes = surfaces.iter().map(Surface::usable_bytes).min().unwrap_or(0);
    let because = match surfaces.len() {
        1 => "all of the disk but the copy of the table at its end",
        _ => "what the smallest disk has but the copy of the table at its end",
    };
    surfaces.iter().map(|surface| surface.whole(bytes, because)).collect()
}

/// The stripes that a controller makes below a disk, not those above it.
fn below<'a>(request: &Request, stripes: Option<&'a Stripes>) -> Option<&'a Stripes> {
    stripes.filter(|_| request.raid == Raid::None)
}

fn pool(request: &Request, stripes: Option<&Stripes>) -> Parts {
    let partitions = equal_partitions(request, None);
    let disks = stripes.map_or(1, |stripes| stripes.data_disks.value);
    let usable = partitions[0].size_bytes() * disks;
    let size = |volume: &Volume| {
        let bytes = match volume.amount {
            Amount::Bytes(bytes) => Derived::new(bytes, "a quota, as requested"),
            Amount::Percent(percent) => {
                let because = format!("a quota: {percent} % of {} on {disks} data disks", size_text(usable));
                Derived::new(round_down(usable / 100 * u64::from(percent), MIB), because)
            }
            Amount::Rest => Derived::new(0, "datasets share the pool; the others have quotas"),
        };
        Size { bytes, extents: None }
    };
    let sizes = request.volumes.iter().map(size).collect();
    Parts { partitions, stack: Stack::Zfs(zfs::pool(request)), sizes }
}

fn plain(request: &Request, stripes: Option<&Stripes>) -> Result<Parts, Problem> {
    let below = below(request, stripes);
    let partitions = match request.disks.as_slice() {
        [disk] => Surface::of(0, disk, below).divided(&request.volumes)?,
        disks if disks.len() == request.volumes.len() => {
            let whole = |(index, disk)| {
                let surface = Surface::of(index, disk, None);
                surface.whole(surface.usable_bytes(), "all of the disk but the copy of the table at its end")
            };
            disks.iter().enumerate().map(whole).collect()
        }
        disks => {
            return Err(Problem::wrong_request(format!(
                "{} volumes cannot be put on {} disks without a manager",
                request.volumes.len(),
                disks.len()
            ))
            .hint("name one disk, or a disk for each volume, or choose --manager lvm or md"));
        }
    };
    let sizes = partitions.iter().map(Size::of).collect();
    Ok(Parts { partitions, stack: Stack::Partitions, sizes })
}

fn group(request: &Request, stripes: Option<&Stripes>) -> Result<Parts, Problem> {
    let below = below(request, stripes);
    let partitions = equal_partitions(request, below);
    let (each, disks) = (partitions[0].size_bytes(), partitions.len() as u64);
    let data_alignment_bytes = alignment(below);
    let extent_bytes = extent(request, each * disks, stripes)?;
    let extents = each.saturating_sub(data_alignment_bytes.value) / extent_bytes.value;
    let extents_per_disk = Derived::new(
        extents,
        format!(
            "({} - {}) / {}",
            size_text(each),
            size_text(data_alignment_bytes.value),
            size_text(extent_bytes.value)
        ),
    );
    // A unit is an extent on each data disk; a linear volume takes one extent after the other.
    let spread = if request.raid == Raid::None { 1 } else { stripes.map_or(1, |it| it.data_disks.value) };
    let all = if request.raid == Raid::None { extents * disks } else { extents };
    // Each volume of a RAID level has an extent of metadata on each disk.
    let metadata = match request.raid {
        Raid::None | Raid::Striped => 0,
        _ => request.volumes.len() as u64,
    };
    let kept = if request.snapshot { (all * SNAPSHOT_PERCENT).div_ceil(100) } else { 0 };
    let unit = extent_bytes.value * spread;
    let shares = amounts::shares(&request.volumes, all.saturating_sub(metadata + kept), unit)?;
    let size = |(volume, units): (&Volume, u64)| {
        let because = format!(
            "{}; {units} × {spread} extents of {}",
            amounts::words(volume.amount),
            size_text(extent_bytes.value)
        );
        Size { bytes: Derived::new(units * unit, because), extents: Some(units * spread) }
    };
    let sizes = request.volumes.iter().zip(shares).map(size).collect();
    let snapshot_extents = Derived::new(
        kept * if request.raid == Raid::None { 1 } else { disks },
        format!(
            "{SNAPSHOT_PERCENT} % of the group: a snapshot fills as its origin changes, and is lost when it is full"
        ),
    );
    let snapshot_chunk_bytes = request.snapshot.then(|| snapshot_chunk(request.block_bytes));
    let segment = Stack::segment(request.raid);
    let group = Group {
        data_alignment_bytes,
        extent_bytes,
        extents_per_disk,
        segment,
        snapshot_chunk_bytes,
        snapshot_extents,
    };
    Ok(Parts { partitions, stack: Stack::Lvm(group), sizes })
}

fn snapshot_chunk(block: u64) -> Derived<u64> {
    Derived::new(
        block.clamp(4 * KIB, 512 * KIB),
        format!(
            "the {} block of PostgreSQL: the first write to a chunk copies it; LVM takes powers of two from 4 to \
             512 KiB",
            size_text(block)
        ),
    )
}

fn extent(request: &Request, total: u64, stripes: Option<&Stripes>) -> Result<Derived<u64>, Problem> {
    let stripe = stripes.map_or(0, |stripes| stripes.stripe_bytes.value);
    if let Some(bytes) = request.overrides.extent_bytes {
        if !bytes.is_power_of_two() || !(MIB..=16 * GIB).contains(&bytes) || bytes < stripe {
            return Err(Problem::wrong_request(format!("an extent of {} is not possible", size_text(bytes)))
                .hint("choose a power of two from 1 MiB to 16 GiB, not below the stripe"));
        }
        return Ok(Derived::new(bytes, "it was given"));
    }
    let wanted = (total / EXTENTS_WANTED).next_power_of_two();
    let bytes = wanted.clamp(SMALLEST_EXTENT, LARGEST_EXTENT).max(stripe);
    let because = format!(
        "{} in some {EXTENTS_WANTED} extents, a power of two from 4 MiB (the default) to 128 MiB, not below the \
         stripe: fewer extents make the tools faster, I/O is the same",
        size_text(total)
    );
    Ok(Derived::new(bytes, because))
}

fn array(request: &Request, stripes: Option<&Stripes>) -> Result<Parts, Problem> {
    let Some(stripes) = stripes else { return Err(Problem::wrong_request("an array needs a RAID level")) };
    let partitions = equal_partitions(request, None);
    let (chunk, disks) = (stripes.stripe_bytes.value, stripes.data_disks.value);
    let offset = common_multiple(MD_DATA_OFFSET, chunk);
    let member = round_down(partitions[0].size_bytes().saturating_sub(offset), chunk);
    let size = member * disks;
    let surface = Surface {
        disk: 0,
        size_bytes: size,
        sector_bytes: request.disks[0].logical_block_bytes,
        alignment: alignment(Some(stripes)),
    };
    let inner = surface.divided(&request.volumes)?;
    let sizes = inner.iter().map(Size::of).collect();
    let md = Md {
        level: Stack::level(request.raid),
        data_offset_bytes: Derived::new(
            offset,
            "what mdadm leaves before the data of large members, for the bitmap and to reshape; given, so that \
             the size is known ahead of time",
        ),
        size_bytes: Derived::new(size, format!("{disks} data disks × {} in whole chunks", size_text(member))),
        partitions: inner,
    };
    Ok(Parts { partitions, stack: Stack::Md(md), sizes })
}

fn volume_layout(
    request: &Request,
    volume: &Volume,
    size: Size,
    block: &Derived<u64>,
    stripes: Option<&Stripes>,
    stack: &Stack,
) -> Result<VolumeLayout, Problem> {
    let kind = volume.kind;
    let label = format!("{}-{}", request.name, kind.name());
    let bytes = size.bytes.value;
    if bytes < SMALLEST_VOLUME && !(bytes == 0 && request.filesystem == FilesystemKind::Zfs) {
        return Err(Problem::wrong_request(format!(
            "the {} volume would have {}",
            kind.name(),
            size_text(bytes)
        ))
        .hint(format!("{} are the least", size_text(SMALLEST_VOLUME))));
    }
    let filesystem = match (request.filesystem, stack) {
        (FilesystemKind::Ext4, _) => {
            check_label(&label, ext4::LONGEST_LABEL)?;
            Filesystem::Ext4(ext4(kind, bytes, block.clone(), stripes))
        }
        (FilesystemKind::Xfs, _) => {
            check_label(&label, xfs::LONGEST_LABEL)?;
            Filesystem::Xfs(xfs(ground(request, bytes, stripes), block.clone())?)
        }
        (FilesystemKind::Zfs, Stack::Zfs(pool)) => {
            Filesystem::Zfs(zfs::dataset(request, kind, pool.ashift.value))
        }
        (FilesystemKind::Zfs, _) => return Err(Problem::wrong_request("a dataset needs a pool")),
    };
    let mount = volume.mount.clone().unwrap_or_else(|| format!("/srv/{}/{}", request.name, kind.name()));
    Ok(VolumeLayout {
        kind,
        name: kind.name().to_owned(),
        label,
        mount,
        size_bytes: size.bytes,
        extents: size.extents,
        filesystem,
        mount_options: mount::options(request.filesystem),
    })
}

fn ground<'a>(request: &Request, size_bytes: u64, stripes: Option<&'a Stripes>) -> Ground<'a> {
    let physical = request.disks.iter().map(|disk| disk.physical_block_bytes).max().unwrap_or(512);
    let is_one_spindle = stripes.is_none() && request.disks.len() == 1 && request.disks[0].rotational;
    let groups = request.overrides.allocation_groups;
    Ground { size_bytes, physical_block_bytes: physical, stripes, is_one_spindle, groups }
}

fn check_label(label: &str, longest: usize) -> Result<(), Problem> {
    if label.len() <= longest {
        return Ok(());
    }
    Err(Problem::wrong_request(format!("the label {label:?} is too long: {longest} bytes are the most"))
        .hint("choose a shorter --name"))
}
