// Package archtest holds the import graph. It has no code of its own: its test
// asks the go command which package imports which, on every platform, and
// compares the answer with one table of rows.
package archtest
