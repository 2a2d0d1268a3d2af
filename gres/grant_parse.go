package gres

import (
	"strconv"
	"strings"
)

// ParseGRES appends to dst the devices of a node's allocation in the form of
// [Shape.AppendGRES]: "gpu:a100:2(IDX:0-1),lic(CNT:3)",
// "shard:6(5/5,1/5,0/5,0/5)". Names and types must be in t and the indices on
// the node. Errors are *[ParseError]; dst is then returned as it came.
func (s *Shape) ParseGRES(dst []DeviceGrant, t *DeviceTable, text string) ([]DeviceGrant, error) {
	n := len(dst)
	for off := 0; off < len(text); {
		end := off
		for depth := 0; end < len(text) && (text[end] != ',' || depth > 0); end++ {
			switch text[end] {
			case '(':
				depth++
			case ')':
				depth--
			}
		}
		var at int
		var err error
		dst, at, err = s.parseGrant(dst, t, text[off:end])
		if err != nil {
			return dst[:n], &ParseError{text, min(off+at, len(text)), err}
		}
		if off = end + 1; off == len(text) {
			return dst[:n], &ParseError{text, off, ErrSyntax}
		}
	}
	return dst, nil
}

// parseGrant reads one NAME[:TYPE][:N](…); at is the offset of what is wrong.
func (s *Shape) parseGrant(dst []DeviceGrant, t *DeviceTable, item string) (_ []DeviceGrant, at int, err error) {
	open := strings.IndexByte(item, '(')
	if open < 0 || item[len(item)-1] != ')' {
		return dst, len(item), ErrSyntax
	}
	in := item[open+1 : len(item)-1]
	name, rest, _ := strings.Cut(item[:open], ":")
	id, ok := t.NameID(name)
	g := s.Group(id)
	if !ok || g < 0 {
		return dst, 0, ErrUnknownKind
	}
	e := DeviceGrant{Group: uint16(g), Device: CountOnly}
	if typ, _, typed := strings.Cut(rest, ":"); typed {
		if e.Type, ok = t.TypeID(typ); !ok || e.Type == 0 {
			return dst, len(name) + 1, ErrUnknownKind
		}
	}
	gr := &s.groups[g]
	if cnt, ok := strings.CutPrefix(in, "CNT:"); ok {
		n, err := strconv.ParseInt(cnt, 10, 64)
		if err != nil || n < 0 || len(gr.devs) > 0 {
			return dst, open + 5, ErrSyntax
		}
		e.Units = n
		return append(dst, e), 0, nil
	}
	if gr.part != nil {
		return parseInstances(dst, gr, e, in, open+1)
	}
	if gr.over >= 0 {
		return parseUses(dst, gr, e, in, open+1)
	}
	idx, ok := strings.CutPrefix(in, "IDX:")
	if !ok || len(gr.devs) == 0 {
		return dst, open + 1, ErrSyntax
	}
	if idx == "" || idx == "N/A" {
		return append(dst, e), 0, nil
	}
	err = eachRange(idx, 0, func(lo, hi int) bool {
		for d := lo; d <= hi; d++ {
			if d >= len(gr.devs) {
				return false
			}
			e.Device, e.Units = int16(d), gr.devs[d].units
			dst = append(dst, e)
		}
		return true
	})
	if err != nil {
		pe := err.(*ParseError)
		return dst, open + 5 + pe.Offset, pe.Err
	}
	return dst, 0, nil
}

// parseUses reads "2/5,0/5,-/5": units of each device in index order.
func parseUses(dst []DeviceGrant, gr *group, e DeviceGrant, in string, at int) ([]DeviceGrant, int, error) {
	n := len(dst)
	for d := 0; in != ""; d++ {
		item, rest, _ := strings.Cut(in, ",")
		used, _, ok := strings.Cut(item, "/")
		units, err := strconv.ParseInt(used, 10, 64)
		switch {
		case used == "-":
			units = 0
		case !ok || err != nil || units < 0:
			return dst, at, ErrSyntax
		case d >= len(gr.devs):
			return dst, at, ErrRange
		}
		if units > 0 {
			e.Device, e.Units = int16(d), units
			dst = append(dst, e)
		}
		in, at = rest, at+len(item)+1
	}
	if len(dst) == n {
		dst = append(dst, e)
	}
	return dst, 0, nil
}
