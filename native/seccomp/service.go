package seccomp

import (
	"slices"
	"syscall"
)

// Service returns the filter of the service: what Node with HTTP, TLS, SQLite, PostgreSQL and worker threads uses. The service starts threads, but
// no processes.
func Service() Program {
	return policy{
		allowed: slices.Concat(commonCalls, architectureCalls, []uintptr{syscall.SYS_SENDFILE, syscall.SYS_SPLICE, syscall.SYS_TEE}),
		rules:   []rule{threadsOnly, knownSockets, unixPairs, mostDevices, when(syscall.SYS_PRCTL, is(0, harmlessPrctls...))},
		missing: uncheckable,
	}.assemble()
}

// knownSockets allows unix, TCP and UDP sockets, and of netlink the protocol in which the C library asks for the host's addresses.
// It excludes nftables, packets, the kernel's cryptography, vsock and Bluetooth, and of the internet's protocols those whose modules the kernel
// would load, for example SCTP and L2TP.
var knownSockets = rule{syscall.SYS_SOCKET, [][]condition{
	{is(0, syscall.AF_UNIX)},
	{
		is(0, syscall.AF_INET, syscall.AF_INET6),
		masked(1, socketTypeMask, syscall.SOCK_STREAM, syscall.SOCK_DGRAM),
		is(2, 0, syscall.IPPROTO_TCP, syscall.IPPROTO_UDP),
	},
	{is(0, syscall.AF_NETLINK), is(2, syscall.NETLINK_ROUTE)},
}}

// socketTypeMask leaves out the flags in the upper bits of a socket's type.
const socketTypeMask = 0xf
