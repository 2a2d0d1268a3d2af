package gres

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNodeBitsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 64, 65, 4096, 4097, 300_000}).Draw(t, "nodes")
		b := nodeBitsOf(n, make([]uint64, nodeBitsWords(n)))
		within := make([]uint64, len(b.w))
		in := map[int32]bool{}
		node := rapid.OneOf(rapid.Int32Range(0, int32(n-1)), rapid.Int32Range(0, int32(min(n-1, 70))), rapid.Int32Range(int32(max(n-70, 0)), int32(n-1)))
		lowest := func(from int32, ok func(int32) bool) int32 {
			best := int32(-1)
			for i := range in {
				if i >= from && ok(i) && (best < 0 || i < best) {
					best = i
				}
			}
			return best
		}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				i := node.Draw(t, "node")
				b.set(i)
				in[i] = true
			},
			"clear": func(t *rapid.T) {
				i := node.Draw(t, "node")
				b.clear(i)
				delete(in, i)
			},
			"allow": func(t *rapid.T) {
				i := node.Draw(t, "node")
				within[i>>6] ^= 1 << (i & 63)
			},
			"look": func(t *rapid.T) {
				from := node.Draw(t, "from")
				if got, want := b.nextIn(from, nil), lowest(from, func(int32) bool { return true }); got != want {
					t.Fatalf("nextIn(%d, nil) = %d, want %d", from, got, want)
				}
				if got, want := b.nextIn(from, within), lowest(from, func(i int32) bool { return within[i>>6]>>(i&63)&1 != 0 }); got != want {
					t.Fatalf("nextIn(%d, within) = %d, want %d", from, got, want)
				}
			},
			"": func(t *rapid.T) {
				if got, want := b.first(), lowest(0, func(int32) bool { return true }); got != want {
					t.Fatalf("first() = %d, want %d", got, want)
				}
				s := b.clone()
				s.summarise()
				s.equal(&b, "summary")
			},
		})
	})
}

func TestInternerModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in interner
		in.init(2, 1)
		in.reserve(rapid.IntRange(0, 8).Draw(t, "room"))
		type key struct {
			shape int32
			a, b  uint64
		}
		ids := map[key]int32{} // referenced states
		refs := map[key]int{}
		t.Repeat(map[string]func(*rapid.T){
			"intern": func(t *rapid.T) {
				k := key{rapid.Int32Range(0, 1).Draw(t, "shape"), rapid.Uint64Range(0, 3).Draw(t, "a"), rapid.Uint64Range(0, 3).Draw(t, "b")}
				id, fresh := in.intern(k.shape, []uint64{k.a, k.b})
				if old, ok := ids[k]; ok && (old != id || fresh) {
					t.Fatalf("%v is %d, was %d, fresh %v", k, id, old, fresh)
				}
				for o, j := range ids {
					if o != k && j == id {
						t.Fatalf("%v and %v are both %d", o, k, id)
					}
				}
				ids[k] = id
				refs[k]++
			},
			"drop": func(t *rapid.T) {
				k := key{rapid.Int32Range(0, 1).Draw(t, "shape"), rapid.Uint64Range(0, 3).Draw(t, "a"), rapid.Uint64Range(0, 3).Draw(t, "b")}
				if refs[k] == 0 {
					return
				}
				in.drop(ids[k])
				if refs[k]--; refs[k] == 0 {
					delete(ids, k)
				}
			},
			"": func(t *rapid.T) {
				for k, id := range ids {
					if r := in.row(id, 2); r[0] != k.a || r[1] != k.b || in.meta[id].shape != k.shape || int(in.meta[id].refs) != refs[k] {
						t.Fatalf("%v is lost: %v %+v", k, r, in.meta[id])
					}
				}
			},
		})
	})
}
