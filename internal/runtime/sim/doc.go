// Package sim runs whole jobs on one goroutine, the next step chosen by a seed: a
// store and targets that fail, do and report failure, or do twice; a process that dies
// between any two steps and starts again at another parallelism. What a sink holds in
// the end is compared with a computation over the rows in memory.
package sim
