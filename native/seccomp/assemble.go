package seccomp

import (
	"fmt"
	"syscall"
)

// Program is a filter in classic BPF, which the kernel runs on every system call.
type Program []syscall.SockFilter

// policy allows the listed calls, decides about some by their arguments, and refuses all others with EPERM.
type policy struct {
	allowed []uintptr
	rules   []rule
	// missing calls answer ENOSYS, as on a kernel that does not have them: libraries then use older ones.
	missing []uintptr
}

// rule allows a system call if all conditions of one of its cases hold.
type rule struct {
	number uintptr
	cases  [][]condition
}

// condition holds if an argument, after masking, is one of the values, or with except, if it is none of them. Filters compare only the lower half
// of an argument: the kernel ignores the upper one in all that are compared here.
type condition struct {
	argument uint32
	mask     uint32
	values   []uint32
	except   bool
}

// when allows a call if all conditions hold.
func when(number uintptr, conditions ...condition) rule {
	return rule{number, [][]condition{conditions}}
}

func is(argument uint32, values ...uint32) condition {
	return condition{argument: argument, mask: wholeArgument, values: values}
}

func isNot(argument uint32, values ...uint32) condition {
	return condition{argument: argument, mask: wholeArgument, values: values, except: true}
}

func masked(argument, mask uint32, values ...uint32) condition {
	return condition{argument: argument, mask: mask, values: values}
}

const wholeArgument = ^uint32(0)

// The operations of a filter.
const (
	load       = syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS // A = 32 bits of the call's data at offset K
	and        = syscall.BPF_ALU | syscall.BPF_AND | syscall.BPF_K
	jumpEqual  = syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K
	jumpAbove  = syscall.BPF_JMP | syscall.BPF_JGT | syscall.BPF_K
	jumpAnySet = syscall.BPF_JMP | syscall.BPF_JSET | syscall.BPF_K
	finish     = syscall.BPF_RET | syscall.BPF_K
)

// What a filter decides: actions of <linux/seccomp.h>.
const (
	actionAllow  = 0x7fff0000
	actionErrno  = 0x00050000
	actionKill   = 0x80000000
	actionRefuse = actionErrno | uint32(syscall.EPERM)
	actionAbsent = actionErrno | uint32(syscall.ENOSYS)
)

// Offsets into struct seccomp_data. Both architectures are little-endian, so the lower half of an argument comes first.
const (
	offsetNumber    = 0
	offsetArch      = 4
	offsetArguments = 16
)

// x32Bit marks the calls of the x32 ABI of x86. No other number has it.
const x32Bit = 0x40000000

// assemble returns the filter of a policy. Calls of an ABI other than the program's end it. Calls that are newer than the tables of this package
// answer ENOSYS. The kernel remembers which calls are allowed whatever their arguments, so only those with rules pay for the filter: they come first.
func (p policy) assemble() Program {
	program := Program{
		{Code: load, K: offsetArch},
		{Code: jumpEqual, Jt: 1, K: auditArch},
		{Code: finish, K: actionKill},
		{Code: load, K: offsetNumber},
		{Code: jumpAnySet, Jf: 1, K: x32Bit},
		{Code: finish, K: actionKill},
		{Code: jumpAbove, Jf: 1, K: newestCall},
		{Code: finish, K: actionAbsent},
	}
	for _, r := range p.rules {
		program = append(program, r.code()...)
	}
	for _, number := range p.missing {
		program = append(program, decision(number, actionAbsent)...)
	}
	for _, number := range p.allowed {
		program = append(program, decision(number, actionAllow)...)
	}
	return append(program, syscall.SockFilter{Code: finish, K: actionRefuse})
}

// decision takes an action on every call with a number.
func decision(number uintptr, action uint32) Program {
	return Program{{Code: jumpEqual, Jf: 1, K: uint32(number)}, {Code: finish, K: action}}
}

func (r rule) code() Program {
	var body Program
	for _, conditions := range r.cases {
		body = append(body, caseCode(conditions)...)
	}
	body = append(body, syscall.SockFilter{Code: finish, K: actionRefuse})
	return append(Program{{Code: jumpEqual, Jf: distance(len(body)), K: uint32(r.number)}}, body...)
}

// caseCode allows the call if all conditions hold, and otherwise continues behind itself.
func caseCode(conditions []condition) Program {
	code := Program{{Code: finish, K: actionAllow}}
	for index := len(conditions) - 1; index >= 0; index-- {
		code = append(conditions[index].code(len(code)), code...)
	}
	return code
}

// code continues behind itself if the condition holds, and otherwise skips the given number of instructions there.
func (c condition) code(skipped int) Program {
	code := Program{{Code: load, K: offsetArguments + 8*c.argument}}
	if c.mask != wholeArgument {
		code = append(code, syscall.SockFilter{Code: and, K: c.mask})
	}
	for index, value := range c.values {
		left := len(c.values) - 1 - index
		test := syscall.SockFilter{Code: jumpEqual, K: value}
		switch {
		case c.except:
			test.Jt = distance(left + skipped)
		case left > 0:
			test.Jt = distance(left)
		default:
			test.Jf = distance(skipped)
		}
		code = append(code, test)
	}
	return code
}

// distance returns how far a jump goes. It panics if that is farther than an instruction can say.
func distance(instructions int) uint8 {
	if instructions > 255 {
		panic(fmt.Sprintf("a filter jumps over %d instructions", instructions))
	}
	return uint8(instructions)
}
