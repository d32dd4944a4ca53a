"""Runs the rounds of a job of Bellwether, k-means by Lloyd's algorithm or logistic regression by Newton's steps:

    rounds.py loop kmeans|glm ROWS COLUMNS CLUSTERS ROUNDS PROCESSES    NumPy in processes that keep their rows
    rounds.py dask kmeans|glm ROWS COLUMNS CLUSTERS ROUNDS WORKERS      on Dask's distributed scheduler, whose workers keep the rows
    rounds.py versions

The first centres of k-means are the first rows, and the first coefficients of a regression are 0. A regression ends when its
deviance has converged. The program prints the seconds, without the time to make the rows, the number of rounds, and the loss in
the last round: the sum of the squared distances, or the deviance.
"""

import json
import multiprocessing
import os
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # there is a process for each core

import numpy  # noqa: E402

# Rows that are computed with at the same time. Their distances to all centres fit into the cache of a core.
BATCH = 4096


def mix(x):
    """The function splitmix64."""
    x = x + numpy.uint64(0x9E3779B97F4A7C15)
    x = (x ^ x >> numpy.uint64(30)) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> numpy.uint64(27)) * numpy.uint64(0x94D049BB133111EB)
    return x ^ x >> numpy.uint64(31)


def uniform(i):
    """Numbers from 0 to 1."""
    return (mix(i) >> numpy.uint64(11)) * 2.0**-53


def batches(lo, hi, size):
    for begin in range(lo, hi, size):
        yield begin, min(begin + size, hi)


def fill(job, lo, hi):
    """Makes rows."""
    rows = numpy.empty((hi - lo, job.width))
    for begin, end in batches(lo, hi, 100_000):
        rows[begin - lo : end - lo] = job.rows(numpy.arange(begin, end, dtype=numpy.uint64)[:, None])
    return rows


def sum_of(job, rows, state):
    """Returns the sums of rows. The last row of the sums begins with the loss."""
    sums = job.no_sums()
    for begin, end in batches(0, len(rows), BATCH):
        job.add(rows[begin:end], state, sums)
    return sums


class KMeans:
    def __init__(self, columns, clusters):
        self.width, self.clusters = columns, clusters

    def rows(self, i):
        """Makes points: uniform numbers from 0 to 1 around one of the clusters' own centres."""
        width, columns = numpy.uint64(self.width), numpy.arange(self.width, dtype=numpy.uint64)
        return uniform(i * width + columns) + (mix(mix(i) % numpy.uint64(self.clusters) * width + columns) >> numpy.uint64(62))

    def first(self):
        return fill(self, 0, self.clusters)

    def no_sums(self):
        """The last column is the sizes, the last row the sum of the squared distances."""
        return numpy.zeros((self.clusters + 1, self.width + 1))

    def add(self, rows, centres, sums):
        """Adds each point to the sum of its nearest centre."""
        distances = (centres * centres).sum(axis=1) - 2 * (rows @ centres.T)
        nearest = distances.argmin(axis=1)
        for j in range(self.width):
            sums[:-1, j] += numpy.bincount(nearest, rows[:, j], self.clusters)
        sums[:-1, -1] += numpy.bincount(nearest, minlength=self.clusters)
        sums[-1, 0] += distances[numpy.arange(len(rows)), nearest].sum() + numpy.einsum("ij,ij->", rows, rows)

    def next(self, sums, centres):
        sizes = sums[:-1, -1:]
        return numpy.where(sizes > 0, sums[:-1, :-1] / numpy.maximum(sizes, 1), centres)


