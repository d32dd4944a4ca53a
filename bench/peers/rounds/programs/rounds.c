// Runs the rounds of a job of Bellwether, k-means by Lloyd's algorithm or logistic regression by Newton's steps:
//
//     rounds mpi kmeans|glm ROWS COLUMNS CLUSTERS ROUNDS             in each process of mpirun a part of the rows; MPI_Allreduce ends a round
//     rounds loop kmeans|glm ROWS COLUMNS CLUSTERS ROUNDS THREADS    in threads of this process
//
// The first centres of k-means are the first rows, and the first coefficients of a regression are 0. A regression ends when its
// deviance has converged. The program prints the seconds, without the time to make the rows, the number of rounds, and the loss in
// the last round: the sum of the squared distances, or the deviance.
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct job {
	uint64_t rows, columns, clusters, rounds;
	uint64_t width, state, sums; // lengths of a row, the state and the sums, of which the last one is the loss
	void (*fill)(const struct job *, uint64_t lo, uint64_t hi, double *rows);
	void (*add)(const struct job *, const double *rows, uint64_t count, const double *state, double *sums);
	int (*next)(const struct job *, double *sums, double *state); // computes the next state, and reports whether the job is done
};

// mix is the function splitmix64.
static uint64_t mix(uint64_t x) {
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

// uniform returns a number from 0 to 1.
static double uniform(uint64_t i) { return (double)(mix(i) >> 11) * 0x1p-53; }

// numbers returns zeros in cache lines that no other array uses, because threads that write to the same cache line slow each other down.
static double *numbers(uint64_t count) {
	size_t size = (count * sizeof(double) + 63) / 64 * 64;
	double *v = aligned_alloc(64, size);
	if (v == NULL) {
		perror("rounds");
		exit(1);
	}
	return memset(v, 0, size);
}

// fill_points makes points: uniform numbers from 0 to 1 around one of the clusters' own centres.
static void fill_points(const struct job *j, uint64_t lo, uint64_t hi, double *points) {
	uint64_t d = j->columns;
	for (uint64_t i = lo; i < hi; i++)
		for (uint64_t c = 0; c < d; c++)
			*points++ = uniform(i * d + c) + (double)(mix(mix(i) % j->clusters * d + c) >> 62);
}

// add_points adds each point to the sum of its nearest centre. The sums of a cluster are those of its columns and its size. The
// last sum is that of the squared distances.
static void add_points(const struct job *j, const double *points, uint64_t count, const double *centres, double *sums) {
	uint64_t d = j->columns, k = j->clusters;
	for (uint64_t i = 0; i < count; i++, points += d) {
		double least = 1e300;
		uint64_t nearest = 0;
		for (uint64_t c = 0; c < k; c++) {
			double distance = 0;
			for (uint64_t at = 0; at < d; at++) {
				double off = points[at] - centres[c * d + at];
				distance += off * off;
			}
			if (distance < least) {
				least = distance;
				nearest = c;
			}
		}
		double *sum = sums + nearest * (d + 1);
		for (uint64_t at = 0; at < d; at++)
			sum[at] += points[at];
		sum[d] += 1;
		sums[k * (d + 1)] += least;
	}
}

static int move_centres(const struct job *j, double *sums, double *centres) {
	uint64_t d = j->columns;
	for (uint64_t c = 0; c < j->clusters; c++)
		for (uint64_t at = 0; at < d; at++)
			if (sums[c * (d + 1) + d] > 0)
				centres[c * d + at] = sums[c * (d + 1) + at] / sums[c * (d + 1) + d];
	return 0;
}

// fill_cases makes the rows of a logistic model: 1 for the intercept, normal numbers, and the target 0 or 1.
static void fill_cases(const struct job *j, uint64_t lo, uint64_t hi, double *rows) {
	for (uint64_t i = lo; i < hi; i++) {
		double eta = 0.5;
		*rows++ = 1;
		for (uint64_t c = 0; c < j->columns; c++) {
			uint64_t at = 2 * (i * j->width + c); // of two uniform numbers, of which Box and Muller's method makes a normal one
			double x = sqrt(-2 * log(1 - uniform(at))) * cos(2 * M_PI * uniform(at + 1));
			eta += 0.3 * x * ((double)(c % 3) - 1);
			*rows++ = x;
		}
		*rows++ = uniform(2 * (i * j->width + j->columns)) < 1 / (1 + exp(-eta));
	}
}

// add_cases adds up X'WX (its lower triangle), X'(y-mean) and the deviance.
static void add_cases(const struct job *j, const double *rows, uint64_t count, const double *beta, double *sums) {
	uint64_t n = j->columns + 1;
	double *score = sums + n * (n + 1) / 2;
	for (uint64_t i = 0; i < count; i++, rows += j->width) {
		double eta = 0, y = rows[n], *list = sums;
		for (uint64_t c = 0; c < n; c++)
			eta += beta[c] * rows[c];
		double mean = 1 / (1 + exp(-eta)), weight = mean * (1 - mean), residual = y - mean;
		score[n] -= 2 * log(y == 1 ? mean : 1 - mean);
		for (uint64_t c = 0; c < n; c++) {
			double a = weight * rows[c];
			score[c] += residual * rows[c];
			for (uint64_t k = 0; k <= c; k++)
				list[k] += a * rows[k];
			list += c + 1;
		}
	}
}

// step adds Newton's step to the coefficients: the solution of X'WX d = X'(y-mean) by Cholesky's decomposition. The state is the
// coefficients and the deviance of the round before. The job is done when the deviance has changed as little as the tolerance of
// Bellwether's job.
static int step(const struct job *j, double *sums, double *state) {
	uint64_t n = j->columns + 1;
	double *d = sums + n * (n + 1) / 2, deviance = d[n], change = fabs(deviance - state[n]);
	state[n] = deviance;
	if (change < 1e-12 * (deviance + 0.1))
		return 1;
	for (uint64_t r = 0; r < n; r++) {
		double *row = sums + r * (r + 1) / 2;
		for (uint64_t c = 0; c <= r; c++) {
			double *other = sums + c * (c + 1) / 2;
			for (uint64_t k = 0; k < c; k++)
				row[c] -= row[k] * other[k];
			row[c] = c < r ? row[c] / other[c] : sqrt(row[c]);
		}
		for (uint64_t k = 0; k < r; k++)
			d[r] -= row[k] * d[k];
		d[r] /= row[r];
	}
	for (uint64_t r = n; r-- > 0;) {
		double *row = sums + r * (r + 1) / 2;
		d[r] /= row[r];
		for (uint64_t k = 0; k < r; k++)
			d[k] -= row[k] * d[r];
		state[r] += d[r];
	}
	return 0;
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void print(double seconds, uint64_t rounds, double loss) {
	printf("{\"seconds\":%.6f,\"rounds\":%llu,\"loss\":%.17g}\n", seconds, (unsigned long long)rounds, loss);
}

struct part {
	pthread_t thread;
	const struct job *job;
	uint64_t lo, hi;
	double *rows, *state, *sums;
};

// new_part makes part i of the rows.
static struct part new_part(const struct job *j, uint64_t i, uint64_t parts, double *state) {
	struct part p = {.job = j, .lo = j->rows * i / parts, .hi = j->rows * (i + 1) / parts, .state = state};
	p.rows = numbers((p.hi - p.lo) * j->width);
	p.sums = numbers(j->sums);
	return p;
}

static void *fill_part(void *arg) {
	struct part *p = arg;
	p->job->fill(p->job, p->lo, p->hi, p->rows);
	return NULL;
}

static void *add_part(void *arg) {
	struct part *p = arg;
	memset(p->sums, 0, p->job->sums * sizeof *p->sums);
	p->job->add(p->job, p->rows, p->hi - p->lo, p->state, p->sums);
	return NULL;
}

static void run_parts(struct part *parts, uint64_t threads, void *(*run)(void *)) {
	for (uint64_t i = 0; i < threads; i++)
		if (pthread_create(&parts[i].thread, NULL, run, &parts[i]) != 0)
			exit(1);
	for (uint64_t i = 0; i < threads; i++)
		pthread_join(parts[i].thread, NULL);
}

// first returns the state of the first round.
static double *first(const struct job *j) {
	double *state = numbers(j->state);
	j->fill(j, 0, j->clusters, state); // a regression has no clusters
	return state;
}

static void loop(const struct job *j, uint64_t threads) {
	double *state = first(j);
	struct part *parts = calloc(threads, sizeof *parts);
	for (uint64_t i = 0; i < threads; i++)
		parts[i] = new_part(j, i, threads, state);
	run_parts(parts, threads, fill_part);
	double began = now(), *sums = parts[0].sums;
	uint64_t round = 0;
	for (int done = 0; !done && round < j->rounds; round++) {
		run_parts(parts, threads, add_part);
		for (uint64_t i = 1; i < threads; i++)
			for (uint64_t at = 0; at < j->sums; at++)
				sums[at] += parts[i].sums[at];
		done = j->next(j, sums, state);
	}
	print(now() - began, round, sums[j->sums - 1]);
}

static void mpi(int argc, char **argv, const struct job *j) {
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	double *state = first(j), *sums = numbers(j->sums);
	struct part own = new_part(j, (uint64_t)rank, (uint64_t)size, state);
	fill_part(&own);
	MPI_Barrier(MPI_COMM_WORLD);
	double began = now();
	uint64_t round = 0;
	for (int done = 0; !done && round < j->rounds; round++) { // all processes get the same sums, so they end in the same round
		add_part(&own);
		MPI_Allreduce(own.sums, sums, (int)j->sums, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		done = j->next(j, sums, state);
	}
	if (rank == 0)
		print(now() - began, round, sums[j->sums - 1]);
	MPI_Finalize();
}

int main(int argc, char **argv) {
	if (argc < 7)
		return 2;
	struct job j = {0};
	j.rows = strtoull(argv[3], NULL, 10), j.columns = strtoull(argv[4], NULL, 10);
	j.clusters = strtoull(argv[5], NULL, 10), j.rounds = strtoull(argv[6], NULL, 10);
	if (strcmp(argv[2], "glm") == 0) {
		uint64_t n = j.columns + 1;
		j.width = n + 1, j.state = n + 1, j.sums = n * (n + 1) / 2 + n + 1;
		j.fill = fill_cases, j.add = add_cases, j.next = step;
	} else {
		j.width = j.columns, j.state = j.clusters * j.columns, j.sums = j.clusters * (j.columns + 1) + 1;
		j.fill = fill_points, j.add = add_points, j.next = move_centres;
	}
	if (strcmp(argv[1], "mpi") == 0)
		mpi(argc, argv, &j);
	else
		loop(&j, strtoull(argv[7], NULL, 10));
	return 0;
}
