package gres

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// A claimScript is the world of a script in testdata/claims. Commands:
//
//	inventory              lines: counter NAME LIMIT
//	                              class NAME [extended=RESOURCE] [CONDITION]…
//	                              device NAME [nodes=0,1] [ATTR=VALUE]… [cap=NAME:VALUE[,default=N][,min=N][,step=N][,valid=N/N]]…
//	                                     [draw=COUNTER:N]… [many] [taint=KEY:EFFECT]
//	claim name=C           lines: request NAME [admin]
//	                              or [count=N] [all] [class=C] [CONDITION]… [ask=CAP:N]… [tolerate=KEY] [predicate=NAME]
//	                                 [charge=CELL:devices|counter:NAME|capacity:NAME]
//	                              match ATTR [REQUEST]…     distinct ATTR [REQUEST]…
//	extended name=C resource=R count=N
//	allocate claim=C node=N     release allocation=N     share allocation=N node=N
//	charge claim=C [allocation=N]   taint device=D [taint=KEY:EFFECT]   evictions   used
//
// A CONDITION is ATTR=VALUE, ATTR>=VALUE, ATTR<=VALUE, ATTR!=VALUE, has:ATTR or
// CAP>>N (a capacity of at least N).
type claimScript struct {
	names  []string
	cells  []string
	inv    *Inventory
	claims map[string]*Claim
}

func (s *claimScript) id(name string) AttrID {
	k := slices.Index(s.names, name)
	if k < 0 {
		k = len(s.names)
		s.names = append(s.names, name)
	}
	return AttrID(k)
}

func (s *claimScript) cell(name string) Kind {
	k := slices.Index(s.cells, name)
	if k < 0 {
		k = len(s.cells)
		s.cells = append(s.cells, name)
	}
	return Kind(k)
}

func scriptValue(text string) Value {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return IntOf(n)
	}
	var a, b, c int64
	if n, _ := fmt.Sscanf(text, "v%d.%d.%d", &a, &b, &c); n == 3 {
		return VersionOf(a, b, c)
	}
	if text == "true" || text == "false" {
		return BoolOf(text == "true")
	}
	return TextOf(text)
}

