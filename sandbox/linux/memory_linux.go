package linux

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const pathMax = 4096 // PATH_MAX of linux/limits.h, with the final NUL

// ReadPath reads the string at an address of the caller, without its NUL, as the
// kernel would: one that is not ended within PATH_MAX is ENAMETOOLONG. The
// caller's other threads can change it at any time, so it is good for refusing
// and reporting, never for granting. ErrGone when the caller does not wait any
// more.
func (l *Listener) ReadPath(c Call, addr uint64) (string, error) {
	var path []byte
	for len(path) < pathMax {
		part, err := l.ReadMemory(c, addr, chunk(addr, pathMax-len(path)))
		if err != nil {
			return "", err
		}
		if s, _, ended := bytes.Cut(part, []byte{0}); ended {
			return string(append(path, s...)), nil
		}
		path = append(path, part...)
		addr += uint64(len(part))
	}
	return "", unix.ENAMETOOLONG
}

// chunk is the way to the end of the page, at most limit: the next page need not
// be there.
func chunk(addr uint64, limit int) int {
	const page = 4096 // the smallest of both architectures
	return min(limit, page-int(addr%page))
}

// ReadSockaddr reads an address argument once. The bytes that were parsed are
// the bytes to use: the caller's memory may hold others a moment later.
func (l *Listener) ReadSockaddr(c Call, addr, size uint64) (Sockaddr, []byte, error) {
	// The kernel takes the size as int; a negative or long one is EINVAL.
	n := int32(size)
	if n < 0 || n > maxSockaddr {
		return Sockaddr{}, nil, unix.EINVAL
	}
	raw, err := l.ReadMemory(c, addr, int(n))
	if err != nil {
		return Sockaddr{}, nil, err
	}
	s, err := ParseSockaddr(raw)
	return s, raw, err
}

// ReadMemory reads exactly n bytes at an address of the caller; EFAULT when they
// are not all there. A caller that is not visible here cannot be read.
func (l *Listener) ReadMemory(c Call, addr uint64, n int) ([]byte, error) {
	if c.PID <= 0 {
		return nil, fmt.Errorf("memory of the caller: %w", os.ErrProcessDone)
	}
	if n == 0 {
		return nil, nil
	}
	b, err := readMemory(c.PID, addr, n)
	if !l.Valid(c.ID) {
		return nil, ErrGone
	}
	return b, err
}

func readMemory(pid int, addr uint64, n int) ([]byte, error) {
	b := make([]byte, n)
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(n)
	got, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(addr), Len: n}}, 0)
	switch {
	case err == nil && got == n:
		return b, nil
	case err == nil, errors.Is(err, unix.EFAULT):
		return nil, unix.EFAULT
	}
	// ENOSYS without CONFIG_CROSS_MEMORY_ATTACH, EPERM where an outer filter
	// refuses the call.
	return readMemoryFile(pid, addr, b)
}

func readMemoryFile(pid int, addr uint64, b []byte) ([]byte, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return nil, fmt.Errorf("memory of the caller: %w", err)
	}
	defer f.Close()
	got, err := unix.Pread(int(f.Fd()), b, int64(addr))
	switch {
	case err == nil && got == len(b):
		return b, nil
	case err == nil, errors.Is(err, unix.EIO), errors.Is(err, unix.EINVAL):
		return nil, unix.EFAULT
	}
	return nil, fmt.Errorf("memory of the caller: %w", err)
}
