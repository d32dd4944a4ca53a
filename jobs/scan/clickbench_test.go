package scan

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// clickBench contains the 43 queries of ClickBench as parameters, separated by |. An order by a column that is not in the
// result of a query needs the column in the result.
// Queries without an order have the order of their groups.
var clickBench = []string{
	`aggregate=count`,
	`aggregate=count|where=AdvEngineID != 0`,
	`aggregate=sum(AdvEngineID),count,mean(ResolutionWidth)`,
	`aggregate=mean(UserID)`,
	`aggregate=distinct(UserID)`,
	`aggregate=distinct(SearchPhrase)`,
	`aggregate=min(EventDate),max(EventDate)`,
	`by=AdvEngineID|aggregate=count|where=AdvEngineID != 0|order=-count`,
	`by=RegionID|aggregate=distinct(UserID)|order=-distinct(UserID)|limit=10`,
	`by=RegionID|aggregate=sum(AdvEngineID),count,mean(ResolutionWidth),distinct(UserID)|order=-count|limit=10`,
	`by=MobilePhoneModel|aggregate=distinct(UserID)|where=MobilePhoneModel != ''|order=-distinct(UserID)|limit=10`,
	`by=MobilePhone,MobilePhoneModel|aggregate=distinct(UserID)|where=MobilePhoneModel != ''|order=-distinct(UserID)|limit=10`,
	`by=SearchPhrase|aggregate=count|where=SearchPhrase != ''|order=-count|limit=10`,
	`by=SearchPhrase|aggregate=distinct(UserID)|where=SearchPhrase != ''|order=-distinct(UserID)|limit=10`,
	`by=SearchEngineID,SearchPhrase|aggregate=count|where=SearchPhrase != ''|order=-count|limit=10`,
	`by=UserID|aggregate=count|order=-count|limit=10`,
	`by=UserID,SearchPhrase|aggregate=count|order=-count|limit=10`,
	`by=UserID,SearchPhrase|aggregate=count|limit=10`,
	`let=m = minute(EventTime)|by=UserID,m,SearchPhrase|aggregate=count|order=-count|limit=10`,
	`columns=UserID|where=UserID == 435090932899640449`,
	`aggregate=count|where=like(URL, '%google%')`,
	`by=SearchPhrase|aggregate=min(URL),count|where=like(URL, '%google%') and SearchPhrase != ''|order=-count|limit=10`,
	`by=SearchPhrase|aggregate=min(URL),min(Title),count,distinct(UserID)|where=like(Title, '%Google%') and not like(URL, '%.google.%') and SearchPhrase != ''|order=-count|limit=10`,
	`where=like(URL, '%google%')|order=EventTime|limit=10`,
	`columns=SearchPhrase,EventTime|where=SearchPhrase != ''|order=EventTime|limit=10`,
	`columns=SearchPhrase|where=SearchPhrase != ''|order=SearchPhrase|limit=10`,
	`columns=SearchPhrase,EventTime|where=SearchPhrase != ''|order=EventTime,SearchPhrase|limit=10`,
	`let=l = len(URL)|by=CounterID|aggregate=mean(l),count|where=URL != ''|having=count > 10|order=-mean(l)|limit=25`,
	`let=k = regexp_replace(Referer, '^https?://(?:www\\.)?([^/]+)/.*$', '$1'); l = len(Referer)|by=k|aggregate=mean(l),count,min(Referer)|where=Referer != ''|having=count > 10|order=-mean(l)|limit=25`,
	`let=` + widths("w%[1]d = ResolutionWidth + %[1]d", "; ") + `|aggregate=sum(ResolutionWidth),` + widths("sum(w%d)", ","),
	`by=SearchEngineID,ClientIP|aggregate=count,sum(IsRefresh),mean(ResolutionWidth)|where=SearchPhrase != ''|order=-count|limit=10`,
	`by=WatchID,ClientIP|aggregate=count,sum(IsRefresh),mean(ResolutionWidth)|where=SearchPhrase != ''|order=-count|limit=10`,
	`by=WatchID,ClientIP|aggregate=count,sum(IsRefresh),mean(ResolutionWidth)|order=-count|limit=10`,
	`by=URL|aggregate=count|order=-count|limit=10`,
	`let=one = 1|by=one,URL|aggregate=count|order=-count|limit=10`,
	`let=a = ClientIP - 1; b = ClientIP - 2; c = ClientIP - 3|by=ClientIP,a,b,c|aggregate=count|order=-count|limit=10`,
	views(`URL != ''`) + `|by=URL|aggregate=count|order=-count|limit=10`,
	views(`Title != ''`) + `|by=Title|aggregate=count|order=-count|limit=10`,
	views(`IsLink != 0 and IsDownload == 0`) + `|by=URL|aggregate=count|order=-count|limit=10|offset=10`,
	views(`1 == 1`) + `|let=Src = SearchEngineID == 0 and AdvEngineID == 0 ? Referer : ''|by=TraficSourceID,SearchEngineID,AdvEngineID,Src,URL|aggregate=count|order=-count|limit=10|offset=10`,
	views(`TraficSourceID in [-1, 6] and RefererHash == 3594120000172545465`) + `|by=URLHash,EventDate|aggregate=count|order=-count|limit=10|offset=1`,
	views(`DontCountHits == 0 and URLHash == 2868770270353813622`) + `|by=WindowClientWidth,WindowClientHeight|aggregate=count|order=-count|limit=10|offset=1`,
	views(`DontCountHits == 0`) + `|let=M = date_trunc('minute', EventTime)|by=M|aggregate=count|order=M|limit=10|offset=10`,
}

