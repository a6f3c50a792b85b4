/* A stand-in for libnvidia-ml.so.1, loaded through LD_LIBRARY_PATH by an unmodified nvidia-ml-py.

   Its answers are lines "KEY VALUE" of the file that $GPUTOPO_NVML_STANDIN names; a key that is not there is
   NVML_ERROR_NOT_SUPPORTED. KEY is a word, then the numbers it depends on: "name.3", "level.0.1", "link.3.17".
   A line "do.FUNCTION[.INDEX] hang | crash | exit | N" makes that call (for that GPU) never end, die of SIGSEGV, end the
   process, or answer N.

   -DOLD_DRIVER leaves out what drivers before 510 or so do not export. Layouts and numbers: nvml.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9 };

typedef struct {
    char busIdLegacy[16];
    unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} Pci;

typedef struct {
    unsigned fieldId, scopeId;
    long long timestamp, latencyUsec;
    int valueType, nvmlReturn;
    union {
        double dVal;
        unsigned uiVal;
        unsigned long long ullVal;
    } value;
} FieldValue;

static char *answers;

static const char *find(const char *key) {
    static char value[512];
    size_t length = strlen(key);
    for (char *line = answers; line && *line;) {
        char *end = strchr(line, '\n');
        if (!strncmp(line, key, length) && line[length] == ' ') {
            size_t size = (end ? (size_t)(end - line) : strlen(line)) - length - 1;
            if (size >= sizeof value) size = sizeof value - 1;
            memcpy(value, line + length + 1, size);
            value[size] = 0;
            return value;
        }
        line = end ? end + 1 : NULL;
    }
    return NULL;
}

static const char *find1(const char *word, long a) {
    char key[128];
    snprintf(key, sizeof key, "%s.%ld", word, a);
    return find(key);
}

static const char *find2(const char *word, long a, long b) {
    char key[128];
    snprintf(key, sizeof key, "%s.%ld.%ld", word, a, b);
    return find(key);
}

/* What this call is told to do instead of answering. */
static int told(const char *function, long index) {
    char word[128];
    snprintf(word, sizeof word, "do.%s", function);
    const char *what = index < 0 ? NULL : find1(word, index);
    if (!what) what = find(word);
    if (!what) return OK;
    if (!strcmp(what, "hang")) for (;;) pause();
    if (!strcmp(what, "crash")) *(volatile int *)0 = 1;
    if (!strcmp(what, "exit")) _exit(3);
    return atoi(what);
}

#define GPU(handle) ((long)(handle) - 1)
#define FIRST(index) { int rc = told(__func__, index); if (rc) return rc; }

static int text(const char *value, char *out, unsigned size) {
    if (!value) return NOT_SUPPORTED;
    if (strlen(value) >= size) return INSUFFICIENT_SIZE;
    strcpy(out, value);
    return OK;
}

static int number(const char *value, unsigned *out) {
    if (!value) return NOT_SUPPORTED;
    *out = (unsigned)strtoul(value, NULL, 10);
    return OK;
}

/* Words of 64 bits, lowest first: "ffffffff 0 ff". */
static int words(const char *value, unsigned size, unsigned long *out) {
    if (!value) return NOT_SUPPORTED;
    memset(out, 0, size * sizeof *out);
    char *rest = (char *)value;
    for (unsigned place = 0; *rest; place++) {
        unsigned long word = strtoul(rest, &rest, 16);
        if (place < size) out[place] = word;
        else if (word) return INSUFFICIENT_SIZE;
    }
    return OK;
}

static int pci(const char *value, Pci *out) {
    if (!value) return NOT_SUPPORTED;
    memset(out, 0, sizeof *out);
    strncpy(out->busId, value, sizeof out->busId - 1);
    strncpy(out->busIdLegacy, value + 4, sizeof out->busIdLegacy - 1);
    sscanf(value, "%x:%x:%x", &out->domain, &out->bus, &out->device);
    return OK;
}

