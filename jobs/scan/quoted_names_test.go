package scan

import (
	"strings"
	"testing"
)

// TestQuotedNames uses columns in where whose names are no identifiers.
func TestQuotedNames(t *testing.T) {
	table := write(t, "sales.csv", "unit price,order-id,a.b,in\n5,x1,7,1\n9,,8,2\n")
	members := write(t, "a.ndjson", "{\"a\":{\"b\":1},\"c-d\":\"x\"}\n{\"a\":{\"b\":2},\"c-d\":\"y\"}\n")
	for _, c := range []struct{ name, query, want string }{
		{table, `columns=order-id,in;where=$env["unit price"] < 6`, `"rows":[["x1","1"]]`},
		{table, `columns=in;where=$env['unit price'] * 2 == 18 and $env["order-id"] == ""`, `"rows":[["2"]]`},
		{table, `columns=in;where=len($env["order-id"]) == 2`, `"rows":[["1"]]`},
		{table, `columns=in;where=$env?.["order-id"] startsWith "x"`, `"rows":[["1"]]`},
		{table, `columns=order-id;where=$env["in"] == 1 or $env["a.b"] in ["9"]`, `"rows":[["x1"]]`},
		{table, `by=order-id;aggregate=sum(unit price);where=not ($env["a.b"] <= 7)`, `"rows":[["","9"]]`},
		{table, `aggregate=count;where=$env["a.b"] > $env["unit price"]`, `"rows":[[1]]`},
		{table, `by=order-id;aggregate=sum(unit price);having=$env["order-id"] != "" and sum(unit price) > 4`, `"rows":[["x1","5"]]`},
		{members, `columns=c-d;where=$env["a.b"] == 2`, `"rows":[["y"]]`},
		{table, `columns=in;where=unit price > 5`, `a name with spaces is written as in $env["unit price"])`},
		{table, `columns=in;where=order-id == ""`, `there is no column "order": the columns are unit price, order-id, a.b, in (in the parameter where, the column "order-id" is written as $env["order-id"])`},
		{members, `columns=c-d;where=a.b == 2`, `"rows":[["y"]]`},
		{members, `columns=c-d;where=a.b == 2 or a["b"] in [3]`, `"rows":[["y"]]`},
		{members, `let=n = a.b * 10 + a.b;columns=n`, `"rows":[["11"],["22"]]`},
		{members, `by=a.b;aggregate=count;having=a.b > 1 and count < 2`, `"rows":[["2",1]]`},
		{members, `columns=c-d;where=len(a.b) == 1 and a.b matches "^2"`, `"rows":[["y"]]`},
		{members, `columns=c-d;where=a.c == 2`, `there is no column "a.c": the columns are a, c-d`},
		{members, `columns=c-d;where=a.b.c == 2`, `there is no column "a.b.c": the columns are a, c-d`},
		{members, `where=a.b == 2`, `(if a is an object with members, give the parameter columns, with which members are columns too)`},
		{table, `columns=in;where=a.b > 7`, `"rows":[["2"]]`},
		{table, `columns=in;where=$env["a"]["b"] > 7`, `"rows":[["2"]]`},
		{table, `columns=in.n.m`, `(in has no such member; if its texts are JSON objects, give let='x = json(in, "n.m")', and use x)`},
		{table, `by=unit price.n;aggregate=count`, `give let='x = json($env["unit price"], "n")', and use x)`},
		{table, `columns=in;where=a.c > 7`, `there is no column "a.c"`},
		{table, `columns=in;where=$env[order] > 7`, `$env takes the name of a column in quotes, as in $env["unit price"]`},
		{table, `columns=in;where=$env["price"] > 7`, `there is no column "price": the columns are unit price, order-id, a.b, in (in the parameter where, the column "unit price" is written as $env["unit price"])`},
		{table, `columns=order;where=$env["in"] == 1`, `there is no column "order": the columns are unit price, order-id, a.b, in`},
		{members, `columns=c-d;where=c-d == "x"`, `there is no column "c": the columns are a, c-d (if later records have it, add it to the parameter names) (in the parameter where, the column "c-d" is written as $env["c-d"])`},
	} {
		got, err := scan(t, append(strings.Split(c.query, ";"), "input="+c.name)...)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: got %.400s, want %s", c.query, got, c.want)
		}
		if strings.Contains(c.query, "columns=order;") && strings.Contains(got, env) {
			t.Errorf("%s: got %s, want no hint, because the condition has no such name", c.query, got)
		}
	}
}
