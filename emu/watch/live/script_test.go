package live

import (
	"math"
	"slices"
	"testing"

	"fabemu/emu/fabric"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/resolve"
)

// sceneOf lays a scenario out that comes with the program.
func sceneOf(t testing.TB, name string) *Scene {
	t.Helper()
	src, err := builtin.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	return sceneFrom(t, src)
}

func sceneFrom(t testing.TB, src []byte) *Scene {
	t.Helper()
	s, err := resolve.Load("test.yaml", src, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	c := NewScene(s, f)
	c.Clock, c.Dilation = "wall", s.Wall.Dilation
	return c
}

// script makes n moments of a scene: the lines named are stopped, the first by the second,
// the second by the third, and so on, from a third of the time on; the last is the root. All else
// goes up and down, the same each time.
func script(t testing.TB, c *Scene, n int, chains ...[]string) []*Moment {
	t.Helper()
	place := func(name string) int {
		i := slices.IndexFunc(c.Lines, func(l Line) bool { return l.Name == name })
		if i < 0 {
			t.Fatalf("there is no line %s", name)
		}
		return i
	}
	wave := func(i, k int) float64 { return 0.5 + 0.5*math.Sin(float64(i)/7+float64(k)) }
	var all []*Moment
	for i := range n {
		m := &Moment{State: State{ModelPs: c.EndPs * int64(i+1) / int64(n), WallMs: int64(i+1) * 100, Verdict: "faithful", Late: 0.0004, Floor: 0.0001}, Waits: []Wait{}}
		for k := range c.Lines {
			busy := 0.3 + 0.3*wave(i, k)
			m.Used, m.Stop, m.Stopped = append(m.Used, Figure(busy)), append(m.Stop, Goes), append(m.Stopped, 0)
			m.Queue, m.Held = append(m.Queue, Figure(8e3*wave(i, k))), append(m.Held, Figure(c.Lines[k].Room*0.2*wave(i, k)))
		}
		for k, f := range c.Flows {
			line := c.Lines[f.Path[0]].Rate
			m.Rate, m.Limit = append(m.Rate, Figure(line*(0.3+0.2*wave(i, k)))), append(m.Limit, Figure(line*(0.4+0.3*wave(i/2, k))))
			m.Target, m.Feedback = append(m.Target, Figure(line*(0.5+0.3*wave(i/2, k)))), append(m.Feedback, Figure(math.Round(4*wave(i, 3*k))))
		}
		if i > n/3 {
			for _, chain := range chains {
				for k := 1; k < len(chain); k++ {
					a, b := place(chain[k-1]), place(chain[k])
					m.Waits = append(m.Waits, Wait{a, b})
					m.Stop[a], m.Stopped[a], m.Used[a], m.Held[a] = NoCredit, 0.8, 0.2, Figure(c.Lines[a].Room)
					if c.Lines[a].Pauses {
						m.Stop[a] = Paused
					}
					m.Used[b], m.Queue[b] = 1, 26e3
				}
			}
		}
		c.findRoots(m)
		for k := range c.Checks {
			s := CheckStatus{}
			if c.Checks[k].ToPs < m.ModelPs {
				s = CheckStatus{State: report.Pass, Came: "0.9"}
			}
			m.Checks = append(m.Checks, s)
		}
		all = append(all, m)
	}
	return all
}
