// mayfly-net answers the name lookups of machines. It consists of two processes: the broker, which the host process starts and which is root,
// opens sockets in the machines' network namespaces and the addresses of the names that an allow-list contains; the resolver, which has
// no privileges, reads the packets of guests and name servers. Both exit when the host process closes the broker's standard input.
package main

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"

	"mayfly/net/internal/broker"
	"mayfly/net/internal/control"
	"mayfly/net/internal/machine"
	"mayfly/net/internal/nameservers"
	"mayfly/net/internal/resolver"
	"mayfly/net/internal/wire"
	"mayfly/seccomp"
)

// The resolver ends with the thread that started it, so that is the first one, which lives as long as the broker.
func init() { runtime.LockOSThread() }

func main() {
	run, arguments := runBroker, os.Args[1:]
	if len(arguments) > 0 && arguments[0] == resolverRole {
		run, arguments = runResolver, arguments[1:]
	}
	if err := run(arguments); err != nil {
		fmt.Fprintln(os.Stderr, "mayfly-net:", err)
		os.Exit(1)
	}
}

// resolverRole is the first argument of the resolver.
const resolverRole = "resolver"

// limits are the settings that both processes enforce.
type limits struct {
	refused []netip.Prefix
	lookups float64
}

func (l *limits) define(flags *flag.FlagSet) {
	flags.Float64Var(&l.lookups, "lookups-per-second", 500, "lookups of all machines together")
	flags.Func("refuse", "comma-separated IPv4 ranges whose addresses are left out of answers", func(text string) error {
		for part := range strings.SplitSeq(text, ",") {
			if part == "" {
				continue
			}
			refused, err := netip.ParsePrefix(part)
			if err != nil {
				return err
			}
			l.refused = append(l.refused, refused)
		}
		return nil
	})
}

func (l *limits) arguments() []string {
	var ranges []string
	for _, refused := range l.refused {
		ranges = append(ranges, refused.String())
	}
	return []string{"-refuse", strings.Join(ranges, ","), "-lookups-per-second", strconv.FormatFloat(l.lookups, 'g', -1, 64)}
}

func runBroker(arguments []string) error {
	var shared limits
	flags := flag.NewFlagSet("mayfly-net", flag.ExitOnError)
	shared.define(flags)
	resolvConf := flags.String("resolv-conf", "/etc/resolv.conf", "file that lists the host's resolvers")
	jailPath := flags.String("jail", "", "the mayfly-jail program")
	uid := flags.Uint("uid", 0, "user and group of the resolver, which no other process may have")
	_ = flags.Parse(arguments)
	if *uid == 0 || *uid >= 1<<32-1 {
		return fmt.Errorf("%d cannot be the resolver's user", *uid)
	}
	user := uint32(*uid)
	program, err := os.Executable()
	if err != nil {
		return err
	}
	process, err := broker.Start(broker.Confinement{
		JailPath: *jailPath, UID: user, Program: program, Argv: append([]string{resolverRole}, shared.arguments()...),
	})
	if err != nil {
		return err
	}
	host := broker.Root{Servers: nameservers.New(*resolvConf), UID: user}
	root := broker.New(process.Conn, host, broker.Settings{Refused: shared.refused, LookupsPerSecond: shared.lookups})
	if err := process.AwaitConfined(root, user); err != nil {
		return fmt.Errorf("%w: %s", err, process.Stop())
	}
	ended := make(chan error, 2)
	go func() { ended <- fmt.Errorf("the connection to the resolver ended: %w", root.Run()) }()
	go func() { ended <- control.Serve(root, os.Stdin, os.Stdout) }()
	err = <-ended
	if output := process.Stop(); err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

func runResolver(arguments []string) error {
	var shared limits
	flags := flag.NewFlagSet("mayfly-net resolver", flag.ExitOnError)
	shared.define(flags)
	_ = flags.Parse(arguments)
	if err := resolver.Limit(); err != nil {
		return err
	}
	if err := seccomp.Resolver(os.Getpid()).InstallOnProcess(); err != nil {
		return err
	}
	conn, err := wire.FromFile(os.Stdin)
	if err != nil {
		return err
	}
	return resolver.New(conn, machine.Shared{Refused: shared.refused, Rate: machine.NewTotalRate(shared.lookups)}).Serve()
}
