package seccomp

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

func TestQEMUMayCallWhatIsListedAndNothingElse(t *testing.T) {
	byArgument := []uintptr{syscall.SYS_CLONE, syscall.SYS_SOCKET, syscall.SYS_SOCKETPAIR, syscall.SYS_IOCTL, syscall.SYS_PRCTL}
	absent := []uintptr{sysClone3, sysIoUringSetup, sysIoUringEnter, sysIoUringRegister}
	checkNumbers(t, QEMU(), slices.Concat(commonCalls, architectureCalls, qemuCalls), absent, byArgument)
}

func TestArgumentsOfQEMU(t *testing.T) {
	checkArguments(t, QEMU(), []argumentTest{
		{"a thread", syscall.SYS_CLONE, [6]uint64{thread}, actionAllow},
		{"a process", syscall.SYS_CLONE, [6]uint64{uint64(syscall.SIGCHLD)}, actionRefuse},
		{"a process that borrows the memory", syscall.SYS_CLONE, [6]uint64{syscall.CLONE_VM | syscall.CLONE_VFORK | uint64(syscall.SIGCHLD)}, actionRefuse},
		{"a thread in a network namespace", syscall.SYS_CLONE, [6]uint64{thread | syscall.CLONE_NEWNET}, actionRefuse},
		{"a unix socket", syscall.SYS_SOCKET, [6]uint64{syscall.AF_UNIX, syscall.SOCK_STREAM | syscall.SOCK_CLOEXEC}, actionAllow},
		{"a TCP socket", syscall.SYS_SOCKET, [6]uint64{syscall.AF_INET, syscall.SOCK_STREAM}, actionRefuse},
		{"a netlink socket", syscall.SYS_SOCKET, [6]uint64{syscall.AF_NETLINK, syscall.SOCK_RAW}, actionRefuse},
		{"a pair of unix sockets", syscall.SYS_SOCKETPAIR, [6]uint64{syscall.AF_UNIX, syscall.SOCK_STREAM}, actionAllow},
		{"a pair of another family", syscall.SYS_SOCKETPAIR, [6]uint64{30, syscall.SOCK_STREAM}, actionRefuse},
		{"a run of a vCPU", syscall.SYS_IOCTL, [6]uint64{0, kvmRun}, actionAllow},
		{"the tap", syscall.SYS_IOCTL, [6]uint64{0, syscall.TUNSETIFF}, actionAllow},
		{"input of a terminal", syscall.SYS_IOCTL, [6]uint64{0, tiocsti}, actionRefuse},
		{"exact timers", syscall.SYS_PRCTL, [6]uint64{syscall.PR_SET_TIMERSLACK, 1}, actionAllow},
		{"its own filter", syscall.SYS_PRCTL, [6]uint64{prSetSeccomp, seccompModeFilter}, actionAllow},
		{"ambient capabilities", syscall.SYS_PRCTL, [6]uint64{47, 2, 1}, actionRefuse},
		{"who may trace it", syscall.SYS_PRCTL, [6]uint64{0x59616d61}, actionRefuse},
	})
}

const kvmRun = 0xae80

func TestATakenOverQEMUIsRefusedAndAGoodOneWorks(t *testing.T) {
	child := exec.Command("/proc/self/exe")
	child.Env = []string{asConfined + "=qemu", "MAYFLY_TEST_FOLDER=" + t.TempDir()}
	// The shell fails, because it cannot start a process.
	output, err := child.CombinedOutput()
	t.Logf("%s", output)
	if strings.Contains(string(output), "WRONG") {
		t.Error("not every call had the expected result")
	}
	if !strings.Contains(string(output), "Seccomp 2, NoNewPrivs 1") || !strings.Contains(string(output), "another program runs") {
		t.Error("the process could not do its work")
	}
	if err == nil || strings.Contains(string(output), "a third one, too") {
		t.Error("the other program started a process")
	}
}

// tryAsQEMU installs the filter and prints what it can still do. The last thing is to become another program.
func tryAsQEMU() {
	status, err := os.Open("/proc/self/status")
	must(err)
	must(QEMU().InstallOnProcess())
	for _, attempt := range qemuAttempts {
		arguments := [6]uintptr{}
		copy(arguments[:], attempt.arguments)
		_, _, errno := syscall.Syscall6(attempt.number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5])
		verdict := "as expected"
		if errno != attempt.want {
			verdict = "WRONG"
		}
		fmt.Printf("%s: %s (%v)\n", attempt.name, verdict, errno)
	}
	useFiles(os.Getenv("MAYFLY_TEST_FOLDER"))
	useUnixSockets(os.Getenv("MAYFLY_TEST_FOLDER"))
	useTimers()
	// As QEMU installs its own.
	must(QEMU().InstallOnProcess())
	printStatus(status)
	shell := "/bin/sh"
	must(syscall.Exec(shell, []string{shell, "-c", "echo another program runs; (echo a third one, too)"}, nil))
}

const invalid = ^uintptr(0)

var unixFds [2]int32

