package topology

// A Suggestion says which near requests would fit where one did not; 0 is none.
type Suggestion struct {
	// Fewer and More are the nearest node counts below and above that fit.
	Fewer, More int32
	// Segment is the largest segment size with which the count fits.
	Segment int32
}

// Suggest looks for requests near req, which f refused, that fit: the same with
// fewer or more nodes, or in segments, trying at most tries of each kind. The CPUs
// wanted grow and shrink with the nodes. res is used and left without meaning. req
// is changed while Suggest runs and is as before when it returns.
func Suggest(f Fitter, ws *Scratch, req *Request, res *Result, tries int) Suggestion {
	keep := *req
	defer func() { *req = keep }()
	var s Suggestion
	n := max(keep.Min, 1)
	try := func(k, segment int32) bool {
		*req = keep
		req.Min, req.Want, req.Max, req.Sizes, req.Segment = k, k, k, nil, segment
		req.MinCPUs = keep.MinCPUs * int64(k) / int64(n)
		return f.Fit(ws, req, res)
	}
	for i := range int32(tries) {
		if k := n - 1 - i; s.Fewer == 0 && k > 0 && try(k, 0) {
			s.Fewer = k
		}
		if k := n + 1 + i; s.More == 0 && int(k) <= keep.Eligible.Len() && try(k, 0) {
			s.More = k
		}
	}
	if f.Kind() < KindBlock {
		return s
	}
	left := tries
	for k := n / 2; k > 0 && left > 0; k-- {
		if n%k == 0 && k != keep.Segment {
			left--
			if try(n, k) {
				s.Segment = k
				break
			}
		}
	}
	return s
}
