package main

// Numbers that the syscall package does not have on every architecture.
const (
	sysSetns         = 268
	sysCloseRange    = 436
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
)

// auditArch is how the kernel names this architecture to a filter.
const auditArch = 0xc00000b7

// x32Bit marks the calls of an ABI that only x86 has.
const x32Bit = 0x40000000

// architectureCalls are calls that only some architectures have: none here.
var architectureCalls []uintptr
