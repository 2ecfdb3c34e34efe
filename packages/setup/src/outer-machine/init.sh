#!/bin/sh
# First process of the outer machine of `npm run test:kvm`. It mounts what a Debian system has, loads KVM as udev would, runs the command on
# the second disk and powers the machine off. Output and exit code go to ports of their own.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mountpoint -q /dev || mount -t devtmpfs devtmpfs /dev

# The device of the port with a name.
port() {
  for path in /sys/class/virtio-ports/*; do
    [ "$(cat "$path/name")" = "$1" ] && echo "/dev/${path##*/}"
  done
}
result=$(port mayfly.result)
exec </dev/null >"$(port mayfly.log)" 2>&1

mkdir -p /dev/pts /dev/shm
mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t tmpfs -o mode=755 tmpfs /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
# As systemd does.
echo '+cpu +io +memory +pids' >/sys/fs/cgroup/cgroup.subtree_control
ln -s /proc/self/fd /dev/fd
ln -s /proc/self/fd/0 /dev/stdin
ln -s /proc/self/fd/1 /dev/stdout
ln -s /proc/self/fd/2 /dev/stderr
hostname outer
ip link set lo up

modprobe -a virtio_blk tun veth nf_tables
case "$(uname -m)-$(grep -o -w -m1 -E 'svm|vmx' /proc/cpuinfo)" in
  x86_64-svm*) modprobe kvm_amd ;;
  x86_64-vmx*) modprobe kvm_intel ;;
esac

mkdir -p /mayfly
mount -o noatime /dev/vda /mayfly
export TMPDIR=/mayfly/tmp
cd /mayfly/checkout && sh /mayfly/command
echo "$?" >"$result"
sync
echo o >/proc/sysrq-trigger
sleep 600
