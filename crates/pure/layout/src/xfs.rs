//! The numbers of XFS.

use pgdyno_core::problem::Problem;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    derived::Derived,
    stripes::Stripes,
    units::{GIB, KIB, MIB, TIB, round_down, round_up, size_text},
};

/// Longest label in bytes.
pub const LONGEST_LABEL: usize = 12;
/// First kernel that mounts blocks above its page.
pub const LARGE_BLOCKS_SINCE: (u32, u32) = (6, 12);
/// Largest block in bytes.
pub const LARGEST_BLOCK: u64 = 64 * KIB;

const SMALLEST_GROUP: u64 = 16 * MIB;
const SMALLEST_LOG: u64 = 64 * MIB;
/// Largest log that `mkfs.xfs` makes: 2 GiB less 10 MiB.
const LARGEST_LOG: u64 = 2 * GIB - 10 * MIB;
const LARGEST_LOG_STRIPE: u64 = 32 * KIB;

/// The numbers of an XFS file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Xfs {
    /// Block in bytes (`-b size`).
    pub block_bytes: Derived<u64>,
    /// Sector in bytes (`-s size`): metadata is written in such pieces.
    pub sector_bytes: Derived<u64>,
    /// Stripe unit in bytes (`-d su`), and data disks (`-d sw`); `None` without stripes.
    pub stripe: Option<XfsStripe>,
    /// Allocation groups.
    pub groups: AllocationGroups,
    /// Log in bytes (`-l size`).
    pub log_bytes: Derived<u64>,
    /// Stripe unit of the log in bytes (`-l su`); `None` without stripes.
    pub log_stripe_bytes: Option<Derived<u64>>,
}

/// Stripes as XFS counts them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct XfsStripe {
    /// Stripe unit in bytes.
    pub unit_bytes: Derived<u64>,
    /// Stripe units of a full stripe: data disks.
    pub units: Derived<u64>,
    /// Stripe unit in units of 512 bytes, as `-d sunit` and the articles have it.
    pub sunit: u64,
    /// Full stripe in units of 512 bytes, as `-d swidth` has it.
    pub swidth: u64,
}

/// Allocation groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AllocationGroups {
    /// Blocks of each group (`-d agsize`).
    pub blocks: Derived<u64>,
    /// Groups.
    pub count: Derived<u64>,
    /// Blocks at the end that stay unused, because the last group would be below 16 MiB.
    pub unused_blocks: u64,
}

/// What XFS is made on.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// Size of the volume in bytes.
    pub size_bytes: u64,
    /// Largest physical block of its disks in bytes.
    pub physical_block_bytes: u64,
    /// Its stripes.
    pub stripes: Option<&'a Stripes>,
    /// Whether it is one rotating disk.
    pub is_one_spindle: bool,
    /// Allocation groups wanted; `None` to derive them.
    pub groups: Option<u64>,
}

/// The numbers for a volume.
pub fn xfs(ground: Ground<'_>, block_bytes: Derived<u64>) -> Result<Xfs, Problem> {
    let block = block_bytes.value;
    let stripe = ground.stripes.map(|stripes| stripe(stripes, block)).transpose()?;
    let blocks = ground.size_bytes / block;
    let (unit, width) =
        stripe.as_ref().map_or((1, 1), |it| (it.unit_bytes.value / block, it.swidth * 512 / block));
    let (count, why) = wanted(ground);
    let groups = allocation_groups(blocks, count, unit, width, block)?;
    let groups = AllocationGroups {
        count: Derived::new(groups.count.value, format!("{why}; {}", groups.count.because)),
        ..groups
    };
    let log_stripe_bytes = stripe.as_ref().map(|it| log_stripe(it.unit_bytes.value));
    let log_unit = log_stripe_bytes.as_ref().map_or(block, |it| it.value);
    let log_bytes = log(ground.size_bytes, groups.blocks.value * block, log_unit)?;
    let sector_bytes = sector(ground.physical_block_bytes, block);
    Ok(Xfs { block_bytes, sector_bytes, stripe, groups, log_bytes, log_stripe_bytes })
}

fn stripe(stripes: &Stripes, block: u64) -> Result<XfsStripe, Problem> {
    let unit = stripes.stripe_bytes.value;
    if !unit.is_multiple_of(block) {
        let (unit, block) = (size_text(unit), size_text(block));
        return Err(Problem::wrong_request(format!(
            "XFS with blocks of {block} does not fit stripes of {unit}"
        ))
        .hint("the stripe must be a multiple of the block"));
    }
    let disks = stripes.data_disks.value;
    Ok(XfsStripe {
        unit_bytes: Derived::new(
            unit,
            format!("the stripe below; sunit={} in units of 512 bytes", unit / 512),
        ),
        units: Derived::new(
            disks,
            format!("data disks; swidth={} in units of 512 bytes", unit / 512 * disks),
        ),
        sunit: unit / 512,
        swidth: unit / 512 * disks,
    })
}

