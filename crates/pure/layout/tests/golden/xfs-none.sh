#!/bin/sh
# Storage for PostgreSQL, planned by `pgdyno host layout`, which never runs this: read it, then run
#   it as root with --yes-erase-these-disks.
#
# It ERASES:
# /dev/vdb, 1 TiB (1099511627776 bytes)
# /dev/vdc, 1 TiB (1099511627776 bytes)
# /dev/vdd, 1 TiB (1099511627776 bytes)
#
# Numbers, and what each comes from:
# - first block of partition 1 of each disk: 2048 (1 MiB): in logical blocks of 512 bytes: 1 MiB is
#   a multiple of every block, flash page and stripe up to 1 MiB that is a power of two, and leaves
#   space for the partition table
# - blocks of partition 1 of each disk: 2147479552 (1023.99 GiB): all of the disk but the copy of
#   the table at its end; the end is aligned to 1 MiB as well
# - size of wal: 1023.99 GiB: all of the disk but the copy of the table at its end; the end is
#   aligned to 1 MiB as well
# - XFS block of wal: 4 KiB: mounted by every kernel, whatever its page is (here 4 KiB)
# - XFS sector of wal: 512 bytes: the physical block of the disks, 512 bytes: no write of metadata
#   is smaller
# - XFS blocks of an allocation group of wal: 8388592: 268434944 blocks / 32 groups, rounded up to
#   whole stripe units, is 8388592
# - XFS allocation groups of wal: 32: 32 groups for 1023.99 GiB, what mkfs.xfs takes on stripes:
#   groups are what allocates space in parallel, and new files of one directory begin in one group;
#   thousands of them cost memory and scatter files; 268434944 blocks / 8388592 blocks
# - XFS log of wal: 511.99 MiB: 1/2048 of the volume, 64 MiB at least and 2 GiB less 10 MiB at most,
#   as mkfs.xfs 6.1 chooses; written out, as older versions make smaller ones
# - mount option of wal: noatime: PostgreSQL does not use access times; it implies nodiratime.
#   relatime, the default since Linux 2.6.30, still writes them once a day and after each change
# - size of data: 1023.99 GiB: all of the disk but the copy of the table at its end; the end is
#   aligned to 1 MiB as well
# - XFS block of data: 4 KiB: mounted by every kernel, whatever its page is (here 4 KiB)
# - XFS sector of data: 512 bytes: the physical block of the disks, 512 bytes: no write of metadata
#   is smaller
# - XFS blocks of an allocation group of data: 8388592: 268434944 blocks / 32 groups, rounded up to
#   whole stripe units, is 8388592
# - XFS allocation groups of data: 32: 32 groups for 1023.99 GiB, what mkfs.xfs takes on stripes:
#   groups are what allocates space in parallel, and new files of one directory begin in one group;
#   thousands of them cost memory and scatter files; 268434944 blocks / 8388592 blocks
# - XFS log of data: 511.99 MiB: 1/2048 of the volume, 64 MiB at least and 2 GiB less 10 MiB at
#   most, as mkfs.xfs 6.1 chooses; written out, as older versions make smaller ones
# - mount option of data: noatime: PostgreSQL does not use access times; it implies nodiratime.
#   relatime, the default since Linux 2.6.30, still writes them once a day and after each change
# - size of index: 1023.99 GiB: all of the disk but the copy of the table at its end; the end is
#   aligned to 1 MiB as well
# - XFS block of index: 4 KiB: mounted by every kernel, whatever its page is (here 4 KiB)
# - XFS sector of index: 512 bytes: the physical block of the disks, 512 bytes: no write of metadata
#   is smaller
# - XFS blocks of an allocation group of index: 8388592: 268434944 blocks / 32 groups, rounded up to
#   whole stripe units, is 8388592
# - XFS allocation groups of index: 32: 32 groups for 1023.99 GiB, what mkfs.xfs takes on stripes:
#   groups are what allocates space in parallel, and new files of one directory begin in one group;
#   thousands of them cost memory and scatter files; 268434944 blocks / 8388592 blocks
# - XFS log of index: 511.99 MiB: 1/2048 of the volume, 64 MiB at least and 2 GiB less 10 MiB at
#   most, as mkfs.xfs 6.1 chooses; written out, as older versions make smaller ones
# - mount option of index: noatime: PostgreSQL does not use access times; it implies nodiratime.
#   relatime, the default since Linux 2.6.30, still writes them once a day and after each change
#
# Notes:
# - Mount options of an article of 2017 that are not used: nobarrier (removed in Linux 4.19, and
#   dangerous before), inode64 (the default since Linux 3.7), allocsize and largeio (the dynamic
#   preallocation fits files that grow), swalloc (rounds large files up to whole stripes), logbsize
#   (the default holds a log stripe).
# - The log is internal: PostgreSQL waits for its WAL, and rarely for the metadata of XFS. An
#   external log device, as in that article, is one more device whose loss loses the file system.
# - full_page_writes stays on: PostgreSQL up to 18 does not ask the kernel for untorn writes,
#   whatever the block of the file system is.
# - No disk may fail: with the first one that does, its volumes are lost. That is right for disks
#   that are replicated below (cloud volumes) and for data that can be made again.
# - discard is not a mount option: fstrim.timer trims weekly, apart from transactions. ZFS has
#   `zpool trim`.
set -eu

