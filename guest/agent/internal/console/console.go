// Package console writes log lines to the console of the machine.
package console

import (
	"fmt"
	"os"
	"strings"
)

// Log prints one event with its fields as key="value".
func Log(event string, fields ...any) {
	var b strings.Builder
	b.WriteString("mayfly: " + event)
	for i := 0; i+1 < len(fields); i += 2 {
		fmt.Fprintf(&b, " %v=%q", fields[i], fmt.Sprint(fields[i+1]))
	}
	b.WriteByte('\n')
	os.Stderr.WriteString(b.String())
}

// Fatal logs an event like Log, and also to the kernel log, which reaches every console of the kernel.
func Fatal(event string, fields ...any) {
	Log(event, fields...)
	if f, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0); err == nil {
		fmt.Fprintf(f, "<2>mayfly: %s %v\n", event, fields)
		f.Close()
	}
}

// Redirect sends standard output and error to /dev/console, or to /dev/null if there is no console.
func Redirect() {
	for _, name := range []string{"/dev/console", "/dev/null"} {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			continue
		}
		os.Stdout, os.Stderr = f, f
		return
	}
}
