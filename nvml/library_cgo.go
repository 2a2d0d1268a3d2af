//go:build linux && cgo && (amd64 || arm64)

package nvml

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>

// The few structs that we read, after NVML's stable ABI; nvmltest checks their
// layout against NVIDIA's header where one is at hand.
typedef void *dev;
typedef unsigned long long ull;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char busid[32]; } pciinfo;
typedef struct { ull total, free, used; } memory;
typedef struct { unsigned other[6], gi_slices, ci_slices; ull mb; } attrs;
typedef struct { unsigned version; unsigned char cluster[16]; int status; unsigned clique; unsigned char state; unsigned health; } fabric;
typedef struct { dev device; ull type, data; unsigned gi, ci; } event;

// One trampoline for each shape of call.
static int c_v(void *f) { return ((int (*)(void))f)(); }
static int c_su(void *f, char *s, unsigned n) { return ((int (*)(char *, unsigned))f)(s, n); }
static int c_u(void *f, unsigned *u) { return ((int (*)(unsigned *))f)(u); }
static int c_iD(void *f, unsigned i, dev *d) { return ((int (*)(unsigned, dev *))f)(i, d); }
static int c_dsu(void *f, dev d, char *s, unsigned n) { return ((int (*)(dev, char *, unsigned))f)(d, s, n); }
static int c_du(void *f, dev d, unsigned *u) { return ((int (*)(dev, unsigned *))f)(d, u); }
static int c_duu(void *f, dev d, unsigned *a, unsigned *b) { return ((int (*)(dev, unsigned *, unsigned *))f)(d, a, b); }
static int c_diu(void *f, dev d, unsigned i, unsigned *u) { return ((int (*)(dev, unsigned, unsigned *))f)(d, i, u); }
static int c_dp(void *f, dev d, pciinfo *p) { return ((int (*)(dev, pciinfo *))f)(d, p); }
static int c_dip(void *f, dev d, unsigned i, pciinfo *p) { return ((int (*)(dev, unsigned, pciinfo *))f)(d, i, p); }
static int c_dm(void *f, dev d, memory *m) { return ((int (*)(dev, memory *))f)(d, m); }
static int c_dnl(void *f, dev d, unsigned n, unsigned long *l) { return ((int (*)(dev, unsigned, unsigned long *))f)(d, n, l); }
static int c_dnls(void *f, dev d, unsigned n, unsigned long *l, unsigned s) { return ((int (*)(dev, unsigned, unsigned long *, unsigned))f)(d, n, l, s); }
static int c_ddu(void *f, dev a, dev b, unsigned *u) { return ((int (*)(dev, dev, unsigned *))f)(a, b, u); }
static int c_ddiu(void *f, dev a, dev b, unsigned i, unsigned *u) { return ((int (*)(dev, dev, unsigned, unsigned *))f)(a, b, i, u); }
static int c_diD(void *f, dev d, unsigned i, dev *c) { return ((int (*)(dev, unsigned, dev *))f)(d, i, c); }
static int c_da(void *f, dev d, attrs *a) { return ((int (*)(dev, attrs *))f)(d, a); }
static int c_df(void *f, dev d, fabric *a) { return ((int (*)(dev, fabric *))f)(d, a); }
static int c_diiU(void *f, dev d, int a, int b, ull *u) { return ((int (*)(dev, int, int, ull *))f)(d, a, b, u); }
static int c_duuuu(void *f, dev d, unsigned *u) { return ((int (*)(dev, unsigned *, unsigned *, unsigned *, unsigned *))f)(d, u, u + 1, u + 2, u + 3); }
static int c_diuu(void *f, dev d, unsigned i, unsigned *n, unsigned *u) { return ((int (*)(dev, unsigned, unsigned *, unsigned *))f)(d, i, n, u); }
static int c_dii(void *f, dev d, unsigned a, unsigned b) { return ((int (*)(dev, unsigned, unsigned))f)(d, a, b); }
static int c_d(void *f, dev d) { return ((int (*)(dev))f)(d); }
static int c_D(void *f, dev *d) { return ((int (*)(dev *))f)(d); }
static int c_dUd(void *f, dev d, ull t, dev s) { return ((int (*)(dev, ull, dev))f)(d, t, s); }
static int c_den(void *f, dev s, event *e, unsigned ms) { return ((int (*)(dev, event *, unsigned))f)(s, e, ms); }
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// DefaultLibrary is the name under which the loader finds the library.
const DefaultLibrary = "libnvidia-ml.so.1"

