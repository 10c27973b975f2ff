#!/bin/sh
# Takes down storage for PostgreSQL that was planned by `pgdyno host layout`, which never runs this:
#   read it, then run it as root with --yes-erase-these-disks. Stop the server first.
#
# ALL DATA on these disks is lost:
# /dev/vdb
#
set -eu

# [functions.sh]

confirm "$@"
need blockdev lsblk readlink umount wipefs

# Are these the disks that were planned with?
identify /dev/vdb 1099511627776 512 ''
disk_1=$disk
part_1_1=$(part "$disk_1" 1)
part_1_2=$(part "$disk_1" 2)
part_1_3=$(part "$disk_1" 3)
parts=
parts="$parts $part_1_1"
parts="$parts $part_1_2"
parts="$parts $part_1_3"

# Unmount.
unmount "$part_1_3"
unmount "$part_1_2"
unmount "$part_1_1"

# Does nobody use the disks any more? Then erase signatures and tables.
idle "$disk_1"
if [ -b "$part_1_1" ]; then step wipefs --all "$part_1_1"; fi
if [ -b "$part_1_2" ]; then step wipefs --all "$part_1_2"; fi
if [ -b "$part_1_3" ]; then step wipefs --all "$part_1_3"; fi
step wipefs --all "$disk_1"
cat <<'END'

Done. Remove from /etc/fstab (and from mdadm.conf) the lines of:
pg-wal
pg-data
pg-index
END
