package seccomp

// Numbers of calls that no filter allows.
const (
	sysBpf            = 321
	sysUserfaultfd    = 323
	sysPerfEventOpen  = 298
	sysProcessVMReadv = 310
	sysSetns          = 308
	sysFanotifyInit   = 300
	sysNameToHandleAt = 303
	sysOpenByHandleAt = 304
	sysFinitModule    = 313
	sysExecveat       = 322
	sysKcmp           = 312
)
