package gres

import (
	"fmt"
	"strings"
)

// A Rule is one of the rules that a request can break; see [RequestError].
type Rule uint8

// The rules, client side first.
const (
	RuleNone             Rule = iota
	RuleGRESAndPerNode        // --gres=gpu and --gpus-per-node
	RuleTasksPerGPUWith       // --ntasks-per-gpu and Detail
	RuleMemOnce               // two of --mem, --mem-per-cpu, --mem-per-gpu
	RuleCPUsPerGPUOrTask      // --cpus-per-gpu and CPUs per task
	RuleCPUsTwice             // -c and cpu in --tres-per-task
	RuleGPUsPerTaskTwice      // --gpus-per-task and gpu in --tres-per-task
	RulePerTaskTRES           // --tres-per-task with the TRES Detail
	RuleGRESFlag              // unknown --gres-flags Detail
	RuleBindingBoth           // enforce-binding and disable-binding
	RuleSharingBoth           // one- and multiple-tasks-per-sharing
	RuleTaskSharing           // allow-task-sharing outside srun
	RuleGPUBind               // bad --gpu-bind Detail
	RuleGPUFreq               // bad --gpu-freq Detail
	RuleTRESBind              // bad --tres-bind
	RuleTasksPerCore          // --ntasks-per-core above --threads-per-core
	RulePlane                 // too few tasks for -m plane
	RuleExclusiveShared       // --exclusive and --oversubscribe
	RuleHint                  // unknown --hint Detail
	// Derivation, told by the client and tested again by the controller.
	RuleTRES              // malformed list
	RuleUnknownName       // GRES name nobody has
	RuleTypedAndUntyped   // one name with and without type
	RuleShared            // gpu and a shared name, or a shared name with --gpu-freq
	RuleTooManyNeeds      // more than MaxNeeds names and types
	RuleOrder             // --gpus ≥ per node ≥ per socket
	RuleOrderTask         // --gpus or per node ≥ per task
	RuleNodesMultiple     // --gpus not a multiple of per node
	RuleNodesRange        // nodes from --gpus outside -N
	RuleSocketsMultiple   // per node not a multiple of per socket
	RuleSocketsGiven      // per node and per socket give other sockets
	RuleSockets           // --gpus-per-socket without sockets
	RuleTasksMultiple     // --gpus not a multiple of per task
	RuleTasksGiven        // --gpus and per task give other tasks
	RuleTasks             // per task without --gpus or -n
	RuleNodeTasksMultiple // per node not a multiple of per task
	RuleNodeTasksGiven    // per node and per task give other tasks per node
	RuleSocketTasks       // per socket not a multiple of per task
	RuleJobNodes          // --gpus below -N
	RuleTasksPerGPU       // -n not a multiple of --ntasks-per-gpu
	RuleTasksPerGPUAlone  // --ntasks-per-gpu with nothing to count
	RuleCPUsPerGPUAlone   // --cpus-per-gpu without GPUs
	RuleMemPerGPUAlone    // --mem-per-gpu without GPUs
	RuleOneTaskPerSharing // one-task-per-sharing without the cluster's leave
	// Controller.
	RuleNodeCount   // fewer tasks than nodes, or maximum below minimum
	RuleUnavailable // no set of nodes could ever serve
)

