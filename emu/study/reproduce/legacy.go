package reproduce

import "fabemu/emu/report/plot"

const (
	shared    = "shared.S-B.utilisation"
	queue     = "shared.S-B.queue"
	packets   = 1.0 / 1500 // of a byte, as the talk's queues are counted
	kilobytes = 1e-3
)

// curve is how a metric of a run went.
func curve(name string, r Run, metric string, scale float64) Curve {
	return Curve{Name: name, Scale: scale, Course: &Course{r, metric}}
}

var modelTime = plot.Axis{Label: "model time (ms)"}
