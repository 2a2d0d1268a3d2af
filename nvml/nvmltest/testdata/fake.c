// A fake of NVIDIA's management library for tests: nvmlInit_v2 reads machines
// from the file that BERTH_FAKE_NVML names. Compiled with -DOLD it lacks the
// symbols that older drivers lack.
//
// Lines of the file (# begins a comment):
//   driver TEXT | nvml TEXT | init CODE
//   gpu                       begins the next device; all below are about it
//   name TEXT | uuid TEXT | bus TEXT | minor N | memory BYTES
//   cpus HEXWORD …            lowest first; "cpus error CODE"
//   nodes HEXWORD
//   lost CODE                 the handle cannot be had
//   link N gpu BUS | link N switch BUS | link N off | link N error CODE
//   nolink CODE               every lane answers CODE
//   mig CURRENT PENDING MAX
//   instance I GI CI GISLICES CISLICES MB UUID NAME
//   near J LEVEL | p2p J STATUS
//   fabric STATE CLIQUE | ecc N | pages N | rows A B C D | xid N
//   clocks MEM GFX …          a memory clock with its graphics clocks
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAXGPU 16
#define MAXLINK 18
#define MAXMIG 8
enum { OK, UNINIT, INVALID, UNSUPPORTED, NOPERM, ALREADY, NOTFOUND, SMALL };

typedef unsigned long long ull;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char busid[32]; } pciinfo;
typedef struct { int kind; char bus[32]; int err; } link_t; // kind 0 none, 1 gpu, 2 switch, 3 off, 4 error
typedef struct mig { int used, gi, ci, gis, cis; ull mb; char uuid[80], name[96]; } mig_t;
typedef struct gpu {
	char name[96], uuid[80], bus[32];
	int minor, cpuerr, lost, nolink, migcur, migpend, migmax, fstate, pages;
	ull memory, cpus[8], nodes, ecc, xid;
	unsigned rows[4], clique;
	link_t link[MAXLINK];
	mig_t mig[MAXMIG];
	int near[MAXGPU], p2p[MAXGPU];
	unsigned mem[8], gfx[8][16], nmem, ngfx[8];
} gpu;

static gpu all[MAXGPU];
static int n, up;
static char driver[64], version[64];
static int locked[2];

