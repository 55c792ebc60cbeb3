/*
 * Every engine that cuDNN offers for a convolution, forced one by one:
 *
 *     engines          of libcudnn.so.9, as the loader finds it
 *
 * A line for each: format, heuristic, engine, status of the plan, status of the run, numbers that differ, largest
 * error, bytes of workspace, milliseconds to plan and to run, numerical notes, behaviour notes. x is 2x32x12x14, the
 * filter 48x32x3x3, padded by 1; whole numbers, of which every sum is exact in single precision.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CONVOLUTION = 1, ENGINE, ENGINECFG, ENGINEHEUR, EXECUTION_PLAN, FORWARD = 10, GRAPH = 15, PACK, TENSOR };
enum { T_HANDLE, T_DATA, T_INT64 = 3, T_FLOAT, T_POINTER = 6, T_MODE, T_HEUR, T_NOTE = 11, T_BEHAVIOUR = 14,
       T_DESCRIPTOR = 15 };
enum { N = 2, C = 32, H = 12, W = 14, K = 48, R = 3, MOST = 64 };
enum { X = N * C * H * W, F = K * C * R * R, Y = N * K * H * W };

typedef unsigned long long device;
static int (*create)(int, void **), (*destroy)(void *), (*finalize)(void *), (*run)(void *, void *, void *);
static int (*set)(void *, int, int, int64_t, const void *), (*get)(void *, int, int, int64_t, int64_t *, void *);
static int (*allocate)(device *, size_t), (*release)(device), (*to_gpu)(device, const void *, size_t);
static int (*from_gpu)(void *, device, size_t), (*wait_gpu)(void);

static void *need(void *library, const char *name) {
    void *found = library == NULL ? NULL : dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "%s is not there: %s\n", name, dlerror());
        exit(2);
    }
    return found;
}

static void must(int status, const char *what) {
    if (status != 0) {
        fprintf(stderr, "%s answers %d\n", what, status);
        exit(1);
    }
}

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1e3 + at.tv_nsec / 1e6;
}

static void *node(int sort) {
    void *made = NULL;
    must(create(sort, &made), "cudnnBackendCreateDescriptor");
    return made;
}

static void give(void *to, int name, int type, int64_t count, const void *values) {
    must(set(to, name, type, count, values), "cudnnBackendSetAttribute");
}

static void *tensor(int type, int64_t id, int64_t a, int64_t b, int64_t c, int64_t d) {
    void *made = node(TENSOR);
    int64_t dims[] = {a, b, c, d}, strides[] = {b * c * d, 1, b * d, b}, alignment = 16;
    give(made, 901, T_DATA, 1, &type);
    give(made, 902, T_INT64, 4, dims);
    give(made, 903, T_INT64, 4, strides);
    give(made, 906, T_INT64, 1, &id);
    give(made, 900, T_INT64, 1, &alignment);
    must(finalize(made), "cudnnBackendFinalize of a tensor");
    return made;
}

/* Small whole numbers in bits of the format: 0 single, 2 half, 9 bfloat16. */
static uint32_t bits(int type, int value) {
    float number = (float)value;
    uint32_t single;
    memcpy(&single, &number, 4);
    if (type == 0)
        return single;
    if (type == 9)
        return single >> 16;
    return value == 0 ? 0 : ((single >> 16) & 0x8000) | ((((single >> 23) & 255) - 112) << 10) | ((single >> 13) & 1023);
}

static double value(int type, const unsigned char *from, size_t at) {
    uint32_t single;
    float number;
    if (type == 0) {
        memcpy(&number, from + 4 * at, 4);
        return number;
    }
    uint16_t half;
    memcpy(&half, from + 2 * at, 2);
    if (type == 2) {
        int exponent = (half >> 10) & 31;
        double part = exponent == 0 ? ldexp(half & 1023, -24) : exponent == 31 ? NAN : ldexp(1024 + (half & 1023), exponent - 25);
        return half & 0x8000 ? -part : part;
    }
    single = (uint32_t)half << 16;
    memcpy(&number, &single, 4);
    return number;
}

static int x_at(size_t i) { return (int)(i * 7 % 5) - 2; }
static int w_at(size_t i) { return (int)(i * 5 % 3) - 1; }

