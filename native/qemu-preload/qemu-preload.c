// Preloaded into QEMU.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

// The memory of a machine can consist of several files: the template's RAM file, which is layer 0, and the layers of snapshots, which have only
// the pages that changed. MAYFLY_RAM_PLAN names a plan of which run of memory is where, MAYFLY_RAM_LAYERS the files of layer 1 and up,
// separated by colons. QEMU maps the RAM file as one private mapping; with a plan it gets private anonymous memory, and over it a private
// mapping of every run. So memory that is in no layer never takes space in the page cache, also when QEMU reads all of it. native/ram writes
// plans and describes their format. Whatever is wrong with a plan makes the mapping fail, so that QEMU does not start.
static char *ram_start;
static size_t ram_bytes;

enum { MAX_EXTENTS = 12000, MAX_LAYERS = 64, HEADER_BYTES = 24, MAX_PATH = 4096 };

// Numbers in the file are little-endian, as all CPUs that Mayfly supports.
struct plan_header {
  char magic[8];
  uint32_t layers;
  uint32_t extents;
  uint64_t ram_bytes;
};

struct plan_extent {
  uint32_t layer;
  uint32_t zero;
  uint64_t guest;
  uint64_t offset;
  uint64_t length;
};

// Fails with a line on stderr.
static int refuse(const char *reason, int error) {
  static const char prefix[] = "qemu-preload: cannot map the memory plan: ";
  if (write(2, prefix, sizeof prefix - 1) < 0 || write(2, reason, strlen(reason)) < 0 || write(2, "\n", 1) < 0) {
    // There is nowhere else to say it.
  }
  errno = error;
  return -1;
}

static int open_read_only(const char *path) { return syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC); }

