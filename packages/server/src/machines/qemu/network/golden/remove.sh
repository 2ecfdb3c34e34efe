set -eu
case "$(ip -o link show dev mf7 2>/dev/null)" in *" group 28006 "*) ip link del dev mf7 ;; esac
if [ -e /run/netns/mayfly-7 ]; then ip netns del mayfly-7; fi