/* What must come out, NHWC. */
static void reference(double *y) {
    for (int n = 0; n < N; n++)
        for (int h = 0; h < H; h++)
            for (int w = 0; w < W; w++)
                for (int k = 0; k < K; k++) {
                    double sum = 0;
                    for (int r = 0; r < R; r++)
                        for (int s = 0; s < R; s++) {
                            int i = h + r - 1, j = w + s - 1;
                            if (i < 0 || j < 0 || i >= H || j >= W)
                                continue;
                            for (int c = 0; c < C; c++)
                                sum += x_at(((size_t)(n * H + i) * W + j) * C + c) *
                                       w_at(((size_t)(k * R + r) * R + s) * C + c);
                        }
                    y[((n * H + h) * W + w) * K + k] = sum;
                }
}

static device filled(int type, size_t size, size_t count, int (*number)(size_t)) {
    unsigned char *host = malloc(size * count);
    device memory;
    for (size_t i = 0; i < count; i++) {
        uint32_t word = bits(type, number(i));
        memcpy(host + i * size, &word, size);
    }
    must(allocate(&memory, size * count), "cuMemAlloc");
    must(to_gpu(memory, host, size * count), "cuMemcpyHtoD");
    free(host);
    return memory;
}

static void notes(void *engine, int name, int type) {
    int words[32];
    int64_t count = 0;
    if (get(engine, name, type, 32, &count, words) != 0)
        count = 0;
    printf("\t");
    for (int64_t i = 0; i < count; i++)
        printf(i == 0 ? "%d" : " %d", words[i]);
}

static void try_engine(void *handle, void *config, int type, const char *by, device x, device w, const double *expected) {
    size_t size = type == 0 ? 4 : 2;
    void *engine = node(ENGINE), *plan = node(EXECUTION_PLAN), *pack = node(PACK);
    int64_t count, index = -1, workspace = 0, ids[] = {1, 2, 3};
    must(get(config, 300, T_DESCRIPTOR, 1, &count, &engine), "the engine of a configuration");
    get(engine, 1301, T_INT64, 1, &count, &index);
    give(plan, 400, T_HANDLE, 1, &handle);
    give(plan, 401, T_DESCRIPTOR, 1, &config);
    double clock = now();
    int planned = finalize(plan), ran = -1;
    double to_plan = now() - clock, to_run = 0, worst = 0;
    size_t differ = 0;
    if (planned == 0)
        get(plan, 402, T_INT64, 1, &count, &workspace);
    device y = 0, room = 0;
    unsigned char *host = malloc(Y * size);
    memset(host, 0xff, Y * size);
    if (planned == 0 && allocate(&y, Y * size) == 0 && to_gpu(y, host, Y * size) == 0 &&
        (workspace == 0 || allocate(&room, (size_t)workspace) == 0)) {
        device data[] = {x, w, y};
        give(pack, 1000, T_INT64, 3, ids);
        give(pack, 1001, T_POINTER, 3, data);
        give(pack, 1003, T_POINTER, 1, &room);
        must(finalize(pack), "cudnnBackendFinalize of a variant pack");
        clock = now();
        ran = run(handle, plan, pack);
        int waited = wait_gpu();
        to_run = now() - clock;
        if (ran == 0 && waited != 0)
            ran = -waited;
        must(from_gpu(host, y, Y * size), "cuMemcpyDtoH");
        for (size_t i = 0; ran == 0 && i < Y; i++) {
            double error = fabs(value(type, host, i) - expected[i]);
            differ += !(error == 0);
            worst = error > worst || isnan(error) ? error : worst;
        }
    }
    printf("%s\t%s\t%lld\t%d\t%d\t%zu\t%g\t%lld\t%.1f\t%.1f", type == 0 ? "f32" : type == 2 ? "f16" : "bf16", by,
           (long long)index, planned, ran, differ, worst, (long long)workspace, to_plan, to_run);
    notes(engine, 1303, T_NOTE);
    notes(engine, 1305, T_BEHAVIOUR);
    printf("\n");
    fflush(stdout);
    if (y != 0)
        release(y);
    if (room != 0)
        release(room);
    free(host);
    destroy(pack);
    destroy(plan);
    destroy(engine);
}

