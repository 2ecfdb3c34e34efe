package initsys

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"mayfly/agent/internal/stats"
)

const (
	groups     = "/sys/fs/cgroup"
	agentGroup = groups + "/agent"
	// UserGroup is the cgroup of all processes of the user.
	UserGroup = groups + "/user"

	controllers = "+cpu +memory +pids"
	// Per command: a fair share of CPU, however many processes others fork, and a count of OOM kills.
	commandControllers = "+cpu +memory"
	agentMemory        = 64 << 20
	maxPids            = 1200
)

// makeGroups creates the cgroups that keep the agent responsive and in memory under any load.
func makeGroups() error {
	failures := []error{write(groups+"/cgroup.subtree_control", controllers)}
	for _, dir := range []string{agentGroup, UserGroup} {
		if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
			failures = append(failures, err)
		}
	}
	return errors.Join(append(failures,
		write(UserGroup+"/cgroup.subtree_control", commandControllers),
		write(agentGroup+"/memory.min", strconv.Itoa(agentMemory)),
		write(agentGroup+"/cpu.weight", "10000"),
		write(UserGroup+"/pids.max", strconv.Itoa(maxPids)),
		write(UserGroup+"/memory.max", strconv.FormatInt(userMemory(stats.MemoryTotal()), 10)),
		write(UserGroup+"/cpu.weight", "100"),
	)...)
}

// userMemory is the memory limit of the user in bytes: the total minus 160 MiB or 3 %, whichever is more.
func userMemory(total int64) int64 {
	reserve := max(160<<20, total/100*3)
	return max(total-reserve, total/2)
}

func write(name, value string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString(value); err != nil {
		return fmt.Errorf("%s = %s: %w", name, value, err)
	}
	return nil
}
