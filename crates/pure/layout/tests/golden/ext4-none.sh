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
