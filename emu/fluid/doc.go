// Package fluid has equations beside the runs: the mean of what many sources and a
// queue do under a law of congestion control, as functions of time that follow from
// one another with delays. A run that follows them does what the law says; where it
// does not, chance or the size of a packet matters.
//
// QCN is the loop of QCN: queue, sampling, notification, reaction point. The approach
// is that of V. Misra, W. Gong, D. Towsley for TCP and RED (SIGCOMM 2000) and of M.
// Alizadeh et al. for QCN ("Data center transport mechanisms: Congestion control theory
// and IEEE standardization", Allerton 2008): what comes at random is replaced by its
// mean. The equations are written down here anew, from the rules of the reaction point
// and not from the text of the latter, so that timer, hyper-active increase and extra
// fast recovery are in them. With
//
//	q        bytes in the queue; r the rate of a source, R its target
//	lambda   notifications that a source takes in per second
//	X, L     integrals of r and of lambda over time
//	S(u, t)  = exp(L(u) - L(t)), the share of the sources notified at u that were not since
//
// they are
//
//	q' = n r - C, between 0 and the memory
//	Fb = (Qeq - q) - w (q - q(one sampling interval ago))
//	lambda = r / interval(Fb) where Fb < 0, half an RTT later
//	r' = - lambda r |Fb|/128 + e (R - r)/2
//	R' = - lambda P (R - r) + the sum over e of the increase of its stage,
//	     or - 7/8 e R in the first cycle, where R is more than ten times r
//
// where e is the rate at which cycles end: the k-th of the byte counter does now for
// those that were notified at u and not since, X(t) - X(u) being the length of k
// cycles; the j-th of the timer for those of j cycles ago. P is the share of sources
// whose byte counter has ended its first cycle: only they take a new target.
//
// # Limitations
//
// All sources are alike and have the mean rate; how the shares of different sources
// draw together is not in it. The jitter of cycles and the time of a packet on a line
// are not in it either. Where the memory stays full the mean says little: the rates of
// paused sources are far apart. Steps of the equations are taken
// as given (Euler), and a step is the precision of all delays.
package fluid
