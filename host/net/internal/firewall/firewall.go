// Package firewall changes the nftables rules of a machine's network namespace.
package firewall

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"mayfly/net/internal/wire"
)

// nftTimeout is how long nft may take.
const nftTimeout = 10 * time.Second

// Apply runs one nft transaction in the namespace at a path.
func Apply(netnsPath, transaction string) error {
	ctx, cancel := context.WithTimeout(context.Background(), nftTimeout)
	defer cancel()
	nft := exec.CommandContext(ctx, "nsenter", "--net="+netnsPath, "nft", "-f", "-")
	nft.Stdin = strings.NewReader(transaction)
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
