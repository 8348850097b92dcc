// Package sets chooses the parameters of schemes for a fabric, and says where each value comes
// from.
//
// An algorithm or a congestion point may have sets of parameters, each from one source: a paper,
// the defaults of a vendor, the configuration of a published simulator (package param has the
// tags). A set knows for which link rates and round trips it was made, and may have rules by which
// its source computes values for others. A Place is the fabric as such rules see it. Choose takes
// the first set that was made for its rate, or else the first with rules for other rates, or else
// the usual one. Rows lists all values that a scenario uses.
//
// # Limitations
//
// A Place has one rate and one round trip, the highest and the longest. Of a fabric with many edge
// switches, paths from some of them are measured, at equal distances in their order.
package sets
