package subnet

import (
	"fmt"
	"io"
)

// WriteNet writes the topology as ibnetdiscover prints it before a manager has given LIDs. ibsim
// reads it too; it takes widths and speeds only from lines with a LID, be it 0.
func (s *Subnet) WriteNet(w io.Writer) error {
	id := func(i int) string {
		return fmt.Sprintf("%c-%016x", "HS"[s.nodes[i].nodeType()-1], guid(i, 0))
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		kind, word := "Ca", "ca"
		if n.isSwitch {
			kind, word = "Switch", "switch"
		}
		own, base := "lid 0 lmc 0 ", ""
		if n.isSwitch {
			own, base = "", " base port 0 lid 0 lmc 0"
		}
		if _, err := fmt.Fprintf(w, "%sguid=0x%x\n%s\t%d \"%s\"\t\t# \"%s\"%s\n", word, guid(i, 0), kind, len(n.ports)-1, id(i), n.Name, base); err != nil {
			return err
		}
		for k := 1; k < len(n.ports); k++ {
			p := &n.ports[k]
			if _, err := fmt.Fprintf(w, "[%d]\t\"%s\"[%d]\t\t# %s\"%s\" lid 0 %s\n", k, id(p.peer.node), p.peer.port, own, s.nodes[p.peer.node].Name, p.speed()); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return nil
}

// speed returns the width and the speed of the link of a port, such as "4xSDR".
func (p *portInfo) speed() string {
	for _, width := range widths {
		for _, l := range lanes {
			if p.info[31] == width.code && p.info[35]>>4 == l.speed && p.info[62]>>4 == l.extended && p.info[56]&7 == l.extended2 {
				return fmt.Sprintf("%dx%s", width.lanes, l.name)
			}
		}
	}
	return ""
}
