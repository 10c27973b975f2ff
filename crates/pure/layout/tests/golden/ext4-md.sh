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
# - data disks: 3: RAID 5 of 4 disks spends 1 of each stripe on parity
# - stripe: 64 KiB: parity is computed over whole stripes: a small chunk lets a sequential write
#   fill them, and one page still lies on one disk
# - md data offset: 128 MiB: what mdadm leaves before the data of large members, for the bitmap and
#   to reshape; given, so that the size is known ahead of time
# - md size of the array: 2.99 TiB: 3 data disks × 1023.87 GiB in whole chunks
# - first block of partition 1 of the array: 6144 (3 MiB): in logical blocks of 512 bytes: the least
#   common multiple of 1 MiB and the full stripe of 192 KiB below
# - blocks of partition 1 of the array: 134221824 (64 GiB): 64 GiB requested, rounded up; the end is
#   aligned to 3 MiB as well
# - first block of partition 2 of the array: 134227968 (64 GiB): in logical blocks of 512 bytes: the
#   least common multiple of 1 MiB and the full stripe of 192 KiB below
# - blocks of partition 2 of the array: 4444729344 (2.06 TiB): 69 % of the usable space, rounded
#   down; the end is aligned to 3 MiB as well
# - first block of partition 3 of the array: 4578957312 (2.13 TiB): in logical blocks of 512 bytes:
#   the least common multiple of 1 MiB and the full stripe of 192 KiB below
# - blocks of partition 3 of the array: 1862688768 (888.19 GiB): what the other volumes leave; the
#   end is aligned to 3 MiB as well
# - size of wal: 64 GiB: 64 GiB requested, rounded up; the end is aligned to 3 MiB as well
# - ext4 block of wal: 4 KiB: mounted by every kernel, whatever its page is (here 4 KiB)
# - ext4 stride of wal: 16: stripe of 64 KiB / block of 4 KiB
# - ext4 stripe_width of wal: 48: stride × 3 data disks
# - ext4 reserve of wal: 1 %: PostgreSQL stops when this volume is full, and it must not use the
#   reserve; `tune2fs -m 0` then gives it space to start with again
# - ext4 bytes per inode of wal: 64 KiB: 1048608 inodes: a relation has two files and more, and one
#   for each GiB; 1 Mi inodes are enough for some hundred thousand relations, and fewer tables are
#   checked and initialised
# - ext4 lazy_itable_init of wal: 0: 256 MiB of inode tables are written now; by default the kernel
#   thread ext4lazyinit writes them after the first mount, into the measurement
# - ext4 lazy_journal_init of wal: 0: the journal is overwritten now, not when it is first used
# - mount option of wal: noatime: PostgreSQL does not use access times; it implies nodiratime.
#   relatime, the default since Linux 2.6.30, still writes them once a day and after each change
# - mount option of wal: errors=remount-ro: after damage was found in metadata nothing more is
#   written; the default of mke2fs is to continue
# - size of data: 2.06 TiB: 69 % of the usable space, rounded down; the end is aligned to 3 MiB as
#   well
# - ext4 block of data: 4 KiB: mounted by every kernel, whatever its page is (here 4 KiB)
# - ext4 stride of data: 16: stripe of 64 KiB / block of 4 KiB
# - ext4 stripe_width of data: 48: stride × 3 data disks
# - ext4 reserve of data: 0 %: no process of root needs space on a volume of PostgreSQL, which
#   cannot use the default of 5 %
# - ext4 bytes per inode of data: 1 MiB: 2170278 inodes, the same as -T largefile: a relation has
#   two files and more, and one for each GiB; 1 Mi inodes are enough for some hundred thousand
#   relations, and fewer tables are checked and initialised
# - ext4 lazy_itable_init of data: 0: 529.85 MiB of inode tables are written now; by default the
#   kernel thread ext4lazyinit writes them after the first mount, into the measurement
# - ext4 lazy_journal_init of data: 0: the journal is overwritten now, not when it is first used
# - mount option of data: noatime: PostgreSQL does not use access times; it implies nodiratime.
#   relatime, the default since Linux 2.6.30, still writes them once a day and after each change
# - mount option of data: errors=remount-ro: after damage was found in metadata nothing more is
#   written; the default of mke2fs is to continue
# - size of index: 888.19 GiB: what the other volumes leave; the end is aligned to 3 MiB as well
# - ext4 block of index: 4 KiB: mounted by every kernel, whatever its page is (here 4 KiB)
# - ext4 stride of index: 16: stripe of 64 KiB / block of 4 KiB
# - ext4 stripe_width of index: 48: stride × 3 data disks
# - ext4 reserve of index: 0 %: no process of root needs space on a volume of PostgreSQL, which
#   cannot use the default of 5 %
# - ext4 bytes per inode of index: 512 KiB: 1819032 inodes: a relation has two files and more, and
#   one for each GiB; 1 Mi inodes are enough for some hundred thousand relations, and fewer tables
#   are checked and initialised
# - ext4 lazy_itable_init of index: 0: 444.09 MiB of inode tables are written now; by default the
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
# - RAID 5 and 6 read before they write less than a full stripe, and a power failure between data
#   and parity leaves a stripe that a later failure of a disk turns into garbage (the write hole): a
#   RAID 5 of md can have --consistency-policy=ppl (Linux 4.12) in place of the bitmap. Measure only
#   when /proc/mdstat shows no resync.
# - discard is not a mount option: fstrim.timer trims weekly, apart from transactions. ZFS has
#   `zpool trim`.
set -eu

