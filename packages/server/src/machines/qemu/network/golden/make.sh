set -eu
ip -batch - <<'END'
netns add mayfly-7
link add mf7 group 28006 type veth peer name up0 netns mayfly-7
link set mf7 addrgenmode none
addr add 198.19.192.14/31 dev mf7
link set mf7 up
END
if [ -e /proc/sys/net/ipv6/conf/mf7 ]; then echo 1 > /proc/sys/net/ipv6/conf/mf7/disable_ipv6; fi
echo 1 > /proc/sys/net/ipv4/conf/mf7/forwarding
exec nsenter --net=/run/netns/mayfly-7 sh -eu <<'END'
if [ -e /proc/sys/net/ipv6 ]; then
  echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
  echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
fi
echo 0 > /proc/sys/net/ipv4/icmp_ratemask
echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter
echo 0 > /proc/sys/net/ipv4/conf/default/rp_filter
ip -batch - <<'STEPS'
tuntap add tap0 mode tap user 70007
addr add 10.213.0.1/30 dev tap0
addr add 198.19.192.15/31 dev up0
link set tap0 up
link set up0 up
route add default via 198.19.192.14 dev up0
STEPS
nft -f - <<'STEPS'
RULES
STEPS
tc -batch - <<'STEPS'
qdisc add dev tap0 root tbf rate 200000000bit burst 250000b latency 50ms
qdisc add dev up0 root tbf rate 200000000bit burst 250000b latency 50ms
STEPS
echo 10 > /proc/sys/net/netfilter/nf_conntrack_tcp_timeout_time_wait
echo 1 > /proc/sys/net/ipv4/ip_forward
END
