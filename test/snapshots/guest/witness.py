"""
A program that a snapshot catches in the middle of its work. Says its state once it listens, then answers one request per line of text on
its port, and shows visitors with a browser the file index.html.
"""
import json
import os
import socket
import socketserver
import sys
import threading
import time

try:
    # hashlib would load OpenSSL first, which takes an emulated machine longer than everything else here.
    from _sha2 import sha256
except ImportError:
    from hashlib import sha256
if "secrets" in sys.argv:
    # Loaded only if secrets are asked for, and before the snapshot: the process that makes them was running in it.
    import ssl
    import uuid

# Memory: a counter that goes on, and bytes that must not change.
piece = os.urandom(1 << 20)
piece_digest = sha256(piece).hexdigest()
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
        time.sleep(0.2)


def tls_secrets():
    """The random bytes of a TLS client's first message, and its key, which OpenSSL draws from another generator."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    # Not the default context, which reads more than a hundred certificates.
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).wrap_bio(incoming, outgoing, server_hostname="example.com")
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    hello = outgoing.read()
    # The X25519 key, after the number of its group and its length. A hybrid one that is offered too comes before it.
    key = hello.rindex(bytes.fromhex("001d0020")) + 4
    return {"tls": hello[11:43].hex(), "tls_key": hello[key : key + 32].hex()}


def is_intact():
    """Comparing is much faster than computing a checksum of everything, and comparing in place than copying, or than a memoryview, item by item."""
    same = all(ballast.startswith(piece, at) for at in range(0, len(ballast), len(piece)))
    return same and sha256(piece).hexdigest() == piece_digest


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


def count_so_far(_):
    return {"counted": counted}


def secrets(_):
    return {"getrandom": os.getrandom(16).hex(), "uuid": str(uuid.uuid4()), **tls_secrets()}


def note(text):
    nameless.seek(0, os.SEEK_END)
    nameless.write(text.encode() + b"\n")
    return state(text)


def dirty(mib):
    """Writes to this much memory."""
    global ballast
    ballast = bytearray(piece) * int(mib)
    return state(mib)


requests = {"state": state, "counted": count_so_far, "secrets": secrets, "note": note, "dirty": dirty}


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            name, _, argument = line.decode().strip().partition(" ")
            if name == "GET":
                return self.show_page()
            self.wfile.write(json.dumps(requests[name](argument)).encode() + b"\n")

    def show_page(self):
        while self.rfile.readline().strip():
            pass
        with open("/workspace/index.html", "rb") as file:
            page = file.read()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\nConnection: close\r\n\r\n"
        self.wfile.write(head.encode() + page)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


threading.Thread(target=count, daemon=True).start()
with Server(("127.0.0.1", int(sys.argv[1])), Handler) as server:
    # The process that started this one reads only this line.
    print(json.dumps(state("")), flush=True)
    server.serve_forever()
