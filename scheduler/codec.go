package scheduler

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A codec writes values to bytes or reads them back. One function a type
// visits its fields in a fixed order in either direction, so that the two
// cannot drift apart. Integers are varints.
type codec struct {
	buf     []byte // written, or to read
	at      int    // read so far
	reading bool
	err     error

	specs  *specTable // while jobs are visited
	order  []int32    // written: numbers of the jobs, by row
	queued []int32    // read: rows of jobs that have records
	room   readRoom
}

// fail records the first error; after it every read gives zero values.
func (c *codec) fail(what string) {
	if c.err == nil {
		c.err = fmt.Errorf("scheduler: read snapshot: %s: %w", what, ErrSnapshot)
	}
	c.buf, c.at = nil, 0
}

// left is how many bytes are left to read.
func (c *codec) left() int { return len(c.buf) - c.at }

// put writes a number, get reads one.
func (c *codec) put(x uint64) {
	if x < 0x80 {
		c.buf = append(c.buf, byte(x))
		return
	}
	c.buf = binary.AppendUvarint(c.buf, x)
}

func (c *codec) get() uint64 {
	if c.at < len(c.buf) && c.buf[c.at] < 0x80 {
		c.at++
		return uint64(c.buf[c.at-1])
	}
	return c.getLong()
}

func (c *codec) getLong() uint64 {
	x, n := binary.Uvarint(c.buf[c.at:])
	if n <= 0 {
		c.fail("number cut short")
		return 0
	}
	c.at += n
	return x
}

func (c *codec) uint(v *uint64) {
	if c.reading {
		*v = c.get()
		return
	}
	c.put(*v)
}

func (c *codec) float(v *float64) {
	if c.reading {
		*v = math.Float64frombits(c.get())
		return
	}
	c.put(math.Float64bits(*v))
}

func (c *codec) bool(v *bool) {
	switch {
	case c.reading:
		*v = c.get() != 0
	case *v:
		c.put(1)
	default:
		c.put(0)
	}
}

// has visits whether something is there, which is some when writing.
func (c *codec) has(some bool) bool {
	c.bool(&some)
	return some
}

func (c *codec) str(v *string) {
	if !c.reading {
		c.put(uint64(len(*v)))
		c.buf = append(c.buf, *v...)
		return
	}
	*v = c.room.text(c.bytes())
}

// bytes reads a text, which is valid as long as what is read.
func (c *codec) bytes() []byte {
	n := c.get()
	if n > uint64(c.left()) {
		c.fail("text cut short")
		n = 0
	}
	b := c.buf[c.at : c.at+int(n)]
	c.at += int(n)
	return b
}

// num visits an integer of any type.
func num[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64](c *codec, v *T) {
	if !c.reading {
		x := int64(*v)
		c.put(uint64(x)<<1 ^ uint64(x>>63))
		return
	}
	u := c.get()
	x := int64(u>>1) ^ -int64(u&1)
	*v = T(x)
	if int64(*v) != x {
		c.fail("number out of range")
	}
}

// list visits a slice; one visits an element. nil and empty are the same.
func list[T any](c *codec, v *[]T, one func(*codec, *T)) {
	if n := c.count(len(*v)); c.reading {
		*v = nil
		if n > 0 {
			*v = make([]T, n)
		}
	}
	for i := range *v {
		one(c, &(*v)[i])
	}
}

// listIn is list for lists of which there are many: those that are read lie in
// the arena.
func listIn[T any](c *codec, a *arena[T], v *[]T, one func(*codec, *T)) {
	if n := c.count(len(*v)); c.reading {
		*v = a.take(n)
	}
	for i := range *v {
		one(c, &(*v)[i])
	}
}

// count visits the length of a list.
func (c *codec) count(n int) int {
	if !c.reading {
		c.put(uint64(n))
		return n
	}
	x := c.get()
	// An element takes at least a byte, so a longer list is not one.
	if x > uint64(c.left()) {
		c.fail("list cut short")
		x = 0
	}
	return int(x)
}

// opt visits a pointer that may be nil.
func opt[T any](c *codec, v **T, one func(*codec, *T)) {
	has := *v != nil
	c.bool(&has)
	if c.reading {
		*v = nil
		if has {
			*v = new(T)
		}
	}
	if *v != nil {
		one(c, *v)
	}
}

func strs(c *codec, v *[]string) { list(c, v, (*codec).str) }

func nums[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64](c *codec, v *[]T) {
	list(c, v, num[T])
}
