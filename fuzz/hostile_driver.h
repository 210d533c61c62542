// HostileDriver: the guest of one VM, which knows the driver's trade and has no
// manners. It holds a place for each object it may make. What lies in a place is
// made of the same pages every time, and keeps them when the device has let go of
// them: a guest that is at fault posts to queues that are gone.
//
// Places: context i has protection domain i; CQs, regions and queue pairs i belong
// to context i mod 4; context 0 is the guest's kernel. Queue pair 0 is the GSI's,
// 4 the kernel's, 5 sends datagrams, 6 and 7 share receive queues; region 0 is the
// kernel's DMA region, region 4 its fast one; 3 is of 2 MiB and 7 of 32, by naming the
// same few pages many times.
//
// Nothing it reads back from guest memory leads it out of its own memory: other
// threads write there (guest_threads.h).
//
// Owner thread only.

#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "driver_script.h"
#include "fuzz_bytes.h"
#include "testing/device_rig.h"
#include "unwatched.h"

namespace paravane::fake {

class HostileDriver {
 public:
  static constexpr std::uint32_t kContexts = 4;
  static constexpr std::uint32_t kCqs = 8;
  static constexpr std::uint32_t kSrqs = 2;
  static constexpr std::uint32_t kRegions = 8;
  static constexpr std::uint32_t kQps = 8;
  static constexpr std::uint32_t kQkey = 0x4711;

  // REQUIRES: the VM has booted.
  HostileDriver(DeviceRig& rig, unsigned vm);
  HostileDriver(const HostileDriver&) = delete;
  HostileDriver& operator=(const HostileDriver&) = delete;

  // ---- Objects (hostile_driver.cc) ----
  void create(Kind kind, std::uint32_t place, FuzzBytes& input);
  void destroy(Kind kind, std::uint32_t place, FuzzBytes& input);
  // Whatever a queue pair needs, unless it is there.
  void prepare(std::uint32_t place);

  // ---- Other commands (hostile_commands.cc) ----
  bool connect(std::uint32_t place, const GidBytes& gid, std::uint32_t number,
               const RcOptions& options);
  void move(std::uint32_t place, std::uint32_t state);
  void modify(FuzzBytes& input);
  void ask(FuzzBytes& input);
  void bind(FuzzBytes& input, std::span<const GidBytes> gids);

  // ---- Queues (hostile_queues.cc) ----
  struct Target {
    std::uint64_t address = 0;
    std::uint32_t rkey = 0;
    std::uint32_t qp_number = 0;
    GidBytes gid{};
  };
  void send(std::uint32_t place, const Target& target, FuzzBytes& input);
  void receive(FuzzBytes& input);
  void register_fast(FuzzBytes& input);
  void ring(FuzzBytes& input);
  void set_index(FuzzBytes& input);
  void scribble(FuzzBytes& input);
  void alias(FuzzBytes& input);
  void consume(FuzzBytes& input);

  // ---- The machine (hostile_machine.cc) ----
  void touch_registers(FuzzBytes& input);
  void change_memory(FuzzBytes& input);
  void reset(FuzzBytes& input);
  // All of its memory there, bus mastering on: as a machine that has started.
  void restore();
  // Its VMM takes the file away under the memory that lies above the rest; whoever
  // touches it then finds it failed.
  void shrink();
  bool shrunk() const { return shrunk_; }
  // After the device's reset: gives all memory back, to see that nobody uses it.
  void release();

  FakeQp& qp(std::uint32_t place) { return *qps_[place]; }
  FakeMr& region(std::uint32_t place) { return *regions_[place]; }
  // For guest threads: the queues' and the buffers' pages, where the guest sees
  // them, and its doorbell pages (none if these are trapped).
  std::vector<std::byte*> pages();
  std::vector<std::byte*> doorbells();
  // Command slot, response slot, shared region.
  std::vector<std::byte*> command_pages();
  std::span<const std::unique_ptr<FakeQp>> qps() const { return qps_; }

 private:
  using Slot = std::array<std::byte, kRequestBytes>;
  using Words = std::array<std::uint32_t, 8>;  // of a response, after its header

  void make_queues();
  QpSpec qp_spec(std::uint32_t place);
  template <typename Request>
  static Slot slot_of(Request request) {
    request.header.cmd = Request::kOpcode;
    Slot slot{};
    std::memcpy(slot.data(), &request, sizeof request);
    return slot;
  }
  Slot bend(Slot slot, FuzzBytes& input);
  void bend(std::byte* at, std::uint32_t bytes, FuzzBytes& input);
  std::uint64_t bent_value(FuzzBytes& input);
  // nullopt: refused, or no answer came.
  std::optional<Words> submit(const Slot& slot);
  Slot create_request(Kind kind, std::uint32_t place);
  void name_foreign(Kind kind, Slot& slot, std::uint32_t field, std::uint32_t place);
  std::uint32_t& handle_of(Kind kind, std::uint32_t place);
  bool& alive(Kind kind, std::uint32_t place) {
    return alive_[static_cast<std::size_t>(kind)][place];
  }
  void created(Kind kind, std::uint32_t place, const Words& answer);
  void ensure(Kind kind, std::uint32_t place);
  void forget_all();
  void map_spare();
  std::uint64_t spare() { return GuestRam::kBase + guest().ram().size(); }
  PageSet& some_pages(FuzzBytes& input);
  FakeMr& some_region(std::uint32_t place, FuzzBytes& input);
  std::uint64_t address(FuzzBytes& input);
  FakeGuest& guest() { return rig_.guest(vm_); }
  GuestMachine& machine() { return rig_.machine(vm_); }

  DeviceRig& rig_;
  const unsigned vm_;
  SharedRegion shared_;  // as the driver wrote it
  QpTable no_table_;
  SurpriseFunction no_surprise_;
  std::vector<std::unique_ptr<FakeContext>> contexts_;
  std::array<FakePd, kContexts> pds_;
  std::vector<std::unique_ptr<FakeCq>> cqs_;
  std::vector<std::unique_ptr<FakeSrq>> srqs_;
  std::vector<std::unique_ptr<FakeMr>> regions_;
  std::vector<std::unique_ptr<FakeQp>> qps_;
  std::vector<PageSet*> sets_;  // of all of them
  std::array<std::array<bool, 8>, static_cast<std::size_t>(Kind::kCount)> alive_{};
  std::uint32_t last_handle_ = 1;
  UniqueFd spare_;  // of a second memory, which the guest itself never touches
  bool shrunk_ = false;
};

}  // namespace paravane::fake
