package slurmconf

import (
	"slices"
	"strings"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/scheduler"
)

// A book is the accounting database that the sacctmgr commands make, from an
// empty one: QOS normal, account root and its user root exist.
type book struct {
	b      *builder
	schema *gres.Schema
	qos    []*qosEntry
	assocs []*assocEntry
	admin  map[string]string // by user
	// accounts and users find the entries of assocs by name.
	accounts map[string]*assocEntry
	users    map[string][]*assocEntry
}

// limitSet is the limits of an entry: TRES lists merged, others as written.
type limitSet struct {
	order []string
	tres  map[string]gres.Vector
	text  map[string]string
}

type qosEntry struct {
	spec   scheduler.QOSSpec
	limits limitSet
	at     Origin
}

type assocEntry struct {
	spec   scheduler.AssocSpec
	limits limitSet
	at     Origin
}

// accounting runs the commands and writes what they leave into the
// configuration.
func (b *builder) accounting() {
	if len(b.f.Accounts) == 0 || b.schema == nil {
		return
	}
	schema := b.schema
	k := &book{b: b, schema: schema, admin: map[string]string{"root": "Administrator"}}
	k.accounts, k.users = map[string]*assocEntry{}, map[string][]*assocEntry{}
	k.qos = []*qosEntry{{spec: scheduler.QOSSpec{Name: "normal"}}}
	k.add(&assocEntry{spec: scheduler.AssocSpec{Account: "root"}})
	k.add(&assocEntry{spec: scheduler.AssocSpec{Account: "root", User: "root", DefaultAccount: true}})
	for _, c := range b.f.Accounts {
		k.run(c)
	}
	for i := range b.f.Partitions {
		if v := b.f.Partitions[i].QOS; v.V != "" && k.quality(v.V) == nil {
			b.rd.warn(v.At, v.V, "no command makes this QOS of partition %s", b.f.Partitions[i].Name.V)
		}
	}
	for _, q := range k.qos {
		q.spec.Limits = q.limits.specs(schema)
		b.cfg.QOS = append(b.cfg.QOS, q.spec)
	}
	below := map[string][]*assocEntry{}
	for _, a := range k.assocs {
		if a.spec.User == "" && a.spec.Account != "root" {
			below[parentOf(a)] = append(below[parentOf(a)], a)
		}
	}
	// Parents before children, siblings in the order of their making.
	order := []*assocEntry{k.accounts["root"]}
	for i := 0; i < len(order); i++ {
		order = append(order, below[order[i].spec.Account]...)
	}
	for _, a := range k.assocs {
		if a.spec.User != "" {
			a.spec.Admin = k.admin[a.spec.User]
			order = append(order, a)
		}
	}
	for _, a := range order {
		a.spec.Limits = a.limits.specs(schema)
		b.cfg.Accounts = append(b.cfg.Accounts, a.spec)
	}
}

// add books an association.
func (k *book) add(a *assocEntry) {
	k.assocs = append(k.assocs, a)
	if a.spec.User == "" {
		k.accounts[a.spec.Account] = a
	} else {
		k.users[a.spec.User] = append(k.users[a.spec.User], a)
	}
}

func parentOf(a *assocEntry) string {
	if a.spec.Parent == "" {
		return "root"
	}
	return a.spec.Parent
}

func (k *book) fail(at Origin, token, format string, args ...any) {
	k.b.rd.fail(at, token, valueErr(format, args...))
}

func (k *book) quality(name string) *qosEntry {
	for _, q := range k.qos {
		if q.spec.Name == name {
			return q
		}
	}
	return nil
}

// run applies one command.
func (k *book) run(c Command) {
	switch {
	case c.Verb == Show || c.Entity == OtherEntity:
	case c.Entity == QOSEntity:
		k.runQOS(c)
	case c.Entity == ClusterEntity:
		if c.Verb != Delete {
			k.setAssoc(k.accounts["root"], c.Set)
		}
	case c.Verb == Add && c.Entity == AccountEntity:
		k.addAccounts(c)
	case c.Verb == Add:
		k.addUsers(c)
	case c.Verb == Modify:
		k.modify(c)
	default:
		k.remove(c)
	}
}

func (k *book) runQOS(c Command) {
	names := c.Names
	if len(names) == 0 {
		for _, q := range k.qos {
			names = append(names, q.spec.Name)
		}
	}
	for _, name := range names {
		q := k.quality(name)
		switch {
		case c.Verb == Add && q != nil:
			k.b.rd.warn(c.At, name, "the QOS exists, nothing is added")
			continue
		case c.Verb == Add:
			q = &qosEntry{spec: scheduler.QOSSpec{Name: name}, at: c.At}
			k.qos = append(k.qos, q)
		case q == nil:
			k.fail(c.At, name, "there is no such QOS")
			continue
		case c.Verb == Delete:
			k.qos = slices.DeleteFunc(k.qos, func(e *qosEntry) bool { return e == q })
			continue
		}
		for _, s := range c.Set {
			k.setQOS(q, s)
		}
	}
}

