package gres

// Derive compiles options into a request: what the client derives, then what
// the controller does. The error, a *[RequestError], names option and rule;
// the first broken rule in Slurm's order is told. It is pure.
//
// Source: spec/cores.md 2, spec/gres.md 7.
func Derive(o *Options, p *Params, t *DeviceTable) (Request, error) {
	d, err := newDerivation(o, p, t)
	if err != nil {
		return Request{}, err
	}
	if err := d.client(); err != nil {
		return Request{}, err
	}
	if err := d.controller(); err != nil {
		return Request{}, err
	}
	return d.r, nil
}

// CheckClient returns the first rule broken that the command itself tells
// before it asks the controller, nil if there is none.
func CheckClient(o *Options, p *Params, t *DeviceTable) error {
	d, err := newDerivation(o, p, t)
	if err != nil {
		return err
	}
	return d.client()
}

// A derivation is a request on its way.
type derivation struct {
	o *Options
	p *Params
	r Request
	// known says that the task count is known; r.Tasks may hold one that is
	// not.
	known bool
	// cpusGiven says that CPUs per task were given.
	cpusGiven bool
	tasksCore int32 // −1: explicitly unlimited
	// asked are the needs as asked: client and controller derive from them.
	asked  [MaxNeeds]Need
	nAsked uint8
}

func newDerivation(o *Options, p *Params, t *DeviceTable) (*derivation, error) {
	d := &derivation{o: o, p: p}
	if err := checkExclusions(o); err != nil {
		return nil, err
	}
	if err := d.needs(t); err != nil {
		return nil, err
	}
	return d, nil
}

// checkExclusions tests the options that exclude each other.
//
// Source: spec/gres.md 7.2.
func checkExclusions(o *Options) error {
	has := func(per Per, option string) bool {
		for i := range o.Asks {
			a := &o.Asks[i]
			if a.Name == "gpu" && a.Per == per && (option == "" || a.Option == option) {
				return true
			}
		}
		return false
	}
	if has(PerNode, "gres") && has(PerNode, "gpus-per-node") {
		return &RequestError{Rule: RuleGRESAndPerNode}
	}
	if o.TasksPerGPU > 0 {
		for _, w := range [...]struct {
			given bool
			name  string
		}{
			{has(PerTask, "gpus-per-task"), "--gpus-per-task"},
			{has(PerSocket, ""), "--gpus-per-socket"},
			{o.TasksPerNode > 0, "--ntasks-per-node"},
			{has(PerTask, "tres-per-task"), "--tres-per-task"},
		} {
			if w.given {
				return &RequestError{Rule: RuleTasksPerGPUWith, Detail: w.name}
			}
		}
	}
	mems := 0
	for _, m := range [...]int64{o.Mem, o.MemPerCPU, o.MemPerGPU} {
		if m >= 0 {
			mems++
		}
	}
	switch {
	case mems > 1:
		return &RequestError{Rule: RuleMemOnce}
	case o.TRESCPUs > 0 && o.CPUsPerTask > 0:
		return &RequestError{Rule: RuleCPUsTwice}
	case o.CPUsPerGPU > 0 && (o.CPUsPerTask > 0 || o.TRESCPUs > 0):
		return &RequestError{Rule: RuleCPUsPerGPUOrTask}
	case has(PerTask, "tres-per-task") && has(PerTask, "gpus-per-task"):
		return &RequestError{Rule: RuleGPUsPerTaskTwice}
	case o.Exclusive && o.Oversubscribe:
		return &RequestError{Rule: RuleExclusiveShared}
	}
	return nil
}

// NoType is the type of a need for a type that no node has.
const NoType TypeID = 1<<16 - 1

