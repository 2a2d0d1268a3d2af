package main

import (
	"strconv"
	"strings"

	"github.com/berth-sched/berth/examples/nodeagent/protocol"
)

// expand fills in a file pattern for a task: %A %a %j %J %N %n %s %t %u %x and
// %%, numbers padded as in %4t. A backslash anywhere takes the text as it is.
//
// Source: sbatch(1), srun(1), filename pattern.
func expand(pattern string, l *protocol.Launch, node string, local int) string {
	if strings.Contains(pattern, `\`) {
		return strings.ReplaceAll(pattern, `\`, "")
	}
	array, index := l.Job.ID, int64(4294967294) // what Slurm shows outside of arrays
	if a := l.Job.Array; a != nil {
		array, index = a.JobID, a.Task
	}
	step := stepName(l.Step)
	job := strconv.FormatUint(l.Job.ID, 10)
	rank := 0
	if local < len(l.Tasks) {
		rank = int(l.Tasks[local].Rank)
	}
	short, _, _ := strings.Cut(node, ".")
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			b.WriteByte(pattern[i])
			continue
		}
		from, width := i, 0
		for i++; i < len(pattern) && pattern[i] >= '0' && pattern[i] <= '9'; i++ {
			width = min(width*10+int(pattern[i]-'0'), 10)
		}
		if i == len(pattern) {
			b.WriteString(pattern[from:])
			break
		}
		number := func(s string) { b.WriteString(strings.Repeat("0", max(width-len(s), 0)) + s) }
		switch pattern[i] {
		case '%':
			b.WriteByte('%')
		case 'A':
			number(strconv.FormatUint(array, 10))
		case 'a':
			number(strconv.FormatInt(index, 10))
		case 'j':
			number(job)
		case 'J':
			if l.Step < 0 {
				number(job)
			} else {
				b.WriteString(job + "." + step)
			}
		case 'N':
			b.WriteString(short)
		case 'n':
			number(strconv.Itoa(int(l.NodeID)))
		case 's':
			b.WriteString(step)
		case 't':
			number(strconv.Itoa(rank))
		case 'u':
			b.WriteString(l.Job.User)
		case 'x':
			b.WriteString(l.Job.Name)
		default:
			b.WriteString(pattern[from : i+1])
		}
	}
	return b.String()
}

func stepName(step int32) string {
	switch step {
	case -4:
		return "extern"
	case -5:
		return "batch"
	case -6:
		return "interactive"
	}
	return strconv.Itoa(int(step))
}
