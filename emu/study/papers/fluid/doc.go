// Package fluid has equations in addition to the runs. They describe the mean of many sources and a
// queue under an algorithm of congestion control, as functions of time with delays between them. A
// run that follows the equations does as the algorithm states. Where it does not, chance or the
// size of a packet matters.
//
// # QCN
//
// QCN is the loop of QCN: queue, sampling, notification, reaction point. The approach
// follows V. Misra, W. Gong, D. Towsley for TCP and RED (SIGCOMM 2000) and M.
// Alizadeh et al. for QCN ("Data center transport mechanisms: Congestion control theory
// and IEEE standardization", Allerton 2008): a random quantity is replaced by its mean. The
// equations here are derived again from the rules of the reaction point and not taken from the
// latter text. So they contain the timer, hyper-active increase and extra fast recovery. With
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
// e is the rate at which cycles end. The k-th cycle of the byte counter ends now for the sources
// that were notified at u and not since, X(t) - X(u) being the length of k cycles. The j-th cycle
// of the timer ends now for the sources that were notified j cycles ago. P is the share of sources
// whose byte counter has ended its first cycle: only they take a new target.
//
// # BCN
//
// BCN is the loop of BCN. "The slides" are "BCN: Analytical Model and Simulation Study" of
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
// That is the change for each message; a source has Pm r_i/Frame messages per second. The slides
// take the b_i/r_i for the derivative of a function P of the loads of the links. Then
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
// each with the delay of the path. Here tag is the likelihood that a frame of i carries the tag of
// the link, and e+ and e- are the positive and the negative part of e. Frames carry the tag of the
// last link that lowered the rate. So b_i counts messages by their size, and the slides' assumption
// that size and sign are independent is not needed. The sampling interval is Frame/(Pm r), r being
// the load of the link.
//
// # TCP
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
// p is the inverse of the mean gap, in packets, that RED makes of its p_b: p_b itself where
// gaps are geometric, 2 p_b/(1 + p_b) where they are uniform, 2 p_b/(3 - p_b) with ns-2's
// wait. [TCP.Margin] has the loop linearised about its rest.
//
// # Limitations
//
// QCN: all sources are alike and have the mean rate, so the equations do not show how the shares of
// different sources approach one another. They contain neither the jitter of cycles nor the time of
// a packet on a line. While the memory is full the mean means little: the rates of paused sources
// are far apart. Steps of the equations are taken as given (Euler), and a step is the precision of
// all delays.
//
// BCN: a rate is a mean, which messages change in a smooth course. In a run one message
// changes it by up to Gi Ru (2 W + 1) Qeq or a share of Gd (2 W + 1) Qeq. Where that
// is much against the capacity, the queue swings as no mean does: the dimensioning problem
// of the slides is not in these equations. The chance in Fb is a parameter, Spread, and does
// not follow from the steps of rates. The rates of the fixed point do not depend on it, but the
// speed at which shares approach one another does. BCN(0,0) and drift are left out. Paused sources
// share the capacity in proportion to their rates. A load comes to all links of a path at
// once, and as it was sent. A queue below Qeq sends its decreases to every source that has a
// limiter; in a run only sources with its tag take them. Where rates scatter far about their
// means, the fixed point of several links differs from the fixed point of the run: messages come in
// proportion to a rate, and a decrease is a share of it, so the decrease belongs to its square. The
// [Ascent] has one E{|e|} for all sources and all times, the mean of chance: far from its
// fixed point it is slower than a run.
//
// TCP: windows are means. There are no timeouts and no slow start. There is no fast recovery, in
// which a source that has halved its window waits for half an RTT, and several losses within an RTT
// halve as often. A dropped packet still takes its place in the queue. The queue has no noise
// of single packets: a loop that would rest swings in a run all the same, by some tens of
// packets. At the corner of p in min the linear loop does not predict the size of the swing.
package fluid
