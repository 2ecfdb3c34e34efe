package initsys

import (
	"errors"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// The guest end of the machine's network, which is the same in every machine.
var (
	address = [4]byte{10, 213, 0, 2}
	netmask = [4]byte{255, 255, 255, 252}
	gateway = [4]byte{10, 213, 0, 1}
)

// configureNetwork brings up the loopback interface, and eth0 if it exists.
func configureNetwork() error {
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(s)
	if err := bringUp(s, "lo"); err != nil {
		return err
	}
	if _, err := os.Stat("/sys/class/net/eth0"); err != nil {
		return nil
	}
	steps := []error{setAddress(s, syscall.SIOCSIFADDR, "eth0", address), setAddress(s, syscall.SIOCSIFNETMASK, "eth0", netmask), bringUp(s, "eth0"), addDefaultRoute(s)}
	os.Remove("/etc/resolv.conf") // may be a dangling symlink
	steps = append(steps, os.WriteFile("/etc/resolv.conf", []byte("nameserver "+net.IP(gateway[:]).String()+"\n"), 0o644))
	return errors.Join(steps...)
}

// socketAddress is struct sockaddr_in.
type socketAddress struct {
	family uint16
	port   uint16
	ip     [4]byte
	_      [8]byte
}

type interfaceAddress struct {
	name    [16]byte
	address socketAddress
	_       [8]byte
}

type interfaceFlags struct {
	name  [16]byte
	flags uint16
	_     [22]byte
}

// routeEntry is struct rtentry on 64-bit machines.
type routeEntry struct {
	_                uint64
	to, via, netmask socketAddress
	flags            uint16
	_                [46]byte
	_                [16]byte
}

func setAddress(s int, request uintptr, name string, ip [4]byte) error {
	r := interfaceAddress{address: socketAddress{family: syscall.AF_INET, ip: ip}}
	copy(r.name[:15], name)
	return ioctl(s, request, unsafe.Pointer(&r))
}

func bringUp(s int, name string) error {
	r := interfaceFlags{flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	copy(r.name[:15], name)
	return ioctl(s, syscall.SIOCSIFFLAGS, unsafe.Pointer(&r))
}

func addDefaultRoute(s int) error {
	any := socketAddress{family: syscall.AF_INET}
	via := any
	via.ip = gateway
	r := routeEntry{to: any, via: via, netmask: any, flags: syscall.RTF_UP | syscall.RTF_GATEWAY}
	err := ioctl(s, syscall.SIOCADDRT, unsafe.Pointer(&r))
	if errors.Is(err, syscall.EEXIST) {
		return nil
	}
	return err
}

func ioctl(fd int, request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request, uintptr(argument)); errno != 0 {
		return os.NewSyscallError("ioctl", errno)
	}
	return nil
}
