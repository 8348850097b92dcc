package main

import (
	"fmt"
	"os"

	"fabemu/emu"
	"fabemu/emu/watch/observe"
	"fabemu/emu/watch/openmetrics"

	"github.com/spf13/cobra"
)

// metricsFlags describe how Prometheus sees a run.
type metricsFlags struct {
	address, names string
	server         *openmetrics.Server
}

func (f *metricsFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.address, "metrics", "",
		"serve /metrics for Prometheus while the run goes on: a port of the loopback such as 9464, or an address such as 0.0.0.0:9464")
	flags.StringVar(&f.names, "metrics-as", string(openmetrics.Own),
		"names of these metrics: fabemu, or node-exporter, as of real RoCE and InfiniBand fabrics")
	complete(c, "metrics-as", openmetrics.Words()...)
}

// listen begins to serve, where that is asked for.
func (f *metricsFlags) listen() (err error) {
	if f.address == "" {
		return nil
	}
	if f.server, err = openmetrics.Listen(f.address, openmetrics.Names(f.names)); err != nil {
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
