// Package netns does things inside other network namespaces.
package netns

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// Do runs a function on a thread that has entered the namespace at a path. Sockets made by it stay in that namespace.
func Do(path string, work func() error) error {
	result := make(chan error, 1)
	go func() {
		// Never unlocked: the thread ends with this goroutine and no other goroutine ever runs in the namespace.
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
