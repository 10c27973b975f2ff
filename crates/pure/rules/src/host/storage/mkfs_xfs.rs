//! Options of `mkfs.xfs` that no running host tells.

use crate::host::Rule;
use crate::host::compose::explained;
use crate::{Page, Today};

/// `mkfs.xfs -l size`.
pub static LOG_SIZE: Rule = explained(Page {
    name: "mkfs.xfs -l size",
    also: &["-l size", "mkfs.xfs -l"],
    what: "The size of the log of XFS, which holds changes of metadata that are not yet written to their place.",
    today: Today::DefaultIsRight,
    why: "mkfs.xfs scales it with the file system, up to just below 2 GiB. A server changes little metadata: it \
          grows files and recycles WAL segments. A larger log serves loads that create many files.",
    source: "mkfs.xfs(8), log section options.",
    ..Page::EMPTY
});

/// `mkfs.xfs -l sunit`.
pub static LOG_UNIT: Rule = explained(Page {
    name: "mkfs.xfs -l sunit",
    also: &["-l sunit", "-l su"],
    what: "The unit to which writes of the log are rounded, in sectors of 512 bytes.",
    today: Today::DefaultIsRight,
    why: "mkfs.xfs takes the stripe unit of the device, at most 256 KiB, and 32 KiB where the stripe is larger. \
          Each commit of the log fills a whole unit, so that a large one makes fsync of growing files write more.",
    source: "mkfs.xfs(8), log section options.",
    ..Page::EMPTY
});

/// `mkfs.xfs -d agcount`.
pub static GROUPS: Rule = explained(Page {
    name: "agcount",
    also: &["mkfs.xfs -d agcount", "-d agcount"],
    what: "The number of allocation groups of XFS, within which allocations wait for each other.",
    today: Today::DefaultIsRight,
    why: "mkfs.xfs makes 4 on one disk, and more on stripes and large volumes: at least one per TiB. Thousands, \
          one per wanted session, were published: each group costs memory and CPU time, free space is scattered, \
          and files of 1 GiB hardly fit into groups of 600 MB, while sessions of PostgreSQL extend few relations \
          at a time and wait for the relation's extension lock rather than for a group. 16 to 64 are ample.",
    source: "mkfs.xfs(8), data section options.",
    ..Page::EMPTY
});

/// `mkfs.xfs -d agsize`.
pub static GROUP_SIZE: Rule = explained(Page {
    name: "agsize",
    also: &["mkfs.xfs -d agsize", "-d agsize"],
    what: "The size of an allocation group of XFS: 16 MiB to 1 TiB, a multiple of the block; it excludes agcount.",
    today: Today::DefaultIsRight,
    why: "A group size that is a multiple of the stripe width puts the beginning of each group, where its metadata \
          is, on the same disk. mkfs.xfs avoids this by itself: it takes one stripe unit less, and warns only \
          where the size was given. A size of 156234 blocks over a stripe of 6 blocks thus becomes 156232.",
    source: "mkfs.xfs(8), data section options; xfsprogs mkfs/xfs_mkfs.c, align_ag_geometry().",
    ..Page::EMPTY
});
