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