// ruleTexts are option, our text and the lines that Slurm prints; %s is
// Detail, %[2]d and on are the numbers. Texts marked * in spec/gres.md were
// observed; the others have its wording.
var ruleTexts = [...]struct{ option, text, slurm string }{
	RuleGRESAndPerNode:   {"--gpus-per-node", "given together with --gres=gpu", "fatal: --gpus-per-node and --gres=gpu are mutually exclusive."},
	RuleTasksPerGPUWith:  {"--ntasks-per-gpu", "given together with %s", "fatal: %[1]s is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU"},
	RuleMemOnce:          {"--mem", "more than one of --mem, --mem-per-cpu, --mem-per-gpu", "fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive."},
	RuleCPUsPerGPUOrTask: {"--cpus-per-gpu", "given together with CPUs per task", "fatal: --cpus-per-task, --tres-per-task=cpu:#, and --cpus-per-gpu are mutually exclusive"},
	RuleCPUsTwice:        {"--tres-per-task", "cpu given together with --cpus-per-task", "fatal: You can not have --tres-per-task=cpu= and --cpus-per-task please use one or the other"},
	RuleGPUsPerTaskTwice: {"--tres-per-task", "gpu given together with --gpus-per-task", "fatal: You can not have --tres-per-task=gres/gpu= and --gpus-per-task please use one or the other"},
	RulePerTaskTRES:      {"--tres-per-task", "%s cannot be asked per task", "fatal: Invalid TRES for --tres-per-task: %[1]s"},
	RuleGRESFlag:         {"--gres-flags", "unknown flag in %q", "error: Invalid --gres-flags specification: %[1]s"},
	RuleBindingBoth:      {"--gres-flags", "enforce-binding and disable-binding", "error: Invalid --gres-flags combo: disable-binding and enforce-binding are mutually exclusive."},
	RuleSharingBoth:      {"--gres-flags", "one-task-per-sharing and multiple-tasks-per-sharing", "error: Invalid --gres-flags combo: one-task-per-sharing and multiple-tasks-per-sharing are mutually exclusive."},
	RuleTaskSharing:      {"--gres-flags", "allow-task-sharing is for steps", "fatal: --gres-flags=allow-task-sharing is only used with srun."},
	RuleGPUBind:          {"--gpu-bind", "invalid argument %q", "error: Invalid --gpu-bind argument: %[1]s"},
	RuleGPUFreq:          {"--gpu-freq", "invalid argument %q", "error: Invalid --gpu-freq argument: %[1]s"},
	RuleTRESBind:         {"--tres-bind", "invalid argument %q", "error: Invalid Trackable RESource (TRES) specification"},
	RuleTasksPerCore:     {"--ntasks-per-core", "%[2]d tasks a core with %[3]d threads a core", "fatal: --ntasks-per-core (%[2]d) can not be bigger than --threads-per-core (%[3]d)"},
	RulePlane:            {"-m plane", "too few tasks", "fatal: Too few processes for the requested {plane,node} distribution"},
	RuleExclusiveShared:  {"--exclusive", "given together with --oversubscribe", "fatal: --exclusive and --oversubscribe options are mutually exclusive"},
	RuleHint:             {"--hint", "unknown hint %q", "fatal: unrecognized --hint argument \"%[1]s\", see --hint=help"},

	RuleTRES:              {"--gres", "malformed list %q", "error: Invalid Trackable RESource (TRES) specification"},
	RuleUnknownName:       {"--gres", "unknown name %q", invalidGRES},
	RuleTypedAndUntyped:   {"--gres", "%s with and without type", "error: Invalid GRES specification (with and without type identification)"},
	RuleShared:            {"--gres", "%s together with a GPU it would share", invalidGRES},
	RuleTooManyNeeds:      {"--gres", "too many names and types", invalidGRES},
	RuleOrder:             {"--gpus", "fewer than per node or per socket", "error: Failed to ensure --gpus >= --gres=gpu/--gpus-per-node >= --gpus-per-socket\n" + invalidGRES},
	RuleOrderTask:         {"--gpus-per-task", "more than per job or per node", "error: Failed to ensure --gpus >= --gpus-per-task or --gres=gpu/--gpus-per-node >= --gpus-per-task\n" + invalidGRES},
	RuleNodesMultiple:     {"--gpus", "not a multiple of --gpus-per-node", "error: Failed to validate job spec. --gpus is not multiple of --gres=gpu/--gpus-per-node\n" + invalidGRES},
	RuleNodesRange:        {"--gpus", "%[2]d nodes for --gpus and --gpus-per-node, outside %[3]d to %[4]d", "error: Failed to validate job spec. Based on --gpu and --gres=gpu/--gpus-per-node required nodes (%[2]d) doesn't fall between min_nodes (%[3]d) and max_nodes (%[4]d) boundaries.\n" + invalidGRES},
	RuleSocketsMultiple:   {"--gpus-per-socket", "--gpus-per-node is not a multiple", "error: Failed to validate job spec. --gres=gpu/--gpus-per-node not multiple of --gpus-per-socket\n" + invalidGRES},
	RuleSocketsGiven:      {"--gpus-per-socket", "differs from --sockets-per-node", "error: Failed to validate job spec. Based on --gres=gpu/--gpus-per-node and --gpus-per-socket required number of sockets differ from --sockets-per-node.\n" + invalidGRES},
	RuleSockets:           {"--gpus-per-socket", "needs --sockets-per-node", "error: Failed to validate job spec. --gpus-per-socket option requires --sockets-per-node\n" + invalidGRES},
	RuleTasksMultiple:     {"--gpus-per-task", "--gpus is not a multiple", "error: Failed to validate job spec. --gpus not multiple of --gpus-per-task\n" + invalidGRES},
	RuleTasksGiven:        {"--gpus-per-task", "--gpus gives other tasks than --ntasks", "error: Failed to validate job spec. Based on --gpus and --gpus-per-task number of requested tasks differ from -n/--ntasks.\n" + invalidGRES},
	RuleTasks:             {"--gpus-per-task", "needs --gpus or --ntasks", "error: Failed to validate job spec. --gpus-per-task or --tres-per-task used without either --gpus or -n/--ntasks is not allowed.\n" + invalidGRES},
	RuleNodeTasksMultiple: {"--gpus-per-task", "--gpus-per-node is not a multiple", "error: Failed to validate job spec. --gres=gpu/--gpus-per-node not multiple of --gpus-per-task\n" + invalidGRES},
	RuleNodeTasksGiven:    {"--gpus-per-task", "differs from --ntasks-per-node", "error: Failed to validate job spec. Based on --gres=gpu/--gpus-per-node and --gpus-per-task requested number of tasks per node differ from --ntasks-per-node.\n" + invalidGRES},
	RuleSocketTasks:       {"--gpus-per-task", "--gpus-per-socket is not a multiple", "error: Failed to validate job spec. --gpus-per-socket not multiple of --gpus-per-task\n" + invalidGRES},
	RuleJobNodes:          {"--gpus", "fewer than --nodes", "error: Failed to validate job spec, --gpus < -N\n" + invalidGRES},
	RuleTasksPerGPU:       {"--ntasks-per-gpu", "--ntasks is not a multiple", "error: Failed to validate job spec, -n/--ntasks has to be a multiple of --ntasks-per-gpu.\n" + invalidGRES},
	RuleTasksPerGPUAlone:  {"--ntasks-per-gpu", "needs GPUs or --ntasks", "error: Failed to validate job spec, --ntasks-per-gpu needs either a GRES GPU specification or -n/--ntasks\n" + invalidGRES},
	RuleCPUsPerGPUAlone:   {"--cpus-per-gpu", "needs GPUs", "error: Requested cpus_per_tres=gres/gpu:%[2]d but did not request any GPU.\n" + invalidGRES},
	RuleMemPerGPUAlone:    {"--mem-per-gpu", "needs GPUs", "error: Requested mem_per_tres=gres/gpu:%[2]d but did not request any GPU.\n" + invalidGRES},
	RuleOneTaskPerSharing: {"--gres-flags", "one-task-per-sharing needs MULTIPLE_SHARING_GRES_PJ", "error: In order to use --gres-flags=one-task-per-sharing you must also have SelectTypeParameters=MULTIPLE_SHARING_GRES_PJ in your slurm.conf"},

	RuleNodeCount:   {"--nodes", "%[2]d to %[3]d nodes for %[4]d tasks", "error: Batch job submission failed: Node count specification invalid"},
	RuleUnavailable: {"", "no node set could serve it", "error: Batch job submission failed: Requested node configuration is not available"},
}

const invalidGRES = "error: Invalid generic resource (gres) specification"

// A RequestError says which option of a request breaks which rule.
type RequestError struct {
	Rule   Rule
	Detail string   // the option or word at fault, where the rule has one
	Num    [3]int64 // numbers of the text
}

// Error returns option and rule on one line.
func (e *RequestError) Error() string {
	t := &ruleTexts[e.Rule]
	return "gres: derive request: " + t.option + ": " + e.fill(t.text)
}

// SlurmText returns the lines that Slurm 26.05 prints for the rule.
func (e *RequestError) SlurmText() string { return e.fill(ruleTexts[e.Rule].slurm) }

func (e *RequestError) fill(format string) string {
	if !strings.Contains(format, "%") {
		return format
	}
	// The trailing verb of width 0 uses up whatever the format leaves over.
	return fmt.Sprintf(format+"%[5]s", e.Detail, e.Num[0], e.Num[1], e.Num[2], "")
}

// Client reports whether the command refuses before it asks the controller.
func (e *RequestError) Client() bool { return e.Rule < RuleNodeCount }

// Option returns the option that the rule is about, "" if none in particular.
func (e *RequestError) Option() string { return ruleTexts[e.Rule].option }
