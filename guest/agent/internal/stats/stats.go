// Package stats reports the resource usage of the machine.
package stats

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// Stats is one measurement. CPU times and network bytes are counters that only grow.
type Stats struct {
	CPU struct {
		Count    int   `json:"count"`
		UserUs   int64 `json:"user_us"`
		SystemUs int64 `json:"system_us"`
	} `json:"cpu"`
	Memory struct {
		Total     int64 `json:"total_bytes"`
		Available int64 `json:"available_bytes"`
	} `json:"memory"`
	Disk struct {
		Total int64 `json:"total_bytes"`
		Free  int64 `json:"free_bytes"`
	} `json:"disk"`
	Network struct {
		Rx int64 `json:"rx_bytes"`
		Tx int64 `json:"tx_bytes"`
	} `json:"network"`
	Processes int64  `json:"processes"`
	UptimeMs  int64  `json:"uptime_ms"`
	UnixNs    string `json:"unix_ns"`
}

// Register adds the stats request to mux. group is the directory of the user's cgroup.
func Register(mux *http.ServeMux, group string) {
	mux.HandleFunc("GET /figures", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("content-type", "application/json")
		json.NewEncoder(w).Encode(Measure(group))
	})
}

// Measure reads the stats. A value that cannot be read is 0.
func Measure(group string) (s Stats) {
	s.CPU.Count = runtime.NumCPU()
	cpu := table(group + "/cpu.stat")
	s.CPU.UserUs, s.CPU.SystemUs = cpu["user_usec"], cpu["system_usec"]
	memory := table("/proc/meminfo")
	s.Memory.Total, s.Memory.Available = memory["MemTotal:"]<<10, memory["MemAvailable:"]<<10
	var fs syscall.Statfs_t
	if syscall.Statfs("/", &fs) == nil {
		s.Disk.Total, s.Disk.Free = int64(fs.Blocks)*int64(fs.Bsize), int64(fs.Bavail)*int64(fs.Bsize)
	}
	s.Network.Rx = number("/sys/class/net/eth0/statistics/rx_bytes")
	s.Network.Tx = number("/sys/class/net/eth0/statistics/tx_bytes")
	s.Processes = number(group + "/pids.current")
	s.UptimeMs = UptimeMs()
	s.UnixNs = strconv.FormatInt(time.Now().UnixNano(), 10)
	return s
}

// UptimeMs is the time since the kernel started, in milliseconds.
func UptimeMs() int64 {
	b, _ := os.ReadFile("/proc/uptime")
	first, _, _ := bytes.Cut(b, []byte{' '})
	s, _ := strconv.ParseFloat(string(first), 64)
	return int64(s * 1000)
}

// table reads a file with lines of the form `name number ...`.
func table(name string) map[string]int64 {
	b, _ := os.ReadFile(name)
	t := map[string]int64{}
	for line := range bytes.Lines(b) {
		if fields := bytes.Fields(line); len(fields) >= 2 {
			t[string(fields[0])], _ = strconv.ParseInt(string(fields[1]), 10, 64)
		}
	}
	return t
}

func number(name string) int64 {
	b, _ := os.ReadFile(name)
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	return n
}

// MemoryTotal is the machine's memory in bytes.
func MemoryTotal() int64 { return table("/proc/meminfo")["MemTotal:"] << 10 }
