package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

// placeholder stands in an argument of the program for the items of a call, or for the file that contains
// the object of a call.
const placeholder = "{}"

// input is what the calls of the phase map read: lines, whole objects, items or nothing.
type input struct {
	lines   *dataset.Lines // nil if there are no objects
	items   itemList       // nil if there are no items
	asFile  bool           // an object is a file in the working folder, and not standard input
	asWords bool           // items are arguments, and not standard input
}

// splitFile is the value of the parameter split for calls that get one object each.
const splitFile = "file"

// divided returns how the objects of the input are divided among the calls.
func (c Calls) divided() dataset.Split {
	return dataset.Split{Objects: c.Split == splitFile, Lines: c.Lines}
}

// plan lists the input and divides it among the calls.
func (p Params) plan(ctx context.Context) (jobs.Plan, error) {
	switch {
	case p.Items != "":
		items, err := p.readItems(ctx)
		return jobs.Plan{Partitions: items.calls()}, err
	case p.Input == "":
		return jobs.Plan{Partitions: max(1, p.Partitions)}, nil
	}
	return dataset.PlanLines(ctx, p.input(), p.divided())
}

// open opens the input of a planned job.
func (p Params) open(ctx context.Context, plan jobs.Plan) (in input, err error) {
	switch {
	case p.Items != "":
		in.asWords = !p.Keep
		if in.items, err = p.readItems(ctx); err == nil && in.items.calls() != plan.Partitions {
			err = fmt.Errorf("the plan has %d partitions, and the items are for %d: want workers of the version that planned the job", plan.Partitions, in.items.calls())
		}
	case p.Input != "":
		args, _ := p.args() // Validate has checked the command
		in.asFile = p.Split == splitFile && hasPlaceholder(args)
		in.lines, err = dataset.OpenLines(ctx, p.input(), p.divided(), plan)
	}
	return in, err
}

// hasPlaceholder reports whether an argument of a program contains the placeholder.
func hasPlaceholder(args []string) bool {
	for _, a := range args[1:] {
		if strings.Contains(a, placeholder) {
			return true
		}
	}
	return false
}

// checkPlaceholders returns an error if the placeholder cannot be replaced in the arguments of a program.
func (p Params) checkPlaceholders(args []string) error {
	if p.Items == "" && p.Split != splitFile || !hasPlaceholder(args) {
		return nil
	}
	if p.Keep {
		return errors.New("parameter command: a kept process gets its arguments before its calls, so they contain no {}: read the data of the calls")
	}
	for i, a := range args[1:] {
		switch {
		case a != placeholder && strings.Contains(a, placeholder) && p.Lines > 1:
			return fmt.Errorf("parameter command: got the argument %.100q for %d items: want {} as an argument of its own, or lines=1", a, p.Lines)
		case i == 1 && args[1] == "-c" && strings.HasSuffix(filepath.Base(args[0]), "sh") && strings.Contains(a, placeholder):
			return errors.New(`parameter command: a shell would run commands in an item that replaces {} in its script: write "$1" in the script, and the arguments sh {} after it`)
		}
	}
	return nil
}

// add adds the input of a partition to its call.
func (in input) add(partition uint64, c *call) {
	if in.items != nil {
		if words := in.items.of(partition); in.asWords {
			c.values = words
		} else {
			c.each = func(_ context.Context, do func([]byte) error) error {
				return do([]byte(strings.Join(words, "\n") + "\n"))
			}
		}
	}
	if in.lines == nil {
		return
	}
	objects, offset, length := in.lines.Range(partition)
	c.env = append(c.env,
		"BELLWETHER_INPUT="+strings.Join(objects, "\n"),
		"BELLWETHER_OFFSET="+strconv.FormatInt(offset, 10),
		"BELLWETHER_LENGTH="+strconv.FormatInt(length, 10))
	each := func(ctx context.Context, do func([]byte) error) error { return in.lines.Each(ctx, partition, do) }
	if in.asFile {
		c.file = &objectFile{object: objects[0], name: nameOfFile(objects[0]), each: each}
		c.values = []string{c.file.name}
	} else {
		c.each = each
	}
}

// name describes what the call of a partition gets, for people.
func (in input) name(partition uint64) string {
	if in.items != nil {
		return strings.Join(in.items.of(partition), " ")
	}
	if in.lines == nil {
		return ""
	}
	objects, offset, length := in.lines.Range(partition)
	switch {
	case len(objects) > 1:
		return fmt.Sprintf("%s and %d more", objects[0], len(objects)-1)
	case in.lines.Whole(partition):
		return objects[0]
	}
	return fmt.Sprintf("%s bytes %d to %d", objects[0], offset, offset+length)
}

// size returns about how many bytes the data of a partition's call has.
func (in input) size(partition uint64) int64 {
	if in.lines == nil {
		return 0
	}
	_, _, length := in.lines.Range(partition)
	return length
}

// objectFile is a file in the working folder of a call that contains an object.
type objectFile struct {
	object, name string
	each         func(ctx context.Context, do func(data []byte) error) error
}

// nameOfFile returns the name of the file that contains an object: the last part of the object's name. A
// program could take another beginning for an option, or for a file that a call makes itself.
func nameOfFile(object string) string {
	if strings.Contains(object, "://") {
		object, _, _ = strings.Cut(object, "?")
	}
	name := path.Base(object)
	const most = 250 // bytes; a file system allows 255
	if len(name) > most || strings.ContainsAny(name, "\x00/") {
		return "object"
	}
	if name[0] == '-' || name[0] == '.' {
		name = "_" + name
	}
	return name
}

// write writes the file to a folder.
func (f *objectFile) write(ctx context.Context, dir string) error {
	file, err := os.OpenFile(filepath.Join(dir, f.name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return jobs.Permanent(fmt.Errorf("%s: a file of this name was sent with the job: rename one of them", f.object))
	}
	if err != nil {
		return err
	}
	err = f.each(ctx, func(data []byte) error {
		_, err := file.Write(data)
		return err
	})
	return errors.Join(err, file.Close())
}
