package main

// sysSetns is missing in the syscall package of some architectures.
const sysSetns = 268
