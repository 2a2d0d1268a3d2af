package gres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestDevicesScripts runs sequences of jobs on the configurations of the
// oracle rows. Commands:
//
//	cluster config=ps+LL   idle nodes (rows.tsv tells what they are)
//	start                  one job a line; the answer is what it got
//	end job=2              the job started second ends
//	used                   what is in use, node by node
func TestDevicesScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/devices", func(t *testing.T, path string) {
		var c *cluster
		var held []outcome
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var b strings.Builder
			switch d.Cmd {
			case "cluster":
				c, held = oracleCluster(t, d.CmdArgs[0].Vals[0]), nil
			case "start":
				for line := range strings.SplitSeq(d.Input, "\n") {
					got, out := c.submit(strings.Fields(line))
					if got.state != "RUN" {
						fmt.Fprintln(&b, got.state)
						continue
					}
					held = append(held, out)
					for x, n := range out.nodes {
						g := &out.grants[x]
						fmt.Fprintf(&b, "%s CPUs %s, %d MiB", c.names[n], c.shapes[n].AppendCPUIDs(nil, g.Cores), g.MemMiB)
						if dev := c.shapes[n].AppendGRES(nil, c.tab, g); len(dev) > 0 {
							fmt.Fprintf(&b, ", %s", dev)
						}
						b.WriteByte('\n')
					}
				}
			case "end":
				var job int
				d.ScanArgs(t, "job", &job)
				o := &held[job-1]
				for x, n := range o.nodes {
					c.shapes[n].Give(c.rows[n], &o.grants[x])
				}
			case "used":
				for i, s := range c.shapes {
					fmt.Fprintf(&b, "%s CPUs %s, %s\n", c.names[i], s.AppendCPUIDs(nil, s.UsedCores(c.rows[i])), s.AppendNodeUsed(nil, c.tab, c.rows[i]))
				}
			default:
				t.Fatalf("unknown command %s", d.Cmd)
			}
			return b.String()
		})
	})
}
