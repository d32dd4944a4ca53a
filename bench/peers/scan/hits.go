package scan

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// hitsColumns are the columns of ClickBench's table hits, each with the kind of its values.
const hitsColumns = `WatchID:id JavaEnable:bit Title:title GoodEvent:1 EventTime:time EventDate:date CounterID:counter ClientIP:ip RegionID:region
UserID:user CounterClass:bit OS:tens UserAgent:tens URL:url Referer:referer IsRefresh:rare RefererCategoryID:thousands RefererRegionID:region URLCategoryID:thousands
URLRegionID:region ResolutionWidth:width ResolutionHeight:width ResolutionDepth:tens FlashMajor:tens FlashMinor:tens FlashMinor2:seldom NetMajor:tens
NetMinor:tens UserAgentMajor:tens UserAgentMinor:letters CookieEnable:1 JavascriptEnable:1 IsMobile:rare MobilePhone:phone MobilePhoneModel:model
Params:seldom IPNetworkID:ip TraficSourceID:traffic SearchEngineID:engine SearchPhrase:phrase AdvEngineID:rare IsArtifical:0 WindowClientWidth:width
WindowClientHeight:width ClientTimeZone:thousands ClientEventTime:time SilverlightVersion1:tens SilverlightVersion2:tens
SilverlightVersion3:thousands SilverlightVersion4:tens PageCharset:letters CodeVersion:thousands IsLink:rare IsDownload:rare IsNotBounce:bit FUniqID:id
OriginalURL:seldom HID:ip IsOldCounter:0 IsEvent:0 IsParameter:0 DontCountHits:rare WithHash:0 HitColor:letters LocalEventTime:time Age:tens Sex:tens
Income:tens Interests:thousands Robotness:tens RemoteIP:ip WindowName:thousands OpenerName:thousands HistoryLength:tens BrowserLanguage:letters
BrowserCountry:letters SocialNetwork:seldom SocialAction:seldom HTTPError:0 SendTiming:thousands DNSTiming:tens ConnectTiming:tens
ResponseStartTiming:thousands ResponseEndTiming:thousands FetchTiming:thousands SocialSourceNetworkID:0 SocialSourcePage:seldom ParamPrice:0
ParamOrderID:seldom ParamCurrency:letters ParamCurrencyID:0 OpenstatServiceName:seldom OpenstatCampaignID:seldom OpenstatAdID:seldom
OpenstatSourceID:seldom UTMSource:seldom UTMMedium:seldom UTMCampaign:seldom UTMContent:seldom UTMTerm:seldom FromTag:seldom HasGCLID:0
RefererHash:refererhash URLHash:urlhash CLID:thousands`

