package parquet

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// keys is a footer of keys, which need no values.
type keys struct {
	footer
	Keys []key `thrift:"5,optional"`
}

type key struct {
	Key string `thrift:"1,required"`
}

// rewrite returns the object with another footer.
func rewrite(t *testing.T, content []byte, change func(*footer) any) []byte {
	t.Helper()
	end := len(content) - tailSize
	begin := end - int(binary.LittleEndian.Uint32(content[end:]))
	var f footer
	protocol := new(thrift.CompactProtocol)
	if err := thrift.Unmarshal(protocol, content[begin:end], &f); err != nil {
		t.Fatal(err)
	}
	changed, err := thrift.Marshal(protocol, change(&f))
	if err != nil {
		t.Fatal(err)
	}
	content = append(slices.Clone(content[:begin]), changed...)
	content = binary.LittleEndian.AppendUint32(content, uint32(len(changed)))
	return append(content, "PAR1"...)
}

// TestFooters reads objects whose footers the library refuses.
func TestFooters(t *testing.T) {
	content := write(t, library.Group{"a": library.Encoded(library.String(), &library.RLEDictionary), "b": library.String()}, []string{"x", "y"}, []string{"x", "z"})
	for name, change := range map[string]func(*footer) any{
		"key without value": func(f *footer) any { return keys{*f, []key{{"k"}}} },
		"group with a type": func(f *footer) any {
			f.Schema[0].Type = thrift.Null[format.Type]{V: format.Int64, Valid: true}
			return f
		},
		"more column chunks than columns": func(f *footer) any {
			f.RowGroups[0].Columns = append(f.RowGroups[0].Columns, f.RowGroups[0].Columns[0])
			return f
		},
		"header of the dictionary is not counted": func(f *footer) any {
			f.RowGroups[0].Columns[0].MetaData.TotalCompressedSize -= 14
			return f
		},
	} {
		if got, want := readAll(t, rewrite(t, content, change)), []string{"x|y|", "x|z|"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// TestUnknownCodec checks that only a column that is read needs a codec, and what the error says.
func TestUnknownCodec(t *testing.T) {
	content := rewrite(t, write(t, library.Group{"a": library.String(), "b": library.String()}, []string{"x", "y"}), func(f *footer) any {
		f.RowGroups[0].Columns[1].MetaData.Codec = format.LZO
		return f
	})
	r := bytes.NewReader(content)
	f, err := Open(r, r.Size())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openRows(f, 0, []int{0}, content); err != nil {
		t.Error(err)
	}
	if _, err := openRows(f, 0, []int{1}, content); err == nil || !strings.Contains(err.Error(), `column "b" is compressed with LZO, which cannot be read`) {
		t.Errorf("got %v, want that LZO cannot be read", err)
	}
}

// TestVariant checks that the bytes in a VARIANT column are read as hexadecimal, not as text.
func TestVariant(t *testing.T) {
	bytesElement := format.SchemaElement{Type: thrift.Null[format.Type]{V: format.ByteArray, Valid: true}}
	textElement := bytesElement
	textElement.LogicalType.Value = &format.StringType{}
	group := func(children int32, logical format.LogicalTypeValue) format.SchemaElement {
		return format.SchemaElement{NumChildren: thrift.Null[int32]{V: children, Valid: true}, LogicalType: format.LogicalType{Value: logical}}
	}
	leaves := leafElements([]format.SchemaElement{
		group(3, nil), bytesElement, group(3, &format.VariantType{}), bytesElement, group(2, nil), bytesElement, textElement, bytesElement, bytesElement,
	})
	got := ""
	for _, e := range leaves {
		switch e.LogicalType.Value.(type) {
		case *format.VariantType:
			got += "v"
		case *format.StringType:
			got += "s"
		default:
			got += "b"
		}
	}
	if want := "bvvsvb"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestBytesAfterValues decodes pages that contain bytes after the last value.
func TestBytesAfterValues(t *testing.T) {
	page := []byte("\x01\x00\x00\x00a\x00\x00\x00\x00\x08\xfc")
	p := encodings[format.Plain]
	values, offsets, err := p.DecodeByteArray(nil, page, make([]uint32, 3))
	if want := []uint32{0, 1, 1}; err != nil || string(values) != "a" || !slices.Equal(offsets, want) {
		t.Errorf("got %q, %v, %v, want the texts a and none", values, offsets, err)
	}
	for _, damaged := range []string{"\x05\x00\x00\x00abcd", "\xff\xff\xff\xffabcd", "\x01"} {
		if _, _, err := p.DecodeByteArray(nil, []byte(damaged), nil); err == nil {
			t.Errorf("%q: got no error", damaged)
		}
	}
}
