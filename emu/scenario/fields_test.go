package scenario_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire/param"
)

// keyOf says which key of the language sets a field of Scenario.
var keyOf = map[string]string{
	"Name": "name", "Source": "source", "Description": "description",
	"Model.Duration": "model.duration", "Model.Seed": "model.seed", "Model.Framing": "model.framing",
	"Wall.Dilation": "wall.dilation", "Wall.UDPPort": "wall.udp-port", "Wall.Lateness": "wall.lateness", "Wall.Buffer": "wall.socket-buffer",
	"Routing.Paths": "routing.paths", "Routing.Recompute": "routing.recompute",
	"Switches.Name": "switches", "Switches.Kind": "switches.*.kind", "Switches.ForwardingDelay": "switches.*.forwarding-delay",
	"Switches.Crossbar": "switches.*.crossbar", "Switches.Bypass": "switches.*.bypass",
	"Switches.Marking.Scheme": "switches.*.marking.scheme",
	"Switches.Forwarding":     "switches.*.forwarding", "Switches.Memory.Bytes": "switches.*.memory", "Switches.Memory.PerPort": "switches.*.memory",
	"Switches.Sharing": "switches.*.sharing", "Switches.OutputLimit": "switches.*.output-limit", "Switches.High": "switches.*.high", "Switches.Low": "switches.*.low",
	"Switches.Headroom": "switches.*.headroom", "Switches.Lossless": "switches.*.lossless", "Switches.ETS": "switches.*.ets[].weight",
	"Endpoints.Name": "endpoints[].name", "Endpoints.Egress": "endpoints[].egress", "Endpoints.Ingress": "endpoints[].ingress", "Endpoints.High": "endpoints[].high", "Endpoints.Low": "endpoints[].low",
	"Endpoints.Service": "endpoints[].service", "Endpoints.Limiters": "endpoints[].limiters",
	"Links.Name": "links[].name", "Links.A": "links[].between", "Links.B": "links[].between", "Links.Rate": "links[].rate",
	"Links.Propagation": "links[].propagation", "Links.FlowControl": "links[].flow-control",
	"Links.Buffer.Packets": "links[].buffer", "Links.Buffer.Bytes": "links[].buffer", "Links.Resend": "links[].resend", "Links.Quanta": "links[].quanta",
	"Flows.Name": "flows[].name", "Flows.Group": "flows[].group", "Flows.From": "flows[].from", "Flows.To": "flows[].to",
	"Flows.Start": "flows[].start", "Flows.Stop": "flows[].stop", "Flows.Jitter": "flows[].jitter", "Flows.Traffic": "flows[].traffic",
	"Flows.Rate": "flows[].rate", "Flows.Packet": "flows[].packet", "Flows.Window": "flows[].window", "Flows.Limiter": "flows[].limiter",
	"Flows.Control.Law": "flows[].control.law",
	"Flows.Priority":    "flows[].priority", "Flows.Burst": "flows[].burst", "Flows.Shape": "flows[].shape", "Flows.Size": "flows[].size", "Flows.Count": "flows[].count",
	"Flows.Timeout": "flows[].timeout", "Events.Switch": "events[].switch", "Events.Restart": "events[].restart",
	"Flows.Spread": "flows[].spread", "Flows.Depth": "flows[].depth", "Flows.RateLimit": "flows[].rate-limit",
	"Routes.At": "routes[].at", "Routes.To": "routes[].to", "Routes.Over": "routes[].over",
	"Events.Endpoint": "events[].endpoint", "Events.State": "events[].state", "Events.Service": "events[].service", "Events.PauseStorm": "events[].pause-storm",
	"Events.At": "events[].at", "Events.Link": "events[].link", "Events.Rate": "events[].rate",
	"Measure.Window": "measure.window",
	"Expect.ID":      "expect[].id", "Expect.Source": "expect[].source", "Expect.Claim": "expect[].claim", "Expect.Metric": "expect[].metric",
	"Expect.During": "expect[].during", "Expect.Low": "expect[].low", "Expect.High": "expect[].high",
	"Expect.Basis": "expect[].basis", "Expect.From": "expect[].from",
	"Expect.Expected": "expect[].expected", "Expect.Reason": "expect[].reason", "Expect.Why": "expect[].why",
}

// paramsOf is where the parameters of the rows of a table are set.
var paramsOf = map[string]string{"Switches.Marking.Params": "switches.*.marking.", "Flows.Control.Params": "flows[].control."}

