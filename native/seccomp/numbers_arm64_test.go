package seccomp

// Numbers of calls that no filter allows.
const (
	sysBpf            = 280
	sysUserfaultfd    = 282
	sysPerfEventOpen  = 241
	sysProcessVMReadv = 270
	sysSetns          = 268
	sysFanotifyInit   = 262
	sysNameToHandleAt = 264
	sysOpenByHandleAt = 265
	sysFinitModule    = 273
	sysExecveat       = 281
	sysKcmp           = 272
)
