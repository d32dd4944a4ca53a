"""Adds up vectors of whole numbers, as the job "vectors" of Bellwether does:

    vectors.py loop PARTITIONS LENGTH PROCESSES           NumPy in processes that reuse their memory
    vectors.py dask PARTITIONS LENGTH WORKERS             a tree of sums on Dask's distributed scheduler
    vectors.py redis PARTITIONS LENGTH WORKERS ADDRESS    workers take partitions from a list and keep a sum
    vectors.py versions

It prints the seconds, and the first and the last number of the sum. Dask and the workers of the list
add up the vectors twice. The time is that of the second sum, when the workers are ready and have
written to their memory before.
"""

import json
import multiprocessing
import sys
import time

import numpy


def fill(partition, numbers, scratch, value):
    """Writes the vector of a partition into value."""
    numpy.add(numbers, partition * 31, out=scratch)
    numpy.bitwise_and(scratch, 0xFFFF, out=scratch)
    value[:] = scratch


def sum_of(partitions, length):
    """Adds up the vectors of some partitions. It uses the memory of four vectors."""
    numbers = numpy.arange(length, dtype=numpy.int64)
    scratch, value, total = numpy.empty_like(numbers), numpy.empty(length), numpy.zeros(length)
    for partition in partitions:
        fill(partition, numbers, scratch, value)
        total += value
    return total


def show(began, total):
    print(json.dumps({"seconds": time.monotonic() - began, "first": float(total[0]), "last": float(total[-1])}))


def loop_part(start, lo, hi, length, shared):
    start.wait()
    numpy.frombuffer(shared)[:] = sum_of(range(lo, hi), length)


def loop(partitions, length, processes):
    start = multiprocessing.Event()
    sums = [multiprocessing.RawArray("d", length) for _ in range(processes)]
    bounds = [partitions * i // processes for i in range(processes + 1)]
    running = [
        multiprocessing.Process(target=loop_part, args=(start, bounds[i], bounds[i + 1], length, sums[i])) for i in range(processes)
    ]
    for process in running:
        process.start()
    began = time.monotonic()
    start.set()
    for process in running:
        process.join()
        if process.exitcode != 0:
            sys.exit(1)
    total = numpy.frombuffer(sums[0])
    for other in sums[1:]:
        total += numpy.frombuffer(other)
    show(began, total)


def batch_of(length):
    """Returns how many partitions are one task: about 8 MB of vectors, because a task costs about a millisecond."""
    return max(1, min(1000, 1_000_000 // length))


def dask_map(lo, hi, length):
    if hi - lo > 1:
        return sum_of(range(lo, hi), length)
    value = numpy.empty(length)
    numbers = numpy.arange(length, dtype=numpy.int64)
    fill(lo, numbers, numpy.empty_like(numbers), value)
    return value


def dask_merge(left, right):
    return left + right


def dask(partitions, length, workers):
    import distributed

    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1", silence_logs=50
    ) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(workers)
        dask_sum(client, partitions, length)
        began = time.monotonic()
        show(began, dask_sum(client, partitions, length))


def dask_sum(client, partitions, length):
    batch = batch_of(length)
    begins = range(0, partitions, batch)
    level = client.map(dask_map, begins, [min(lo + batch, partitions) for lo in begins], length=length, pure=False)
    while len(level) > 1:
        pairs = zip(level[0::2], level[1::2])
        rest = level[len(level) // 2 * 2 :]
        level = [client.submit(dask_merge, left, right, pure=False) for left, right in pairs] + rest
    return level[0].result()


def redis_worker(ready, filled, length, address):
    import redis

    host, port = address.split(":")
    server = redis.Redis(host=host, port=int(port))

    def taken():
        while True:
            numbers = server.lpop("partitions", batch_of(length))
            if not numbers:
                return
            yield from map(int, numbers)

    for _ in range(2):
        ready.wait()
        filled.wait()
        total = sum_of(taken(), length)
        server.rpush("sums", total.tobytes())


def redis(partitions, length, workers, address):
    import redis as client

    host, port = address.split(":")
    server = client.Redis(host=host, port=int(port))
    ready, filled = multiprocessing.Barrier(workers + 1), multiprocessing.Barrier(workers + 1)
    running = [multiprocessing.Process(target=redis_worker, args=(ready, filled, length, address)) for _ in range(workers)]
    for process in running:
        process.start()
    for _ in range(2):
        ready.wait()
        began = time.monotonic()
        for lo in range(0, partitions, 10_000):
            server.rpush("partitions", *range(lo, min(lo + 10_000, partitions)))
        filled.wait()
        total = numpy.zeros(length)
        for _ in running:
            total += numpy.frombuffer(server.blpop("sums", timeout=600)[1])
    show(began, total)
    for process in running:
        process.join()
        if process.exitcode != 0:
            sys.exit(1)


def versions():
    import distributed
    import redis

    print(
        json.dumps(
            {"python": sys.version.split()[0], "numpy": numpy.__version__, "dask": distributed.__version__, "redis": redis.__version__}
        )
    )


if __name__ == "__main__":
    mode = {"loop": loop, "dask": dask, "redis": redis, "versions": versions}[sys.argv[1]]
    mode(*[int(a) if a.isdigit() else a for a in sys.argv[2:]])
