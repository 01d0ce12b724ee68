# A receiver of webhooks for Python 3.9 or newer, without packages. SECRET is the signing_secret of the webhook.
import base64
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(os.environ["SECRET"].removeprefix("whsec_"))
MAX_AGE_SECONDS = 300
# Ids of deliveries that were processed; use a table with a unique key in production.
seen = set()


def is_valid(headers, body):
    delivery, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not at.isdigit() or abs(time.time() - int(at)) > MAX_AGE_SECONDS:
        return False
    digest = hmac.new(KEY, f"{delivery}.{at}.".encode() + body, hashlib.sha256).digest()
    wanted = "v1," + base64.b64encode(digest).decode()
    # Several signatures, with spaces between them, while a secret is being replaced.
    return any(hmac.compare_digest(each, wanted) for each in headers.get("webhook-signature", "").split(" "))


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not is_valid(self.headers, body):
            return self.respond(401)
        delivery = self.headers["webhook-id"]
        if delivery not in seen:
            seen.add(delivery)
            event = json.loads(body)
            print(event.get("type") or event.get("event_type"), json.dumps(event["data"]), flush=True)
        self.respond(204)

    def respond(self, status):
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", int(os.environ.get("PORT", 8000))), Receiver)
print(f"listening on {server.server_port}", flush=True)
server.serve_forever()
