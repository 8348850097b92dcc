//go:build timing

package emu

import (
	"context"
	"errors"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/run/process"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// Eight guests send to a ninth at once: PFC stops them, nothing is lost in the fabric or in a
// kernel's queue, and no TCP takes a segment for lost.
func TestWallGuestsInIncastLoseNothing(t *testing.T) {
	needNamespaces(t)
	s := runtest.Load(t, `
name: incast
model: {duration: 2s}
wall: {dilation: 1}
defaults: {link: {rate: 100Mb/s, flow-control: pfc, propagation: 5us}, endpoint: {guest: {kind: tun, tcp: reno}}, flow: {packet: 1600B}}
switches: {S: {kind: output-queued, memory: 40KB per port}}
endpoints: ["s[1-8]", r]
links: ["s[1-8] - S", {name: root, between: S - r}]
flows: [{name: data, from: "s[1-8]", to: r}, {name: acks, from: r, to: "s[1-8]"}]
expect: [{id: stopped, claim: PFC stops the senders, metric: data.stalled.paused, during: [0s, 2s], low: 0.05, high: 1}]
`)
	const senders, each = 8, 1 << 20
	began, ended := make(chan bool), make(chan error, senders+1)
	listening := make(chan bool)
	var received atomic.Int64
	go func() {
		<-began
		var l net.Listener
		err := inGuest("r", func() (err error) { l, err = net.Listen("tcp4", ":9"); return err })
		close(listening)
		if err != nil {
			ended <- err
			return
		}
		defer l.Close()
		all := make(chan error, senders)
		for range senders {
			c, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			go func() {
				defer c.Close()
				n, err := io.Copy(io.Discard, c)
				received.Add(n)
				all <- err
			}()
		}
		for range senders {
			err = errors.Join(err, <-all)
		}
		ended <- err
	}()
	for i := range senders {
		go func() {
			<-listening
			name := fmt.Sprintf("s%d", i+1)
			var c net.Conn
			err := inGuest(name, func() (err error) { c, err = net.Dial("tcp4", s.Guest("r").Address.Addr().String()+":9"); return err })
			if err == nil {
				_ = c.(*net.TCPConn).SetWriteBuffer(128 << 10)
				_, err = c.Write(make([]byte, each))
				err = errors.Join(err, c.(*net.TCPConn).CloseWrite())
				_, _ = io.Copy(io.Discard, c) // until all is there
				err = errors.Join(err, inGuest(name, lossesSeen), c.Close())
			}
			ended <- err
		}()
	}
	r, err := Run(context.Background(), s, Options{Settings: Settings{Link: Pipe}, test: process.Hooks{Epoch: func() { close(began) }}})
	if err != nil {
		t.Fatal(err)
	}
	for range senders + 1 {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("not all of it was received in the time of the run")
		}
	}
	if received.Load() != senders*each || len(r.Drops) > 0 || r.Verdict.Level == report.Void || len(r.Warnings) > 0 || r.Checks[0].Outcome != report.Pass {
		t.Errorf("received %d bytes; drops %v, verdict %v, warnings %q, %+v", received.Load(), r.Drops, r.Verdict.Reason, r.Warnings, r.Checks)
	}
}
