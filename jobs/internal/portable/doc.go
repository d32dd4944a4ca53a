// Package portable has functions of package math whose results have the same bits on every processor. Each product
// is rounded before it is added, because Go's compiler fuses multiplication and addition on some architectures, and
// math.Exp and math.Log differ in the last bit between processors.
package portable
