#include "testing/engine_rig.h"

#include <cstdio>
#include <cstdlib>

namespace paravane::fake {

EngineRig::EngineRig(unsigned vms, std::uint64_t ram_bytes) {
  for (unsigned i = 0; i < vms; ++i) {
    const fabric::MacAddress mac{0x52, 0x54, 0, 0, 0, static_cast<std::uint8_t>(i + 1)};
    const verbs::AdapterId id{i};
    Member& member = members_.emplace_back();
    member.port = directory_.join(id, "vm" + std::to_string(i + 1), mac);
    member.vm = std::make_unique<EngineVm>(id, timers_, *member.port, fabric::link_local_gid(mac),
                                           ram_bytes);
    local_.attach(member.vm->adapter());
  }
}

EngineRig::~EngineRig() {
  for (unsigned i = 0; i < members_.size(); ++i) remove(i);
}

void EngineRig::remove(unsigned index) {
  Member& member = members_.at(index);
  if (!member.vm) return;
  local_.detach(member.vm->adapter());
  member.vm.reset();
  member.port.reset();
}

bool EngineRig::hand_over(std::span<const std::vector<EngineQp*>> qps) {
  std::vector<std::vector<std::byte>> states;
  for (std::size_t i = 0; i < members_.size(); ++i) states.push_back(members_[i].vm->save(qps[i]));
  for (std::size_t i = 0; i < members_.size(); ++i) {
    local_.detach(members_[i].vm->adapter());
    members_[i].vm->end_engine(qps[i]);
    local_.attach(members_[i].vm->adapter());
  }
  bool is_good = true;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Status loaded = members_[i].vm->load(states[i], qps[i]);
    if (!loaded) std::fprintf(stderr, "engine rig: %s\n", loaded.error().message.c_str());
    is_good = is_good && loaded.has_value();
  }
  return is_good;
}

void EngineRig::bring_up_to(EngineQp& qp, verbs::QpState to, const verbs::Gid& dgid,
                            std::uint32_t dest_qpn, verbs::QpAttributes attributes,
                            std::uint8_t index) {
  attributes.dest_qpn = dest_qpn;
  attributes.av.dgid = dgid;
  attributes.av.sgid_index = index;
  attributes.av.hop_limit = 64;
  if (Status up = bring_up(*qp.qp, to, attributes); !up) {
    std::fprintf(stderr, "engine rig: %s\n", up.error().message.c_str());
    std::abort();
  }
}

void EngineRig::connect(EngineVm& vm, EngineQp& qp, EngineVm& peer_vm, EngineQp& peer,
                        const verbs::QpAttributes& attributes, std::uint8_t index) {
  constexpr auto kRts = verbs::QpState::kReadyToSend;
  bring_up_to(qp, kRts, peer_vm.gid(), peer.qp->number(), attributes, index);
  if (&peer != &qp) bring_up_to(peer, kRts, vm.gid(), qp.qp->number(), attributes, index);
}

void EngineRig::turn(verbs::Budget budget) {
  timers_.run_due(clock_.now());
  for (Member& member : members_) {
    verbs::Budget share = budget;
    if (member.vm) member.vm->adapter().run(clock_.now(), share);
  }
  local_.poll(clock_.now(), budget);
  turn_more(clock_.now(), budget);
}

bool EngineRig::run(unsigned limit) {
  for (unsigned turns = 0; turns < limit; ++turns) {
    turn();
    bool busy = local_.has_work() || more_work();
    for (Member& member : members_) busy = busy || (member.vm && member.vm->adapter().has_work());
    if (!busy) return true;
  }
  return false;
}

void EngineRig::advance(Duration duration) {
  const Instant end = clock_.now() + duration;
  run();
  for (Instant next = next_event(); next <= end; next = next_event()) {
    clock_.advance_to(next);
    run();
  }
  clock_.advance_to(end);
  run();
}

}  // namespace paravane::fake
