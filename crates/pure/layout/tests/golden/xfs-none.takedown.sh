#!/bin/sh
# Takes down storage for PostgreSQL that was planned by `pgdyno host layout`, which never runs this:
#   read it, then run it as root with --yes-erase-these-disks. Stop the server first.
#
# ALL DATA on these disks is lost:
# /dev/vdb
# /dev/vdc
# /dev/vdd
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
part_1_1=$(part "$disk_1" 1)
part_2_1=$(part "$disk_2" 1)
part_3_1=$(part "$disk_3" 1)
parts=
parts="$parts $part_1_1"
parts="$parts $part_2_1"
parts="$parts $part_3_1"

# Unmount.
unmount "$part_3_1"
unmount "$part_2_1"
unmount "$part_1_1"

# Does nobody use the disks any more? Then erase signatures and tables.
idle "$disk_1"
idle "$disk_2"
idle "$disk_3"
if [ -b "$part_1_1" ]; then step wipefs --all "$part_1_1"; fi
if [ -b "$part_2_1" ]; then step wipefs --all "$part_2_1"; fi
if [ -b "$part_3_1" ]; then step wipefs --all "$part_3_1"; fi
step wipefs --all "$disk_1"
step wipefs --all "$disk_2"
step wipefs --all "$disk_3"
cat <<'END'

Done. Remove from /etc/fstab (and from mdadm.conf) the lines of:
pg-wal
pg-data
pg-index
END
