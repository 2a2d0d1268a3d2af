package cgroupsv2

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"
)

func words(max int) *rapid.Generator[[]uint64] {
	return rapid.Custom(func(t *rapid.T) []uint64 {
		var w []uint64
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, max), 0, 20).Draw(t, "numbers") {
			for len(w) <= n/64 {
				w = append(w, 0)
			}
			w[n/64] |= 1 << (n % 64)
		}
		return w
	})
}

func TestListsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := words(300).Draw(t, "set")
		text := string(AppendList(nil, w))
		back, err := ParseList(" " + text + "\n")
		if err != nil || !equalSets(w, back) {
			t.Fatalf("%v -> %q -> %v %v", w, text, back, err)
		}
	})
}

func TestNamesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := SLUID(rapid.Uint64().Draw(t, "a")), SLUID(rapid.Uint64().Draw(t, "b"))
		back, err := ParseSLUID(a.String())
		if err != nil || back != a {
			t.Fatalf("%d -> %s -> %d %v", a, a, back, err)
		}
		if (a < b) != (a.String() < b.String()) {
			t.Fatalf("order of %s and %s", a, b)
		}
		id := StepID(rapid.Int32Range(-6, 100).Draw(t, "step"))
		if got, err := ParseStepName(id.String()); (err == nil) != (id >= 0 || id <= StepExtern) || err == nil && got != id {
			t.Fatalf("%s -> %d %v", id, got, err)
		}
	})
}

// twin is the table of the specification, written again in big steps.
func twin(c *Conf, alloc, real int64) (hard, soft, swap float64) {
	p := func(x int64, p float64) float64 { return float64(x) * 1048576 * p / 100 }
	clampBoth := func(x, top float64) float64 {
		if x < p(c.MinRAM, 100) {
			return p(c.MinRAM, 100)
		}
		if x > top {
			return top
		}
		return x
	}
	maxRAM, ram, base := p(real, c.MaxRAMPercent), 100.0, alloc
	if c.ConstrainRAM {
		ram = c.AllowedRAM
	}
	hard, soft = p(alloc, ram), p(alloc, 100)
	if alloc == 0 {
		hard, soft, base = p(real, 100), p(real, 100), real
	}
	hard = clampBoth(hard, maxRAM)
	soft = clampBoth(soft, maxRAM)
	if soft > hard {
		soft = hard
	}
	both := clampBoth(hard+p(base, c.AllowedSwap), maxRAM+p(real, c.MaxSwapPercent))
	if !c.ConstrainRAM {
		hard = both
	}
	if swap = both - hard; swap < 0 {
		swap = 0
	}
	return hard, soft, swap
}

func TestMemoryAsTheTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := DefaultConf()
		c.ConstrainRAM, c.ConstrainSwap = rapid.Bool().Draw(t, "ram"), rapid.Bool().Draw(t, "swap")
		pct := rapid.SampledFrom([]float64{0, 1, 12.5, 50, 99.9, 100, 110, 250})
		c.AllowedRAM, c.AllowedSwap = pct.Draw(t, "allowed ram"), pct.Draw(t, "allowed swap")
		c.MaxRAMPercent, c.MaxSwapPercent = pct.Draw(t, "max ram"), pct.Draw(t, "max swap")
		c.MinRAM = rapid.Int64Range(0, 5000).Draw(t, "min")
		alloc, real := rapid.Int64Range(0, 2_000_000).Draw(t, "alloc"), rapid.Int64Range(1, 2_000_000).Draw(t, "real")
		m := c.Memory(alloc, real)
		if !c.ConstrainRAM && !c.ConstrainSwap {
			if m != (Memory{Unset, Unset, Unset}) {
				t.Fatalf("%+v", m)
			}
			return
		}
		hard, soft, swap := twin(&c, alloc, real)
		near := func(got int64, want float64) bool { return float64(got) > want-3 && float64(got) < want+3 }
		if !near(m.Max, hard) || !near(m.High, soft) || c.ConstrainSwap && !near(m.Swap, swap) || !c.ConstrainSwap && m.Swap != Unset {
			t.Fatalf("%+v, want %v %v %v", m, hard, soft, swap)
		}
		if c.ConstrainRAM && m.High > m.Max || m.Max < 0 {
			t.Fatalf("%+v", m)
		}
	})
}

