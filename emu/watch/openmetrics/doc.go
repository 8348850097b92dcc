// Package openmetrics serves a run in the text format of OpenMetrics while it runs, for
// Prometheus and other readers of its metrics (Server).
//
// Seconds are model time, except in fabemu_run_wall_seconds_total. Prometheus stamps samples with
// wall time, so its rates are the rates of the model divided by the dilation. Divide them by the
// rate of fabemu_run_model_seconds_total, which belongs to the same instant of the model as all
// counters. docs/guide/metrics.md has an example.
//
// The same metrics are available under the names of node_exporter (NodeExporter), for dashboards
// of real fabrics.
//
// The package writes the text itself because client_golang would cost each command 2.5 ms of
// initialisation before main, of 4 ms in all. Tests have promtool read the text.
//
// # Limitations
//
// There are no histograms. The count of PAUSE frames that a port has sent is the count that its
// far end has received.
package openmetrics
