// Computes what main.go computes, for the contest of modules: clang makes faster modules than Go does.
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { width = 10000000 };

static uint64_t primes(uint64_t partition) {
  uint64_t lo = partition * width, hi = lo + width, count = lo == 0;
  uint8_t *composite = calloc(width / 2, 1);
  if (!composite) abort();
  for (uint64_t d = 3; d * d < hi; d += 2) {
    uint64_t n = (lo / d | 1) * d;
    for (n = n < d * d ? d * d : n; n < hi; n += 2 * d)
      if (n >= lo) composite[(n - lo) / 2] = 1;
  }
  for (uint64_t i = 0; i < width / 2; i++) count += !composite[i] && lo + i > 0;
  free(composite);
  return count;
}

static uint64_t state;

static double uniform(void) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (double)(state * 0x2545f4914f6cdd1d >> 11) / (1ull << 52) - 1;
}

static int64_t payoffs(uint64_t partition) {
  int64_t cents = 0;
  state = partition * 0x9e3779b97f4a7c15 + 1;
  for (int option = 0; option < 10000; option++) {
    double price = 100, sum = 0;
    for (int day = 0; day < 100; day++) {
      double u, v, s;
      do {
        u = uniform(), v = uniform();
        s = u * u + v * v;
      } while (s >= 1 || s == 0);
      price *= 1.0002 + 0.02 * (u * sqrt(-2 * log(s) / s));
      sum += price;
    }
    cents += 100 * fmax(0, sum / 100 - 100);
  }
  return cents;
}

int main(int argc, char **argv) {
  uint64_t partition = strtoull(getenv("BELLWETHER_PARTITION"), NULL, 10);
  printf("%" PRId64 "\n", strcmp(argv[1], "primes") ? payoffs(partition) : (int64_t)primes(partition));
  return 0;
}
