"""An origin on Python's http.server. usage: origin.py PORT PATTERN

PATTERN is a file of octets; bodies are pieces of it:

    GET, HEAD /FROM/LENGTH/FRAMING    as many octets from there, framed by `length`, `chunked` or the `close`
    any other method                  echoes its body, in chunks if it came in chunks
"""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATTERN = open(sys.argv[2], "rb").read()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 65536

    def do_GET(self):
        start, length, framing = self.path[1:].split("/")
        body = PATTERN[int(start) : int(start) + int(length)]
        self.answer(body, framing)

    do_HEAD = do_GET

    def echo(self):
        if self.headers.get("Transfer-Encoding") is None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.answer(body, "length")
        else:
            self.answer(b"".join(self.chunks()), "chunked")

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_PROPFIND = echo

    def chunks(self):
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass

    def answer(self, body, framing):
        self.send_response(200)
        if framing == "length":
            self.send_header("Content-Length", str(len(body)))
        elif framing == "chunked":
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command == "HEAD":
            return
        if framing != "chunked":
            self.wfile.write(body)
            return
        # In pieces of different sizes, since one is as good as another.
        at, step = 0, 1 + len(body) % 5000
        while at < len(body):
            piece = body[at : at + step]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            at, step = at + step, step * 2
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True

    def handle_error(self, *_):
        pass  # clients and routers may go away


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
