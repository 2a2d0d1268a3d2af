package nvml

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Health is how one device does. Equal values mean that nothing changed.
type Health struct {
	Index int
	UUID  string
	// Lost is GPUIsLost, ResetRequired or another result that leaves the
	// device unusable; Success if it answers.
	Lost Return
	// ECCErrors is the number of uncorrected memory errors since the driver
	// was loaded.
	ECCErrors uint64
	// PagesPending says that memory pages wait to be retired at the next
	// reset; RowsPending the same of remapped rows on newer devices.
	PagesPending, RowsPending bool
	// RowsFailed says that a row could not be remapped: replace the device.
	RowsFailed bool
	// XID is the last critical error that the driver reported since the
	// reading before, 0 for none.
	XID uint64
}

// OK reports whether jobs should be started on the device.
func (h *Health) OK() bool {
	return h.Lost == Success && h.ECCErrors == 0 && !h.PagesPending && !h.RowsFailed && !fatalXID(h.XID)
}

// fatalXID tells the errors after which a device must be reset, by NVIDIA's
// list; the others are mostly faults of programs.
func fatalXID(xid uint64) bool {
	switch xid {
	case 48, 62, 64, 74, 79, 92, 95, 109, 119, 120, 143:
		return true
	}
	return false
}

// Results of the library in the calls of AppendHealth.
const (
	eccUncorrected = 1
	eccVolatile    = 0
	eventXID       = 8
)

// AppendHealth appends how each device does, by index. Questions that a device
// does not support count as well answered.
func (l *Library) AppendHealth(dst []Health) ([]Health, error) {
	n, r := l.lib.count("nvmlDeviceGetCount_v2")
	if r != Success {
		return dst, fmt.Errorf("nvml: count devices: %w", r)
	}
	start := len(dst)
	l.listen(min(n, maxDevices))
	for i := range min(n, maxDevices) {
		h := Health{Index: int(i)}
		d, r := l.lib.byIndex("nvmlDeviceGetHandleByIndex_v2", i)
		if h.Lost = r; r == Success {
			l.ask(&h, d)
		}
		dst = append(dst, h)
	}
	l.drain(dst[start:])
	return dst, nil
}

func (l *Library) ask(h *Health, d handle) {
	var r Return
	if h.UUID, r = l.lib.devText("nvmlDeviceGetUUID", d); lost(r) {
		h.Lost = r
		return
	}
	if n, r := l.lib.devECC("nvmlDeviceGetTotalEccErrors", d, eccUncorrected, eccVolatile); r == Success {
		h.ECCErrors = n
	} else if lost(r) {
		h.Lost = r
		return
	}
	if p, r := l.lib.devUint("nvmlDeviceGetRetiredPagesPendingStatus", d); r == Success {
		h.PagesPending = p != 0
	}
	if rows, r := l.lib.devRows("nvmlDeviceGetRemappedRows", d); r == Success {
		h.RowsPending, h.RowsFailed = rows[2] != 0, rows[3] != 0
	}
}

// listen registers for critical errors, once.
func (l *Library) listen(n uint32) {
	if l.events != 0 || l.index != nil {
		return
	}
	l.index = map[handle]int{}
	set, r := l.lib.eventSet()
	if r != Success {
		return
	}
	l.events = set
	for i := range n {
		if d, r := l.lib.byIndex("nvmlDeviceGetHandleByIndex_v2", i); r == Success {
			l.index[d] = int(i)
			l.lib.eventRegister(d, eventXID, set)
		}
	}
}

// maxEvents bounds one reading of events.
const maxEvents = 1024

// drain takes the events that wait, without waiting for more.
func (l *Library) drain(hs []Health) {
	if l.events == 0 {
		return
	}
	for range maxEvents {
		e, r := l.lib.eventWait(l.events)
		if r != Success {
			return
		}
		if i, known := l.index[e.device]; known && i < len(hs) && e.kind == eventXID {
			hs[i].XID = e.data
		}
	}
}

// A HealthSource tells how devices do; [Library] is one.
type HealthSource interface {
	AppendHealth(dst []Health) ([]Health, error)
}

// A Change is a device whose health differs from the time before. Old is the
// zero value at the first reading, and New if the device is gone.
type Change struct{ Old, New Health }

// AppendChanges appends what differs between two readings, by index. An XID
// stays until another one comes, since each is told once.
func AppendChanges(dst []Change, before, after []Health) []Change {
	for i := range max(len(before), len(after)) {
		var c Change
		if i < len(before) {
			c.Old = before[i]
		}
		if i < len(after) {
			c.New = after[i]
		}
		if i >= len(before) && c.New.OK() {
			continue
		}
		if c.Old != c.New {
			dst = append(dst, c)
		}
	}
	return dst
}

// Watch reads the health of all devices at every tick and calls report with
// what changed, if anything did; at the first tick with what is not OK. It
// returns when ctx is done, tick is closed, or src fails. It starts no
// goroutine and owns no ticker: whoever calls it brings both.
func Watch(ctx context.Context, tick <-chan time.Time, src HealthSource, report func([]Change)) error {
	var before, after []Health
	var changes []Change
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, open := <-tick:
			if !open {
				return nil
			}
		}
		var err error
		if after, err = src.AppendHealth(after[:0]); err != nil {
			return err
		}
		for i := range after {
			if i < len(before) && after[i].XID == 0 {
				after[i].XID = before[i].XID
			}
		}
		if changes = AppendChanges(changes[:0], before, after); len(changes) > 0 {
			report(slices.Clone(changes))
		}
		before, after = after, before
	}
}