// needs compiles the asks. Types asked per task by --gpus-per-task come in
// reverse: the client rewrites that option in front of what it has.
func (d *derivation) needs(t *DeviceTable) error {
	n := 0
	add := func(a *Ask) error {
		name, ok := t.NameID(a.Name)
		if !ok {
			return &RequestError{Rule: RuleUnknownName, Detail: a.Name}
		}
		typ, ok := t.TypeID(a.Type)
		if !ok {
			typ = NoType
		}
		k := 0
		for k < n && (d.r.Needs[k].Name != name || d.r.Needs[k].Type != typ) {
			if x := &d.r.Needs[k]; x.Name == name && (x.Type == 0) != (typ == 0) {
				return &RequestError{Rule: RuleTypedAndUntyped, Detail: a.Name}
			}
			k++
		}
		if k == n {
			if n++; n > MaxNeeds {
				return &RequestError{Rule: RuleTooManyNeeds}
			}
			d.r.Needs[k] = Need{Name: name, Type: typ}
		}
		switch x := &d.r.Needs[k]; a.Per {
		case PerJob:
			x.PerJob = a.Count
		case PerNode:
			x.PerNode = a.Count
		case PerSocket:
			x.PerSocket = a.Count
		case PerTask:
			x.PerTask = a.Count
		}
		return nil
	}
	asks := d.o.Asks
	for i := 0; i < len(asks); {
		j := i + 1
		for j < len(asks) && asks[j].Option == asks[i].Option {
			j++
		}
		for k := range j - i {
			a := &asks[i+k]
			if a.Option == "gpus-per-task" {
				a = &asks[j-1-k]
			}
			if err := add(a); err != nil {
				return err
			}
		}
		i = j
	}
	d.r.NumNeeds = uint8(n)
	d.asked, d.nAsked = d.r.Needs, d.r.NumNeeds
	return d.checkShared()
}

// checkShared refuses a shared name together with the GPU it shares.
func (d *derivation) checkShared() error {
	gpu := d.r.WantsGPU() || d.o.GPUFreq
	for i := range d.r.Needs[:d.r.NumNeeds] {
		if k := d.r.Needs[i].Name; gpu && (k == NameShard || k == NameMPS) {
			return &RequestError{Rule: RuleShared, Detail: "shared GRES"}
		}
	}
	return nil
}

// client derives what the command derives before it submits.
//
// Source: spec/cores.md 2.1.
func (d *derivation) client() error {
	o, r := d.o, &d.r
	d.hint()
	r.SocketsPerNode, r.CoresPerSocket = o.SocketsPerNode, o.CoresPerSocket
	r.MinNodes, r.MaxNodes = o.MinNodes, o.MaxNodes
	nodesGiven := o.MinNodes > 0
	if !nodesGiven && o.ListedNodes > 0 {
		r.MinNodes = o.ListedNodes
	}
	r.TasksPerNode, r.TasksPerSocket, r.TasksPerGPU = o.TasksPerNode, o.TasksPerSocket, o.TasksPerGPU
	r.CPUsPerTask = max(o.CPUsPerTask, o.TRESCPUs)
	d.cpusGiven = r.CPUsPerTask > 0
	r.CPUsPerTask = max(r.CPUsPerTask, 1)
	r.NodeCPUs = o.MinCPUs
	if d.cpusGiven {
		r.NodeCPUs = max(r.NodeCPUs, r.CPUsPerTask)
	}
	r.Tasks, d.known = o.Tasks, o.Tasks > 0
	fixed := r.MinNodes > 0 && (r.MinNodes == r.MaxNodes || r.MaxNodes == 0)
	isRange := nodesGiven && r.MinNodes != r.MaxNodes
	switch {
	case (nodesGiven || o.Geometry || o.ListedNodes > 0) && !isRange && o.Tasks == 0 && o.TasksPerNode == 0:
		r.Tasks = max(r.MinNodes, 1)
		for _, k := range [...]int32{r.SocketsPerNode, r.CoresPerSocket, r.ThreadsPerCore} {
			if k > 0 {
				r.Tasks = mul32(r.Tasks, k)
				d.known = true
			}
		}
	case nodesGiven && o.Tasks > 0:
		if r.MaxNodes > 0 {
			r.MaxNodes = min(r.MaxNodes, r.Tasks)
		} else {
			r.MaxNodes = r.Tasks
		}
		if r.Tasks < r.MinNodes {
			r.MinNodes, r.MaxNodes = r.Tasks, r.Tasks
		}
	}
	e := max(r.Tasks, 1)
	if r.Tasks == 0 && r.TasksPerNode > 0 && fixed {
		e = mul32(r.MinNodes, r.TasksPerNode)
	}
	r.MinCPUs = mul32(e, r.CPUsPerTask)
	if r.TasksPerNode > 0 && o.Tasks > 0 && !nodesGiven {
		r.MinNodes = int32(ceilDiv(int(r.Tasks), int(r.TasksPerNode)))
	}
	if err := d.layoutRules(); err != nil {
		return err
	}
	r.CPUsPerGPU = o.CPUsPerGPU
	d.memory()
	d.flags()
	return d.deriveGPUs(0)
}

