package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// enterConfinement is the process in the new namespaces: it builds the service's view, drops all privileges and becomes the service.
// It returns only on failure.
func enterConfinement([]string) error {
	file := os.NewFile(documentFd, "document")
	document, err := readLimited(file)
	if err != nil {
		return fmt.Errorf("read the confinement: %w", err)
	}
	c, err := parseConfinement(document)
	if err != nil {
		return fmt.Errorf("read the confinement: %w", err)
	}
	file.Close()
	parent, err := aboveInherited(parentFd)
	if err != nil {
		return err
	}
	syscall.Umask(0o077)
	for _, step := range []step{
		{"listen", func(*spec) error { return c.openSockets() }},
		{"build the view", checkSources},
		{"build the view", func(*spec) error { return mountRoot() }},
		{"build the view", func(*spec) error { return mountTmp(c) }},
		{"build the view", fillRoot},
		{"build the view", func(*spec) error { return mountProc() }},
		{"enter the view", enterRoot},
		{"enter the view", func(*spec) error { return syscall.Chdir(c.Folder) }},
		{"drop all privileges", dropPrivileges},
		{"end with the parent", func(*spec) error { return confirmParent(parent) }},
		{"close other files", func(*spec) error { return closeAllBut(passedFds(len(c.passed))) }},
		{"close abstract sockets", func(*spec) error { return closeAbstractSockets() }},
		{"filter system calls", filterSystemCalls},
	} {
		if err := step.do(c.jail()); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return startProgram(c.jail())
}

// hiddenFolders and hiddenFiles of /proc tell about the whole host, and the service needs none of them.
var (
	hiddenFolders = []string{"acpi", "asound", "bus", "driver", "fs", "irq", "scsi", "sys", "sysvipc", "tty"}
	hiddenFiles   = []string{
		"config.gz", "diskstats", "interrupts", "iomem", "ioports", "kallsyms", "kcore", "key-users", "keys", "kmsg", "kpagecount",
		"kpageflags", "latency_stats", "modules", "partitions", "pagetypeinfo", "sched_debug", "slabinfo", "softirqs", "swaps",
		"sysrq-trigger", "timer_list", "vmallocinfo", "zoneinfo",
	}
)

// mountTmp mounts the service's own /tmp. It comes before the binds, which may be in it.
func mountTmp(c *confinement) error {
	tmp := staging + "/tmp"
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return err
	}
	options := fmt.Sprintf("mode=0700,uid=%d,gid=%d,size=%d,nr_inodes=4096", c.UID, c.GID, c.TmpBytes)
	if err := syscall.Mount("mayfly", tmp, "tmpfs", restricted, options); err != nil {
		return fmt.Errorf("mount /tmp: %w", err)
	}
	return nil
}

// mountProc mounts a /proc that contains no process but the service.
func mountProc() error {
	proc := staging + "/proc"
	if err := os.Mkdir(proc, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("proc", proc, "proc", restricted, "hidepid=2"); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, name := range hiddenFolders {
		if err := hide(proc+"/"+name, "mayfly", "tmpfs", 0, "mode=0555,size=4k,nr_inodes=1"); err != nil {
			return err
		}
	}
	for _, name := range hiddenFiles {
		if err := hide(proc+"/"+name, staging+"/dev/null", "", syscall.MS_BIND, ""); err != nil {
			return err
		}
	}
	return makeReadOnly(proc)
}

// hide mounts something empty over a file or folder that not every kernel has.
func hide(path, source, kind string, flags uintptr, options string) error {
	err := syscall.Mount(source, path, kind, flags|restricted, options)
	if errors.Is(err, syscall.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("hide %s: %w", path, err)
	}
	return makeReadOnly(path)
}

func makeReadOnly(path string) error {
	return syscall.Mount("", path, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY|restricted, "")
}

// confirmParent makes sure that this process ends with the one that forwards signals to it, and waits until that one has dropped its privileges too.
func confirmParent(parent int) error {
	if err := endWithParent(syscall.SIGKILL); err != nil {
		return err
	}
	if _, err := syscall.Write(parent, []byte{1}); err != nil {
		return err
	}
	if count, err := syscall.Read(parent, make([]byte, 1)); count != 1 {
		return fmt.Errorf("the parent ended: %w", errors.Join(err))
	}
	return nil
}
