package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// The same numbers on every architecture.
const (
	sysPidfdSendSignal = 424
	sysPidfdOpen       = 434
)

// kill ends processes, through descriptors that can only ever refer to these processes: a process id alone may have been given to
// another process between a check and the signal. Processes that are gone already are no error.
//
//	kill process PID START     the process that started at this time (field 22 of /proc/PID/stat)
//	kill group FILE            the processes in a cgroup.procs file
func kill(arguments []string) error {
	switch {
	case len(arguments) == 3 && arguments[0] == "process":
		pid, pidErr := strconv.Atoi(arguments[1])
		start, startErr := strconv.ParseUint(arguments[2], 10, 64)
		if err := errors.Join(pidErr, startErr); err != nil {
			return err
		}
		return killProcess(pid, start)
	case len(arguments) == 2 && arguments[0] == "group":
		return killGroup(arguments[1])
	}
	return errors.New("expected: process PID START, or group FILE")
}

// killProcess kills a process if it started at this time. As long as the process behind the descriptor lives, its id is not reused,
// so the start time that is read after the descriptor was opened is its own.
func killProcess(pid int, start uint64) error {
	fd, err := openProcess(pid)
	if err != nil || fd < 0 {
		return err
	}
	defer syscall.Close(fd)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	if found, ok := startOf(string(stat)); !ok || found != start {
		return nil
	}
	return sendKill(fd)
}

// startOf reads the start time from /proc/PID/stat. The name of the process in it may contain anything.
func startOf(stat string) (uint64, bool) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return 0, false
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	return start, err == nil
}

// killGroup kills the processes of a cgroup. It lists them again once it has their descriptors: a process that is listed then and
// still lives when it gets the signal was in the group.
func killGroup(procsPath string) error {
	opened := map[int]int{}
	defer func() {
		for _, fd := range opened {
			syscall.Close(fd)
		}
	}()
	pids, err := listGroup(procsPath)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		fd, err := openProcess(pid)
		if err != nil {
			return err
		}
		if fd >= 0 {
			opened[pid] = fd
		}
	}
	if pids, err = listGroup(procsPath); err != nil {
		return err
	}
	for _, pid := range pids {
		if fd, ok := opened[pid]; ok {
			if err := sendKill(fd); err != nil {
				return err
			}
		}
	}
	return nil
}

// listGroup returns the process ids in a cgroup.procs file. A process of another pid namespace is listed as 0 and left out.
func listGroup(procsPath string) ([]int, error) {
	text, err := os.ReadFile(procsPath)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var pids []int
	for line := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(line); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// openProcess returns a descriptor of a process, or -1 if there is none with this id.
func openProcess(pid int) (int, error) {
	fd, _, errno := syscall.RawSyscall(sysPidfdOpen, uintptr(pid), 0, 0)
	switch errno {
	case 0:
		return int(fd), nil
	case syscall.ESRCH:
		return -1, nil
	}
	return -1, fmt.Errorf("open process %d: %w", pid, errno)
}

func sendKill(fd int) error {
	_, _, errno := syscall.RawSyscall6(sysPidfdSendSignal, uintptr(fd), uintptr(syscall.SIGKILL), 0, 0, 0, 0)
	if errno != 0 && errno != syscall.ESRCH {
		return errno
	}
	return nil
}
