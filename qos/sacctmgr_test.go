package qos_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/qos"
)

// sacctmgr carries out the commands that the recordings and scripts need.
func (r *sim) sacctmgr(cmd string) error {
	f := strings.Fields(cmd)
	kv := fields(cmd)
	var err error
	switch {
	case strings.HasPrefix(cmd, "add qos"):
		_, err = r.l.AddQOS(f[2])
	case strings.HasPrefix(cmd, "add account"):
		parent := kv["parent"]
		if parent == "" {
			parent = "root"
		}
		_, err = r.l.AddAccount(f[2], r.l.FindAccount(parent))
	case strings.HasPrefix(cmd, "add user"):
		_, err = r.l.AddUser(f[2], r.l.FindAccount(kv["account"]), kv["partition"])
	case strings.HasPrefix(cmd, "delete account"):
		err = r.l.Delete(r.l.FindAccount(f[2]))
	case strings.HasPrefix(cmd, "delete user"):
		for _, id := range r.entities("user " + strings.Join(f[2:], " ")) {
			err = r.l.Delete(id)
		}
	case strings.HasPrefix(cmd, "delete qos"):
		err = r.l.DeleteQOS(r.l.FindQOS(f[2]))
	case strings.HasPrefix(cmd, "move account"):
		err = r.l.Move(r.l.FindAccount(f[2]), r.l.FindAccount(kv["parent"]))
	case strings.HasPrefix(cmd, "rename account"):
		err = r.l.RenameAccount(r.l.FindAccount(f[2]), f[3])
	case strings.HasPrefix(cmd, "rename user"):
		err = r.l.RenameUser(r.l.FindUser(f[2]), f[3])
	case strings.HasPrefix(cmd, "rename qos"):
		err = r.l.RenameQOS(r.l.FindQOS(f[2]), f[3])
	case strings.HasPrefix(cmd, "modify "):
		entity, settings, _ := strings.Cut(strings.TrimPrefix(cmd, "modify "), " set ")
		for s := range strings.FieldsSeq(settings) {
			name, value, _ := strings.Cut(s, "=")
			if err = r.set(entity, name, value); err != nil {
				return err
			}
		}
	default:
		err = fmt.Errorf("unknown command %q", cmd)
	}
	return err
}

// entities resolves "account a", "user u[,v] [account=a]".
func (r *sim) entities(entity string) []qos.AssocID {
	f := strings.Fields(entity)
	if f[0] == "account" {
		return []qos.AssocID{r.l.FindAccount(f[1])}
	}
	account, part := fields(entity)["account"], fields(entity)["partition"]
	var ids []qos.AssocID
	for u := range strings.SplitSeq(f[1], ",") {
		for _, id := range r.l.AppendAssocsOf(nil, r.l.FindUser(u)) {
			if (account == "" || r.l.AccountName(r.l.Account(id)) == account) && (part == "" || r.l.Partition(id) == part) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// set changes one limit or attribute of an entity.
func (r *sim) set(entity, name, value string) error {
	f := strings.Fields(entity)
	m, isLimit := qos.LimitNamed(strings.TrimRight(name, "+-"))
	if op := name[len(name)-1:]; isLimit && (op == "+" || op == "-") {
		value = op + "=" + value
	}
	if f[0] == "qos" {
		if isLimit {
			return r.l.SetQOSLimits(r.l.FindQOS(f[1]), qos.Setting{Limit: m, Value: value})
		}
		return r.attribute(r.l.FindQOS(f[1]), name, value)
	}
	ids := r.entities(entity)
	if len(ids) == 0 {
		return fmt.Errorf("no such entity %q", entity)
	}
	for _, id := range ids {
		switch {
		case isLimit:
			if err := r.l.SetLimits(id, qos.Setting{Limit: m, Value: value}); err != nil {
				return err
			}
		case strings.EqualFold(name, "qos+"):
			for q := range strings.SplitSeq(value, ",") {
				r.l.Allow(id, r.l.FindQOS(q))
			}
		case strings.EqualFold(name, "qos-"):
			r.l.Disallow(id, r.l.FindQOS(value))
		case strings.EqualFold(name, "qos"):
			var list []qos.QOSID
			for q := range strings.SplitSeq(value, ",") {
				list = append(list, r.l.FindQOS(q))
			}
			r.l.SetAllowed(id, list)
		case strings.EqualFold(name, "DefaultQOS"):
			r.l.SetDefaultQOS(id, r.l.FindQOS(value))
		case strings.EqualFold(name, "RawUsage"):
			r.l.ResetAssoc(id)
		case strings.EqualFold(name, "Fairshare"):
			r.l.SetShares(id, uint32(number(value)))
		default:
			return fmt.Errorf("unknown option %q", name)
		}
	}
	return nil
}

func (r *sim) attribute(id qos.QOSID, name, value string) error {
	if id == 0 {
		return fmt.Errorf("no such QOS")
	}
	a := r.l.QOS(id)
	var err error
	switch strings.ToLower(name) {
	case "flags":
		a.Flags, err = qos.ParseFlags(a.Flags, value)
	case "flags+":
		a.Flags, err = qos.ParseFlags(a.Flags, "+"+value)
	case "usagefactor":
		a.UsageFactor, err = strconv.ParseFloat(value, 64)
	case "limitfactor":
		a.LimitFactor, err = strconv.ParseFloat(value, 64)
	case "priority":
		a.Priority = uint32(number(value))
	case "gracetime":
		a.GraceTime = time.Duration(number(value)) * time.Second
	case "preempt":
		a.Preempt = nil
		for q := range strings.SplitSeq(value, ",") {
			a.Preempt = append(a.Preempt, r.l.FindQOS(q))
		}
	case "rawusage":
		r.l.ResetQOS(id)
		return nil
	default:
		err = fmt.Errorf("unknown option %q", name)
	}
	if err != nil {
		return err
	}
	return r.l.SetQOS(id, a)
}
