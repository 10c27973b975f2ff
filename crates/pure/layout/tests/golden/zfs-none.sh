#!/bin/sh
# Storage for PostgreSQL, planned by `pgdyno host layout`, which never runs this: read it, then run
#   it as root with --yes-erase-these-disks.
#
# It ERASES:
# /dev/vdb, 1 TiB (1099511627776 bytes)
# /dev/vdc, 1 TiB (1099511627776 bytes)
# /dev/vdd, 1 TiB (1099511627776 bytes)
# /dev/vde, 1 TiB (1099511627776 bytes)
#
# Numbers, and what each comes from:
# - first block of partition 1 of each disk: 2048 (1 MiB): in logical blocks of 512 bytes: 1 MiB is
#   a multiple of every block, flash page and stripe up to 1 MiB that is a power of two, and leaves
#   space for the partition table
# - blocks of partition 1 of each disk: 2147479552 (1023.99 GiB): what the smallest disk has but the
#   copy of the table at its end; the end is aligned to 1 MiB as well
# - ZFS ashift: 12: 2^12 bytes: the physical block of the disks is 512 bytes; not below 4 KiB, as a
#   disk that replaces one may have that, and ashift cannot be changed later
# - size of wal: 64 GiB: a quota, as requested
# - ZFS recordsize of wal: 128 KiB: the default: WAL is written from one end to the other, and a
#   large record compresses better
# - ZFS logbias of wal: latency: the default: a commit waits for the intent log. throughput writes
#   synchronous data to its place in the pool at once, which scatters it, and does not use a
#   separate log device
# - ZFS primarycache of wal: all: the default: with metadata, every page that shared_buffers does
#   not hold is read from the disks again, and what was read ahead is not kept. Limit zfs_arc_max
#   instead, so that the ARC and shared_buffers fit
# - ZFS compression of wal: lz4: cheap, and space is saved in whole sectors: a record of 128 KiB
#   takes 1 to 32 of 4 KiB
# - ZFS atime of wal: off: PostgreSQL does not use access times, and a read should not write
# - full_page_writes for wal: off is possible: WAL has checksums of its own, and no pages that could
#   be torn
# - size of data: 1.37 TiB: a quota: 69 % of 1.99 TiB on 2 data disks
# - ZFS recordsize of data: 8 KiB: the 8 KiB block of PostgreSQL: a larger record is read and
#   written completely for one page
# - ZFS logbias of data: latency: the default: a commit waits for the intent log. throughput writes
#   synchronous data to its place in the pool at once, which scatters it, and does not use a
#   separate log device
# - ZFS primarycache of data: all: the default: with metadata, every page that shared_buffers does
#   not hold is read from the disks again, and what was read ahead is not kept. Limit zfs_arc_max
#   instead, so that the ARC and shared_buffers fit
# - ZFS compression of data: lz4: cheap, and space is saved in whole sectors: a record of 8 KiB
#   takes 1 to 2 of 4 KiB
# - ZFS atime of data: off: PostgreSQL does not use access times, and a read should not write
# - full_page_writes for data: off is possible: a 8 KiB page lies in one record of 8 KiB, which ZFS
#   writes elsewhere and then switches over to: it is never torn. off is safe if every tablespace is
#   on such a dataset, and every standby too; pg_rewind needs it on; base backups turn it on while
#   they run
# - size of index: no quota: datasets share the pool; the others have quotas
# - ZFS recordsize of index: 8 KiB: the 8 KiB block of PostgreSQL: a larger record is read and
#   written completely for one page
# - ZFS logbias of index: latency: the default: a commit waits for the intent log. throughput writes
#   synchronous data to its place in the pool at once, which scatters it, and does not use a
#   separate log device
# - ZFS primarycache of index: all: the default: with metadata, every page that shared_buffers does
#   not hold is read from the disks again, and what was read ahead is not kept. Limit zfs_arc_max
#   instead, so that the ARC and shared_buffers fit
# - ZFS compression of index: lz4: cheap, and space is saved in whole sectors: a record of 8 KiB
#   takes 1 to 2 of 4 KiB
# - ZFS atime of index: off: PostgreSQL does not use access times, and a read should not write
# - full_page_writes for index: off is possible: a 8 KiB page lies in one record of 8 KiB, which ZFS
#   writes elsewhere and then switches over to: it is never torn. off is safe if every tablespace is
#   on such a dataset, and every standby too; pg_rewind needs it on; base backups turn it on while
#   they run
#
# Notes:
# - WAL on ZFS: wal_init_zero = off and wal_recycle = off (PostgreSQL 12 and later), because a
#   copy-on-write file system never writes in place.
# - zpool names the disks as the script resolves them; `zpool export`, then `zpool import -d
#   /dev/disk/by-id`, makes it keep names that do not change.
# - discard is not a mount option: fstrim.timer trims weekly, apart from transactions. ZFS has
#   `zpool trim`.
set -eu

