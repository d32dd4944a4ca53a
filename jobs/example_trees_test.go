package jobs_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs"
)

type treesParams struct {
	Partitions uint64  `json:"partitions" min:"1" help:"partitions of 2000 rows"`
	Trees      int     `json:"trees" min:"1" max:"1000" help:"number of trees"`
	Depth      int     `json:"depth" min:"1" max:"8" help:"questions from the root of a tree to a leaf"`
	Rate       float64 `json:"rate" min:"0.001" max:"1" help:"share of a leaf's mean that a tree adds to the prediction"`
}

const features, bins = 4, 64

// sample is a row: the bin of each feature, and the target.
type sample struct {
	Bins   [features]uint8
	Target float64
}

// question asks whether the bin of a feature is at most Bin.
type question struct{ Feature, Bin int }

// tree is a decision tree. The questions of a level are in the order of the rows that they divide: the children of
// question i are 2i+1, for rows with the answer yes, and 2i+2. A tree that grows has no leaves yet.
type tree struct {
	Questions []question
	Leaves    []float64
}

// descend returns the index of the node that a row reaches.
func (t tree) descend(s *sample) (node int) {
	for node < len(t.Questions) {
		q := t.Questions[node]
		if node = 2*node + 1; int(s.Bins[q.Feature]) > q.Bin {
			node++
		}
	}
	return node
}

// histogram is a partial: for each node of the level that grows, feature and bin, the sum of the residuals and the
// number of the rows.
type histogram struct {
	Sums, Counts []float64
	Loss, Rows   float64
}

// boost fits trees to residuals. A round adds one level of questions to the tree that grows, so a tree of depth d
// needs d rounds.
var boost = jobs.Rounds[treesParams, []tree, histogram, []tree]{
	Name: "boost", Version: "1", Summary: "gradient boosting of trees with histograms", Measure: "loss",
	Defaults: treesParams{Partitions: 5, Trees: 20, Depth: 3, Rate: 0.3},
	Plan: func(_ context.Context, p treesParams) (jobs.Plan, error) {
		return jobs.Plan{Partitions: p.Partitions}, nil
	},
	Start: func(context.Context, treesParams, jobs.Plan) ([]tree, error) { return []tree{{}}, nil },
	Open: func(ctx context.Context, _ treesParams, _ jobs.Plan) (jobs.Rounder[[]tree, histogram], error) {
		return samples{jobs.NewCache(ctx, func(list []sample) int64 { return int64(16 * len(list)) })}, nil
	},
	Merge: func(left, right histogram) (histogram, error) {
		for i := range left.Sums {
			left.Sums[i] += right.Sums[i]
			left.Counts[i] += right.Counts[i]
		}
		left.Loss += right.Loss
		left.Rows += right.Rows
		return left, nil
	},
	Next: func(_ context.Context, p treesParams, trees []tree, total histogram, _ uint64) (jobs.Step[[]tree], error) {
		grows := &trees[len(trees)-1]
		nodes := len(grows.Questions) + 1
		last := nodes == 1<<(p.Depth-1) // the new questions lead to leaves
		for node := range nodes {
			q, leaves := total.best(node)
			grows.Questions = append(grows.Questions, q)
			if last {
				grows.Leaves = append(grows.Leaves, float64(p.Rate*leaves[0]), float64(p.Rate*leaves[1]))
			}
		}
		step := jobs.Step[[]tree]{State: trees, Done: last && len(trees) == p.Trees, Value: total.Loss / total.Rows}
		if last && !step.Done {
			step.State = append(trees, tree{})
		}
		return step, nil
	},
	MaxRounds: func(p treesParams) uint64 { return uint64(p.Trees * p.Depth) },
	Finish:    func(_ context.Context, _ treesParams, trees []tree) ([]tree, error) { return trees, nil },
}

