//go:build !race

package sandbox

// atOnce is how many connections a flood holds open together. Each takes up to
// six descriptors of the supervisor (two sockets, and a pipe of each direction's
// splice), and a usual limit is 20,000.
const atOnce = 3000
