#!/bin/sh
# Storage for PostgreSQL, planned by `pgdyno host layout`, which never runs this: read it, then run
#   it as root with --yes-erase-these-disks.
#
# It ERASES:
# /dev/vdb, 1 TiB (1099511627776 bytes), serial S3Z8 NB0K 701
# /dev/vdc, 1 TiB (1099511627776 bytes), serial S3Z8 NB0K 702
# /dev/vdd, 1 TiB (1099511627776 bytes), serial S3Z8 NB0K 703
# /dev/vde, 1 TiB (1099511627776 bytes), serial S3Z8 NB0K 704
#
# Numbers, and what each comes from:
# - first block of partition 1 of each disk: 2048 (1 MiB): in logical blocks of 512 bytes: 1 MiB is
#   a multiple of every block, flash page and stripe up to 1 MiB that is a power of two, and leaves
#   space for the partition table
# - blocks of partition 1 of each disk: 2147479552 (1023.99 GiB): what the smallest disk has but the
#   copy of the table at its end; the end is aligned to 1 MiB as well
# - data disks: 4: RAID 0 of 4 disks spends none
# - stripe: 64 KiB: a page is read from one disk, neighbouring pages are combined up to 64 KiB
#   without being split, and random pages spread over all disks in any case
# - LVM data alignment: 1 MiB: 1 MiB is a multiple of every block, flash page and stripe up to 1 MiB
#   that is a power of two, and leaves space for the partition table
# - LVM extent: 64 MiB: 3.99 TiB in some 65536 extents, a power of two from 4 MiB (the default) to
#   128 MiB, not below the stripe: fewer extents make the tools faster, I/O is the same
# - LVM extents per disk: 16383: (1023.99 GiB - 1 MiB) / 64 MiB
# - LVM chunk of snapshots: 8 KiB: the 8 KiB block of PostgreSQL: the first write to a chunk copies
#   it; LVM takes powers of two from 4 to 512 KiB
# - LVM extents left for snapshots: 13108: 20 % of the group: a snapshot fills as its origin
#   changes, and is lost when it is full
# - size of wal: 64 GiB: 64 GiB requested, rounded up; 256 × 4 extents of 64 MiB
# - ext4 block of wal: 4 KiB: mounted by every kernel, whatever its page is (here 4 KiB)
# - ext4 stride of wal: 16: stripe of 64 KiB / block of 4 KiB
# - ext4 stripe_width of wal: 64: stride × 4 data disks
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
# - size of data: 2.2 TiB: 69 % of the usable space, rounded down; 9043 × 4 extents of 64 MiB
# - ext4 block of data: 4 KiB: mounted by every kernel, whatever its page is (here 4 KiB)
# - ext4 stride of data: 16: stripe of 64 KiB / block of 4 KiB
# - ext4 stripe_width of data: 64: stride × 4 data disks
# - ext4 reserve of data: 0 %: no process of root needs space on a volume of PostgreSQL, which
#   cannot use the default of 5 %
# - ext4 bytes per inode of data: 1 MiB: 2315008 inodes, the same as -T largefile: a relation has
#   two files and more, and one for each GiB; 1 Mi inodes are enough for some hundred thousand
#   relations, and fewer tables are checked and initialised
# - ext4 lazy_itable_init of data: 0: 565.18 MiB of inode tables are written now; by default the
#   kernel thread ext4lazyinit writes them after the first mount, into the measurement
# - ext4 lazy_journal_init of data: 0: the journal is overwritten now, not when it is first used
# - mount option of data: noatime: PostgreSQL does not use access times; it implies nodiratime.
#   relatime, the default since Linux 2.6.30, still writes them once a day and after each change
# - mount option of data: errors=remount-ro: after damage was found in metadata nothing more is
#   written; the default of mke2fs is to continue
# - size of index: 951.75 GiB: what the other volumes leave; 3807 × 4 extents of 64 MiB
# - ext4 block of index: 4 KiB: mounted by every kernel, whatever its page is (here 4 KiB)
# - ext4 stride of index: 16: stripe of 64 KiB / block of 4 KiB
# - ext4 stripe_width of index: 64: stride × 4 data disks
# - ext4 reserve of index: 0 %: no process of root needs space on a volume of PostgreSQL, which
#   cannot use the default of 5 %
# - ext4 bytes per inode of index: 512 KiB: 1949184 inodes: a relation has two files and more, and
#   one for each GiB; 1 Mi inodes are enough for some hundred thousand relations, and fewer tables
#   are checked and initialised
# - ext4 lazy_itable_init of index: 0: 475.87 MiB of inode tables are written now; by default the
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
# - No disk may fail: with the first one that does, its volumes are lost. That is right for disks
#   that are replicated below (cloud volumes) and for data that can be made again.
# - discard is not a mount option: fstrim.timer trims weekly, apart from transactions. ZFS has
#   `zpool trim`.
set -eu

