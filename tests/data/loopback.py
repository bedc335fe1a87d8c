"""A local server that can fail in each way, and its files."""

import hashlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tiny import MNIST, expect, md5_of, write_idx_set

from jfed.data.get import REMOTES, Remote


class Server(ThreadingHTTPServer):
    """A server of whole /good/NAME, /changed/NAME with another last byte, half of /cut.../NAME, and 404 for others."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []

    def urls(self, name, *ways):
        return tuple(f"http://127.0.0.1:{self.server_port}/{way}/{name}" for way in ways)


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self):
        self.server.asked.append(self.path)
        _, way, name = self.path.split("/")
        content = self.server.files.get(name)
        if content is None or way == "absent":
            self.send_error(404)
            return
        self.send_response(200)
        if way != "cut-and-silent":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if way.startswith("cut"):
            content = content[: len(content) // 2]
        self.wfile.write(content[:-1] + bytes([content[-1] ^ 1]) if way == "changed" else content)

    def log_message(self, *_):
        pass


def serve_mnist(server, monkeypatch, folder, *ways, ways_of=None):
    """Serve a tiny MNIST from `folder` in some ways, of which a file may have its own in `ways_of`."""
    write_idx_set(folder, MNIST, suffix=".gz")
    expect(monkeypatch, "mnist", (4, 3), md5_of(folder))
    remotes = []
    for path in sorted(folder.iterdir()):
        server.files[path.name] = path.read_bytes()
        urls = server.urls(path.name, *(ways_of or {}).get(path.name, ways))
        remotes.append(Remote(urls, hashlib.sha256(path.read_bytes()).hexdigest()))
    monkeypatch.setitem(REMOTES, "mnist", tuple(remotes))


def files(folder):
    """Return all files below the folder, hidden ones too."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
