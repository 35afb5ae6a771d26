"""A Kubernetes API server for tests.

    with triplane_test.start() as server:
        server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "a"}})
        server.reset()

The plugin of pytest has the fixture ``triplane``: a server that is shared by all tests and reset before each.
"""

import http.client
import json
import os
import ssl
import subprocess
import tempfile
import threading
import urllib.parse

__all__ = ["APIError", "Triplane", "start"]

START_TIMEOUT = 30
STOP_TIMEOUT = 30


class APIError(Exception):
    """The server responded with an error."""

    def __init__(self, method, path, status, body):
        message = body.get("message") if isinstance(body, dict) else str(body).strip()
        super().__init__(f"{method} {path}: {status} {message}")
        self.status = status
        self.body = body


class Triplane:
    """A running server. ``request`` may be called from several threads, each has its own connection."""

    def __init__(self, process, log, ready):
        self._process = process
        self._log = log
        self._tls = ssl.create_default_context(cadata=ready["ca"])
        self._local = threading.local()
        self._host = urllib.parse.urlsplit(ready["url"]).netloc
        self.url = ready["url"]
        self.token = ready["token"]
        self.ca = ready["ca"]
        self.kubeconfig = ready["kubeconfig"]
        self.kubeconfig_file = ready["kubeconfigFile"]
        self.version = ready["version"]
        self.ms = ready["ms"]

    def reset(self, checkpoint="start"):
        """Restores the objects of the start, or of a checkpoint."""
        return self.request("POST", f"/testing/checkpoints/{urllib.parse.quote(checkpoint, safe='')}/reset")

    def checkpoint(self, id=""):
        """Saves all objects. Returns a dictionary with the id."""
        return self.request("POST", f"/testing/checkpoints?id={urllib.parse.quote(id, safe='')}")

    def request(self, method, path, body=None, content_type="application/json"):
        """Sends a request as the administrator, and returns the decoded response. Raises APIError."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = content_type
            body = body if isinstance(body, (str, bytes)) else json.dumps(body)
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = http.client.HTTPSConnection(self._host, context=self._tls)
            self._local.connection = connection
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            content = response.read()
        except Exception:
            connection.close()
            self._local.connection = None
            raise
        if response.headers.get_content_type() == "application/json":
            content = json.loads(content)
        else:
            content = content.decode(errors="replace")
        if response.status >= 300:
            raise APIError(method, path, response.status, content)
        return content

    def stop(self):
        """Stops the server and waits for its end."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
        self._process.stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def start(binary=None, args=()):
    """Starts a server and returns it when it is ready.

    binary is the program, by default $TRIPLANE_BINARY or triplane in the PATH; args are flags of "triplane test".
    """
    binary = binary or os.environ.get("TRIPLANE_BINARY") or "triplane"
    log = tempfile.TemporaryFile()
    try:
        process = subprocess.Popen([binary, "test", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
    except OSError:
        log.close()
        raise
    timer = threading.Timer(START_TIMEOUT, process.kill)
    timer.start()
    line = process.stdout.readline()
    timer.cancel()
    try:
        ready = json.loads(line)
    except ValueError:
        process.kill()
        process.communicate()
        log.seek(0)
        text = log.read().decode(errors="replace")[-10_000:]
        log.close()
        raise RuntimeError(f"{binary} test ended with {process.returncode}\n{text}") from None
    return Triplane(process, log, ready)
