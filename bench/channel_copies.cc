// How many bytes pass a buffer of ours per byte of payload between two hosts?
//
// Counted by the channels of both hosts. From 4 KiB on none should: payload goes from the
// guest's memory into the socket and from there into the peer's. What waits for the end of
// its message, the last 64 bytes, is not counted, nor are copies of the kernel and of
// OpenSSL.

#include <fmt/core.h>

#include <string>

#include "bench/channel_pair.h"
#include "bench/host_stream.h"
#include "bench/question.h"

namespace paravane::bench {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{4} << 20;
constexpr std::uint32_t kNoneFrom = 4096;
constexpr std::uint32_t kDatagrams = 16;
constexpr std::uint32_t kDatagramBytes = 4096;
constexpr std::uint32_t kGrhBytes = 40;

class Count {
 public:
  explicit Count(ChannelPair& hosts) : hosts_(hosts), before_(staged()) {}
  double per_byte(double bytes) const { return (staged() - before_) / bytes; }

 private:
  double staged() const {
    return static_cast<double>(hosts_.host(0).staged_bytes() + hosts_.host(1).staged_bytes());
  }

  ChannelPair& hosts_;
  double before_;
};

std::string size_of(std::uint32_t bytes) {
  return bytes >= 1024 ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} B", bytes);
}

Figure staged(const std::string& what) {
  return {.name = "channel, staged, " + what, .unit = "B per byte"};
}

Figure of_messages(ChannelPair& hosts, const StreamSpec& spec) {
  HostStream stream(hosts, spec);
  const Count count(hosts);
  const Traffic traffic = stream.move(kBytes);
  Figure figure = staged((spec.reads ? "READ " : "WRITE ") + size_of(spec.message));
  if (spec.message >= kNoneFrom) figure.target = {Target::Of::kValue, Target::Sense::kAtMost, 0};
  figure.ours.add(count.per_byte(traffic.bytes));
  return figure;
}

// Posts them all; or takes them all.
class Datagrams final : public GuestProgram {
 public:
  // `peer`: whom they go to; nullptr: they come here.
  Datagrams(fake::FakeGuest& guest, QueuesEnd& own, const QueuesEnd* peer)
      : guest_(guest), own_(own), peer_(peer) {}

  bool ready() const override { return !begun_ || own_.cq->unconsumed() > 0; }
  void step() override {
    if (!begun_) begin();
    pvrdma_cqe completion;
    while (own_.cq->take(completion)) {
      demand(completion.status == PVRDMA_WC_SUCCESS, "a datagram completed with an error");
      if (++completed_ == kDatagrams) end();
    }
  }

 private:
  void begin() {
    begun_ = true;
    fake::FakeQp& qp = *own_.qps[0];
    const pvrdma_sge whole = own_.buffer->sge();
    const pvrdma_sge payload = own_.buffer->sge(0, kDatagramBytes);
    pvrdma_av av{};
    if (peer_ != nullptr) av = guest_.address_vector(*own_.pd, peer_->gid);
    for (std::uint32_t i = 0; i < kDatagrams; ++i) {
      const bool posted = peer_ == nullptr ? qp.post_receive({.wr_id = i, .sges = {&whole, 1}})
                                           : qp.post_send({.wr_id = i,
                                                           .remote_qpn = peer_->qps[0]->number,
                                                           .remote_qkey = kQkey,
                                                           .av = &av,
                                                           .sges = {&payload, 1}});
      demand(posted, "a ring is full");
    }
  }

  fake::FakeGuest& guest_;
  QueuesEnd& own_;
  const QueuesEnd* peer_;
  bool begun_ = false;
  std::uint32_t completed_ = 0;
};

Figure of_datagrams(ChannelPair& hosts) {
  HostQueues queues(
      hosts,
      {.send_requests = kDatagrams, .buffer_bytes = kDatagramBytes + kGrhBytes, .datagrams = true});
  const Count count(hosts);
  Datagrams takes(hosts.host(1).guest(), queues.end(1), nullptr);
  Datagrams posts(hosts.host(0).guest(), queues.end(0), &queues.end(1));
  hosts.host(1).run(&takes);
  hosts.host(0).run(&posts);
  takes.await_end();
  posts.await_end();
  for (unsigned side = 0; side < 2; ++side) hosts.host(side).run(nullptr);
  Figure figure = staged("datagram " + size_of(kDatagramBytes));
  figure.target = {Target::Of::kValue, Target::Sense::kAtMost, 0};
  figure.ours.add(count.per_byte(double{kDatagrams} * kDatagramBytes));
  return figure;
}

}  // namespace

Figures channel_copies(const Settings& settings) {
  const TwoNetworks networks;
  ChannelPair hosts(settings, networks, Encryption::kSealedFrames);
  Figures figures;
  figures.push_back(of_messages(hosts, {.message = 64}));
  for (const std::uint32_t message : {4u << 10, 64u << 10, 1u << 20}) {
    for (const bool reads : {false, true}) {
      figures.push_back(of_messages(hosts, {.message = message, .reads = reads}));
    }
  }
  figures.push_back(of_datagrams(hosts));
  return figures;
}

}  // namespace paravane::bench
