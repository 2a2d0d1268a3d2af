package preempt_test

import (
	"fmt"

	"github.com/berth-sched/berth/preempt"
)

// A room is a node of 8 GPUs that jobs fill; the preemptor wants some of them.
type room struct {
	held  []int // by candidate
	free  int
	want  int
	stack []int32
}

func (r *room) Remove(c int32) {
	r.free += r.held[c]
	r.stack = append(r.stack, c)
}

func (r *room) Undo(n int) {
	for range n {
		last := len(r.stack) - 1
		r.free -= r.held[r.stack[last]]
		r.stack = r.stack[:last]
	}
}

func (r *room) Fits() bool            { return r.free >= r.want }
func (r *room) Touches(c int32) int32 { return 1 }

// Four jobs hold 1, 2, 1 and 4 GPUs; a fifth wants 4. Slurm takes them in order, and
// tries anew with the decisive one first; the least cost is another choice.
func ExampleSearch() {
	r := &room{held: []int{1, 2, 1, 4}, want: 4}
	costs := []int64{30, 40, 5, 90}
	var s preempt.Search
	order := preempt.AppendOrder(nil, []uint64{1, 1, 1, 1})
	slurm, _ := s.Greedy(nil, order, 2, false, r)
	least, res, _ := s.Minimal(nil, costs, preempt.Start{}, r)
	fmt.Println("in order:", slurm)
	fmt.Println("at least cost:", least, "for", res.Cost, "exactly:", res.Exact)
	// Output:
	// in order: [1 2 0]
	// at least cost: [2 0 1] for 75 exactly: true
}

// The signals of a victim that has a minute of grace, in order of time.
func ExampleParameters_AppendTimeline() {
	p := preempt.DefaultParameters()
	for _, n := range p.AppendTimeline(nil, preempt.ModeRequeue, 60e9, 30e9, &preempt.UserSignal{}) {
		fmt.Println(n.After, n.Signal, n.Target == preempt.ToSteps)
	}
	// Output:
	// 0s 18 true
	// 0s 15 true
	// 1m0s 18 false
	// 1m0s 15 false
	// 1m30s 9 false
}