// parameters returns the paths of all parameters.
func parameters() (paths []string) {
	for _, l := range rp.Laws() {
		for _, p := range param.Of(l.Params).Params {
			paths = append(paths, paramsOf["Flows.Control.Params"]+p.Key)
		}
	}
	for _, w := range cp.Points() {
		for _, p := range param.Of(w.Params).Params {
			paths = append(paths, paramsOf["Switches.Marking.Params"]+p.Key)
		}
	}
	return paths
}

// TestEveryField: each field of Scenario is set by a key, which is documented
// and has a bad file in which it is wrong.
func TestEveryField(t *testing.T) {
	fields := map[string]*param.Param{}
	scenario.Language().Walk("", func(path string, p *param.Param) { fields[path] = p })
	wrong := wrongPaths(t)
	leaves := map[string]bool{}
	leavesOf("", reflect.TypeFor[scenario.Scenario](), leaves)
	for leaf := range leaves {
		if strings.HasPrefix(leaf, "Warnings.") || leaf == "HasShort" || leaf == "Schemes" || strings.HasPrefix(leaf, "loaded") {
			delete(leaves, leaf) // what Load says is no part of a scenario
		}
	}
	used := map[string]bool{}
	for _, key := range parameters() {
		used[key] = true
		if !matches(wrong, key) {
			t.Errorf("no bad file has a wrong %s", key)
		}
	}
	for leaf := range leaves {
		if paramsOf[leaf] != "" {
			continue
		}
		key, ok := keyOf[leaf]
		if !ok {
			t.Errorf("no key sets %s", leaf)
			continue
		}
		used[key] = true
		if _, ok := fields[key]; !ok {
			t.Errorf("%s is set by %s, which the language does not have", leaf, key)
		}
		if !matches(wrong, key) {
			t.Errorf("no bad file has a wrong %s", key)
		}
	}
	for leaf := range keyOf {
		if !leaves[leaf] {
			t.Errorf("Scenario has no field %s", leaf)
		}
	}
	for path, f := range fields {
		if len(f.Doc) < 10 || !strings.HasSuffix(f.Doc, ".") {
			t.Errorf("%s has no proper documentation: %q", path, f.Doc)
		}
		if f.Wanted() == "" {
			t.Errorf("%s does not say what is wanted", path)
		}
		if strings.HasPrefix(path, "defaults.") || strings.HasPrefix(path, "short.") || !strings.ContainsAny(path, ".[") || used[path] {
			continue
		}
		if strings.HasSuffix(path, ".marking") || strings.HasSuffix(path, ".control") || strings.HasSuffix(path, "[]") {
			continue // they hold fields
		}
		if path == "switches.*.ets" || path == "switches.*.ets[].priority" {
			continue // which of the weights it is
		}
		if path == "flows[].load" {
			continue // it sets the rate
		}
		t.Errorf("the key %s sets nothing", path)
	}
}

// leavesOf collects the fields that hold values.
func leavesOf(path string, typ reflect.Type, out map[string]bool) {
	switch {
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Struct:
		leavesOf(path, typ.Elem(), out)
	case typ.Kind() == reflect.Struct:
		for i := range typ.NumField() {
			f := typ.Field(i)
			if f.Name == "_" {
				continue // a key that sets no field by itself
			}
			name := f.Name
			if path != "" {
				name = path + "." + f.Name
			}
			leavesOf(name, f.Type, out)
		}
	default:
		out[path] = true
	}
}

// wrongPaths returns the paths of the mistakes in all bad files.
func wrongPaths(t *testing.T) []string {
	files, err := filepath.Glob("testdata/*.bad.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = scenario.Load(file, src, nil, scenario.CheckMetrics(checkMetric))
		for _, e := range err.(*scenario.Errors).List {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// matches says whether one of the paths is that of a key, or of the same key
// under defaults.
func matches(paths []string, key string) bool {
	pattern := regexp.QuoteMeta(key)
	for from, to := range map[string]string{`switches\.\*`: `(switches\.[^.]+|defaults\.switch)`, `links\[\]`: `(links(\[\d+\]|\..+)|defaults\.link)`, `flows\[\]`: `(flows(\[\d+\]|\..+)|defaults\.flow)`, `endpoints\[\]`: `(endpoints(\[\d+\]|\..+)|defaults\.endpoint)`} {
		pattern = strings.Replace(pattern, from, to, 1)
	}
	pattern = strings.Replace(pattern, `\[\]`, `(\[\d+\]|\..+)`, 1)
	if strings.HasSuffix(key, ".between") {
		pattern = strings.TrimSuffix(pattern, `\.between`) // a short link is its between
	}
	if key == "endpoints" || key == "switches" {
		pattern += `(\[\d+\]|\..+)?`
	}
	re := regexp.MustCompile("^" + pattern + "$")
	for _, p := range paths {
		if re.MatchString(p) {
			return true
		}
	}
	return false
}