// hint applies --hint, which other options about cores and threads cancel.
func (d *derivation) hint() {
	o, r := d.o, &d.r
	r.ThreadsPerCore, d.tasksCore = o.ThreadsPerCore, o.TasksPerCore
	if o.TasksPerCore > 0 || o.CoresPerSocket > 0 || o.SocketsPerNode > 0 || o.ThreadsPerCore > 0 || o.Geometry {
		return
	}
	switch o.Hint {
	case HintNoMultithread, HintComputeBound:
		r.ThreadsPerCore = 1
	case HintMemoryBound:
		r.ThreadsPerCore = 1
		r.CoresPerSocket = 1
	case HintMultithread:
		d.tasksCore = -1
	}
}

// layoutRules tests threads per core and plane distribution.
func (d *derivation) layoutRules() error {
	o, r := d.o, &d.r
	if k := o.TasksPerCore; k > 0 && r.ThreadsPerCore > 0 && k > r.ThreadsPerCore {
		return &RequestError{Rule: RuleTasksPerCore, Num: [3]int64{int64(k), int64(r.ThreadsPerCore)}}
	}
	if p, n, k := o.PlaneSize, r.Tasks, r.MinNodes; p > 0 && n > 0 && n/p < k && int64(k-1)*int64(p) >= int64(n) {
		return &RequestError{Rule: RulePlane}
	}
	r.PlaneSize = o.PlaneSize
	return nil
}

// memory sets what memory is asked, without defaults.
func (d *derivation) memory() {
	o, r := d.o, &d.r
	switch {
	case o.Mem > 0:
		r.Mem, r.MemMiB = MemPerNode, o.Mem
	case o.MemPerCPU > 0:
		r.Mem, r.MemMiB = MemPerCPU, o.MemPerCPU
	case o.MemPerGPU > 0:
		r.Mem, r.MemMiB = MemPerGPU, o.MemPerGPU
	}
	r.TmpMiB = o.TmpMiB
}

// flags sets what the options and the cluster's defaults turn on.
func (d *derivation) flags() {
	o, p, r := d.o, d.p, &d.r
	r.Flags = o.Flags
	set := func(on bool, f RequestFlags) {
		if on {
			r.Flags |= f
		}
	}
	set(p.EnforceBinding && r.Flags&DisableBinding == 0, EnforceBinding)
	set(p.OneTaskPerSharing && r.Flags&ManyTasksPerSharing == 0, OneTaskPerSharing)
	set(p.MultipleSharing, MultipleSharing)
	set(p.LeastLoaded && !p.PackShared, LeastLoaded)
	set(p.PackShared, PackShared)
	set(p.ConsumeMem, ConsumeMem)
	set(o.Overcommit, Overcommit)
	set(o.Exclusive || p.WholeNodes, WholeNode)
	set(p.StrictSocketLimit, StrictSocketLimit)
	set(p.LooseGPUMem, LooseGPUMem)
	if p.AllowSpec && o.CoreSpec >= 0 {
		r.Flags |= HasCoreSpec | WholeNode
		r.SpecCount = int16(o.CoreSpec)
	} else if p.AllowSpec && o.ThreadSpec >= 0 {
		r.Flags |= HasThreadSpec | WholeNode
		r.SpecCount = int16(o.ThreadSpec)
	}
	r.Links, r.Unit, r.Dist = p.Links, p.Unit, o.Dist
	if r.Dist == DistDefault {
		r.Dist = DistCyclic
		if p.DistBlock {
			r.Dist = DistBlock
		}
	}
}

