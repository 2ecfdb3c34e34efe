package initramfs

const sysFinitModule = 273
