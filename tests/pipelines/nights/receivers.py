"""What a night sends its messages to: a webhook and a mail server of this process."""

import http.server
import json
import socketserver
import threading
from contextlib import contextmanager


class Webhook(http.server.BaseHTTPRequestHandler):
    received: list[dict] = []  # noqa: RUF012

    def do_POST(self):
        self.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class MailServer(socketserver.StreamRequestHandler):
    """As much of SMTP as takes a message."""

    received: list[str] = []  # noqa: RUF012

    def handle(self):
        self.wfile.write(b"220 here\r\n")
        while line := self.rfile.readline():
            word = line[:4].upper().strip()
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                lines = []
                while (text := self.rfile.readline()) not in (b".\r\n", b""):
                    lines.append(text.decode())
                self.received.append("".join(lines))
            if word == b"QUIT":
                self.wfile.write(b"221 bye\r\n")
                return
            self.wfile.write(b"250 ok\r\n")


@contextmanager
def serving(handler):
    handler.received.clear()
    kind = http.server.HTTPServer if handler is Webhook else socketserver.TCPServer
    with kind(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()