func (k *book) addAccounts(c Command) {
	for _, name := range c.Names {
		if k.accounts[name] != nil {
			if name != "root" {
				k.b.rd.warn(c.At, name, "the account exists, nothing is added")
			}
			continue
		}
		a := &assocEntry{spec: scheduler.AssocSpec{Account: name}, at: c.At}
		k.add(a)
		k.setAssoc(a, c.Set)
	}
}

// settings returns the value of a key among settings.
func settings(list []Setting, key string) (Setting, bool) {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Key == key {
			return list[i], true
		}
	}
	return Setting{}, false
}

// addUsers makes an association for every account and partition named.
func (k *book) addUsers(c Command) {
	accounts, _ := settings(c.Set, "Account")
	def, hasDef := settings(c.Set, "DefaultAccount")
	list := splitList(accounts.Value)
	if len(list) == 0 && hasDef {
		list = []string{def.Value}
	}
	if len(list) == 0 {
		k.fail(c.At, strings.Join(c.Names, ","), "a user needs an account")
		return
	}
	parts := []string{""}
	if p, ok := settings(c.Set, "Partition"); ok && p.Value != "" {
		parts = splitList(p.Value)
	}
	for _, user := range c.Names {
		for _, acct := range list {
			if k.accounts[acct] == nil {
				k.fail(c.At, acct, "there is no such account")
				continue
			}
			for _, part := range parts {
				k.addUser(c, user, acct, part)
			}
		}
		if hasDef {
			k.setDefault(user, def)
		}
	}
}

func (k *book) addUser(c Command, user, acct, part string) {
	first := true
	for _, a := range k.users[user] {
		first = first && !a.spec.DefaultAccount
		if a.spec.Account == acct && a.spec.Partition == part {
			k.b.rd.warn(c.At, user, "the user has the account %s already, nothing is added", acct)
			return
		}
	}
	a := &assocEntry{spec: scheduler.AssocSpec{Account: acct, User: user, Partition: part, DefaultAccount: first}, at: c.At}
	k.add(a)
	k.setAssoc(a, c.Set)
}

// setDefault makes an account the default of its user.
func (k *book) setDefault(user string, s Setting) {
	found := false
	for _, a := range k.users[user] {
		a.spec.DefaultAccount = a.spec.Account == s.Value
		found = found || a.spec.DefaultAccount
	}
	if !found {
		k.fail(s.At, s.Value, "the user %s has no such account", user)
	}
}

// selected returns the associations that a command is about.
func (k *book) selected(c Command) []*assocEntry {
	var out []*assocEntry
	from := k.assocs
	if len(c.Names) > 0 {
		from = nil
		for _, n := range c.Names {
			if c.Entity == UserEntity {
				from = append(from, k.users[n]...)
			} else if a := k.accounts[n]; a != nil {
				from = append(from, a)
			}
		}
	}
	for _, a := range from {
		if (a.spec.User == "") == (c.Entity == UserEntity) {
			continue
		}
		ok := true
		for _, w := range c.Where {
			list := splitList(w.Value)
			switch w.Key {
			case "Account":
				ok = ok && slices.Contains(list, a.spec.Account)
			case "Partition":
				ok = ok && slices.Contains(list, a.spec.Partition)
			case "Parent":
				ok = ok && slices.Contains(list, parentOf(a))
			}
		}
		if ok {
			out = append(out, a)
		}
	}
	return out
}

func (k *book) modify(c Command) {
	list := k.selected(c)
	if len(list) == 0 {
		k.fail(c.At, strings.Join(c.Names, ","), "no such %s", c.Entity)
		return
	}
	for _, a := range list {
		k.setAssoc(a, c.Set)
		if s, ok := settings(c.Set, "DefaultAccount"); ok && a.spec.User != "" {
			k.setDefault(a.spec.User, s)
		}
	}
}

func (k *book) remove(c Command) {
	gone := k.selected(c)
	if len(gone) == 0 {
		k.fail(c.At, strings.Join(c.Names, ","), "no such %s", c.Entity)
	}
	// With an account go the accounts below it and all their users.
	dead := make(map[*assocEntry]bool, len(gone))
	for _, a := range gone {
		dead[a] = true
	}
	for i := 0; i < len(gone); i++ {
		if gone[i].spec.User != "" {
			continue
		}
		for _, a := range k.assocs {
			below := a.spec.User != "" && a.spec.Account == gone[i].spec.Account ||
				a.spec.User == "" && a.spec.Account != "root" && parentOf(a) == gone[i].spec.Account
			if below && !dead[a] {
				dead[a] = true
				gone = append(gone, a)
			}
		}
	}
	delete(dead, k.accounts["root"])
	kept := slices.DeleteFunc(k.assocs, func(a *assocEntry) bool { return dead[a] })
	k.assocs, k.accounts, k.users = nil, map[string]*assocEntry{}, map[string][]*assocEntry{}
	for _, a := range kept {
		k.add(a)
	}
}
