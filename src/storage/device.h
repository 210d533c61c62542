// Device: a logical unit that a VM uses as its disk, by whichever of its paths works.
//
// Requests of the NBD server become SCSI commands. Where a path ends, its commands go by another
// one (path_set.h), after what the path had under way has been fenced off (unit_fence.h); so the
// first command of an engine is, too, because the engine before may have left writes. When the
// preferred path returns, nothing new is sent until what is under way has ended, and then all goes
// by it again.
//
// Without a path, requests wait for kPathWait, then fail, and later ones fail at once until a path
// is back. While a unit cannot be fenced off, requests wait for kPathWait, then fail. Of requests
// that fail so it tells once, until some are sent again.
//
// Where memory runs out, a call may throw std::bad_alloc; no request is lost by that, and pump()
// may be called again. What tells a result throws nothing, as long as `wake` does not.
//
// Owner thread only. The owner calls pump() after `wake`.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/counter.h"
#include "base/instant.h"
#include "base/timers.h"
#include "host_verbs/service_memory.h"
#include "nbd/block_device.h"
#include "storage/path_set.h"
#include "storage/unit_facts.h"
#include "storage/unit_fence.h"

namespace paravane::storage {

struct DeviceCounters {
  CounterSet set;
  Counter reads{set, "reads", "read requests done"};
  Counter read_bytes{set, "read_bytes", "bytes read"};
  Counter writes{set, "writes", "write requests done"};
  Counter written_bytes{set, "written_bytes", "bytes written"};
  Counter flushes{set, "flushes", "requests done that write a cache to the medium"};
  Counter trims{set, "trims", "requests done that give blocks back"};
  Counter failed{set, "failed", "requests that failed"};
  Counter retried{set, "retried", "commands sent again by the same path"};
  Counter moved{set, "moved", "commands that were under way when their path ended"};
  Counter failovers{set, "failovers", "times that commands took another path"};
};

class Device final : public nbd::BlockDevice {
 public:
  static constexpr Duration kPathWait = std::chrono::seconds(15);
  // Of one device, so that there are some for others.
  static constexpr std::uint32_t kMostBuffers = 24;
  // Of the places that are left then, a device that has kSureBuffers takes none: clients that hold
  // what they have for ever leave others some.
  static constexpr std::size_t kLeftForOthers = 16;
  static constexpr std::uint32_t kSureBuffers = 4;
  // Beyond these, for the lists of commands that give blocks back: while requests that wait have
  // all buffers, one of these goes on.
  static constexpr std::uint32_t kMostLists = 2;
  // Payloads of the service that no device takes: a path must be found again while requests that
  // wait for it have all the others.
  static constexpr std::size_t kLeftForScans = 4;
  // Of one command, for reasons that are over at once.
  static constexpr unsigned kMostRetries = 8;
  // How long a unit may be busy, or not ready, for one command.
  static constexpr Duration kMostBusy = std::chrono::seconds(30);
  static constexpr Duration kBusyPause = std::chrono::milliseconds(200);

  struct News {
    enum class What : std::uint8_t { kPathDead, kPathBack, kFailover, kNoPath, kFailing };
    What what{};
    std::string path{};  // the one that it is about
    std::string why{};
  };
  // All outlive it.
  struct Surroundings {
    std::uint64_t number = 0;  // of the device, as a user of the memory: not 0, and no other's
    host_verbs::ServiceMemory& memory;
    TimerQueue& timers;
    std::function<void()> wake;                              // pump() has something to do
    std::function<void()> memory_freed;                      // another device may have it
    std::function<void(const UnitPath::Place&)> look_again;  // what is at that target has changed
    std::function<void(const News&)> tell;
  };
  Device(UnitFacts facts, Surroundings surroundings);
  ~Device() override;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const UnitFacts& facts() const { return facts_; }

  // ---- Paths ----
  // A scan has found the unit there. The path is dead if the unit has another size there.
  void add_path(UnitPath path, const UnitFacts& facts);
  // The path has ended; its tasks have come back as kLost. An unknown place is no error.
  void lose_path(const UnitPath::Place& place, const std::string& why);
  void remove_path(const UnitPath::Place& place);
  const PathSet& paths() const { return paths_; }
  // Why requests are not served at the moment; empty: they are.
  std::string problem() const;

