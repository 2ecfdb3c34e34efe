package main

import (
	"slices"
	"syscall"
	"testing"
)

// call is what the kernel gives a filter.
type call struct {
	number    uint32
	arch      uint32
	arguments [6]uint64
}

// decide runs a filter on a call, as the kernel does.
func decide(t *testing.T, program []instruction, c call) uint32 {
	t.Helper()
	accumulator := uint32(0)
	for at := 0; at < len(program); at++ {
		i := program[at]
		jump := func(taken bool) {
			if taken {
				at += int(i.jt)
			} else {
				at += int(i.jf)
			}
		}
		switch i.code {
		case bpfLoad:
			switch {
			case i.k == offsetNumber:
				accumulator = c.number
			case i.k == offsetArch:
				accumulator = c.arch
			default:
				accumulator = uint32(c.arguments[(i.k-offsetArguments)/8])
			}
		case bpfAnd:
			accumulator &= i.k
		case bpfJumpEqual:
			jump(accumulator == i.k)
		case bpfJumpAbove:
			jump(accumulator > i.k)
		case bpfJumpAnySet:
			jump(accumulator&i.k != 0)
		case bpfReturn:
			return i.k
		default:
			t.Fatalf("instruction %#x", i.code)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

const (
	refused = actionErrno | uint32(syscall.EPERM)
	unknown = actionErrno | uint32(syscall.ENOSYS)
)

func TestTheFilterAllowsWhatIsListedAndNothingElse(t *testing.T) {
	program := serviceFilter()
	listed := append(slices.Clone(commonCalls), architectureCalls...)
	byArgument := []uintptr{syscall.SYS_CLONE, syscall.SYS_SOCKET, syscall.SYS_SOCKETPAIR, syscall.SYS_IOCTL, syscall.SYS_PRCTL, sysClone3}
	for number := range uintptr(600) {
		want := uint32(refused)
		switch {
		case slices.Contains(byArgument, number):
			continue
		case slices.Contains(listed, number):
			want = actionAllow
		case number > newestCall:
			want = unknown
		}
		if got := decide(t, program, call{number: uint32(number), arch: auditArch}); got != want {
			t.Errorf("call %d: %#x, want %#x", number, got, want)
		}
	}
}

func TestTheFilterReadsArguments(t *testing.T) {
	const thread = syscall.CLONE_VM | syscall.CLONE_FS | syscall.CLONE_FILES | syscall.CLONE_SIGHAND | syscall.CLONE_THREAD
	for _, test := range []struct {
		name      string
		number    uintptr
		arguments [6]uint64
		want      uint32
	}{
		{"a thread", syscall.SYS_CLONE, [6]uint64{thread}, actionAllow},
		{"a process", syscall.SYS_CLONE, [6]uint64{uint64(syscall.SIGCHLD)}, refused},
		{"a thread in a user namespace", syscall.SYS_CLONE, [6]uint64{thread | syscall.CLONE_NEWUSER}, refused},
		{"a thread in a cgroup namespace", syscall.SYS_CLONE, [6]uint64{thread | cloneNewcgroup}, refused},
		{"clone3", sysClone3, [6]uint64{}, unknown},
		{"a unix socket", syscall.SYS_SOCKET, [6]uint64{syscall.AF_UNIX, syscall.SOCK_STREAM}, actionAllow},
		{"a pair of unix sockets", syscall.SYS_SOCKETPAIR, [6]uint64{syscall.AF_UNIX, syscall.SOCK_STREAM | syscall.SOCK_CLOEXEC}, actionAllow},
		{"a pair of another family", syscall.SYS_SOCKETPAIR, [6]uint64{30, syscall.SOCK_STREAM}, refused},
		{"a TCP socket", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET6, syscall.SOCK_STREAM}, actionAllow},
		{"a TCP socket with flags", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET, syscall.SOCK_STREAM | syscall.SOCK_CLOEXEC | syscall.SOCK_NONBLOCK, syscall.IPPROTO_TCP}, actionAllow},
		{"a UDP socket", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET, syscall.SOCK_DGRAM | syscall.SOCK_CLOEXEC, syscall.IPPROTO_UDP}, actionAllow},
		{"a UDP socket by default", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET6, syscall.SOCK_DGRAM}, actionAllow},
		{"SCTP", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET, syscall.SOCK_STREAM, syscall.IPPROTO_SCTP}, refused},
		{"SCTP by its type", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET6, syscall.SOCK_SEQPACKET | syscall.SOCK_CLOEXEC}, refused},
		{"DCCP by its type", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET, 6}, refused},
		{"UDP-Lite", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET, syscall.SOCK_DGRAM, 136}, refused},
		{"MPTCP", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET6, syscall.SOCK_STREAM, 262}, refused},
		{"L2TP", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET, syscall.SOCK_DGRAM, 115}, refused},
		{"ICMP", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET, syscall.SOCK_DGRAM, 1}, refused},
		{"raw packets of IP", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET, syscall.SOCK_RAW, syscall.IPPROTO_TCP}, refused},
		{"addresses by netlink", syscall.SYS_SOCKET, [6]uint64{syscall.AF_NETLINK, syscall.SOCK_RAW, syscall.NETLINK_ROUTE}, actionAllow},
		{"nftables by netlink", syscall.SYS_SOCKET, [6]uint64{syscall.AF_NETLINK, syscall.SOCK_RAW, syscall.NETLINK_NETFILTER}, refused},
		{"packets", syscall.SYS_SOCKET, [6]uint64{syscall.AF_PACKET, syscall.SOCK_RAW}, refused},
		{"vsock", syscall.SYS_SOCKET, [6]uint64{40, syscall.SOCK_STREAM}, refused},
		{"the size of a terminal", syscall.SYS_IOCTL, [6]uint64{0, syscall.TIOCGWINSZ}, actionAllow},
		{"the settings of a terminal", syscall.SYS_IOCTL, [6]uint64{1, syscall.TCGETS}, actionAllow},
		{"other settings for a terminal", syscall.SYS_IOCTL, [6]uint64{1, syscall.TCSETS}, refused},
		{"other settings for a terminal, after its output", syscall.SYS_IOCTL, [6]uint64{1, 0x402c542c}, refused},
		{"input of a terminal", syscall.SYS_IOCTL, [6]uint64{0, tiocsti}, refused},
		{"input of a terminal, upper half set", syscall.SYS_IOCTL, [6]uint64{0, 1<<32 | tiocsti}, refused},
		{"a thread's name", syscall.SYS_PRCTL, [6]uint64{15}, actionAllow},
		{"ambient capabilities", syscall.SYS_PRCTL, [6]uint64{prCapAmbient, 2, 1}, refused},
		{"who may trace it", syscall.SYS_PRCTL, [6]uint64{0x59616d61}, refused},
	} {
		if got := decide(t, serviceFilter(), call{uint32(test.number), auditArch, test.arguments}); got != test.want {
			t.Errorf("%s: %#x, want %#x", test.name, got, test.want)
		}
	}
}

func TestCallsOfAnotherABIEndTheProgram(t *testing.T) {
	// A number that is harmless here may be another call there.
	for name, c := range map[string]call{
		"32-bit ARM": {number: syscall.SYS_READ, arch: 0x40000028},
		"32-bit x86": {number: syscall.SYS_READ, arch: 0x40000003},
		"x32":        {number: x32Bit | syscall.SYS_READ, arch: auditArch},
	} {
		if got := decide(t, serviceFilter(), c); got != actionKill {
			t.Errorf("%s: %#x", name, got)
		}
	}
}
