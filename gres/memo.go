package gres

// A memo remembers what classes get of states. It is a cache of fixed size:
// what falls out is computed again, with the same result.
type memo struct {
	entries []memoEntry // in groups of memoWays; nil before the first fit is asked for
	want    int         // their number
}

type memoEntry struct {
	class, state uint64 // uid and serial
	need         int32
	pass         Pass
	fit          NodeFit
}

// memoWays is how many entries a fit may lie in.
const memoWays = 4

// size makes the memo fit for n nodes.
func (m *memo) size(n int) {
	want := 1 << 14
	for want < 4*n && want < 1<<18 {
		want *= 2
	}
	if m.want < want {
		m.entries, m.want = make([]memoEntry, want), want
	}
}

// fit returns what class c gets of a node in state id, from memory or newly
// evaluated. The result is valid until the next call.
func (p *Pool) fit(c *class, pass Pass, need, id int32) *NodeFit {
	if len(p.memo.entries) == 0 { // a fork's
		p.memo.entries = make([]memoEntry, p.memo.want)
	}
	m := &p.states.meta[id]
	h := mix(c.uid<<34 ^ uint64(need)<<2 ^ uint64(pass) ^ m.serial*0x9e3779b97f4a7c15)
	o := h * memoWays & uint64(len(p.memo.entries)-1)
	ways := p.memo.entries[o : o+memoWays]
	for i := range ways {
		if e := &ways[i]; e.state == m.serial && e.class == c.uid && e.need == need && e.pass == pass {
			return &e.fit
		}
	}
	// The newest goes first, the one unused longest falls out.
	copy(ways[1:], ways)
	e := &ways[0]
	e.fit = Evaluate(p.stateRow(id), &c.req, pass, int(need), &p.scratch)
	e.class, e.state, e.pass, e.need = c.uid, m.serial, pass, need
	return &e.fit
}

// A grantMemo remembers what classes get alone on a node of a state: the
// choice of cores and devices, which depends on nothing else.
type grantMemo struct {
	entries []grantEntry
}

type grantEntry struct {
	class, state uint64 // uid and serial
	pass         Pass
	ok           bool
	grant        Grant
}

// grantEntries is the size of a grantMemo, grantDevices the longest device
// list that it keeps.
const (
	grantEntries = 1 << 12
	grantDevices = 16
)

// size makes room for grants of the given core words.
func (m *grantMemo) size(words int) {
	m.entries = make([]grantEntry, grantEntries)
	cores := make([]uint64, grantEntries*words)
	devices := make([]DeviceGrant, grantEntries*grantDevices)
	for i := range m.entries {
		g := &m.entries[i].grant
		g.Cores = cores[i*words : i*words : (i+1)*words]
		g.Devices = devices[i*grantDevices : i*grantDevices : (i+1)*grantDevices]
	}
}

// find returns the entry of a class in a state, or the one to use for it.
func (m *grantMemo) find(class, state uint64, pass Pass) (e *grantEntry, known bool) {
	h := mix(class<<34 ^ uint64(pass)<<33 ^ state*0x9e3779b97f4a7c15)
	e = &m.entries[h&(grantEntries-1)]
	return e, e.class == class && e.state == state && e.pass == pass
}