  // ---- nbd::BlockDevice ----
  std::string name() const override { return facts_.name; }
  nbd::Geometry geometry() const override;
  bool open(nbd::BlockClient& client) override;
  void close(nbd::BlockClient& client) override;
  std::unique_ptr<nbd::BlockBuffer> take_buffer(std::uint32_t length) override;
  void submit(std::uint64_t tag, nbd::BlockRequest request) override;
  bool is_open() const { return client_ != nullptr; }
  // It has a client, or requests of an earlier one are not over.
  bool is_busy() const { return client_ != nullptr || !requests_.empty(); }

  // ---- Work ----
  void pump(Instant now);
  // A buffer may be had again.
  void on_memory();

  const DeviceCounters& counters() const { return counters_; }
  std::uint64_t resets() const { return fence_.resets(); }

 private:
  class Buffer;
  enum class State : std::uint8_t { kWaiting, kUnderWay, kPaused, kOver };
  struct Request {
    std::uint64_t tag = 0;
    std::uint64_t client = 0;  // by number: what is of an earlier one is told to none
    nbd::BlockRequest block{};
    std::uint32_t done = 0;                    // bytes that earlier commands have moved
    std::uint32_t piece = 0;                   // bytes of the command that is under way
    std::unique_ptr<nbd::BlockBuffer> list{};  // of a command that gives blocks back
    State state = State::kWaiting;
    std::optional<TaskResult> result{};  // of the command that was under way
    unsigned retries = 0;
    Instant busy_until = kNever;  // it may be busy until then
    TimerId timer = TimerId::kNone;
  };
  using Requests = std::map<std::uint64_t, Request>;  // by number, in the order of their coming

  void take_results(Instant now);
  void judge(Requests::iterator request, const TaskResult& result, Instant now);
  void judge_sense(Requests::iterator request, const TaskResult& result, Instant now);
  void advance(Requests::iterator request, const TaskResult& result);
  void send_again(Requests::iterator request);
  void send_later(Requests::iterator request, Instant now);
  void take_path(Instant now);
  void give_up_in_time(Instant now);
  void send_waiting(Instant now);
  void take_stricter(const UnitFacts& facts);
  void set_state(Request& request, State state);
  void on_result(std::uint64_t number, const TaskResult& result);
  void send(std::uint64_t number, Request& request, const UnitPath& path);
  bool make_task(Request& request, Task& task);
  void finish(Requests::iterator request, nbd::BlockResult result);
  void count_done(const Request& request);
  void fail_waiting(const std::string& why);
  void tell_client(Instant now);
  void wake_at(Instant due, Instant now);
  bool may_have_changed_unit(const Request& request) const;
  std::unique_ptr<Buffer> take_place();
  bool may_take_buffer() const;

  UnitFacts facts_;
  const Surroundings surroundings_;
  PathSet paths_;
  UnitFence fence_;
  Instant no_path_since_ = kNever;
  Instant fence_since_ = kNever;  // requests wait for it
  bool has_given_up_ = false;
  bool had_path_ = false;

  nbd::BlockClient* client_ = nullptr;
  std::uint64_t client_number_ = 0;
  std::optional<nbd::Geometry> opened_;  // what the client was told
  bool is_ready_ = false;
  bool wants_room_ = false;
  bool has_room_ = false;
  std::uint32_t buffers_ = 0;

  Requests requests_;
  std::size_t waiting_ = 0;    // to be sent, in the order of their coming
  std::size_t under_way_ = 0;  // sent, and not judged
  bool has_results_ = false;
  // Answers of tasks may come when the device is gone.
  std::shared_ptr<Device*> self_ = std::make_shared<Device*>(this);
  std::uint64_t next_number_ = 1;
  TimerId wait_timer_ = TimerId::kNone;
  Instant wait_until_ = kNever;  // its time
  DeviceCounters counters_;
};

}  // namespace paravane::storage
