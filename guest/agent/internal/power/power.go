// Package power powers the machine off.
package power

import (
	"syscall"
	"time"
)

const syncTimeout = 10 * time.Second

// Off syncs the disk, unless that takes too long, and powers off. It does not return.
func Off() {
	synced := make(chan struct{})
	go func() { syscall.Sync(); close(synced) }()
	select {
	case <-synced:
	case <-time.After(syncTimeout):
	}
	for {
		syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
		time.Sleep(time.Second)
	}
}
