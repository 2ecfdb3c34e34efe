"""
Writes files whose names are the checksums of their contents, each complete before it gets its name, until it is ended. Says so when the
first one has its name.
"""
import os
import sys
import time

try:
    # hashlib would load OpenSSL first, which takes an emulated machine longer than everything else here.
    from _sha2 import sha256
except ImportError:
    from hashlib import sha256

folder, varying_bytes, pause_seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
os.makedirs(folder, exist_ok=True)
partial = os.path.join(folder, "partial")
written = 0
while True:
    content = os.urandom(4096 + int.from_bytes(os.urandom(2), "big") % varying_bytes)
    half = len(content) // 2
    with open(partial, "wb", buffering=0) as file:
        file.write(content[:half])
        # Here, so that a snapshot finds it in the middle of a file also when it is slowed down.
        time.sleep(pause_seconds)
        file.write(content[half:])
        os.fsync(file.fileno())
    os.rename(partial, os.path.join(folder, sha256(content).hexdigest()))
    written += 1
    if written == 1:
        # The process that started this one reads only this line.
        print("writing", flush=True)