// writeHits writes a CSV file with the columns of hits, and about 680 bytes a row.
func writeHits(ctx context.Context, w io.Writer, rows uint64) error {
	var names, kinds []string
	for _, column := range strings.Fields(hitsColumns) {
		name, kind, _ := strings.Cut(column, ":")
		names, kinds = append(names, name), append(kinds, kind)
	}
	if _, err := fmt.Fprintln(w, strings.Join(names, ",")); err != nil {
		return err
	}
	h := newHits(rows)
	var line []byte
	for n := range rows {
		if n%(1<<16) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line, h.at = line[:0], time.Date(2013, 7, 1+h.IntN(31), h.IntN(24), h.IntN(60), h.IntN(60), 0, time.UTC)
		for _, kind := range kinds {
			line = append(h.append(line, kind), ',')
		}
		line[len(line)-1] = '\n'
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// hits draws the values of rows. Few pages, users, phrases, regions and counters are frequent, and many are rare.
type hits struct {
	*rand.Rand
	at                                      time.Time // time of the row
	pages, phrases, users, regions, counter *rand.Zipf
}

func newHits(rows uint64) *hits {
	random := rand.New(rand.NewPCG(1, 2))
	return &hits{
		Rand: random, pages: rand.NewZipf(random, 1.1, 5, rows/6), phrases: rand.NewZipf(random, 1.05, 3, rows/8),
		users: rand.NewZipf(random, 1.1, 4, rows/5), regions: rand.NewZipf(random, 1.3, 2, 8000), counter: rand.NewZipf(random, 1.3, 2, 6000),
	}
}

// append appends a value of a kind.
func (h *hits) append(line []byte, kind string) []byte {
	switch kind {
	case "0", "1":
		return append(line, kind...)
	case "bit":
		return h.below(line, 2)
	case "tens":
		return h.below(line, 50)
	case "thousands":
		return h.below(line, 3000)
	case "rare":
		return h.one(line, 15, "0", "1", "2")
	case "traffic":
		return strconv.AppendInt(line, int64(h.IntN(9)-1), 10)
	case "phone":
		return strconv.AppendInt(line, int64(h.IntN(10)*h.IntN(2)), 10)
	case "engine":
		return h.one(line, 5, "0", "2", "3")
	case "model":
		return h.one(line, 10, "", "iPad", "iPhone", "N8", "GT-I9300")
	case "seldom":
		return h.one(line, 50, "", "abc")
	case "width":
		return h.one(line, 1, "", "1366", "1024", "1920", "1638", "800", "1280")
	case "letters":
		return append(line, byte('A'+h.IntN(20)), byte('a'+h.IntN(20)))
	case "time":
		return h.at.AppendFormat(line, time.DateTime)
	case "date":
		return h.at.AppendFormat(line, time.DateOnly)
	case "refererhash":
		return h.hash(line, "3594120000172545465")
	case "urlhash":
		return h.hash(line, "2868770270353813622")
	case "id":
		return strconv.AppendInt(line, int64(h.Uint64()), 10)
	}
	return h.appendFrequent(line, kind)
}

// appendFrequent appends a value of a kind of which some values are frequent.
func (h *hits) appendFrequent(line []byte, kind string) []byte {
	switch kind {
	case "region":
		return strconv.AppendUint(line, h.regions.Uint64(), 10)
	case "ip":
		return strconv.AppendInt(line, int64(int32(h.users.Uint64()*2654435761)), 10)
	case "user":
		if h.IntN(10_000) == 0 {
			return append(line, "435090932899640449"...)
		}
		return strconv.AppendUint(line, h.users.Uint64()*11400714819323198485>>1, 10)
	case "counter":
		if h.IntN(8) == 0 {
			return append(line, "62"...)
		}
		return strconv.AppendUint(line, h.counter.Uint64(), 10)
	case "title":
		line = appendWords(append(line, '"'), h.pages.Uint64(), 9)
		return append(h.one(line, 40, "", " Google"), ", page\""...)
	case "phrase":
		if h.IntN(7) > 0 {
			return line
		}
		return appendWords(line, h.phrases.Uint64(), 4)
	case "referer":
		if h.IntN(5) == 0 {
			return line
		}
	}
	return appendURL(line, h.pages.Uint64())
}

// below appends an integer below n.
func (h *hits) below(line []byte, n int) []byte { return strconv.AppendInt(line, int64(h.IntN(n)), 10) }

// one appends, once in n times, one of other values.
func (h *hits) one(line []byte, n int, mostly string, others ...string) []byte {
	if h.IntN(n) > 0 {
		return append(line, mostly...)
	}
	return append(line, others[h.IntN(len(others))]...)
}

// hash appends a hash that is often the one that a query selects.
func (h *hits) hash(line []byte, selected string) []byte {
	if h.IntN(10) == 0 {
		return append(line, selected...)
	}
	return strconv.AppendInt(line, int64(h.Uint64()), 10)
}

var (
	words = strings.Fields("квартира купить фильм смотреть онлайн бесплатно новости погода москва карта игра скачать музыка авто работа google форум рецепты видео фото 2013 отзывы цена магазин")
	sites = strings.Fields("http://news.example.org/ https://www.google.ru/search/ http://shop.example.org/index/ http://auto.example.ru/cars/ http://video.example.com/watch/ http://state.example.net/")
)

// appendWords appends the words of a text with a number.
func appendWords(line []byte, number uint64, most int) []byte {
	random := rand.New(rand.NewPCG(number, 7))
	for i := range 2 + random.IntN(most) {
		if i > 0 {
			line = append(line, ' ')
		}
		line = append(line, words[random.IntN(len(words))]...)
	}
	return line
}

// appendURL appends the address of a page with a number.
func appendURL(line []byte, page uint64) []byte {
	line = append(line, sites[page%uint64(len(sites))]...)
	line = strconv.AppendUint(line, page*2654435761, 36)
	line = strconv.AppendUint(append(line, "/item/page.html?id="...), page, 10)
	return append(line, "&lang=ru&from=main"...)
}
