// mayfly-net answers the name lookups of machines. It listens inside their network namespaces, asks the host's resolvers and
// opens what an allow-list of domains allows. The service owns it: it ends when its standard input does.
package main

import (
	"flag"
	"fmt"
	"os"

	"mayfly/net/internal/control"
	"mayfly/net/internal/upstream"
)

func main() {
	resolvConf := flag.String("resolv-conf", "/etc/resolv.conf", "which resolvers to ask")
	flag.Parse()
	if err := control.New(upstream.NewServers(*resolvConf)).Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mayfly-net:", err)
		os.Exit(1)
	}
}
