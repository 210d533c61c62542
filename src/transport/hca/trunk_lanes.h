// TrunkLanes is the lanes of a trunk: it finds the keys of guest memory for the adapter, and has
// lanes connected on another thread, because the kernel may look for the peer then.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "transport/channel/lane_port.h"
#include "transport/hca/registered_memory.h"
#include "transport/hca/trunk_port.h"
#include "wire/lane_frames.h"

namespace paravane::transport_hca {

class TrunkLanes final : public transport_channel::LanePort {
 public:
  // Calls TrunkPort::connect_lane() elsewhere, and then `done` with its result on the owner's
  // thread. The port stays until then, also when the trunk has ended.
  using Connect = std::function<void(std::shared_ptr<TrunkPort> port, const LaneNumbers& numbers,
                                     std::function<void(bool)> done)>;

  TrunkLanes(std::shared_ptr<TrunkPort> port, std::shared_ptr<RegisteredMemory> memory,
             Connect connect);

  // Of a lane.
  void note(const TrunkCompletion& completion);
  std::shared_ptr<RegisteredMemory> memory() const { return memory_; }

  // ---- LanePort ----
  bool reaches(verbs::Adapter& adapter, const ExtentList& extents) override {
    return memory_->reaches(adapter, extents);
  }
  transport_channel::MemoryState memory_of(verbs::AdapterId adapter) const override {
    return memory_->state_of(adapter);
  }
  std::size_t most_extents() const override { return port_->most_places(); }
  bool post_receive(std::uint32_t lane, verbs::AdapterId adapter, const ExtentList& to) override;
  bool post_send(std::uint32_t lane, verbs::AdapterId adapter, const ExtentList& from,
                 std::uint32_t immediate) override;
  bool post_void(std::uint32_t lane, std::uint32_t immediate) override;
  std::optional<transport_channel::LaneEvent> next_lane_event() override;
  bool has_events() const override { return !events_.empty(); }
  void connect(std::uint32_t lane, std::uint32_t own_psn, std::uint32_t peer_psn) override;
  Duration close(std::uint32_t lane) override;
  void forget(verbs::AdapterId adapter) override { memory_->forget(adapter); }

 private:
  void on_connected(std::uint32_t lane, std::uint32_t life, bool is_connected);

  std::shared_ptr<TrunkPort> port_;
  std::shared_ptr<RegisteredMemory> memory_;
  Connect connect_;
  struct Lane {
    std::uint32_t life = 0;  // of the last connect()
    bool is_connected = false;
  };
  std::array<Lane, wire::kLanes + 1> lanes_;
  std::deque<transport_channel::LaneEvent> events_;
  std::vector<LanePlace> places_;
  std::shared_ptr<TrunkLanes*> self_ = std::make_shared<TrunkLanes*>(this);
};

}  // namespace paravane::transport_hca
