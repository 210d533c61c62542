#include "testing/path_change_rig.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "testing/engine_rig.h"
#include "transport/hca/trunk_stream.h"
#include "transport/tcp/socket_stream.h"

namespace paravane::fake {
namespace {

constexpr verbs::HostId host_of(unsigned side) {
  return verbs::HostId{side + 1};
}

constexpr verbs::AdapterId adapter_of(unsigned side) {
  return verbs::AdapterId{side};
}

verbs::Gid gid_of(unsigned side) {
  return fabric::link_local_gid({0x52, 0x54, 0, 0, 0, static_cast<std::uint8_t>(side + 1)});
}

}  // namespace

std::optional<verbs::Path> PathChangeRig::Side::find(const verbs::Gid& dgid,
                                                     verbs::GidType /*type*/) const {
  if (dgid != gid_of(1 - index)) return std::nullopt;
  verbs::Path path{.transport = impaired.at(std::to_underlying(way)).get()};
  if (way == Way::kLocal) {
    path.peer = adapter_of(1 - index);
  } else {
    path.host = host_of(1 - index);
  }
  return path;
}

std::optional<verbs::AdapterId> PathChangeRig::Side::find_local(verbs::SegmentId /*segment*/,
                                                                const verbs::Gid& gid,
                                                                verbs::GidType /*type*/) const {
  return gid == gid_of(index) ? std::optional(adapter_of(index)) : std::nullopt;
}

PathChangeRig::PathChangeRig(Way way, const transport_impaired::Impairment& impairment,
                             bool long_lives)
    : long_lives_(long_lives) {
  for (unsigned i = 0; i < sides_.size(); ++i) {
    sides_.at(i).index = i;
    sides_.at(i).way = way;
    make(sides_.at(i), impairment);
  }
  join();
  run();
}

void PathChangeRig::make(Side& side, const transport_impaired::Impairment& impairment) {
  using transport_channel::ChannelTransport;
  side.rig = this;
  side.loop = std::move(*EventLoop::create());
  for (unsigned i = 0; i < side.channels.size(); ++i) {
    side.channels.at(i) = std::make_unique<ChannelTransport>(
        ChannelTransport::Config{.incarnation = 100 + side.index, .name = i == 0 ? "tcp" : "hca"},
        *side.loop, side,
        ChannelTransport::Events{.on_lost = [&side](const transport_channel::LostChannel& lost) {
          side.losses.push_back(lost.reason);
        }});
  }
  const auto find_path = [&side](verbs::AdapterId, const verbs::Gid&, const verbs::Gid& dgid,
                                 verbs::GidType type) { return side.find(dgid, type); };
  const std::array<verbs::Transport*, kWays> carriers{&local_, side.channels[0].get(),
                                                      side.channels[1].get()};
  for (std::size_t i = 0; i < kWays; ++i) {
    side.impaired.at(i) = std::make_unique<transport_impaired::ImpairedTransport>(
        *carriers.at(i), clock_.turn_clock(), find_path);
    side.impaired.at(i)->set(impairment);
  }
  side.vm = std::make_unique<EngineVm>(adapter_of(side.index), timers_, side, gid_of(side.index));
  local_.attach(side.vm->adapter());
  for (const auto& channel : side.channels) channel->attach(side.vm->adapter());
}

PathChangeRig::~PathChangeRig() {
  for (Side& side : sides_) {
    local_.detach(side.vm->adapter());
    for (const auto& channel : side.channels) channel->detach(side.vm->adapter());
  }
  for (Side& side : sides_) side.vm.reset();
}

void PathChangeRig::connect(EngineVm& vm, EngineQp& qp, EngineVm& peer_vm, EngineQp& peer,
                            const verbs::QpAttributes& attributes) {
  constexpr auto kRts = verbs::QpState::kReadyToSend;
  EngineRig::bring_up_to(qp, kRts, peer_vm.gid(), peer.qp->number(), attributes);
  EngineRig::bring_up_to(peer, kRts, vm.gid(), qp.qp->number(), attributes);
}

void PathChangeRig::join() {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    std::abort();
  }
  trunk_ = FakeTrunk::make_pair();
  for (Side& side : sides_) {
    const unsigned i = side.index;
    open(side, 0, std::make_unique<transport_tcp::SocketStream>(UniqueFd(sockets.at(i))));
    open(side, 1, trunk_.at(i)->stream_with_lanes());
  }
}

void PathChangeRig::open(Side& side, unsigned channel,
                         std::unique_ptr<transport_channel::Stream> stream) {
  const transport_channel::ChannelConfig config{.host = host_of(1 - side.index),
                                                .long_lives = long_lives_ || side.index != 0};
  if (!side.channels.at(channel)->open(config, std::move(stream), clock_.now())) std::abort();
}

void PathChangeRig::choose(Way way) {
  for (const Side& side : sides_) choose(way, side.index);
}

void PathChangeRig::choose(Way way, unsigned side) {
  sides_.at(side).way = way;
  ++epoch_;
  for (const auto& channel : sides_.at(side).channels) channel->release(host_of(1 - side));
}

void PathChangeRig::cut() {
  for (const Side& side : sides_) {
    for (const auto& channel : side.channels) {
      channel->close(host_of(1 - side.index), "cut", clock_.now());
    }
  }
  join();
}

void PathChangeRig::turn(verbs::Budget budget) {
  timers_.run_due(clock_.now());
  const Instant now = clock_.now();
  for (Side& side : sides_) {
    const Result<int> ran = side.loop->poll(Duration::zero());
    moved_ = moved_ || (ran && *ran > 0);
    verbs::Budget share = budget;
    side.vm->adapter().run(now, share);
    share = budget;
    for (const auto& channel : side.channels) {
      share = budget;
      channel->poll(now, share);
    }
    for (const auto& impaired : side.impaired) {
      share = budget;
      impaired->poll(now, share);
    }
  }
  local_.poll(now, budget);
}

bool PathChangeRig::run(unsigned limit) {
  for (unsigned turns = 0, quiet = 0; turns < limit; ++turns) {
    moved_ = false;
    turn();
    bool busy = moved_ || local_.has_work();
    for (Side& side : sides_) {
      busy = busy || side.vm->adapter().has_work();
      for (const auto& channel : side.channels) busy = busy || channel->has_work();
      for (const auto& impaired : side.impaired) busy = busy || impaired->has_work();
    }
    quiet = busy ? 0 : quiet + 1;
    if (quiet == 3) return true;
  }
  return false;
}

void PathChangeRig::advance(Duration duration) {
  const Instant end = clock_.now() + duration;
  run();
  const auto next = [this] {
    Instant first = timers_.next_deadline();
    for (const Side& side : sides_) {
      for (const auto& channel : side.channels) first = std::min(first, channel->next_look());
      for (const auto& impaired : side.impaired) first = std::min(first, impaired->next_due());
    }
    return first;
  };
  while (next() <= end) {
    clock_.advance_to(std::max(next(), clock_.now()));
    run();
  }
  clock_.advance_to(end);
  run();
}

}  // namespace paravane::fake
