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
// BCN is the loop of BCN: "The slides" are "BCN: Analytical Model and Simulation Study" of
// July 2006 by Raj Jain, whose equations (5) to (17) follow the AIMD model of M. Vojnovic,
// J. Le Boudec, C. Boutremans ("Global fairness of additive-increase and
// multiplicative-decrease with heterogeneous round-trip times", INFOCOM 2000). With
//
//	e_i      feedback of source i, in frames; I_i 1 where it is below 0, else 0
//	b_i      the expected I_i
//
// a message changes a rate by (6), and (10) is its mean:
//
//	r_i(next) - r_i = |e_i| (Gi Ru - I_i (Gd r_i + Gi Ru))
//	r_i'            = E{|e_i|} (Gi Ru - b_i (Gd r_i + Gi Ru))
//
// That is for each message; a source has Pm r_i/Frame of them per second. The slides take
// the b_i/r_i for the derivative of a function P of the loads of the links. Then
//
//	r_i' = E{|e_i|} r_i (Gd r_i + Gi Ru) dV/dr_i,   V = sum of log(r_i/(Gd r_i + Gi Ru)) - P
//
// and V cannot fall. [BCN.Ascend] follows that, with the P of [BCN.Lyapunov].
// [BCN.Solve] has the queues in it, and no P:
//
//	q'  = sum of the r_i of a link - C, between 0 and the memory
//	Fb  = Qoff - W Qdelta, both between their clamps, Qdelta = q - q(one sampling interval ago)
//	e   is normally distributed about Fb
//	E{|e_i|} = sum over the links of source i of (tag E{e+} + E{e-})
//	b_i      = the share of the E{e-} in it
//
// each with the delay of the path, where tag is how likely a frame of i carries the tag of
// the link, e+ and e- are the positive and the negative part of e, and the last link that
// lowered a rate is the one whose tag its frames carry. So b_i counts messages by their
// size, and the slides' assumption that size and sign are independent is not needed. The
// sampling interval is Frame/(Pm r), r being what comes to the link.
//
// TCP is the loop of TCP Reno and RED, with the equations of V. Misra, W. Gong, D. Towsley
// ("Fluid-based analysis of a network of AQM routers supporting TCP flows with an application
// to RED", SIGCOMM 2000), which the talk on QCN shows. With
//
//	W        window of a source, in packets; N sources, C the capacity in packets per second
//	q, x     the queue and its average; R = RTT + q/C
//	p        the share of the packets that RED drops or marks at an average
//
// they are, with an ACK for each b packets,
//
//	W' = 1/(b R) - W/2 W(t-R)/R(t-R) p(x(t-R))
//	q' = N W/R - C, between 0 and the memory
//	x' = - C ln(1 - w) (q - x)
//
// p is the number of packets over the mean gap that RED makes of its p_b: that itself where
// gaps are geometric, 2 p_b/(1 + p_b) where they are uniform, 2 p_b/(3 - p_b) with ns-2's
// wait. [TCP.Margin] has the loop linearised about its rest.
//
// # Limitations
//
// Of QCN: all sources are alike and have the mean rate; how the shares of different sources
// draw together is not in it. The jitter of cycles and the time of a packet on a line
// are not in it either. Where the memory stays full the mean says little: the rates of
// paused sources are far apart. Steps of the equations are taken
// as given (Euler), and a step is the precision of all delays.
//
// Of BCN: a rate is a mean, which messages change in a smooth course. In a run one message
// changes it by up to Gi Ru (2 W + 1) Qeq or a share of Gd (2 W + 1) Qeq, and where that
// is much against the capacity the queue swings as no mean does: the dimensioning problem
// of the slides is not in these equations. The chance in Fb is a parameter, Spread, and not
// what follows from the steps of rates; the rates of the fixed point do not depend on it,
// how fast shares draw together does. BCN(0,0) and drift are left out, and paused sources
// share what leaves in proportion to their rates. A load comes to all links of a path at
// once, and as it was sent. A queue below Qeq tells its decreases to every source that has a
// limiter; in a run they go to those with its tag alone. Where rates scatter far about their
// means, the fixed point of several links is not that of the run: messages come in proportion
// to a rate and a decrease is a share of it, so that what is taken off goes with its square. The
// [Ascent] has one E{|e|} for all sources and all times, the mean of chance alone: far from its
// fixed point it is slower than a run.
//
// Of TCP: windows are means. There are no timeouts, no slow start, no fast recovery, in which
// a source that has halved its window waits for half an RTT, and several losses within an RTT
// halve as often. What is dropped still takes its place in the queue. The queue has no noise
// of single packets: a loop that would rest swings in a run all the same, by some tens of
// packets. At the corner of p in min the linear loop says nothing of how far it swings.
package fluid
