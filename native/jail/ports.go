package main

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// port is a TCP port that is opened for a program. It gets the listening socket as systemd passes one: descriptors from 3 on, LISTEN_FDS says how many
// and LISTEN_FDNAMES which. Several may have the same name.
type port struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	// Port is 0 for any free port, or for the number that the port before it with the same name got.
	Port uint16 `json:"port"`
	// Optional ports are left out if they cannot be opened: a name may stand for addresses that the host does not have.
	Optional bool `json:"optional"`
}

const (
	firstPassedFd = 3
	maxPorts      = 8
	// backlog is what Node asks for.
	backlog = 511
)

var portName = regexp.MustCompile(`^[a-z]{1,16}$`)

func checkPorts(ports []port) error {
	if len(ports) > maxPorts {
		return fmt.Errorf("%d ports, at most %d are possible", len(ports), maxPorts)
	}
	for _, p := range ports {
		if address, err := netip.ParseAddr(p.Address); err != nil || address.Zone() != "" || !portName.MatchString(p.Name) {
			return fmt.Errorf("port %q on %s:%d", p.Name, p.Address, p.Port)
		}
	}
	return nil
}

// openPorts listens on the ports, on descriptors from 3 on, and returns the names of those that are open. Below 1024 it needs root.
func openPorts(ports []port) ([]string, error) {
	names := []string{}
	chosen := map[string]uint16{}
	for _, p := range ports {
		if p.Port == 0 {
			p.Port = chosen[p.Name]
		}
		fd := firstPassedFd + len(names)
		if err := openPort(p, fd); err != nil {
			if p.Optional {
				continue
			}
			return nil, fmt.Errorf("%s port %d: %w", p.Address, p.Port, err)
		}
		names = append(names, p.Name)
		if bound, err := boundPort(fd); err == nil && chosen[p.Name] == 0 {
			chosen[p.Name] = bound
		}
	}
	return names, nil
}

// boundPort is the port that a socket listens on.
func boundPort(fd int) (uint16, error) {
	name, err := syscall.Getsockname(fd)
	switch address := name.(type) {
	case *syscall.SockaddrInet4:
		return uint16(address.Port), err
	case *syscall.SockaddrInet6:
		return uint16(address.Port), err
	}
	return 0, err
}

func openPort(p port, fd int) error {
	address := netip.MustParseAddr(p.Address)
	family := syscall.AF_INET6
	var name syscall.Sockaddr = &syscall.SockaddrInet6{Port: int(p.Port), Addr: address.As16()}
	if address.Is4() {
		family, name = syscall.AF_INET, &syscall.SockaddrInet4{Port: int(p.Port), Addr: address.As4()}
	}
	low, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	own, err := aboveInherited(low)
	if err != nil {
		return err
	}
	defer syscall.Close(own)
	if err := syscall.SetsockoptInt(own, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return err
	}
	if family == syscall.AF_INET6 {
		// As Node does: "::" accepts IPv4 as well, whatever the host's default is.
		if err := syscall.SetsockoptInt(own, syscall.IPPROTO_IPV6, syscall.IPV6_V6ONLY, 0); err != nil {
			return err
		}
	}
	if err := syscall.Bind(own, name); err != nil {
		return err
	}
	if err := syscall.Listen(own, backlog); err != nil {
		return err
	}
	return passOn(own, fd)
}

// passedFds are the descriptors that a program inherits with this many sockets.
func passedFds(count int) []int {
	var fds []int
	for index := range count {
		fds = append(fds, firstPassedFd+index)
	}
	return fds
}

// portEnvironment tells the program about its sockets. It is process 1 of its PID namespace.
func portEnvironment(names []string) map[string]string {
	return map[string]string{"LISTEN_PID": "1", "LISTEN_FDS": strconv.Itoa(len(names)), "LISTEN_FDNAMES": strings.Join(names, ":")}
}
