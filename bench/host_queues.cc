#include "bench/host_queues.h"

#include <bit>

#include "bench/question.h"

namespace paravane::bench {

HostQueues::HostQueues(HostPair& hosts, const QueuesSpec& spec) {
  for (unsigned side = 0; side < 2; ++side) {
    hosts.host(side).on_worker([&] {
      fake::FakeGuest& guest = hosts.host(side).guest();
      QueuesEnd& end = ends_[side];
      end.gid = guest.gid();
      fake::FakeContext& process = spec.in_kernel ? guest.kernel() : guest.open_context();
      end.pd = &guest.create_pd(process);
      end.buffer = &guest.register_memory(*end.pd, spec.buffer_bytes);
      end.cq = &guest.create_cq(process, std::bit_ceil(2 * spec.queue_pairs * spec.send_requests));
      for (std::uint32_t i = 0; i < spec.queue_pairs; ++i) {
        end.qps.push_back(
            &guest.create_qp({.pd = end.pd,
                              .send_cq = end.cq,
                              .receive_cq = end.cq,
                              .type = spec.datagrams ? fake::kTypeUd : fake::kTypeRc,
                              .max_send_wr = spec.send_requests,
                              .max_recv_wr = spec.datagrams ? spec.send_requests : 1}));
      }
    });
  }
  // Who answers comes first: a request must not be there before.
  for (const unsigned side : {1u, 0u}) {
    const fake::RcOptions options = hosts.options(side);
    hosts.host(side).on_worker([&] {
      for (std::uint32_t i = 0; i < spec.queue_pairs; ++i) {
        fake::FakeGuest& guest = hosts.host(side).guest();
        fake::FakeQp& qp = *ends_[side].qps[i];
        const QueuesEnd& peer = ends_[1 - side];
        demand(spec.datagrams ? guest.start_datagrams(qp, kQkey)
                              : guest.connect(qp, peer.gid, peer.qps[i]->number, options),
               "two queue pairs of two hosts cannot be connected");
      }
    });
  }
}

}  // namespace paravane::bench
