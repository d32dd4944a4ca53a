// Command kernel computes a partition of a job exec or wasm: the first argument is primes, which counts
// primes, or montecarlo, which adds up the payoffs of simulated options in cents.
package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
)

func main() {
	partition, err := strconv.ParseUint(os.Getenv("BELLWETHER_PARTITION"), 10, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(64)
	}
	if os.Args[1] == "primes" {
		fmt.Println(primes(partition))
		return
	}
	fmt.Println(payoffs(partition))
}

const width = 10_000_000 // numbers per partition

// primes counts the primes of a partition with a sieve of the odd numbers.
func primes(partition uint64) (count int) {
	lo, hi := partition*width, (partition+1)*width
	composite := make([]bool, width/2)
	for d := uint64(3); d*d < hi; d += 2 {
		for n := max(d*d, (lo/d|1)*d); n < hi; n += 2 * d {
			if n >= lo {
				composite[(n-lo)/2] = true
			}
		}
	}
	for i, c := range composite {
		if !c && lo+uint64(i) > 0 { // 1 is no prime, but 2 is
			count++
		}
	}
	if lo == 0 {
		count++
	}
	return count
}

// payoffs simulates options on the mean of 100 prices.
func payoffs(partition uint64) (cents int64) {
	state := partition*0x9e3779b97f4a7c15 + 1
	uniform := func() float64 { // xorshift64*, Vigna 2016
		state ^= state >> 12
		state ^= state << 25
		state ^= state >> 27
		return float64(state*0x2545f4914f6cdd1d>>11)/(1<<52) - 1
	}
	for range 10_000 {
		price, sum := 100.0, 0.0
		for range 100 {
			u, v := uniform(), uniform()
			s := float64(u*u) + float64(v*v)
			for s >= 1 || s == 0 {
				u, v = uniform(), uniform()
				s = float64(u*u) + float64(v*v)
			}
			normal := u * math.Sqrt(-2*math.Log(s)/s) // polar method, Marsaglia and Bray 1964
			price *= 1.0002 + float64(0.02*normal)
			sum += price
		}
		cents += int64(100 * max(0, sum/100-100))
	}
	return cents
}
