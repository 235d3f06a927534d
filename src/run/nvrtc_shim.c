// Stands before NVRTC in somebody else's process, by LD_PRELOAD, and writes down what is compiled.
//
// A program reaches NVRTC in one of two ways. Linked to it, it finds our functions first. Where it opens the library
// itself, by name or path, our `dlopen` opens that too, and hands out ourselves. All functions go on to the real ones;
// nothing that the program sees changes, and where something cannot be written it is left.
//
// The format of a record is that of `record.rs`: a line "key length", then so many bytes and a line end.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef void *(*Open)(const char *, int);
// All parameters of NVRTC are pointers and integers, which registers hold: further ones do no harm.
typedef void *(*Any)(void *, void *, void *, void *, void *, void *);

typedef struct {
    char *bytes;
    size_t length;
    size_t capacity;
    int failed;
} Text;

typedef struct Program {
    void *handle;
    Text text;         // what is known before it is compiled
    uint64_t recorded; // hash of its record, 0 before
    struct Program *next;
} Program;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Program *programs;
static void *real_library;

static const char *records(void) { return getenv("CARGO_LMEM_NVRTC_RECORDS"); }

static Open real_open(void) {
    static Open open;
    if (!open) {
        open = (Open)dlsym(RTLD_NEXT, "dlopen");
    }
    return open;
}

static int is_nvrtc(const char *file) {
    const char *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file;
    return strncmp(name, "libnvrtc.so", strlen("libnvrtc.so")) == 0;
}

