#!/bin/sh
# Storage for PostgreSQL, planned by `pgdyno host layout`, which never runs this: read it, then run
#   it as root with --yes-erase-these-disks.
#
# It ERASES:
# /dev/vdb, 1 TiB (1099511627776 bytes)
#
# Numbers, and what each comes from:
# - first block of partition 1 of /dev/vdb: 2048 (1 MiB): in logical blocks of 512 bytes: 1 MiB is a
#   multiple of every block, flash page and stripe up to 1 MiB that is a power of two, and leaves
#   space for the partition table
# - blocks of partition 1 of /dev/vdb: 134217728 (64 GiB): 64 GiB requested, rounded up; the end is
#   aligned to 1 MiB as well
# - first block of partition 2 of /dev/vdb: 134219776 (64 GiB): in logical blocks of 512 bytes: 1
#   MiB is a multiple of every block, flash page and stripe up to 1 MiB that is a power of two, and
#   leaves space for the partition table
# - blocks of partition 2 of /dev/vdb: 1481760768 (706.55 GiB): 69 % of the usable space, rounded
#   down; the end is aligned to 1 MiB as well
# - first block of partition 3 of /dev/vdb: 1615980544 (770.55 GiB): in logical blocks of 512 bytes:
#   1 MiB is a multiple of every block, flash page and stripe up to 1 MiB that is a power of two,
#   and leaves space for the partition table
# - blocks of partition 3 of /dev/vdb: 531501056 (253.43 GiB): what the other volumes leave; the end
#   is aligned to 1 MiB as well
# - size of wal: 64 GiB: 64 GiB requested, rounded up; the end is aligned to 1 MiB as well
# - ext4 block of wal: 4 KiB: mounted by every kernel, whatever its page is (here 4 KiB)
# - ext4 reserve of wal: 1 %: PostgreSQL stops when this volume is full, and it must not use the
#   reserve; `tune2fs -m 0` then gives it space to start with again
# - ext4 bytes per inode of wal: 64 KiB: 1048576 inodes: a relation has two files and more, and one
#   for each GiB; 1 Mi inodes are enough for some hundred thousand relations, and fewer tables are
#   checked and initialised
# - ext4 lazy_itable_init of wal: 0: 256 MiB of inode tables are written now; by default the kernel
#   thread ext4lazyinit writes them after the first mount, into the measurement
# - ext4 lazy_journal_init of wal: 0: the journal is overwritten now, not when it is first used
# - mount option of wal: noatime: PostgreSQL does not use access times; it implies nodiratime.
#   relatime, the default since Linux 2.6.30, still writes them once a day and after each change
# - mount option of wal: errors=remount-ro: after damage was found in metadata nothing more is
#   written; the default of mke2fs is to continue
# - size of data: 706.55 GiB: 69 % of the usable space, rounded down; the end is aligned to 1 MiB as
#   well
# - ext4 block of data: 4 KiB: mounted by every kernel, whatever its page is (here 4 KiB)
# - ext4 reserve of data: 0 %: no process of root needs space on a volume of PostgreSQL, which
#   cannot use the default of 5 %
# - ext4 bytes per inode of data: 512 KiB: 1447032 inodes: a relation has two files and more, and
#   one for each GiB; 1 Mi inodes are enough for some hundred thousand relations, and fewer tables
#   are checked and initialised
# - ext4 lazy_itable_init of data: 0: 353.27 MiB of inode tables are written now; by default the
#   kernel thread ext4lazyinit writes them after the first mount, into the measurement
# - ext4 lazy_journal_init of data: 0: the journal is overwritten now, not when it is first used
# - mount option of data: noatime: PostgreSQL does not use access times; it implies nodiratime.
#   relatime, the default since Linux 2.6.30, still writes them once a day and after each change
# - mount option of data: errors=remount-ro: after damage was found in metadata nothing more is
#   written; the default of mke2fs is to continue
# - size of index: 253.43 GiB: what the other volumes leave; the end is aligned to 1 MiB as well
# - ext4 block of index: 4 KiB: mounted by every kernel, whatever its page is (here 4 KiB)
# - ext4 reserve of index: 0 %: no process of root needs space on a volume of PostgreSQL, which
#   cannot use the default of 5 %
# - ext4 bytes per inode of index: 128 KiB: 2076176 inodes: a relation has two files and more, and
#   one for each GiB; 1 Mi inodes are enough for some hundred thousand relations, and fewer tables
#   are checked and initialised
# - ext4 lazy_itable_init of index: 0: 506.87 MiB of inode tables are written now; by default the
#   kernel thread ext4lazyinit writes them after the first mount, into the measurement
# - ext4 lazy_journal_init of index: 0: the journal is overwritten now, not when it is first used
# - mount option of index: noatime: PostgreSQL does not use access times; it implies nodiratime.
#   relatime, the default since Linux 2.6.30, still writes them once a day and after each change
# - mount option of index: errors=remount-ro: after damage was found in metadata nothing more is
#   written; the default of mke2fs is to continue
#
# Notes:
# - -O extent,uninit_bg, as articles of 2018 to 2020 have it, is obsolete: extent is a default of
#   ext4, and metadata_csum, a default of e2fsprogs since 1.43, replaces uninit_bg.
# - Mount options of these articles that are not used: barrier=0 (a power failure loses what was
#   acknowledged, and may destroy the file system), data=writeback (a file may show old blocks after
#   a crash), nodelalloc (gain not measured; it gives up large extents), nodiratime (noatime implies
#   it).
# - full_page_writes stays on: a block of 4 KiB is smaller than a page of PostgreSQL, which may be
#   torn.
# - discard is not a mount option: fstrim.timer trims weekly, apart from transactions. ZFS has
#   `zpool trim`.
set -eu

