// testguest simulates a virtual machine in tests. It opens a machine's tap as the machine's user, as QEMU does, and connects
// it to a tap in the namespace of a simulated guest. It can also send one ping, or open connections that only the host remembers.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"mayfly/net/internal/netns"
)

const (
	setInterface = 0x400454ca // TUNSETIFF
	tapFrames    = 0x0002     // IFF_TAP
	withoutInfo  = 0x1000     // IFF_NO_PI
	frameBytes   = 1 << 16
)

func main() {
	var err error
	switch {
	case len(os.Args) == 5 && os.Args[1] == "join":
		err = join(os.Args[2], os.Args[3], os.Args[4])
	case len(os.Args) == 3 && os.Args[1] == "ping":
		err = ping(os.Args[2])
	case len(os.Args) == 4 && os.Args[1] == "abandon":
		err = abandon(os.Args[2], os.Args[3])
	default:
		err = fmt.Errorf("usage: testguest join MACHINE-NETNS UID GUEST-NETNS | testguest ping ADDRESS | testguest abandon ADDRESS:PORT COUNT")
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// join copies frames between tap0 in the machine's namespace and eth0 in the guest's until it is killed.
func join(machineNetns, uid, guestNetns string) error {
	user, err := strconv.Atoi(uid)
	if err != nil {
		return err
	}
	machine, err := openTap(machineNetns, "tap0", user)
	if err != nil {
		return err
	}
	guest, err := openTap(guestNetns, "eth0", 0)
	if err != nil {
		return err
	}
	fmt.Println("joined")
	go copyFrames(machine, guest)
	return copyFrames(guest, machine)
}

func openTap(netnsPath, name string, user int) (int, error) {
	var tap int
	err := netns.Do(netnsPath, func() error {
		opened, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, uintptr(user), uintptr(user), uintptr(user)); errno != 0 {
			return errno
		}
		var request struct {
			name  [16]byte
			flags uint16
			_     [22]byte
		}
		copy(request.name[:], name)
		request.flags = tapFrames | withoutInfo
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(opened), setInterface, uintptr(unsafe.Pointer(&request)))
		runtime.KeepAlive(&request)
		if errno != 0 {
			return fmt.Errorf("%s as user %d: %w", name, user, errno)
		}
		tap = opened
		return nil
	})
	return tap, err
}

func copyFrames(from, to int) error {
	frame := make([]byte, frameBytes)
	for {
		length, err := syscall.Read(from, frame)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		_, _ = syscall.Write(to, frame[:length])
	}
}

// ping succeeds if an echo reply arrives within a second.
func ping(address string) error {
	target, err := net.ResolveIPAddr("ip4", address)
	if err != nil {
		return err
	}
	conn, err := net.DialIP("ip4:icmp", nil, target)
	if err != nil {
		return err
	}
	defer conn.Close()
	request := []byte{8, 0, 0xE5, 0xFF, 0x12, 0x00, 0, 0}
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write(request); err != nil {
		return err
	}
	answer := make([]byte, 1500)
	for {
		length, _, err := conn.ReadFromIP(answer)
		if err != nil {
			return err
		}
		if length > 0 && answer[0] == 0 {
			return nil
		}
	}
}

// abandon opens connections one after another and resets each with a packet whose TTL ends in the machine's namespace: the namespace
// forgets the connection, the host never learns that it was closed. It prints how many were opened.
func abandon(address, count string) error {
	total, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	opened := 0
	for range total {
		conn, err := net.DialTimeout("tcp4", address, time.Second)
		if err != nil {
			continue
		}
		opened++
		raw, err := conn.(*net.TCPConn).SyscallConn()
		if err != nil {
			return err
		}
		var failed error
		if err := raw.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_TTL, 1)
		}); err != nil || failed != nil {
			return fmt.Errorf("set the TTL: %w", errors.Join(err, failed))
		}
		if err := conn.(*net.TCPConn).SetLinger(0); err != nil {
			return err
		}
		conn.Close()
	}
	fmt.Println(opened)
	return nil
}
