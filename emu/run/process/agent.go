package process

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"fabemu/emu/host/fleet"
	"fabemu/emu/run/carrier"
	"fabemu/emu/run/pace"
)

// Attend runs the share of this host in a run that rank 0 of its fleet conducts, to the end of the run. fabemu agent
// calls it, and so does fabemu run on a host that is not rank 0.
func Attend(ctx context.Context, f *fleet.Fleet) error {
	peer, err := fleet.Join(ctx, f)
	if err != nil {
		return err
	}
	defer peer.Close()
	err = attend(ctx, f, peer)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func attend(ctx context.Context, f *fleet.Fleet, peer *fleet.Peer) (err error) {
	awaken := context.AfterFunc(ctx, func() { peer.SetReadDeadline(time.Now()) })
	defer awaken()
	running := false
	defer func() {
		if err != nil && !running { // report the reason to rank 0
			peer.SetWriteDeadline(time.Now().Add(endTimeout))
			report := Report{Err: err.Error(), Signalled: ctx.Err() != nil}
			if report.Signalled {
				report.Err = ""
			}
			writeJSON(peer, done, report)
		}
	}()
	var w work
	if err := await(peer, share, &w); err != nil {
		return fmt.Errorf("rank 0, %s: %w", peer.Name, err)
	}
	file := w.File
	if file == nil || len(file.Nodes) == 0 || file.Dilation < 1 {
		return errors.New("rank 0 has sent no nodes to run here")
	}
	laidOut, err := file.layOut([]byte(w.Scenario))
	if err != nil {
		return err
	}
	l := carrier.Some(laidOut)
	defer l.Close()
	ends, err := openShare(file, laidOut, l, func(End) netip.Addr { return peer.Here() })
	if err != nil {
		return err
	}
	if err := writeJSON(peer, bound, ends); err != nil {
		return err
	}
	var others []End
	if err := await(peer, peers, &others); err != nil {
		return fmt.Errorf("rank 0, %s: %w", peer.Name, err)
	}
	if err := connectShare(others, laidOut, l); err != nil {
		return err
	}
	if f.Notify != nil {
		f.Notify(fmt.Sprintf("host %d of %d runs %d of %d nodes of %s",
			peer.Rank, peer.Size, len(file.Nodes), len(laidOut.Nodes), laidOut.Scenario.Name))
	}
	p := newPart(file, peer, peer.In, &pace.Progress{})
	p.stays = true
	defer p.Close()
	running = true
	awaken()
	return p.serve(ctx, laidOut, l)
}
