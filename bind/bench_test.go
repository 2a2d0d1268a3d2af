package bind

import (
	"fmt"
	"testing"
)

func BenchmarkBind(b *testing.B) {
	for _, text := range []string{"none", "closest", "single:1", "per_task:1", "map:0,1,2,3"} {
		for _, tasks := range []int{8, 128} {
			b.Run(fmt.Sprintf("bind=%s/tasks=%d/gpus=8", text, tasks), func(b *testing.B) {
				bd := mustGPUBind(b, text)
				d := Devices{Index: span(0, 7)}
				for i := range 8 {
					d.Near = append(d.Near, cpuBits([]string{"0-63", "64-127"}[i/4]))
				}
				var masks [][]uint64
				for k := range tasks {
					masks = append(masks, cpuBits(fmt.Sprint(k%2*64+k/2)))
				}
				var r Binder
				var bound Bound
				b.ReportAllocs()
				for b.Loop() {
					r.Bind(&bound, &bd, &d, masks)
				}
			})
		}
	}
}

func BenchmarkLay(b *testing.B) {
	shape := CPUShape{Sockets: 2, Cores: 64, Threads: 2}
	alloc := []uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
	for _, tasks := range []int32{8, 128} {
		b.Run(fmt.Sprintf("tasks=%d/cpus=256/width=cores", tasks), func(b *testing.B) {
			req := CPURequest{Tasks: tasks, CPUsPerTask: 2, Bind: CPUBinding{Type: CPUCores}}
			var l CPULayer
			var m Masks
			b.ReportAllocs()
			for b.Loop() {
				l.Lay(&m, &shape, alloc, &req)
			}
		})
	}
}

func BenchmarkAppendEnv(b *testing.B) {
	launch := recipes()["R04"].launch(PlaceTask, 2)
	var text []byte
	b.ReportAllocs()
	for b.Loop() {
		text = AppendEnv(text[:0], launch)
	}
}
