// Hostile drivers: two VMs whose guests do anything, in any order, from several
// threads, to their own devices and to each other; a third one wants to be left in
// peace. The input is a list of acts (driver_script.h), most of which make sense.
//
// What must hold besides the sanitizers: a turn stays within its budget, the third
// VM's messages arrive while all this goes on, its memory is written nowhere but where
// it was offered, and after a reset nothing is left of the others: no object, no
// timer, no mapping, no access to their memory.

#include <spdlog/spdlog.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <memory>
#include <optional>

#include "bystander.h"
#include "device/turn_effort.h"
#include "driver_script.h"
#include "guest_threads.h"
#include "guestmem/memory_failure.h"
#include "hostile_driver.h"
#include "promise.h"
#include "testing/test_memory.h"
#include "verbs/transport.h"

namespace paravane::fake {
namespace {

constexpr unsigned kVms = 3;
constexpr unsigned kWellBehaved = 2;
// What a device may do in a turn: little, so that what it does too much shows.
constexpr std::int32_t kOperations = 8;
constexpr std::int64_t kBytes = 512 << 10;
// The last request of a turn may be more than what was left: one of many pieces, or with
// many pages to register, counts as up to so many.
constexpr std::int32_t kOneTooMany = 34;

// One counter for each power of two that a turn's units reach: an input that makes a turn
// longer than any before is kept, and the fuzzer goes on from there.
[[gnu::section("__libfuzzer_extra_counters")]] std::uint8_t turn_lengths[32];

class DriverFuzz {
 public:
  explicit DriverFuzz(FuzzBytes input)
      : input_(input),
        rig_(options(input_.below(8))),
        bystander_(rig_, kWellBehaved),
        drivers_{std::make_unique<HostileDriver>(rig_, 0),
                 std::make_unique<HostileDriver>(rig_, 1)} {
    gids_ = {gid_of_mac(rig_.mac(0)), gid_of_mac(rig_.mac(1)), gid_of_mac(rig_.mac(kWellBehaved)),
             gid_of_ipv4({10, 0, 0, 77}), GidBytes{}};
  }

  void run() {
    hostile_ = true;
    for (int acts = 0; acts < 300 && !input_.at_end(); ++acts) {
      act();
      if (threads_ && --threaded_acts_ == 0) threads_.reset();
      require(rig_.least_left().operations >= -kOneTooMany);
      require(rig_.least_left().bytes >= -static_cast<std::int64_t>(verbs::kSliceBytes));
      look_at_turns();
    }
    threads_.reset();
    finish();
  }

 private:
  void look_at_turns() {
    for (unsigned vm = 0; vm < kVms; ++vm) {
      const std::uint64_t touched = rig_.device(vm).counters().most_touched.value();
      require(touched <= device::TurnEffort::kMost);
      turn_lengths[std::bit_width(touched) % std::size(turn_lengths)] = 1;
    }
  }

  RigOptions options(std::uint32_t which) {
    static vfio_user::Interrupts kept[kVms]{vfio_user::Interrupts(3), vfio_user::Interrupts(3),
                                            vfio_user::Interrupts(3)};
    RigOptions options;
    options.vms = kVms;
    for (vfio_user::Interrupts& interrupts : kept) options.interrupts.push_back(&interrupts);
    options.guest.on_surprise = [this](const char* what) {
      if (hostile_) return;
      std::fprintf(stderr, "the well-behaved guest: %s\n", what);
      std::abort();
    };
    options.guest.patience_turns = 50;
    options.ram_bytes = 64 << 20;
    options.budget = {.bytes = kBytes, .operations = kOperations};
    static constexpr std::uint32_t kVersions[] = {20, 17, 20, 17, 19, 18, 19, 18};
    options.config.version = kVersions[which];
    if (which % 4 == 1) options.config.gid_type = verbs::GidType::kRoceV1;
    if ((which & 2) != 0) options.config.doorbells = device::DoorbellMode::kTrapped;
    // A few objects a turn: burials are seen from the middle, too.
    options.config.burial_effort = 20;
    options.config.limits.queue_pairs = 16;
    options.config.limits.completion_queues = 32;
    options.config.limits.shared_receive_queues = 4;
    options.config.limits.memory_regions = 32;
    options.config.limits.protection_domains = 16;
    options.config.limits.contexts = 8;
    options.config.limits.gids = 16;
    return options;
  }

