package qos

import (
	"fmt"
	"math"
)

// SharesParent is the number of shares that means Fairshare=parent.
const SharesParent = math.MaxUint32

// assoc is a row of the account tree. Siblings are a list in the order in
// which they were added.
type assoc struct {
	parent, first, last, next, prev AssocID
	account                         AccountID
	user                            UserID // 0: the account's own row
	part                            int32  // 0: all partitions
	nextOfUser                      AssocID
	shares, priority                uint32
	row                             int32 // its counters; 0: never used
	defQOS                          QOSID // 0: inherited
	live                            bool
	hasPriority                     bool
	own                             *limits // set on this row; nil: nothing
	eff                             *limits // handed down and own together; shared; nil: nothing
	access                          *access // which QOS; nil: inherited
}

type assocKey struct {
	account AccountID
	user    UserID
	part    int32
}

// AddAccount adds an account below parent, or the root if parent is 0 and there
// is none. It has one share.
func (l *Ledger) AddAccount(name string, parent AssocID) (AssocID, error) {
	switch {
	case name == "":
		return 0, fmt.Errorf("qos: add account: empty name: %w", ErrValue)
	case l.FindAccount(name) != 0:
		return 0, fmt.Errorf("qos: add account %q: %w", name, ErrExists)
	case parent == 0 && len(l.assocs) == 1: // the root itself
	case !l.isAccount(parent):
		return 0, fmt.Errorf("qos: add account %q: parent %d: %w", name, parent, ErrUnknownName)
	}
	acct := AccountID(l.accounts.add(name))
	for int(acct) >= len(l.accountOf) {
		l.accountOf = append(l.accountOf, 0)
	}
	id := l.addAssoc(assoc{parent: parent, account: acct})
	l.accountOf[acct] = id
	return id, nil
}

// AddUser adds the association of a user in an account, in one partition or,
// if partition is "", in all. It has one share.
func (l *Ledger) AddUser(user string, account AssocID, partition string) (AssocID, error) {
	if user == "" {
		return 0, fmt.Errorf("qos: add user: empty name: %w", ErrValue)
	}
	if !l.isAccount(account) {
		return 0, fmt.Errorf("qos: add user %q: account %d: %w", user, account, ErrUnknownName)
	}
	a := assoc{parent: account, account: l.assocs[account].account, user: UserID(l.users.add(user))}
	if partition != "" {
		a.part = l.parts.add(partition)
	}
	for int(a.user) >= len(l.userHead) {
		l.userHead = append(l.userHead, 0)
	}
	if l.byKey[a.key()] != 0 {
		return 0, fmt.Errorf("qos: add user %q to %q: %w", user, l.AccountName(a.account), ErrExists)
	}
	id := l.addAssoc(a)
	// A user's associations are listed from the newest to the oldest.
	l.assocs[id].nextOfUser = l.userHead[a.user]
	l.userHead[a.user] = id
	return id, nil
}

func (a *assoc) key() assocKey { return assocKey{a.account, a.user, a.part} }

func (l *Ledger) isAccount(id AssocID) bool {
	return l.valid(id) && l.assocs[id].user == 0
}

func (l *Ledger) valid(id AssocID) bool {
	return id > 0 && int(id) < len(l.assocs) && l.assocs[id].live
}

// addAssoc gives a a row and hangs it below its parent.
func (l *Ledger) addAssoc(a assoc) AssocID {
	l.configure()
	a.shares, a.live = 1, true
	id := AssocID(len(l.assocs))
	if n := len(l.freeAssocs); n > 0 {
		id, l.freeAssocs = l.freeAssocs[n-1], l.freeAssocs[:n-1]
		l.assocs[id] = a
	} else {
		l.assocs = append(l.assocs, a)
	}
	l.byKey[a.key()] = id
	if a.parent != 0 {
		l.hang(id)
		l.assocs[id].eff = l.assocs[a.parent].eff
	}
	return id
}

// hang puts id last below its parent; unhang takes it out of that list.
func (l *Ledger) hang(id AssocID) {
	a := &l.assocs[id]
	p := &l.assocs[a.parent]
	a.prev, a.next = p.last, 0
	if p.last != 0 {
		l.assocs[p.last].next = id
	} else {
		p.first = id
	}
	p.last = id
}