// widths joins a form for the numbers 1 to 89.
func widths(form, separator string) string {
	var list []string
	for i := 1; i < 90; i++ {
		list = append(list, fmt.Sprintf(form, i))
	}
	return strings.Join(list, separator)
}

// views returns the parameter where for the views of one counter in a month.
func views(and string) string {
	return `where=CounterID == 62 and EventDate >= '2013-07-01' and EventDate <= '2013-07-31' and IsRefresh == 0 and ` + and
}

// hits returns a table with the columns that the queries of ClickBench use, and with values of their kinds.
func hits(t *testing.T, n int) string {
	random := rand.New(rand.NewPCG(5, 6))
	one := func(list ...string) string { return list[random.IntN(len(list))] }
	number := func(n int) string { return strconv.Itoa(random.IntN(n)) }
	sites := []string{"", "http://google.com/a", "https://www.google.ru/search?q=1", "http://example.com/", "https://www.Example.com/a/b", "about:blank", "http://yandex.ru/ü/%20?x=y"}
	var b strings.Builder
	w := csv.NewWriter(&b)
	rows := [][]string{strings.Split("WatchID,UserID,CounterID,RegionID,AdvEngineID,ResolutionWidth,SearchPhrase,EventDate,EventTime,MobilePhone,MobilePhoneModel,"+
		"SearchEngineID,URL,Title,Referer,ClientIP,IsRefresh,IsLink,IsDownload,TraficSourceID,RefererHash,URLHash,DontCountHits,WindowClientWidth,WindowClientHeight", ",")}
	for range n {
		at := time.Date(2013, 7, 1+random.IntN(35), random.IntN(2), random.IntN(60), random.IntN(60), 0, time.UTC)
		rows = append(rows, []string{
			"9110818468285196" + strconv.Itoa(100+random.IntN(400)), one("435090932899640449", "435090932899640450", "2"+number(50), "3"+number(300)),
			one("62", "62", "62", "7", "8"), number(12), one("0", "0", "0", "2", "13"), one("1024", "1366", "1638", "1920"),
			one("", "", "cat", "dog food", "how to, \"quote\"", "ünï", "karelia"), at.Format(time.DateOnly), at.Format(time.DateTime), number(3), one("", "", "iPad", "N8"),
			one("0", "0", "2", "3"), one(sites[1:]...) + number(5), one("", "Google news", "cats", "News of Google"), one(sites...), "-" + number(40),
			one("0", "0", "0", "1"), one("0", "1"), one("0", "0", "1"), one("-1", "0", "6"), one("3594120000172545465", "7"), one("2868770270353813622", "8"),
			one("0", "0", "1"), number(20), number(20),
		})
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestClickBench runs the queries with two block sizes, and checks that each returns rows.
func TestClickBench(t *testing.T) {
	if len(clickBench) != 43 {
		t.Fatalf("there are %d queries, want 43", len(clickBench))
	}
	name := write(t, "hits.csv", hits(t, 2000))
	for i, query := range clickBench {
		first := ""
		for _, block := range []string{"1000000", "9000"} {
			got, err := scan(t, append(strings.Split(query, "|"), "input="+name, "block="+block)...)
			if err != nil || strings.Contains(got, `"rows":[]`) || first != "" && got != first {
				t.Errorf("query %d, %s, blocks of %s bytes: got %.500s, %v", i, query, block, got, err)
			}
			first = got
		}
		if !strings.Contains(query, "distinct") {
			continue
		}
		_, want, _ := strings.Cut(first, `"rows":`) // distinct is exact for so few values
		exactly, err := scan(t, append(strings.Split(strings.ReplaceAll(query, "distinct", "exact_distinct"), "|"), "input="+name, "block=9000")...)
		if _, got, _ := strings.Cut(exactly, `"rows":`); err != nil || got != want {
			t.Errorf("query %d with exact_distinct: got %.500s, %v, want %.500s", i, got, err, want)
		}
	}
}
