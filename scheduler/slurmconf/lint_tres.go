package slurmconf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// lintTRES: tres-typed-only, tres-untracked-limit, tres-gres-missing.
func (s *site) lintTRES() {
	list := s.f.Params.AccountingStorageTRES
	seen := map[string]bool{}
	for _, name := range list.V {
		base, _, typed := strings.Cut(strings.ToLower(name), ":")
		if typed && strings.HasPrefix(base, "gres/") && !hasFold(list.V, base) && !seen[base] {
			seen[base] = true
			s.warn("tres-typed-only", list.At, "untyped requests are invisible to accounting and limits",
				"AccountingStorageTRES has %s but not %s; add %s", name, base, base)
		}
	}
	if l := s.anyGPU(); l >= 0 && !slices.ContainsFunc(s.f.TRES(), func(n string) bool {
		return strings.EqualFold(n, "gres/gpu") || strings.HasPrefix(strings.ToLower(n), "gres/gpu:")
	}) {
		n := &s.f.Nodes[l]
		s.warn("tres-gres-missing", n.Gres.At, "GPU use is neither charged nor limitable",
			"nodes %s have Gres=%s, AccountingStorageTRES has no gres/gpu; add it", n.Names.V, n.Gres.V)
	}
	s.lintUntracked()
}

func (s *site) lintUntracked() {
	report := func(at Origin, what, name string) {
		if c, _, ok := strings.Cut(name, "/"); !ok || c == "fs" || s.tracked(name) {
			return
		}
		s.bad("tres-untracked-limit", at, "the limit or weight cannot be stored or enforced",
			"%s names %s, which AccountingStorageTRES does not list; add it there first, limits can be set only after the controller has registered it", what, name)
	}
	for i := range s.f.Partitions {
		w := s.f.Partitions[i].TRESBillingWeights
		if i > 0 && w.At == s.f.Partitions[i-1].TRESBillingWeights.At {
			continue // the same DEFAULT line
		}
		for _, it := range limitItems(w.V) {
			report(w.At, "TRESBillingWeights", it[0])
		}
	}
	for _, it := range limitItems(s.f.Params.PriorityWeightTRES.V) {
		report(s.f.Params.PriorityWeightTRES.At, "PriorityWeightTRES", it[0])
	}
	for _, c := range s.f.Accounts {
		for _, set := range c.Set {
			if strings.Contains(set.Key, "TRES") {
				for _, it := range limitItems(set.Value) {
					report(set.At, set.Key, it[0])
				}
			}
		}
	}
}

// weights reads TRESBillingWeights; names are in lower case.
func weights(v string) map[string]float64 {
	out := map[string]float64{}
	for _, it := range limitItems(v) {
		num, div := it[1], 1.0
		if n := len(num) - 1; n > 0 {
			if k := strings.IndexByte("kmgtp", num[n]|0x20); k >= 0 {
				steps := k + 1
				if it[0] == "mem" || strings.HasPrefix(it[0], "bb/") {
					steps = max(k-1, 0)
				}
				for range steps {
					div *= 1024
				}
				num = num[:n]
			}
		}
		if f, err := strconv.ParseFloat(num, 64); err == nil {
			out[it[0]] = f / div
		}
	}
	return out
}

// gpuWeight reports whether weights charge GPUs.
func gpuWeight(w map[string]float64) bool {
	for name, f := range w {
		if (name == "gres/gpu" || strings.HasPrefix(name, "gres/gpu:")) && f > 0 {
			return true
		}
	}
	return false
}

// lintBilling: bill-cpu-only, bill-double, bill-uneven.
func (s *site) lintBilling() {
	for i := range s.parts {
		q := &s.parts[i]
		at := q.p.TRESBillingWeights.At
		if at.IsZero() {
			at = q.p.Name.At
		}
		w := weights(q.p.TRESBillingWeights.V)
		if lines := s.gpuLines(q); len(lines) > 0 && !gpuWeight(w) {
			_, _, cpus, mem := s.shape(lines[0])
			gpus := s.amount(lines[0], "gpu")
			c, m := cpus/gpus, mem/gpus
			strand := float64(c) + 0.25*float64(m)/1024
			s.warn("bill-cpu-only", at, fmt.Sprintf("%d GPUs and 4 CPUs bill 4 and GPUs cost nothing", gpus),
				"partition %s has GPU nodes and TRESBillingWeights=%q has no GRES/gpu; a GPU there strands %d CPUs and %d MiB, which at CPU=1.0,Mem=0.25G is GRES/gpu=%.2f",
				q.p.Name.V, q.p.TRESBillingWeights.V, c, m, strand)
		}
		for _, name := range sortedKeys(w) {
			base, typ, typed := strings.Cut(name, ":")
			if both, ok := w[base]; typed && ok && strings.HasPrefix(base, "gres/") {
				s.warn("bill-double", at, "both weights apply to a device of the type",
					"partition %s weighs %s=%v and %s=%v: a %s costs %v; keep one of them", q.p.Name.V, base, both, name, w[name], typ, both+w[name])
			}
		}
		s.lintUneven(i)
	}
}

// lintUneven compares partition i with those before it.
func (s *site) lintUneven(i int) {
	q := &s.parts[i]
	for j := range i {
		o := &s.parts[j]
		if q.p.TRESBillingWeights.V == o.p.TRESBillingWeights.V || overlap(q, o) == 0 || !together(q.spec, o.spec) {
			continue
		}
		a, b := weights(q.p.TRESBillingWeights.V), weights(o.p.TRESBillingWeights.V)
		if equalWeights(a, b) {
			continue
		}
		at := q.p.TRESBillingWeights.At
		if at.IsZero() {
			at = q.p.Name.At
		}
		s.warn("bill-uneven", at, "the same job costs differently and goes where it is cheap",
			"partitions %s and %s share %d nodes and users but bill by %q and %q; give both the same weights or separate them",
			o.p.Name.V, q.p.Name.V, overlap(q, o), o.p.TRESBillingWeights.V, q.p.TRESBillingWeights.V)
		return
	}
}

func equalWeights(a, b map[string]float64) bool {
	if len(a) == 0 {
		a = map[string]float64{"cpu": 1}
	}
	if len(b) == 0 {
		b = map[string]float64{"cpu": 1}
	}
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

func sortedKeys(m map[string]float64) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
