package scheduler

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fill gives every field below v a value of its own that is not zero.
func fill(v reflect.Value, next *int64) {
	*next++
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("s" + string(rune('a'+*next%26)))
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(*next%100 + 1)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*next%100 + 1))
	case reflect.Float64:
		v.SetFloat(float64(*next) + 0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), next)
		fill(v.Index(1), next)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), next)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, next)
		}
	default:
		panic("no value for " + v.Kind().String())
	}
}

// TestCodecKeepsEveryField fails when a field is added and not visited.
func TestCodecKeepsEveryField(t *testing.T) {
	var next int64
	var cfg, cfg2 Config
	fill(reflect.ValueOf(&cfg).Elem(), &next)
	w := codec{}
	visitConfig(&w, &cfg)
	r := codec{buf: w.buf, reading: true}
	visitConfig(&r, &cfg2)
	if diff := cmp.Diff(cfg, cfg2); diff != "" || r.err != nil || r.left() != 0 {
		t.Errorf("Config (%v, %d bytes left): mismatch (-want +got)\n%s", r.err, r.left(), diff)
	}
	var job, job2 JobSpec
	fill(reflect.ValueOf(&job).Elem(), &next)
	w = codec{}
	visitJobSpec(&w, &job)
	r = codec{buf: w.buf, reading: true}
	visitJobSpec(&r, &job2)
	if diff := cmp.Diff(job, job2); diff != "" || r.err != nil || r.left() != 0 {
		t.Errorf("JobSpec (%v, %d bytes left): mismatch (-want +got)\n%s", r.err, r.left(), diff)
	}
	if diff := cmp.Diff(job, cloneSpec(&job)); diff != "" {
		t.Errorf("cloneSpec: mismatch (-want +got)\n%s", diff)
	}
}

// snapshotSeed is a scheduler with a job in every common state.
func snapshotSeed(tb testing.TB) []byte {
	e, err := newEngine(Config{Nodes: []NodeSpec{{Names: "n[0-2]", Sockets: 2, CoresPerSocket: 2, MemMiB: 100, GRES: "gpu:a:2"}}}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	for id := JobID(1); id <= 5; id++ {
		spec := JobSpec{ID: id, MinNodes: 1, Tasks: 3, GPUsPerNode: "1", Mem: MemPerNode, MemMiB: 40, TimeLimit: time.Minute, Hold: id == 5}
		if err := e.Apply(0, Submit(&spec)); err != nil {
			tb.Fatal(err)
		}
	}
	for i, dep := range []string{"afterok:1:2,singleton", "after:5+3?afternotok:4", "afternotok:1", "after:1+1"} {
		spec := JobSpec{ID: JobID(6 + i), Tasks: 1, TimeLimit: time.Minute, Dependency: dep}
		if err := e.Apply(0, Submit(&spec)); err != nil {
			tb.Fatal(err)
		}
	}
	e.Pass(0, nil)
	for _, ev := range []Event{Ended(1, JobEnd{}), Cancel(2)} {
		if err := e.Apply(Seconds(1), ev); err != nil {
			tb.Fatal(err)
		}
	}
	b, err := e.AppendSnapshot(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// TestRestoreRefusesEveryCut cuts a snapshot at each byte: no panic, one error.
func TestRestoreRefusesEveryCut(t *testing.T) {
	b := snapshotSeed(t)
	if _, err := Restore(b, nil); err != nil {
		t.Fatal(err)
	}
	for n := range b {
		if _, err := Restore(b[:n], nil); !errors.Is(err, ErrSnapshot) {
			t.Fatalf("Restore of %d of %d bytes: %v, want ErrSnapshot", n, len(b), err)
		}
	}
}

func FuzzRestore(f *testing.F) {
	f.Add(snapshotSeed(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Restore(b, nil)
		if err != nil {
			return
		}
		s.Pass(s.(*engine).now, nil)
	})
}

func TestReasonNamesRoundTrip(t *testing.T) {
	for r := range reasons {
		b, err := r.MarshalText()
		var got Reason
		if err != nil || got.UnmarshalText(b) != nil || got != r {
			t.Errorf("reason %d: text %q gives %d", r, b, got)
		}
		if r > 0 && reasonNames[r] == "" {
			t.Errorf("reason %d has no name", r)
		}
	}
	for k := EventKind(1); k < eventKinds; k++ {
		if eventNames[k] == "" {
			t.Errorf("event kind %d has no name", k)
		}
	}
}