  void act() {
    const auto what =
        static_cast<DriverAct>(input_.below(static_cast<std::uint32_t>(DriverAct::kCount)));
    vm_ = input_.below(2);
    HostileDriver& driver = *drivers_[vm_];
    switch (what) {
      case DriverAct::kCreate: {
        const Kind kind = some_kind();
        return driver.create(kind, input_.u8(), input_);
      }
      case DriverAct::kDestroy: {
        const Kind kind = some_kind();
        return driver.destroy(kind, input_.u8(), input_);
      }
      case DriverAct::kConnect: return connect(driver);
      case DriverAct::kMove: {
        const std::uint32_t place = input_.below(HostileDriver::kQps);
        return driver.move(place, input_.below(8));
      }
      case DriverAct::kModify: return driver.modify(input_);
      case DriverAct::kAsk: return driver.ask(input_);
      case DriverAct::kSend: {
        const std::uint32_t place = input_.below(HostileDriver::kQps);
        const HostileDriver::Target to = target(place);
        return driver.send(place, to, input_);
      }
      case DriverAct::kReceive: return driver.receive(input_);
      case DriverAct::kRegister: return driver.register_fast(input_);
      case DriverAct::kRing: return driver.ring(input_);
      case DriverAct::kIndex: return driver.set_index(input_);
      case DriverAct::kScribble: return driver.scribble(input_);
      case DriverAct::kAlias: return driver.alias(input_);
      case DriverAct::kConsume: return driver.consume(input_);
      case DriverAct::kGid: return driver.bind(input_, gids_);
      case DriverAct::kTime: return pass();
      case DriverAct::kMemory: return driver.change_memory(input_);
      case DriverAct::kReset: return driver.reset(input_);
      case DriverAct::kRegisters: return driver.touch_registers(input_);
      case DriverAct::kThreads: return start_threads();
      case DriverAct::kBystander: return well_behaved([this] { bystander_.talk(); });
      case DriverAct::kHost: return host();
      case DriverAct::kCount: return;
    }
  }

  Kind some_kind() {
    return static_cast<Kind>(input_.below(static_cast<std::uint32_t>(Kind::kCount)));
  }

  void connect(HostileDriver& driver) {
    const std::uint32_t place = input_.below(HostileDriver::kQps);
    const std::uint32_t peer_vm = input_.below(3);
    const std::uint32_t peer = input_.below(HostileDriver::kQps);
    RcOptions options;
    const std::uint32_t how = input_.u8();
    options.rnr_retry = static_cast<std::uint8_t>(how % 8 ^ 7);
    options.retry_count = static_cast<std::uint8_t>(how / 8 % 8 ^ 7);
    if (how >= 0xC0) options.access = kLocalWrite;
    driver.prepare(place);
    if (peer_vm == kPeerBystander) {
      driver.connect(place, gids_[kWellBehaved], bystander_.open_number(), options);
      const std::uint32_t number = driver.qp(place).number;
      well_behaved([&] { bystander_.offer(gids_[vm_], number); });
      peers_[vm_][place] = {kPeerBystander, 0};
      return;
    }
    HostileDriver& other = *drivers_[peer_vm];
    other.prepare(peer);
    other.connect(peer, gids_[vm_], driver.qp(place).number, options);
    driver.connect(place, gids_[peer_vm], other.qp(peer).number, options);
    peers_[vm_][place] = {peer_vm, peer};
    peers_[peer_vm][peer] = {vm_, place};
  }

  // Mostly what the queue pair is connected with and may reach.
  HostileDriver::Target target(std::uint32_t place) {
    const std::uint32_t who = input_.below(8);
    Peer peer = peers_[vm_][place];
    if (who == 5) peer = {kPeerBystander, input_.below(HostileDriver::kQps)};
    if (who == 6) peer = {input_.below(2), input_.below(HostileDriver::kQps)};
    const std::uint32_t pick = input_.u8();
    const std::uint32_t offset = pick * 8u + (pick >= 0xE0 ? pick % 8 : 0);
    if (peer.vm == kPeerBystander) {
      const bool offered = peer.place < 6;
      FakeMr& mr = offered           ? bystander_.offered()
                   : peer.place == 6 ? bystander_.kept()
                                     : bystander_.elsewhere();
      const std::uint64_t start = (mr.va() + 7) & ~std::uint64_t{7};
      return {.address = start + offset + (offered && who >= 4 ? 6000 : 0),
              .rkey = mr.rkey,
              .qp_number = bystander_.open_number(),
              .gid = gids_[kWellBehaved]};
    }
    HostileDriver& other = *drivers_[peer.vm];
    FakeMr& mr = other.region(who == 7 ? offset % 8 : peer.place);
    const std::uint64_t start = (mr.va() + 7) & ~std::uint64_t{7};
    return {.address = start + offset,
            .rkey = mr.rkey,
            .qp_number = other.qp(peer.place).number,
            .gid = gids_[peer.vm]};
  }

