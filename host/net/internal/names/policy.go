// Package names decides which names a machine may look up.
package names

import (
	"fmt"
	"strings"
)

// Mode is the kind of a policy.
type Mode string

// The kinds: every name, no name, or the names of a list.
const (
	All  Mode = "all"
	None Mode = "none"
	List Mode = "list"
)

// Policy is immutable once made.
type Policy struct {
	mode    Mode
	exact   map[string]bool
	parents map[string]bool
}

// New makes a policy. A pattern is a name in lower case without a final dot, or "*." and a name for everything below it.
func New(mode Mode, patterns []string) (*Policy, error) {
	if mode != All && mode != None && mode != List {
		return nil, fmt.Errorf("no such mode: %q", mode)
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

// Mode is the policy's kind.
func (p *Policy) Mode() Mode { return p.mode }

// Allows says whether a name in lower case without a final dot may be looked up.
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
