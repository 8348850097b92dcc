// Flows of htsim's hpcc, swift or dctcp into one link. Prints lines as fabemu's series.csv has, for the middle of
// each step: the mean rate at which each flow arrives, in bytes per second, and the mean queue in bytes, without the
// packet on the line. scripts/lab/peers.sh rates builds it with csg-htsim, and scripts/measure/rates runs it.
//
// Usage: htsim_rates hpcc|swift|dctcp FLOWS BYTES SECOND-START-US DURATION-US STEP-US
//   BYTES 0: without end; all flows but the first begin at SECOND-START-US
#include "config.h"
#include "network.h"
#include "pipe.h"
#include "eventlist.h"
#include "switch.h"
#include "hpcc.h"
#include "swift.h"
#include "dctcp.h"
#include "ecnqueue.h"
#include "queue_lossless_input.h"
#include "queue_lossless_output.h"
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>

// Bytes counts the data that passes it.
class Bytes : public PacketSink {
public:
    uint64_t bytes = 0;
    string name = "bytes";
    void receivePacket(Packet& p) { bytes += p.size(); p.sendOn(); }
    const string& nodename() { return name; }
};

// Sampler reads the queue, and prints a step when it is over.
class Sampler : public EventSource {
public:
    Sampler(EventList& e, BaseQueue& q, vector<Bytes*>& b, int packet, double step)
        : EventSource(e, "sampler"), queue(q), all(b), size(packet), step(timeFromUs(step)), end(this->step),
          last(b.size()) {
        e.sourceIsPending(*this, every);
    }
    void doNextEvent() {
        simtime_picosec now = eventlist().now();
        sum += max<mem_b>(queue.queuesize() - size, 0);
        n++;
        if (now + every > end) {
            unsigned long long middle = end - step / 2;
            for (size_t i = 0; i < all.size(); i++) {
                printf("%llu,flow.rate,f%zu,%.0f\n", middle, i + 1, (all[i]->bytes - last[i]) * 1e12 / step);
                last[i] = all[i]->bytes;
            }
            printf("%llu,link.queue,hot.S-B,%.1f\n", middle, sum / n);
            sum = n = 0;
            end += step;
        }
        eventlist().sourceIsPendingRel(*this, every);
    }
private:
    const simtime_picosec every = 36900; // no divisor of the time of a packet
    BaseQueue& queue;
    vector<Bytes*>& all;
    const int size;
    const simtime_picosec step;
    simtime_picosec end;
    vector<uint64_t> last;
    double sum = 0;
    int n = 0;
};

// Starter starts a source of HPCC, which can only start at once.
class Starter : public EventSource {
public:
    Starter(EventList& e, HPCCSrc* s, simtime_picosec at) : EventSource(e, "starter"), src(s) {
        e.sourceIsPending(*this, at);
    }
    void doNextEvent() { src->startflow(); }
private:
    HPCCSrc* src;
};

int main(int argc, char** argv) {
    if (argc != 7) {
        fprintf(stderr, "usage: htsim_rates hpcc|swift|dctcp FLOWS BYTES SECOND-START-US DURATION-US STEP-US\n");
        return 2;
    }
    const string scheme = argv[1];
    const int flows = atoi(argv[2]);
    const uint64_t bytes = strtoull(argv[3], NULL, 10);
    const simtime_picosec second = timeFromUs(atof(argv[4])), duration = timeFromUs(atof(argv[5]));
    cout.rdbuf(NULL); // htsim prints each change of a window
    const bool tcp = scheme == "dctcp", hpcc = scheme == "hpcc";
    const linkspeed_bps rate = speedFromGbps(tcp ? 10 : 100);
    const simtime_picosec way = tcp ? timeFromNs(24600.0) : timeFromNs(2900.0);
    const int line = tcp ? 1500 : 1100;                // bytes of a packet on the line
    const int header = hpcc ? HPCCPacket::ACKSIZE : 0; // that htsim adds to a packet
    EventList& events = EventList::getTheEventList();
    events.setEndtime(duration + timeFromUs(1.0));
    Packet::set_packet_size(line - header);
    LosslessInputQueue::_high_threshold = 1 << 30; // no PAUSE
    LosslessInputQueue::_low_threshold = (1 << 30) - 1;
    Switch here(events, "S");
    const mem_b room = 1 << 30;
    BaseQueue* out;
    if (hpcc) out = new LosslessOutputQueue(rate, room, events, NULL);
    else if (tcp) out = new ECNQueue(rate, room, events, NULL, 60000);
    else out = new Queue(rate, room, events, NULL);
    SwiftRtxTimerScanner swiftTimer(timeFromMs(1), events);
    TcpRtxTimerScanner tcpTimer(timeFromMs(10), events);
    vector<Bytes*> counted;
    for (int i = 0; i < flows; i++) {
        Route *to = new Route(), *from = new Route();
        Bytes* meter = new Bytes();
        counted.push_back(meter);
        simtime_picosec start = i > 0 ? second : 0;
        Pipe *in = new Pipe(way, events), *exit = new Pipe(way, events);
        from->push_back(new Pipe(2 * way, events));
        if (hpcc) { // its memory is cleared, since not all of its fields have a first value
            HPCCSrc* src = new (calloc(1, sizeof(HPCCSrc))) HPCCSrc(NULL, NULL, events, rate);
            HPCCSink* sink = new HPCCSink();
            to->push_back(in);
            to->push_back(new LosslessInputQueue(events, src, &here, way));
            to->push_back(out);
            to->push_back(exit);
            to->push_back(meter);
            to->push_back(sink);
            from->push_back(src);
            src->set_dst(i);
            if (bytes) src->set_flowsize(bytes);
            src->connect(to, from, *sink, TRIGGER_START);
            new Starter(events, src, start);
            continue;
        }
        if (tcp) to->push_back(new Queue(4 * rate, room, events, NULL)); // its own line
        else to->push_back(new FairScheduler(rate, events, NULL));
        to->push_back(in);
        to->push_back(out);
        to->push_back(exit);
        to->push_back(meter);
        if (tcp) {
            DCTCPSrc* src = new (calloc(1, sizeof(DCTCPSrc))) DCTCPSrc(NULL, NULL, events);
            TcpSink* sink = new TcpSink();
            to->push_back(sink);
            from->push_back(src);
            src->set_ssthresh(0xffffffff);
            if (bytes) src->set_flowsize(bytes);
            tcpTimer.registerTcp(*src);
            src->connect(*to, *from, *sink, start);
        } else {
            SwiftSrc* src = new SwiftSrc(swiftTimer, NULL, NULL, events);
            src->set_cwnd(12 * line);
            if (bytes) src->set_flowsize(bytes);
            src->connect(*to, *from, *new SwiftSink(), start);
            src->set_cwnd(12 * line);
        }
    }
    Sampler sampler(events, *out, counted, line, atof(argv[6]));
    while (events.doNextEvent()) {}
    return 0;
}
