// Clusters points by Lloyd's algorithm, as the job "kmeans" of Bellwether does:
//
//     kmeans mpi POINTS DIMENSIONS CLUSTERS ROUNDS             in each process of mpirun a part of the points; MPI_Allreduce ends a round
//     kmeans loop POINTS DIMENSIONS CLUSTERS ROUNDS THREADS    in threads of this process
//
// The first points are the centres of the first round. It prints the seconds, without the time to make the points, and the sum of the
// squared distances in the last round.
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct shape {
	uint64_t points, dimensions, clusters, rounds;
};

// mix is the function splitmix64.
static uint64_t mix(uint64_t x) {
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static double *numbers(uint64_t count) {
	double *v = calloc(count, sizeof *v);
	if (v == NULL) {
		perror("kmeans");
		exit(1);
	}
	return v;
}

// fill makes points: uniform numbers from 0 to 1 around one of the clusters' own centres.
static void fill(const struct shape *s, uint64_t lo, uint64_t hi, double *points) {
	uint64_t d = s->dimensions;
	for (uint64_t i = lo; i < hi; i++)
		for (uint64_t j = 0; j < d; j++)
			*points++ = (double)(mix(i * d + j) >> 11) * 0x1p-53 + (double)(mix(mix(i) % s->clusters * d + j) >> 62);
}

// sum_of adds each point to the sum of its nearest centre. The sums of a cluster are those of its dimensions and its size. The
// last sum is that of the squared distances.
static void sum_of(const struct shape *s, const double *points, uint64_t count, const double *centres, double *sums) {
	uint64_t d = s->dimensions, k = s->clusters;
	memset(sums, 0, (k * (d + 1) + 1) * sizeof *sums);
	for (uint64_t i = 0; i < count; i++, points += d) {
		double least = 1e300;
		uint64_t nearest = 0;
		for (uint64_t c = 0; c < k; c++) {
			double distance = 0;
			for (uint64_t j = 0; j < d; j++) {
				double off = points[j] - centres[c * d + j];
				distance += off * off;
			}
			if (distance < least) {
				least = distance;
				nearest = c;
			}
		}
		double *sum = sums + nearest * (d + 1);
		for (uint64_t j = 0; j < d; j++)
			sum[j] += points[j];
		sum[d] += 1;
		sums[k * (d + 1)] += least;
	}
}

static void move(const struct shape *s, const double *sums, double *centres) {
	uint64_t d = s->dimensions;
	for (uint64_t c = 0; c < s->clusters; c++)
		for (uint64_t j = 0; j < d; j++)
			if (sums[c * (d + 1) + d] > 0)
				centres[c * d + j] = sums[c * (d + 1) + j] / sums[c * (d + 1) + d];
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void print(double seconds, double loss) { printf("{\"seconds\":%.6f,\"loss\":%.17g}\n", seconds, loss); }

struct part {
	pthread_t thread;
	const struct shape *shape;
	uint64_t lo, hi;
	double *points, *centres, *sums;
	int filled;
};

static void *run_part(void *arg) {
	struct part *p = arg;
	if (!p->filled)
		fill(p->shape, p->lo, p->hi, p->points);
	else
		sum_of(p->shape, p->points, p->hi - p->lo, p->centres, p->sums);
	p->filled = 1;
	return NULL;
}

static void run_parts(struct part *parts, uint64_t threads) {
	for (uint64_t i = 0; i < threads; i++)
		if (pthread_create(&parts[i].thread, NULL, run_part, &parts[i]) != 0)
			exit(1);
	for (uint64_t i = 0; i < threads; i++)
		pthread_join(parts[i].thread, NULL);
}

static void loop(const struct shape *s, uint64_t threads) {
	uint64_t length = s->clusters * (s->dimensions + 1) + 1;
	double *centres = numbers(s->clusters * s->dimensions);
	struct part *parts = calloc(threads, sizeof *parts);
	for (uint64_t i = 0; i < threads; i++) {
		struct part *p = &parts[i];
		*p = (struct part){.shape = s, .lo = s->points * i / threads, .hi = s->points * (i + 1) / threads, .centres = centres};
		p->points = numbers((p->hi - p->lo) * s->dimensions);
		p->sums = numbers(length);
	}
	run_parts(parts, threads);
	fill(s, 0, s->clusters, centres);
	double began = now();
	for (uint64_t round = 0; round < s->rounds; round++) {
		run_parts(parts, threads);
		for (uint64_t i = 1; i < threads; i++)
			for (uint64_t j = 0; j < length; j++)
				parts[0].sums[j] += parts[i].sums[j];
		move(s, parts[0].sums, centres);
	}
	print(now() - began, parts[0].sums[length - 1]);
}

static void mpi(int argc, char **argv, const struct shape *s) {
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	uint64_t lo = s->points * (uint64_t)rank / (uint64_t)size, hi = s->points * (uint64_t)(rank + 1) / (uint64_t)size;
	uint64_t length = s->clusters * (s->dimensions + 1) + 1;
	double *points = numbers((hi - lo) * s->dimensions), *centres = numbers(s->clusters * s->dimensions);
	double *own = numbers(length), *sums = numbers(length);
	fill(s, lo, hi, points);
	fill(s, 0, s->clusters, centres);
	MPI_Barrier(MPI_COMM_WORLD);
	double began = now();
	for (uint64_t round = 0; round < s->rounds; round++) {
		sum_of(s, points, hi - lo, centres, own);
		MPI_Allreduce(own, sums, (int)length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		move(s, sums, centres);
	}
	if (rank == 0)
		print(now() - began, sums[length - 1]);
	MPI_Finalize();
}

int main(int argc, char **argv) {
	if (argc < 6)
		return 2;
	struct shape s = {strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10)};
	if (strcmp(argv[1], "mpi") == 0)
		mpi(argc, argv, &s);
	else
		loop(&s, strtoull(argv[6], NULL, 10));
	return 0;
}
