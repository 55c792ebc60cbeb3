/*
 * The engines that cuDNN offers for convolutions through its graph API:
 *
 *     engines                      lists the engines of the libcudnn.so.9 that the loader finds: JOB HEURISTIC PLACE
 *     engines JOB HEURISTIC PLACE  runs this engine
 *
 * For this engine, prints a line with the convolution, heuristic, engine, status of the plan, status of the run, count of
 * different numbers, largest error, largest error in units of (K + 2) u m, bytes of workspace, milliseconds to plan and to
 * run, numerical notes, and behavior notes. K is the number of products in a sum, m the sum of their magnitudes, and u half
 * the distance from 1 to the next single-precision number. A value above 1 is not strict single precision.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CONVOLUTION = 1, ENGINE, ENGINECFG, ENGINEHEUR, EXECUTION_PLAN, FORWARD = 10, FILTER, DATA, GRAPH = 15, PACK, TENSOR };
enum { T_HANDLE, T_DATA, T_INT64 = 3, T_FLOAT, T_POINTER = 6, T_MODE, T_HEUR, T_NOTE = 11, T_DESCRIPTOR = 15,
       T_BEHAVIOR = 19 };
enum { R = 3, MOST = 64 };

/* 3x3 filters with a padding of 1, in NHWC. The guard uses the second shape. */
static const struct shape { int n, c, h, w, k; } shapes[] = {{2, 32, 12, 14, 48}, {2, 8, 14, 14, 8}};
/* Sums of integers are exact in single precision. Fractions show how an engine rounds. */
static const struct job { const char *name; int type, operation; const struct shape *shape; int fractions; } jobs[] = {
    {"f32 forward", 0, FORWARD, &shapes[0], 0}, {"f16 forward", 2, FORWARD, &shapes[0], 0},
    {"bf16 forward", 9, FORWARD, &shapes[0], 0}, {"f32 data", 0, DATA, &shapes[0], 0},
    {"f16 data", 2, DATA, &shapes[0], 0}, {"bf16 data", 9, DATA, &shapes[0], 0},
    {"f32 filter", 0, FILTER, &shapes[0], 0}, {"f16 filter", 2, FILTER, &shapes[0], 0},
    {"bf16 filter", 9, FILTER, &shapes[0], 0}, {"f32 forward, the guard's shape", 0, FORWARD, &shapes[1], 0},
    {"f16 forward, the guard's shape", 2, FORWARD, &shapes[1], 0},
    {"f32 forward, the guard's shape, fractions", 0, FORWARD, &shapes[1], 1},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

typedef unsigned long long device;
static int (*create)(int, void **), (*finalize)(void *), (*run)(void *, void *, void *);
static int (*set)(void *, int, int, int64_t, const void *), (*get)(void *, int, int, int64_t, int64_t *, void *);
static int (*allocate)(device *, size_t), (*to_gpu)(device, const void *, size_t);
static int (*from_gpu)(void *, device, size_t), (*wait_gpu)(void);

static void *need(void *library, const char *name) {
    void *found = library == NULL ? NULL : dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "cannot find %s: %s\n", name, dlerror());
        exit(2);
    }
    return found;
}

