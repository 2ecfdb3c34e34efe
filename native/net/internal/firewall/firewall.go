// Package firewall changes the nftables rules of a machine's network namespace.
package firewall

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"mayfly/net/internal/wire"
)

// Timeout is how long a transaction may take.
const Timeout = 5 * time.Second

// Apply runs one nft transaction in the namespace at a path. A transaction that has not taken effect when this process ends never does.
func Apply(netnsPath, transaction string) error {
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	nft := exec.CommandContext(ctx, "nsenter", "--net="+netnsPath, "nft", "-f", "-")
	nft.Stdin = strings.NewReader(transaction)
	// The signal is sent when the thread ends that started the program.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	nft.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if output, err := nft.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, strings.TrimSpace(string(output)))
	}
	return nil
}

// Open returns the part of a transaction that allows connections to entries. nft keeps the old timeout of an element
// that exists, so each element is added, deleted and added again.
func Open(entries []wire.Entry) string {
	var text strings.Builder
	for _, entry := range entries {
		timed := fmt.Sprintf("%s timeout %ds", entry.IP, int(entry.For/time.Second))
		fmt.Fprintf(&text, "add element inet mayfly resolved { %s }\n", timed)
		fmt.Fprintf(&text, "delete element inet mayfly resolved { %s }\n", entry.IP)
		fmt.Fprintf(&text, "add element inet mayfly resolved { %s }\n", timed)
	}
	return text.String()
}
