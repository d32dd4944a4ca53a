package glm

import (
	"fmt"
	"math"
	"testing"
)

// wanted is a row of a table of coefficients.
type wanted struct {
	name                      string
	estimate, error, ratio, p float64
}

// TestPublishedFits compares fits of published data with certified or exact values to 10 digits.
//
//   - Longley: certified values of the Statistical Reference Datasets of NIST. The tables' columns t and p were
//     computed with testdata/expected.py, which gives the same estimates and standard errors.
//   - Dobson's randomized controlled trial, an example of ?glm in R: the estimates are logarithms of quotients of
//     totals, log 21, log 40/63, log 47/63, 0 and 0.
//   - Motor trend cars (mtcars in R), am by wt, and by wt and hp with a ridge: testdata/expected.py with 60 digits. R
//     prints 12.040 and -4.024 for the first.
func TestPublishedFits(t *testing.T) {
	for _, c := range []struct {
		file, family, target, columns string
		ridge                         float64
		want                          []wanted
		deviance, null, aic           float64
	}{
		{"longley.csv", "linear", "employed", "deflator,gnp,unemployed,armed,population,year", 0, []wanted{
			{"(intercept)", -3482258.63459582, 890420.383607373, -3.9108029181543388, 0.0035604036637262307},
			{"deflator", 15.0618722713733, 84.9149257747669, 0.17737602822999857, 0.86314083280921453},
			{"gnp", -0.358191792925910e-01, 0.334910077722432e-01, -1.0695163172210476, 0.31268106109271112},
			{"unemployed", -2.02022980381683, 0.488399681651699, -4.1364273559407128, 0.0025350917341112787},
			{"armed", -1.03322686717359, 0.214274163161675, -4.8219853104454606, 0.00094436676416179346},
			{"population", -0.511041056535807e-01, 0.226073200069370, -0.22605114466420374, 0.82621179576364699},
			{"year", 1829.15146461355, 455.478499142212, 4.0158898127097853, 0.0030368033416302891},
		}, 836424.055505915, 185008826, 235.23486961696112},
		{"dobson.csv", "poisson", "counts", "outcome2,outcome3,treatment2,treatment3", 0, []wanted{
			{"(intercept)", math.Log(21), 0.17089865185644153, 17.814783233520683, 5.4267710246118098e-71},
			{"outcome2", math.Log(40.0 / 63), 0.20217075919384552, -2.2468890856864568, 0.024647116411295197},
			{"outcome3", math.Log(47.0 / 63), 0.19274234515979285, -1.5200973322109026, 0.12848651501350605},
			{"treatment2", 0, 0.2, 0, 1},
			{"treatment3", 0, 0.2, 0, 1},
		}, 5.1291410770011482, 10.581445863750861, 56.761318401957674},
		{"mtcars.csv", "logistic", "am", "wt", 0, []wanted{
			{"(intercept)", 12.040369728657322, 4.5100662389667597, 2.6696658298783052, 0.0075926770167899881},
			{"wt", -4.0239699621732014, 1.4365277526235584, -2.8011780174968059, 0.0050916423069714346},
		}, 19.176084807445084, 43.229733276857806, 23.176084807445084},
		{"mtcars.csv", "logistic", "am", "wt,hp", 0.5, []wanted{
			{"(intercept)", 7.5389351604247071, 2.3032833985172154, 3.2731252981192184, 0.0010636531478790274},
			{"wt", -3.2408764602713024, 0.87761785348138448, -3.6928105409606347, 0.00022178925700296506},
			{"hp", 0.01401787988369153, 0.0081265354362317454, 1.7249515483798329, 0.084536204596901993},
		}, 15.407457845078718, 43.229733276857806, 21.407457845078718},
	} {
		t.Run(fmt.Sprint(c.file, c.ridge), func(t *testing.T) {
			p := params(c.family, c.target, c.columns)
			p.Ridge = c.ridge
			r, err := fitRows(p, rowsOf(t, c.file, p), 1000)
			if err != nil {
				t.Fatal(err)
			}
			check := func(what string, got, want float64) {
				t.Helper()
				if want == 0 && (got > 1e-14 || got < -1e-14) || want != 0 && !near(got, want, 10) {
					t.Errorf("%s is %.17g, want %.17g", what, got, want)
				}
			}
			for i, w := range c.want {
				got := r.Coefficients[i]
				if got.Name != w.name || got.Statistic == nil {
					t.Fatalf("coefficient %d is %+v, want %s", i, got, w.name)
				}
				check(w.name, got.Estimate, w.estimate)
				check(w.name+": standard error", got.Error, w.error)
				check(w.name+": statistic", *got.Statistic, w.ratio)
				check(w.name+": p", *got.P, w.p)
			}
			check("deviance", r.Deviance, c.deviance)
			check("null deviance", r.NullDeviance, c.null)
			check("AIC", *r.AIC, c.aic)
			t.Logf("%d iterations", r.Iterations)
		})
	}
}