# [functions.sh]

confirm "$@"
need blockdev blkid lsblk partx readlink sfdisk wipefs
need pvcreate vgcreate lvcreate vgs mkfs.ext4

# Are these the disks that were planned with, and does nobody use them?
identify /dev/vdb 1099511627776 512 'S3Z8 NB0K 701'
disk_1=$disk
identify /dev/vdc 1099511627776 512 'S3Z8 NB0K 702'
disk_2=$disk
identify /dev/vdd 1099511627776 512 'S3Z8 NB0K 703'
disk_3=$disk
identify /dev/vde 1099511627776 512 'S3Z8 NB0K 704'
disk_4=$disk
idle "$disk_1"
blank "$disk_1" 1048576
idle "$disk_2"
blank "$disk_2" 1048576
idle "$disk_3"
blank "$disk_3" 1048576
idle "$disk_4"
blank "$disk_4" 1048576
if vgs pg >/dev/null 2>&1; then
    refuse 'there is a volume group pg already'
fi
free_label pg-wal
free_mount_point /srv/pg/wal
free_label pg-data
free_mount_point /srv/pg/data
free_label pg-index
free_mount_point /srv/pg/index

# From here on, disks are changed.
write_table "$disk_1" 'label: gpt
first-lba: 2048
start=2048, size=2147479552, type=E6D6D379-F507-44C2-A23C-238F2A3DF928'
write_table "$disk_2" 'label: gpt
first-lba: 2048
start=2048, size=2147479552, type=E6D6D379-F507-44C2-A23C-238F2A3DF928'
write_table "$disk_3" 'label: gpt
first-lba: 2048
start=2048, size=2147479552, type=E6D6D379-F507-44C2-A23C-238F2A3DF928'
write_table "$disk_4" 'label: gpt
first-lba: 2048
start=2048, size=2147479552, type=E6D6D379-F507-44C2-A23C-238F2A3DF928'
part_1_1=$(part "$disk_1" 1)
part_2_1=$(part "$disk_2" 1)
part_3_1=$(part "$disk_3" 1)
part_4_1=$(part "$disk_4" 1)
await "$part_1_1" "$disk_1"
await "$part_2_1" "$disk_2"
await "$part_3_1" "$disk_3"
await "$part_4_1" "$disk_4"
step pvcreate --dataalignment 1024k "$part_1_1" "$part_2_1" "$part_3_1" "$part_4_1"
step vgcreate --physicalextentsize 65536k pg "$part_1_1" "$part_2_1" "$part_3_1" "$part_4_1"
step lvcreate --yes --wipesignatures y --type striped --stripes 4 --stripesize 64k --extents 1024 --name wal pg
step lvcreate --yes --wipesignatures y --type striped --stripes 4 --stripesize 64k --extents 36172 --name data pg
step lvcreate --yes --wipesignatures y --type striped --stripes 4 --stripesize 64k --extents 15228 --name index pg
step mkfs.ext4 -b 4096 -m 1 -i 65536 -E lazy_itable_init=0,lazy_journal_init=0,stride=16,stripe_width=64 -L pg-wal /dev/pg/wal
step mkfs.ext4 -b 4096 -m 0 -i 1048576 -E lazy_itable_init=0,lazy_journal_init=0,stride=16,stripe_width=64 -L pg-data /dev/pg/data
step mkfs.ext4 -b 4096 -m 0 -i 524288 -E lazy_itable_init=0,lazy_journal_init=0,stride=16,stripe_width=64 -L pg-index /dev/pg/index

# What is left to do by hand.
cat <<'END'

Done. Next:
- mkdir -p /srv/pg/wal /srv/pg/data /srv/pg/index
- append to /etc/fstab:
LABEL=pg-wal /srv/pg/wal ext4 noatime,errors=remount-ro 0 2
LABEL=pg-data /srv/pg/data ext4 noatime,errors=remount-ro 0 2
LABEL=pg-index /srv/pg/index ext4 noatime,errors=remount-ro 0 2
- systemctl daemon-reload; mount -a
- a snapshot: lvcreate --snapshot --chunksize 8k --extents 100%FREE --name snap pg/data (8 KiB chunks)
- give the directories of the server below the mount points to its user
END
