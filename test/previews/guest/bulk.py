"""Runs in a sandbox and handles large bodies efficiently. Usage: python3 bulk.py <port>"""

import json
import sys
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

BLOCK = (b"mayfly " * 9363)[:65536] * 4


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Many chunks of an upload fit, so that each does not take system calls of its own.
    rbufsize = 262144
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
        crc, count = 0, 0
        for chunk in self.chunks():
            crc = zlib.crc32(chunk, crc)
            count += len(chunk)
        body = json.dumps({"bytes": count, "crc32": crc}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def chunks(self):
        if "content-length" in self.headers:
            left = int(self.headers["content-length"])
            while left > 0:
                chunk = self.rfile.read(min(left, 262144))
                left -= len(chunk)
                yield chunk
            return
        while (size := int(self.rfile.readline(), 16)) > 0:
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def log_message(self, *args):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