func constrained() (Conf, Node) {
	c := DefaultConf()
	c.ConstrainCores, c.ConstrainDevices, c.ConstrainRAM, c.ConstrainSwap = true, true, true, true
	return c, Node{RealMemory: 16000, TracksMemory: true, PIDs: 100, Records: [][]Device{{{CharDevice, 195, 0}}, {{CharDevice, 195, 1}}}}
}

// Whichever operation fails, the tree is as it was before the list.
func TestNothingIsHalfApplied(t *testing.T) {
	c, n := constrained()
	j := Job{SLUID: 1, CPUs: []uint64{0xf}, Memory: 100, Held: []uint64{3}}
	first := Step{ID: StepBatch, CPUs: []uint64{0xf}, Memory: 100, Held: []uint64{3}, Tasks: []Task{{}}}
	step := Step{ID: 0, CPUs: []uint64{3}, Memory: 50, Held: []uint64{1}, OOMKill: true,
		Tasks: []Task{{Rank: 0, Bound: true, Held: []uint64{1}}, {Rank: 1, Memory: 10}}}
	for _, before := range [][]Op{nil, c.AppendStart(nil, &n, &j, &first)} {
		for fail := 1; ; fail++ {
			k := newFake("cpuset", "memory", "pids")
			if err := k.tree().Apply(before); err != nil {
				t.Fatal(err)
			}
			want := k.dump()
			k.calls, k.fail = 0, fail
			err := k.tree().Apply(c.AppendStart(nil, &n, &j, &step))
			if err == nil {
				if fail < 20 {
					t.Fatalf("only %d changes", fail)
				}
				break
			}
			if _, ok := errors.AsType[*UndoError](err); ok {
				t.Fatalf("failure at change %d: %v", fail, err)
			}
			if got := k.dump(); got != want {
				t.Fatalf("failure at change %d (%v) left\n%s\nwant\n%s", fail, err, got, want)
			}
		}
	}
}

// The same start twice changes nothing, and a stop removes all.
func TestStartAgainAndStop(t *testing.T) {
	c, n := constrained()
	k := newFake("cpuset", "memory", "pids")
	empty := k.dump()
	enabled := strings.Replace(empty, "./cgroup.subtree_control ", "./cgroup.subtree_control cpuset memory pids", 1)
	j := Job{SLUID: 1, CPUs: []uint64{0xf}, Memory: 100, Held: []uint64{3}}
	s := Step{CPUs: []uint64{3}, Memory: 50, Held: []uint64{1}, Tasks: []Task{{Bound: true, Held: []uint64{1}}}}
	ops := c.AppendStart(nil, &n, &j, &s)
	if err := k.tree().Apply(ops); err != nil {
		t.Fatal(err)
	}
	once := k.dump()
	if err := k.tree().Apply(ops); err != nil || k.dump() != once {
		t.Fatalf("again: %v\n%s", err, k.dump())
	}
	jobs, err := k.tree().Jobs()
	if want := []JobDir{{Name: j.SLUID.String(), Job: JobName{SLUID: 1}, Steps: []StepID{0}}}; err != nil || !reflect.DeepEqual(jobs, want) {
		t.Fatalf("%+v %v", jobs, err)
	}
	k.dirs[c.TaskPath(&j, 0, 0)].files["cgroup.procs"] = "4711"
	if err := k.tree().Apply(c.AppendStop(nil, &j, 0, false)); err == nil || !strings.Contains(err.Error(), "4711") {
		t.Fatalf("stop with a process inside: %v", err)
	}
	k.dirs[c.TaskPath(&j, 0, 0)].files["cgroup.procs"] = ""
	if err := k.tree().Apply(c.AppendStop(nil, &j, 0, false)); err != nil || k.dump() != enabled {
		t.Fatalf("stop: %v\n%s", err, k.dump())
	}
}

func TestErrorsAreTold(t *testing.T) {
	c, n := constrained()
	j := Job{SLUID: 1, CPUs: []uint64{0xf}}
	s := Step{CPUs: []uint64{0xf}}
	// Case 23: the parent does not offer cpuset.
	err := newFake("cpu", "memory", "pids").tree().Apply(c.AppendStart(nil, &n, &j, &s))
	if e, ok := errors.AsType[*ControllerError](err); !ok || e.Name != "cpuset" || e.Where != "." {
		t.Errorf("missing controller: %v", err)
	}
	j.CPUs = []uint64{0xf00}
	err = newFake("cpuset", "memory", "pids").tree().Apply(c.AppendStart(nil, &n, &j, &s))
	if e, ok := errors.AsType[*WriteError](err); !ok || !errors.Is(err, ErrNotGranted) || e.Granted != "0-7" {
		t.Errorf("CPUs that the parent does not have: %v", err)
	}
}

