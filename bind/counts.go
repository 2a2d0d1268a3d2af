package bind

import "strconv"

// AppendCounts appends numbers by node in Slurm's form: runs of equal numbers
// are shortened to N(xTIMES), as in 72(x2),36.
//
// Source: sbatch(1), SLURM_TASKS_PER_NODE.
func AppendCounts(dst []byte, counts []int32) []byte {
	for i := 0; i < len(counts); {
		run := i + 1
		for run < len(counts) && counts[run] == counts[i] {
			run++
		}
		dst = strconv.AppendInt(comma(dst, i), int64(counts[i]), 10)
		if n := run - i; n > 1 {
			dst = append(strconv.AppendInt(append(dst, "(x"...), int64(n), 10), ')')
		}
		i = run
	}
	return dst
}

// AppendList appends numbers with commas between them.
func AppendList(dst []byte, list []int32) []byte {
	for i, n := range list {
		dst = strconv.AppendInt(comma(dst, i), int64(n), 10)
	}
	return dst
}

func appendInt32(dst []byte, n int32) []byte { return strconv.AppendInt(dst, int64(n), 10) }
