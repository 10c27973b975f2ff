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

LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL PATH

changed=no
disks=

refuse() {
    printf 'refused: %s\n' "$1" >&2
    exit 3
}

finish() {
    status=$?
    [ "$status" -eq 0 ] && return
    if [ "$changed" = no ]; then
        printf 'Nothing was changed.\n' >&2
    else
        printf 'stopped: the last step above failed; the steps before it were done.\n' >&2
    fi
}
trap finish EXIT

confirm() {
    if [ "$#" -ne 1 ] || [ "$1" != --yes-erase-these-disks ]; then
        refuse "this erases disks; read it, then give --yes-erase-these-disks as its only argument"
    fi
    [ "$(id -u)" -eq 0 ] || refuse "only root can do this"
}

need() {
    for tool; do
        command -v "$tool" >/dev/null 2>&1 || refuse "$tool is not installed"
    done
}

step() {
    changed=yes
    printf '+ %s\n' "$*"
    "$@"
}

# The directory of a disk in /sys.
directory() {
    printf '/sys/block/%s' "$(printf '%s' "${1#/dev/}" | tr / '!')"
}

# The kernel's path of a partition: disk, number.
part() {
    case $1 in
        *[0-9]) printf '%sp%s' "$1" "$2" ;;
        *) printf '%s%s' "$1" "$2" ;;
    esac
}

serials() {
    cat "$sys/serial" "$sys/device/serial" "$sys/wwid" "$sys/device/wwid" 2>/dev/null || :
    lsblk -d -n -o SERIAL "$disk" 2>/dev/null || :
    lsblk -d -n -o WWN "$disk" 2>/dev/null || :
}

# Path, bytes, bytes of a logical block, serial number or nothing: sets disk and sys.
identify() {
    disk=$(readlink -f "$1") || refuse "$1 does not exist"
    [ -b "$disk" ] || refuse "$1 is not a block device"
    sys=$(directory "$disk")
    [ -d "$sys" ] || refuse "$1 is not a whole disk"
    if [ -e "$sys/dm" ] || [ -e "$sys/md" ]; then
        refuse "$1 is an array or a volume, not a disk"
    fi
    case "$disks " in
        *" $disk "*) refuse "$1 is the same disk as another one" ;;
    esac
    disks="$disks $disk"
    bytes=$(blockdev --getsize64 "$disk")
    [ "$bytes" = "$2" ] || refuse "$1 has $bytes bytes; $2 were planned"
    sector=$(blockdev --getss "$disk")
    [ "$sector" = "$3" ] || refuse "$1 has logical blocks of $sector bytes; $3 were planned"
    [ "$(blockdev --getro "$disk")" = 0 ] || refuse "$1 can only be read"
    if [ -n "$4" ] && ! serials | sed 's/^ *//; s/ *$//' | grep -Fqx -e "$4"; then
        refuse "$1 has another serial number than planned ($4)"
    fi
}

# Refuses a disk that is mounted, swapped to, or part of a device.
idle() {
    sys=$(directory "$1")
    for file in "$sys/dev" "$sys"/*/dev; do
        [ -e "$file" ] || continue
        read -r number <"$file"
        if grep -q "^[0-9]* [0-9]* $number " /proc/self/mountinfo; then
            refuse "$1 is mounted"
        fi
    done
    for holder in "$sys"/holders/* "$sys"/*/holders/*; do
        [ -e "$holder" ] || continue
        refuse "$1 is held by ${holder##*/}"
    done
    prefix=$(part "$1" '')
    while read -r area rest; do
        case $area in
            "$1" | "$prefix"[0-9]*) refuse "$1 is swapped to ($area)" ;;
        esac
    done </proc/swaps
}

# Refuses a disk with partitions or a signature, also where partitions will begin: disk, offsets in bytes.
blank() {
    target=$1
    shift
    sys=$(directory "$target")
    for file in "$sys"/*/partition; do
        [ -e "$file" ] || continue
        refuse "$target has partitions"
    done
    found=$(wipefs -n "$target") || refuse "wipefs cannot read $target"
    [ -z "$found" ] || refuse "$target has a signature:
$found"
    probe "$target"
    for offset; do
        probe "$target" -O "$offset"
    done
}

# 2 is the status of blkid for nothing found.
probe() {
    status=0
    found=$(blkid -p "$@" 2>&1) || status=$?
    [ "$status" -eq 2 ] || refuse "$1 has a signature: $found"
}

free_label() {
    found=$(blkid -c /dev/null -L "$1" 2>/dev/null) || return 0
    refuse "the label $1 is that of $found"
}

free_mount_point() {
    if [ -e "$1" ] && [ -n "$(ls -A "$1")" ]; then
        refuse "$1 is not empty: a mount would hide what is there"
    fi
}

# Disk, table for sfdisk.
write_table() {
    changed=yes
    printf '+ sfdisk %s\n%s\n' "$1" "$2"
    printf '%s\n' "$2" | sfdisk --quiet --wipe always --wipe-partitions always "$1"
}

# Waits for the node of a partition: node, disk.
await() {
    if command -v udevadm >/dev/null 2>&1; then
        udevadm settle || :
    fi
    tries=0
    until [ -b "$1" ]; do
        tries=$((tries + 1))
        [ "$tries" -le 10 ] || refuse "$1 does not appear"
        partx -u "$2" 2>/dev/null || :
        [ -b "$1" ] || sleep 1
    done
}

# Unmounts a device wherever it is mounted.
unmount() {
    [ -e "$1" ] || return 0
    node=$(readlink -f "$1")
    read -r number <"/sys/class/block/${node##*/}/dev"
    while grep -q "^[0-9]* [0-9]* $number " /proc/self/mountinfo; do
        step umount "$1"
    done
}

# Refuses a group, array or pool that has other members than the planned partitions: its name, members.
only_planned() {
    whole=$1
    shift
    [ "$#" -gt 0 ] || refuse "the members of $whole cannot be listed"
    for member; do
        node=$(readlink -f "$member")
        case "$parts " in
            *" $node "*) ;;
            *) refuse "$whole also consists of $member, which was not planned" ;;
        esac
    done
}

# Removes the volume group that a physical volume belongs to, unless that was done already.
remove_group() {
    group=$(pvs --noheadings -o vg_name "$1" 2>/dev/null | tr -d ' ')
    if [ -n "$group" ]; then
        step vgchange -an "$group"
        step vgremove --yes "$group"
    fi
    if pvs "$1" >/dev/null 2>&1; then
        step pvremove "$1"
    fi
}

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
