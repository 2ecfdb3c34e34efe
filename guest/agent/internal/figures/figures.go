// Package figures measures the machine.
package figures

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

// Figures is one measurement; all counters only grow.
type Figures struct {
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

// Register adds the figures request to mux; group is the folder of the user's control group.
func Register(mux *http.ServeMux, group string) {
	mux.HandleFunc("GET /figures", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("content-type", "application/json")
		json.NewEncoder(w).Encode(Measure(group))
	})
}

// Measure reads the figures; one that cannot be read is 0.
func Measure(group string) (f Figures) {
	f.CPU.Count = runtime.NumCPU()
	cpu := table(group + "/cpu.stat")
	f.CPU.UserUs, f.CPU.SystemUs = cpu["user_usec"], cpu["system_usec"]
	memory := table("/proc/meminfo")
	f.Memory.Total, f.Memory.Available = memory["MemTotal:"]<<10, memory["MemAvailable:"]<<10
	var fs syscall.Statfs_t
	if syscall.Statfs("/", &fs) == nil {
		f.Disk.Total, f.Disk.Free = int64(fs.Blocks)*int64(fs.Bsize), int64(fs.Bavail)*int64(fs.Bsize)
	}
	f.Network.Rx = number("/sys/class/net/eth0/statistics/rx_bytes")
	f.Network.Tx = number("/sys/class/net/eth0/statistics/tx_bytes")
	f.Processes = number(group + "/pids.current")
	f.UptimeMs = UptimeMs()
	f.UnixNs = strconv.FormatInt(time.Now().UnixNano(), 10)
	return f
}

// UptimeMs is the time since the kernel started.
func UptimeMs() int64 {
	b, _ := os.ReadFile("/proc/uptime")
	first, _, _ := bytes.Cut(b, []byte{' '})
	s, _ := strconv.ParseFloat(string(first), 64)
	return int64(s * 1000)
}

// table reads a file of lines `name number ...`.
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
