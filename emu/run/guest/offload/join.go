package offload

import (
	"bytes"
	"encoding/binary"
)

// Joiner joins packets of a connection into large segments before they go to a guest's kernel.
// It keeps a packet only if one like it came less than Hold before: a connection whose
// packets come one by one has each of them at once.
type Joiner struct {
	Ethernet bool // packets begin with a header of Ethernet
	// Hold is the longest time for which a packet is kept, in the unit of the instants.
	Hold int64
	// Write receives each packet behind a header of virtual networks. It may not keep it.
	Write func(b []byte, packets int)

	segments [mostSegments]segment
	kept     int   // segments that are not free
	last     int64 // instant of the last packet that could be joined
	single   []byte
}

// mostSegments is the number of connections whose packets a Joiner keeps at a time, like the
// kernel's own (MAX_GRO_SKBS).
const mostSegments = 8

// segment is a large segment that grows.
type segment struct {
	b     []byte  // behind a header of virtual networks; empty: it is free
	l     offsets // without that header
	size  int     // the payload of the first packet
	next  uint32  // sequence number behind the last one
	count int     // packets
	since int64   // instant of the first
}

// Add takes a packet at an instant: it is kept, or written behind all that were kept of its
// connection.
func (j *Joiner) Add(p []byte, now int64) {
	l, ok := j.offsetsOf(p)
	var s *segment
	if l.data > 0 {
		s = j.segmentOf(p, &l)
	}
	if !ok {
		if s != nil {
			j.write(s)
		}
		j.single = append(append(j.single[:0], make([]byte, HeaderSize)...), p...)
		j.Write(j.single, 1)
		return
	}
	alone := now-j.last > j.Hold
	j.last = now
	if s != nil && !s.takes(p, &l) {
		j.write(s)
	}
	if s == nil {
		s = j.free()
	}
	if len(s.b) == 0 {
		if s.b == nil {
			s.b = make([]byte, 0, MaxSize)
		}
		s.b = append(s.b[:HeaderSize], p...)
		j.kept++
		s.l, s.size, s.next, s.count, s.since = l, len(p)-l.data, tcpHeader(p[l.tcp:]).sequence(), 0, now
	} else {
		s.b = append(s.b, p[l.data:]...)
	}
	s.next += uint32(len(p) - l.data)
	s.count++
	pushed := tcpHeader(p[l.tcp:]).flags()&flagPSH != 0
	if pushed {
		s.b[HeaderSize+l.tcp+tcpFlags] |= flagPSH
	}
	if alone || pushed || len(p)-l.data < s.size {
		j.write(s)
	}
}

// Flush writes the segments whose first packet came at an instant or before it.
func (j *Joiner) Flush(before int64) {
	for i := 0; i < len(j.segments) && j.kept > 0; i++ {
		if s := &j.segments[i]; len(s.b) > 0 && s.since <= before {
			j.write(s)
		}
	}
}

// Oldest returns the instant of the first packet that is kept; false: none is.
func (j *Joiner) Oldest() (since int64, any bool) {
	for i := 0; i < len(j.segments) && j.kept > 0; i++ {
		if s := &j.segments[i]; len(s.b) > 0 && (!any || s.since < since) {
			since, any = s.since, true
		}
	}
	return since, any
}

