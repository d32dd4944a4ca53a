// Counts lines, for merge=program and finish=true: a reactor without any library. Build it with
//
//	clang --target=wasm32 -O2 -nostdlib -Wl,--no-entry,--strip-all -o lines.wasm lines.c
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(name)))

static uint8_t result[20];

// A call is an instance of its own, so memory is never freed.
EXPORT("alloc") uint8_t *alloc(uint32_t size) {
  static uintptr_t end;
  extern uint8_t __heap_base;
  if (!end) end = (uintptr_t)&__heap_base;
  uintptr_t begin = end;
  end += size;
  uintptr_t have = __builtin_wasm_memory_size(0) << 16;
  if (end > have && __builtin_wasm_memory_grow(0, ((end - have) >> 16) + 1) == -1) __builtin_trap();
  return (uint8_t *)begin;
}

static uint64_t output(const uint8_t *data, uint32_t size) { return (uint64_t)(uintptr_t)data << 32 | size; }

static uint64_t number(uint64_t n) {
  for (int i = 0; i < 8; i++) result[i] = n >> 8 * i;
  return output(result, 8);
}

static uint64_t parse(const uint8_t *data) {
  uint64_t n = 0;
  for (int i = 0; i < 8; i++) n |= (uint64_t)data[i] << 8 * i;
  return n;
}

EXPORT("map") uint64_t map(uint64_t partition, uint64_t partitions, const uint8_t *data, uint32_t size) {
  uint64_t n = 0;
  for (uint32_t i = 0; i < size; i++) n += data[i] == '\n';
  return number(n);
}

EXPORT("merge") uint64_t merge(const uint8_t *left, uint32_t m, const uint8_t *right, uint32_t n) {
  return number(parse(left) + parse(right));
}

EXPORT("finish") uint64_t finish(const uint8_t *data, uint32_t size) {
  uint64_t n = parse(data);
  uint8_t *at = result + sizeof result;
  do {
    *--at = '0' + n % 10;
    n /= 10;
  } while (n);
  return output(at, result + sizeof result - at);
}
