// mayfly-net answers the name lookups of machines. It listens in their network namespaces, asks the host's resolvers and
// opens the addresses of the names that an allow-list contains. It exits when the service closes its standard input.
package main

import (
	"flag"
	"fmt"
	"os"

	"mayfly/net/internal/control"
	"mayfly/net/internal/upstream"
)

func main() {
	resolvConf := flag.String("resolv-conf", "/etc/resolv.conf", "file that lists the host's resolvers")
	flag.Parse()
	if err := control.New(upstream.NewServers(*resolvConf)).Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mayfly-net:", err)
		os.Exit(1)
	}
}