func (l *Ledger) unhang(id AssocID) {
	a := &l.assocs[id]
	p := &l.assocs[a.parent]
	if a.prev != 0 {
		l.assocs[a.prev].next = a.next
	} else {
		p.first = a.next
	}
	if a.next != 0 {
		l.assocs[a.next].prev = a.prev
	} else {
		p.last = a.prev
	}
}

// FindAccount returns the association of an account, 0 if there is none.
func (l *Ledger) FindAccount(name string) AssocID {
	if id := l.accounts.get(name); id != 0 {
		return l.accountOf[id]
	}
	return 0
}

// Find returns the association with which a user of an account submits to a
// partition: the one for that partition if there is one, else the one for all;
// 0 if there is neither. It does not allocate.
func (l *Ledger) Find(account, user, partition string) AssocID {
	k := assocKey{AccountID(l.accounts.get(account)), UserID(l.users.get(user)), l.parts.get(partition)}
	if k.account == 0 || k.user == 0 {
		return 0
	}
	if id := l.byKey[k]; id != 0 && k.part != 0 {
		return id
	}
	k.part = 0
	return l.byKey[k]
}

// FindExact is [Ledger.Find] without falling back: partition "" finds the
// association for all partitions alone, user "" that of the account.
func (l *Ledger) FindExact(account, user, partition string) AssocID {
	k := assocKey{account: AccountID(l.accounts.get(account))}
	if k.account == 0 {
		return 0
	}
	if user != "" {
		if k.user = UserID(l.users.get(user)); k.user == 0 {
			return 0
		}
	}
	if partition != "" {
		if k.part = l.parts.get(partition); k.part == 0 {
			return 0
		}
	}
	return l.byKey[k]
}

// FindUser returns the number of a user name, 0 if it was never added.
func (l *Ledger) FindUser(name string) UserID { return UserID(l.users.get(name)) }

// AppendAssocsOf appends the associations of a user in the order in which they
// were added.
func (l *Ledger) AppendAssocsOf(dst []AssocID, user UserID) []AssocID {
	start := len(dst)
	if user > 0 && int(user) < len(l.userHead) {
		for id := l.userHead[user]; id != 0; id = l.assocs[id].nextOfUser {
			dst = append(dst, id)
		}
	}
	for i, j := start, len(dst)-1; i < j; i, j = i+1, j-1 {
		dst[i], dst[j] = dst[j], dst[i]
	}
	return dst
}

// AccountName returns the name of an account, "" if there is none.
func (l *Ledger) AccountName(id AccountID) string { return l.accounts.name(int32(id)) }

// UserName returns the name of a user, "" if there is none.
func (l *Ledger) UserName(id UserID) string { return l.users.name(int32(id)) }

// Account returns the account of an association. It panics if there is no such
// association, as do the accessors below.
func (l *Ledger) Account(id AssocID) AccountID { return l.at(id).account }

// User returns the user of an association, 0 for that of an account.
func (l *Ledger) User(id AssocID) UserID { return l.at(id).user }

// Partition returns the partition of an association, "" for all.
func (l *Ledger) Partition(id AssocID) string { return l.parts.name(l.at(id).part) }

// Parent returns the association above id, 0 above the root.
func (l *Ledger) Parent(id AssocID) AssocID { return l.at(id).parent }

// Shares returns the raw shares of an association, perhaps SharesParent.
func (l *Ledger) Shares(id AssocID) uint32 { return l.at(id).shares }

// SetShares sets the raw shares. Slurm: Fairshare.
func (l *Ledger) SetShares(id AssocID, shares uint32) { l.at(id).shares = shares }

// Priority returns the priority of an association: its own or, if unset, that
// of the nearest account above that has one, else 0.
func (l *Ledger) Priority(id AssocID) uint32 {
	l.at(id)
	for ; id != 0; id = l.assocs[id].parent {
		if l.assocs[id].hasPriority {
			return l.assocs[id].priority
		}
	}
	return 0
}

// SetPriority sets the priority of an association; ok false clears it.
func (l *Ledger) SetPriority(id AssocID, priority uint32, ok bool) {
	a := l.at(id)
	a.priority, a.hasPriority = priority, ok
}

func (l *Ledger) at(id AssocID) *assoc {
	if !l.valid(id) {
		panic("qos: no such association")
	}
	return &l.assocs[id]
}

