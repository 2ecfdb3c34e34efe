// Preloaded into QEMU on arm64 hosts without KVM.
// QEMU aligns every translated block to the instruction cache line that sysconf() names. Linux works around an erratum of the
// Neoverse N1 by naming a whole page (4096), and then each block takes two pages: the translation buffer holds a few percent of what
// it could, and caches and TLBs thrash (a command takes eight times as long). The line of every arm64 CPU that runs Linux is at
// least 64 bytes, and QEMU uses this number for nothing but that alignment; it flushes caches by the CPU's own register.
#include <unistd.h>

extern long __sysconf(int name);

long sysconf(int name) { return name == _SC_LEVEL1_ICACHE_LINESIZE ? 64 : __sysconf(name); }
