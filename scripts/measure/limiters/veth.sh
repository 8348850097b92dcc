set -euo pipefail
unshare --net sleep 60 &
far=$!
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
until [ "$(readlink /proc/$far/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link add near type veth peer name far address 02:00:00:00:00:02 netns "$far"
ip addr add 10.231.7.1/24 dev near
ip link set near up
nsenter --target "$far" --net ip addr add 10.231.7.2/24 dev far
nsenter --target "$far" --net ip link set far up
ip neigh add 10.231.7.2 lladdr 02:00:00:00:00:02 dev near nud permanent
eval "$2"
until ip link show near | grep -q 'state UP'; do sleep 0.01; done
nsenter --target "$far" --net tcpdump --immediate-mode -i far -n -tt --time-stamp-precision=nano -B 65536 -s 64 udp port 9 &
sleep 1
"$1" send
sleep 1
