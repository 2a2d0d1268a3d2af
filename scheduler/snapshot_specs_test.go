package scheduler

import (
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSameAskComparesEveryField changes each field of a specification in turn: it
// is then another ask, or the snapshot holds the field for each job.
func TestSameAskComparesEveryField(t *testing.T) {
	var next int64
	var base JobSpec
	fill(reflect.ValueOf(&base).Elem(), &next)
	for i := range reflect.TypeFor[JobSpec]().NumField() {
		name := reflect.TypeFor[JobSpec]().Field(i).Name
		other := cloneSpec(&base)
		f := reflect.ValueOf(&other).Elem().Field(i)
		switch f.SetZero(); {
		case !sameAsk(&base, &other):
			continue
		}
		w := codec{specs: newSpecTable()}
		visitOwn(&w, ownOf(&other))
		var own jobOwn
		visitOwn(&codec{buf: w.buf, reading: true, specs: &specTable{}}, &own)
		got := cloneSpec(&base)
		own.put(&got, other.ID)
		if diff := cmp.Diff(other, got); diff != "" {
			t.Errorf("field %s: mismatch (-want +got)\n%s", name, diff)
		}
	}
}

// TestRestoreNamesVersions refuses snapshots of other versions by their number.
func TestRestoreNamesVersions(t *testing.T) {
	b := snapshotSeed(t)
	b[0] = 1
	_, err := Restore(b, nil)
	if !errors.Is(err, ErrSnapshot) || err.Error() != "scheduler: read snapshot: version 1, want 3: "+ErrSnapshot.Error() {
		t.Errorf("Restore of version 1: %v", err)
	}
}
