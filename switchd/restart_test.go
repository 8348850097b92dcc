package switchd_test

import (
	"slices"
	"testing"

	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// A switch that is restarted loses what is in it and says so, frame by frame, where
// each was; its links are down until they are told to come up, and then it forwards as
// if it were new.
func TestRestart(t *testing.T) {
	r := newRig(t, config(3), 2) // the peer of port 2 gives no credit: frames for it wait
	for i := range uint32(3) {
		r.send(unit.Time(i)*t1, 0, data(i+1, 2))
	}
	r.send(0, 1, data(9, 2))
	r.run(10 * t1)
	r.sw.Apply(r.now, 0, port.Restart{})
	r.advance()
	want(t, "lost", r.reported(trace.Drop, reason), "p0@20680:restarted p0@20680:restarted p0@20680:restarted p1@20680:restarted")
	if r.sw.Waiting(2) != 0 || r.sw.Sending(2) {
		t.Error("something still waits")
	}
	sent := len(r.sent)
	r.run(20 * t1)
	if len(r.sent) != sent {
		t.Errorf("it has sent %+v while its links are down", r.sent[sent:])
	}
	// The links come up: both ends begin again.
	for p := range r.peers {
		r.peers[p] = peer{free: r.peers[p].free, due: r.peers[p].due, busy: r.peers[p].busy}
		r.sw.Apply(r.now, port.ID(p), port.LinkUp{})
	}
	r.advance()
	for p := range r.peers {
		r.grant(r.now, p, port.DataLane, roomy)
	}
	r.send(r.now+t1, 0, data(20, 2))
	r.run(r.now + 10*t1)
	if got := r.sent[len(r.sent)-1]; r.left(2) == "" || !contains(r, 20) {
		t.Errorf("nothing was forwarded after the restart; the last frame was %+v", got)
	}
}

// contains reports whether a frame of a flow has left.
func contains(r *rig, flow uint32) bool {
	for i := range r.sent {
		if f := &r.sent[i].Frame; f.Kind == wire.Data && f.QP == flow {
			return true
		}
	}
	return false
}

// The same of a switch that queues at its outputs: memory, watermarks and queues are
// those of a new one.
func TestRestartOfAnOutputQueue(t *testing.T) {
	c := outputQueued(3)
	p := newPlant(t, c)
	p.stations[2].port.Pausing().Stop(0) // it takes nothing: frames for it stay
	p.offer(0, ether(1, 2, 0), 100)
	p.run(100 * t1500)
	before := len(p.stations[2].came)
	p.sw.Apply(p.now, 0, port.Restart{})
	for i := range p.stations {
		p.stations[i].port.Apply(p.now, port.LinkDown{})
	}
	lost := p.count(trace.Drop, trace.Restarted)
	if lost < 10 || lost > 20 {
		t.Errorf("%d frames were lost, want about what the high watermark allows", lost)
	}
	p.run(110 * t1500)
	p.stations[2].port.Pausing().Resume(0)
	for i := range p.stations {
		p.stations[i].port.Apply(p.now, port.LinkUp{})
		p.sw.Apply(p.now, port.ID(i), port.LinkUp{})
	}
	p.run(400 * t1500)
	came := len(p.stations[2].came)
	if came == before || came+p.dropped != 100 {
		t.Errorf("%d came, %d were lost in the switch, %d in all, of 100", came, lost, p.dropped)
	}
	if len(p.broken) > 0 {
		t.Errorf("%+v", p.broken[0])
	}
}

// A restart loses notifications of the switch itself at the output at which they wait, also behind
// a frame that came by another port.
func TestRestartLosesItsOwnNotifications(t *testing.T) {
	c := outputQueued(3)
	c.Points = func(int, *trace.Recorder) (cp.Made, error) {
		return cp.Made{Notifier: &teller{n: make(map[uint32]int)}}, nil
	}
	p := newPlant(t, c)
	p.stations[0].port.Pausing().Stop(0) // it takes nothing
	p.offer(1, ether(1, 0, 6), 5)
	p.run(20 * t1500)
	p.offer(0, ether(2, 2, 0), 30)
	p.run(60 * t1500)
	p.sw.Apply(p.now, 0, port.Restart{})
	var lost []uint16
	for _, e := range p.events {
		if e.Kind == trace.Drop && trace.Reason(e.A) == trace.Restarted && e.Flow == 2 {
			lost = append(lost, e.Port)
		}
	}
	if !slices.Equal(lost, []uint16{0, 0, 0}) || p.count(trace.Drop, trace.Restarted) < 6 {
		t.Errorf("of flow 2 it lost notifications at ports %v, want 3 at port 0; %d frames in all", lost, p.count(trace.Drop, trace.Restarted))
	}
}
