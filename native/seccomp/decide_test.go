package seccomp

import (
	"os"
	"slices"
	"testing"
)

// The test binary installs a filter and prints what it can do under it when this variable names the filter.
const asConfined = "MAYFLY_TEST_AS_CONFINED"

func TestMain(m *testing.M) {
	switch os.Getenv(asConfined) {
	case "qemu":
		tryAsQEMU()
	case "resolver":
		tryAsResolver()
	default:
		os.Exit(m.Run())
	}
}

// call is what the kernel gives a filter.
type call struct {
	number    uint32
	arch      uint32
	arguments [6]uint64
}

// decide runs a filter on a call, as the kernel does.
func decide(t *testing.T, program Program, c call) uint32 {
	t.Helper()
	accumulator := uint32(0)
	for at := 0; at < len(program); at++ {
		i := program[at]
		jump := func(taken bool) {
			if taken {
				at += int(i.Jt)
			} else {
				at += int(i.Jf)
			}
		}
		switch i.Code {
		case load:
			switch {
			case i.K == offsetNumber:
				accumulator = c.number
			case i.K == offsetArch:
				accumulator = c.arch
			default:
				accumulator = uint32(c.arguments[(i.K-offsetArguments)/8])
			}
		case and:
			accumulator &= i.K
		case jumpEqual:
			jump(accumulator == i.K)
		case jumpAbove:
			jump(accumulator > i.K)
		case jumpAnySet:
			jump(accumulator&i.K != 0)
		case finish:
			return i.K
		default:
			t.Fatalf("instruction %#x", i.Code)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

// checkNumbers compares what a filter decides about every call, by its number alone, with lists. Calls in neither list are refused.
func checkNumbers(t *testing.T, program Program, allowed, absent, byArgument []uintptr) {
	t.Helper()
	for number := range uintptr(600) {
		want := uint32(actionRefuse)
		switch {
		case slices.Contains(byArgument, number):
			continue
		case slices.Contains(allowed, number):
			want = actionAllow
		case number > newestCall, slices.Contains(absent, number):
			want = actionAbsent
		}
		if got := decide(t, program, call{number: uint32(number), arch: auditArch}); got != want {
			t.Errorf("call %d: %#x, want %#x", number, got, want)
		}
	}
}

// argumentTest is what a filter decides about one call.
type argumentTest struct {
	name      string
	number    uintptr
	arguments [6]uint64
	want      uint32
}

func checkArguments(t *testing.T, program Program, tests []argumentTest) {
	t.Helper()
	for _, test := range tests {
		if got := decide(t, program, call{uint32(test.number), auditArch, test.arguments}); got != test.want {
			t.Errorf("%s: %#x, want %#x", test.name, got, test.want)
		}
	}
}

// thread are the flags with which the C library starts one.
const thread = threadFlags | 0x003d0000 // CLONE_SYSVSEM, CLONE_SETTLS, CLONE_PARENT_SETTID, CLONE_CHILD_CLEARTID
