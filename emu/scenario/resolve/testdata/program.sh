#!/bin/sh
# The program of exec-fit.bad.yaml, which is never started.
exit 1
