// Package names decides which names a machine may look up.
package names

import (
	"fmt"
	"strings"
)

// Mode is the kind of policy.
type Mode string

// The modes: every name, no name, or the names of a list.
const (
	All  Mode = "all"
	None Mode = "none"
	List Mode = "list"
)

// Policy decides which names may be looked up. It is immutable.
type Policy struct {
	mode    Mode
	exact   map[string]bool
	parents map[string]bool
}

// New creates a policy. A pattern is a lower-case name without the trailing dot. A leading "*." matches every name below.
func New(mode Mode, patterns []string) (*Policy, error) {
	if mode != All && mode != None && mode != List {
		return nil, fmt.Errorf("unknown mode: %q", mode)
	}
	policy := &Policy{mode: mode, exact: map[string]bool{}, parents: map[string]bool{}}
	for _, pattern := range patterns {
		if parent, ok := strings.CutPrefix(pattern, "*."); ok {
			policy.parents[parent] = true
		} else {
			policy.exact[pattern] = true
		}
	}
	return policy, nil
}

// Mode returns the mode of the policy.
func (p *Policy) Mode() Mode { return p.mode }

// Allows reports whether a name may be looked up. The name is in lower case, without the trailing dot.
func (p *Policy) Allows(name string) bool {
	if p.mode != List {
		return p.mode == All
	}
	if p.exact[name] {
		return true
	}
	for rest := name; ; {
		_, parent, ok := strings.Cut(rest, ".")
		if !ok {
			return false
		}
		if p.parents[parent] {
			return true
		}
		rest = parent
	}
}