// offsetsOf returns the offsets of a packet of TCP, with data 0 for any other. ok: it has nothing
// but data that follow other data, and right checksums, so that it can be joined.
func (j *Joiner) offsetsOf(p []byte) (l offsets, ok bool) {
	l.ip = ipOf(p, j.Ethernet)
	var payload int
	switch {
	case len(p) < l.ip+ipv4Size+tcpSize:
		return l, false
	case p[l.ip] == 0x45:
		ip := ipv4(p[l.ip:])
		if ip[9] != protocolTCP || ip.fragment()&wholePacket != 0 || !IntactIPv4(ip[:ipv4Size]) {
			return l, false
		}
		l.tcp, payload = l.ip+ipv4Size, ip.length()-ipv4Size
	case p[l.ip]>>4 == 6 && len(p) >= l.ip+ipv6Size+tcpSize:
		ip := p[l.ip:]
		if ip[6] != protocolTCP {
			return l, false
		}
		l.tcp, l.v6, payload = l.ip+ipv6Size, true, int(binary.BigEndian.Uint16(ip[4:]))
	default:
		return l, false
	}
	tcp := tcpHeader(p[l.tcp:])
	size := tcp.dataOffset()
	if len(tcp) != payload || size < tcpSize || size > len(tcp) {
		return l, false
	}
	l.data = l.tcp + size
	ok = size < len(tcp) && tcp.flags()&^flagPSH == flagACK && sumOf(tcp, l.pseudo(p)) == 0xFFFF
	return l, ok
}

// segmentOf returns the segment of a packet's connection, or nil.
func (j *Joiner) segmentOf(p []byte, l *offsets) *segment {
	for i := range j.segments {
		s := &j.segments[i]
		if len(s.b) > 0 && s.l.v6 == l.v6 && bytes.Equal(s.l.addresses(s.b[HeaderSize:]), l.addresses(p)) &&
			bytes.Equal(s.b[HeaderSize+s.l.tcp:][:4], p[l.tcp:][:4]) {
			return s
		}
	}
	return nil
}

// takes reports whether a packet of the connection may follow: all its headers equal the headers of
// the first packet, but for lengths, numbers and checksums.
func (s *segment) takes(p []byte, l *offsets) bool {
	first, size := s.b[HeaderSize:], len(p)-l.data
	a, b := tcpHeader(first[s.l.tcp:s.l.data]), tcpHeader(p[l.tcp:l.data])
	switch {
	case s.l != *l, size > s.size, len(first)-l.ip+size > 1<<16-1:
		return false
	case !bytes.Equal(first[:l.ip], p[:l.ip]), b.sequence() != s.next, !bytes.Equal(a[8:12], b[8:12]), // the acknowledged number
		!bytes.Equal(a[14:16], b[14:16]), // the window
		!bytes.Equal(a[tcpSize:], b[tcpSize:]):
		return false
	case l.v6:
		return bytes.Equal(first[l.ip:][:4], p[l.ip:][:4]) && first[l.ip+7] == p[l.ip+7] // the hop limit
	}
	one, other := ipv4(first[l.ip:]), ipv4(p[l.ip:])
	inTurn := other.fragment()&dontFragment != 0 || other.id() == one.id()+uint16(s.count)
	const service, lifetime = 1, 8
	return inTurn && one[service] == other[service] && one[lifetime] == other[lifetime] && one.fragment() == other.fragment()
}

// free returns a free segment. If there is none it writes the oldest one.
func (j *Joiner) free() *segment {
	oldest := &j.segments[0]
	for i := range j.segments {
		s := &j.segments[i]
		if len(s.b) == 0 {
			return s
		}
		if s.since < oldest.since {
			oldest = s
		}
	}
	j.write(oldest)
	return oldest
}

// write writes a segment, and frees it.
func (j *Joiner) write(s *segment) {
	v, p, l := s.b[:HeaderSize], s.b[HeaderSize:], &s.l
	clear(v)
	if s.count > 1 {
		l.setLength(p)
		tcpHeader(p[l.tcp:]).setChecksum(l.pseudo(p))
		v[atFlags], v[atKind] = needsChecksum, segmentTCPv4
		if l.v6 {
			v[atKind] = segmentTCPv6
		}
		order.PutUint16(v[atHeaders:], uint16(l.data))
		order.PutUint16(v[atSize:], uint16(s.size))
		order.PutUint16(v[atBegin:], uint16(l.tcp))
		order.PutUint16(v[atPlace:], tcpChecksum)
	}
	j.Write(s.b, s.count)
	s.b = s.b[:0]
	j.kept--
}