static void *open_toolkits(void) {
    const char *path = getenv("CARGO_LMEM_NVRTC");
    return path ? real_open()(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static void *open_nvrtc(const char *file, int flags) {
    void *library = real_open()(file, flags);
    if (!library && !strchr(file, '/')) {
        // The machine has none: that of the toolkit lets the program go on to its kernels.
        library = open_toolkits();
    }
    if (!library) {
        return NULL;
    }
    if (!real_library) {
        real_library = library;
    }
    Dl_info ourselves;
    void *shim = dladdr((void *)&is_nvrtc, &ourselves) ? real_open()(ourselves.dli_fname, RTLD_NOW) : NULL;
    return shim ? shim : library;
}

// A tail call, so that the loader still sees who asked: it looks for libraries beside that one.
EXPORT void *dlopen(const char *file, int flags) {
    Open open = real_open();
    if (file && records() && is_nvrtc(file)) {
        return open_nvrtc(file, flags);
    }
    return open(file, flags);
}

static Any real(const char *name) {
    void *found = real_library ? dlsym(real_library, name) : dlsym(RTLD_NEXT, name);
    if (!found && !real_library) {
        real_library = open_toolkits();
        found = real_library ? dlsym(real_library, name) : NULL;
    }
    return (Any)found;
}

static void append(Text *text, const char *bytes, size_t length) {
    if (text->failed) {
        return;
    }
    if (text->length + length > text->capacity) {
        size_t capacity = (text->length + length) * 2;
        char *grown = realloc(text->bytes, capacity);
        if (!grown) {
            text->failed = 1;
            return;
        }
        text->bytes = grown;
        text->capacity = capacity;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

static void put(Text *text, const char *key, const char *value) {
    char head[64];
    size_t length = value ? strlen(value) : 0;
    if (!value) {
        return;
    }
    append(text, head, (size_t)snprintf(head, sizeof head, "%s %zu\n", key, length));
    append(text, value, length);
    append(text, "\n", 1);
}

static Program *find(void *handle) {
    Program *program = programs;
    while (program && program->handle != handle) {
        program = program->next;
    }
    return program;
}

static void forget(void *handle) {
    for (Program **at = &programs; *at; at = &(*at)->next) {
        if ((*at)->handle == handle) {
            Program *gone = *at;
            *at = gone->next;
            free(gone->text.bytes);
            free(gone);
            return;
        }
    }
}

static uint64_t hash(const Text *text) {
    uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (size_t at = 0; at < text->length; ++at) {
        hash = (hash ^ (unsigned char)text->bytes[at]) * 0x100000001b3u;
    }
    return hash ? hash : 1;
}

static int path_of(char *path, size_t size, uint64_t name, const char *ending) {
    const char *folder = records();
    int length = folder ? snprintf(path, size, "%s/%016llx%s", folder, (unsigned long long)name, ending) : -1;
    return length > 0 && (size_t)length < size;
}

static void mark(uint64_t name, const char *ending) {
    char path[4096];
    if (name && path_of(path, sizeof path, name, ending)) {
        int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
        if (file >= 0) {
            close(file);
        }
    }
}

static uint64_t write_record(const Text *text) {
    char path[4096], unfinished[4096], ending[64];
    uint64_t name = hash(text);
    snprintf(ending, sizeof ending, ".%d.%zx", (int)getpid(), (size_t)pthread_self());
    if (text->failed || !path_of(path, sizeof path, name, ".nvrtc") || !path_of(unfinished, sizeof unfinished, name, ending)) {
        return 0;
    }
    if (access(path, F_OK) == 0) {
        return name;
    }
    int file = open(unfinished, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
        return 0;
    }
    size_t at = 0;
    while (at < text->length) {
        ssize_t written = write(file, text->bytes + at, text->length - at);
        if (written <= 0) {
            break;
        }
        at += (size_t)written;
    }
    close(file);
    if (at < text->length || rename(unfinished, path) != 0) {
        unlink(unfinished);
        return 0;
    }
    return name;
}

EXPORT int nvrtcCreateProgram(void **handle, const char *source, const char *name, int count, const char *const *headers,
                              const char *const *names) {
    Any next = real("nvrtcCreateProgram");
    if (!next) {
        return 11; // NVRTC_ERROR_INTERNAL_ERROR
    }
    int result = (int)(intptr_t)next(handle, (void *)source, (void *)name, (void *)(intptr_t)count, (void *)headers, (void *)names);
    Program *program = result == 0 && records() ? calloc(1, sizeof *program) : NULL;
    if (program) {
        program->handle = *handle;
        put(&program->text, "source", source);
        put(&program->text, "name", name);
        for (int at = 0; at < count && headers && names; ++at) {
            put(&program->text, "header-name", names[at]);
            put(&program->text, "header", headers[at]);
        }
        pthread_mutex_lock(&lock);
        forget(*handle);
        program->next = programs;
        programs = program;
        pthread_mutex_unlock(&lock);
    }
    return result;
}

EXPORT int nvrtcAddNameExpression(void *handle, const char *expression) {
    Any next = real("nvrtcAddNameExpression");
    pthread_mutex_lock(&lock);
    Program *program = find(handle);
    if (program) {
        put(&program->text, "expression", expression);
    }
    pthread_mutex_unlock(&lock);
    return next ? (int)(intptr_t)next(handle, (void *)expression, 0, 0, 0, 0) : 11;
}

static void record(void *handle, int count, const char *const *options) {
    char folder[4096], version[32];
    int major = 0, minor = 0;
    Any get_version = real("nvrtcVersion");
    if (get_version) {
        get_version(&major, &minor, 0, 0, 0, 0);
    }
    pthread_mutex_lock(&lock);
    Program *program = find(handle);
    if (program) {
        Text text = {0};
        append(&text, program->text.bytes, program->text.length);
        for (int at = 0; at < count && options; ++at) {
            put(&text, "option", options[at]);
        }
        put(&text, "folder", getcwd(folder, sizeof folder));
        snprintf(version, sizeof version, "%d.%d", major, minor);
        put(&text, "version", version);
        text.failed |= program->text.failed;
        program->recorded = write_record(&text);
        free(text.bytes);
    }
    pthread_mutex_unlock(&lock);
}

static void mark_program(void *handle, const char *ending) {
    pthread_mutex_lock(&lock);
    Program *program = find(handle);
    if (program) {
        mark(program->recorded, ending);
    }
    pthread_mutex_unlock(&lock);
}

EXPORT int nvrtcCompileProgram(void *handle, int count, const char *const *options) {
    Any next = real("nvrtcCompileProgram");
    if (!next) {
        return 11;
    }
    // Before: the compiler may not come back.
    record(handle, count, options);
    int result = (int)(intptr_t)next(handle, (void *)(intptr_t)count, (void *)options, 0, 0, 0);
    if (result != 0) {
        mark_program(handle, ".failed");
    }
    return result;
}

EXPORT int nvrtcGetCUBIN(void *handle, char *cubin) {
    Any next = real("nvrtcGetCUBIN");
    mark_program(handle, ".cubin");
    return next ? (int)(intptr_t)next(handle, cubin, 0, 0, 0, 0) : 11;
}

EXPORT int nvrtcDestroyProgram(void **handle) {
    Any next = real("nvrtcDestroyProgram");
    if (handle) {
        pthread_mutex_lock(&lock);
        forget(*handle);
        pthread_mutex_unlock(&lock);
    }
    return next ? (int)(intptr_t)next(handle, 0, 0, 0, 0, 0) : 11;
}

EXPORT const char *nvrtcGetErrorString(int result) {
    Any next = real("nvrtcGetErrorString");
    return next ? next((void *)(intptr_t)result, 0, 0, 0, 0, 0) : "NVRTC was not found";
}

// Functions that are of no interest; those of CUDA 11 to 13.5.
#define PASS(name)                                                                                                     \
    EXPORT int name(void *a, void *b, void *c, void *d, void *e, void *f) {                                            \
        Any next = real(#name);                                                                                        \
        return next ? (int)(intptr_t)next(a, b, c, d, e, f) : 11;                                                      \
    }
PASS(nvrtcVersion)
PASS(nvrtcGetNumSupportedArchs)
PASS(nvrtcGetSupportedArchs)
PASS(nvrtcGetPTXSize)
PASS(nvrtcGetPTX)
PASS(nvrtcGetCUBINSize)
PASS(nvrtcGetNVVMSize)
PASS(nvrtcGetNVVM)
PASS(nvrtcGetLTOIRSize)
PASS(nvrtcGetLTOIR)
PASS(nvrtcGetOptiXIRSize)
PASS(nvrtcGetOptiXIR)
PASS(nvrtcGetTileIRSize)
PASS(nvrtcGetTileIR)
PASS(nvrtcGetProgramLogSize)
PASS(nvrtcGetProgramLog)
PASS(nvrtcGetLoweredName)
PASS(nvrtcGetPCHHeapSize)
PASS(nvrtcSetPCHHeapSize)
PASS(nvrtcGetPCHCreateStatus)
PASS(nvrtcGetPCHHeapSizeRequired)
PASS(nvrtcSetFlowCallback)
PASS(nvrtcGetBundledHeadersInfo)
PASS(nvrtcInstallBundledHeaders)
PASS(nvrtcRemoveBundledHeaders)
