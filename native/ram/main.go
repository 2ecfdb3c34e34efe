// mayfly-ram turns the memory that QEMU saved into what a snapshot keeps of it: a layer with the pages that differ from the parent's, a plan
// that says which layer has which page, and the device state. It needs no privileges: all files are inherited descriptors, given by number.
// The saved file is untrusted, because a compromised QEMU may have written it.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"

	"mayfly/ram/internal/extract"
	"mayfly/ram/internal/plan"
)

// version is set when the program is built.
var version = "development"

const usage = `usage:
  mayfly-ram plan --ram FD --ram-bytes N --out FD
  mayfly-ram extract --saved FD --ram-bytes N --parent-state FD --parent-plan FD --layer FD [--layer FD ...] --keep K
                     --out-layer FD --out-plan FD --out-state FD
  mayfly-ram version`

// The exit codes. A caller can free space and repeat after noSpaceCode.
const (
	failedCode  = 1
	usageCode   = 2
	noSpaceCode = 3
)

// The program needs a few MiB; the limit makes the garbage collector keep to that.
const memoryLimit = 32 << 20

func main() {
	debug.SetMemoryLimit(memoryLimit)
	commands := map[string]func([]string) error{"plan": makePlan, "extract": makeSnapshot, "version": printVersion}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(usageCode)
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "mayfly-ram:", err)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			os.Exit(noSpaceCode)
		}
		os.Exit(failedCode)
	}
}

func printVersion([]string) error {
	fmt.Println(version)
	return nil
}

func makePlan(arguments []string) error {
	flags := flag.NewFlagSet("mayfly-ram plan", flag.ExitOnError)
	ram := descriptor(flags, "ram", "the template's RAM file")
	ramBytes := flags.Uint64("ram-bytes", 0, "bytes of the machine's RAM")
	out := descriptor(flags, "out", "an empty file for the plan")
	_ = flags.Parse(arguments)
	if err := requireAll(flags); err != nil {
		return err
	}
	made, err := plan.OfSparseFile(*ram, *ramBytes, plan.Unit())
	if err != nil {
		return err
	}
	return made.Write(*out)
}

func makeSnapshot(arguments []string) error {
	var files extract.Files
	flags := flag.NewFlagSet("mayfly-ram extract", flag.ExitOnError)
	for _, file := range []struct {
		target      **os.File
		name, usage string
	}{
		{&files.Saved, "saved", "QEMU's migration file with mapped RAM"},
		{&files.ParentState, "parent-state", "the parent's device state"},
		{&files.ParentPlan, "parent-plan", "the parent's plan"},
		{&files.OutLayer, "out-layer", "an empty file for the new layer"},
		{&files.OutPlan, "out-plan", "an empty file for the new plan"},
		{&files.OutState, "out-state", "an empty file for the new device state"},
	} {
		descriptorInto(flags, file.target, file.name, file.usage)
	}
	flags.Func("layer", "a layer of the parent, from layer 0 upward", func(text string) error {
		file, err := openDescriptor("layer", text)
		files.Layers = append(files.Layers, file)
		return err
	})
	ramBytes := flags.Uint64("ram-bytes", 0, "bytes of the machine's RAM")
	keep := flags.Uint("keep", 0, "how many layers of the parent the new plan may use")
	_ = flags.Parse(arguments)
	if err := requireAll(flags); err != nil {
		return err
	}
	result, err := extract.Run(files, extract.Settings{RAMBytes: *ramBytes, Keep: *keep, Unit: plan.Unit(), MaxExtents: plan.MaxExtents})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func descriptor(flags *flag.FlagSet, name, usage string) **os.File {
	file := new(*os.File)
	descriptorInto(flags, file, name, usage)
	return file
}

func descriptorInto(flags *flag.FlagSet, target **os.File, name, usage string) {
	flags.Func(name, usage, func(text string) error {
		file, err := openDescriptor(name, text)
		*target = file
		return err
	})
}

// openDescriptor accepts an inherited descriptor of a regular file.
func openDescriptor(name, text string) (*os.File, error) {
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number < 3 {
		return nil, errors.New("expected the number of an inherited descriptor, 3 or more")
	}
	file := os.NewFile(uintptr(number), name)
	if file == nil {
		return nil, fmt.Errorf("descriptor %d is not open", number)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("descriptor %d: %w", number, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("descriptor %d is not a regular file", number)
	}
	return file, nil
}

// requireAll refuses a command line that lacks an option; none has a useful default.
func requireAll(flags *flag.FlagSet) error {
	given := map[string]bool{}
	flags.Visit(func(option *flag.Flag) { given[option.Name] = true })
	var missing error
	flags.VisitAll(func(option *flag.Flag) {
		if !given[option.Name] && missing == nil {
			missing = fmt.Errorf("--%s is missing\n%s", option.Name, usage)
		}
	})
	if missing == nil && flags.NArg() > 0 {
		missing = fmt.Errorf("unexpected argument %q\n%s", flags.Arg(0), usage)
	}
	return missing
}
