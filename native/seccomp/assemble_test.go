package seccomp

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
)

func TestRulesDecideAsTheirConditionsSay(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		r := randomRule(random)
		program := policy{rules: []rule{r}, allowed: []uintptr{syscall.SYS_READ}}.assemble()
		for range 50 {
			c := call{number: uint32(r.number), arch: auditArch}
			for index := range c.arguments {
				c.arguments[index] = random.Uint64N(8)
			}
			want := uint32(actionRefuse)
			if slices.ContainsFunc(r.cases, func(conditions []condition) bool { return allHold(conditions, c) }) {
				want = actionAllow
			}
			if got := decide(t, program, c); got != want {
				t.Fatalf("%+v of %+v: %#x, want %#x", c, r, got, want)
			}
		}
		if got := decide(t, program, call{number: syscall.SYS_READ, arch: auditArch}); got != actionAllow {
			t.Fatalf("the call behind %+v: %#x", r, got)
		}
	}
}

func randomRule(random *rand.Rand) rule {
	r := rule{number: syscall.SYS_SOCKET}
	for range 1 + random.IntN(3) {
		var conditions []condition
		for range 1 + random.IntN(3) {
			c := condition{argument: random.Uint32N(6), mask: wholeArgument, except: random.IntN(2) == 0}
			if random.IntN(2) == 0 {
				c.mask = random.Uint32N(8)
			}
			for range 1 + random.IntN(4) {
				c.values = append(c.values, random.Uint32N(8))
			}
			conditions = append(conditions, c)
		}
		r.cases = append(r.cases, conditions)
	}
	return r
}

func allHold(conditions []condition, c call) bool {
	return !slices.ContainsFunc(conditions, func(one condition) bool {
		return slices.Contains(one.values, uint32(c.arguments[one.argument])&one.mask) == one.except
	})
}

func TestAJumpThatIsTooFarIsNotCutOff(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a rule with 300 values was assembled")
		}
	}()
	policy{rules: []rule{when(syscall.SYS_IOCTL, isNot(1, make([]uint32, 300)...))}}.assemble()
}

func TestCallsOfAnotherABIEndTheProgram(t *testing.T) {
	// A number that is harmless here may be another call there.
	for name, c := range map[string]call{
		"32-bit ARM": {number: syscall.SYS_READ, arch: 0x40000028},
		"32-bit x86": {number: syscall.SYS_READ, arch: 0x40000003},
		"x32":        {number: x32Bit | syscall.SYS_READ, arch: auditArch},
	} {
		for filter, program := range map[string]Program{"QEMU": QEMU(), "resolver": Resolver(1), "service": Service()} {
			if got := decide(t, program, c); got != actionKill {
				t.Errorf("%s, %s: %#x", filter, name, got)
			}
		}
	}
}