// controller derives what the controller adds at submission.
//
// Source: spec/cores.md 2.2.
func (d *derivation) controller() error {
	o, p, r := d.o, d.p, &d.r
	if o.Flags&OneTaskPerSharing != 0 && !p.MultipleSharing {
		return &RequestError{Rule: RuleOneTaskPerSharing}
	}
	r.MinNodes = max(r.MinNodes, 1)
	if !d.known {
		r.Tasks = 0
		switch {
		case r.TasksPerNode > 0:
			r.Tasks = mul32(r.MinNodes, r.TasksPerNode)
		case r.TasksPerGPU > 0:
			r.Tasks = mul32(r.MinNodes, r.TasksPerGPU)
		}
	}
	if r.Tasks > r.MinCPUs {
		r.MinCPUs = mul32(r.Tasks, r.CPUsPerTask)
	}
	d.defaultMemory()
	if !d.cpusGiven && r.CPUsPerGPU == 0 && r.WantsGPU() {
		r.DefCPUsPerGPU = p.DefCPUsPerGPU
	}
	if err := d.deriveGPUs(r.DefCPUsPerGPU); err != nil {
		return err
	}
	if d.known && r.Tasks < r.MinNodes || r.MaxNodes > 0 && r.MaxNodes < r.MinNodes {
		return &RequestError{Rule: RuleNodeCount, Num: [3]int64{int64(r.MinNodes), int64(r.MaxNodes), int64(r.Tasks)}}
	}
	if r.MaxNodes == 0 && r.Tasks > 0 {
		r.MaxNodes = max(r.Tasks, r.MinNodes)
		r.Flags |= ImpliedMaxNodes
	}
	r.NodeCPUs = max(r.NodeCPUs, 1, r.CPUsPerTask)
	if r.TasksPerNode > 0 && r.Tasks > 1 {
		r.NodeCPUs = max(r.NodeCPUs, mul32(r.CPUsPerTask, r.TasksPerNode))
	}
	switch {
	case d.tasksCore > 0:
		r.TasksPerCore = d.tasksCore
	case d.tasksCore == 0 && p.OneTaskPerCore:
		r.TasksPerCore = 1
		r.Flags |= OneTaskPerCore
	}
	switch {
	case d.known:
		r.TasksKnown = Given
	case r.Tasks > 0:
		r.TasksKnown = Implied
	}
	if r.Has(Overcommit) {
		r.MinCPUs = r.MinNodes
	}
	return nil
}

// defaultMemory fills in the memory of a request that names none.
//
// Source: spec/cores.md 5.1.
func (d *derivation) defaultMemory() {
	o, p, r := d.o, d.p, &d.r
	if o.Mem >= 0 || o.MemPerCPU >= 0 || o.MemPerGPU >= 0 {
		return
	}
	gpu, def := p.Partition.PerGPU, p.Partition
	if gpu == 0 {
		gpu = p.Cluster.PerGPU
	}
	if def.PerCPU == 0 && def.PerNode == 0 {
		def = p.Cluster
	}
	switch {
	case gpu > 0 && r.WantsGPU():
		r.Mem, r.MemMiB = MemPerGPU, gpu
	case def.PerCPU > 0:
		r.Mem, r.MemMiB = MemPerCPU, def.PerCPU
	case def.PerNode > 0:
		r.Mem, r.MemMiB = MemPerNode, def.PerNode
	}
}
