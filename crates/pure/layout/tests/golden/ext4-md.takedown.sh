#!/bin/sh
# Takes down storage for PostgreSQL that was planned by `pgdyno host layout`, which never runs this:
#   read it, then run it as root with --yes-erase-these-disks. Stop the server first.
#
# ALL DATA on these disks is lost:
# /dev/vdb
# /dev/vdc
# /dev/vdd
# /dev/vde
#
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
need blockdev lsblk readlink umount wipefs

# Are these the disks that were planned with?
identify /dev/vdb 1099511627776 512 ''
disk_1=$disk
identify /dev/vdc 1099511627776 512 ''
disk_2=$disk
identify /dev/vdd 1099511627776 512 ''
disk_3=$disk
identify /dev/vde 1099511627776 512 ''
disk_4=$disk
part_1_1=$(part "$disk_1" 1)
part_2_1=$(part "$disk_2" 1)
part_3_1=$(part "$disk_3" 1)
part_4_1=$(part "$disk_4" 1)
parts=
parts="$parts $part_1_1"
parts="$parts $part_2_1"
parts="$parts $part_3_1"
parts="$parts $part_4_1"
need mdadm

# Unmount; then stop the array, if it is there, and erase what it wrote on its members.
if [ -e /dev/md/pg ]; then
array=$(readlink -f /dev/md/pg)
members=$(mdadm --detail --export "$array" | sed -n 's/^MD_DEVICE_.*_DEV=//p')
only_planned /dev/md/pg $members
unmount "$(part "$array" 3)"
unmount "$(part "$array" 2)"
unmount "$(part "$array" 1)"
step wipefs --all "$array"
step mdadm --stop "$array"
step mdadm --zero-superblock "$part_1_1" "$part_2_1" "$part_3_1" "$part_4_1"
fi

# Does nobody use the disks any more? Then erase signatures and tables.
idle "$disk_1"
idle "$disk_2"
idle "$disk_3"
idle "$disk_4"
if [ -b "$part_1_1" ]; then step wipefs --all "$part_1_1"; fi
if [ -b "$part_2_1" ]; then step wipefs --all "$part_2_1"; fi
if [ -b "$part_3_1" ]; then step wipefs --all "$part_3_1"; fi
if [ -b "$part_4_1" ]; then step wipefs --all "$part_4_1"; fi
step wipefs --all "$disk_1"
step wipefs --all "$disk_2"
step wipefs --all "$disk_3"
step wipefs --all "$disk_4"
cat <<'END'

Done. Remove from /etc/fstab (and from mdadm.conf) the lines of:
pg-wal
pg-data
pg-index
END
