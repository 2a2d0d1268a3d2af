package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/berth-sched/berth/cgroupsv2"
	"github.com/berth-sched/berth/examples/nodeagent/protocol"
)

// An agent is one node's. All of its state is in its store, in the cgroup tree
// and with the controller: it may be killed at any instant and started again.
type agent struct {
	node    string
	url     string
	client  *http.Client
	store   store
	tree    *cgroupsv2.Tree
	machine *machine
	hook    []string
	boot    string

	site protocol.Registered
	conf cgroupsv2.Conf
	// waits has the time of each step's supervisor that this process started.
	waits map[protocol.Key]time.Time
}

// run registers and syncs until the context ends. Steps go on without it.
func (a *agent) run(ctx context.Context) error {
	held, err := lockWithin(filepath.Join(a.store.dir, agentLock), 10*time.Second)
	if err != nil {
		return err
	}
	if held == nil {
		return errors.New("nodeagent: another agent uses " + strconv.Quote(a.store.dir))
	}
	defer held.Close()
	a.waits = map[protocol.Key]time.Time{}
	if err := a.register(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		orders, err := a.sync(ctx)
		if err != nil {
			log.Print(err)
			orders = &protocol.Orders{}
		}
		a.carryOut(orders)
		after := time.Duration(orders.AfterMS) * time.Millisecond
		if after == 0 {
			after = time.Second
		}
		select {
		case <-ctx.Done():
		case <-time.After(after):
		}
	}
	return nil
}

// register introduces the node until the controller answers.
func (a *agent) register(ctx context.Context) error {
	m := protocol.Register{Version: protocol.Version, Node: a.node, Boot: a.boot, Inventory: a.machine.Inventory}
	for {
		err := protocol.Post(ctx, a.client, a.url+"/v1/register", &m, &a.site)
		if err == nil {
			break
		}
		log.Print(err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	conf, warnings, err := cgroupsv2.ParseConf(a.site.CgroupConf)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		log.Print("cgroup.conf: ", w)
	}
	if a.site.RealMemory == 0 {
		a.site.RealMemory = a.machine.Inventory.Memory
	}
	a.conf = conf
	return nil
}

// sync looks at every step, tells the controller, and returns its orders.
func (a *agent) sync(ctx context.Context) (*protocol.Orders, error) {
	m := protocol.Sync{Version: protocol.Version, Node: a.node, Boot: a.boot}
	keys, err := a.store.keys()
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		st, err := a.look(k)
		if err != nil {
			log.Print(k, ": ", err)
			st.Key = k
		}
		m.Steps = append(m.Steps, st)
	}
	if err := a.strays(keys); err != nil {
		log.Print(err)
	}
	var o protocol.Orders
	return &o, protocol.Post(ctx, a.client, a.url+"/v1/sync", &m, &o)
}

// look brings a step forward as far as it goes, and says how far that is.
func (a *agent) look(k protocol.Key) (protocol.Status, error) {
	st, err := a.status(k)
	if err != nil {
		return st, err
	}
	if st.State == protocol.Ended {
		return a.ended(k, st)
	}
	held, err := lock(a.store.path(k, lockFile))
	if err != nil {
		return st, err
	}
	if held == nil { // its supervisor lives
		if st.Killed {
			return st, a.kill(k)
		}
		return st, nil
	}
	defer held.Close()
	// The lock is ours: no supervisor runs, and none begins meanwhile. What
	// one wrote just before it ended counts.
	if st, err = a.status(k); err != nil || st.State == protocol.Ended {
		if err == nil {
			st, err = a.ended(k, st)
		}
		return st, err
	}
	switch started := a.store.has(k, startedFile); {
	case started:
		return a.giveUp(k, st, errors.New("nodeagent: the step's supervisor ended without a word"))
	case a.store.has(k, killFile):
		if _, err := once(a.store.path(k, startedFile)); err != nil {
			return st, err
		}
		return a.giveUp(k, st, nil)
	case time.Since(a.waits[k]) < 10*time.Second:
		return st, nil // it was started, and is on its way to the lock
	}
	held.Close()
	if err := a.launch(k); err != nil {
		if _, e := once(a.store.path(k, startedFile)); e != nil {
			return st, e
		}
		return a.giveUp(k, st, err)
	}
	return st, nil
}

// status is what the supervisor wrote of a step, and what the agent did to it.
func (a *agent) status(k protocol.Key) (protocol.Status, error) {
	st, err := a.store.status(k)
	if err != nil {
		return st, err
	}
	st.Killed = st.Killed || a.store.has(k, killFile)
	if text, err := os.ReadFile(a.store.path(k, signalFile)); err == nil {
		fmt.Sscan(string(text), &st.Signal)
	}
	return st, nil
}

// launch builds the fence and starts the supervisor inside. Both may be done
// again after a crash: the fence is then there already, and of several
// supervisors one works.
func (a *agent) launch(k protocol.Key) error {
	o, err := a.store.order(k)
	if err != nil {
		return err
	}
	p, err := work(o)
	if err != nil {
		return err
	}
	if err := a.tree.Apply(p.start()); err != nil {
		return err
	}
	c := exec.Command("/proc/self/exe", "stepd", a.store.dir, k.String())
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.Env = []string{"GOMAXPROCS=2"}
	c.Stderr = os.Stderr
	if err := a.tree.Group(a.conf.DaemonPath(&p.job, p.step.ID)).Start(c); err != nil {
		return err
	}
	a.waits[k] = time.Now()
	go c.Wait() // no zombie as long as we live; init has it afterwards
	return nil
}

