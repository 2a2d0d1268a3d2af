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
	buf     []byte // written, or left to read
	reading bool
	err     error
	specs   *specTable // while jobs are visited
}

// fail records the first error; after it every read gives zero values.
func (c *codec) fail(what string) {
	if c.err == nil {
		c.err = fmt.Errorf("scheduler: read snapshot: %s: %w", what, ErrSnapshot)
	}
	c.buf = nil
}

func (c *codec) uint(v *uint64) {
	if !c.reading {
		c.buf = binary.AppendUvarint(c.buf, *v)
		return
	}
	x, n := binary.Uvarint(c.buf)
	if n <= 0 {
		c.fail("number cut short")
		*v = 0
		return
	}
	*v, c.buf = x, c.buf[n:]
}

func (c *codec) int(v *int64) {
	if !c.reading {
		c.buf = binary.AppendVarint(c.buf, *v)
		return
	}
	x, n := binary.Varint(c.buf)
	if n <= 0 {
		c.fail("number cut short")
		*v = 0
		return
	}
	*v, c.buf = x, c.buf[n:]
}

func (c *codec) float(v *float64) {
	b := math.Float64bits(*v)
	c.uint(&b)
	*v = math.Float64frombits(b)
}

func (c *codec) bool(v *bool) {
	var b uint64
	if *v {
		b = 1
	}
	c.uint(&b)
	*v = b != 0
}

// has visits whether something is there, which is some when writing.
func (c *codec) has(some bool) bool {
	c.bool(&some)
	return some
}

func (c *codec) str(v *string) {
	n := uint64(len(*v))
	c.uint(&n)
	if !c.reading {
		c.buf = append(c.buf, *v...)
		return
	}
	if n > uint64(len(c.buf)) {
		c.fail("text cut short")
		n = 0
	}
	*v, c.buf = string(c.buf[:n]), c.buf[n:]
}

// num visits an integer of any type.
func num[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64](c *codec, v *T) {
	x := int64(*v)
	c.int(&x)
	*v = T(x)
	if c.reading && int64(*v) != x {
		c.fail("number out of range")
	}
}

// list visits a slice; one visits an element. nil and empty are the same.
func list[T any](c *codec, v *[]T, one func(*codec, *T)) {
	n := uint64(len(*v))
	c.uint(&n)
	if c.reading {
		// An element takes at least a byte, so a longer list is not one.
		if n > uint64(len(c.buf)) {
			c.fail("list cut short")
			n = 0
		}
		*v = nil
		if n > 0 {
			*v = make([]T, n)
		}
	}
	for i := range *v {
		one(c, &(*v)[i])
	}
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
