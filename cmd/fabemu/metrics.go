package main

import (
	"fmt"
	"os"

	"fabemu/emu"
	"fabemu/emu/watch/observe"
	"fabemu/emu/watch/openmetrics"
)

// metricsFlags describe how Prometheus sees a run.
type metricsFlags struct {
	// Serve /metrics for Prometheus during the run: a port of the loopback such as 9464, or an
	// address such as 0.0.0.0:9464.
	Address string `flag:"metrics" group:"Watching" arg:"ADDRESS"`
	// Names of the metrics: those of fabemu, or of node exporter on real RoCE and InfiniBand
	// fabrics.
	Names  openmetrics.Names `flag:"metrics-as" def:"fabemu" words:"fabemu|node-exporter"`
	server *openmetrics.Server
}

// listen begins to serve, where that is asked for.
func (f *metricsFlags) listen() (err error) {
	if f.Address == "" {
		return nil
	}
	if f.server, err = openmetrics.Listen(f.Address, f.Names); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "metrics:", f.server.URL())
	return nil
}

func (f *metricsFlags) close() {
	if f.server != nil {
		f.server.Close()
	}
}

// observe shows the run to the server.
func (f *metricsFlags) observe(o *emu.Options) {
	if f.server != nil {
		o.Observe = append(o.Observe, observe.Request{Observer: f.server, Every: openmetrics.Every})
	}
}
