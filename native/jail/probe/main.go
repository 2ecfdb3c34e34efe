// Command probe is started exactly as the service is and tries what a compromised service would try. It prints one JSON object per attempt.
// Tests build and run it; it is no part of Mayfly.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
)

// targets are what the test prepared, besides what every Linux host has.
type targets struct {
	// Read and Write are files and folders that must be out of reach, by what they are.
	Read  map[string]string `json:"read"`
	Write map[string]string `json:"write"`
	// Connect are unix sockets; a name that begins with @ is abstract.
	Connect map[string]string `json:"connect"`
	// Processes are ids in the host's PID namespace.
	Processes map[string]int `json:"processes"`
	// Setuid is a copy of this program that belongs to root and is setuid and setgid.
	Setuid string `json:"setuid"`
	// Allowed are attempts that must succeed: a folder to write to and a socket to connect to.
	Allowed struct {
		Folder string `json:"folder"`
		Socket string `json:"socket"`
	} `json:"allowed"`
	// Only names the attempts to make; all if it is empty.
	Only []string `json:"only"`
}

type result struct {
	Attempt string `json:"attempt"`
	// Refused says whether it failed.
	Refused bool   `json:"refused"`
	Detail  string `json:"detail"`
	// MustWork marks what the service needs.
	MustWork bool `json:"mustWork,omitempty"`
}

// attempt returns nil if it succeeded.
type attempt struct {
	name string
	do   func() error
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "identity" {
		printIdentity()
		return
	}
	if os.Getuid() == 0 {
		// Some attempts would succeed.
		fmt.Fprintln(os.Stderr, "The probe does not run as root: it tries to reboot the host, among other things.")
		os.Exit(2)
	}
	var given targets
	if err := json.Unmarshal([]byte(os.Args[1]), &given); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	groups := [][]attempt{fileAttempts(given), deviceAttempts(), processAttempts(given), privilegeAttempts(), kernelAttempts(), networkAttempts(given)}
	for _, group := range groups {
		for _, a := range group {
			if len(given.Only) == 0 || slices.Contains(given.Only, a.name) {
				report(a, false)
			}
		}
	}
	if len(given.Only) > 0 {
		return
	}
	for _, a := range allowedAttempts(given) {
		report(a, true)
	}
	if given.Setuid != "" {
		// The last one: it replaces this program by the copy, which says what it became.
		err := syscall.Exec(given.Setuid, []string{given.Setuid, "identity"}, nil)
		print(result{Attempt: "run a setuid program", Refused: true, Detail: err.Error()})
	}
}

func report(a attempt, mustWork bool) {
	err := a.do()
	r := result{Attempt: a.name, Refused: err != nil, Detail: "possible", MustWork: mustWork}
	if err != nil {
		r.Detail = err.Error()
		var errno syscall.Errno
		if errors.As(err, &errno) {
			r.Detail = errno.Error()
		}
	}
	print(r)
}

// printIdentity says what the setuid copy became.
func printIdentity() {
	status, _ := os.ReadFile("/proc/self/status")
	var capabilities []string
	for line := range strings.Lines(string(status)) {
		if name, value, _ := strings.Cut(line, ":"); strings.HasPrefix(name, "Cap") {
			capabilities = append(capabilities, name+" "+strings.TrimSpace(value))
		}
	}
	none := strings.Count(strings.Join(capabilities, ""), "0000000000000000") == 5
	refused := os.Geteuid() != 0 && os.Getegid() != 0 && none
	detail := fmt.Sprintf("it runs as uid %d, gid %d, %s", os.Geteuid(), os.Getegid(), strings.Join(capabilities, ", "))
	print(result{Attempt: "gain privileges from a setuid program", Refused: refused, Detail: detail})
}

func print(r result) {
	line, _ := json.Marshal(r)
	fmt.Println(string(line))
}

// call makes a system call and returns its error.
func call(number uintptr, arguments ...uintptr) error {
	var a [6]uintptr
	copy(a[:], arguments)
	if _, _, errno := syscall.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}
