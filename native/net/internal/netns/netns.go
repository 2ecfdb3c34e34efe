// Package netns runs code inside other network namespaces.
package netns

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// Do runs a function on a thread inside the namespace at a path. The sockets it creates stay in that namespace.
func Do(path string, work func() error) error {
	result := make(chan error, 1)
	go func() {
		// The thread is never unlocked: it ends with this goroutine, so no other goroutine runs in the namespace.
		runtime.LockOSThread()
		result <- enter(path, work)
	}()
	return <-result
}

func enter(path string, work func() error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, _, errno := syscall.RawSyscall(sysSetns, file.Fd(), syscall.CLONE_NEWNET, 0); errno != 0 {
		return fmt.Errorf("enter %s: %w", path, errno)
	}
	return work()
}
