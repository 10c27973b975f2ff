//! Over how many disks data is spread, and in pieces of which size.

use pgdyno_core::problem::Problem;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    derived::Derived,
    request::{Disk, Manager, Purpose, Raid, Request},
    units::{KIB, MIB, size_text},
};

/// How data is spread over disks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Stripes {
    /// Disks that hold data: without those of parity and second copies.
    pub data_disks: Derived<u64>,
    /// Bytes on one disk before the next one follows: stripe size of LVM, chunk of md, stripe unit of a file system.
    pub stripe_bytes: Derived<u64>,
}

impl Stripes {
    /// Bytes that go once over all data disks.
    pub fn width_bytes(&self) -> u64 {
        self.data_disks.value * self.stripe_bytes.value
    }
}

/// Most disks of a stripe: LVM takes 128 stripes, and 64 images of a RAID volume.
const MOST_STRIPED: usize = 128;
const MOST_RAID: usize = 64;
/// Largest stripe that is derived: what md takes by default is half of it.
const LARGEST: u64 = MIB;

/// The stripes of a request; `None` where data is not spread.
pub fn stripes(request: &Request) -> Result<Option<Stripes>, Problem> {
    let Some(data_disks) = data_disks(request)? else { return Ok(controller(request)) };
    let stripe_bytes = match request.overrides.stripe_bytes {
        Some(bytes) => given(request, bytes)?,
        None => derived(request),
    };
    Ok(Some(Stripes { data_disks, stripe_bytes }))
}

fn data_disks(request: &Request) -> Result<Option<Derived<u64>>, Problem> {
    let count = request.disks.len();
    let lvm = request.manager == Manager::Lvm;
    let (least, most, lost) = match request.raid {
        Raid::None => return Ok(None),
        Raid::Striped => (2, MOST_STRIPED, 0),
        Raid::MirroredStripes => (4, MOST_RAID, count / 2),
        Raid::Parity => (3, MOST_RAID, 1),
        // A raid6 volume of LVM has three stripes at least; md makes one of two.
        Raid::DoubleParity => (if lvm { 5 } else { 4 }, MOST_RAID, 2),
    };
    let level = request.raid.words();
    if !(least..=most).contains(&count) {
        return Err(Problem::wrong_request(format!("{level} cannot be made of {count} disks"))
            .hint(format!("it takes {least} to {most}")));
    }
    if request.raid == Raid::MirroredStripes && !count.is_multiple_of(2) {
        return Err(Problem::wrong_request(format!("{level} cannot be made of {count} disks"))
            .hint("it needs an even number"));
    }
    let data = count - lost;
    let because = match request.raid {
        Raid::MirroredStripes => format!("{level} of {count} disks keeps every block twice"),
        Raid::Parity | Raid::DoubleParity => {
            format!("{level} of {count} disks spends {lost} of each stripe on parity")
        }
        Raid::None | Raid::Striped => format!("{level} of {count} disks spends none"),
    };
    Ok(Some(Derived::new(data as u64, because)))
}

/// What a RAID controller says about its own stripes, if there is one disk and its limits make sense.
fn controller(request: &Request) -> Option<Stripes> {
    let [disk] = request.disks.as_slice() else { return None };
    let (unit, width) = (disk.minimum_io_bytes?, disk.optimal_io_bytes?);
    let is_stripe = unit > disk.physical_block_bytes && unit.is_power_of_two() && unit >= 4 * KIB;
    if !is_stripe || !width.is_multiple_of(unit) || !(2..=MOST_RAID as u64).contains(&(width / unit)) {
        return None;
    }
    let (unit_text, width_text) = (size_text(unit), size_text(width));
    Some(Stripes {
        data_disks: Derived::new(
            width / unit,
            format!("{} reports a full stripe of {width_text} in chunks of {unit_text}", disk.path),
        ),
        stripe_bytes: Derived::new(
            unit,
            format!("{} reports it as its smallest preferred request", disk.path),
        ),
    })
}

fn given(request: &Request, bytes: u64) -> Result<Derived<u64>, Problem> {
    let least = request.page_bytes.max(4 * KIB);
    if !bytes.is_power_of_two() || !(least..=16 * MIB).contains(&bytes) {
        return Err(Problem::wrong_request(format!("a stripe of {} is not possible", size_text(bytes)))
            .detail("LVM and md take powers of two, from one page of memory on")
            .hint(format!("choose a power of two from {} to 16 MiB", size_text(least))));
    }
    let block = request.block_bytes;
    let mut because = "it was given".to_owned();
    if bytes < block {
        because += &format!(
            "; smaller than the {} block of PostgreSQL: every page lies on {} disks, and all of them must answer",
            size_text(block),
            block / bytes
        );
    } else if bytes < 64 * KIB {
        because += &format!(
            "; a read of 128 KiB is split into {} requests, which the block layer may merge again, and a page whose \
             extent begins at an odd 4 KiB block lies on two disks: recommended are 64 KiB and more",
            128 * KIB / bytes
        );
    }
    Ok(Derived::new(bytes, because))
}

fn derived(request: &Request) -> Derived<u64> {
    let (base, reason) = base(request);
    let (least, why) = least(request);
    if least > base { Derived::new(least, why) } else { Derived::new(base, reason) }
}

fn base(request: &Request) -> (u64, &'static str) {
    let spins = request.disks.iter().any(|disk| disk.rotational);
    match (request.raid, request.purpose) {
        (Raid::Parity | Raid::DoubleParity, _) => (
            64 * KIB,
            "parity is computed over whole stripes: a small chunk lets a sequential write fill them, and one \
             page still lies on one disk",
        ),
        (_, Purpose::Wal) => (
            64 * KIB,
            "a commit writes a few 8 KiB blocks of WAL: it should wait for one disk; a larger chunk only matters for \
             archiving",
        ),
        (_, Purpose::Olap) => (
            256 * KIB,
            "sequential reads come in 128 KiB (io_combine_limit, read-ahead): most of them stay on one disk, while \
             read-ahead over several of them still keeps all disks busy",
        ),
        (_, Purpose::Oltp) if spins => (
            256 * KIB,
            "a random read costs a seek: it should move the arm of one disk only, also when it is combined with its \
             neighbours",
        ),
        (_, Purpose::Oltp) => (
            64 * KIB,
            "a page is read from one disk, neighbouring pages are combined up to 64 KiB without being split, and \
             random pages spread over all disks in any case",
        ),
    }
}

/// What a stripe must not be below: two blocks of PostgreSQL, a page, what a disk prefers.
fn least(request: &Request) -> (u64, String) {
    let preferred = |disk: &Disk| {
        let wanted = disk.optimal_io_bytes.into_iter().chain(disk.minimum_io_bytes);
        wanted.filter(|bytes| bytes.is_power_of_two() && *bytes <= LARGEST).max().unwrap_or(0)
    };
    let block = 2 * request.block_bytes;
    let disks = request.disks.iter().map(preferred).max().unwrap_or(0);
    let page = request.page_bytes;
    if disks > block.max(page) {
        (disks, format!("a disk prefers requests of {}", size_text(disks)))
    } else if block >= page {
        (
            block,
            format!(
                "twice the {} block of PostgreSQL, so that most pages lie on one disk",
                size_text(request.block_bytes)
            ),
        )
    } else {
        (page, format!("not less than a page of memory, {}", size_text(page)))
    }
}
