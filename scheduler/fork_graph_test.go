package scheduler

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// A span is memory that something points to: a slice up to its capacity, or what
// a pointer or a map leads to.
type span struct {
	from, to uintptr
	path     string
}

// sharedTypes are what forks share: these are never written once they are made.
// TestForksShareNothing proves that what they hold stays as it is.
var sharedTypes = map[string]bool{
	"*scheduler.Registry": true, "*scheduler.JobSpec": true, "*scheduler.jobOwn": true, "*scheduler.featureWish": true, "*scheduler.levelFit": true,
	"*topology.Names": true, "*topology.Topologies": true, "*topology.Topology": true, "*topology.Levels": true, "*topology.fitter": true,
	"*gres.Schema": true, "*gres.Shape": true, "*gres.Workload": true, "*priority.Billing": true,
	"*qos.limits": true, "*qos.family": true, "*qos.access": true, "*uint16": true, "*time.Duration": true, "*float64": true,
	"map[string]*topology.NodeSet": true,
}

// sharedPaths are fields that forks share, for the same reason.
var sharedPaths = regexp.MustCompile(`^(` + strings.Join([]string{
	// Specifications are replaced entry by entry.
	`cfg\.(Nodes|NodeSets|GresTypes|TRES|Topologies|Cohorts|Reservations)`,
	`cfg\.(Accounts|QOS|Partitions|Licenses|Parameters)\b.+`, `par\..*`, `parts\[\]\.spec\..*`, `resv\.all\[\]\.spec\..*`,
	// What New makes of them.
	`partByKey`, `totalCPUs`, `scopes`, `trackedKinds`, `parts\[\]\.views`, `licenses\.pools\[\]\.(unitOf|first|members)`,
	`pre\.(qos|ids|parts|circle)`, `pre\.qos\[\]\.Preempt`, `rank\.cfg\.Weights\.TRES`, `rank\.cluster\..*`, `rank\.mf\.cfg\.Weights\.TRES`,
	// What a class asks, and of jobs.
	`classes\.rows\[\]\.(nodes|list|required|tres|fit\.Sizes|fit\.TotalCPUs).*`, `jobs\.rows\[\]\.(parts|classes|licenses\.asks)`,
	`resv\.all\[\]\.licenses`, `acct\.l\.classes`, `acct\.l\.qos\[\]\.(attr\.Preempt|of)`, `placement\.learner\.shapes\[\]\.Types`,
	`acct\.l\.classes\[\].*`,
}, "|") + `)$`)

type place struct {
	at uintptr
	t  reflect.Type
}

// A frozen value must stay as it was when sum was taken.
type frozen struct {
	v    reflect.Value
	path string
	sum  uint64
}

// foldAll folds all that can be reached from v into a number.
func foldAll(v reflect.Value) uint64 {
	f := folder{seen: map[place]bool{}}
	f.fold(v)
	return f.sum
}

type folder struct {
	sum  uint64
	seen map[place]bool
}

func (f *folder) add(x uint64) { f.sum = mix(f.sum ^ x) }