static void format(void *handle, int type, const double *expected) {
    static const struct { int mode; const char *name; } heuristics[] = {{3, "A"}, {2, "fallback"}};
    size_t size = type == 0 ? 4 : 2;
    device x = filled(type, size, X, x_at), w = filled(type, size, F, w_at);
    void *tensors[] = {tensor(type, 1, N, C, H, W), tensor(type, 2, K, C, R, R), tensor(type, 3, N, K, H, W)};
    void *convolution = node(CONVOLUTION), *operation = node(FORWARD), *graph = node(GRAPH);
    int64_t ones[] = {1, 1}, two = 2;
    int single = 0, cross = 1;
    float one = 1, zero = 0;
    give(convolution, 100, T_DATA, 1, &single);
    give(convolution, 101, T_MODE, 1, &cross);
    give(convolution, 106, T_INT64, 1, &two);
    for (int name = 102; name <= 105; name++)
        give(convolution, name, T_INT64, 2, ones);
    must(finalize(convolution), "cudnnBackendFinalize of a convolution");
    give(operation, 702, T_DESCRIPTOR, 1, &convolution);
    give(operation, 704, T_DESCRIPTOR, 1, &tensors[0]);
    give(operation, 703, T_DESCRIPTOR, 1, &tensors[1]);
    give(operation, 705, T_DESCRIPTOR, 1, &tensors[2]);
    give(operation, 700, T_FLOAT, 1, &one);
    give(operation, 701, T_FLOAT, 1, &zero);
    must(finalize(operation), "cudnnBackendFinalize of an operation");
    give(graph, 800, T_HANDLE, 1, &handle);
    give(graph, 801, T_DESCRIPTOR, 1, &operation);
    must(finalize(graph), "cudnnBackendFinalize of a graph");
    for (size_t i = 0; i < 2; i++) {
        void *heuristic = node(ENGINEHEUR), *configs[MOST];
        int64_t count = 0;
        give(heuristic, 201, T_DESCRIPTOR, 1, &graph);
        give(heuristic, 200, T_HEUR, 1, &heuristics[i].mode);
        if (finalize(heuristic) == 0) {
            for (int at = 0; at < MOST; at++)
                configs[at] = node(ENGINECFG);
            must(get(heuristic, 202, T_DESCRIPTOR, MOST, &count, configs), "the results of a heuristic");
        }
        for (int64_t at = 0; at < count && at < MOST; at++)
            try_engine(handle, configs[at], type, heuristics[i].name, x, w, expected);
        destroy(heuristic);
    }
    release(x);
    release(w);
}

int main(void) {
    void *cudnn = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_GLOBAL), *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    create = need(cudnn, "cudnnBackendCreateDescriptor");
    destroy = need(cudnn, "cudnnBackendDestroyDescriptor");
    finalize = need(cudnn, "cudnnBackendFinalize");
    run = need(cudnn, "cudnnBackendExecute");
    set = need(cudnn, "cudnnBackendSetAttribute");
    get = need(cudnn, "cudnnBackendGetAttribute");
    allocate = need(cuda, "cuMemAlloc_v2");
    release = need(cuda, "cuMemFree_v2");
    to_gpu = need(cuda, "cuMemcpyHtoD_v2");
    from_gpu = need(cuda, "cuMemcpyDtoH_v2");
    wait_gpu = need(cuda, "cuCtxSynchronize");
    int (*start)(unsigned) = need(cuda, "cuInit"), (*first)(int *, int) = need(cuda, "cuDeviceGet");
    int (*retain)(void **, int) = need(cuda, "cuDevicePrimaryCtxRetain"), (*use)(void *) = need(cuda, "cuCtxPushCurrent_v2");
    int (*handle_of)(void **) = need(cudnn, "cudnnCreate"), gpu = 0;
    void *context = NULL, *handle = NULL;
    must(start(0), "cuInit");
    must(first(&gpu, 0), "cuDeviceGet");
    must(retain(&context, gpu), "cuDevicePrimaryCtxRetain");
    must(use(context), "cuCtxPushCurrent");
    must(handle_of(&handle), "cudnnCreate");
    double *expected = malloc(Y * sizeof *expected);
    reference(expected);
    format(handle, 0, expected);
    format(handle, 2, expected);
    format(handle, 9, expected);
    return 0;
}
