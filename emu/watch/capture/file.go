package capture

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Smallest returns the least value of Rotate: the size of the start and the end of a file, and of
// one record.
func (o Options) Smallest() unit.Size {
	c := &Capture{options: o, out: io.Discard, ids: make([]int, len(o.Ports))}
	c.head()
	for _, n := range nodeNames(o.Nodes) {
		c.wrote += len(n)
	}
	return unit.Size(c.wrote + c.tail() + wire.MaxFrameSize + 2*noteSize)
}

// commentRoom is how many bytes the comment of a section has in which a verdict is
// to be written.
const commentRoom = 1024

// head begins a file.
func (c *Capture) head() {
	o := &c.options
	c.part++
	section := pcapng.Section{Application: "fabemu", Comment: o.Comment, More: flowNames(o.Names)}
	if o.ByPacket {
		section.More = append([]string{pcapng.ByPacket}, section.More...)
	}
	_, anywhere := c.out.(io.WriterAt)
	switch {
	case o.Rotate > 0:
		section.More = append([]string{fmt.Sprintf("part %d", c.part)}, section.More...)
		if o.Wall {
			section.Comment += ". The verdict is in the statistics of the last part"
		}
	case o.Wall && anywhere:
		section.Comment += ". The run has not ended: there is no verdict yet"
		section.Room = commentRoom
	case o.Wall:
		section.Comment += ". The verdict is in the statistics at the end"
	}
	c.buf, c.commentAt = pcapng.AppendSection(c.buf, section)
	if len(o.Nodes) > 0 {
		var names []pcapng.Name
		for _, lid := range slices.Sorted(maps.Keys(o.Nodes)) {
			names = append(names, pcapng.Name{MAC: uint64(lid.MAC()), Text: o.Nodes[lid]})
		}
		c.buf = pcapng.AppendNames(c.buf, names)
	}
	c.wrote, c.counts, c.begun = 0, c.counts[:0], false
	for i := range o.Ports {
		c.ids[i] = -1
		if c.captures(i) {
			c.addInterface(i)
		}
	}
	c.flush()
}

// tail returns how many bytes a file ends with at most.
func (c *Capture) tail() int { return len(c.counts)*statisticsSize + commentRoom }

// statisticsSize is the size of a block of statistics without a comment.
const statisticsSize = 52

// turn ends a file and begins the next.
func (c *Capture) turn() {
	c.statistics("", 0)
	c.flush()
	if c.err == nil {
		c.out, c.err = c.options.Next()
	}
	c.head()
}

// statistics writes the end of a file.
func (c *Capture) statistics(verdict string, dropped uint64) {
	last := c.stamp(c.heldAt, c.wall)
	for i, n := range c.counts {
		s := pcapng.Statistics{Interface: i, Time: last, Received: n}
		if i == 0 {
			s.Comment, s.Dropped = verdict, dropped
			s.Received += dropped
		}
		c.buf = pcapng.AppendStatistics(c.buf, s)
	}
}

// flowNames returns the names of flows as comments: "flow 2 local.B1".
func flowNames(names map[uint32]string) []string {
	var list []string
	for _, qp := range slices.Sorted(maps.Keys(names)) {
		if len(list) == maxNames {
			break
		}
		list = append(list, fmt.Sprintf("flow %d %s", qp, names[qp]))
	}
	return list
}

// nodeNames returns the names of nodes as comments, for readers that do not have the blocks of
// names: "machines 1 A, 2 B1, 3 B2".
func nodeNames(names map[wire.LID]string) [][]byte {
	var list [][]byte
	const room = 60000
	for _, lid := range slices.Sorted(maps.Keys(names)) {
		if n := len(list); n == 0 || len(list[n-1]) > room {
			list = append(list, []byte("machines "))
		} else {
			list[n-1] = append(list[n-1], ", "...)
		}
		last := &list[len(list)-1]
		*last = fmt.Appendf(*last, "%d %s", lid, names[lid])
	}
	return list
}

// maxNames is how many flows a capture names.
const maxNames = 10000

// addInterface adds the interface of a port.
func (c *Capture) addInterface(p int) {
	port := &c.options.Ports[p]
	i := pcapng.Interface{Link: pcapng.ERF, FCS: -1, Name: port.Name, Description: port.Description, Comment: port.Comment,
		Filter: strings.Join(c.options.Filter, " "), Speed: uint64(port.Rate)}
	if c.options.Snap > 0 {
		i.Snap = uint32(max(c.options.Snap, wire.MaxNotification)) // no longer frame has no payload
	}
	switch {
	case port.Ethernet:
		i.Link, i.FCS = pcapng.Ethernet, wire.FCSSize
	case i.Snap > 0:
		i.Snap += erfHeaderSize
	}
	c.buf = pcapng.AppendInterface(c.buf, i)
	c.ids[p] = len(c.counts)
	c.counts = append(c.counts, 0)
}

const (
	flushSize  = 1 << 16
	flushAfter = 100 * time.Millisecond
)

// flush writes the buffer to the file. After an error nothing more is written.
func (c *Capture) flush() {
	if c.err == nil && len(c.buf) > 0 {
		_, c.err = c.out.Write(c.buf)
	}
	c.wrote += len(c.buf)
	c.buf = c.buf[:0]
	c.flushed = time.Now()
}

// idle flushes the buffer from time to time, for readers of a file that grows.
func (c *Capture) idle() {
	if len(c.buf) > 0 && time.Since(c.flushed) > flushAfter {
		c.flush()
	}
}

// write writes a record, the first of a file with the names of the nodes.
func (c *Capture) write(p *pcapng.Packet) {
	before := len(c.buf)
	c.buf = pcapng.AppendPacket(c.buf, p)
	if c.options.Rotate > 0 && c.begun && c.wrote+len(c.buf)+c.tail() > int(c.options.Rotate) {
		c.buf = c.buf[:before]
		c.turn()
		before = 0
	}
	if !c.begun {
		p.Comments = append(p.Comments, c.nodes...)
		c.buf = pcapng.AppendPacket(c.buf[:before], p)
		c.begun = true
	}
	c.counts[p.Interface]++
	c.total++
}
