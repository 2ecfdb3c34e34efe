package main

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"unsafe"
)

// instruction is one of classic BPF, which the kernel runs on every system call.
type instruction struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

// Instruction codes of <linux/bpf_common.h>.
const (
	bpfLoad       = 0x20 // A = 32 bits of the call's data at offset k
	bpfAnd        = 0x54 // A &= k
	bpfJumpEqual  = 0x15
	bpfJumpAbove  = 0x25
	bpfJumpAnySet = 0x45
	bpfReturn     = 0x06
)

// Actions of <linux/seccomp.h>.
const (
	actionAllow = 0x7fff0000
	actionErrno = 0x00050000
	actionKill  = 0x80000000
)

// Offsets into struct seccomp_data. Both architectures are little-endian, so the lower half of an argument comes first.
const (
	offsetNumber    = 0
	offsetArch      = 4
	offsetArguments = 16
)

// rule decides about one system call by its arguments. Instructions that do not return end with errno EPERM.
type rule struct {
	number uintptr
	body   []instruction
}

// filter allows the listed calls, decides about some by their arguments, and refuses all others with EPERM. Calls of an ABI other than the
// program's end it. Calls that are newer than the table, and clone3, whose flags a filter cannot see, answer ENOSYS: the C library then
// uses an older call.
func filter(arch uint32, newest uintptr, allowed []uintptr, rules []rule) []instruction {
	program := []instruction{
		{bpfLoad, 0, 0, offsetArch},
		{bpfJumpEqual, 1, 0, arch},
		{bpfReturn, 0, 0, actionKill},
		{bpfLoad, 0, 0, offsetNumber},
		// The calls of x32 have this bit; no other number has.
		{bpfJumpAnySet, 0, 1, x32Bit},
		{bpfReturn, 0, 0, actionKill},
		{bpfJumpAbove, 0, 1, uint32(newest)},
		refuse(syscall.ENOSYS),
		{bpfJumpEqual, 0, 1, sysClone3},
		refuse(syscall.ENOSYS),
	}
	for _, r := range rules {
		body := append(slices.Clone(r.body), refuse(syscall.EPERM))
		program = append(program, instruction{bpfJumpEqual, 0, uint8(len(body)), uint32(r.number)})
		program = append(program, body...)
	}
	for _, number := range allowed {
		program = append(program, instruction{bpfJumpEqual, 0, 1, uint32(number)}, instruction{bpfReturn, 0, 0, actionAllow})
	}
	return append(program, refuse(syscall.EPERM))
}

func refuse(errno syscall.Errno) instruction {
	return instruction{bpfReturn, 0, 0, actionErrno | uint32(errno)}
}

func argument(index uint32) instruction { return instruction{bpfLoad, 0, 0, offsetArguments + 8*index} }

// allowValues allows a call if the lower half of an argument is one of these values.
func allowValues(index uint32, values ...uint32) []instruction {
	body := []instruction{argument(index)}
	for _, value := range values {
		body = append(body, instruction{bpfJumpEqual, 0, 1, value}, instruction{bpfReturn, 0, 0, actionAllow})
	}
	return body
}

// allowOtherValues allows a call unless the lower half of an argument is one of these values.
func allowOtherValues(index uint32, values ...uint32) []instruction {
	body := []instruction{argument(index)}
	for _, value := range values {
		body = append(body, instruction{bpfJumpEqual, 0, 1, value}, refuse(syscall.EPERM))
	}
	return append(body, instruction{bpfReturn, 0, 0, actionAllow})
}

const (
	prSetSeccomp      = 22
	seccompModeFilter = 2
)

// filterSystemCalls installs a filter on the calling thread; exec keeps it.
func filterSystemCalls(program []instruction) error {
	if len(program) > 4096 {
		return fmt.Errorf("%d instructions", len(program))
	}
	header := struct {
		length  uint16
		program *instruction
	}{uint16(len(program)), &program[0]}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetSeccomp, seccompModeFilter, uintptr(unsafe.Pointer(&header)), 0, 0, 0)
	runtime.KeepAlive(program)
	if errno != 0 {
		return errno
	}
	return nil
}
