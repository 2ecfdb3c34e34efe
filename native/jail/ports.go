package main

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// port is a TCP port that the service may not open itself, because it is below 1024. It gets the listening socket as systemd passes one:
// descriptors from 3 on, LISTEN_FDS says how many and LISTEN_FDNAMES which.
type port struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Port    uint16 `json:"port"`
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
		if address, err := netip.ParseAddr(p.Address); err != nil || address.Zone() != "" || p.Port == 0 || !portName.MatchString(p.Name) {
			return fmt.Errorf("port %q on %s:%d", p.Name, p.Address, p.Port)
		}
	}
	return nil
}

// openPorts listens on the ports, on descriptors from 3 on. It needs root.
func openPorts(ports []port) error {
	for index, p := range ports {
		if err := openPort(p, firstPassedFd+index); err != nil {
			return fmt.Errorf("%s port %d: %w", p.Address, p.Port, err)
		}
	}
	return nil
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

// passedFds are the descriptors that the program inherits.
func passedFds(ports []port) []int {
	var fds []int
	for index := range ports {
		fds = append(fds, firstPassedFd+index)
	}
	return fds
}

// portEnvironment tells the program about its sockets. It is process 1 of its PID namespace.
func portEnvironment(ports []port) map[string]string {
	var names []string
	for _, p := range ports {
		names = append(names, p.Name)
	}
	return map[string]string{"LISTEN_PID": "1", "LISTEN_FDS": strconv.Itoa(len(ports)), "LISTEN_FDNAMES": strings.Join(names, ":")}
}