func TestDetect(t *testing.T) {
	const one = "22 1 0:21 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
	const hybrid = "22 1 0:21 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n23 1 0:22 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	for _, c := range []struct {
		mounts, own string
		mode        Mode
		err         error
		dir         string
	}{
		{one, "0::/system.slice/agent.service\n", ModeUnified, nil, "/sys/fs/cgroup/system.slice/agent.service"},
		{one, "0::/\n", ModeUnified, nil, "/sys/fs/cgroup"},
		// Case 22.
		{hybrid, "1:name=systemd:/a\n0::/b\n", ModeHybrid, ErrHybrid, "/sys/fs/cgroup/unified/b"},
		{"22 1 0:21 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "3:memory:/\n", ModeLegacy, ErrNotUnified, ""},
		{"", "", ModeNone, ErrNotUnified, ""},
		{"22 1 0:21 /pod /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/elsewhere\n", ModeUnified, ErrNamespace, ""},
		{"22 1 0:21 /pod /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/pod/x\n", ModeUnified, nil, "/sys/fs/cgroup/x"},
		{one, "0::/../outside\n", ModeUnified, ErrNamespace, ""},
		{"1 1 0:1 / /a\\040b rw - cgroup2 c rw\n", "0::/\n", ModeUnified, nil, "/a b"},
	} {
		fsys := fstest.MapFS{
			"proc/self/mountinfo": {Data: []byte(c.mounts)},
			"proc/self/cgroup":    {Data: []byte(c.own)},
			strings.TrimPrefix(c.dir+"/cgroup.controllers", "/"): {Data: []byte("cpuset memory\n")},
		}
		r, err := Detect(fsys)
		if err != nil || r.Mode != c.mode || r.Dir != c.dir || !errors.Is(r.Check(), c.err) || (c.err == nil) != (r.Check() == nil) {
			t.Errorf("%q %q: %+v %v, check %v", c.mounts, c.own, r, err, r.Check())
		}
		if c.dir != "" && !reflect.DeepEqual(r.Controllers, []string{"cpuset", "memory"}) {
			t.Errorf("%q: controllers %q", c.own, r.Controllers)
		}
	}
}

func FuzzList(f *testing.F) {
	for _, s := range []string{"", "0", "0-3,8", "3-1", "0,0-70", "65536", "1-", ",", " 2 \n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		w, err := ParseList(s)
		if err != nil {
			if e, ok := errors.AsType[*ParseError](err); !ok || e.Offset < 0 || e.Offset > len(s) {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		text := AppendList(nil, w)
		back, err := ParseList(string(text))
		if err != nil || !equalSets(w, back) || string(AppendList(nil, back)) != string(text) {
			t.Fatalf("%q -> %q %v", s, text, err)
		}
	})
}

func FuzzConf(f *testing.F) {
	for _, s := range []string{"", "ConstrainCores=yes\n", "a=b", "AllowedRAMSpace=\"10\" # x", "CgroupSlice=x \\\nMinRAMSpace=1", "MemorySwappiness=-1", "EnableExtraControllers=all,io", "\\\n\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, _, err := ParseConf(s)
		if err != nil {
			if e, ok := errors.AsType[*ParseError](err); !ok || e.Line < 1 || e.Offset < 0 || e.Offset > len(e.Text) || !reflect.DeepEqual(c, DefaultConf()) {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		if m := c.Memory(1000, 16000); m.Max < Unset || m.High < Unset || m.Swap < Unset {
			t.Fatalf("%q: %+v", s, m)
		}
	})
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"s0080000000001", "job_12", "step_batch", "step_0", "step_00", "job_", "sG000000000000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if j, err := ParseJobName(s); err == nil {
			c := Conf{JobIDPaths: j.SLUID == 0 && s[0] == 'j'}
			if got := c.JobPath(&Job{SLUID: j.SLUID, ID: j.ID}); got != s {
				t.Fatalf("%q -> %+v -> %q", s, j, got)
			}
		}
		if id, err := ParseStepName(s); err == nil && id.String() != s {
			t.Fatalf("%q -> %d", s, id)
		}
	})
}
