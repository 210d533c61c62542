// TcpRig: two hosts with an adapter each, joined by one TCP channel over a pair of
// sockets, stepped by hand in a time of its own. The connection can be cut and made anew.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/event_loop.h"
#include "base/timers.h"
#include "fabric/directory.h"
#include "testing/engine_vm.h"
#include "testing/fake_clock.h"
#include "transport/channel/channel_transport.h"
#include "transport/local/local_transport.h"

namespace paravane::fake {

class TcpRig {
 public:
  // `sealed`: without encryption, every record proves where it is from, and with
  // `seals_payload` all that follows it.
  explicit TcpRig(bool sealed = true, std::uint64_t ram_bytes = 64 << 20,
                  bool seals_payload = true);
  virtual ~TcpRig();
  TcpRig(const TcpRig&) = delete;
  TcpRig& operator=(const TcpRig&) = delete;

  EngineVm& a() { return *sides_[0].vms[0]; }
  EngineVm& b() { return *sides_[1].vms[0]; }
  // One more VM of that host's; the other host knows it.
  EngineVm& add(unsigned side);
  transport_channel::ChannelTransport& tcp(unsigned side) { return *sides_.at(side).tcp; }
  fabric::Directory& directory(unsigned side) { return *sides_.at(side).directory; }
  TimerQueue& timers() { return timers_; }
  Instant now() const { return clock_.now(); }
  const TurnClock& turn_clock() const { return clock_.turn_clock(); }

  // RC, both in RTS, each the other's peer; `index` 0 for RoCE v2, 1 for v1.
  static void connect(EngineVm& vm, EngineQp& qp, EngineVm& peer_vm, EngineQp& peer,
                      const verbs::QpAttributes& attributes = default_attributes(),
                      std::uint8_t index = 0);

  void turn(verbs::Budget budget = {.bytes = 4 << 20, .operations = 256});
  // Until nothing has work. False: it still had after `limit` turns.
  bool run(unsigned limit = 10'000);
  void advance(Duration duration);
  // For one host alone: the other stands still.
  void skip_time(Duration duration) { clock_.advance_to(clock_.now() + duration); }
  // Looks at the host's sockets, no more.
  Result<int> poll_one(unsigned side) { return sides_.at(side).loop->poll(Duration::zero()); }
  void turn_one(unsigned side, verbs::Budget budget = {.bytes = 4 << 20, .operations = 256});

  // The channel: from nothing, or in place of what is there.
  void join();
  // Each end's stream goes through this, from the next join() on.
  using Wrap = std::function<std::unique_ptr<transport_channel::Stream>(
      std::unique_ptr<transport_channel::Stream>)>;
  void wrap_streams(Wrap wrap) {
    wrap_ = [wrap = std::move(wrap)](std::unique_ptr<transport_channel::Stream> stream, unsigned) {
      return wrap(std::move(stream));
    };
  }
  // `end` is 0 or 1; likewise.
  using WrapEnd = std::function<std::unique_ptr<transport_channel::Stream>(
      std::unique_ptr<transport_channel::Stream>, unsigned end)>;
  void wrap_ends(WrapEnd wrap) { wrap_ = std::move(wrap); }
  // That host is of a release that knows no Hold, from the next join() on.
  void forbid_holds(unsigned side) { sides_.at(side).holds = false; }
  // As when a cable is pulled; what is in the sockets is lost.
  void cut();
  // The engine of a host with one VM is replaced: the adapter and these queue pairs, which are all
  // that there are, are saved, end with their channels, and are made anew. The channel is another
  // one then. Errors: the state is refused.
  Status hand_over(unsigned side, std::span<EngineQp* const> qps);
  // Both hosts know each other's GIDs from the start; `host` forgets the other's.
  void forget_peer(unsigned side);
  void know_peer(unsigned side);
  const std::vector<std::string>& losses(unsigned side) const { return sides_.at(side).losses; }

 protected:
  // Of a rig that has more than adapters and the channel.
  virtual void turn_more(unsigned /*side*/, Instant /*now*/, verbs::Budget /*budget*/) {}
  virtual bool more_work() const { return false; }
  virtual Instant next_due() const { return kNever; }

 private:
  struct Side final : transport_channel::LocalOwners {
    std::optional<verbs::AdapterId> find_local(verbs::SegmentId segment, const verbs::Gid& gid,
                                               verbs::GidType type) const override {
      return directory->find_local(segment, gid, type);
    }
    std::unique_ptr<EventLoop> loop;
    transport_local::LocalTransport local;
    std::unique_ptr<fabric::Directory> directory;
    std::unique_ptr<transport_channel::ChannelTransport> tcp;
    std::vector<std::unique_ptr<verbs::FabricPort>> ports;
    std::vector<std::unique_ptr<EngineVm>> vms;
    std::vector<std::string> losses;
    bool holds = true;
  };

  void make_channels(Side& side, std::uint64_t incarnation);

  std::uint64_t last_incarnation_ = 200;
  bool sealed_;
  bool seals_payload_;
  std::uint64_t ram_bytes_;
  WrapEnd wrap_;
  FakeClock clock_;
  TimerQueue timers_;
  std::array<Side, 2> sides_;
  bool moved_ = false;  // a socket had something in this turn
};

}  // namespace paravane::fake
