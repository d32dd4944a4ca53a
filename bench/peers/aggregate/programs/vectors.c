// Adds up vectors of whole numbers, as the job "vectors" of Bellwether does:
//
//     vectors mpi PARTITIONS LENGTH             in each process of mpirun: a local sum, then MPI_Reduce
//     vectors loop PARTITIONS LENGTH THREADS    in threads of this process
//
// It prints the seconds, and the first and the last number of the sum. With mpi this is the second sum of
// the processes.
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void fill(uint64_t partition, double *v, size_t length) {
	for (size_t i = 0; i < length; i++)
		v[i] = (double)(int64_t)((partition * 31 + i) & 0xffff);
}

static void add(double *restrict sum, const double *restrict v, size_t length) {
	for (size_t i = 0; i < length; i++)
		sum[i] += v[i];
}

static double *vector(size_t length) {
	double *v = malloc(length * sizeof *v);
	if (v == NULL) {
		perror("vectors");
		exit(1);
	}
	return v;
}

// sum_of adds up a part of the partitions. It uses the memory of two vectors.
static double *sum_of(uint64_t part, uint64_t parts, uint64_t partitions, size_t length) {
	double *sum = vector(length), *v = vector(length);
	uint64_t hi = partitions * (part + 1) / parts;
	memset(sum, 0, length * sizeof *sum);
	for (uint64_t p = partitions * part / parts; p < hi; p++) {
		fill(p, v, length);
		add(sum, v, length);
	}
	free(v);
	return sum;
}

struct part {
	pthread_t thread;
	uint64_t part, parts, partitions;
	size_t length;
	double *sum;
};

static void *run_part(void *arg) {
	struct part *p = arg;
	p->sum = sum_of(p->part, p->parts, p->partitions, p->length);
	return NULL;
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void print(double seconds, const double *sum, size_t length) {
	printf("{\"seconds\":%.6f,\"first\":%.0f,\"last\":%.0f}\n", seconds, sum[0], sum[length - 1]);
}

static void loop(uint64_t partitions, size_t length, uint64_t threads) {
	struct part *parts = calloc(threads, sizeof *parts);
	double began = now();
	for (uint64_t i = 0; i < threads; i++) {
		parts[i] = (struct part){.part = i, .parts = threads, .partitions = partitions, .length = length};
		if (pthread_create(&parts[i].thread, NULL, run_part, &parts[i]) != 0)
			exit(1);
	}
	for (uint64_t i = 0; i < threads; i++) {
		pthread_join(parts[i].thread, NULL);
		if (i > 0)
			add(parts[0].sum, parts[i].sum, length);
	}
	print(now() - began, parts[0].sum, length);
}

static void mpi(int argc, char **argv, uint64_t partitions, size_t length) {
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int round = 0; round < 2; round++) {
		MPI_Barrier(MPI_COMM_WORLD);
		double began = now();
		double *sum = sum_of((uint64_t)rank, (uint64_t)size, partitions, length);
		double *all = rank == 0 ? vector(length) : NULL;
		MPI_Reduce(sum, all, (int)length, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
		if (rank == 0 && round == 1)
			print(now() - began, all, length);
		free(sum);
		free(all);
	}
	MPI_Finalize();
}

int main(int argc, char **argv) {
	if (argc < 4)
		return 2;
	uint64_t partitions = strtoull(argv[2], NULL, 10);
	size_t length = strtoull(argv[3], NULL, 10);
	if (strcmp(argv[1], "mpi") == 0)
		mpi(argc, argv, partitions, length);
	else
		loop(partitions, length, strtoull(argv[4], NULL, 10));
	return 0;
}