# [functions.sh]

confirm "$@"
need blockdev blkid lsblk partx readlink sfdisk wipefs
need mkfs.ext4

# Are these the disks that were planned with, and does nobody use them?
identify /dev/vdb 1099511627776 512 ''
disk_1=$disk
idle "$disk_1"
blank "$disk_1" 1048576 68720525312 827382038528
free_label pg-wal
free_mount_point /srv/pg/wal
free_label pg-data
free_mount_point /srv/pg/data
free_label pg-index
free_mount_point /srv/pg/index

# From here on, disks are changed.
write_table "$disk_1" 'label: gpt
first-lba: 2048
start=2048, size=134217728, type=0FC63DAF-8483-4772-8E79-3D69D8477DE4
start=134219776, size=1481760768, type=0FC63DAF-8483-4772-8E79-3D69D8477DE4
start=1615980544, size=531501056, type=0FC63DAF-8483-4772-8E79-3D69D8477DE4'
part_1_1=$(part "$disk_1" 1)
part_1_2=$(part "$disk_1" 2)
part_1_3=$(part "$disk_1" 3)
await "$part_1_1" "$disk_1"
await "$part_1_2" "$disk_1"
await "$part_1_3" "$disk_1"
step mkfs.ext4 -b 4096 -m 1 -i 65536 -E lazy_itable_init=0,lazy_journal_init=0 -L pg-wal "$part_1_1"
step mkfs.ext4 -b 4096 -m 0 -i 524288 -E lazy_itable_init=0,lazy_journal_init=0 -L pg-data "$part_1_2"
step mkfs.ext4 -b 4096 -m 0 -i 131072 -E lazy_itable_init=0,lazy_journal_init=0 -L pg-index "$part_1_3"

# What is left to do by hand.
cat <<'END'

Done. Next:
- mkdir -p /srv/pg/wal /srv/pg/data /srv/pg/index
- append to /etc/fstab:
LABEL=pg-wal /srv/pg/wal ext4 noatime,errors=remount-ro 0 2
LABEL=pg-data /srv/pg/data ext4 noatime,errors=remount-ro 0 2
LABEL=pg-index /srv/pg/index ext4 noatime,errors=remount-ro 0 2
- systemctl daemon-reload; mount -a
- give the directories of the server below the mount points to its user
END
