// mayfly-net answers the name lookups of machines. It listens in their network namespaces, asks the host's resolvers and
// opens the addresses of the names that an allow-list contains. It exits when the service closes its standard input.
package main

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"mayfly/net/internal/control"
	"mayfly/net/internal/machine"
	"mayfly/net/internal/upstream"
)

func main() {
	resolvConf := flag.String("resolv-conf", "/etc/resolv.conf", "file that lists the host's resolvers")
	refuse := flag.String("refuse", "", "comma-separated IPv4 ranges whose addresses are left out of answers")
	lookups := flag.Float64("lookups-per-second", 500, "lookups of all machines together")
	flag.Parse()
	if err := serve(*resolvConf, *refuse, *lookups); err != nil {
		fmt.Fprintln(os.Stderr, "mayfly-net:", err)
		os.Exit(1)
	}
}

func serve(resolvConf, refuse string, lookups float64) error {
	shared := &machine.Shared{Servers: upstream.NewServers(resolvConf), Rate: machine.NewTotalRate(lookups)}
	for text := range strings.SplitSeq(refuse, ",") {
		if text == "" {
			continue
		}
		refused, err := netip.ParsePrefix(text)
		if err != nil {
			return err
		}
		shared.Refused = append(shared.Refused, refused)
	}
	return control.New(shared).Serve(os.Stdin, os.Stdout)
}
