package schedtest

import (
	"github.com/berth-sched/berth/scheduler"
	"pgregory.net/rapid"
)

// genScopes draws what racks and nodes have to give beside their own resources:
// each kind of node is a rack.
func genScopes(t *rapid.T, c *scheduler.Config) {
	watts := scheduler.LicenseSpec{Name: "watts", Scope: scheduler.ScopeUnit}
	for i := range c.Nodes {
		watts.Units = append(watts.Units, scheduler.LicenseUnit{Nodes: c.Nodes[i].Names, Total: rapid.Int64Range(1, 4).Draw(t, "watts")})
	}
	c.Licenses = append(c.Licenses, watts, scheduler.LicenseSpec{Name: "net", Scope: scheduler.ScopeNode, Total: 2})
}

// scopedAsks are what jobs may ask of racks and nodes.
var scopedAsks = []string{"watts", "watts:2", "net", "net:2,watts", "watts,lic"}
