#include "testing/roce_rig.h"

#include <utility>

namespace paravane::fake {

RoceRig::RoceRig(std::size_t most_packets, bool cuts, std::uint64_t ram_bytes)
    : EngineRig(2, ram_bytes), wire_(most_packets, cuts) {
  for (unsigned side = 0; side < 2; ++side) wire_.set_mac(side, mac(side));
  attach({&wire_.door(0), &wire_.door(1)});
}

RoceRig::RoceRig(std::array<transport_roce::FrameDoor*, 2> doors, std::function<bool()> has_frames)
    : EngineRig(2), has_frames_(std::move(has_frames)) {
  attach(doors);
}

void RoceRig::attach(std::array<transport_roce::FrameDoor*, 2> doors) {
  for (unsigned side = 0; side < 2; ++side) {
    roce_.attach(vm(side).adapter(), mac(side), *doors.at(side));
  }
  directory().set_detour([this](const fabric::Directory::Leg&) { return &roce_; });
  directory().detours_changed();
}

RoceRig::~RoceRig() {
  for (unsigned side = 0; side < 2; ++side) roce_.detach(vm(side).adapter());
}

void RoceRig::connect(EngineVm& a_vm, EngineQp& qp, EngineVm& peer_vm, EngineQp& peer,
                      verbs::QpAttributes attributes, std::uint8_t index) {
  constexpr auto kRts = verbs::QpState::kReadyToSend;
  const auto side_of = [this](const EngineVm& which) { return &which == &b() ? 1u : 0u; };
  attributes.av.dmac = mac(side_of(peer_vm));
  bring_up_to(qp, kRts, peer_vm.gid(), peer.qp->number(), attributes, index);
  attributes.av.dmac = mac(side_of(a_vm));
  if (&peer != &qp) bring_up_to(peer, kRts, a_vm.gid(), qp.qp->number(), attributes, index);
}

}  // namespace paravane::fake
