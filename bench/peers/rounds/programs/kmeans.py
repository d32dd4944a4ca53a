"""Clusters points by Lloyd's algorithm, as the job "kmeans" of Bellwether does:

    kmeans.py loop POINTS DIMENSIONS CLUSTERS ROUNDS PROCESSES    NumPy in processes that keep their points
    kmeans.py dask POINTS DIMENSIONS CLUSTERS ROUNDS WORKERS      on Dask's distributed scheduler, whose workers keep the points
    kmeans.py versions

The first points are the centres of the first round. It prints the seconds, without the time to make the points, and the sum of the
squared distances in the last round.
"""

import json
import multiprocessing
import os
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # there is a process for each core

import numpy  # noqa: E402

# Rows of which the distances to all centres are in memory at the same time. The distances then fit into the cache of a core.
BATCH = 4096


def mix(x):
    """The function splitmix64."""
    x = x + numpy.uint64(0x9E3779B97F4A7C15)
    x = (x ^ x >> numpy.uint64(30)) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> numpy.uint64(27)) * numpy.uint64(0x94D049BB133111EB)
    return x ^ x >> numpy.uint64(31)


def fill(lo, hi, dimensions, clusters):
    """Makes points: uniform numbers from 0 to 1 around one of the clusters' own centres."""
    points = numpy.empty((hi - lo, dimensions))
    columns = numpy.arange(dimensions, dtype=numpy.uint64)
    for begin in range(lo, hi, 100_000):
        rows = numpy.arange(begin, min(begin + 100_000, hi), dtype=numpy.uint64)[:, None]
        uniform = mix(rows * numpy.uint64(dimensions) + columns) >> numpy.uint64(11)
        centre = mix(mix(rows) % numpy.uint64(clusters) * numpy.uint64(dimensions) + columns) >> numpy.uint64(62)
        points[begin - lo : begin - lo + len(rows)] = uniform * 2.0**-53 + centre
    return points


def sum_of(points, centres):
    """Adds each point to the sum of its nearest centre. The last column is the sizes, the last row the sum of the squared distances."""
    clusters, dimensions = centres.shape
    sums = numpy.zeros((clusters + 1, dimensions + 1))
    lengths = (centres * centres).sum(axis=1)
    for begin in range(0, len(points), BATCH):
        batch = points[begin : begin + BATCH]
        distances = lengths - 2 * (batch @ centres.T)
        nearest = distances.argmin(axis=1)
        for j in range(dimensions):
            sums[:clusters, j] += numpy.bincount(nearest, batch[:, j], clusters)
        sums[:clusters, dimensions] += numpy.bincount(nearest, minlength=clusters)
        sums[clusters, 0] += distances[numpy.arange(len(batch)), nearest].sum() + numpy.einsum("ij,ij->", batch, batch)
    return sums


def moved(sums, centres):
    sizes = sums[:-1, -1:]
    return numpy.where(sizes > 0, sums[:-1, :-1] / numpy.maximum(sizes, 1), centres)


def show(began, sums):
    print(json.dumps({"seconds": time.monotonic() - began, "loss": float(sums[-1, 0])}))


def loop_part(pipe, lo, hi, dimensions, clusters):
    points = fill(lo, hi, dimensions, clusters)
    pipe.send(None)
    while (centres := pipe.recv()) is not None:
        pipe.send(sum_of(points, centres))


def loop(points, dimensions, clusters, rounds, processes):
    pipes, running = [], []
    for i in range(processes):
        own, other = multiprocessing.Pipe()
        args = (other, points * i // processes, points * (i + 1) // processes, dimensions, clusters)
        process = multiprocessing.Process(target=loop_part, args=args)
        process.start()
        pipes.append(own)
        running.append(process)
    for pipe in pipes:
        pipe.recv()
    centres = fill(0, clusters, dimensions, clusters)
    began = time.monotonic()
    for _ in range(rounds):
        for pipe in pipes:
            pipe.send(centres)
        sums = sum(pipe.recv() for pipe in pipes)
        centres = moved(sums, centres)
    show(began, sums)
    for pipe, process in zip(pipes, running):
        pipe.send(None)
        process.join()


def dask(points, dimensions, clusters, rounds, workers):
    import distributed

    parts = 8 * workers  # so that the scheduler can balance them
    bounds = [points * i // parts for i in range(parts + 1)]
    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1", silence_logs=50
    ) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(workers)
        data = client.map(fill, bounds[:-1], bounds[1:], dimensions=dimensions, clusters=clusters, pure=False)
        distributed.wait(data)
        centres = fill(0, clusters, dimensions, clusters)
        began = time.monotonic()
        for _ in range(rounds):
            state = client.scatter(centres, broadcast=True, hash=False)
            sums = client.submit(sum, client.map(sum_of, data, centres=state, pure=False), pure=False).result()
            centres = moved(sums, centres)
        show(began, sums)


def versions():
    import distributed

    print(json.dumps({"python": sys.version.split()[0], "numpy": numpy.__version__, "dask": distributed.__version__}))


if __name__ == "__main__":
    mode = {"loop": loop, "dask": dask, "versions": versions}[sys.argv[1]]
    mode(*[int(a) for a in sys.argv[2:]])
