"""Runs inside the image's root: removes every setuid and setgid bit and every file capability."""

import os
import stat

for folder, directories, files in os.walk("/", topdown=True):
    if folder == "/":
        directories[:] = [name for name in directories if name not in ("proc", "sys", "dev", "run")]
    for name in directories + files:
        path = os.path.join(folder, name)
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            continue
        if status.st_mode & (stat.S_ISUID | stat.S_ISGID):
            os.chmod(path, stat.S_IMODE(status.st_mode) & ~(stat.S_ISUID | stat.S_ISGID))
        if "security.capability" in os.listxattr(path):
            os.removexattr(path, "security.capability")
