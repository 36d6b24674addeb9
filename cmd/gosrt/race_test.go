//go:build race

package main

// raceDetector: a gosrt process then starts in about a second, not in 30 ms.
const raceDetector = true
