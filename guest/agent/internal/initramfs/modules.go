package initramfs

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"
)

// loadModules loads the kernel modules of the initramfs in the order of its list.
func loadModules() error {
	order, err := os.ReadFile(moduleOrder)
	if err != nil {
		return err
	}
	for _, name := range parseOrder(string(order)) {
		if err := loadModule("/modules/" + name); err != nil {
			return fmt.Errorf("module %s: %w", name, err)
		}
	}
	return nil
}

// parseOrder returns the names in a list with one name per line.
func parseOrder(list string) (names []string) {
	for line := range strings.Lines(list) {
		if name := strings.TrimSpace(line); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func loadModule(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	parameters := new(byte) // an empty string
	_, _, errno := syscall.Syscall(sysFinitModule, f.Fd(), uintptr(unsafe.Pointer(parameters)), 0)
	if errno != 0 && errno != syscall.EEXIST {
		return errno
	}
	return nil
}

// hasParameter reports whether the kernel command line contains the word.
func hasParameter(line, word string) bool {
	for _, w := range strings.Fields(line) {
		if w == word {
			return true
		}
	}
	return false
}