// AppendAssoc appends an association for people: "account a", or "account a,
// user u" and its partition.
func (l *Ledger) AppendAssoc(dst []byte, id AssocID) []byte {
	a := l.at(id)
	dst = append(dst, "account "...)
	dst = append(dst, l.AccountName(a.account)...)
	if a.user != 0 {
		dst = append(dst, ", user "...)
		dst = append(dst, l.UserName(a.user)...)
	}
	if a.part != 0 {
		dst = append(dst, ", partition "...)
		dst = append(dst, l.parts.name(a.part)...)
	}
	return dst
}

// RenameAccount gives an account another name; its number, jobs and usage stay.
func (l *Ledger) RenameAccount(id AssocID, name string) error {
	if !l.isAccount(id) {
		return fmt.Errorf("qos: rename account %d: %w", id, ErrUnknownName)
	}
	return rename(&l.accounts, "account", int32(l.assocs[id].account), name)
}

// RenameUser gives a user another name in all accounts.
func (l *Ledger) RenameUser(id UserID, name string) error {
	if id <= 0 || int(id) >= len(l.users.list) {
		return fmt.Errorf("qos: rename user %d: %w", id, ErrUnknownName)
	}
	return rename(&l.users, "user", int32(id), name)
}

func rename(n *names, what string, id int32, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("qos: rename %s %q: empty name: %w", what, n.name(id), ErrValue)
	case name == n.name(id):
		return nil
	case n.get(name) != 0:
		return fmt.Errorf("qos: rename %s %q to %q: %w", what, n.name(id), name, ErrExists)
	}
	n.rename(id, name)
	return nil
}

// Delete removes an association without children and without jobs. What it used
// is taken out of the accounts above it.
func (l *Ledger) Delete(id AssocID) error {
	if !l.valid(id) || id == Root {
		return fmt.Errorf("qos: delete association %d: %w", id, ErrUnknownName)
	}
	a := &l.assocs[id]
	if a.first != 0 {
		return fmt.Errorf("qos: delete %s: %w", l.AppendAssoc(nil, id), ErrNotEmpty)
	}
	if !l.books.quiet(a.row) {
		return fmt.Errorf("qos: delete %s: %w", l.AppendAssoc(nil, id), ErrBusy)
	}
	l.configure()
	for up := a.parent; up != 0; up = l.assocs[up].parent {
		l.books.moveHistory(a.row, l.assocs[up].row, -1)
	}
	l.books.release(a.row)
	l.unhang(id)
	delete(l.byKey, a.key())
	if a.user == 0 {
		l.accountOf[a.account] = 0
	} else {
		p := &l.userHead[a.user]
		for *p != id {
			p = &l.assocs[*p].nextOfUser
		}
		*p = a.nextOfUser
	}
	l.assocs[id] = assoc{}
	l.freeAssocs = append(l.freeAssocs, id)
	return nil
}

// Move hangs an account below another one, with its users, jobs and usage: all
// counters of the accounts that it leaves and joins are right afterwards.
func (l *Ledger) Move(id, parent AssocID) error {
	if !l.isAccount(id) || id == Root {
		return fmt.Errorf("qos: move association %d: %w", id, ErrUnknownName)
	}
	if !l.isAccount(parent) {
		return fmt.Errorf("qos: move account %q below %d: %w", l.AccountName(l.assocs[id].account), parent, ErrUnknownName)
	}
	for up := parent; up != 0; up = l.assocs[up].parent {
		if up == id {
			return fmt.Errorf("qos: move account %q: %w", l.AccountName(l.assocs[id].account), ErrCycle)
		}
	}
	l.configure()
	a := &l.assocs[id]
	if a.row != 0 {
		for up := a.parent; up != 0; up = l.assocs[up].parent {
			l.books.move(a.row, l.assocs[up].row, -1)
		}
		for up := parent; up != 0; up = l.assocs[up].parent {
			l.books.move(a.row, l.rowOf(up), 1)
		}
	}
	l.unhang(id)
	a.parent = parent
	l.hang(id)
	l.hand(id)
	l.retrack()
	return nil
}

// HasAssoc reports whether id is an association.
func (l *Ledger) HasAssoc(id AssocID) bool { return l.valid(id) }
