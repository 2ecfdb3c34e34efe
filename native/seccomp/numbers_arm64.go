package seccomp

// Numbers that the syscall package does not have on every architecture.
const (
	sysNewfstatat    = 79
	sysPreadv2       = 286
	sysPwritev2      = 287
	sysStatx         = 291
	sysRenameat2     = 276
	sysCopyFileRange = 285
	sysMembarrier    = 283
	sysPkeyMprotect  = 288
	sysPkeyAlloc     = 289
	sysPkeyFree      = 290
	sysRseq          = 293
	sysGetcpu        = 168
	sysSendmmsg      = 269
	sysGetrandom     = 278
	sysMemfdCreate   = 279
	sysSchedSetattr  = 274
	sysSchedGetattr  = 275
	sysSeccomp       = 277
)

// auditArch is how the kernel names this architecture to a filter.
const auditArch = 0xc00000b7

// architectureCalls are calls that only some architectures have: none here.
var architectureCalls []uintptr
