package main

// Numbers that the syscall package does not have on every architecture.
const (
	sysSetns      = 308
	sysCloseRange = 436
)
