package priority_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-sched/berth/gres"
	"github.com/berth-sched/berth/priority"
)

// cluster is what a slurm.conf says about machines and partitions.
type cluster struct {
	conf       map[string]string
	schema     *gres.Schema
	nodes      map[string]gres.Vector
	partitions []string
	priority.Cluster
}

func newCluster(text string) (*cluster, error) {
	c := &cluster{conf: map[string]string{}, nodes: map[string]gres.Vector{}}
	for line := range strings.Lines(text) {
		if first, _, _ := strings.Cut(line, "="); first != "NodeName" && first != "PartitionName" {
			k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
			c.conf[k] = v
		}
	}
	var err error
	if c.schema, err = gres.NewSchema(strings.Split(c.conf["AccountingStorageTRES"], ",")...); err != nil {
		return nil, err
	}
	c.Kinds = c.schema.Len()
	for line := range strings.Lines(text) {
		set := map[string]string{}
		for kv := range strings.FieldsSeq(line) {
			k, v, _ := strings.Cut(kv, "=")
			set[k] = v
		}
		if set["NodeName"] != "" {
			c.addNodes(set)
		}
		if set["PartitionName"] != "" {
			c.addPartition(set)
		}
	}
	return c, nil
}

func (c *cluster) addNodes(set map[string]string) {
	v := c.schema.NewVector()
	v[gres.Node] = 1
	v[gres.CPU], _ = strconv.ParseInt(set["CPUs"], 10, 64)
	v[gres.Mem], _ = strconv.ParseInt(set["RealMemory"], 10, 64)
	for g := range strings.SplitSeq(set["Gres"], ",") {
		f := strings.Split(g, ":")
		n, err := strconv.ParseInt(f[len(f)-1], 10, 64)
		if err != nil {
			continue
		}
		if k, ok := c.schema.Kind("gres/" + f[0]); ok {
			v[k] += n
		}
		if k, ok := c.schema.Kind("gres/" + f[0] + ":" + f[1]); ok && len(f) == 3 {
			v[k] += n
		}
	}
	for _, name := range hostlist(set["NodeName"]) {
		c.nodes[name] = v
		c.Nodes++
		c.CPUs += v[gres.CPU]
	}
}

func (c *cluster) addPartition(set map[string]string) {
	total := c.schema.NewVector()
	for name, v := range c.nodes {
		all := set["Nodes"] == "ALL"
		for _, n := range hostlist(set["Nodes"]) {
			all = all || n == name
		}
		if all {
			gres.Add(total, v)
		}
	}
	factor := uint64(1)
	if f, ok := set["PriorityJobFactor"]; ok {
		factor, _ = strconv.ParseUint(f, 10, 32)
	}
	c.partitions = append(c.partitions, set["PartitionName"])
	c.PartitionFactor = append(c.PartitionFactor, uint32(factor))
	c.PartitionTRES = append(c.PartitionTRES, total...)
}

// hostlist expands names like n[01-03,7],g1.
func hostlist(text string) (names []string) {
	for text != "" {
		end := strings.IndexAny(text, ",[")
		if end < 0 {
			return append(names, text)
		}
		if text[end] == ',' {
			names, text = append(names, text[:end]), text[end+1:]
			continue
		}
		prefix, in := text[:end], text[end+1:strings.Index(text, "]")]
		for r := range strings.SplitSeq(in, ",") {
			lo, hi, found := strings.Cut(r, "-")
			if !found {
				hi = lo
			}
			from, _ := strconv.Atoi(lo)
			to, _ := strconv.Atoi(hi)
			for i := from; i <= to; i++ {
				names = append(names, fmt.Sprintf("%s%0*d", prefix, len(lo), i))
			}
		}
		text = strings.TrimPrefix(text[strings.Index(text, "]")+1:], ",")
	}
	return names
}

// config is the multifactor configuration of c.
func (c *cluster) config() (priority.Config, error) {
	number := func(key string) uint32 {
		n, _ := strconv.ParseUint(c.conf[key], 10, 32)
		return uint32(n)
	}
	cfg := priority.Config{Weights: priority.Weights{
		Age: number("PriorityWeightAge"), Assoc: number("PriorityWeightAssoc"), FairShare: number("PriorityWeightFairshare"),
		JobSize: number("PriorityWeightJobSize"), Partition: number("PriorityWeightPartition"), QOS: number("PriorityWeightQOS"),
	}}
	var err error
	if cfg.TRES, err = priority.ParseWeights(nil, c.schema, c.conf["PriorityWeightTRES"]); err != nil {
		return cfg, err
	}
	cfg.FavorSmall = c.conf["PriorityFavorSmall"] == "YES"
	// The controller counts the age limit in whole minutes, rounded up.
	if age := c.conf["PriorityMaxAge"]; age != "" {
		cfg.MaxAge = (slurmTime(age) + time.Minute - 1) / time.Minute * time.Minute
	}
	names := map[string]priority.Flags{
		"ACCRUE_ALWAYS": priority.AccrueAlways, "CALCULATE_RUNNING": priority.CalculateRunning, "DEPTH_OBLIVIOUS": priority.DepthOblivious,
		"NO_FAIR_TREE": priority.NoFairTree, "INCR_ONLY": priority.IncrOnly, "MAX_TRES": priority.MaxTRES, "MAX_TRES_GRES": priority.MaxTRESGRES,
		"NO_NORMAL_ALL": priority.NoNormalAll, "NO_NORMAL_ASSOC": priority.NoNormalAssoc, "NO_NORMAL_PART": priority.NoNormalPart,
		"NO_NORMAL_QOS": priority.NoNormalQOS, "NO_NORMAL_TRES": priority.NoNormalTRES, "SMALL_RELATIVE_TO_TIME": priority.SmallRelativeToTime,
	}
	for f := range strings.SplitSeq(c.conf["PriorityFlags"], ",") {
		cfg.Flags |= names[f]
	}
	return cfg, nil
}

