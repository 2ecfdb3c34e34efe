set -eu
case "$(ip -o link show dev mf7 2>/dev/null)" in *" group 28006 "*) ip link del dev mf7 ;; esac
if [ -e /run/netns/mayfly-7 ]; then ip netns del mayfly-7; fi
conntrack -D -f ipv4 -s 198.19.192.15 >/dev/null 2>&1 || true
nft 'delete element inet mayfly connections { "mf7" }' 2>/dev/null || true
