// TrunkMaker opens the RDMA adapter for channels to other hosts, and arranges a trunk with each
// host that also has an adapter (HostTrunk). If the adapter disappears and returns, it is opened
// again.
//
// The work is done in a separate thread, because an adapter's driver takes longer than the worker
// thread is allowed to spend on one task. Any thread may call the public functions.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/event_loop.h"
#include "base/instant.h"
#include "base/limited_log.h"
#include "base/mailbox.h"
#include "base/mutex.h"
#include "base/result.h"
#include "transport/hca/host_trunk.h"
#include "transport/hca/registered_memory.h"
#include "transport/hca/trunk_device.h"
#include "verbs/fabric_port.h"

namespace paravane::transport_hca {

class TrunkMaker {
 public:
  // Called on this object's thread.
  struct Events {
    // For the channel over TCP to that host.
    std::function<void(verbs::HostId, const wire::TrunkOffer&)> offer;
    std::function<void(verbs::HostId, const wire::TrunkReady&)> ready;
    std::function<void(verbs::HostId, MadeTrunk, const TrunkAdapter&)> made;
    // Runs it on the thread that owns the trunks.
    std::function<void(std::function<void()>)> run_at_owner;
    // No trunk to that host can exist. A trunk that was made must end.
    std::function<void(verbs::HostId, const NoTrunk&)> none;
  };
  // The interval at which an adapter that cannot be used is tried again.
  static constexpr Duration kTryEvery = std::chrono::seconds(1);
  // The interval at which the presence of the adapter is checked.
  static constexpr Duration kLookEvery = std::chrono::milliseconds(250);

  // `seals_payload`: of the trunks' records. Errors: kIo.
  static Result<std::unique_ptr<TrunkMaker>> start(OpenTrunkDevice open, Events events,
                                                   bool seals_payload);
  ~TrunkMaker();
  TrunkMaker(const TrunkMaker&) = delete;
  TrunkMaker& operator=(const TrunkMaker&) = delete;

  // Ends the thread. Later calls have no effect.
  void stop();

  // Sets the adapter to use. nullopt: no adapter is used, for the reason in `none`.
  void set_adapter(std::optional<TrunkAdapter> adapter, NoTrunk none);

  // ---- The channel over TCP to a host ----
  // The channel is open, and trunks are arranged in it. `leads`: this host has dialed it.
  void on_channel(verbs::HostId host, bool leads);
  void on_channel_lost(verbs::HostId host);
  // If several arrive before the thread handles them, only the last one counts.
  void on_offer(verbs::HostId host, const wire::TrunkOffer& offer);
  void on_ready(verbs::HostId host, const wire::TrunkReady& ready);

  // The trunk with that number has failed.
  void on_lost(verbs::HostId host, std::uint64_t number, const std::string& reason);
  // Ends a port that is no longer used, and memory that no port uses any more. The driver of the
  // adapter may need a while for it.
  void retire(std::shared_ptr<TrunkPort> port, std::shared_ptr<RegisteredMemory> memory);
  // As TrunkLanes::Connect.
  void connect_lane(std::shared_ptr<TrunkPort> port, const LaneNumbers& numbers,
                    std::function<void(bool)> done);

 private:
  // The frames of a host and the events of its channel since the thread last handled them. A host
  // can send any number of frames, so only the last one of each kind is kept.
  struct News {
    bool was_lost = false;
    std::optional<bool> leads{};  // of a new channel
    std::optional<wire::TrunkOffer> offer{};
    std::optional<wire::TrunkReady> ready{};
  };

  TrunkMaker(OpenTrunkDevice open, Events events, bool seals_payload,
             std::unique_ptr<EventLoop> loop);
  void run();
  void turn();
  Instant next_turn() const;
  void tell(verbs::HostId host, const std::function<void(News&)>& change);
  void take_news();
  void take(verbs::HostId host, const News& news);
  void add(verbs::HostId host, bool leads);
  void look_at_device();
  void open_device();
  void on_device();
  void lose_device(const NoTrunk& none);
  void share_device();
  std::shared_ptr<RegisteredMemory> memory_of_device();
  void register_memory(const std::weak_ptr<TrunkDevice>& device,
                       const std::weak_ptr<RegisteredMemory>& memory,
                       RegisteredMemory::Wanted wanted);

  const OpenTrunkDevice open_;
  const Events events_;
  const bool seals_payload_;
  std::unique_ptr<EventLoop> loop_;
  Mailbox mailbox_;
  Mutex mutex_;
  std::map<verbs::HostId, News> news_ GUARDED_BY(mutex_);
  bool news_posted_ GUARDED_BY(mutex_) = false;

  // ---- This object's thread ----
  std::optional<TrunkAdapter> adapter_;
  std::shared_ptr<TrunkDevice> device_;
  std::weak_ptr<RegisteredMemory> memory_;  // of device_, while a trunk uses it
  NoTrunk none_{.state = wire::TrunkState::kPreparing, .why = "being prepared"};
  Instant next_look_{};  // when the adapter is checked, or opened, next
  std::map<verbs::HostId, HostTrunk> hosts_;
  std::uint64_t last_number_ = 0;  // the largest number of a trunk
  LimitedLog log_;
  bool stopping_ = false;
  std::thread thread_;  // last member: starts after all others are constructed
};

}  // namespace paravane::transport_hca