static void *map_pages(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
  return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

static int read_exactly(int fd, void *buffer, size_t length, off_t offset) {
  for (size_t done = 0; done < length;) {
    ssize_t count = pread(fd, (char *)buffer + done, length - done, offset + done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return -1;
    done += count;
  }
  return 0;
}

// Layer 0 is QEMU's own descriptor.
static void close_layers(const int *layers, int count) {
  while (--count > 0) close(layers[count]);
}

// Opens the layers 1 and up. Returns how many layers there are, with layer 0, or -1.
static int open_layers(int *layers) {
  const char *paths = getenv("MAYFLY_RAM_LAYERS");
  int count = 1;
  layers[0] = ram_fd;
  while (paths != NULL && *paths != 0) {
    char path[MAX_PATH];
    size_t length = strcspn(paths, ":");
    if (count == MAX_LAYERS || length == 0 || length >= sizeof path) {
      close_layers(layers, count);
      return refuse("MAYFLY_RAM_LAYERS is not valid", EINVAL);
    }
    memcpy(path, paths, length);
    path[length] = 0;
    layers[count] = open_read_only(path);
    if (layers[count] < 0) {
      int error = errno;
      close_layers(layers, count);
      return refuse("a layer cannot be opened", error);
    }
    count++;
    paths += length;
    if (*paths == ':') paths++;
  }
  return count;
}

// Maps the extents over the anonymous memory at address.
static int map_extents(int plan, char *address, size_t length, int protection, int flags, const int *layers, uint32_t layer_count) {
  struct plan_header header;
  if (read_exactly(plan, &header, HEADER_BYTES, 0) != 0) return refuse("the plan is too short", EINVAL);
  if (memcmp(header.magic, "MFRAM001", sizeof header.magic) != 0) return refuse("the file is no plan", EINVAL);
  if (header.ram_bytes != length) return refuse("the plan is for another amount of memory", EINVAL);
  if (header.layers != layer_count) return refuse("the plan is for another number of layers", EINVAL);
  if (header.extents > MAX_EXTENTS) return refuse("the plan has too many extents", EINVAL);
  uint64_t layer_bytes[MAX_LAYERS];
  for (uint32_t layer = 0; layer < layer_count; layer++) {
    off_t size = lseek(layers[layer], 0, SEEK_END);
    if (size < 0) return refuse("a layer cannot be read", errno);
    layer_bytes[layer] = size;
  }
  uint64_t end = 0, page_mask = sysconf(_SC_PAGESIZE) - 1;
  for (uint32_t index = 0; index < header.extents; index++) {
    struct plan_extent extent;
    if (read_exactly(plan, &extent, sizeof extent, HEADER_BYTES + (off_t)index * sizeof extent) != 0)
      return refuse("the plan is too short", EINVAL);
    if (extent.layer >= layer_count || extent.zero != 0 || extent.length == 0 || extent.guest < end ||
        ((extent.guest | extent.offset | extent.length) & page_mask) != 0 || extent.guest > length || extent.length > length - extent.guest)
      return refuse("an extent is not valid", EINVAL);
    // Reading beyond the end of a mapped file kills the process.
    if (extent.offset > layer_bytes[extent.layer] || extent.length > layer_bytes[extent.layer] - extent.offset)
      return refuse("an extent is outside its layer", EINVAL);
    end = extent.guest + extent.length;
    if (map_pages(address + extent.guest, extent.length, protection, flags, layers[extent.layer], extent.offset) == MAP_FAILED)
      return refuse("an extent cannot be mapped", errno);
  }
  return 0;
}

static void *map_plan(int plan, void *wanted, size_t length, int protection, int flags) {
  int layers[MAX_LAYERS];
  int layer_count = open_layers(layers);
  if (layer_count < 0) return MAP_FAILED;
  void *address = map_pages(wanted, length, protection, flags | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    refuse("there is no room for the memory", errno);
  } else if (map_extents(plan, address, length, protection, flags | MAP_FIXED, layers, layer_count) != 0) {
    int error = errno;
    // The caller's reservation stays in place of a mapping at a fixed address.
    if ((flags & MAP_FIXED) != 0)
      map_pages(address, length, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    else
      munmap(address, length);
    errno = error;
    address = MAP_FAILED;
  }
  int error = errno;
  close_layers(layers, layer_count);
  errno = error;
  return address;
}

void *mmap(void *wanted, size_t length, int protection, int flags, int fd, off_t offset) {
  const char *path = fd >= 0 && fd == ram_fd && (flags & MAP_TYPE) == MAP_PRIVATE ? getenv("MAYFLY_RAM_PLAN") : NULL;
  if (path == NULL) return map_pages(wanted, length, protection, flags, fd, offset);
  // A second mapping would show the template's memory instead of the machine's.
  if (ram_start != NULL || offset != 0) {
    refuse("the RAM file is mapped twice or in part", EINVAL);
    return MAP_FAILED;
  }
  int plan = open_read_only(path);
  if (plan < 0) {
    refuse("the plan cannot be opened", errno);
    return MAP_FAILED;
  }
  void *address = map_plan(plan, wanted, length, protection, flags);
  int error = errno;
  close(plan);
  if (address != MAP_FAILED) {
    ram_start = address;
    ram_bytes = length;
    // Fails only where the kernel has no huge pages.
    syscall(SYS_madvise, address, length, MADV_NOHUGEPAGE);
  }
  errno = error;
  return address;
}

void *mmap64(void *wanted, size_t length, int protection, int flags, int fd, off64_t offset) {
  return mmap(wanted, length, protection, flags, fd, offset);
}

// QEMU asks for huge pages. In memory that consists of small private copies of shared files they would only multiply what a machine takes.
int madvise(void *start, size_t length, int advice) {
  uintptr_t from = (uintptr_t)start, ram = (uintptr_t)ram_start;
  if (advice == MADV_HUGEPAGE && ram_start != NULL && from < ram + ram_bytes && from + length > ram) return 0;
  return syscall(SYS_madvise, start, length, advice);
}

#ifdef __aarch64__
// QEMU aligns every translated block to the instruction cache line that sysconf() names. Linux works around an erratum of the
// Neoverse N1 by naming a whole page (4096), and then each block takes two pages: the translation buffer holds a few percent of what
// it could, and caches and TLBs thrash (a command takes eight times as long). The line of every arm64 CPU that runs Linux is at
// least 64 bytes, and QEMU uses this number for nothing but that alignment; it flushes caches by the CPU's own register.
extern long __sysconf(int name);

long sysconf(int name) { return name == _SC_LEVEL1_ICACHE_LINESIZE ? 64 : __sysconf(name); }
#endif