# [functions.sh]

confirm "$@"
need blockdev blkid lsblk partx readlink sfdisk wipefs
need zpool zfs

# Are these the disks that were planned with, and does nobody use them?
identify /dev/vdb 1099511627776 512 ''
disk_1=$disk
identify /dev/vdc 1099511627776 512 ''
disk_2=$disk
identify /dev/vdd 1099511627776 512 ''
disk_3=$disk
identify /dev/vde 1099511627776 512 ''
disk_4=$disk
idle "$disk_1"
blank "$disk_1" 1048576
idle "$disk_2"
blank "$disk_2" 1048576
idle "$disk_3"
blank "$disk_3" 1048576
idle "$disk_4"
blank "$disk_4" 1048576
if zpool list pg >/dev/null 2>&1; then
    refuse 'there is a pool pg already'
fi
free_mount_point /srv/pg/wal
free_mount_point /srv/pg/data
free_mount_point /srv/pg/index

# From here on, disks are changed.
write_table "$disk_1" 'label: gpt
first-lba: 2048
start=2048, size=2147479552, type=6A898CC3-1DD2-11B2-99A6-080020736631'
write_table "$disk_2" 'label: gpt
first-lba: 2048
start=2048, size=2147479552, type=6A898CC3-1DD2-11B2-99A6-080020736631'
write_table "$disk_3" 'label: gpt
first-lba: 2048
start=2048, size=2147479552, type=6A898CC3-1DD2-11B2-99A6-080020736631'
write_table "$disk_4" 'label: gpt
first-lba: 2048
start=2048, size=2147479552, type=6A898CC3-1DD2-11B2-99A6-080020736631'
part_1_1=$(part "$disk_1" 1)
part_2_1=$(part "$disk_2" 1)
part_3_1=$(part "$disk_3" 1)
part_4_1=$(part "$disk_4" 1)
await "$part_1_1" "$disk_1"
await "$part_2_1" "$disk_2"
await "$part_3_1" "$disk_3"
await "$part_4_1" "$disk_4"
step zpool create -o ashift=12 -O canmount=off -O mountpoint=none -O xattr=sa pg mirror "$part_1_1" "$part_2_1" mirror "$part_3_1" "$part_4_1"
step zfs create -o recordsize=131072 -o logbias=latency -o primarycache=all -o compression=lz4 -o atime=off -o quota=68719476736 -o mountpoint=/srv/pg/wal pg/wal
step zfs create -o recordsize=8192 -o logbias=latency -o primarycache=all -o compression=lz4 -o atime=off -o quota=1517323026432 -o mountpoint=/srv/pg/data pg/data
step zfs create -o recordsize=8192 -o logbias=latency -o primarycache=all -o compression=lz4 -o atime=off -o mountpoint=/srv/pg/index pg/index

# What is left to do by hand.
cat <<'END'

Done. Next:
- give the directories of the server below the mount points to its user
END
