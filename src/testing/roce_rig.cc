#include "testing/roce_rig.h"

#include <utility>

#include "state/reader.h"
#include "state/writer.h"

namespace paravane::fake {
namespace {

constexpr state::Tag kVmState{1};
constexpr state::Tag kRoceState{2};
constexpr std::size_t kMostVmBytes = 64 << 20;

}  // namespace

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

std::vector<std::byte> RoceRig::save(unsigned side, std::span<EngineQp* const> qps) {
  state::Writer out;
  out.bytes(kVmState, vm(side).save(qps));
  if (roce_.has_state(vm(side).adapter())) {
    const state::Writer::Group group(out, kRoceState);
    roce_.save(vm(side).adapter(), out);
  }
  return out.take();
}

void RoceRig::end_engine(unsigned side, std::span<EngineQp* const> qps) {
  roce_.detach(vm(side).adapter());
  local().detach(vm(side).adapter());
  vm(side).end_engine(qps);
  local().attach(vm(side).adapter());
  wire_.lose_arriving(side);
}

Status RoceRig::load(unsigned side, std::span<const std::byte> state,
                     std::span<EngineQp* const> qps) {
  state::Loading loading;
  state::Reader in(state, loading);
  const std::span<const std::byte> of_vm = in.bytes(kVmState, kMostVmBytes);
  if (!loading.good()) return loading.status();
  if (Status loaded = vm(side).load(of_vm, qps); !loaded) return loaded;
  if (auto roce = in.group_if(kRoceState)) roce_.load(vm(side).adapter(), mac(side), *roce);
  in.end();
  return loading.status();
}

void RoceRig::open_door(unsigned side) {
  roce_.attach(vm(side).adapter(), mac(side), wire_.door(side));
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
