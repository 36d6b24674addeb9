package proxy

import (
	"encoding/binary"
	"net/netip"
	"sync"
)

// Stand-in addresses: what a looked-up name answers inside, where every address
// is local. A connection to one leads back to the name, which is then judged
// and resolved like any other. Neither range is routed anywhere:
var (
	standIn4 = netip.MustParsePrefix("198.18.0.0/15")       // RFC 2544, benchmarks
	standIn6 = netip.MustParsePrefix("fd67:6f73:7274::/96") // RFC 4193, "gosrt" in ASCII
)

const (
	// firstStandIn leaves the network's and the namespace's own address out.
	firstStandIn = 2
	// maxStandIns bounds the memory that a command can fill with names of an
	// allowed wildcard. The oldest goes first.
	maxStandIns = 1 << 16
)

// standIns numbers names; a number gives one address of each family.
type standIns struct {
	mu     sync.Mutex
	number map[string]uint32
	names  []string // by number, less firstStandIn
	next   int      // the place to take once all are taken
}

// of returns the addresses that stand for name.
func (s *standIns) of(name string) (v4, v6 netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, known := s.number[name]
	if !known {
		n = s.add(name)
	}
	return offset(standIn4.Addr(), n), offset(standIn6.Addr(), n)
}

func (s *standIns) add(name string) uint32 {
	if s.number == nil {
		s.number = map[string]uint32{}
	}
	at := len(s.names)
	if at < maxStandIns {
		s.names = append(s.names, name)
	} else {
		at = s.next
		s.next = (s.next + 1) % maxStandIns
		delete(s.number, s.names[at])
		s.names[at] = name
	}
	n := uint32(at + firstStandIn)
	s.number[name] = n
	return n
}

// name is what a stands for: in one of the ranges, nothing where no name has it.
func (s *standIns) name(a netip.Addr) (name string, inRange bool) {
	if !standIn4.Contains(a) && !standIn6.Contains(a) {
		return "", false
	}
	n := low32(a) - low32(standIn6.Addr())
	if a.Is4() {
		n = low32(a) - low32(standIn4.Addr())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := int64(n) - firstStandIn; at >= 0 && at < int64(len(s.names)) {
		return s.names[at], true
	}
	return "", true
}

func offset(base netip.Addr, n uint32) netip.Addr {
	b := base.AsSlice()
	low := b[len(b)-4:]
	binary.BigEndian.PutUint32(low, binary.BigEndian.Uint32(low)+n)
	a, _ := netip.AddrFromSlice(b)
	return a
}

func low32(a netip.Addr) uint32 {
	b := a.AsSlice()
	return binary.BigEndian.Uint32(b[len(b)-4:])
}