func scriptInt(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// selector reads a CONDITION.
func (s *claimScript) selector(t *testing.T, word string) Selector {
	t.Helper()
	if a, ok := strings.CutPrefix(word, "has:"); ok {
		return Selector{ID: s.id(a), Op: SelectExists}
	}
	for _, o := range []struct {
		text string
		op   SelectOp
	}{{">>", SelectCapacity}, {">=", SelectAtLeast}, {"<=", SelectAtMost}, {"!=", SelectNotEqual}, {"=", SelectEqual}} {
		if a, v, ok := strings.Cut(word, o.text); ok {
			return Selector{ID: s.id(a), Op: o.op, Value: scriptValue(v)}
		}
	}
	t.Fatalf("no condition: %q", word)
	return Selector{}
}

func scriptTaint(text string) Taint {
	key, effect, _ := strings.Cut(text, ":")
	return Taint{Key: key, Effect: map[string]TaintEffect{"none": TaintNone, "noschedule": TaintNoSchedule, "noexecute": TaintNoExecute}[effect]}
}

func (s *claimScript) capacity(t *testing.T, text string) Capacity {
	t.Helper()
	parts := strings.Split(text, ",")
	name, v, _ := strings.Cut(parts[0], ":")
	c := Capacity{ID: s.id(name), Value: scriptInt(t, v)}
	for _, p := range parts[1:] {
		key, v, _ := strings.Cut(p, "=")
		switch key {
		case "default":
			c.Default = scriptInt(t, v)
		case "min":
			c.Min = scriptInt(t, v)
		case "step":
			c.Step = scriptInt(t, v)
		case "valid":
			for x := range strings.SplitSeq(v, "/") {
				c.Valid = append(c.Valid, scriptInt(t, x))
			}
		default:
			t.Fatalf("capacity %q", text)
		}
	}
	return c
}

func (s *claimScript) inventory(t *testing.T, input string) {
	t.Helper()
	var devices []ClaimDevice
	var counters []string
	var limits []int64
	var classes []DeviceClass
	for line := range strings.SplitSeq(input, "\n") {
		w := strings.Fields(line)
		switch w[0] {
		case "counter":
			counters, limits = append(counters, w[1]), append(limits, scriptInt(t, w[2]))
		case "class":
			c := DeviceClass{Name: w[1]}
			for _, x := range w[2:] {
				if r, ok := strings.CutPrefix(x, "extended="); ok {
					c.Extended = r
				} else {
					c.Selectors = append(c.Selectors, s.selector(t, x))
				}
			}
			classes = append(classes, c)
		case "device":
			d := ClaimDevice{Name: w[1]}
			for _, x := range w[2:] {
				key, v, _ := strings.Cut(x, "=")
				switch key {
				case "nodes":
					d.Nodes = make([]uint64, 1)
					for n := range strings.SplitSeq(v, ",") {
						d.Nodes[0] |= 1 << scriptInt(t, n)
					}
				case "cap":
					d.Capacities = append(d.Capacities, s.capacity(t, v))
				case "draw":
					name, n, _ := strings.Cut(v, ":")
					d.Draws = append(d.Draws, Draw{int32(slices.Index(counters, name)), scriptInt(t, n)})
				case "many":
					d.Many = true
				case "taint":
					d.Taints = append(d.Taints, scriptTaint(v))
				default:
					d.Attrs = append(d.Attrs, Attr{s.id(key), scriptValue(v)})
				}
			}
			devices = append(devices, d)
		default:
			t.Fatalf("inventory line %q", line)
		}
	}
	for _, c := range counters {
		s.id("counter " + c)
	}
	inv, err := NewInventory(devices, limits, classes, map[string]Predicate{
		"odd": func(d *ClaimDevice) (bool, error) { return d.Name[len(d.Name)-1]&1 == 1, nil },
		"bad": func(*ClaimDevice) (bool, error) { return false, errors.New("no such attribute") },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.inv = inv
	s.claims = map[string]*Claim{}
}

func (s *claimScript) claim(t *testing.T, input string) *Claim {
	t.Helper()
	c := &Claim{}
	for line := range strings.SplitSeq(input, "\n") {
		w := strings.Fields(line)
		switch w[0] {
		case "request":
			c.Requests = append(c.Requests, ClaimRequest{Name: w[1], Admin: slices.Contains(w, "admin")})
		case "or":
			r := &c.Requests[len(c.Requests)-1]
			r.Alternatives = append(r.Alternatives, s.alternative(t, w[1:]))
		case "match", "distinct":
			x := ClaimConstraint{Attr: s.id(w[1]), Distinct: w[0] == "distinct"}
			for _, n := range w[2:] {
				x.Requests = append(x.Requests, slices.IndexFunc(c.Requests, func(r ClaimRequest) bool { return r.Name == n }))
			}
			c.Constraints = append(c.Constraints, x)
		default:
			t.Fatalf("claim line %q", line)
		}
	}
	return c
}

func (s *claimScript) alternative(t *testing.T, words []string) Alternative {
	t.Helper()
	var a Alternative
	for _, x := range words {
		key, v, _ := strings.Cut(x, "=")
		switch key {
		case "count":
			a.Count = int32(scriptInt(t, v))
		case "all":
			a.All = true
		case "class":
			a.Class = v
		case "predicate":
			a.Predicate = v
		case "ask":
			name, n, _ := strings.Cut(v, ":")
			a.Capacities = append(a.Capacities, CapacityAsk{s.id(name), scriptInt(t, n)})
		case "tolerate":
			a.Tolerations = append(a.Tolerations, Toleration{Key: v})
		case "charge":
			p := strings.Split(v, ":")
			a.Charge = Charge{Kind: s.cell(p[0]), By: map[string]ChargeBy{"devices": ChargeDevices, "counter": ChargeCounter, "capacity": ChargeCapacity}[p[1]]}
			switch a.Charge.By {
			case ChargeCapacity:
				a.Charge.ID = int32(s.id(p[2]))
			case ChargeCounter:
				a.Charge.ID = int32(scriptInt(t, p[2]))
			}
		default:
			a.Selectors = append(a.Selectors, s.selector(t, x))
		}
	}
	return a
}

func (s *claimScript) show(id AllocationID, c *Claim) string {
	var out []string
	for _, it := range s.inv.Items(id) {
		var text strings.Builder
		text.WriteString(c.Requests[it.Request].Name + ": " + s.inv.Device(it.Device).Name)
		for k, n := range it.Amounts {
			text.WriteString(fmt.Sprintf(" %s=%d", s.names[s.inv.Device(it.Device).Capacities[k].ID], n))
		}
		if it.Admin {
			text.WriteString(" (admin)")
		}
		out = append(out, text.String())
	}
	return fmt.Sprintf("allocation %d: %s", id, strings.Join(out, ", "))
}

func TestClaimScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/claims", func(t *testing.T, path string) {
		s := &claimScript{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			arg := func(name string) (v string) { d.MaybeScanArgs(t, name, &v); return v }
			num := func(name string) int { return int(scriptInt(t, arg(name))) }
			switch d.Cmd {
			case "inventory":
				s.inventory(t, d.Input)
				return fmt.Sprintf("%d devices", s.inv.Len())
			case "claim":
				s.claims[arg("name")] = s.claim(t, d.Input)
				return "ok"
			case "extended":
				c, ok := s.inv.ExtendedClaim(arg("resource"), int32(num("count")), Charge{Kind: s.cell("gpu"), By: ChargeDevices})
				if !ok {
					return "a matter of the node"
				}
				s.claims[arg("name")] = c
				return "ok"
			case "allocate":
				c := s.claims[arg("claim")]
				id, why := s.inv.Allocate(int32(num("node")), c)
				if why != ClaimFits {
					return why.String()
				}
				s.inv.Forget()
				return s.show(id, c)
			case "release":
				last := s.inv.Release(AllocationID(num("allocation")))
				s.inv.Forget()
				if last {
					return "free"
				}
				return "still in use"
			case "share":
				if err := s.inv.Share(AllocationID(num("allocation")), int32(num("node"))); err != nil {
					return err.Error()
				}
				return "ok"
			case "charge":
				v := make(Vector, len(s.cells))
				if a := arg("allocation"); a != "" {
					s.inv.AddChargeOf(v, s.claims[arg("claim")], AllocationID(scriptInt(t, a)))
				} else {
					s.inv.AddCharge(v, s.claims[arg("claim")])
				}
				var out []string
				for k, n := range v {
					out = append(out, fmt.Sprintf("%s=%d", s.cells[k], n))
				}
				return strings.Join(out, " ")
			case "taint":
				k := slices.IndexFunc(s.inv.devices, func(x ClaimDevice) bool { return x.Name == arg("device") })
				var taints []Taint
				if a := arg("taint"); a != "" {
					taints = append(taints, scriptTaint(a))
				}
				s.inv.SetTaints(int32(k), taints)
				return "ok"
			case "evictions":
				var b strings.Builder
				for _, e := range s.inv.AppendEvictions(nil) {
					fmt.Fprintf(&b, "allocation %d: device %s is %s\n", e.Allocation, s.inv.Device(e.Device).Name, e.Taint.Key)
				}
				return b.String()
			case "used":
				var b strings.Builder
				for i := range s.inv.devices {
					if n := s.inv.use[s.inv.off[i]]; n > 0 {
						fmt.Fprintf(&b, "%s %d\n", s.inv.devices[i].Name, n)
					}
				}
				return b.String()
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}