int nvmlInitWithFlags(unsigned flags) {
    const char *path = getenv("GPUTOPO_NVML_STANDIN");
    FILE *file = path ? fopen(path, "r") : NULL;
    (void)flags;
    if (!file) return DRIVER_NOT_LOADED;
    answers = calloc(1, 1 << 20);
    if (!fread(answers, 1, (1 << 20) - 1, file)) *answers = 0;
    fclose(file);
    puts("a library may print");
    FIRST(-1)
    return OK;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { FIRST(-1) return OK; }
const char *nvmlErrorString(int rc) { return rc == NOT_SUPPORTED ? "Not Supported" : "stand-in error"; }

int nvmlSystemGetDriverVersion(char *out, unsigned size) { FIRST(-1) return text(find("driver"), out, size); }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { FIRST(-1) return number(find("cuda"), (unsigned *)out); }
int nvmlDeviceGetCount_v2(unsigned *out) { FIRST(-1) return number(find("count"), out); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) {
    unsigned count = 0;
    FIRST((long)index)
    number(find("count"), &count);
    if (index >= count) return INVALID_ARGUMENT;
    *out = (void *)(long)(index + 1);
    return OK;
}

int nvmlDeviceGetUUID(void *gpu, char *out, unsigned size) { FIRST(GPU(gpu)) return text(find1("uuid", GPU(gpu)), out, size); }
int nvmlDeviceGetName(void *gpu, char *out, unsigned size) { FIRST(GPU(gpu)) return text(find1("name", GPU(gpu)), out, size); }
int nvmlDeviceGetPciInfo_v3(void *gpu, Pci *out) { FIRST(GPU(gpu)) return pci(find1("pci", GPU(gpu)), out); }
int nvmlDeviceGetMinorNumber(void *gpu, unsigned *out) { FIRST(GPU(gpu)) return number(find1("minor", GPU(gpu)), out); }
int nvmlDeviceGetMaxPcieLinkWidth(void *gpu, unsigned *out) { FIRST(GPU(gpu)) return number(find1("width", GPU(gpu)), out); }
int nvmlDeviceGetCurrPcieLinkWidth(void *gpu, unsigned *out) { FIRST(GPU(gpu)) return number(find1("width", GPU(gpu)), out); }
int nvmlDeviceGetP2PStatus(void *a, void *b, int kind, unsigned *out) {
    FIRST(GPU(a))
    (void)b;
    (void)kind;
    return number(find("p2p"), out);
}

/* Every link is active; its far end is a switch. */
int nvmlDeviceGetNvLinkState(void *gpu, unsigned link, unsigned *out) {
    FIRST(GPU(gpu))
    *out = 1;
    return find2("link", GPU(gpu), link) ? OK : INVALID_ARGUMENT;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *gpu, unsigned link, Pci *out) {
    FIRST(GPU(gpu))
    return pci(find2("link", GPU(gpu), link), out);
}

#ifndef OLD_DRIVER
int nvmlDeviceGetNvLinkRemoteDeviceType(void *gpu, unsigned link, unsigned *out) {
    FIRST(GPU(gpu))
    (void)link;
    *out = 2;
    return OK;
}
int nvmlDeviceGetTopologyCommonAncestor(void *a, void *b, unsigned *out) {
    FIRST(GPU(a))
    return number(find2("level", GPU(a), GPU(b)), out);
}
int nvmlDeviceGetCpuAffinityWithinScope(void *gpu, unsigned size, unsigned long *out, unsigned scope) {
    FIRST(GPU(gpu))
    (void)scope;
    return words(find1("cpus", GPU(gpu)), size, out);
}
int nvmlDeviceGetMemoryAffinity(void *gpu, unsigned size, unsigned long *out, unsigned scope) {
    FIRST(GPU(gpu))
    (void)scope;
    return words(find1("nodes", GPU(gpu)), size, out);
}
/* Field 91 is the number of links, 164 the speed of one in MB/s. */
int nvmlDeviceGetFieldValues(void *gpu, int count, FieldValue *values) {
    FIRST(GPU(gpu))
    for (int i = 0; i < count; i++) {
        const char *value = values[i].fieldId == 91 ? find1("links", GPU(gpu)) : values[i].fieldId == 164 ? find("speed") : NULL;
        values[i].valueType = 1;
        values[i].nvmlReturn = number(value, &values[i].value.uiVal);
    }
    return OK;
}

typedef struct {
    unsigned pid;
    unsigned long long usedGpuMemory;
    unsigned gpuInstanceId, computeInstanceId;
} Process;

/* "4711:1048576 4712:-1": process ids, with bytes or the driver's word for not known. The first call asks how many. */
static int processes(const char *value, unsigned *count, Process *out) {
    unsigned found = 0, room = *count;
    if (!value) return NOT_SUPPORTED;
    for (char *rest = (char *)value; *rest; found++) {
        unsigned pid = (unsigned)strtoul(rest, &rest, 10);
        unsigned long long bytes = *rest == ':' ? (unsigned long long)strtoll(rest + 1, &rest, 10) : 0;
        if (out && found < room) out[found] = (Process){pid, bytes, ~0u, ~0u};
        while (*rest == ' ') rest++;
    }
    *count = found;
    return found > room ? INSUFFICIENT_SIZE : OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *gpu, unsigned *count, Process *out) {
    FIRST(GPU(gpu))
    return processes(find1("processes", GPU(gpu)), count, out);
}
int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *gpu, unsigned *count, Process *out) {
    FIRST(GPU(gpu))
    return processes(find1("mps", GPU(gpu)), count, out);
}

/* MIG device I of GPU N has the number 1000 + 16 N + I in keys. */
int nvmlDeviceGetMigMode(void *gpu, unsigned *now, unsigned *next) {
    FIRST(GPU(gpu))
    *next = 1;
    return number(find1("mig", GPU(gpu)), now);
}
int nvmlDeviceGetMaxMigDeviceCount(void *gpu, unsigned *out) { FIRST(GPU(gpu)) *out = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *gpu, unsigned index, void **out) {
    long device = 1000 + 16 * GPU(gpu) + (long)index;
    FIRST(GPU(gpu))
    *out = (void *)(device + 1);
    return find1("uuid", device) ? OK : 6;
}
#endif
