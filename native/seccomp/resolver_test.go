package seccomp

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

func TestTheResolverCanUseOnlyTheGivenSockets(t *testing.T) {
	child := exec.Command("/proc/self/exe")
	child.Env = []string{asConfined + "=resolver"}
	output, err := child.CombinedOutput()
	t.Logf("%s", output)
	if err != nil {
		t.Fatal(err)
	}
	if allowed := strings.Count(string(output), ": allowed"); allowed != 0 {
		t.Fatalf("%d forbidden calls were allowed", allowed)
	}
	if !strings.Contains(string(output), "served: pong") || !strings.Contains(string(output), "Seccomp 2, NoNewPrivs 1") {
		t.Fatal("the process could not do its work")
	}
}

// tryAsResolver opens its sockets, confines itself, and prints what it can still do.
func tryAsResolver() {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	must(err)
	packets, err := net.ListenPacket("udp4", "127.0.0.1:0")
	must(err)
	client, err := net.Dial("tcp4", listener.Addr().String())
	must(err)
	status, err := os.Open("/proc/self/status")
	must(err)
	must(Resolver(os.Getpid()).InstallOnProcess())
	fd := uintptr(0)
	raw, err := packets.(*net.UDPConn).SyscallConn()
	must(err)
	must(raw.Control(func(number uintptr) { fd = number }))
	path := append([]byte("/etc/hostname"), 0)
	address := [16]byte{2, 0, 0, 53, 127, 0, 0, 1}
	text := uintptr(unsafe.Pointer(&path[0]))
	peer := uintptr(unsafe.Pointer(&address))
	here := ^uintptr(99) // AT_FDCWD
	for _, call := range []struct {
		name      string
		number    uintptr
		arguments [4]uintptr
	}{
		{"open a file", syscall.SYS_OPENAT, [4]uintptr{here, text, 0}},
		{"make a socket", syscall.SYS_SOCKET, [4]uintptr{syscall.AF_INET, syscall.SOCK_DGRAM}},
		{"make a netlink socket", syscall.SYS_SOCKET, [4]uintptr{syscall.AF_NETLINK, syscall.SOCK_RAW}},
		{"connect elsewhere", syscall.SYS_CONNECT, [4]uintptr{fd, peer, 16}},
		{"bind", syscall.SYS_BIND, [4]uintptr{fd, peer, 16}},
		{"listen", syscall.SYS_LISTEN, [4]uintptr{fd, 1}},
		{"send a descriptor", syscall.SYS_SENDMSG, [4]uintptr{fd}},
		{"set a socket option", syscall.SYS_SETSOCKOPT, [4]uintptr{fd, syscall.SOL_SOCKET, syscall.SO_BROADCAST, peer}},
		{"connect while sending", syscall.SYS_SENDTO, [4]uintptr{fd, peer, 1, 0x20000000}},
		{"read an option of TCP", syscall.SYS_GETSOCKOPT, [4]uintptr{fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, peer}},
		{"control a device", syscall.SYS_IOCTL, [4]uintptr{fd, 0x8912}},
		{"start a program", syscall.SYS_EXECVE, [4]uintptr{text}},
		{"fork", syscall.SYS_CLONE, [4]uintptr{uintptr(syscall.SIGCHLD)}},
		{"leave a namespace", syscall.SYS_UNSHARE, [4]uintptr{syscall.CLONE_NEWUSER}},
		{"signal the parent", syscall.SYS_KILL, [4]uintptr{uintptr(syscall.Getppid())}},
		{"signal a thread of the parent", syscall.SYS_TGKILL, [4]uintptr{uintptr(syscall.Getppid()), uintptr(syscall.Getppid())}},
		{"trace the parent", syscall.SYS_PTRACE, [4]uintptr{16, uintptr(syscall.Getppid())}},
		{"mount", syscall.SYS_MOUNT, [4]uintptr{text, text, text}},
		{"change its identity", syscall.SYS_SETUID, [4]uintptr{0}},
		{"survive the parent", syscall.SYS_PRCTL, [4]uintptr{1, 0}},
		{"map code", syscall.SYS_MMAP, [4]uintptr{0, 4096, 7, 0x22}},
		{"raise a limit", syscall.SYS_SETRLIMIT, [4]uintptr{syscall.RLIMIT_DATA, peer}},
		{"own signals of a descriptor", syscall.SYS_FCNTL, [4]uintptr{fd, syscall.F_SETOWN, uintptr(syscall.Getppid())}},
		{"use keys", syscall.SYS_KEYCTL, [4]uintptr{}},
		{"load a program into the kernel", sysBpf, [4]uintptr{}},
	} {
		_, _, errno := syscall.Syscall6(call.number, call.arguments[0], call.arguments[1], call.arguments[2], call.arguments[3], 0, 0)
		if errno == syscall.EPERM {
			fmt.Printf("%s: refused\n", call.name)
		} else {
			fmt.Printf("%s: allowed (%v)\n", call.name, errno)
		}
	}
	serve(listener, client)
	printStatus(status)
}

// serve shows that Go's own machinery works: threads, timers, the poller and garbage collection.
func serve(listener net.Listener, client net.Conn) {
	go func() {
		conn, err := listener.Accept()
		must(err)
		_, err = conn.Write([]byte("pong"))
		must(err)
	}()
	must(client.SetDeadline(time.Now().Add(time.Minute)))
	answer := make([]byte, 4)
	_, err := client.Read(answer)
	must(err)
	done := make(chan int)
	for range 64 {
		go func() {
			garbage := 0
			for range 1000 {
				garbage += len(make([]byte, 64<<10))
			}
			time.Sleep(time.Millisecond)
			done <- garbage
		}()
	}
	for range 64 {
		<-done
	}
	fmt.Printf("served: %s\n", answer)
}

func printStatus(status *os.File) {
	text := make([]byte, 1<<16)
	length, _ := status.Read(text)
	fields := map[string]string{}
	for line := range strings.Lines(string(text[:length])) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.TrimSpace(value)
	}
	fmt.Printf("Seccomp %s, NoNewPrivs %s\n", fields["Seccomp"], fields["NoNewPrivs"])
}

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
