"""Writes files whose names are the checksums of their contents, each complete before it gets its name; checks them with --check."""
import hashlib
import os
import sys

folder, wanted = sys.argv[1], sys.argv[2]
os.makedirs(folder, exist_ok=True)
if wanted == "--check":
    names = [name for name in os.listdir(folder) if name != "partial"]
    wrong = [name for name in names if hashlib.sha256(open(os.path.join(folder, name), "rb").read()).hexdigest() != name]
    print(len(names), len(wrong))
    sys.exit(1 if wrong else 0)
for _ in range(int(wanted)):
    content = os.urandom(4096 + int.from_bytes(os.urandom(2), "big"))
    partial = os.path.join(folder, "partial")
    with open(partial, "wb") as file:
        file.write(content)
        os.fsync(file.fileno())
    os.rename(partial, os.path.join(folder, hashlib.sha256(content).hexdigest()))
