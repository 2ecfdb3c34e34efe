package main

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"
)

func networkAttempts(given targets) []attempt {
	attempts := []attempt{}
	for _, what := range sortedKeys(given.Connect) {
		attempts = append(attempts, attempt{"connect to " + what, func() error { return connectUnix(given.Connect[what]) }})
	}
	for _, path := range []string{"/run/docker.sock", "/run/dbus/system_bus_socket", "/run/systemd/private", "/run/containerd/containerd.sock"} {
		attempts = append(attempts, attempt{"connect to " + path, func() error { return connectUnix(path) }})
	}
	return append(attempts,
		attempt{"change nftables", func() error { return open(syscall.AF_NETLINK, syscall.SOCK_RAW, syscall.NETLINK_NETFILTER) }},
		attempt{"talk to the audit system", func() error { return open(syscall.AF_NETLINK, syscall.SOCK_RAW, syscall.NETLINK_AUDIT) }},
		attempt{"listen to kernel events", func() error { return open(syscall.AF_NETLINK, syscall.SOCK_RAW, syscall.NETLINK_KOBJECT_UEVENT) }},
		attempt{"read packets", func() error { return open(syscall.AF_PACKET, syscall.SOCK_RAW, 0) }},
		attempt{"send raw packets", func() error { return open(syscall.AF_INET, syscall.SOCK_RAW, syscall.IPPROTO_ICMP) }},
		attempt{"use the kernel's cryptography", func() error { return open(38, syscall.SOCK_SEQPACKET, 0) }},
		attempt{"reach guests by vsock", func() error { return open(40, syscall.SOCK_STREAM, 0) }},
		attempt{"add a route", addRoute},
		attempt{"change a network interface", bringLoopbackDown},
		attempt{"mark packets", func() error { return setOption(syscall.SOL_SOCKET, syscall.SO_MARK) }},
		attempt{"take others' connections", func() error { return setOption(syscall.SOL_IP, syscall.IP_TRANSPARENT) }},
		attempt{"listen on a privileged port", func() error { return listen(79) }},
	)
}

func open(family, kind, protocol int) error {
	fd, err := syscall.Socket(family, kind, protocol)
	if err == nil {
		syscall.Close(fd)
	}
	return err
}

func connectUnix(path string) error {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
}

func listen(port int) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	return syscall.Listen(fd, 1)
}

func setOption(level, option int) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return syscall.SetsockoptInt(fd, level, option, 1)
}

// bringLoopbackDown clears the flags of the loopback interface, or fails.
func bringLoopbackDown() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	request := [40]byte{'l', 'o'}
	return call(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request)))
}

// addRoute asks the kernel for a route to 203.0.113.0/24 through the loopback interface, and returns what it answers.
func addRoute() error {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW, syscall.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	message := struct {
		header  syscall.NlMsghdr
		route   syscall.RtMsg
		to      syscall.RtAttr
		address [4]byte
		through syscall.RtAttr
		index   uint32
	}{
		header:  syscall.NlMsghdr{Type: syscall.RTM_NEWROUTE, Flags: syscall.NLM_F_REQUEST | syscall.NLM_F_ACK | syscall.NLM_F_CREATE},
		route:   syscall.RtMsg{Family: syscall.AF_INET, Dst_len: 24, Table: syscall.RT_TABLE_MAIN, Protocol: syscall.RTPROT_BOOT, Type: syscall.RTN_UNICAST},
		to:      syscall.RtAttr{Len: 8, Type: syscall.RTA_DST},
		address: [4]byte{203, 0, 113, 0},
		through: syscall.RtAttr{Len: 8, Type: syscall.RTA_OIF},
		index:   1,
	}
	message.header.Len = uint32(unsafe.Sizeof(message))
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&message)), unsafe.Sizeof(message))
	if err := syscall.Sendto(fd, bytes, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	count, _, err := syscall.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if count < syscall.SizeofNlMsghdr+4 {
		return errors.New("short answer")
	}
	if code := *(*int32)(unsafe.Pointer(&answer[syscall.SizeofNlMsghdr])); code != 0 {
		return fmt.Errorf("kernel: %w", syscall.Errno(-code))
	}
	return nil
}
