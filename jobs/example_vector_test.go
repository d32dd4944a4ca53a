package jobs_test

import (
	"context"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs"
)

type spectrumParams struct {
	Samples uint64 `json:"samples" min:"1" help:"number of vectors to add up"`
	Length  int    `json:"length" min:"1" max:"1e9" help:"numbers in each vector"`
}

// spectrum adds up one vector of numbers per partition. The vectors may have any size: no function
// of the definition copies a vector, and Fill uses the memory that Merge has freed.
var spectrum = jobs.Definition[spectrumParams, []float64, jobs.Attachment]{
	Name: "spectrum", Version: "1", Summary: "sum of vectors",
	Defaults: spectrumParams{Samples: 1000, Length: 1_000_000},
	Plan: func(_ context.Context, p spectrumParams) (jobs.Plan, error) {
		return jobs.Plan{Partitions: p.Samples}, nil
	},
	Open: func(_ context.Context, p spectrumParams, _ jobs.Plan) (jobs.Mapper[[]float64], error) { return p, nil },
	Finish: func(_ context.Context, _ spectrumParams, root []float64) (jobs.Attachment, error) {
		data, err := jobs.Vector[float64]{}.EncodeInPlace(root)
		return jobs.NewAttachment("spectrum.f64", data), err
	},
	Codec:  jobs.Vector[float64]{},
	Shards: jobs.Vector[float64]{}, // the sum of two vectors is that of each range, so idle slots help
	Merge: func(left, right []float64) ([]float64, error) {
		for i := range left {
			left[i] += right[i]
		}
		return left, nil
	},
}

func (p spectrumParams) Fill(_ context.Context, partition uint64, spare []float64) ([]float64, error) {
	return p.sample(partition, resize(spare, p.Length)), nil
}

// Map is not called, because the mapper is a Filler, but a Mapper must have it.
func (p spectrumParams) Map(ctx context.Context, partition uint64) ([]float64, error) {
	return p.Fill(ctx, partition, nil)
}

// PartialBytes lets a worker respect its memory limit from the first vector on.
func (p spectrumParams) PartialBytes() int64 { return 8 * int64(p.Length) }

// resize returns a vector with the given length, in the memory of spare if spare has this length.
func resize(spare []float64, length int) []float64 {
	if len(spare) != length {
		return make([]float64, length)
	}
	return spare
}

// sample computes the vector of a partition in the memory of the parameter in. The old content of
// in can be anything, so sample writes each number.
func (p spectrumParams) sample(partition uint64, in []float64) []float64 {
	for i := range in {
		in[i] = 0
		if partition%uint64(i+1) == 0 {
			in[i] = 1
		}
	}
	return in
}

// ExampleFiller runs a job whose partials are vectors. Fill and Merge reuse the memory of vectors,
// so a run of any number of partitions allocates only a few vectors for each slot.
func ExampleFiller() {
	job := jobs.MustNew(spectrum)
	params, err := job.Params(nil, "samples=1000", "length=6")
	if err != nil {
		fmt.Println(err)
		return
	}
	done, err := jobs.Local{Slots: 2}.Run(context.Background(), job, params)
	if err != nil {
		fmt.Println(err)
		return
	}
	sum, err := jobs.Vector[float64]{}.Decode(done.Attachment.Data())
	fmt.Println(sum, err)
	// Output: [1000 500 334 250 200 167] <nil>
}

// ExampleAttachment shows the result of a job whose Finish returns an attachment. The JSON of the
// result describes the attachment, and the bytes are kept beside it.
func ExampleAttachment() {
	job := jobs.MustNew(spectrum)
	params, err := job.Params(nil, "samples=10", "length=3")
	if err != nil {
		fmt.Println(err)
		return
	}
	done, err := jobs.Local{Slots: 1}.Run(context.Background(), job, params)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", done.Result)
	fmt.Println(len(done.Attachment.Data()), "bytes")
	// Output:
	// {"attachment":"spectrum.f64","size":24,"sha256":"a1475f8511974ee85490e64856d6f6d92aa6f1443c235fcab31def010a2fc07a"}
	// 24 bytes
}

// ExampleZstd compresses vectors that contain repetition, so that they take less of the network and
// of storage.
func ExampleZstd() {
	codec := jobs.Zstd(jobs.Vector[float64]{})
	data, err := codec.Encode(make([]float64, 1_000_000))
	if err != nil {
		fmt.Println(err)
		return
	}
	value, err := codec.Decode(data)
	fmt.Println(len(value), len(data) < 1000, err)
	// Output: 1000000 true <nil>
}
