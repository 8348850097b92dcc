// Package tune searches the parameters of a scheme, so that schemes can be compared each at its
// best.
//
// A Plan names a scenario, a scheme, and a metric whose lowest or highest value is wanted. The
// search is successive halving (K. Jamieson, A. Talwalkar, "Non-stochastic Best Arm Identification
// and Hyperparameter Optimization", AISTATS 2016, Fig. 3). Of n trials, the first has the
// parameters of the scheme's source, and each other one values that are drawn at random within the
// ranges (sets.Range). In each of log2(n) rounds all trials that are left run with new seeds, the
// same for all of them, and the better half by the mean over all seeds so far goes on. A round has
// half of the trials of the one before, and so many seeds that it has about as many runs: bad
// parameters cost few runs, and good ones are told apart by many.
//
// The trial that is left is then judged next to the source's parameters, by pairs of runs with one
// seed. These seeds are not those of the search: the best of many noisy means is better than its
// true value on the seeds that chose it, so they would show a gain where there is none. The gain is
// the mean of the paired differences, with its 95 % interval; if that contains zero, the result
// says that tuning gains nothing that these seeds show.
//
// All draws follow from Plan.Seed and the number of a trial, so a search is repeated exactly, and
// one with more trials begins with the same. Drawn values with which the scenario is invalid, such
// as a minimum above the maximum, are drawn again.
//
// Each round is a plan of package sweep, whose runs can be shared like those of a sweep. Since a
// round follows from the results of those before, a call that does a share does its share of one
// round. The directory has
//
//	cells/              a file for each finished run, as of a sweep
//	trials.csv          a row for each trial: its values, rounds, seeds and mean
//	tune.json           the whole Result
//	tune.svg            the trials, and the judgement
//	report.html         both, with the ranges and their sources
//	SCHEME-tuned.yaml   the best parameters, as fabemu sweep --scheme takes them
//
// # Limitations
//
// Values are drawn independently of one another and of earlier results: with many parameters, most
// of the space is not visited. A parameter that is a word is not searched. The best trial is best
// for this scenario, this metric and these ranges.
package tune
