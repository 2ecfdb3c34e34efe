package nameservers

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
)

// Address returns the address of one server, counted from 0.
func (s *Servers) Address(server int) (netip.AddrPort, error) {
	servers := s.Addresses()
	if server < 0 || server >= len(servers) {
		return netip.AddrPort{}, fmt.Errorf("the host has no name server %d", server)
	}
	return servers[server], nil
}

// Connect starts to connect to a server and returns the socket without waiting. A connection that fails later fails when it is used.
func Connect(to netip.AddrPort, network string) (*os.File, error) {
	family, address, err := socketAddress(to)
	if err != nil {
		return nil, err
	}
	kind := syscall.SOCK_DGRAM
	if network == "tcp" {
		kind = syscall.SOCK_STREAM
	}
	fd, err := syscall.Socket(family, kind|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Connect(fd, address); err != nil && err != syscall.EINPROGRESS {
		syscall.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "name server"), nil
}

func socketAddress(to netip.AddrPort) (int, syscall.Sockaddr, error) {
	if to.Addr().Is4() {
		return syscall.AF_INET, &syscall.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}, nil
	}
	zone, err := zoneID(to.Addr().Zone())
	return syscall.AF_INET6, &syscall.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16(), ZoneId: zone}, err
}

// zoneID returns the index of the interface that a link-local address names.
func zoneID(zone string) (uint32, error) {
	if zone == "" {
		return 0, nil
	}
	if index, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(index), nil
	}
	link, err := net.InterfaceByName(zone)
	if err != nil {
		return 0, err
	}
	return uint32(link.Index), nil
}
