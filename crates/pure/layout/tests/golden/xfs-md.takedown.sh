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

# [functions.sh]

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
pg-data
END
