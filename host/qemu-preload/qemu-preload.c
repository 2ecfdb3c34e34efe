// Preloaded into QEMU.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// A restored machine maps the RAM of its template privately, from a file that it may only read. QEMU gives memory that the guest reports
// as free back to the host in two steps: it punches a hole into the file, then it drops its own copy of the pages. It refuses both for a
// file that it opened read-only, although only the second is wanted here: a dropped page shows the template's content again, and the
// content of a free page does not matter. So QEMU believes to have opened the file for writing, gets a descriptor that can only read, and
// the hole is never punched. MAYFLY_RAM_FILE names the file; without it nothing changes. Only the first open is treated in this way.
static int ram_fd = -1;

static int is_ram(const char *path) {
  const char *ram = getenv("MAYFLY_RAM_FILE");
  return ram != NULL && strcmp(path, ram) == 0;
}

static int open_file(const char *path, int flags, mode_t mode) {
  if (ram_fd >= 0 || !is_ram(path)) return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  ram_fd = syscall(SYS_openat, AT_FDCWD, path, (flags & ~(O_ACCMODE | O_CREAT)) | O_RDONLY, 0);
  return ram_fd;
}

static mode_t mode_of(int flags, va_list arguments) {
  return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

#define DEFINE_OPEN(name)                              \
  int name(const char *path, int flags, ...) {         \
    va_list arguments;                                 \
    va_start(arguments, flags);                        \
    mode_t mode = mode_of(flags, arguments);           \
    va_end(arguments);                                 \
    return open_file(path, flags, mode);               \
  }

DEFINE_OPEN(open)
DEFINE_OPEN(open64)

// The names that a compiler with checks of arguments uses.
int __open_2(const char *path, int flags) { return open_file(path, flags, 0); }
int __open64_2(const char *path, int flags) { return open_file(path, flags, 0); }

int fallocate(int fd, int mode, off_t offset, off_t length) {
  if (fd >= 0 && fd == ram_fd) return 0;
  return syscall(SYS_fallocate, fd, mode, offset, length);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t length) { return fallocate(fd, mode, offset, length); }

#ifdef __aarch64__
// QEMU aligns every translated block to the instruction cache line that sysconf() names. Linux works around an erratum of the
// Neoverse N1 by naming a whole page (4096), and then each block takes two pages: the translation buffer holds a few percent of what
// it could, and caches and TLBs thrash (a command takes eight times as long). The line of every arm64 CPU that runs Linux is at
// least 64 bytes, and QEMU uses this number for nothing but that alignment; it flushes caches by the CPU's own register.
extern long __sysconf(int name);

long sysconf(int name) { return name == _SC_LEVEL1_ICACHE_LINESIZE ? 64 : __sysconf(name); }
#endif
