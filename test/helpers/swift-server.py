"""OpenStack Swift with s3api in one process: swift-server.py FOLDER. Prints its port once it serves."""

import os
import sys

import eventlet
import eventlet.tpool

eventlet.monkey_patch(all=False, socket=True, select=True, thread=True)

from eventlet import wsgi
from swift.common import utils

folder = sys.argv[1]


def write(name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


utils.SWIFT_CONF_FILE = write("swift.conf", "[swift-hash]\nswift_hash_path_suffix = test\nswift_hash_path_prefix = test\n")

from swift.common import wsgi as swift_wsgi
from swift.common.ring import RingBuilder

devices = os.path.join(folder, "devices")
os.makedirs(os.path.join(devices, "d1"))
sockets = {kind: eventlet.listen(("127.0.0.1", 0)) for kind in ("account", "container", "object", "proxy")}

for kind in ("account", "container", "object"):
    builder = RingBuilder(2, 1, 0)
    place = {"ip": "127.0.0.1", "port": sockets[kind].getsockname()[1]}
    builder.add_dev(dict(place, id=0, region=1, zone=1, weight=1, device="d1", meta="", replication_ip=place["ip"], replication_port=place["port"]))
    builder.rebalance()
    builder.get_ring().save(os.path.join(folder, kind + ".ring.gz"))
    write(
        kind + ".conf",
        f"[DEFAULT]\nswift_dir = {folder}\ndevices = {devices}\nmount_check = false\ndisable_fallocate = true\n"
        f"[pipeline:main]\npipeline = {kind}-server\n[app:{kind}-server]\nuse = egg:swift#{kind}\n",
    )

PIPELINE = "catch_errors gatekeeper healthcheck cache listing_formats bulk s3api tempauth copy slo dlo symlink"
filters = "".join(f"[filter:{name}]\nuse = egg:swift#{name if name != 'cache' else 'memcache'}\n" for name in PIPELINE.split() if name != "tempauth")
write(
    "proxy.conf",
    f"[DEFAULT]\nswift_dir = {folder}\n[pipeline:main]\npipeline = {PIPELINE} proxy-server\n"
    f"[app:proxy-server]\nuse = egg:swift#proxy\naccount_autocreate = true\n{filters}"
    "[filter:tempauth]\nuse = egg:swift#tempauth\nuser_test_tester = testing .admin\n",
)

for kind, socket in sockets.items():
    app = swift_wsgi.loadapp(os.path.join(folder, kind + ".conf"), global_conf={"log_name": kind})
    eventlet.spawn(wsgi.server, socket, app, log_output=False, protocol=swift_wsgi.SwiftHttpProtocol)

print(sockets["proxy"].getsockname()[1], flush=True)
# Ends with whoever started it.
eventlet.tpool.execute(sys.stdin.read)