// best returns the question that divides the rows of a node into two parts with small squared residuals, and the
// means of the residuals of these parts.
func (h histogram) best(node int) (best question, means [2]float64) {
	gain := -1.0
	for feature := range features {
		at := (node*features + feature) * bins
		var sum, count, all, rows float64
		for bin := range bins {
			all += h.Sums[at+bin]
			rows += h.Counts[at+bin]
		}
		for bin := range bins - 1 {
			sum += h.Sums[at+bin]
			count += h.Counts[at+bin]
			if count == 0 || count == rows {
				continue
			}
			yes, no := sum/count, (all-sum)/(rows-count)
			if g := float64(yes*sum) + float64(no*(all-sum)); g > gain {
				gain, best, means = g, question{feature, bin}, [2]float64{yes, no}
			}
		}
	}
	return best, means
}

// samples keeps the rows of partitions.
type samples struct{ *jobs.Cache[[]sample] }

func (s samples) Round(_ context.Context, trees []tree) (jobs.Mapper[histogram], error) {
	return treesMapper{s, trees[:len(trees)-1], trees[len(trees)-1]}, nil
}

type treesMapper struct {
	samples
	grown []tree
	grows tree
}

func (m treesMapper) Map(ctx context.Context, partition uint64) (h histogram, err error) {
	list, err := m.Get(ctx, partition, func(context.Context) ([]sample, error) { return drawSamples(partition), nil })
	if err != nil {
		return h, err
	}
	first := len(m.grows.Questions) // index of the first node of the level that grows
	size := (first + 1) * features * bins
	h.Sums, h.Counts = make([]float64, size), make([]float64, size)
	for i := range list {
		s := &list[i]
		residual := s.Target
		for _, t := range m.grown {
			residual -= t.Leaves[t.descend(s)-len(t.Questions)]
		}
		node := m.grows.descend(s) - first
		for feature, bin := range s.Bins {
			at := (node*features+feature)*bins + int(bin)
			h.Sums[at] += residual
			h.Counts[at]++
		}
		h.Loss += float64(residual * residual)
		h.Rows++
	}
	return h, nil
}

// drawSamples stands for reading rows from storage. The target is x·y + 3·(z-½)² for the first three features, scaled
// to 0 … 1.
func drawSamples(partition uint64) []sample {
	list := make([]sample, 2000)
	random := partition*1e9 + 1
	for i := range list {
		for feature := range list[i].Bins {
			random = random*6364136223846793005 + 1442695040888963407
			list[i].Bins[feature] = uint8(random >> 58)
		}
		b := list[i].Bins
		x, y, z := float64(b[0])/bins, float64(b[1])/bins, float64(b[2])/bins-0.5
		list[i].Target = float64(x*y) + float64(3*float64(z*z))
	}
	return list
}

// ExampleRounds_trees fits boosted trees. The fourth feature says nothing about the target, so no tree asks for it.
func ExampleRounds_trees() {
	job := jobs.MustNewRounds(boost)
	params, err := job.Params(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	done, err := jobs.Local{Slots: 2, Rounded: func(r jobs.Rounded) {
		if r.Round%15 == 1 {
			fmt.Printf("round %d: loss %.5f\n", r.Round, r.Value)
		}
	}}.Run(context.Background(), job, params)
	if err != nil {
		fmt.Println(err)
		return
	}
	var trees []tree
	if err := json.Unmarshal(done.Result, &trees); err != nil {
		fmt.Println(err)
		return
	}
	var asked [features]int
	for _, t := range trees {
		for _, q := range t.Questions {
			asked[q.Feature]++
		}
	}
	fmt.Println(len(trees), "trees in", done.Rounds, "rounds ask for the features", asked, "times")
	// Output:
	// round 1: loss 0.33926
	// round 16: loss 0.02500
	// round 31: loss 0.00578
	// round 46: loss 0.00247
	// 20 trees in 60 rounds ask for the features [37 40 63 0] times
}
