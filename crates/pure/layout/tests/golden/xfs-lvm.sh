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
# - data disks: 2: RAID 10 of 4 disks keeps every block twice
# - stripe: 64 KiB: a page is read from one disk, neighbouring pages are combined up to 64 KiB
#   without being split, and random pages spread over all disks in any case
# - LVM data alignment: 1 MiB: 1 MiB is a multiple of every block, flash page and stripe up to 1 MiB
#   that is a power of two, and leaves space for the partition table
# - LVM extent: 64 MiB: 3.99 TiB in some 65536 extents, a power of two from 4 MiB (the default) to
#   128 MiB, not below the stripe: fewer extents make the tools faster, I/O is the same
# - LVM extents per disk: 16383: (1023.99 GiB - 1 MiB) / 64 MiB
# - size of wal: 64 GiB: 64 GiB requested, rounded up; 512 × 2 extents of 64 MiB
# - XFS block of wal: 4 KiB: mounted by every kernel, whatever its page is (here 4 KiB)
# - XFS sector of wal: 512 bytes: the physical block of the disks, 512 bytes: no write of metadata
#   is smaller
# - XFS su of wal: 64 KiB: the stripe below; sunit=128 in units of 512 bytes
# - XFS sw of wal: 2: data disks; swidth=256 in units of 512 bytes
# - XFS blocks of an allocation group of wal: 1048560: 16777216 blocks / 16 groups, rounded up to
#   whole stripe units, is 1048576, which is 32768 × the full stripe of 32: all groups would begin
#   on the same disk; one stripe unit of 16 less is 1048560
# - XFS allocation groups of wal: 16: 16 groups for 64 GiB, what mkfs.xfs takes on stripes: groups
#   are what allocates space in parallel, and new files of one directory begin in one group;
#   thousands of them cost memory and scatter files; 16777216 blocks / 1048560 blocks
# - XFS log of wal: 64 MiB: 1/2048 of the volume, 64 MiB at least and 2 GiB less 10 MiB at most, as
#   mkfs.xfs 6.1 chooses; written out, as older versions make smaller ones
# - XFS stripe unit of the log of wal: 32 KiB: the stripe unit, but 32 KiB at most: every forced
#   write of the log is padded to it (mkfs.xfs itself takes 32 KiB where the stripe unit exceeds 256
#   KiB)
# - mount option of wal: noatime: PostgreSQL does not use access times; it implies nodiratime.
#   relatime, the default since Linux 2.6.30, still writes them once a day and after each change
# - size of data: 1.37 TiB: 69 % of the usable space, rounded down; 11302 × 2 extents of 64 MiB
# - XFS block of data: 4 KiB: mounted by every kernel, whatever its page is (here 4 KiB)
# - XFS sector of data: 512 bytes: the physical block of the disks, 512 bytes: no write of metadata
#   is smaller
# - XFS su of data: 64 KiB: the stripe below; sunit=128 in units of 512 bytes
# - XFS sw of data: 2: data disks; swidth=256 in units of 512 bytes
# - XFS blocks of an allocation group of data: 11573232: 370343936 blocks / 32 groups, rounded up to
#   whole stripe units, is 11573248, which is 361664 × the full stripe of 32: all groups would begin
#   on the same disk; one stripe unit of 16 less is 11573232
# - XFS allocation groups of data: 32: 32 groups for 1.37 TiB, what mkfs.xfs takes on stripes:
#   groups are what allocates space in parallel, and new files of one directory begin in one group;
#   thousands of them cost memory and scatter files; 370343936 blocks / 11573232 blocks
# - XFS log of data: 706.37 MiB: 1/2048 of the volume, 64 MiB at least and 2 GiB less 10 MiB at
#   most, as mkfs.xfs 6.1 chooses; written out, as older versions make smaller ones
# - XFS stripe unit of the log of data: 32 KiB: the stripe unit, but 32 KiB at most: every forced
#   write of the log is padded to it (mkfs.xfs itself takes 32 KiB where the stripe unit exceeds 256
#   KiB)
# - mount option of data: noatime: PostgreSQL does not use access times; it implies nodiratime.
#   relatime, the default since Linux 2.6.30, still writes them once a day and after each change
# - size of index: 570.75 GiB: what the other volumes leave; 4566 × 2 extents of 64 MiB
# - XFS block of index: 4 KiB: mounted by every kernel, whatever its page is (here 4 KiB)
# - XFS sector of index: 512 bytes: the physical block of the disks, 512 bytes: no write of metadata
#   is smaller
# - XFS su of index: 64 KiB: the stripe below; sunit=128 in units of 512 bytes
# - XFS sw of index: 2: data disks; swidth=256 in units of 512 bytes
# - XFS blocks of an allocation group of index: 4675568: 149618688 blocks / 32 groups, rounded up to
#   whole stripe units, is 4675584, which is 146112 × the full stripe of 32: all groups would begin
#   on the same disk; one stripe unit of 16 less is 4675568
# - XFS allocation groups of index: 32: 32 groups for 570.75 GiB, what mkfs.xfs takes on stripes:
#   groups are what allocates space in parallel, and new files of one directory begin in one group;
#   thousands of them cost memory and scatter files; 149618688 blocks / 4675568 blocks
# - XFS log of index: 285.37 MiB: 1/2048 of the volume, 64 MiB at least and 2 GiB less 10 MiB at
#   most, as mkfs.xfs 6.1 chooses; written out, as older versions make smaller ones
# - XFS stripe unit of the log of index: 32 KiB: the stripe unit, but 32 KiB at most: every forced
#   write of the log is padded to it (mkfs.xfs itself takes 32 KiB where the stripe unit exceeds 256
#   KiB)
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
# - discard is not a mount option: fstrim.timer trims weekly, apart from transactions. ZFS has
#   `zpool trim`.
set -eu

# [functions.sh]

confirm "$@"
need blockdev blkid lsblk partx readlink sfdisk wipefs
need pvcreate vgcreate lvcreate vgs mkfs.xfs

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
step lvcreate --yes --wipesignatures y --type raid10 --stripes 2 --stripesize 64k --mirrors 1 --extents 1024 --name wal pg
step lvcreate --yes --wipesignatures y --type raid10 --stripes 2 --stripesize 64k --mirrors 1 --extents 22604 --name data pg
step lvcreate --yes --wipesignatures y --type raid10 --stripes 2 --stripesize 64k --mirrors 1 --extents 9132 --name index pg
step mkfs.xfs -b size=4096 -s size=512 -d su=65536,sw=2,agsize=4294901760 -l internal,size=67108864,su=32768 -L pg-wal /dev/pg/wal
step mkfs.xfs -b size=4096 -s size=512 -d su=65536,sw=2,agsize=47403958272 -l internal,size=740687872,su=32768 -L pg-data /dev/pg/data
step mkfs.xfs -b size=4096 -s size=512 -d su=65536,sw=2,agsize=19151126528 -l internal,size=299237376,su=32768 -L pg-index /dev/pg/index

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
