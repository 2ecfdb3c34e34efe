"""What runs in a sandbox to move large bodies at little cost. Usage: python3 bulk.py <port>"""

import hashlib
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

BLOCK = (b"mayfly " * 9363)[:65536] * 4


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 0

    def do_GET(self):
        left = int(parse_qs(urlsplit(self.path).query)["count"][0])
        self.send_response(200)
        self.send_header("content-length", str(left))
        self.end_headers()
        while left > 0:
            self.wfile.write(BLOCK[:left])
            left -= len(BLOCK)

    def do_POST(self):
        digest, count = hashlib.sha256(), 0
        for piece in self.pieces():
            digest.update(piece)
            count += len(piece)
        body = json.dumps({"bytes": count, "sha256": digest.hexdigest()}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def pieces(self):
        if "content-length" in self.headers:
            left = int(self.headers["content-length"])
            while left > 0:
                piece = self.rfile.read(min(left, 262144))
                left -= len(piece)
                yield piece
            return
        while (size := int(self.rfile.readline(), 16)) > 0:
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def log_message(self, *args):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