# [functions.sh]

confirm "$@"
need blockdev blkid lsblk partx readlink sfdisk wipefs
need mkfs.xfs

# Are these the disks that were planned with, and does nobody use them?
identify /dev/vdb 1099511627776 512 ''
disk_1=$disk
identify /dev/vdc 1099511627776 512 ''
disk_2=$disk
identify /dev/vdd 1099511627776 512 ''
disk_3=$disk
idle "$disk_1"
blank "$disk_1" 1048576
idle "$disk_2"
blank "$disk_2" 1048576
idle "$disk_3"
blank "$disk_3" 1048576
free_label pg-wal
free_mount_point /srv/pg/wal
free_label pg-data
free_mount_point /srv/pg/data
free_label pg-index
free_mount_point /srv/pg/index

# From here on, disks are changed.
write_table "$disk_1" 'label: gpt
first-lba: 2048
start=2048, size=2147479552, type=0FC63DAF-8483-4772-8E79-3D69D8477DE4'
write_table "$disk_2" 'label: gpt
first-lba: 2048
start=2048, size=2147479552, type=0FC63DAF-8483-4772-8E79-3D69D8477DE4'
write_table "$disk_3" 'label: gpt
first-lba: 2048
start=2048, size=2147479552, type=0FC63DAF-8483-4772-8E79-3D69D8477DE4'
part_1_1=$(part "$disk_1" 1)
part_2_1=$(part "$disk_2" 1)
part_3_1=$(part "$disk_3" 1)
await "$part_1_1" "$disk_1"
await "$part_2_1" "$disk_2"
await "$part_3_1" "$disk_3"
step mkfs.xfs -b size=4096 -s size=512 -d noalign,agsize=34359672832 -l internal,size=536866816 -L pg-wal "$part_1_1"
step mkfs.xfs -b size=4096 -s size=512 -d noalign,agsize=34359672832 -l internal,size=536866816 -L pg-data "$part_2_1"
step mkfs.xfs -b size=4096 -s size=512 -d noalign,agsize=34359672832 -l internal,size=536866816 -L pg-index "$part_3_1"

# What is left to do by hand.
cat <<'END'

Done. Next:
- mkdir -p /srv/pg/wal /srv/pg/data /srv/pg/index
- append to /etc/fstab:
LABEL=pg-wal /srv/pg/wal xfs noatime 0 0
LABEL=pg-data /srv/pg/data xfs noatime 0 0
LABEL=pg-index /srv/pg/index xfs noatime 0 0
- systemctl daemon-reload; mount -a
- give the directories of the server below the mount points to its user
END
