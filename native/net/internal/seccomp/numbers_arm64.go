package seccomp

const (
	architecture = architectureLE | 183 // AUDIT_ARCH_AARCH64
	// firstForeignNumber is above all calls.
	firstForeignNumber = 0x40000000

	sysSeccomp   = 277
	sysGetrandom = 278
)
