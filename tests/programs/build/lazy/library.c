// The library of the tests of `Link::Lazy`, in place of cuRAND.
#include <stdarg.h>

typedef struct {
    long a, b, c;
} Triple;

// Six arguments are in registers, the others on the stack. Each has another weight.
long curandSum(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l, long m,
               long n, long o, long p) {
    const long all[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p};
    long sum = 0;
    for (int at = 0; at < 16; at++)
        sum += (at + 1) * all[at];
    return sum;
}

// Integers and ten floating point numbers, of which two are on the stack.
double curandMixed(int a, double b, double c, float d, double e, long f, double g, double h, double i, double j, double k,
                   float l) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l;
}

// The caller passes the address of the result.
Triple curandTriple(long first) {
    Triple triple = {first, first + 1, first + 2};
    return triple;
}

// The number of vector registers is in `al`.
double curandVariadic(int count, ...) {
    va_list rest;
    va_start(rest, count);
    double sum = 0;
    for (int at = 0; at < count; at++)
        sum += va_arg(rest, double);
    va_end(rest);
    return sum;
}

double curandVector(const double *numbers, int count) {
    double sum = 0;
    for (int at = 0; at < count; at++)
        sum += numbers[at];
    return sum;
}

int curandCallback(int (*function)(int), int number) { return function(number); }

int curandCount(void) {
    static int count;
    return __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
}
