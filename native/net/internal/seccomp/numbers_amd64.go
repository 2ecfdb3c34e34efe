package seccomp

const (
	architecture = architectureLE | 62 // AUDIT_ARCH_X86_64
	// firstForeignNumber begins the calls of the x32 interface.
	firstForeignNumber = 0x40000000

	sysSeccomp   = 317
	sysGetrandom = 318
)