# [functions.sh]

confirm "$@"
need blockdev blkid lsblk partx readlink sfdisk wipefs
need mdadm mkfs.ext4

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
free_label pg-wal
free_mount_point /srv/pg/wal
free_label pg-data
free_mount_point /srv/pg/data
free_label pg-index
free_mount_point /srv/pg/index

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
step mdadm --create /dev/md/pg --level=5 --raid-devices=4 --chunk=64K --data-offset=131072K --metadata=1.2 --bitmap=internal --run "$part_1_1" "$part_2_1" "$part_3_1" "$part_4_1"
array=$(readlink -f /dev/md/pg)
write_table "$array" 'label: gpt
first-lba: 6144
start=6144, size=134221824, type=0FC63DAF-8483-4772-8E79-3D69D8477DE4
start=134227968, size=4444729344, type=0FC63DAF-8483-4772-8E79-3D69D8477DE4
start=4578957312, size=1862688768, type=0FC63DAF-8483-4772-8E79-3D69D8477DE4'
volume=$(part "$array" 1)
await "$volume" "$array"
step mkfs.ext4 -b 4096 -m 1 -i 65536 -E lazy_itable_init=0,lazy_journal_init=0,stride=16,stripe_width=48 -L pg-wal "$volume"
volume=$(part "$array" 2)
await "$volume" "$array"
step mkfs.ext4 -b 4096 -m 0 -i 1048576 -E lazy_itable_init=0,lazy_journal_init=0,stride=16,stripe_width=48 -L pg-data "$volume"
volume=$(part "$array" 3)
await "$volume" "$array"
step mkfs.ext4 -b 4096 -m 0 -i 524288 -E lazy_itable_init=0,lazy_journal_init=0,stride=16,stripe_width=48 -L pg-index "$volume"

# What is left to do by hand.
cat <<'END'

Done. Next:
- mkdir -p /srv/pg/wal /srv/pg/data /srv/pg/index
- append to /etc/fstab:
LABEL=pg-wal /srv/pg/wal ext4 noatime,errors=remount-ro 0 2
LABEL=pg-data /srv/pg/data ext4 noatime,errors=remount-ro 0 2
LABEL=pg-index /srv/pg/index ext4 noatime,errors=remount-ro 0 2
- systemctl daemon-reload; mount -a
- append the output of `mdadm --detail --scan` to /etc/mdadm/mdadm.conf (or /etc/mdadm.conf), and rebuild the initramfs
- wait until /proc/mdstat shows no resync before you measure
- give the directories of the server below the mount points to its user
END
