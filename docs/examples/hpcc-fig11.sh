#!/usr/bin/env bash
#
# The experiment of Fig. 11 of HPCC (Li et al., SIGCOMM 2019) at its size: a fat tree of 320 hosts with Hadoop's flow
# sizes at 30 % load and incasts of 60 to 1; five schemes, ten seeds. It takes some ten minutes of processor time.
#
# Usage: hpcc-fig11.sh FOLDER
set -euo pipefail
cd "$1"
fabemu generate fat-tree --pods 5 --leaves 4 --hosts-per-leaf 16 --rate 100Gb/s,400Gb/s --delay 1us --flow-control pfc \
	--traffic hadoop --load 0.3 --incast 60 >hpcc.yaml

# An input stops its peer at about 4 MB, in all schemes: an eighth of 32 MB, as the switches of the authors' simulator do while
# they are empty. The file has twice that memory, because CNPs of DCQCN have a priority of their own.
fabemu sweep hpcc.yaml --scheme dcqcn,hpcc,swift,timely,dctcp --seeds 10 \
	--set model.duration=3ms \
	--set workload.load.warm-up=200us --set workload.load.drain=2.2ms \
	--set workload.incast.warm-up=200us --set workload.incast.drain=2.2ms \
	--figures pdf,svg,csv --width 1column --no-title --out fig11