// checkPriority computes every factor of every pending job and compares all
// that sprio printed, and the fair-share table of that moment.
func checkPriority(r *recording, rc *recordedCase) []string {
	c, err := newCluster(r.Files.SlurmConf)
	if err != nil {
		return []string{err.Error()}
	}
	cfg, err := c.config()
	if err != nil {
		return []string{err.Error()}
	}
	b := newBooks(r.Files.Sacctmgr)
	lines, factor := b.shares(c.conf, b.usage(r))
	diffs := compareTable(r.State.Sshare, lines)
	qos := b.priorities(c, r)
	var want map[string]map[string]any
	if err := json.Unmarshal(rc.Expect, &want); err != nil {
		return []string{err.Error()}
	}
	m := priority.NewMultifactor(cfg, &c.Cluster)
	for _, s := range rc.Submit {
		w := want[s.Name]
		if w["priority"] == nil {
			continue // refused at submission
		}
		j, err := c.job(cfg, s.Args, w, qos)
		if err != nil {
			diffs = append(diffs, s.Name+": "+err.Error())
			continue
		}
		j.Assoc = []int32{b.rows[option(s.Args, "-A", "--account")+"|"+s.User]}
		diffs = append(diffs, compareJob(s.Name, m, c.schema, j, factor, w)...)
	}
	return diffs
}

// priorities fills in what associations and QOS have, and returns the QOS's
// indices.
func (b *books) priorities(c *cluster, r *recording) map[string]int32 {
	for row, p := range b.priority {
		for up := b.tree.Parent[row]; p == "" && up >= 0; up = b.tree.Parent[up] {
			p = b.priority[up]
		}
		n, _ := strconv.ParseUint(p, 10, 32)
		c.AssocPriority = append(c.AssocPriority, uint32(n))
	}
	qos := map[string]int32{}
	for i, line := range r.State.QOSPriority {
		name, p, _ := strings.Cut(line, "|")
		n, _ := strconv.ParseUint(p, 10, 32)
		qos[name] = int32(i)
		c.QOSPriority = append(c.QOSPriority, uint32(n))
	}
	return qos
}

// option is the value of an option given as two words or with "=".
func option(args []string, names ...string) string {
	for i, a := range args {
		for _, n := range names {
			if a == n && i+1 < len(args) {
				return args[i+1]
			}
			if v, ok := strings.CutPrefix(a, n+"="); ok {
				return v
			}
		}
	}
	return ""
}

// job is one row of columns from what was recorded of the job.
func (c *cluster) job(cfg priority.Config, args []string, w map[string]any, qos map[string]int32) (*priority.Jobs, error) {
	text := func(key string) string { s, _ := w[key].(string); return s }
	v := c.schema.NewVector()
	if err := gres.ParseTRES(c.schema, v, text("req_tres")); err != nil {
		return nil, err
	}
	part := int32(-1)
	for i, p := range c.partitions {
		if p == text("partition_name") {
			part = int32(i)
		}
	}
	q, ok := qos[option(args, "--qos", "-q")]
	if !ok {
		q = qos["normal"]
	}
	cpus, _ := strconv.Atoi(text("num_cpus"))
	nice, _ := strconv.Atoi(option(args, "--nice"))
	site, _ := strconv.Atoi(text("site"))
	// How old the job was is known from its factor alone.
	age, _ := strconv.ParseFloat(text("age_norm"), 64)
	return &priority.Jobs{
		Partition: []int32{part}, QOS: []int32{q}, Age: []time.Duration{time.Duration(age*cfg.MaxAge.Seconds()+.5) * time.Second},
		Nodes: []int32{int32(v[gres.Node])}, CPUs: []int32{int32(cpus)}, TimeLimit: []time.Duration{slurmTime(text("time_limit"))},
		TRES: v, Nice: []int32{int32(nice)}, Site: []int32{int32(site)},
	}, nil
}

func compareJob(name string, m *priority.Multifactor, s *gres.Schema, j *priority.Jobs, share []float64, w map[string]any) (diffs []string) {
	var b priority.Breakdown
	m.Breakdown(&b, j, share, 0)
	var p [1]uint32
	m.Rank(p[:], j, share)
	fixed := func(f float64, decimals int) string { return strconv.FormatFloat(f, 'f', decimals, 64) }
	got := map[string]string{
		"priority": strconv.Itoa(int(b.Priority)), "job_priority": strconv.Itoa(int(p[0])),
		"priority_norm": fixed(b.Sum/priority.Ceiling, 14),
		"site":          strconv.Itoa(int(b.Site)), "nice": strconv.Itoa(int(b.Nice)),
		"tres": string(priority.AppendTRESPoints(nil, s, b.TRES)), "tres_norm": string(priority.AppendTRESNorm(nil, s, b.TRES)),
	}
	for key, f := range map[string]priority.Factor{
		"age": b.Age, "assoc": b.Assoc, "fairshare": b.FairShare, "jobsize": b.JobSize, "partition": b.Partition, "qos": b.QOS,
	} {
		got[key], got[key+"_norm"] = fixed(f.Points, 0), fixed(f.Norm, 7)
	}
	for key, g := range got {
		if g != w[key] {
			diffs = append(diffs, fmt.Sprintf("%s %s is %q, want %q", name, key, g, w[key]))
		}
	}
	return diffs
}
