package seccomp

import (
	"slices"
	"syscall"
	"testing"
)

func TestTheServiceMayCallWhatIsListedAndNothingElse(t *testing.T) {
	allowed := slices.Concat(commonCalls, architectureCalls, []uintptr{syscall.SYS_SENDFILE, syscall.SYS_SPLICE, syscall.SYS_TEE})
	byArgument := []uintptr{syscall.SYS_CLONE, syscall.SYS_SOCKET, syscall.SYS_SOCKETPAIR, syscall.SYS_IOCTL, syscall.SYS_PRCTL}
	checkNumbers(t, Service(), allowed, []uintptr{sysClone3}, byArgument)
}

func TestArgumentsOfTheService(t *testing.T) {
	checkArguments(t, Service(), []argumentTest{
		{"a thread", syscall.SYS_CLONE, [6]uint64{thread}, actionAllow},
		{"a process", syscall.SYS_CLONE, [6]uint64{uint64(syscall.SIGCHLD)}, actionRefuse},
		{"a thread in a user namespace", syscall.SYS_CLONE, [6]uint64{thread | syscall.CLONE_NEWUSER}, actionRefuse},
		{"a thread in a cgroup namespace", syscall.SYS_CLONE, [6]uint64{thread | cloneNewcgroup}, actionRefuse},
		{"clone3", sysClone3, [6]uint64{}, actionAbsent},
		{"a unix socket", syscall.SYS_SOCKET, [6]uint64{syscall.AF_UNIX, syscall.SOCK_STREAM}, actionAllow},
		{"a pair of unix sockets", syscall.SYS_SOCKETPAIR, [6]uint64{syscall.AF_UNIX, syscall.SOCK_STREAM | syscall.SOCK_CLOEXEC}, actionAllow},
		{"a pair of another family", syscall.SYS_SOCKETPAIR, [6]uint64{30, syscall.SOCK_STREAM}, actionRefuse},
		{"a TCP socket", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET6, syscall.SOCK_STREAM}, actionAllow},
		{"a TCP socket with flags", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET, syscall.SOCK_STREAM | syscall.SOCK_CLOEXEC | syscall.SOCK_NONBLOCK, syscall.IPPROTO_TCP}, actionAllow},
		{"a UDP socket", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET, syscall.SOCK_DGRAM | syscall.SOCK_CLOEXEC, syscall.IPPROTO_UDP}, actionAllow},
		{"a UDP socket by default", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET6, syscall.SOCK_DGRAM}, actionAllow},
		{"SCTP", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET, syscall.SOCK_STREAM, syscall.IPPROTO_SCTP}, actionRefuse},
		{"SCTP by its type", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET6, syscall.SOCK_SEQPACKET | syscall.SOCK_CLOEXEC}, actionRefuse},
		{"DCCP by its type", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET, 6}, actionRefuse},
		{"UDP-Lite", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET, syscall.SOCK_DGRAM, 136}, actionRefuse},
		{"MPTCP", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET6, syscall.SOCK_STREAM, 262}, actionRefuse},
		{"L2TP", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET, syscall.SOCK_DGRAM, 115}, actionRefuse},
		{"ICMP", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET, syscall.SOCK_DGRAM, 1}, actionRefuse},
		{"raw packets of IP", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET, syscall.SOCK_RAW, syscall.IPPROTO_TCP}, actionRefuse},
		{"addresses by netlink", syscall.SYS_SOCKET, [6]uint64{syscall.AF_NETLINK, syscall.SOCK_RAW, syscall.NETLINK_ROUTE}, actionAllow},
		{"nftables by netlink", syscall.SYS_SOCKET, [6]uint64{syscall.AF_NETLINK, syscall.SOCK_RAW, syscall.NETLINK_NETFILTER}, actionRefuse},
		{"packets", syscall.SYS_SOCKET, [6]uint64{syscall.AF_PACKET, syscall.SOCK_RAW}, actionRefuse},
		{"vsock", syscall.SYS_SOCKET, [6]uint64{40, syscall.SOCK_STREAM}, actionRefuse},
		{"the size of a terminal", syscall.SYS_IOCTL, [6]uint64{0, syscall.TIOCGWINSZ}, actionAllow},
		{"the settings of a terminal", syscall.SYS_IOCTL, [6]uint64{1, syscall.TCGETS}, actionAllow},
		{"other settings for a terminal", syscall.SYS_IOCTL, [6]uint64{1, syscall.TCSETS}, actionRefuse},
		{"other settings for a terminal, after its output", syscall.SYS_IOCTL, [6]uint64{1, 0x402c542c}, actionRefuse},
		{"input of a terminal", syscall.SYS_IOCTL, [6]uint64{0, tiocsti}, actionRefuse},
		{"input of a terminal, upper half set", syscall.SYS_IOCTL, [6]uint64{0, 1<<32 | tiocsti}, actionRefuse},
		{"a thread's name", syscall.SYS_PRCTL, [6]uint64{15}, actionAllow},
		{"ambient capabilities", syscall.SYS_PRCTL, [6]uint64{47, 2, 1}, actionRefuse},
		{"who may trace it", syscall.SYS_PRCTL, [6]uint64{0x59616d61}, actionRefuse},
	})
}
