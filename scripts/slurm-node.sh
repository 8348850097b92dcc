#!/usr/bin/env bash
#
# A Slurm of one node for a command: its own munge with its own key, its own slurmctld and
# slurmd on separate ports, all of its state in a new folder. A Slurm that is there
# already is not touched. When the command has ended, in whatever way, so have the daemons
# and what they have started, and the folder is gone.
#
# The command finds sbatch and the like in PATH, and SLURM_CONF set. It needs Debian's
# slurm-wlm and munge. Of a node with two processors two jobs of one can run at a time.
#
# Usage: scripts/slurm-node.sh COMMAND [ARGUMENT...]
set -euo pipefail
export PATH="$PATH:/usr/sbin:/sbin"
for tool in munged slurmctld slurmd sbatch; do
	command -v "$tool" >/dev/null || { echo "slurm-node: there is no $tool: install slurm-wlm and munge" >&2; exit 69; }
done

top=$(mktemp -d "${TMPDIR:-/tmp}/fabemu-slurm-XXXXXX")
daemons=()
command=

# finish ends what this script has started, by its numbers, the last first.
finish() {
	local status=$? pid i
	trap - EXIT
	[ -z "$command" ] || kill -TERM "$command" 2>/dev/null || true
	scancel --full --state=RUNNING --user="$(id -un)" 2>/dev/null || true
	for ((i = ${#daemons[@]} - 1; i >= 0; i--)); do
		kill -TERM "${daemons[i]}" 2>/dev/null || true
	done
	# slurmstepd, which is a separate session, ends with its job; it is known by our folder.
	for i in $(seq 50); do
		left=
		for pid in "${daemons[@]}" $(steps); do
			! kill -0 "$pid" 2>/dev/null || left="$left $pid"
		done
		[ -n "$left" ] || break
		[ "$i" -lt 30 ] || kill -KILL $left 2>/dev/null || true
		sleep 0.1
	done
	rm -rf "$top"
	exit "$status"
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# steps prints the processes whose environment or command line has our folder.
steps() {
	local p
	for p in /proc/[0-9]*; do
		if [ "${p#/proc/}" != $$ ] && { tr '\0' '\n' <"$p/environ" | grep -qxF "SLURM_CONF=$top/slurm.conf"; } 2>/dev/null &&
			[ "$(cat "$p/comm" 2>/dev/null)" = slurmstepd ]; then
			echo "${p#/proc/}"
		fi
	done
}

# free prints an unused port.
free() {
	local port
	while port=$((20000 + RANDOM % 12000)); do
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
	done
}

mkdir -p "$top"/{munge,state,spool}
chmod 700 "$top/munge"
(umask 077 && head -c 1024 /dev/urandom >"$top/munge/key")
host=$(hostname -s)
controller=$(free)
node=$(free)
while [ "$node" = "$controller" ]; do node=$(free); done
memory=$(awk '/^MemTotal/ {print int($2 / 1024)}' /proc/meminfo)
cat >"$top/slurm.conf" <<END
ClusterName=fabemu
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$controller
SlurmdPort=$node
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$top/munge/socket
CredType=cred/munge
StateSaveLocation=$top/state
SlurmdSpoolDir=$top/spool
SlurmctldPidFile=$top/slurmctld.pid
SlurmdPidFile=$top/slurmd.pid
SlurmctldLogFile=$top/slurmctld.log
SlurmdLogFile=$top/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
MinJobAge=300
KillWait=2
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 RealMemory=$memory State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
: >"$top/cgroup.conf"
export SLURM_CONF=$top/slurm.conf

# start runs a daemon; what it says goes to a file.
start() {
	"$@" >"$top/${1##*/}.out" 2>&1 &
	daemons+=($!)
}
fail() {
	echo "slurm-node: $1" >&2
	tail -n 20 "$top"/*.out "$top"/*.log >&2 || true
	exit 1
}

# --force: the folder is for this user alone, and below /tmp; munged wants a system's folders.
start munged --foreground --force --key-file="$top/munge/key" --socket="$top/munge/socket" \
	--pid-file="$top/munge/pid" --log-file="$top/munge/log" --seed-file="$top/munge/seed" --num-threads=2
for _ in $(seq 100); do [ ! -S "$top/munge/socket" ] || break; sleep 0.05; done
[ -S "$top/munge/socket" ] || fail "munged does not start"
start slurmctld -D -i
start slurmd -D
for _ in $(seq 200); do
	! sinfo -h -o %T 2>/dev/null | grep -qx idle || break
	sleep 0.1
done
sinfo -h -o %T | grep -qx idle || fail "the node does not come up"
"$@" &
command=$!
status=0
wait "$command" || status=$?
command=
exit "$status"