// qemuAttempts are harmless if they are allowed, also for root: their arguments are invalid then, or change nothing.
var qemuAttempts = []struct {
	name      string
	number    uintptr
	want      syscall.Errno
	arguments []uintptr
}{
	{"io_uring", sysIoUringSetup, syscall.ENOSYS, nil},
	{"a process with flags in memory", sysClone3, syscall.ENOSYS, nil},
	{"a call that is newer than the filter", newestCall + 1, syscall.ENOSYS, nil},
	{"a process", syscall.SYS_CLONE, syscall.EPERM, []uintptr{syscall.CLONE_SIGHAND}},
	{"a process in a user namespace", syscall.SYS_CLONE, syscall.EPERM, []uintptr{syscall.CLONE_NEWUSER | syscall.CLONE_FS}},
	{"a program by its descriptor", sysExecveat, syscall.EPERM, []uintptr{invalid}},
	{"BPF", sysBpf, syscall.EPERM, []uintptr{invalid}},
	{"page faults", sysUserfaultfd, syscall.EPERM, []uintptr{invalid}},
	{"tracing", syscall.SYS_PTRACE, syscall.EPERM, []uintptr{invalid}},
	{"the memory of others", sysProcessVMReadv, syscall.EPERM, nil},
	{"comparing processes", sysKcmp, syscall.EPERM, nil},
	{"performance events", sysPerfEventOpen, syscall.EPERM, nil},
	{"a mount", syscall.SYS_MOUNT, syscall.EPERM, nil},
	{"a mount by the new calls", 429, syscall.EPERM, []uintptr{invalid, 0, invalid}},
	{"another root", syscall.SYS_CHROOT, syscall.EPERM, nil},
	{"a device node", syscall.SYS_MKNODAT, syscall.EPERM, []uintptr{invalid}},
	{"new namespaces", syscall.SYS_UNSHARE, syscall.EPERM, nil},
	{"another namespace", sysSetns, syscall.EPERM, []uintptr{invalid}},
	{"a keyring", syscall.SYS_KEYCTL, syscall.EPERM, []uintptr{invalid}},
	{"a key", syscall.SYS_ADD_KEY, syscall.EPERM, nil},
	{"a kernel module", sysFinitModule, syscall.EPERM, []uintptr{invalid}},
	{"another kernel", syscall.SYS_KEXEC_LOAD, syscall.EPERM, []uintptr{0, 0, 0, invalid}},
	{"a reboot", syscall.SYS_REBOOT, syscall.EPERM, nil},
	{"swap", syscall.SYS_SWAPON, syscall.EPERM, nil},
	{"another personality", syscall.SYS_PERSONALITY, syscall.EPERM, []uintptr{0xffffffff}},
	{"quotas", syscall.SYS_QUOTACTL, syscall.EPERM, []uintptr{invalid}},
	{"the handle of a file", sysNameToHandleAt, syscall.EPERM, []uintptr{invalid}},
	{"a file by its handle", sysOpenByHandleAt, syscall.EPERM, []uintptr{invalid}},
	{"all events of files", sysFanotifyInit, syscall.EPERM, []uintptr{invalid}},
	{"another user", syscall.SYS_SETRESUID, syscall.EPERM, []uintptr{invalid, invalid, invalid}},
	{"the host's clock", syscall.SYS_CLOCK_SETTIME, syscall.EPERM, []uintptr{invalid}},
	{"pages between pipes", syscall.SYS_SPLICE, syscall.EPERM, []uintptr{invalid, 0, invalid}},
	{"System V memory", syscall.SYS_SHMGET, syscall.EPERM, []uintptr{invalid, invalid}},
	{"a TCP socket", syscall.SYS_SOCKET, syscall.EPERM, []uintptr{syscall.AF_INET, syscall.SOCK_STREAM}},
	{"a TCP socket of IPv6", syscall.SYS_SOCKET, syscall.EPERM, []uintptr{syscall.AF_INET6, syscall.SOCK_STREAM}},
	{"a netlink socket", syscall.SYS_SOCKET, syscall.EPERM, []uintptr{syscall.AF_NETLINK, syscall.SOCK_RAW}},
	{"packets", syscall.SYS_SOCKET, syscall.EPERM, []uintptr{syscall.AF_PACKET, syscall.SOCK_RAW}},
	{"vsock", syscall.SYS_SOCKET, syscall.EPERM, []uintptr{40, syscall.SOCK_STREAM}},
	{"input of a terminal", syscall.SYS_IOCTL, syscall.EPERM, []uintptr{invalid, tiocsti}},
	{"ambient capabilities", syscall.SYS_PRCTL, syscall.EPERM, []uintptr{47, 4}},
	// The kernel sees these, and refuses only the descriptor.
	{"a run of a vCPU", syscall.SYS_IOCTL, syscall.EBADF, []uintptr{invalid, kvmRun}},
	{"the tap", syscall.SYS_IOCTL, syscall.EBADF, []uintptr{invalid, syscall.TUNSETIFF}},
	{"exact timers", syscall.SYS_PRCTL, 0, []uintptr{syscall.PR_SET_TIMERSLACK, 1}},
	{"a pair of unix sockets", syscall.SYS_SOCKETPAIR, 0, []uintptr{syscall.AF_UNIX, syscall.SOCK_STREAM, 0, uintptr(unsafe.Pointer(&unixFds))}},
	{"executable memory", syscall.SYS_MMAP, 0, []uintptr{0, 4096, syscall.PROT_READ | syscall.PROT_WRITE | syscall.PROT_EXEC, syscall.MAP_PRIVATE | syscall.MAP_ANON, invalid}},
}

func useFiles(folder string) {
	file, err := os.Create(filepath.Join(folder, "disk"))
	must(err)
	_, err = file.WriteAt([]byte("data"), 1<<20)
	must(err)
	must(file.Truncate(2 << 20))
	must(file.Sync())
	must(file.Close())
	must(os.Remove(file.Name()))
}

func useUnixSockets(folder string) {
	path := filepath.Join(folder, "s")
	listener, err := net.Listen("unix", path)
	must(err)
	client, err := net.Dial("unix", path)
	must(err)
	serve(listener, client)
}

func useTimers() {
	select {
	case <-time.After(time.Millisecond):
	case <-time.After(time.Minute):
		fmt.Println("WRONG: the timer did not fire")
	}
}
