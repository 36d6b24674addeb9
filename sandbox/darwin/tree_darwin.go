package darwin

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// tree knows the processes that a command started, also those that left its
// process group. macOS has no process namespace: a process that forks twice
// between two looks is lost, which docs/platforms.md says.
type tree struct {
	mu    sync.Mutex
	known map[int]int64 // pid -> start time, so that a reused pid is not taken for it
	stop  chan struct{}
	done  chan struct{}
}

// lookEvery is the pause between two looks at the process table when no fork
// was announced.
const lookEvery = 50 * time.Millisecond

// settle is how long a process may take to end after SIGTERM at the end of a run.
const settle = 100 * time.Millisecond

// followTree looks whenever a known process forks, and at intervals.
func followTree(root int) *tree {
	t := &tree{known: map[int]int64{}, stop: make(chan struct{}), done: make(chan struct{})}
	t.look(root)
	go t.follow(root)
	return t
}

func (t *tree) follow(root int) {
	defer close(t.done)
	kq, err := unix.Kqueue()
	if err == nil {
		unix.CloseOnExec(kq)
		defer unix.Close(kq)
	}
	watched := map[int]bool{}
	events := make([]unix.Kevent_t, 16)
	pause := unix.NsecToTimespec(int64(lookEvery))
	for {
		select {
		case <-t.stop:
			return
		default:
		}
		if err != nil {
			time.Sleep(lookEvery)
		} else {
			t.watch(kq, watched)
			unix.Kevent(kq, nil, events, &pause)
		}
		t.look(root)
	}
}

// watch asks to be told when a known process forks.
func (t *tree) watch(kq int, watched map[int]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for pid := range t.known {
		if watched[pid] {
			continue
		}
		watched[pid] = true
		ev := unix.Kevent_t{Fflags: unix.NOTE_FORK | unix.NOTE_EXIT}
		unix.SetKevent(&ev, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_CLEAR)
		unix.Kevent(kq, []unix.Kevent_t{ev}, nil, nil)
	}
}

// look adds the group's members and the children of known processes.
func (t *tree) look(root int) {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for grown := true; grown; {
		grown = false
		for i := range table {
			k := &table[i]
			pid := int(k.Proc.P_pid)
			if _, is := t.known[pid]; is {
				continue
			}
			_, child := t.known[int(k.Eproc.Ppid)]
			if child || pid == root || int(k.Eproc.Pgid) == root {
				t.known[pid] = started(k)
				grown = true
			}
		}
	}
}

func started(k *unix.KinfoProc) int64 {
	return k.Proc.P_starttime.Sec*1e6 + int64(k.Proc.P_starttime.Usec)
}

// end ends what is left of the group and of the tree, and waits for it.
func (t *tree) end(group int) {
	close(t.stop)
	<-t.done
	t.look(group)
	unix.Kill(-group, unix.SIGTERM)
	t.signal(unix.SIGTERM)
	for deadline := time.Now().Add(settle); t.signal(0) && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	unix.Kill(-group, unix.SIGKILL)
	t.look(group)
	t.signal(unix.SIGKILL)
}

// signal sends to every known process that still is the one it was, and says
// whether there was one.
func (t *tree) signal(sig unix.Signal) bool {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	any := false
	for i := range table {
		k := &table[i]
		pid := int(k.Proc.P_pid)
		// SZOMB: ended, and not yet collected by its parent (sys/proc.h).
		if since, is := t.known[pid]; is && since == started(k) && k.Proc.P_stat != zombie {
			any = true
			unix.Kill(pid, sig)
		}
	}
	return any
}

// zombie is SZOMB of sys/proc.h.
const zombie = 5
