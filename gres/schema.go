package gres

import (
	"fmt"
	"strings"
)

// A Kind is the index of a countable thing in a [Schema]: what Slurm calls a
// TRES and Kubernetes a resource name.
type Kind uint16

// The kinds that every schema has, in Slurm's order.
const (
	CPU     Kind = iota // CPUs (hardware threads)
	Mem                 // memory in MiB
	Energy              // joules
	Node                // whole nodes
	Billing             // billing points
	FSDisk              // fs/disk, MiB
	VMem                // vmem, MiB
	Pages               // pages
	fixedKinds
)

// maxKinds bounds a schema so that a Kind fits with room to spare.
const maxKinds = 1 << 14

// firstConfiguredID is the number that Slurm's accounting gives to the first
// kind beyond the fixed ones, which are numbered from 1.
const firstConfiguredID = 1001

var fixedNames = [fixedKinds]string{"cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages"}

// A Schema lists the kinds that are counted, in a fixed order: the eight of
// every Slurm cluster, then the configured ones (gres/NAME, gres/NAME:TYPE,
// license/NAME, bb/NAME, fs/NAME, ic/NAME) in the order given. It is immutable
// and may be shared.
//
// Source: slurm.conf(5), AccountingStorageTRES.
type Schema struct {
	names   []string
	index   map[string]Kind // by lower-case name; looked up, never ranged over
	untyped []Kind          // of gres/NAME:TYPE the kind gres/NAME, else the kind itself
}

// NewSchema returns the schema with the fixed kinds and then names. A name of
// a fixed kind is allowed and adds nothing. An error names the first bad or
// repeated name. Names differ if they differ in more than case.
func NewSchema(names ...string) (*Schema, error) {
	if len(names) > maxKinds {
		return nil, fmt.Errorf("gres: make schema: %d kinds: %w", len(names), ErrRange)
	}
	s := &Schema{index: make(map[string]Kind, len(names)+int(fixedKinds))}
	for _, n := range fixedNames {
		s.add(n)
	}
	for _, n := range names {
		low := strings.ToLower(n)
		if k, ok := s.index[low]; ok {
			if k < fixedKinds {
				continue
			}
			return nil, fmt.Errorf("gres: make schema: kind %q: %w", n, ErrDuplicate)
		}
		if !validKindName(low) {
			return nil, fmt.Errorf("gres: make schema: kind %q: %w", n, ErrSyntax)
		}
		s.add(n)
	}
	for i, n := range s.names {
		base, _, typed := strings.Cut(strings.ToLower(n), ":")
		if k, ok := s.index[base]; ok && typed {
			s.untyped[i] = k
		}
	}
	return s, nil
}

func (s *Schema) add(name string) {
	k := Kind(len(s.names))
	s.names = append(s.names, name)
	s.index[strings.ToLower(name)] = k
	s.untyped = append(s.untyped, k)
}

// validKindName reports whether low, in lower case, is CLASS/NAME with a class
// that Slurm knows, and for gres optionally :TYPE.
func validKindName(low string) bool {
	class, name, ok := strings.Cut(low, "/")
	if !ok || name == "" {
		return false
	}
	switch class {
	case "gres":
		base, typ, typed := strings.Cut(name, ":")
		return plainName(base) && (!typed || plainName(typ))
	case "license", "bb", "fs", "ic":
		return plainName(name)
	}
	return false
}

// plainName reports whether s can stand between the separators of a TRES list.
func plainName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune(`,=:"'`, r)
	}) < 0 && !strings.ContainsAny(s[len(s)-1:], "+-")
}

// Len returns the number of kinds; a [Vector] of s has this length.
func (s *Schema) Len() int { return len(s.names) }

// Name returns the name of k as it was given, "gres/gpu:h100" for example.
// It panics if s does not have k.
func (s *Schema) Name(k Kind) string { return s.names[k] }

// Kind returns the kind of the given name, ignoring case, or of the number
// that Slurm's accounting uses: 1 to 8 for the fixed kinds, from 1001 for the
// configured ones.
func (s *Schema) Kind(name string) (Kind, bool) {
	if k, ok := s.index[name]; ok {
		return k, true
	}
	if k, ok := s.index[strings.ToLower(name)]; ok {
		return k, true
	}
	id := 0
	for i := range len(name) {
		c := name[i]
		if c < '0' || c > '9' || id > maxKinds {
			return 0, false
		}
		id = id*10 + int(c-'0')
	}
	switch {
	case id >= 1 && id <= int(fixedKinds):
		return Kind(id - 1), true
	case id >= firstConfiguredID && id-firstConfiguredID < len(s.names)-int(fixedKinds):
		return Kind(id - firstConfiguredID + int(fixedKinds)), true
	}
	return 0, false
}

// Untyped returns for a kind gres/NAME:TYPE the kind gres/NAME, which counts
// its pieces too; ok is false if k has no type or s lacks the other kind.
// It panics if s does not have k.
func (s *Schema) Untyped(k Kind) (_ Kind, ok bool) {
	u := s.untyped[k]
	return u, u != k
}

// MiBBased reports whether amounts of k are in MiB, so that text without a
// suffix means MiB: mem, vmem, fs/disk and burst buffers.
func (s *Schema) MiBBased(k Kind) bool {
	if k < fixedKinds {
		return k == Mem || k == VMem || k == FSDisk
	}
	n := s.names[k]
	return len(n) > 3 && strings.EqualFold(n[:3], "bb/")
}

// NewVector returns a vector of s with all amounts zero. Tables of vectors cut
// theirs from one slice instead.
func (s *Schema) NewVector() Vector { return make(Vector, len(s.names)) }
