// Package report turns what happened in a run into what people and programs
// read: one place cuts text from inside to a line, makes it printable, removes
// secrets, counts repetitions and bounds the number of entries.
//
//	Log      the denials of one run, the last ones and how many there were
//	Writer   JSON lines for --report, the run's own record and the audit log
//	Read     reads such lines back, for gosrt ps
//	Overview a record as rows of printable text; Page renders it as HTML
//
// It decides nothing and prints nothing: cmd/gosrt does. What is denied is
// policy's word; who noticed it, proxy's or the guard's.
package report
