#!/bin/sh
# Turns a fresh Debian tree into the sandbox image. Called by mmdebstrap as: customize.sh ROOT, with these environment variables:
#   MAYFLY_IMAGE_DIR  this folder
#   MAYFLY_NODE_DIR   a folder with node_modules/{npm,node-linux-ARCH}, installed from node/package-lock.json
set -eu

root=$1
user_home=/home/sandbox

in_root() {
  chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root "$@"
}

as_user() {
  chroot --userspec=1000:1000 --groups= "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 HOME=$user_home "$@"
}

# --- Node.js and npm ---
mkdir -p "$root/usr/local/bin" "$root/usr/local/lib/node_modules"
for node in "$MAYFLY_NODE_DIR"/node_modules/node-linux-*; do
  install -m 0755 "$node/bin/node" "$root/usr/local/bin/node"
done
cp -r --no-preserve=ownership "$MAYFLY_NODE_DIR/node_modules/npm" "$root/usr/local/lib/node_modules/npm"
rm -rf "$root/usr/local/lib/node_modules/npm/docs" "$root/usr/local/lib/node_modules/npm/man"
# npm's built-in settings: global installs go to the user's own prefix. The user's .npmrc overrides them.
printf 'prefix=%s/.npm-global\nupdate-notifier=false\nfund=false\n' "$user_home" > "$root/usr/local/lib/node_modules/npm/npmrc"
ln -sf node "$root/usr/local/bin/nodejs"
ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
ln -sf ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
chown -R 0:0 "$root/usr/local"
chmod -R u=rwX,go=rX "$root/usr/local"

# --- user ---
in_root groupadd --gid 1000 sandbox
in_root useradd --uid 1000 --gid 1000 --create-home --home-dir $user_home --shell /bin/bash --password '!' sandbox
in_root passwd --lock root >/dev/null

# --- configuration files ---
rm -f "$root/etc/resolv.conf" "$root/etc/hostname" "$root/etc/hosts"
(cd "$MAYFLY_IMAGE_DIR/skeleton" && find . -type f) | while read -r file; do
  install -D -m 0644 "$MAYFLY_IMAGE_DIR/skeleton/$file" "$root/$file"
done
chown 1000:1000 "$root$user_home/.profile"

# --- folders of the user ---
install -d -m 0755 -o 1000 -g 1000 "$root/workspace"
for dir in .npm-global .npm-global/bin .npm-global/lib .local .local/bin .cache; do
  install -d -m 0755 -o 1000 -g 1000 "$root$user_home/$dir"
done
as_user python3 -m venv --prompt sandbox $user_home/.venv
as_user $user_home/.venv/bin/pip install --quiet --no-index --no-cache-dir --disable-pip-version-check \
  --find-links /usr/share/python-wheels setuptools wheel

# --- remove all ways to become root ---
# These programs are useless without a setuid bit or a password.
rm -f "$root/usr/bin/su" "$root/usr/bin/chsh" "$root/usr/bin/chfn" "$root/usr/bin/newgrp" "$root/usr/bin/gpasswd"
in_root python3 - < "$MAYFLY_IMAGE_DIR/strip-privileges.py"

# --- remove machine-specific and unneeded files ---
: > "$root/etc/machine-id"
rm -f "$root/var/lib/dbus/machine-id"
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* "$root"/var/cache/debconf/* "$root"/var/log/* "$root"/root/.cache
# The package sources are specific to the host that builds the image, and the user cannot install packages.
rm -rf "$root"/etc/apt/sources.list* "$root"/etc/apt/apt.conf.d/99mmdebstrap "$root"/etc/dpkg/dpkg.cfg.d/99mmdebstrap
rm -rf "$root"/etc/rc?.d "$root"/etc/cron.* "$root"/etc/systemd "$root"/etc/init.d "$root"/usr/lib/systemd
mkdir -p "$root/var/lib/apt/lists/partial" "$root/var/cache/apt/archives/partial"
for dir in proc sys dev run; do mkdir -p "$root/$dir"; done
install -d -m 1777 "$root/tmp" "$root/var/tmp"
