package qos

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-sched/berth/gres"
)

// An AssocID is the dense number of an association: account, or user in an
// account, or that in a partition. 0 is none. The number of a deleted
// association is given to a later one.
type AssocID int32

// A QOSID is the dense number of a QOS. 0 is none. Numbers of deleted QOS are
// not given again.
type QOSID int32

// An AccountID is the dense number of an account name; 0 is none. It outlives
// a renaming.
type AccountID int32

// A UserID is the dense number of a user name; 0 is none. It outlives a renaming.
type UserID int32

// Root is the association of account "root", the top of the tree.
const Root AssocID = 1

// Config says how to build a [Ledger].
type Config struct {
	// Schema is what is counted. Required.
	Schema *gres.Schema
	// Enforce says what is checked. Default: nothing; counters are kept.
	// Slurm: AccountingStorageEnforce.
	Enforce Enforce
	// Total is what the cluster has, of which the limits of a Relative QOS are
	// percentages. Default: nothing, which leaves such limits at 0.
	Total gres.Vector
}

// Validate reports what is wrong with c.
func (c Config) Validate() error {
	if c.Schema == nil {
		return fmt.Errorf("qos: check config: schema: %w", ErrValue)
	}
	if c.Total != nil && len(c.Total) != c.Schema.Len() {
		return fmt.Errorf("qos: check config: total has %d kinds, schema %d: %w", len(c.Total), c.Schema.Len(), ErrValue)
	}
	return nil
}

// A Ledger is the books of a cluster: the account tree, the QOS, their limits,
// and what is submitted, running and used by each. [New] makes one. It is not
// safe for concurrent use.
//
// Calls that change the tree or limits are configuration: they end every
// [Ledger.Mark] that is open.
type Ledger struct {
	schema  *gres.Schema
	kinds   int
	classes []class // by kind
	enforce Enforce
	total   gres.Vector

	accounts, users, parts names
	assocs                 []assoc // by AssocID; row 0 is unused
	freeAssocs             []AssocID
	byKey                  map[assocKey]AssocID
	accountOf              []AssocID // the association of an account, by AccountID
	userHead               []AssocID // first association of a user, by UserID

	qos     []quality // by QOSID; row 0 is unused
	qosByID map[string]QOSID

	books books
}

// New returns a ledger with account root and a QOS "normal" that root and all
// below it may use and use by default, as a fresh Slurm accounting has it.
func New(cfg Config) (*Ledger, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l := &Ledger{
		schema: cfg.Schema, kinds: cfg.Schema.Len(), enforce: cfg.Enforce,
		total:  cfg.Schema.NewVector(),
		assocs: make([]assoc, 1), byKey: make(map[assocKey]AssocID),
		accountOf: make([]AssocID, 1), userHead: make([]AssocID, 1),
		qos: make([]quality, 1), qosByID: make(map[string]QOSID),
	}
	copy(l.total, cfg.Total)
	for k := range l.kinds {
		l.classes = append(l.classes, classOf(cfg.Schema, gres.Kind(k)))
	}
	l.accounts.init()
	l.users.init()
	l.parts.init()
	l.books.init(l.kinds)
	if _, err := l.AddAccount("root", 0); err != nil {
		return nil, err
	}
	normal, err := l.AddQOS("normal")
	if err != nil {
		return nil, err
	}
	l.SetAllowed(Root, []QOSID{normal})
	return l, nil
}

// Reserve makes room for n more associations of about as many users, so that
// loading them does not copy tables as they grow.
func (l *Ledger) Reserve(n int) {
	l.assocs = slices.Grow(l.assocs, n)
	l.userHead = slices.Grow(l.userHead, n)
	l.users.list = slices.Grow(l.users.list, n)
	index := make(map[string]int32, len(l.users.index)+n)
	maps.Copy(index, l.users.index)
	l.users.index = index
	byKey := make(map[assocKey]AssocID, len(l.byKey)+n)
	maps.Copy(byKey, l.byKey)
	l.byKey = byKey
}

// Schema returns what is counted.
func (l *Ledger) Schema() *gres.Schema { return l.schema }

// Enforced returns what is checked.
func (l *Ledger) Enforced() Enforce { return l.enforce }

// SetEnforce changes what is checked from now on; counters do not change.
func (l *Ledger) SetEnforce(e Enforce) { l.enforce = e }

// SetTotal tells what the cluster has now and recomputes the limits of the
// Relative QOS that no partition uses. It panics if total is of another schema.
func (l *Ledger) SetTotal(total gres.Vector) {
	copyVector(l.total, total)
	for i := range l.qos {
		l.qos[i].compile(l.total)
	}
}

func copyVector(dst, src gres.Vector) {
	if len(dst) != len(src) {
		panic("qos: vectors of different length")
	}
	copy(dst, src)
}

// names gives dense numbers to names, from 1 on, and never takes one back.
type names struct {
	list  []string
	index map[string]int32
}

func (n *names) init() {
	n.list, n.index = make([]string, 1), make(map[string]int32)
}

// get returns the number of name, 0 if it has none.
func (n *names) get(name string) int32 { return n.index[name] }

// add returns the number of name, giving it one if needed.
func (n *names) add(name string) int32 {
	if id := n.index[name]; id != 0 {
		return id
	}
	id := int32(len(n.list))
	n.list = append(n.list, name)
	n.index[name] = id
	return id
}

func (n *names) rename(id int32, name string) {
	delete(n.index, n.list[id])
	n.list[id] = name
	n.index[name] = id
}

func (n *names) name(id int32) string {
	if id < 0 || int(id) >= len(n.list) {
		return ""
	}
	return n.list[id]
}