static int load(void) {
	char line[512], word[32], a[96], b[96];
	const char *path = getenv("BERTH_FAKE_NVML");
	FILE *f = path ? fopen(path, "r") : NULL;
	int code = OK;
	memset(all, 0, sizeof all);
	n = 0;
	strcpy(driver, "550.54.15");
	strcpy(version, "12.550.54.15");
	if (!f) return OK;
	while (fgets(line, sizeof line, f)) {
		char *rest;
		int at = 0, i, c;
		gpu *g = n ? &all[n - 1] : NULL;
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%31s%n", word, &at) != 1 || word[0] == '#') continue;
		rest = line + at;
		while (*rest == ' ') rest++;
		if (!strcmp(word, "driver")) snprintf(driver, sizeof driver, "%s", rest);
		else if (!strcmp(word, "nvml")) snprintf(version, sizeof version, "%s", rest);
		else if (!strcmp(word, "init")) code = atoi(rest);
		else if (!strcmp(word, "gpu") && n < MAXGPU) {
			g = &all[n++];
			g->minor = -1;
			g->cpuerr = UNSUPPORTED;
			g->nolink = -1;
			for (i = 0; i < MAXGPU; i++) g->near[i] = g->p2p[i] = -1;
		} else if (!g) continue;
		else if (!strcmp(word, "name")) snprintf(g->name, sizeof g->name, "%s", rest);
		else if (!strcmp(word, "uuid")) snprintf(g->uuid, sizeof g->uuid, "%s", rest);
		else if (!strcmp(word, "bus")) snprintf(g->bus, sizeof g->bus, "%s", rest);
		else if (!strcmp(word, "minor")) g->minor = atoi(rest);
		else if (!strcmp(word, "memory")) g->memory = strtoull(rest, NULL, 10);
		else if (!strcmp(word, "cpus")) {
			if (sscanf(rest, "error %d", &g->cpuerr) == 1) continue;
			g->cpuerr = OK;
			for (i = 0; i < 8 && *rest; i++) g->cpus[i] = strtoull(rest, &rest, 16);
		} else if (!strcmp(word, "nodes")) g->nodes = strtoull(rest, NULL, 16);
		else if (!strcmp(word, "lost")) g->lost = atoi(rest);
		else if (!strcmp(word, "nolink")) g->nolink = atoi(rest);
		else if (!strcmp(word, "link")) {
			b[0] = 0;
			if (sscanf(rest, "%d %95s %95s", &i, a, b) < 2 || i < 0 || i >= MAXLINK) continue;
			g->link[i].kind = !strcmp(a, "gpu") ? 1 : !strcmp(a, "switch") ? 2 : !strcmp(a, "off") ? 3 : 4;
			g->link[i].err = atoi(b);
			snprintf(g->link[i].bus, sizeof g->link[i].bus, "%.31s", b);
		} else if (!strcmp(word, "mig")) sscanf(rest, "%d %d %d", &g->migcur, &g->migpend, &g->migmax);
		else if (!strcmp(word, "instance")) {
			mig_t m;
			memset(&m, 0, sizeof m);
			m.used = 1;
			if (sscanf(rest, "%d %d %d %d %d %llu %79s %95[^\n]", &i, &m.gi, &m.ci, &m.gis, &m.cis, &m.mb, m.uuid, m.name) >= 7 && i >= 0 && i < MAXMIG)
				g->mig[i] = m;
		} else if (!strcmp(word, "near")) { if (sscanf(rest, "%d %d", &i, &c) == 2 && i >= 0 && i < MAXGPU) g->near[i] = c; }
		else if (!strcmp(word, "p2p")) { if (sscanf(rest, "%d %d", &i, &c) == 2 && i >= 0 && i < MAXGPU) g->p2p[i] = c; }
		else if (!strcmp(word, "fabric")) sscanf(rest, "%d %u", &g->fstate, &g->clique);
		else if (!strcmp(word, "ecc")) g->ecc = strtoull(rest, NULL, 10);
		else if (!strcmp(word, "pages")) g->pages = atoi(rest);
		else if (!strcmp(word, "rows")) sscanf(rest, "%u %u %u %u", &g->rows[0], &g->rows[1], &g->rows[2], &g->rows[3]);
		else if (!strcmp(word, "xid")) g->xid = strtoull(rest, NULL, 10);
		else if (!strcmp(word, "clocks") && g->nmem < 8) {
			unsigned k = g->nmem++;
			g->mem[k] = strtoul(rest, &rest, 10);
			while (*rest && g->ngfx[k] < 16) g->gfx[k][g->ngfx[k]++] = strtoul(rest, &rest, 10);
		}
	}
	fclose(f);
	return code;
}

static gpu *of(void *d) { return (gpu *)d >= all && (gpu *)d < all + MAXGPU ? d : NULL; }
static mig_t *mof(void *d) { return of(d) ? NULL : (mig_t *)d; }
static int put(char *s, unsigned size, const char *v) { if (strlen(v) >= size) return SMALL; strcpy(s, v); return OK; }
static void pci(pciinfo *p, const char *bus) { memset(p, 0, sizeof *p); snprintf(p->busid, sizeof p->busid, "%s", bus); snprintf(p->legacy, sizeof p->legacy, "%.15s", strlen(bus) == 16 ? bus + 4 : bus); }

