package initramfs

const sysFinitModule = 313
