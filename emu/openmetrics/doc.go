// Package openmetrics tells of a run in the text format of OpenMetrics, for Prometheus and what
// reads its metrics: while the run goes on (Server), and afterwards as a file with time stamps
// (WriteSeries).
//
// Seconds are those of the model, everywhere but in fabemu_run_wall_seconds_total. Prometheus
// stamps samples with the time of the wall, so a rate that it computes is that of the model over
// the dilation: it is to be divided by the rate of fabemu_run_model_seconds_total, which is read
// at the same instant of the model as all counters. docs/guide/metrics.md has recording rules.
//
// The same run can be told in the names of node_exporter (NodeExporter), for dashboards of real
// fabrics.
//
// The text is written by hand and not by client_golang, which would serve it just as well:
// what that package and those below it do at the start of a program, before main, would be paid
// by each command (docs/guide/metrics.md has the figures). Tests have promtool read the text.
//
// # Limitations
//
// There are no histograms, and the frames of PAUSE that a port has sent are those that its far
// end has received.
package openmetrics
