package initsys

import (
	"testing"
	"unsafe"
)

func TestUserMemory(t *testing.T) {
	const mib = 1 << 20
	for total, want := range map[int64]int64{4096 * mib: 3936 * mib, 256 * mib: 128 * mib} {
		if got := userMemory(total); got != want {
			t.Errorf("%d: %d", total/mib, got/mib)
		}
	}
	if got := userMemory(100 << 30); got < 96<<30 || got > 98<<30 {
		t.Errorf("large machine: %d", got)
	}
}

func TestStructLayoutsMatchTheKernel(t *testing.T) {
	for name, sizes := range map[string][2]uintptr{
		"ifreq address": {unsafe.Sizeof(interfaceAddress{}), 40},
		"ifreq flags":   {unsafe.Sizeof(interfaceFlags{}), 40},
		"sockaddr":      {unsafe.Sizeof(socketAddress{}), 16},
		"rtentry":       {unsafe.Sizeof(routeEntry{}), 120},
		"rtentry flags": {unsafe.Offsetof(routeEntry{}.flags), 56},
	} {
		if sizes[0] != sizes[1] {
			t.Errorf("%s: got size %d, the kernel has %d", name, sizes[0], sizes[1])
		}
	}
}
