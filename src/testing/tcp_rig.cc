#include "testing/tcp_rig.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "testing/engine_rig.h"
#include "transport/channel/stream.h"
#include "transport/tcp/socket_stream.h"

namespace paravane::fake {
namespace {

constexpr verbs::HostId host_of(unsigned side) {
  return verbs::HostId{side + 1};
}

fabric::MacAddress mac_of(unsigned side, std::size_t vm) {
  return {0x52, 0x54, 0, 0, static_cast<std::uint8_t>(vm + 1), static_cast<std::uint8_t>(side + 1)};
}

void require(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "tcp rig: %s\n", status.error().message.c_str());
  std::abort();
}

}  // namespace

TcpRig::TcpRig(bool sealed, std::uint64_t ram_bytes, bool seals_payload)
    : sealed_(sealed), seals_payload_(seals_payload), ram_bytes_(ram_bytes) {
  for (unsigned i = 0; i < sides_.size(); ++i) {
    Side& side = sides_.at(i);
    side.loop = std::move(*EventLoop::create());
    side.directory = std::make_unique<fabric::Directory>(side.local);
    make_channels(side, 100 + i);
  }
  for (unsigned i = 0; i < sides_.size(); ++i) add(i);
  join();
  run();
}

void TcpRig::make_channels(Side& side, std::uint64_t incarnation) {
  side.tcp = std::make_unique<transport_channel::ChannelTransport>(
      transport_channel::ChannelTransport::Config{.incarnation = incarnation,
                                                  .arranges_trunks = true},
      *side.loop, side,
      transport_channel::ChannelTransport::Events{
          .on_lost = [&side](const transport_channel::LostChannel& lost) {
            side.losses.push_back(lost.reason);
          }});
}

Status TcpRig::hand_over(unsigned index, std::span<EngineQp* const> qps) {
  Side& side = sides_.at(index);
  EngineVm& vm = *side.vms.at(0);
  const std::vector<std::byte> state = vm.save(qps);
  cut();
  side.local.detach(vm.adapter());
  side.tcp->detach(vm.adapter());
  vm.end_engine(qps);
  forget_peer(index);
  make_channels(side, ++last_incarnation_);
  side.local.attach(vm.adapter());
  side.tcp->attach(vm.adapter());
  know_peer(index);
  const Status loaded = vm.load(state, qps);
  join();
  return loaded;
}

TcpRig::~TcpRig() {
  for (Side& side : sides_) {
    for (const auto& vm : side.vms) {
      side.local.detach(vm->adapter());
      side.tcp->detach(vm->adapter());
    }
    side.vms.clear();
    side.ports.clear();
  }
}

EngineVm& TcpRig::add(unsigned index) {
  Side& side = sides_.at(index);
  const std::size_t count = side.vms.size();
  // Adapters of one host have numbers of their own.
  const verbs::AdapterId id{static_cast<std::uint32_t>(index + 2 * count)};
  const fabric::MacAddress mac = mac_of(index, count);
  side.ports.push_back(
      side.directory->join(id, "vm" + std::to_string(std::to_underlying(id)), mac));
  EngineVm& vm = *side.vms.emplace_back(std::make_unique<EngineVm>(
      id, timers_, *side.ports.back(), fabric::link_local_gid(mac), ram_bytes_));
  side.local.attach(vm.adapter());
  side.tcp->attach(vm.adapter());
  know_peer(1 - index);
  return vm;
}

void TcpRig::know_peer(unsigned side) {
  std::vector<fabric::Directory::RemoteGid> gids;
  for (std::size_t vm = 0; vm < sides_.at(1 - side).vms.size(); ++vm) {
    const verbs::Gid gid = fabric::link_local_gid(mac_of(1 - side, vm));
    for (const verbs::GidType type : {verbs::GidType::kRoceV2, verbs::GidType::kRoceV1}) {
      gids.push_back({.segment = {}, .gid = gid, .type = type});
    }
  }
  directory(side).set_host(host_of(1 - side), "host" + std::to_string(1 - side), tcp(side), gids);
}

void TcpRig::forget_peer(unsigned side) {
  directory(side).remove_host(host_of(1 - side));
}

void TcpRig::join() {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    std::abort();
  }
  constexpr std::array kKeys{transport_channel::Seal::Key{std::byte{1}},
                             transport_channel::Seal::Key{std::byte{2}}};
  for (unsigned i = 0; i < sides_.size(); ++i) {
    transport_channel::ChannelConfig config{
        .host = host_of(1 - i), .seals_payload = seals_payload_, .holds = sides_.at(i).holds};
    if (sealed_) {
      config.send_key = kKeys.at(i);
      config.receive_key = kKeys.at(1 - i);
    }
    std::unique_ptr<transport_channel::Stream> stream =
        std::make_unique<transport_tcp::SocketStream>(UniqueFd(sockets.at(i)));
    if (wrap_) stream = wrap_(std::move(stream), i);
    require(tcp(i).open(config, std::move(stream), now()));
  }
}

void TcpRig::cut() {
  for (unsigned i = 0; i < sides_.size(); ++i) tcp(i).close(host_of(1 - i), "cut", now());
}

void TcpRig::connect(EngineVm& vm, EngineQp& qp, EngineVm& peer_vm, EngineQp& peer,
                     const verbs::QpAttributes& attributes, std::uint8_t index) {
  constexpr auto kRts = verbs::QpState::kReadyToSend;
  EngineRig::bring_up_to(qp, kRts, peer_vm.gid(), peer.qp->number(), attributes, index);
  EngineRig::bring_up_to(peer, kRts, vm.gid(), qp.qp->number(), attributes, index);
}

void TcpRig::turn(verbs::Budget budget) {
  timers_.run_due(clock_.now());
  for (unsigned i = 0; i < sides_.size(); ++i) turn_one(i, budget);
}

void TcpRig::turn_one(unsigned index, verbs::Budget budget) {
  Side& side = sides_.at(index);
  const Result<int> ran = side.loop->poll(Duration::zero());
  moved_ = moved_ || (ran && *ran > 0);
  verbs::Budget share = budget;
  for (const auto& vm : side.vms) {
    share = budget;
    vm->adapter().run(clock_.now(), share);
  }
  share = budget;
  side.tcp->poll(clock_.now(), share);
  turn_more(index, clock_.now(), budget);
}

bool TcpRig::run(unsigned limit) {
  // What one side has sent is work for the other, which a look at its sockets shows.
  for (unsigned turns = 0, quiet = 0; turns < limit; ++turns) {
    moved_ = false;
    turn();
    bool busy = moved_ || more_work();
    for (Side& side : sides_) {
      busy = busy || side.tcp->has_work();
      for (const auto& vm : side.vms) busy = busy || vm->adapter().has_work();
    }
    quiet = busy ? 0 : quiet + 1;
    if (quiet == 3) return true;
  }
  return false;
}

void TcpRig::advance(Duration duration) {
  const Instant end = clock_.now() + duration;
  run();
  const auto next = [this] {
    return std::min({timers_.next_deadline(), tcp(0).next_look(), tcp(1).next_look(), next_due()});
  };
  while (next() <= end) {
    clock_.advance_to(std::max(next(), clock_.now()));
    run();
  }
  clock_.advance_to(end);
  run();
}

}  // namespace paravane::fake