  void host() {
    const std::uint32_t what = input_.below(4);
    if (what == 3) return drivers_[vm_]->shrink();
    if (what == 2) return rig_.device(vm_).tell_gone();
    rig_.set_link(vm_, what == 0);
  }

  void pass() {
    const std::chrono::microseconds time(input_.u16() % 5000u);
    if (threads_) {
      for (int i = 0; i < 20; ++i) rig_.turn(time / 20);  // the guests never rest
    } else {
      rig_.advance(time);
    }
    for (unsigned vm = 0; vm < kWellBehaved; ++vm) {
      rig_.guest(vm).handle_interrupts();
      rig_.guest(vm).async_events().clear();
      rig_.guest(vm).notifications().clear();
    }
  }

  void start_threads() {
    const std::uint32_t count = 1 + input_.below(4);
    threaded_acts_ = 1 + input_.below(24);
    const std::uint32_t seed = input_.u16();
    if (storms_ == 3) return;
    ++storms_;
    threads_.reset();
    threads_.emplace(std::array{drivers_[0].get(), drivers_[1].get()}, count, seed);
  }

  template <typename Act>
  void well_behaved(Act act) {
    hostile_ = false;
    act();
    hostile_ = true;
  }

  void finish() {
    for (auto& driver : drivers_) driver->restore();
    require(rig_.run_until_idle(200'000));
    for (unsigned vm = 0; vm < kVms; ++vm) {
      const bool may_be_lost = vm < kWellBehaved && drivers_[vm]->shrunk();
      require(may_be_lost || rig_.device(vm).fatal_reason().empty());
    }
    well_behaved([this] {
      bystander_.talk();
      bystander_.look_around();
    });
    for (unsigned vm = 0; vm < kWellBehaved; ++vm) forget(vm);
    rig_.advance(std::chrono::milliseconds(5));
    for (unsigned vm = 0; vm < kWellBehaved; ++vm) {
      require(rig_.guest(vm).ram().intact_after_free());
      require(rig_.device(vm).next_look() == kNever);
      rig_.unplug(vm);
      const GuestMemory::Usage usage = rig_.memory(vm).usage();
      require(usage.ranges == 0);
      // The fake guest lives in the device's mapping then.
      if constexpr (!kThreadSanitizer) require(usage.files == 0 && usage.mapped_file_bytes == 0);
    }
    well_behaved([this] { bystander_.talk(); });
    rig_.unplug(kWellBehaved);
    require(rig_.timers().next_deadline() == kNever);
  }

  void forget(unsigned vm) {
    rig_.machine(vm).reset(vfio_user::ResetCause::kMachineReset);
    for (int turns = 0; rig_.device(vm).has_work(); ++turns) {
      require(turns < 1000);
      rig_.step();
    }
    const device::DeviceObjects left = rig_.device(vm).objects();
    require(left.contexts + left.protection_domains + left.memory_regions == 0);
    require(left.completion_queues + left.queue_pairs + left.gids == 0);
    require(left.shared_receive_queues == 0);
    require(rig_.device(vm).adapter().qp_count() == 0);
    drivers_[vm]->release();
  }

  bool hostile_ = false;  // whose turn it is; the well-behaved guest is not surprised
  FuzzBytes input_;
  DeviceRig rig_;
  Bystander bystander_;
  std::array<std::unique_ptr<HostileDriver>, 2> drivers_;
  std::array<GidBytes, 5> gids_{};
  struct Peer {
    std::uint32_t vm = 0;
    std::uint32_t place = 0;
  };
  std::array<std::array<Peer, HostileDriver::kQps>, 2> peers_{};
  std::uint32_t vm_ = 0;
  std::uint32_t threaded_acts_ = 0;
  std::uint32_t storms_ = 0;
  std::optional<GuestThreads> threads_;  // last: they write to all of the above
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (!paravane::install_memory_failure_handler()) std::abort();
  spdlog::set_level(spdlog::level::off);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::DriverFuzz fuzz{paravane::fake::FuzzBytes(data, size)};
  fuzz.run();
  return 0;
}
