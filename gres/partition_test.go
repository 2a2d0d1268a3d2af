package gres

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func partitionModel(t testing.TB, name string) *PartitionModel {
	t.Helper()
	m, ok := PartitionModelByName(name)
	if !ok {
		t.Fatalf("no model %q", name)
	}
	return m
}

// firstFit is what the operators' allocator does: the first device, the
// lowest start.
func firstFit(m *PartitionModel, devices []PartitionState, profile int) (int, PartitionPlace, bool) {
	for d, w := range devices {
		for s := range 8 {
			if m.fits(w, profile, s) {
				return d, PartitionPlace{uint8(profile), uint8(s)}, true
			}
		}
	}
	return 0, PartitionPlace{}, false
}

// partitionMix runs 1,000 arrivals of mixed profiles on eight devices and
// returns how many found no room.
func partitionMix(m *PartitionModel, seed uint64, place func(*PartitionModel, []PartitionState, int) (int, PartitionPlace, bool)) int {
	type running struct {
		until  float64
		device int
		place  PartitionPlace
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	devices := make([]PartitionState, 8)
	var jobs []running
	now, refused := 0.0, 0
	weights := []int{40, 0, 8, 20, 16, 6, 10}
	for range 1000 {
		now += rnd.ExpFloat64()
		k, r := 0, rnd.IntN(100)
		for ; r >= weights[k]; k++ {
			r -= weights[k]
		}
		until := now + 18*rnd.ExpFloat64()
		kept := jobs[:0]
		for _, j := range jobs {
			if j.until > now {
				kept = append(kept, j)
				continue
			}
			devices[j.device] = m.Give(devices[j.device], j.place)
		}
		jobs = kept
		d, p, ok := place(m, devices, k)
		if !ok {
			refused++
			continue
		}
		devices[d], _ = m.Take(devices[d], p)
		jobs = append(jobs, running{until, d, p})
	}
	return refused
}

func TestPlaceRefusesNoMoreThanFirstFit(t *testing.T) {
	for _, name := range []string{"A100-40GB", "H100-80GB", "B200-180GB"} {
		m := partitionModel(t, name)
		own, first := 0, 0
		for seed := range uint64(10) {
			a := partitionMix(m, seed, (*PartitionModel).Place)
			b := partitionMix(m, seed, firstFit)
			if a > b {
				t.Errorf("%s, seed %d: %d refusals, first fit has %d", name, seed, a, b)
			}
			own, first = own+a, first+b
		}
		t.Logf("%s: %d refusals of 10,000, first fit %d", name, own, first)
		if own >= first {
			t.Errorf("%s: %d refusals in all, first fit has %d", name, own, first)
		}
	}
}

func TestPartitionModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		models := PartitionModels()
		m := &models[rapid.IntRange(0, len(models)-1).Draw(t, "model")]
		w := PartitionState(0)
		held := map[PartitionPlace]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				k := rapid.IntRange(0, len(m.Profiles)-1).Draw(t, "profile")
				room := m.Room(w, k)
				_, p, ok := m.Place([]PartitionState{w}, k)
				if ok != (room > 0) {
					t.Fatalf("Place finds %v, room is %d", ok, room)
				}
				if !ok {
					return
				}
				before := w
				var changed bool
				w, changed = m.Take(w, p)
				if changed == (before.idleAt(int(p.Start)) == k+1) {
					t.Fatalf("changed %v for state %x", changed, uint64(before))
				}
				if !changed && w.Held()|w>>32 != before.Held()|before>>32 {
					t.Fatalf("an instance that existed changed %x to %x", uint64(before), uint64(w))
				}
				held[p] = true
			},
			"give": func(t *rapid.T) {
				for i := range uint8(8) {
					for k := range m.Profiles {
						p := PartitionPlace{uint8(k), i}
						if held[p] && rapid.Bool().Draw(t, "end") {
							w = m.Give(w, p)
							delete(held, p)
						}
					}
				}
			},
			"": func(t *rapid.T) {
				if !m.valid(w) {
					t.Fatalf("state %x is not possible", uint64(w))
				}
				used, compute := 0, 0
				var cover [8]int
				for p := range held {
					pr := &m.Profiles[p.Profile]
					if w.at(int(p.Start)) != int(p.Profile)+1 {
						t.Fatalf("instance %v in use is lost", p)
					}
					for i := range pr.Memory {
						cover[int(p.Start)+i]++
					}
					used++
					compute += pr.Compute
				}
				for i, c := range cover {
					if c > 1 || c > 0 && i >= m.MemorySlices {
						t.Fatalf("slice %d is given %d times", i, c)
					}
				}
				if compute > m.ComputeSlices {
					t.Fatalf("%d compute slices in use", compute)
				}
				for i := range 8 {
					if w.at(i) > 0 {
						used--
					}
				}
				if used != 0 {
					t.Fatal("state and held differ")
				}
			},
		})
	})
}
