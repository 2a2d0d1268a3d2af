//go:build !linux || !cgo || !(amd64 || arm64)

package nvml

// Open returns [ErrUnsupported]: this build cannot call the library. [Kernel]
// finds GPUs without it.
func Open(path string) (*Library, error) { return nil, ErrUnsupported }
