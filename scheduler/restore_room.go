package scheduler

import (
	"strings"

	"github.com/berth-sched/berth/gres"
)

// A readRoom holds what a snapshot that is read gives many of: texts and short
// lists lie side by side in few large pieces of memory.
type readRoom struct {
	texts  strings.Builder
	rows   arena[int32]
	grants arena[nodeGrant]
	cores  arena[uint64]
	devs   arena[gres.DeviceGrant]
	own    arena[jobOwn]
}

// textPiece is how many bytes of texts are allocated at once. A text that is kept
// keeps its piece.
const textPiece = 4096

// text returns b as a string.
func (r *readRoom) text(b []byte) string {
	if len(b) > textPiece/8 {
		return string(b)
	}
	if r.texts.Cap()-r.texts.Len() < len(b) {
		r.texts.Reset()
		r.texts.Grow(textPiece)
	}
	from := r.texts.Len()
	r.texts.Write(b)
	return r.texts.String()[from:]
}