func (f *folder) fold(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if at := (place{v.Pointer(), v.Type()}); !v.IsNil() && !f.seen[at] {
			f.seen[at] = true
			f.fold(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			f.fold(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		f.add(uint64(v.Len()))
		for i := range v.Len() {
			f.fold(v.Index(i))
		}
	case reflect.Map:
		var sum uint64
		for it := v.MapRange(); it.Next(); {
			sum += mix(foldAll(it.Key())) ^ foldAll(it.Value())
		}
		f.add(sum)
	case reflect.Struct:
		for _, field := range v.Fields() {
			f.fold(field)
		}
	case reflect.String:
		f.add(checksum([]byte(v.String())))
	case reflect.Bool:
		f.add(map[bool]uint64{true: 1}[v.Bool()])
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		f.add(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		f.add(v.Uint())
	case reflect.Float64:
		f.add(math.Float64bits(v.Float()))
	}
}

// A graph walks all that can be reached from a value.
type graph struct {
	spans  []span
	shared []frozen              // what may be shared
	seen   map[place]uintptr     // size, by address and type
	plain  map[reflect.Type]bool // types without pointers
}

func (g *graph) isPlain(t reflect.Type) bool {
	if v, ok := g.plain[t]; ok {
		return v
	}
	g.plain[t] = false
	plain := true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Func, reflect.Chan:
		plain = false
	case reflect.Array:
		plain = g.isPlain(t.Elem())
	case reflect.Struct:
		for field := range t.Fields() {
			plain = plain && g.isPlain(field.Type)
		}
	}
	g.plain[t] = plain
	return plain
}

// add notes memory and reports whether to look into it.
func (g *graph) add(p uintptr, size uintptr, path string, v reflect.Value) bool {
	t := v.Type()
	if p == 0 || size == 0 {
		return false
	}
	s := span{p, p + size, path}
	if sharedTypes[t.String()] || sharedPaths.MatchString(path) {
		if key := (place{p, t}); g.seen[key] < size {
			g.seen[key] = size
			g.shared = append(g.shared, frozen{v.Convert(t), path, foldAll(v)})
		}
		return false
	}
	if key := (place{p, t}); g.seen[key] >= size {
		return false
	} else {
		g.seen[key] = size
	}
	g.spans = append(g.spans, s)
	return true
}

func (g *graph) walk(v reflect.Value, path string) {
	t := v.Type()
	if g.isPlain(t) {
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && g.add(v.Pointer(), t.Elem().Size(), path, v) {
			g.walk(v.Elem(), path)
		}
	case reflect.Interface:
		if !v.IsNil() {
			g.walk(v.Elem(), path)
		}
	case reflect.Slice:
		if v.Cap() == 0 || !g.add(v.Pointer(), uintptr(v.Cap())*t.Elem().Size(), path, v) {
			return
		}
		if g.isPlain(t.Elem()) {
			return
		}
		v = v.Slice(0, v.Cap()) // what was cut off may come back
		for i := range v.Len() {
			g.walk(v.Index(i), path+"[]")
		}
	case reflect.Array:
		for i := range v.Len() {
			g.walk(v.Index(i), path+"[]")
		}
	case reflect.Map:
		if v.IsNil() || !g.add(v.Pointer(), 1, path, v) {
			return
		}
		for it := v.MapRange(); it.Next(); {
			g.walk(it.Value(), path+"{}")
		}
	case reflect.Struct:
		common := t == reflect.TypeFor[job]() && v.FieldByName("common").Bool()
		for i := range t.NumField() {
			name := t.Field(i).Name
			if common && name == "alloc" { // until one of the forks writes to it
				x := v.Field(i).Convert(t.Field(i).Type)
				g.shared = append(g.shared, frozen{x, path + ".alloc", foldAll(x)})
				continue
			}
			if path != "" {
				name = path + "." + name
			}
			g.walk(v.Field(i), name)
		}
	}
}

func graphOf(e *engine) *graph {
	g := &graph{seen: map[place]uintptr{}, plain: map[reflect.Type]bool{}}
	g.walk(reflect.ValueOf(e).Elem(), "")
	slices.SortFunc(g.spans, func(a, b span) int {
		if a.from != b.from {
			return int(int64(a.from) - int64(b.from))
		}
		return strings.Compare(a.path, b.path)
	})
	return g
}

// Freeze notes all that forks of a scheduler share with it, and returns a function
// that lists what of it has changed since.
func Freeze(s Scheduler) func() []string {
	all := graphOf(s.(*engine)).shared
	return func() (changed []string) {
		for i := range all {
			if foldAll(all[i].v) != all[i].sum {
				changed = append(changed, all[i].path)
			}
		}
		return changed
	}
}

// SharedMemory lists the fields of two schedulers that lie in the same memory and
// are not known to be immutable.
func SharedMemory(a, b Scheduler) []string {
	x, y := graphOf(a.(*engine)), graphOf(b.(*engine))
	found := map[string]bool{}
	var out []string
	i := 0
	for _, s := range y.spans {
		for i < len(x.spans) && x.spans[i].to <= s.from {
			i++
		}
		for k := i; k < len(x.spans) && x.spans[k].from < s.to; k++ {
			if text := fmt.Sprintf("%s and %s", x.spans[k].path, s.path); x.spans[k].to > s.from && !found[text] {
				found[text] = true
				out = append(out, text)
			}
		}
	}
	return out
}