fn sector(physical: u64, block: u64) -> Derived<u64> {
    let size = physical.clamp(512, block.min(32 * KIB));
    Derived::new(
        size,
        format!("the physical block of the disks, {}: no write of metadata is smaller", size_text(physical)),
    )
}

/// How many allocation groups are wanted, and why.
fn wanted(ground: Ground<'_>) -> (u64, String) {
    let size = ground.size_bytes;
    if let Some(count) = ground.groups {
        return (count, format!("{count} groups were given"));
    }
    let text = size_text(size);
    let because = "groups are what allocates space in parallel, and new files of one directory begin in one group; \
                   thousands of them cost memory and scatter files";
    match size {
        _ if ground.is_one_spindle => (
            4.max(size.div_ceil(TIB)),
            format!("4 groups on one rotating disk, and one for each TiB: {because}"),
        ),
        size if size >= 32 * TIB => {
            (size.div_ceil(TIB), format!("one group for each TiB of {text}, their largest size"))
        }
        size if size >= 512 * GIB => {
            (32, format!("32 groups for {text}, what mkfs.xfs takes on stripes: {because}"))
        }
        size if size >= 8 * GIB => {
            (16, format!("16 groups for {text}, what mkfs.xfs takes on stripes: {because}"))
        }
        _ => (4, format!("4 groups for {text}, so that the log fits into one")),
    }
}

/// Allocation groups of a file system of `blocks` blocks of `block_bytes`, if `wanted` groups are wanted on stripes of
/// `unit` blocks, `width` blocks for a full stripe (both 1 without stripes).
///
/// A group is a multiple of the stripe unit, and never of the full stripe: else all groups would begin on the same
/// disk, with their headers. `mkfs.xfs` warns of that, and recommends one stripe unit less.
///
/// # Errors
/// If groups would be smaller than 16 MiB.
pub fn allocation_groups(
    blocks: u64,
    wanted: u64,
    unit: u64,
    width: u64,
    block_bytes: u64,
) -> Result<AllocationGroups, Problem> {
    let least = SMALLEST_GROUP / block_bytes;
    // The largest group is one block short of 1 TiB.
    let most = round_down((TIB - 1) / block_bytes, unit);
    let even = round_up(blocks.div_ceil(wanted.max(1)), unit).min(most);
    let collides = width > unit && even.is_multiple_of(width) && even < blocks;
    let size = if collides { even - unit } else { even };
    if size < least {
        return Err(Problem::wrong_request(format!(
            "{wanted} allocation groups are too many for this volume"
        ))
        .detail(format!("each would have {}; 16 MiB are the least", size_text(size * block_bytes)))
        .hint("ask for fewer"));
    }
    let (full, left) = (blocks / size, blocks % size);
    let has_last = left >= least;
    let count = full + u64::from(has_last);
    Ok(AllocationGroups {
        blocks: Derived::new(size, group_reason(blocks, wanted, even, collides.then_some((unit, width)))),
        count: Derived::new(
            count,
            format!("{blocks} blocks / {size} blocks{}", if has_last { ", rounded up" } else { "" }),
        ),
        unused_blocks: if has_last { 0 } else { left },
    })
}

fn group_reason(blocks: u64, wanted: u64, even: u64, collides: Option<(u64, u64)>) -> String {
    let even_text = format!("{blocks} blocks / {wanted} groups, rounded up to whole stripe units, is {even}");
    match collides {
        Some((unit, width)) => format!(
            "{even_text}, which is {} × the full stripe of {width}: all groups would begin on the same disk; one \
             stripe unit of {unit} less is {}",
            even / width,
            even - unit
        ),
        None => even_text,
    }
}

fn log_stripe(unit: u64) -> Derived<u64> {
    let size = unit.min(LARGEST_LOG_STRIPE);
    let because = "the stripe unit, but 32 KiB at most: every forced write of the log is padded to it (mkfs.xfs itself \
                   takes 32 KiB where the stripe unit exceeds 256 KiB)";
    Derived::new(size, because)
}

fn log(size_bytes: u64, group_bytes: u64, unit: u64) -> Result<Derived<u64>, Problem> {
    let wanted = (size_bytes / 2048).clamp(SMALLEST_LOG, LARGEST_LOG);
    let most = round_down(group_bytes / 2, MIB);
    let bytes = round_down(wanted.min(most), unit);
    if bytes < round_down(SMALLEST_LOG, unit) {
        return Err(Problem::wrong_request("the log of XFS does not fit into an allocation group")
            .detail(format!(
                "a group has {}, the log at least {}",
                size_text(group_bytes),
                size_text(SMALLEST_LOG)
            ))
            .hint("ask for fewer allocation groups"));
    }
    let rule = "1/2048 of the volume, 64 MiB at least and 2 GiB less 10 MiB at most, as mkfs.xfs 6.1 chooses";
    let because = if wanted > most {
        format!(
            "half of an allocation group, in which an internal log must fit; {rule} would be {}",
            size_text(wanted)
        )
    } else {
        format!("{rule}; written out, as older versions make smaller ones")
    };
    Ok(Derived::new(bytes, because))
}