static void must(int status, const char *what) {
    if (status != 0) {
        fprintf(stderr, "%s returned %d\n", what, status);
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

/* Encodes a small number in a format: 0 single, 2 half, 9 bfloat16. */
static uint32_t bits(int type, float number) {
    uint32_t single;
    memcpy(&single, &number, 4);
    if (type == 0)
        return single;
    if (type == 9)
        return single >> 16;
    return number == 0 ? 0 : ((single >> 16) & 0x8000) | ((((single >> 23) & 255) - 112) << 10) | ((single >> 13) & 1023);
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

static float number_at(const struct job *job, int which, size_t i) {
    static const int steps[] = {7, 5, 3}, kinds[] = {5, 3, 3}, middle[] = {2, 1, 1};
    float whole = (float)((int)(i * (size_t)steps[which] % (size_t)kinds[which]) - middle[which]);
    return job->fractions ? whole / 3 + (float)(i % 17) / 64 : whole;
}

static size_t count_of(const struct shape *of, int which) {
    size_t x = (size_t)of->n * of->h * of->w * of->c, w = (size_t)of->k * R * R * of->c;
    return which == 0 ? x : which == 1 ? w : x / of->c * of->k;
}

/* Returns which of x, w and y is the result. */
static int result_of(const struct job *job) { return job->operation == FORWARD ? 2 : job->operation == DATA ? 0 : 1; }

/* Computes the expected result in NHWC, with the sum of the magnitudes and the number of the products of each sum. */
static void reference(const struct job *job, double *sums, double *sizes, double *products) {
    const struct shape *of = job->shape;
    for (int n = 0; n < of->n; n++)
        for (int h = 0; h < of->h; h++)
            for (int w = 0; w < of->w; w++)
                for (int k = 0; k < of->k; k++)
                    for (int r = 0; r < R; r++)
                        for (int s = 0; s < R; s++) {
                            int i = h + r - 1, j = w + s - 1;
                            for (int c = 0; i >= 0 && j >= 0 && i < of->h && j < of->w && c < of->c; c++) {
                                size_t at[] = {((size_t)(n * of->h + i) * of->w + j) * of->c + c,
                                               ((size_t)(k * R + r) * R + s) * of->c + c,
                                               ((size_t)(n * of->h + h) * of->w + w) * of->k + k};
                                int result = result_of(job), one = result == 0 ? 2 : 0, other = result == 1 ? 2 : 1;
                                double product = (double)number_at(job, one, at[one]) * number_at(job, other, at[other]);
                                sums[at[result]] += product;
                                sizes[at[result]] += fabs(product);
                                products[at[result]] += 1;
                            }
                        }
}

static device filled(const struct job *job, int which, size_t size) {
    size_t count = count_of(job->shape, which);
    unsigned char *host = malloc(size * count);
    device memory;
    for (size_t i = 0; i < count; i++) {
        uint32_t word = bits(job->type, number_at(job, which, i));
        memcpy(host + i * size, &word, size);
    }
    if (result_of(job) == which)
        memset(host, 0xff, size * count);
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

static void try_engine(void *handle, void *config, const struct job *job, const char *by) {
    size_t size = job->type == 0 ? 4 : 2, all = count_of(job->shape, result_of(job));
    void *engine = node(ENGINE), *plan = node(EXECUTION_PLAN), *pack = node(PACK);
    int64_t count, index = -1, workspace = 0, ids[] = {1, 2, 3};
    must(get(config, 300, T_DESCRIPTOR, 1, &count, &engine), "the engine of a configuration");
    get(engine, 1301, T_INT64, 1, &count, &index);
    give(plan, 400, T_HANDLE, 1, &handle);
    give(plan, 401, T_DESCRIPTOR, 1, &config);
    double clock = now();
    int planned = finalize(plan), ran = -1;
    double to_plan = now() - clock, to_run = 0, worst = 0, bound = 0;
    double *sums = calloc(all, sizeof *sums), *sizes = calloc(all, sizeof *sizes), *products = calloc(all, sizeof *products);
    reference(job, sums, sizes, products);
    size_t differ = 0;
    if (planned == 0)
        get(plan, 402, T_INT64, 1, &count, &workspace);
    device room = 0;
    unsigned char *host = malloc(all * size);
    if (planned == 0 && (workspace == 0 || allocate(&room, (size_t)workspace) == 0)) {
        device data[] = {filled(job, 0, size), filled(job, 1, size), filled(job, 2, size)};
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
        must(from_gpu(host, data[result_of(job)], all * size), "cuMemcpyDtoH");
        for (size_t i = 0; ran == 0 && i < all; i++) {
            double error = fabs(value(job->type, host, i) - sums[i]);
            double part = error / ((products[i] + 2) * ldexp(1, -24) * (sizes[i] > 0 ? sizes[i] : 1));
            differ += !(error == 0);
            worst = error > worst || isnan(error) ? error : worst;
            bound = part > bound || isnan(part) ? part : bound;
        }
    }
    printf("%s\t%s\t%lld\t%d\t%d\t%zu\t%g\t%.2g\t%lld\t%.1f\t%.1f", job->name, by, (long long)index, planned, ran,
           differ, worst, bound, (long long)workspace, to_plan, to_run);
    notes(engine, 1303, T_NOTE);
    notes(engine, 1305, T_BEHAVIOR);
    printf("\n");
}

/* Creates the graph of a convolution. */
static void *graph_of(void *handle, const struct job *job) {
    const struct shape *of = job->shape;
    void *tensors[] = {tensor(job->type, 1, of->n, of->c, of->h, of->w), tensor(job->type, 2, of->k, of->c, R, R),
                       tensor(job->type, 3, of->n, of->k, of->h, of->w)};
    void *convolution = node(CONVOLUTION), *operation = node(job->operation), *graph = node(GRAPH);
    /* The attributes alpha, beta, convolution, x, w and y of each operation. */
    static const int forward[] = {700, 701, 702, 704, 703, 705}, data[] = {706, 707, 708, 710, 709, 711},
                     filter[] = {712, 713, 714, 716, 715, 717};
    const int *names = job->operation == FORWARD ? forward : job->operation == DATA ? data : filter;
    int64_t ones[] = {1, 1}, two = 2;
    int single = 0, cross = 1;
    float one = 1, zero = 0;
    give(convolution, 100, T_DATA, 1, &single);
    give(convolution, 101, T_MODE, 1, &cross);
    give(convolution, 106, T_INT64, 1, &two);
    for (int name = 102; name <= 105; name++)
        give(convolution, name, T_INT64, 2, ones);
    must(finalize(convolution), "cudnnBackendFinalize of a convolution");
    give(operation, names[2], T_DESCRIPTOR, 1, &convolution);
    for (int which = 0; which < 3; which++)
        give(operation, names[3 + which], T_DESCRIPTOR, 1, &tensors[which]);
    give(operation, names[0], T_FLOAT, 1, &one);
    give(operation, names[1], T_FLOAT, 1, &zero);
    must(finalize(operation), "cudnnBackendFinalize of an operation");
    give(graph, 800, T_HANDLE, 1, &handle);
    give(graph, 801, T_DESCRIPTOR, 1, &operation);
    must(finalize(graph), "cudnnBackendFinalize of a graph");
    return graph;
}

static const struct { int mode; const char *name; } heuristics[] = {{3, "A"}, {2, "fallback"}};

/* Gets the configurations that a heuristic offers. Returns their number. */
static int64_t offered(void *handle, const struct job *job, int which, void **configs) {
    void *heuristic = node(ENGINEHEUR), *graph = graph_of(handle, job);
    int64_t count = 0;
    give(heuristic, 201, T_DESCRIPTOR, 1, &graph);
    give(heuristic, 200, T_HEUR, 1, &heuristics[which].mode);
    if (finalize(heuristic) != 0)
        return 0;
    for (int at = 0; at < MOST; at++)
        configs[at] = node(ENGINECFG);
    must(get(heuristic, 202, T_DESCRIPTOR, MOST, &count, configs), "the results of a heuristic");
    return count < MOST ? count : MOST;
}

int main(int arguments, char **argument) {
    void *cudnn = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_GLOBAL), *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    create = need(cudnn, "cudnnBackendCreateDescriptor");
    finalize = need(cudnn, "cudnnBackendFinalize");
    run = need(cudnn, "cudnnBackendExecute");
    set = need(cudnn, "cudnnBackendSetAttribute");
    get = need(cudnn, "cudnnBackendGetAttribute");
    allocate = need(cuda, "cuMemAlloc_v2");
    to_gpu = need(cuda, "cuMemcpyHtoD_v2");
    from_gpu = need(cuda, "cuMemcpyDtoH_v2");
    wait_gpu = need(cuda, "cuCtxSynchronize");
    int (*start)(unsigned) = need(cuda, "cuInit"), (*first)(int *, int) = need(cuda, "cuDeviceGet");
    int (*retain)(void **, int) = need(cuda, "cuDevicePrimaryCtxRetain"), (*use)(void *) = need(cuda, "cuCtxPushCurrent_v2");
    int (*handle_of)(void **) = need(cudnn, "cudnnCreate"), gpu = 0;
    void *context = NULL, *handle = NULL, *configs[MOST];
    must(start(0), "cuInit");
    must(first(&gpu, 0), "cuDeviceGet");
    must(retain(&context, gpu), "cuDevicePrimaryCtxRetain");
    must(use(context), "cuCtxPushCurrent");
    must(handle_of(&handle), "cudnnCreate");
    if (arguments == 4) {
        int job = atoi(argument[1]), which = atoi(argument[2]), place = atoi(argument[3]);
        if (job < 0 || job >= JOBS || which < 0 || which > 1 || place < 0 ||
            place >= offered(handle, &jobs[job], which, configs))
            return 2;
        try_engine(handle, configs[place], &jobs[job], heuristics[which].name);
        return 0;
    }
    for (int job = 0; job < JOBS; job++)
        for (int which = 0; which < 2; which++) {
            int64_t count = offered(handle, &jobs[job], which, configs);
            for (int64_t place = 0; place < count; place++)
                printf("%d %d %d\n", job, which, (int)place);
        }
    return 0;
}