int nvmlInit_v2(void) { int r = load(); if (r == OK) up++; return r; }
int nvmlShutdown(void) { if (!up) return UNINIT; up--; return OK; }
int fakeUp(void) { return up; }
int nvmlSystemGetDriverVersion(char *s, unsigned size) { return put(s, size, driver); }
int nvmlSystemGetNVMLVersion(char *s, unsigned size) { return put(s, size, version); }
int nvmlDeviceGetCount_v2(unsigned *u) { if (!up) return UNINIT; *u = n; return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { if (i >= (unsigned)n) return INVALID; if (all[i].lost) return all[i].lost; *d = &all[i]; return OK; }
int nvmlDeviceGetName(void *d, char *s, unsigned size) { return put(s, size, of(d) ? of(d)->name : mof(d)->name); }
int nvmlDeviceGetUUID(void *d, char *s, unsigned size) { return put(s, size, of(d) ? of(d)->uuid : mof(d)->uuid); }
int nvmlDeviceGetMinorNumber(void *d, unsigned *u) { if (of(d)->minor < 0) return UNSUPPORTED; *u = of(d)->minor; return OK; }
int nvmlDeviceGetMemoryInfo(void *d, ull *m) { m[0] = of(d)->memory; m[1] = m[0]; m[2] = 0; return OK; }
int nvmlDeviceGetCudaComputeCapability(void *d, int *a, int *b) { (void)d; *a = 9; *b = 0; return OK; }
int nvmlDeviceGetCpuAffinity(void *d, unsigned size, unsigned long *w) {
	if (of(d)->cpuerr) return of(d)->cpuerr;
	for (unsigned i = 0; i < size; i++) w[i] = i < 8 ? of(d)->cpus[i] : 0;
	return OK;
}
int nvmlDeviceGetNvLinkState(void *d, unsigned i, unsigned *u) {
	gpu *g = of(d);
	if (g->nolink >= 0) return g->nolink;
	if (i >= MAXLINK || g->link[i].kind == 0) return INVALID;
	if (g->link[i].kind == 4) return g->link[i].err;
	*u = g->link[i].kind != 3;
	return OK;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *d, unsigned i, pciinfo *p) { if (i >= MAXLINK) return INVALID; pci(p, of(d)->link[i].bus); return OK; }
int nvmlDeviceGetTopologyCommonAncestor(void *a, void *b, unsigned *u) { int v = of(a)->near[of(b) - all]; if (v < 0) return UNSUPPORTED; *u = v; return OK; }
#ifndef OLD
int nvmlDeviceGetPciInfo_v3(void *d, pciinfo *p) { pci(p, of(d)->bus); return OK; }
int nvmlDeviceGetArchitecture(void *d, unsigned *u) { (void)d; *u = 9; return OK; }
int nvmlDeviceGetMemoryAffinity(void *d, unsigned size, unsigned long *w, unsigned scope) { (void)scope; for (unsigned i = 0; i < size; i++) w[i] = i ? 0 : of(d)->nodes; return OK; }
int nvmlDeviceGetNvLinkRemoteDeviceType(void *d, unsigned i, unsigned *u) { if (i >= MAXLINK) return INVALID; *u = of(d)->link[i].kind == 2 ? 2 : 0; return OK; }
int nvmlDeviceGetP2PStatus(void *a, void *b, unsigned what, unsigned *u) { int v = of(a)->p2p[of(b) - all]; (void)what; if (v < 0) return UNSUPPORTED; *u = v; return OK; }
int nvmlDeviceGetGpuFabricInfoV(void *d, char *p) {
	unsigned want = 36 | 2u << 24, version;
	memcpy(&version, p, 4);
	if (version != want) return 25; // argument version mismatch
	for (int i = 0; i < 16; i++) p[4 + i] = i;
	memset(p + 20, 0, 4);
	memcpy(p + 24, &of(d)->clique, 4);
	p[28] = of(d)->fstate;
	return OK;
}
int nvmlDeviceGetMigMode(void *d, unsigned *a, unsigned *b) { if (!of(d)->migmax) return UNSUPPORTED; *a = of(d)->migcur; *b = of(d)->migpend; return OK; }
int nvmlDeviceGetMaxMigDeviceCount(void *d, unsigned *u) { *u = of(d)->migmax; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *d, unsigned i, void **c) { if (i >= MAXMIG || !of(d)->mig[i].used) return NOTFOUND; *c = malloc(sizeof(mig_t)); memcpy(*c, &of(d)->mig[i], sizeof(mig_t)); return OK; }
int nvmlDeviceGetGpuInstanceId(void *d, unsigned *u) { *u = mof(d)->gi; return OK; }
int nvmlDeviceGetComputeInstanceId(void *d, unsigned *u) { *u = mof(d)->ci; return OK; }
int nvmlDeviceGetAttributes_v2(void *d, unsigned *a) { memset(a, 0, 40); a[6] = mof(d)->gis; a[7] = mof(d)->cis; memcpy(a + 8, &mof(d)->mb, 8); return OK; }
int nvmlDeviceGetRemappedRows(void *d, unsigned *a, unsigned *b, unsigned *c, unsigned *e) { unsigned *r = of(d)->rows; *a = r[0]; *b = r[1]; *c = r[2]; *e = r[3]; return OK; }
static int lock(int k, unsigned lo, unsigned hi) { if (lo != hi) return INVALID; locked[k] = lo; return OK; }
int nvmlDeviceSetMemoryLockedClocks(void *d, unsigned lo, unsigned hi) { (void)d; return lock(0, lo, hi); }
int nvmlDeviceSetGpuLockedClocks(void *d, unsigned lo, unsigned hi) { (void)d; return lock(1, lo, hi); }
int nvmlDeviceResetMemoryLockedClocks(void *d) { (void)d; return lock(0, 0, 0); }
int nvmlDeviceResetGpuLockedClocks(void *d) { (void)d; return lock(1, 0, 0); }
static int waiting;
int nvmlEventSetCreate(void **s) { *s = &waiting; waiting = 0; return OK; }
int nvmlDeviceRegisterEvents(void *d, ull types, void *s) { (void)d; (void)s; return types == 8 ? OK : INVALID; }
int nvmlEventSetWait_v2(void *s, void **e, unsigned ms) {
	(void)s; (void)ms;
	for (; waiting < n; waiting++)
		if (all[waiting].xid) { e[0] = &all[waiting]; ((ull *)e)[1] = 8; ((ull *)e)[2] = all[waiting].xid; waiting++; return OK; }
	return 10; // timeout
}
int nvmlEventSetFree(void *s) { (void)s; return OK; }
#else
int nvmlDeviceGetPciInfo_v2(void *d, pciinfo *p) { pci(p, of(d)->bus); p->busid[0] = 0; return OK; }
int nvmlDeviceSetApplicationsClocks(void *d, unsigned mem, unsigned gfx) { (void)d; locked[0] = mem; locked[1] = gfx; return OK; }
int nvmlDeviceResetApplicationsClocks(void *d) { (void)d; locked[0] = locked[1] = 0; return OK; }
#endif
int nvmlDeviceGetTotalEccErrors(void *d, int type, int counter, ull *u) { if (type != 1 || counter != 0) return INVALID; *u = of(d)->ecc; return OK; }
int nvmlDeviceGetRetiredPagesPendingStatus(void *d, unsigned *u) { *u = of(d)->pages; return OK; }
int nvmlDeviceGetSupportedMemoryClocks(void *d, unsigned *c, unsigned *out) {
	gpu *g = of(d);
	if (!g->nmem) return UNSUPPORTED;
	if (*c < g->nmem) { *c = g->nmem; return SMALL; }
	*c = g->nmem;
	memcpy(out, g->mem, 4 * g->nmem);
	return OK;
}
int nvmlDeviceGetSupportedGraphicsClocks(void *d, unsigned mem, unsigned *c, unsigned *out) {
	gpu *g = of(d);
	for (unsigned k = 0; k < g->nmem; k++)
		if (g->mem[k] == mem) { *c = g->ngfx[k]; memcpy(out, g->gfx[k], 4 * g->ngfx[k]); return OK; }
	return NOTFOUND;
}
int fakeLocked(unsigned k) { return locked[k]; }