impl Xfs {
    /// Arguments of `mkfs.xfs`, without label and device.
    pub fn arguments(&self) -> Vec<String> {
        let block = self.block_bytes.value;
        let size = self.groups.blocks.value * block;
        let data = match &self.stripe {
            Some(stripe) => format!("su={},sw={},agsize={size}", stripe.unit_bytes.value, stripe.units.value),
            // What the device reports was judged already.
            None => format!("noalign,agsize={size}"),
        };
        let log = match &self.log_stripe_bytes {
            Some(unit) => format!("internal,size={},su={}", self.log_bytes.value, unit.value),
            None => format!("internal,size={}", self.log_bytes.value),
        };
        let numbers = [
            ("-b", format!("size={block}")),
            ("-s", format!("size={}", self.sector_bytes.value)),
            ("-d", data),
            ("-l", log),
        ];
        numbers.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stripes(kib: u64, disks: u64) -> Stripes {
        Stripes { data_disks: Derived::new(disks, ""), stripe_bytes: Derived::new(kib * KIB, "") }
    }

    fn of(size_bytes: u64, stripes: Option<&Stripes>, groups: Option<u64>) -> Result<Xfs, Problem> {
        let ground =
            Ground { size_bytes, physical_block_bytes: 4096, stripes, is_one_spindle: false, groups };
        xfs(ground, Derived::new(4096, ""))
    }

    #[test]
    fn the_worked_example_comes_out() {
        // 4686971904 blocks in 30000 groups on 3 disks of 8 KiB: 156234 is 26039 × 6; mkfs.xfs recommends 156232, and
        // then makes 30001 groups.
        let groups = allocation_groups(4_686_971_904, 30_000, 2, 6, 4096).expect("they are large enough");
        assert_eq!((groups.blocks.value, groups.count.value, groups.unused_blocks), (156_232, 30_001, 0));
        assert!(groups.blocks.because.contains("26039 × the full stripe of 6"), "{}", groups.blocks.because);
        // 9000 groups of 4640621568 blocks: 515626 is no multiple of 6.
        let groups = allocation_groups(4_640_621_568, 9000, 2, 6, 4096).expect("they are large enough");
        assert_eq!((groups.blocks.value, groups.count.value), (515_626, 9000));
    }

    #[test]
    fn stripes_are_counted_in_sectors_too() {
        let (three, eight) = (stripes(8, 3), stripes(64, 8));
        let xfs = of(17 * TIB, Some(&three), Some(30_000)).expect("they fit");
        let stripe = xfs.stripe.clone().expect("it is striped");
        assert_eq!((stripe.sunit, stripe.swidth), (16, 48));
        assert!(xfs.log_bytes.value < xfs.groups.blocks.value * 4096, "an internal log lies in one group");
        let xfs = of(17 * TIB, Some(&eight), None).expect("they fit");
        assert_eq!(xfs.log_bytes.value, 2_136_997_888, "as article 001 gave it to its log device");
        assert_eq!(xfs.groups.count.value, 32);
    }

    #[test]
    fn too_many_groups_are_refused() {
        let problem = of(10 * GIB, None, Some(30_000)).expect_err("they would be tiny");
        assert!(problem.what.contains("too many"), "{problem}");
        let problem = of(10 * GIB, None, Some(200)).expect_err("no log fits");
        assert!(problem.what.contains("log"), "{problem}");
    }

    #[test]
    fn without_stripes_the_device_is_not_asked() {
        let arguments = of(8 * GIB, None, None).expect("it fits").arguments().join(" ");
        assert_eq!(
            arguments,
            "-b size=4096 -s size=4096 -d noalign,agsize=536870912 -l internal,size=67108864"
        );
    }

    proptest! {
        #[test]
        fn groups_are_never_a_multiple_of_the_full_stripe(
            mib in 1024_u64..(1 << 28), wanted in 1_u64..64, shift in 0_u32..7, disks in 1_u64..65,
        ) {
            let unit = 1 << shift;
            let blocks = mib * 256;
            if let Ok(groups) = allocation_groups(blocks, wanted, unit, unit * disks, 4096) {
                let size = groups.blocks.value;
                prop_assert_eq!(size % unit, 0);
                prop_assert!(size < (1 << 28), "below 1 TiB");
                prop_assert!(disks == 1 || size >= blocks || size % (unit * disks) != 0);
                let (count, unused) = (groups.count.value, groups.unused_blocks);
                prop_assert!((count - 1) * size < blocks && blocks <= count * size + unused);
            }
        }
    }
}
