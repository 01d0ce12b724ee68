#!/bin/sh
# Installs, upgrades, removes and purges a Debian package over the files of this machine, which stay as they are: a mount
# namespace has an overlay in memory as its root. `deb.sh PACKAGE FOLDER`; FOLDER is an empty folder for the mounts.
# The systemctl of the overlay writes down what it is called with.
set -e
if [ "$3" != inside ]; then exec unshare --mount --net "$0" "$1" "$2" inside; fi
mount -t tmpfs tmpfs "$2"
mkdir "$2/upper" "$2/work" "$2/root"
cp "$1" "$2/edged.deb"
mount -t overlay overlay -o "lowerdir=/,upperdir=$2/upper,workdir=$2/work" "$2/root"
root="$2/root"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mkdir -p "$root/run/systemd/system" "$root/tmp"
rm -rf "$root/etc/edged" "$root/var/lib/edged"
printf '#!/bin/sh\necho "systemctl $*"\n' >"$root/usr/bin/systemctl"
chmod 755 "$root/usr/bin/systemctl"
cp "$2/edged.deb" "$root/tmp/edged.deb"
cat >"$root/tmp/steps" <<'STEPS'
set -e
echo '# install'
dpkg -i /tmp/edged.deb
stat -c '%U:%G %a %n' /etc/edged /etc/edged/edged.yaml /var/lib/edged
setpriv --reuid edged --regid edged --init-groups env -i PATH=/nowhere /usr/bin/edged check /etc/edged/edged.yaml
/usr/bin/edged --version
/usr/lib/edged/runtime/node --version
ip link set lo up
cd /var/lib/edged
setpriv --reuid edged --regid edged --init-groups --inh-caps +net_bind_service --ambient-caps +net_bind_service /usr/bin/edged serve -c /etc/edged/edged.yaml >/tmp/log 2>&1 &
pid=$!
curl --silent --retry 60 --retry-delay 1 --retry-connrefused --output /dev/null --write-out 'status %{http_code}\n' -H 'Host: localhost' http://127.0.0.1/
kill $pid
wait $pid || true
cd /
echo '# upgrade'
echo '# my own line' >>/etc/edged/edged.yaml
dpkg-deb -R /tmp/edged.deb /tmp/next
sed -i 's/^Version: .*/Version: 99.0.0/' /tmp/next/DEBIAN/control
echo '# a new default' >>/tmp/next/etc/edged/edged.yaml
dpkg-deb -Znone --build /tmp/next /tmp/next.deb >/dev/null
dpkg -i --force-confdef --force-confold /tmp/next.deb
tail -n 1 /etc/edged/edged.yaml
echo '# remove'
dpkg -r edged
ls /etc/edged/edged.yaml /usr/bin/edged /usr/lib/edged 2>&1 || true
echo '# purge'
dpkg -P edged
ls -d /etc/edged /var/lib/edged 2>&1 || true
getent passwd edged || echo 'no user edged'
STEPS
exec chroot "$root" sh /tmp/steps
