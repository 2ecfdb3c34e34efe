"""A program that a snapshot catches in the middle of its work. Answers one request per line of text on its port."""
import hashlib
import json
import os
import socket
import socketserver
import ssl
import sys
import threading
import time
import uuid

# Memory: a counter that goes on, and bytes that must not change.
piece = os.urandom(1 << 20)
piece_digest = hashlib.sha256(piece).hexdigest()
ballast = bytearray(piece) * int(sys.argv[2])
counted = 0
# A file without a name: only its open descriptor leads to it.
nameless = open("/workspace/nameless", "w+b", buffering=0)
os.unlink("/workspace/nameless")
nameless.write(b"written before the snapshot\n")
# A local connection, which exists as long as the program.
with socket.create_server(("127.0.0.1", 0)) as listener:
    near_end = socket.create_connection(listener.getsockname(), timeout=60)
    far_end, _ = listener.accept()
far_end.settimeout(60)


def count():
    global counted
    while True:
        counted += 1
        time.sleep(0.05)


def tls_random():
    """The random bytes of a TLS client's first message."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="example.com")
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()[11:43].hex()


def is_intact():
    """Comparing is much faster than computing a checksum of everything, and comparing bytes than comparing a memoryview, item by item."""
    pieces = memoryview(ballast)
    same = all(bytes(pieces[at : at + len(piece)]) == piece for at in range(0, len(ballast), len(piece)))
    return same and hashlib.sha256(piece).hexdigest() == piece_digest


def is_connected():
    near_end.sendall(b"still there?")
    return far_end.recv(100) == b"still there?"


def state(_):
    nameless.seek(0)
    return {
        "pid": os.getpid(),
        "counted": counted,
        "ballast_intact": is_intact(),
        "connected": is_connected(),
        "nameless": nameless.read().decode(),
    }


def secrets(_):
    return {"getrandom": os.getrandom(16).hex(), "uuid": str(uuid.uuid4()), "tls": tls_random()}


def note(text):
    nameless.seek(0, os.SEEK_END)
    nameless.write(text.encode() + b"\n")
    return state(text)


requests = {"state": state, "secrets": secrets, "note": note}


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            name, _, argument = line.decode().strip().partition(" ")
            self.wfile.write(json.dumps(requests[name](argument)).encode() + b"\n")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


threading.Thread(target=count, daemon=True).start()
with Server(("127.0.0.1", int(sys.argv[1])), Handler) as server:
    server.serve_forever()
