#include "bench/channel_host.h"

#include <chrono>
#include <utility>

#include "bench/question.h"

namespace paravane::bench {
namespace {

// As the daemon: this long after a message, sockets are looked at in every round.
constexpr Duration kWatchSockets = std::chrono::microseconds(200);

}  // namespace

ChannelHost::ChannelHost(unsigned side, unsigned core, worker::SpinMode spin)
    : WorkerHost(side, core, spin), owners_(&network().directory) {
  on_worker([this, spin] {
    const transport_channel::LocalOwners& owners = *this;
    tcp_ = std::make_unique<transport_channel::ChannelTransport>(
        transport_channel::ChannelTransport::Config{.incarnation = this->side() + 1},
        worker().loop(), owners,
        transport_channel::ChannelTransport::Events{
            .on_lost = [this](const transport_channel::LostChannel& lost) {
              demand(leaving_, ("the channel was lost: " + lost.reason).c_str());
            }});
    network().tcp = tcp_.get();
    const bool sleeps = spin == worker::SpinMode::kNever;
    tcp_turns_ = std::make_unique<worker::ChannelTenant>(*tcp_, worker().schedule().turn_clock(),
                                                         sleeps ? Duration::zero() : kWatchSockets);
    worker().schedule().add(*tcp_turns_);
    add_vm();
  });
}

ChannelHost::~ChannelHost() {
  on_worker([this] {
    remove_vm();
    worker().schedule().remove(*tcp_turns_);
    tcp_turns_.reset();
    tcp_.reset();
  });
}

void ChannelHost::join(const verbs::Gid& peer_gid, transport_channel::ChannelConfig config,
                       std::unique_ptr<transport_channel::Stream> stream) {
  config.host = peer();
  on_worker([&] {
    network().directory.set_host(
        peer(), "peer", *tcp_,
        {{.segment = {}, .gid = peer_gid, .type = verbs::GidType::kRoceV1},
         {.segment = {}, .gid = peer_gid, .type = verbs::GidType::kRoceV2}});
    demand(tcp_->open(config, std::move(stream), std::chrono::steady_clock::now()).has_value(),
           "a channel cannot be opened");
  });
}

void ChannelHost::expect_end() {
  on_worker([this] { leaving_ = true; });
}

bool ChannelHost::is_joined() {
  bool joined = false;
  on_worker([&] { joined = tcp_->channel_to(peer()) != nullptr; });
  return joined;
}

std::uint64_t ChannelHost::staged_bytes() {
  std::uint64_t bytes = 0;
  on_worker([&] { bytes = tcp_->channel_to(peer())->counters().staged_bytes.value(); });
  return bytes;
}

}  // namespace paravane::bench