class Regression:
    """The state is the coefficients and the deviance of the round before."""

    def __init__(self, columns, _):
        self.columns, self.width = columns, columns + 2

    def rows(self, i):
        """Makes the rows of a logistic model: 1 for the intercept, normal numbers, and the target 0 or 1."""
        columns = numpy.arange(self.columns, dtype=numpy.uint64)
        at = numpy.uint64(2) * (i * numpy.uint64(self.width) + columns)  # of two uniform numbers for Box and Muller's method
        x = numpy.sqrt(-2 * numpy.log(1 - uniform(at))) * numpy.cos(2 * numpy.pi * uniform(at + numpy.uint64(1)))
        eta = 0.5 + x @ (0.3 * (columns % numpy.uint64(3) - 1.0))
        target = uniform(numpy.uint64(2) * (i[:, 0] * numpy.uint64(self.width) + numpy.uint64(self.columns)))
        return numpy.column_stack([numpy.ones(len(i)), x, target < 1 / (1 + numpy.exp(-eta))])

    def first(self):
        return numpy.zeros(self.columns + 2)

    def no_sums(self):
        """The rows are those of X'WX, X'(y-mean), and the deviance."""
        return numpy.zeros((self.columns + 3, self.columns + 1))

    def add(self, rows, state, sums):
        x, y = rows[:, :-1], rows[:, -1]
        mean = 1 / (1 + numpy.exp(-(x @ state[:-1])))
        sums[:-2] += (x * (mean * (1 - mean))[:, None]).T @ x
        sums[-2] += (y - mean) @ x
        sums[-1, 0] -= 2 * numpy.log(numpy.where(y == 1, mean, 1 - mean)).sum()

    def next(self, sums, state):
        """Makes Newton's step, unless the deviance has changed as little as the tolerance of Bellwether's job."""
        deviance = sums[-1, 0]
        if abs(deviance - state[-1]) < 1e-12 * (deviance + 0.1):
            return None
        return numpy.append(state[:-1] + numpy.linalg.solve(sums[:-2], sums[-2]), deviance)


def run(job, rounds, total):
    """Runs the rounds. The sums of a round are those that total returns for its state."""
    state = job.first()
    began = time.monotonic()
    for done in range(1, rounds + 1):
        sums = total(state)
        state = job.next(sums, state)
        if state is None:
            break
    print(json.dumps({"seconds": time.monotonic() - began, "rounds": done, "loss": float(sums[-1, 0])}))


def loop_part(pipe, job, lo, hi):
    rows = fill(job, lo, hi)
    pipe.send(None)
    while (state := pipe.recv()) is not None:
        pipe.send(sum_of(job, rows, state))


def loop(job, rows, rounds, processes):
    pipes, running = [], []
    for i in range(processes):
        own, other = multiprocessing.Pipe()
        process = multiprocessing.Process(target=loop_part, args=(other, job, rows * i // processes, rows * (i + 1) // processes))
        process.start()
        pipes.append(own)
        running.append(process)
    for pipe in pipes:
        pipe.recv()

    def total(state):
        for pipe in pipes:
            pipe.send(state)
        return sum(pipe.recv() for pipe in pipes)

    run(job, rounds, total)
    for pipe, process in zip(pipes, running):
        pipe.send(None)
        process.join()


def dask(job, rows, rounds, workers):
    import distributed

    parts = 8 * workers  # so that the scheduler can balance them
    bounds = [rows * i // parts for i in range(parts + 1)]
    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1", silence_logs=50
    ) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(workers)
        data = client.map(lambda lo, hi: fill(job, lo, hi), bounds[:-1], bounds[1:], pure=False)
        distributed.wait(data)

        def total(state):
            at = client.scatter(state, broadcast=True, hash=False)
            return client.submit(sum, client.map(lambda part, state: sum_of(job, part, state), data, state=at, pure=False), pure=False).result()

        run(job, rounds, total)


def versions():
    import distributed

    print(json.dumps({"python": sys.version.split()[0], "numpy": numpy.__version__, "dask": distributed.__version__}))


if __name__ == "__main__":
    if sys.argv[1] == "versions":
        versions()
    else:
        rows, columns, clusters, rounds, processes = [int(a) for a in sys.argv[3:]]
        job = {"kmeans": KMeans, "glm": Regression}[sys.argv[2]](columns, clusters)
        {"loop": loop, "dask": dask}[sys.argv[1]](job, rows, rounds, processes)
