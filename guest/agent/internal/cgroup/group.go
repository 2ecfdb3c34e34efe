package cgroup

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// Group is the cgroup of one command.
type Group struct {
	tree   *Tree
	dir    string // empty if there is no cgroup; the session of leader is used instead
	fd     int
	leader int
}

// Enter makes a process that is started with attr start in the group.
func (g *Group) Enter(attr *syscall.SysProcAttr) {
	if g.fd >= 0 {
		attr.UseCgroupFD, attr.CgroupFD = true, g.fd
	}
}

// Started records the first process of the group. Enter must not be used after it.
func (g *Group) Started(leader int) {
	g.leader = leader
	g.closeFD()
}

func (g *Group) closeFD() {
	if g.fd >= 0 {
		syscall.Close(g.fd)
		g.fd = -1
	}
}

// Kill kills every process of the group atomically, including those that are being forked.
func (g *Group) Kill() {
	if g.dir == "" {
		g.signalLeader(syscall.SIGKILL)
		return
	}
	if f, err := os.OpenFile(g.dir+"/cgroup.kill", os.O_WRONLY, 0); err == nil {
		f.WriteString("1")
		f.Close()
	}
}

// Signal sends sig to every process of the group. It does nothing if there is none.
func (g *Group) Signal(sig syscall.Signal) {
	if sig == syscall.SIGKILL {
		g.Kill()
		return
	}
	if g.dir == "" {
		g.signalLeader(sig)
		return
	}
	// The descriptor of a process never refers to another one. A process that is listed after it was opened, and still lives when it
	// gets the signal, is in the group: its id was not reused in between.
	opened := map[int]*os.Process{}
	for _, pid := range g.pids() {
		if process, err := os.FindProcess(pid); err == nil {
			defer process.Release()
			opened[pid] = process
		}
	}
	for _, pid := range g.pids() {
		if process := opened[pid]; process != nil {
			process.Signal(sig)
		}
	}
}

// pids lists the processes of the group.
func (g *Group) pids() []int {
	var pids []int
	procs, _ := os.ReadFile(g.dir + "/cgroup.procs")
	for _, line := range bytes.Fields(procs) {
		if pid, err := strconv.Atoi(string(line)); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (g *Group) signalLeader(sig syscall.Signal) {
	if g.leader > 1 {
		syscall.Kill(-g.leader, sig)
	}
}

// OOMKilled reports whether the OOM killer killed a process of the group.
func (g *Group) OOMKilled() bool {
	if g.dir == "" {
		return false
	}
	events, _ := os.ReadFile(g.dir + "/memory.events")
	for _, line := range bytes.Split(events, []byte{'\n'}) {
		if n, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
			return !bytes.Equal(n, []byte("0"))
		}
	}
	return false
}

// Release removes the group, immediately or once its background processes have ended.
func (g *Group) Release() {
	g.closeFD()
	if g.dir != "" && syscall.Rmdir(g.dir) == syscall.EBUSY {
		g.tree.removeLater(g.dir)
	}
}
