# Prints the numbers that the tests of package glm expect, computed with 60 digits by Newton's method on the data
# as they are: python3 expected.py (needs mpmath).
import csv
from mpmath import mp, mpf, matrix, exp, log, sqrt, lu_solve, inverse, erfc, betainc, pi, loggamma

mp.dps = 60


def fit(file, family, target, columns, ridge=0):
    rows = list(csv.DictReader(open(file)))
    y = [mpf(r[target]) for r in rows]
    x = [[mpf(1)] + [mpf(r[c]) for c in columns] for r in rows]
    n, k = len(y), len(columns) + 1
    mean = {'linear': lambda e: e, 'logistic': lambda e: 1 / (1 + exp(-e)), 'poisson': exp}[family]
    weight = {'linear': lambda m: mpf(1), 'logistic': lambda m: m * (1 - m), 'poisson': lambda m: m}[family]
    start = {'linear': lambda m: m, 'logistic': lambda m: log(m / (1 - m)), 'poisson': log}[family]

    def deviance(mu):
        if family == 'linear':
            return sum((a - m) ** 2 for a, m in zip(y, mu))
        if family == 'logistic':
            return -2 * sum(log(m) if a == 1 else log(1 - m) for a, m in zip(y, mu))
        return 2 * sum((a * log(a / m) if a else 0) - a + m for a, m in zip(y, mu))

    b = matrix([start(sum(y) / n)] + [0] * (k - 1))
    null = deviance([sum(y) / n] * n)
    for _ in range(60):
        mu = [mean(sum(b[j] * r[j] for j in range(k))) for r in x]
        a = matrix(k, k)
        u = matrix(k, 1)
        for r, t, m in zip(x, y, mu):
            for i in range(k):
                u[i] += r[i] * (t - m)
                for j in range(k):
                    a[i, j] += weight(m) * r[i] * r[j]
        for i in range(1, k):
            a[i, i] += ridge
            u[i] -= ridge * b[i]
        b += lu_solve(a, u)
    d = deviance(mu)
    dispersion = d / (n - k) if family == 'linear' else mpf(1)
    c = inverse(a)
    aic = d + 2 * k
    if family == 'linear':
        aic = n * (log(2 * pi * d / n) + 1) + 2 * (k + 1)
    if family == 'poisson':
        aic = -2 * sum(t * log(m) - m - loggamma(t + 1) for t, m in zip(y, mu)) + 2 * k
    s = lambda v: mp.nstr(v, 17)
    print(f'{file}: {family} {target} ~ {" + ".join(columns)}, ridge {ridge}')
    for j, name in enumerate(['(intercept)'] + columns):
        se = sqrt(dispersion * c[j, j])
        t = b[j] / se
        df = mpf(n - k)
        p = betainc(df / 2, mpf(1) / 2, 0, df / (df + t * t), regularized=True) if family == 'linear' else erfc(abs(t) / sqrt(2))
        print(f'\t{{"{name}", {s(b[j])}, {s(se)}, {s(t)}, {s(p)}}},')
    print(f'\tdeviance {s(d)}, null {s(null)}, dispersion {s(dispersion)}, AIC {s(aic)}')


fit('longley.csv', 'linear', 'employed', ['deflator', 'gnp', 'unemployed', 'armed', 'population', 'year'])
fit('dobson.csv', 'poisson', 'counts', ['outcome2', 'outcome3', 'treatment2', 'treatment3'])
fit('mtcars.csv', 'logistic', 'am', ['wt'])
fit('mtcars.csv', 'logistic', 'am', ['wt', 'hp'], ridge=mpf(1) / 2)
