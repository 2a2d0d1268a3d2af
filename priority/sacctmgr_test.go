package priority_test

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/priority"
)

// books are the associations that a list of sacctmgr lines makes.
type books struct {
	tree     priority.Tree
	account  []string // by row
	user     []string // by row, empty for an account
	priority []string // by row, empty if unset
	rows     map[string]int32
}

// newBooks reads the lines that add accounts and users; lines about QOS are
// passed over. The root has a user of its own, root.
func newBooks(lines []string) *books {
	b := &books{rows: map[string]int32{}}
	b.add("root", "", -1, map[string]string{})
	b.add("root", "root", 0, map[string]string{})
	for _, line := range lines {
		w := strings.Fields(line)
		if len(w) < 3 || w[0] != "add" || w[1] == "qos" {
			continue
		}
		set := map[string]string{}
		for _, kv := range w[3:] {
			k, v, _ := strings.Cut(kv, "=")
			set[strings.ToLower(k)] = v
		}
		for name := range strings.SplitSeq(w[2], ",") {
			if w[1] == "account" {
				b.add(name, "", b.rows[cmp.Or(set["parent"], "root")+"|"], set)
			} else {
				for account := range strings.SplitSeq(set["account"], ",") {
					b.add(account, name, b.rows[account+"|"], set)
				}
			}
		}
	}
	return b
}

func (b *books) add(account, user string, parent int32, set map[string]string) {
	share := uint64(1)
	if s := set["fairshare"]; s == "parent" {
		share = uint64(priority.SharesParent)
	} else if s != "" {
		share, _ = strconv.ParseUint(s, 10, 32)
	}
	b.rows[account+"|"+user] = int32(len(b.user))
	b.tree.Parent = append(b.tree.Parent, parent)
	b.tree.User = append(b.tree.User, user != "")
	b.tree.Shares = append(b.tree.Shares, uint32(share))
	b.account, b.user, b.priority = append(b.account, account), append(b.user, user), append(b.priority, set["priority"])
}

// usage is the raw usage of each row, accounts summed up.
func (b *books) usage(r *recording) []float64 {
	u := make([]float64, len(b.user))
	for _, c := range r.Usage {
		for row := b.rows[c.Account+"|"+c.User]; row >= 0; row = b.tree.Parent[row] {
			u[row] += c.RawUsage
		}
	}
	return u
}

// inOrder are the rows as sshare shows them: depth first, users before accounts,
// each by name.
func (b *books) inOrder() (rows []int32, depth []int) {
	var walk func(r int32, d int)
	walk = func(r int32, d int) {
		rows, depth = append(rows, r), append(depth, d)
		var below []int32
		for i, p := range b.tree.Parent {
			if p == r {
				below = append(below, int32(i))
			}
		}
		slices.SortFunc(below, func(x, y int32) int {
			if b.tree.User[x] != b.tree.User[y] {
				return cmp.Compare(b.user[y], b.user[x])
			}
			return cmp.Compare(b.account[x]+"|"+b.user[x], b.account[y]+"|"+b.user[y])
		})
		for _, c := range below {
			walk(c, d+1)
		}
	}
	walk(0, 0)
	return rows, depth
}

// slurmTime reads minutes, minutes:seconds, hours:minutes:seconds, days-hours,
// days-hours:minutes and days-hours:minutes:seconds.
func slurmTime(text string) time.Duration {
	switch text {
	case "UNLIMITED", "INFINITE":
		return priority.NoLimit
	}
	units := []time.Duration{time.Minute, time.Second}
	days, rest, dashed := strings.Cut(text, "-")
	if !dashed {
		days, rest = "0", text
	}
	if dashed || strings.Count(rest, ":") == 2 {
		units = []time.Duration{time.Hour, time.Minute, time.Second}
	}
	n, _ := strconv.Atoi(days)
	d := time.Duration(n) * 24 * time.Hour
	for i, f := range strings.Split(rest, ":") {
		n, _ := strconv.Atoi(f)
		d += time.Duration(n) * units[i]
	}
	return d
}