// ended removes the groups of an ended step; only then is it told as ended.
func (a *agent) ended(k protocol.Key, st protocol.Status) (protocol.Status, error) {
	if err := a.remove(k); err != nil {
		st.State = protocol.Running
		return st, err
	}
	return st, nil
}

// giveUp ends a step that has no supervisor.
func (a *agent) giveUp(k protocol.Key, st protocol.Status, why error) (protocol.Status, error) {
	if err := a.kill(k); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return st, err
	}
	st.Key, st.State, st.Ended = k, protocol.Ended, now()
	st.Killed = a.store.has(k, killFile)
	if why != nil {
		st.Error = why.Error()
	}
	if err := a.remove(k); err != nil {
		return st, err
	}
	return st, save(a.store.path(k, statusFile), &st)
}

// groups returns the job, the step and its user group.
func (a *agent) groups(k protocol.Key) (job *cgroupsv2.Job, step, user cgroupsv2.Group, err error) {
	o, err := a.store.order(k)
	if err != nil {
		return nil, step, user, err
	}
	id, err := cgroupsv2.ParseSLUID(k.SLUID)
	if err != nil {
		return nil, step, user, err
	}
	job = &cgroupsv2.Job{SLUID: id, ID: o.Launch.Job.ID}
	step = a.tree.Group(a.conf.StepPath(job, cgroupsv2.StepID(k.Step)))
	user = a.tree.Group(a.conf.UserPath(job, cgroupsv2.StepID(k.Step)))
	return job, step, user, nil
}

func (a *agent) kill(k protocol.Key) error {
	_, _, user, err := a.groups(k)
	if err != nil {
		return err
	}
	if _, err = user.Kill(); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// remove removes a step's groups, and its job's after the last step.
func (a *agent) remove(k protocol.Key) error {
	job, step, _, err := a.groups(k)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
	defer stop()
	if err := step.Remove(ctx); err != nil {
		return err
	}
	return a.tree.Apply(a.conf.AppendStop(nil, job, cgroupsv2.StepID(k.Step), false))
}

// strays removes groups of steps that are not in the store: the controller
// released them, or they are of another life of the node's disk.
func (a *agent) strays(keys []protocol.Key) error {
	known := map[string]bool{}
	for _, k := range keys {
		job, step, _, err := a.groups(k)
		if err != nil {
			return err
		}
		known[step.Path()], known[a.conf.JobPath(job)] = true, true
	}
	jobs, err := a.tree.Jobs()
	if err != nil {
		return err
	}
	var errs []error
	for _, j := range jobs {
		paths := []string{}
		for _, s := range j.Steps {
			paths = append(paths, j.Name+"/"+s.String())
		}
		if !known[j.Name] {
			paths = []string{j.Name}
		}
		for _, path := range paths {
			if known[path] {
				continue
			}
			g := a.tree.Group(path)
			_, err := g.Kill()
			ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
			errs = append(errs, err, g.Remove(ctx))
			stop()
		}
	}
	return errors.Join(errs...)
}

// carryOut does what the controller ordered. What fails is logged, shows in
// the next sync, and is ordered again.
func (a *agent) carryOut(o *protocol.Orders) {
	report := func(k protocol.Key, err error) {
		if err != nil {
			log.Print(k, ": ", err)
		}
	}
	for _, k := range o.Release {
		report(k, a.release(k))
	}
	for i := range o.Launch {
		report(o.Launch[i].Key, a.accept(&o.Launch[i]))
	}
	for _, k := range o.Kill {
		if a.store.has(k, orderFile) {
			_, err := once(a.store.path(k, killFile))
			report(k, errors.Join(err, a.kill(k)))
		}
	}
	for i := range o.Signal {
		report(o.Signal[i].Key, a.signal(&o.Signal[i]))
	}
}

// accept writes a step down, then brings it forward.
func (a *agent) accept(l *protocol.Launch) error {
	if _, err := cgroupsv2.ParseSLUID(l.SLUID); err != nil {
		return err // a name that could lead elsewhere is never a path
	}
	if !a.store.has(l.Key, orderFile) {
		o := order{Launch: *l, Node: a.node, Tree: a.tree.Dir(), Conf: a.conf, Machine: *a.machine,
			Memory: a.site.RealMemory, Tracks: a.site.TracksMemory, Hook: a.hook}
		if err := a.store.accept(&o); err != nil {
			return err
		}
	}
	_, err := a.look(l.Key)
	return err
}

func (a *agent) release(k protocol.Key) error {
	if !a.store.has(k, orderFile) {
		return nil
	}
	st, err := a.store.status(k)
	if err != nil {
		return err
	}
	if st.State != protocol.Ended { // a controller that forgot the step: it goes
		_, err := once(a.store.path(k, killFile))
		return errors.Join(err, a.kill(k))
	}
	if err := a.remove(k); err != nil {
		return err
	}
	delete(a.waits, k)
	return a.store.forget(k)
}

// signal gives a signal and writes down that it did.
func (a *agent) signal(s *protocol.Signal) error {
	st, err := a.store.status(s.Key)
	if err != nil || st.State != protocol.Running {
		return err // before its start it waits, after its end it is void
	}
	var last uint64
	if text, err := os.ReadFile(a.store.path(s.Key, signalFile)); err == nil {
		fmt.Sscan(string(text), &last)
	}
	if s.Seq <= last {
		return nil
	}
	_, _, user, err := a.groups(s.Key)
	if err != nil {
		return err
	}
	if err := give(user, s.Signal, s.Leaders); err != nil {
		return err
	}
	return save(a.store.path(s.Key, signalFile), s.Seq)
}

// bootID changes with every start of the machine.
func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}
