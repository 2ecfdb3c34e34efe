package initsys

import (
	"errors"
	"os"
	"strings"
)

// sysctls in the order in which they are set. IPv6 stays enabled on loopback, where a server of the user may listen.
var sysctls = [][2]string{
	{"kernel/dmesg_restrict", "1"},
	{"kernel/kptr_restrict", "2"},
	{"kernel/unprivileged_bpf_disabled", "1"},
	{"kernel/panic_on_oops", "1"},
	{"kernel/panic", "-1"},
	{"kernel/sysrq", "0"},
	{"kernel/core_pattern", "core"},
	{"kernel/yama/ptrace_scope", "1"},
	{"fs/protected_hardlinks", "1"},
	{"fs/protected_symlinks", "1"},
	{"fs/protected_fifos", "1"},
	{"fs/protected_regular", "1"},
	{"net/ipv4/ip_unprivileged_port_start", "0"},
	{"net/ipv4/ping_group_range", "0 2147483647"},
	{"net/ipv6/conf/all/disable_ipv6", "1"},
	{"net/ipv6/conf/default/disable_ipv6", "1"},
	{"net/ipv6/conf/lo/disable_ipv6", "0"},
}

// setSysctls sets the sysctls that the kernel supports.
func setSysctls() error {
	var failures []error
	for _, s := range sysctls {
		f, err := os.OpenFile("/proc/sys/"+s[0], os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(s[1])
			f.Close()
		}
		if err != nil && !os.IsNotExist(err) {
			failures = append(failures, errors.New(strings.ReplaceAll(s[0], "/", ".")+": "+err.Error()))
		}
	}
	return errors.Join(failures...)
}
