// Package reign is one term of leading, from the fence to the last checkpoint.
package reign
