package stage

import "syscall"

// Status is how the command ended, or why it never ran.
type Status struct {
	// Ran says that the command was started; everything else but Missing,
	// NotExecutable and Detail is about a command that ran.
	Ran bool
	// Code is the exit status when Signal is zero.
	Code int
	// Signal ended the command; zero when it exited by itself.
	Signal syscall.Signal
	Core   bool
	// Missing: the command was not found. NotExecutable: found but could not be
	// executed. Detail says what was tried and the error.
	Missing, NotExecutable bool
	Detail                 string
}

func (s Status) encode() []byte {
	var w writer
	w.flag(s.Ran)
	w.number(uint64(s.Code))
	w.number(uint64(s.Signal))
	w.flag(s.Core)
	w.flag(s.Missing)
	w.flag(s.NotExecutable)
	w.text(s.Detail[:min(len(s.Detail), maxMessage/2)])
	return w
}

// DecodeStatus reads the payload of MsgExit.
func DecodeStatus(data []byte) (Status, error) {
	r := reader{rest: data}
	s := Status{
		Ran: r.flag(), Code: int(r.number()), Signal: syscall.Signal(r.number()), Core: r.flag(),
		Missing: r.flag(), NotExecutable: r.flag(), Detail: r.text(),
	}
	return s, r.end()
}
