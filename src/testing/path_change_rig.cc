#include "testing/path_change_rig.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "testing/engine_rig.h"
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
  verbs::Path path{.transport = impaired.at(std::to_underlying(rig->way_)).get()};
  if (rig->way_ == Way::kLocal) {
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
    : way_(way), long_lives_(long_lives) {
  for (unsigned i = 0; i < sides_.size(); ++i) {
    Side& side = sides_.at(i);
    side.rig = this;
    side.index = i;
    side.loop = std::move(*EventLoop::create());
    side.channel =
        std::make_unique<transport_channel::ChannelTransport>(100 + i, *side.loop, side, nullptr);
    const auto find_path = [&side](verbs::AdapterId, const verbs::Gid&, const verbs::Gid& dgid,
                                   verbs::GidType type) { return side.find(dgid, type); };
    for (verbs::Transport* carrier :
         std::initializer_list<verbs::Transport*>{&local_, side.channel.get()}) {
      auto& made = side.impaired.at(carrier == &local_ ? 0 : 1);
      made = std::make_unique<transport_impaired::ImpairedTransport>(*carrier, clock_.turn_clock(),
                                                                     find_path);
      made->set(impairment);
    }
    side.vm = std::make_unique<EngineVm>(adapter_of(i), timers_, side, gid_of(i));
    local_.attach(side.vm->adapter());
    side.channel->attach(side.vm->adapter());
  }
  join();
  run();
}

PathChangeRig::~PathChangeRig() {
  for (Side& side : sides_) {
    local_.detach(side.vm->adapter());
    side.channel->detach(side.vm->adapter());
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
  for (unsigned i = 0; i < sides_.size(); ++i) {
    const transport_channel::ChannelConfig config{.host = host_of(1 - i),
                                                  .long_lives = long_lives_ || i != 0};
    auto stream = std::make_unique<transport_tcp::SocketStream>(UniqueFd(sockets.at(i)));
    if (!sides_.at(i).channel->open(config, std::move(stream), clock_.now())) std::abort();
  }
}

void PathChangeRig::choose(Way way) {
  way_ = way;
  ++epoch_;
}

void PathChangeRig::cut() {
  for (unsigned i = 0; i < sides_.size(); ++i) {
    sides_.at(i).channel->close(host_of(1 - i), "cut", clock_.now());
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
    side.channel->poll(now, share);
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
      busy = busy || side.channel->has_work() || side.vm->adapter().has_work();
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
      first = std::min(first, side.channel->next_look());
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
