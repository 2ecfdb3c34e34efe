// Package identity gives a restored machine its own clock, entropy, hostname and machine id.
package identity

import (
	"encoding/hex"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"mayfly/agent/internal/fault"
)

// Identity is the identity that the host assigns to the machine.
type Identity struct {
	UnixNs      string `json:"unix_ns"`
	Entropy     []byte `json:"entropy"`
	Hostname    string `json:"hostname"`
	MachineID   string `json:"machine_id"`
	ExpiresAtMs int64  `json:"expires_at_ms"`
}

// Machine is what an identity is applied to. Tests use a fake.
type Machine interface {
	SetClock(time.Time) error
	AddEntropy([]byte) error
	SetHostname(string) error
}

// validHostname accepts 1 to 64 letters, digits, dots and dashes. The first and last character must be a letter or digit.
func validHostname(name string) bool {
	for i := range len(name) {
		c := name[i]
		inner := (c == '-' || c == '.') && i > 0 && i < len(name)-1
		if !inner && !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 64
}

// Apply applies the identity to the machine and to the files in root. It is idempotent.
func (i *Identity) Apply(m Machine, root string) error {
	if !validHostname(i.Hostname) {
		return fault.New("bad_request", "hostname is invalid")
	}
	if id, err := hex.DecodeString(i.MachineID); err != nil || len(id) != 16 {
		return fault.New("bad_request", "machine_id must be 32 hex digits")
	}
	if err := ApplyClock(m, i.UnixNs, i.Entropy); err != nil {
		return err
	}
	if err := m.SetHostname(i.Hostname); err != nil {
		return err
	}
	for name, content := range map[string]string{
		"/etc/hostname":   i.Hostname + "\n",
		"/etc/machine-id": i.MachineID + "\n",
		"/etc/hosts":      "127.0.0.1\tlocalhost\n127.0.1.1\t" + i.Hostname + "\n::1\tlocalhost ip6-localhost ip6-loopback\n",
	} {
		if err := replace(root+name, content); err != nil {
			return err
		}
	}
	return nil
}

// ApplyClock sets the clock and adds entropy.
func ApplyClock(m Machine, unixNs string, entropy []byte) error {
	ns, err := strconv.ParseInt(unixNs, 10, 64)
	if err != nil || ns <= 0 {
		return fault.New("bad_request", "unix_ns must be a positive number")
	}
	if len(entropy) < 32 || len(entropy) > 64 {
		return fault.New("bad_request", "entropy must be 32 to 64 bytes")
	}
	if err := m.AddEntropy(entropy); err != nil {
		return err
	}
	return m.SetClock(time.Unix(0, ns))
}

// replace overwrites a file in place. Renaming is not possible, because init bind-mounts these files individually.
func replace(name, content string) error {
	return os.WriteFile(name, []byte(content), 0o644)
}

// Kernel is the machine that the agent runs on.
type Kernel struct{}

// SetClock sets CLOCK_REALTIME.
func (Kernel) SetClock(t time.Time) error {
	ts := syscall.NsecToTimespec(t.UnixNano())
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_SETTIME, 0, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return os.NewSyscallError("clock_settime", errno)
	}
	return nil
}

// SetHostname sets the hostname of the kernel.
func (Kernel) SetHostname(name string) error {
	return os.NewSyscallError("sethostname", syscall.Sethostname([]byte(name)))
}

const (
	rndAddEntropy = 0x40085203
	rndReseedCRNG = 0x5207
)

// AddEntropy adds bytes to the kernel's random number generator, credits them and reseeds it.
func (Kernel) AddEntropy(b []byte) error {
	f, err := os.OpenFile("/dev/urandom", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var pool struct {
		bits, bytes int32
		data        [64]byte
	}
	pool.bits, pool.bytes = int32(8*len(b)), int32(copy(pool.data[:], b))
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), rndAddEntropy, uintptr(unsafe.Pointer(&pool))); errno != 0 {
		return os.NewSyscallError("RNDADDENTROPY", errno)
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), rndReseedCRNG, 0); errno != 0 {
		return os.NewSyscallError("RNDRESEEDCRNG", errno)
	}
	return nil
}
