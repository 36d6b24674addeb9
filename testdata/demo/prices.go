// Package shop is what the demo works on.
package shop

// Total is the price of n pieces in cents, one in ten of them free.
func Total(n, cents int) int { return (n - n/10) * cents }
