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
# - md data offset: 128 MiB: what mdadm leaves before the data of large members, for the bitmap and
#   to reshape; given, so that the size is known ahead of time
# - md size of the array: 1.99 TiB: 2 data disks × 1023.87 GiB in whole chunks
# - first block of partition 1 of the array: 2048 (1 MiB): in logical blocks of 512 bytes: 1 MiB is
#   a multiple of every block, flash page and stripe up to 1 MiB that is a power of two, and leaves
#   space for the partition table
# - blocks of partition 1 of the array: 4294430720 (1.99 TiB): what the other volumes leave; the end
#   is aligned to 1 MiB as well
# - size of data: 1.99 TiB: what the other volumes leave; the end is aligned to 1 MiB as well
# - XFS block of data: 4 KiB: mounted by every kernel, whatever its page is (here 4 KiB)
# - XFS sector of data: 512 bytes: the physical block of the disks, 512 bytes: no write of metadata
#   is smaller
# - XFS su of data: 64 KiB: the stripe below; sunit=128 in units of 512 bytes
# - XFS sw of data: 2: data disks; swidth=256 in units of 512 bytes
# - XFS blocks of an allocation group of data: 16775120: 536803840 blocks / 32 groups, rounded up to
#   whole stripe units, is 16775120
# - XFS allocation groups of data: 32: 32 groups for 1.99 TiB, what mkfs.xfs takes on stripes:
#   groups are what allocates space in parallel, and new files of one directory begin in one group;
#   thousands of them cost memory and scatter files; 536803840 blocks / 16775120 blocks
# - XFS log of data: 1023.84 MiB: 1/2048 of the volume, 64 MiB at least and 2 GiB less 10 MiB at
#   most, as mkfs.xfs 6.1 chooses; written out, as older versions make smaller ones
# - XFS stripe unit of the log of data: 32 KiB: the stripe unit, but 32 KiB at most: every forced
#   write of the log is padded to it (mkfs.xfs itself takes 32 KiB where the stripe unit exceeds 256
#   KiB)
# - mount option of data: noatime: PostgreSQL does not use access times; it implies nodiratime.
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
# - WAL shares the volume of the data: what both do at the same time delays both.
# - discard is not a mount option: fstrim.timer trims weekly, apart from transactions. ZFS has
#   `zpool trim`.
set -eu

# [functions.sh]

confirm "$@"
need blockdev blkid lsblk partx readlink sfdisk wipefs
need mdadm mkfs.xfs

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
if [ -e /dev/md/pg ]; then
    refuse 'there is a array pg already'
fi
free_label pg-data
free_mount_point /srv/pg/data

# From here on, disks are changed.
write_table "$disk_1" 'label: gpt
first-lba: 2048
start=2048, size=2147479552, type=A19D880F-05FC-4D3B-A006-743F0F84911E'
write_table "$disk_2" 'label: gpt
first-lba: 2048
start=2048, size=2147479552, type=A19D880F-05FC-4D3B-A006-743F0F84911E'
write_table "$disk_3" 'label: gpt
first-lba: 2048
start=2048, size=2147479552, type=A19D880F-05FC-4D3B-A006-743F0F84911E'
write_table "$disk_4" 'label: gpt
first-lba: 2048
start=2048, size=2147479552, type=A19D880F-05FC-4D3B-A006-743F0F84911E'
part_1_1=$(part "$disk_1" 1)
part_2_1=$(part "$disk_2" 1)
part_3_1=$(part "$disk_3" 1)
part_4_1=$(part "$disk_4" 1)
await "$part_1_1" "$disk_1"
await "$part_2_1" "$disk_2"
await "$part_3_1" "$disk_3"
await "$part_4_1" "$disk_4"
step mdadm --create /dev/md/pg --level=10 --raid-devices=4 --chunk=64K --data-offset=131072K --metadata=1.2 --layout=n2 --bitmap=internal --run "$part_1_1" "$part_2_1" "$part_3_1" "$part_4_1"
array=$(readlink -f /dev/md/pg)
write_table "$array" 'label: gpt
first-lba: 2048
start=2048, size=4294430720, type=0FC63DAF-8483-4772-8E79-3D69D8477DE4'
volume=$(part "$array" 1)
await "$volume" "$array"
step mkfs.xfs -b size=4096 -s size=512 -d su=65536,sw=2,agsize=68710891520 -l internal,size=1073577984,su=32768 -L pg-data "$volume"

# What is left to do by hand.
cat <<'END'

Done. Next:
- mkdir -p /srv/pg/data
- append to /etc/fstab:
LABEL=pg-data /srv/pg/data xfs noatime 0 0
- systemctl daemon-reload; mount -a
- append the output of `mdadm --detail --scan` to /etc/mdadm/mdadm.conf (or /etc/mdadm.conf), and rebuild the initramfs
- wait until /proc/mdstat shows no resync before you measure
- give the directories of the server below the mount points to its user
END
