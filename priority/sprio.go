package priority

import (
	"strconv"

	"github.com/berth-sched/berth/gres"
)

// A PriorityLine names the job of a [Breakdown] for [AppendSprio].
type PriorityLine struct {
	Job, Partition, User, Account, QOS string
	Breakdown
}

var sprioColumns = [...]struct {
	name  string
	width int
}{
	{"JOBID", 15}, {"PARTITION", -9}, {"USER", 8}, {"ACCOUNT", 10}, {"PRIORITY", 10}, {"SITE", 10}, {"AGE", 10},
	{"ASSOC", 10}, {"FAIRSHARE", 10}, {"JOBSIZE", 10}, {"PARTITION", 10}, {"QOSNAME", 10}, {"QOS", 10}, {"NICE", 11}, {"TRES", 20},
}

// AppendSprio appends a table of lines like that of sprio -l: a header and a
// line for each job, terms weighted and rounded to whole numbers, nice as it is
// subtracted. Texts longer than their column are cut. s names the TRES.
func AppendSprio(dst []byte, s *gres.Schema, lines []PriorityLine) []byte {
	for _, c := range sprioColumns {
		dst = appendCell(dst, []byte(c.name), c.width)
	}
	dst = append(dst, '\n')
	var cell []byte
	for i := range lines {
		l := &lines[i]
		for k, c := range sprioColumns {
			cell = l.appendCell(cell[:0], s, k)
			dst = appendCell(dst, cell, c.width)
		}
		dst = append(dst, '\n')
	}
	return dst
}

func (l *PriorityLine) appendCell(dst []byte, s *gres.Schema, k int) []byte {
	terms := [...]*Factor{6: &l.Age, 7: &l.Assoc, 8: &l.FairShare, 9: &l.JobSize, 10: &l.Breakdown.Partition, 12: &l.Breakdown.QOS, 14: nil}
	switch k {
	case 0, 1, 2, 3:
		return append(dst, [...]string{l.Job, l.Partition, l.User, l.Account}[k]...)
	case 4:
		return strconv.AppendUint(dst, uint64(l.Priority), 10)
	case 5:
		return strconv.AppendInt(dst, int64(l.Site), 10)
	case 11:
		return append(dst, l.QOS...)
	case 13:
		return strconv.AppendInt(dst, int64(l.Nice), 10)
	case 14:
		return AppendTRESPoints(dst, s, l.TRES)
	}
	return strconv.AppendFloat(dst, terms[k].Points, 'f', 0, 64)
}

// AppendTRESPoints appends the weighted TRES terms as sprio shows them,
// "cpu=21,mem=533,gres/gpu=625": rounded, without those that are 0.
func AppendTRESPoints(dst []byte, s *gres.Schema, terms []TRESFactor) []byte {
	return appendTRES(dst, s, terms, 0)
}

// AppendTRESNorm appends the TRES factors as sprio -n shows them, with two
// decimals.
func AppendTRESNorm(dst []byte, s *gres.Schema, terms []TRESFactor) []byte {
	return appendTRES(dst, s, terms, 2)
}

func appendTRES(dst []byte, s *gres.Schema, terms []TRESFactor, decimals int) []byte {
	start := len(dst)
	for _, t := range terms {
		if t.Points == 0 {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, s.Name(gres.Kind(t.Kind))...)
		dst = append(dst, '=')
		f := t.Points
		if decimals != 0 {
			f = t.Norm
		}
		dst = strconv.AppendFloat(dst, f, 'f', decimals, 64)
	}
	return dst
}