// Open opens NVIDIA's management library, by default [DefaultLibrary]. The
// error wraps [ErrNoLibrary] if there is none, with the loader's text; it
// matches [ErrNoDriver] if the driver is not loaded, and else wraps a
// [Return].
func Open(path string) (*Library, error) {
	if path == "" {
		path = DefaultLibrary
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	so := C.dlopen(name, C.RTLD_NOW|C.RTLD_LOCAL)
	if so == nil {
		return nil, fmt.Errorf("nvml: open library: %s: %w", C.GoString(C.dlerror()), ErrNoLibrary)
	}
	return newLibrary(&shared{so: so, sym: map[string]unsafe.Pointer{}})
}

// shared is an opened library. Symbols are looked up when first used, so a
// driver may lack any.
type shared struct {
	so  unsafe.Pointer
	sym map[string]unsafe.Pointer
}

func (s *shared) find(name string) unsafe.Pointer {
	f, known := s.sym[name]
	if !known {
		c := C.CString(name)
		f = C.dlsym(s.so, c)
		C.free(unsafe.Pointer(c))
		s.sym[name] = f
	}
	return f
}

// at calls run with a function, or says that there is none.
func (s *shared) at(name string, run func(f unsafe.Pointer) C.int) Return {
	f := s.find(name)
	if f == nil {
		return FunctionNotFound
	}
	return Return(run(f))
}

func (s *shared) close() { C.dlclose(s.so) }

func cdev(h handle) C.dev { return *(*C.dev)(unsafe.Pointer(&h)) }

func goHandle(d C.dev) handle { return handle(uintptr(d)) }

func (s *shared) call(name string) Return {
	return s.at(name, func(f unsafe.Pointer) C.int { return C.c_v(f) })
}

// textSize holds every text that NVML returns.
const textSize = 256

func (s *shared) text(name string) (string, Return) {
	var buf [textSize]C.char
	r := s.at(name, func(f unsafe.Pointer) C.int { return C.c_su(f, &buf[0], textSize) })
	return goText(buf[:]), r
}

// goText reads up to the zero byte, or all.
func goText(buf []C.char) string {
	out := make([]byte, 0, len(buf))
	for _, c := range buf {
		if c == 0 {
			break
		}
		out = append(out, byte(c))
	}
	return string(out)
}

func (s *shared) count(name string) (uint32, Return) {
	var u C.uint
	r := s.at(name, func(f unsafe.Pointer) C.int { return C.c_u(f, &u) })
	return uint32(u), r
}

func (s *shared) byIndex(name string, i uint32) (handle, Return) {
	var d C.dev
	r := s.at(name, func(f unsafe.Pointer) C.int { return C.c_iD(f, C.uint(i), &d) })
	return goHandle(d), r
}

func (s *shared) devText(name string, d handle) (string, Return) {
	var buf [textSize]C.char
	r := s.at(name, func(f unsafe.Pointer) C.int { return C.c_dsu(f, cdev(d), &buf[0], textSize) })
	return goText(buf[:]), r
}

func (s *shared) devUint(name string, d handle) (uint32, Return) {
	var u C.uint
	r := s.at(name, func(f unsafe.Pointer) C.int { return C.c_du(f, cdev(d), &u) })
	return uint32(u), r
}

func (s *shared) devUint2(name string, d handle) (uint32, uint32, Return) {
	var a, b C.uint
	r := s.at(name, func(f unsafe.Pointer) C.int { return C.c_duu(f, cdev(d), &a, &b) })
	return uint32(a), uint32(b), r
}

func (s *shared) devLink(name string, d handle, link uint32) (uint32, Return) {
	var u C.uint
	r := s.at(name, func(f unsafe.Pointer) C.int { return C.c_diu(f, cdev(d), C.uint(link), &u) })
	return uint32(u), r
}

func (s *shared) devPCI(name string, d handle, link int) (pciInfo, Return) {
	var p C.pciinfo
	r := s.at(name, func(f unsafe.Pointer) C.int {
		if link < 0 {
			return C.c_dp(f, cdev(d), &p)
		}
		return C.c_dip(f, cdev(d), C.uint(link), &p)
	})
	id := goText(p.busid[:])
	if id == "" {
		id = goText(p.legacy[:])
	}
	return pciInfo{BusID: id}, r
}

func (s *shared) devMemory(name string, d handle) (total, free, used uint64, r Return) {
	var m C.memory
	r = s.at(name, func(f unsafe.Pointer) C.int { return C.c_dm(f, cdev(d), &m) })
	return uint64(m.total), uint64(m.free), uint64(m.used), r
}

func (s *shared) devBits(name string, d handle, words, scope int) ([]uint64, Return) {
	var buf [cpuWords]C.ulong
	r := s.at(name, func(f unsafe.Pointer) C.int {
		if scope < 0 {
			return C.c_dnl(f, cdev(d), C.uint(words), &buf[0])
		}
		return C.c_dnls(f, cdev(d), C.uint(words), &buf[0], C.uint(scope))
	})
	if r != Success {
		return nil, r
	}
	out := make([]uint64, 0, words)
	for _, w := range buf[:words] {
		out = append(out, uint64(w))
	}
	return trim(out), r
}

func (s *shared) devPair(name string, a, b handle, kind int) (uint32, Return) {
	var u C.uint
	r := s.at(name, func(f unsafe.Pointer) C.int {
		if kind < 0 {
			return C.c_ddu(f, cdev(a), cdev(b), &u)
		}
		return C.c_ddiu(f, cdev(a), cdev(b), C.uint(kind), &u)
	})
	return uint32(u), r
}

func (s *shared) devChild(name string, d handle, i uint32) (handle, Return) {
	var c C.dev
	r := s.at(name, func(f unsafe.Pointer) C.int { return C.c_diD(f, cdev(d), C.uint(i), &c) })
	return goHandle(c), r
}

func (s *shared) devAttributes(name string, d handle) (attributes, Return) {
	var a C.attrs
	r := s.at(name, func(f unsafe.Pointer) C.int { return C.c_da(f, cdev(d), &a) })
	return attributes{uint32(a.gi_slices), uint32(a.ci_slices), uint64(a.mb)}, r
}

func (s *shared) devFabric(name string, d handle) (fabricInfo, Return) {
	var c C.fabric
	c.version = C.uint(unsafe.Sizeof(c)) | 2<<24
	r := s.at(name, func(f unsafe.Pointer) C.int { return C.c_df(f, cdev(d), &c) })
	out := fabricInfo{status: Return(c.status), clique: uint32(c.clique), state: uint8(c.state)}
	for i, b := range c.cluster {
		out.cluster[i] = byte(b)
	}
	return out, r
}

func (s *shared) devECC(name string, d handle, errType, counter int) (uint64, Return) {
	var u C.ull
	r := s.at(name, func(f unsafe.Pointer) C.int { return C.c_diiU(f, cdev(d), C.int(errType), C.int(counter), &u) })
	return uint64(u), r
}

func (s *shared) devRows(name string, d handle) (rows [4]uint32, r Return) {
	var u [4]C.uint
	r = s.at(name, func(f unsafe.Pointer) C.int { return C.c_duuuu(f, cdev(d), &u[0]) })
	for i := range u {
		rows[i] = uint32(u[i])
	}
	return rows, r
}

// maxClocks is above what any device lists.
const maxClocks = 1024

func (s *shared) devClocks(name string, d handle, memory uint32) ([]uint32, Return) {
	var buf [maxClocks]C.uint
	n := C.uint(maxClocks)
	r := s.at(name, func(f unsafe.Pointer) C.int {
		if memory == 0 {
			return C.c_duu(f, cdev(d), &n, &buf[0])
		}
		return C.c_diuu(f, cdev(d), C.uint(memory), &n, &buf[0])
	})
	if r != Success {
		return nil, r
	}
	var out []uint32
	for _, c := range buf[:min(n, maxClocks)] {
		out = append(out, uint32(c))
	}
	return out, r
}

func (s *shared) devSet(name string, d handle, lo, hi uint32) Return {
	return s.at(name, func(f unsafe.Pointer) C.int { return C.c_dii(f, cdev(d), C.uint(lo), C.uint(hi)) })
}

func (s *shared) devReset(name string, d handle) Return {
	return s.at(name, func(f unsafe.Pointer) C.int { return C.c_d(f, cdev(d)) })
}

func (s *shared) eventSet() (handle, Return) {
	var d C.dev
	r := s.at("nvmlEventSetCreate", func(f unsafe.Pointer) C.int { return C.c_D(f, &d) })
	return goHandle(d), r
}

func (s *shared) eventRegister(d handle, types uint64, set handle) Return {
	return s.at("nvmlDeviceRegisterEvents", func(f unsafe.Pointer) C.int { return C.c_dUd(f, cdev(d), C.ull(types), cdev(set)) })
}

func (s *shared) eventWait(set handle) (event, Return) {
	var e C.event
	r := s.at("nvmlEventSetWait_v2", func(f unsafe.Pointer) C.int { return C.c_den(f, cdev(set), &e, 0) })
	return event{goHandle(e.device), uint64(e._type), uint64(e.data)}, r
}

func (s *shared) eventFree(set handle) {
	s.at("nvmlEventSetFree", func(f unsafe.Pointer) C.int { return C.c_d(f, cdev(set)) })
}
