// PvrdmaFunction: what is saved of a device.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>

#include "base/memory_shortage.h"
#include "base/wire_int.h"
#include "device/activation.h"
#include "device/command_table.h"
#include "device/journal/kernel_journal.h"
#include "device/pvrdma_function.h"
#include "state/counters.h"

namespace paravane::device {
namespace {

using state::Tag;

// Of a device.
constexpr Tag kIdentity{1};
constexpr Tag kActive{2};
constexpr Tag kLinkUp{3};
constexpr Tag kMemoryHasFailed{4};
constexpr Tag kRules{5};
constexpr Tag kRegisters{6};
constexpr Tag kLines{7};
constexpr Tag kDeviceCounters{8};
constexpr Tag kRegion{9};     // missing: the driver has shown none
constexpr Tag kNotifier{10};  // this and what follows: of an active device
constexpr Tag kObjects{11};
constexpr Tag kCommand{12};     // missing: none is being executed
constexpr Tag kHeldAnswer{13};  // missing: none is held back
constexpr Tag kWasLost{14};     // missing: it was not
// Of its identity, which is the same for as long as the VM has it.
constexpr Tag kHardwareVersion{1};
constexpr Tag kMacAddress{2};
constexpr Tag kDoorbellMode{3};
constexpr Tag kDoorbellPages{4};
// Of its rules.
constexpr Tag kDatagramRule{1};
constexpr Tag kAtomicsRule{2};
// Of a command.
constexpr Tag kRequestBytes{1};

constexpr std::uint64_t kMostContexts = 65536;

struct SavedIdentity {
  std::uint64_t version = 0;
  std::array<std::uint8_t, 6> mac{};
  DoorbellMode doorbells{};
  std::uint64_t contexts = 0;
};

SavedIdentity read_identity(state::Reader& in) {
  SavedIdentity identity;
  identity.version = in.number(kHardwareVersion, UINT32_MAX);
  in.bytes_into(kMacAddress, std::as_writable_bytes(std::span(identity.mac)));
  identity.doorbells = in.choice(kDoorbellMode, DoorbellMode::kTrapped);
  identity.contexts = in.number(kDoorbellPages, kMostContexts);
  in.end();
  return identity;
}

}  // namespace

DeviceConfig with_saved_doorbells(DeviceConfig config, state::Reader saved) {
  state::Reader identity = saved.group(kIdentity);
  const auto contexts = static_cast<std::uint32_t>(read_identity(identity).contexts);
  const bool is_lowered =
      contexts > config.limits.contexts && contexts <= config.held_limits().contexts;
  if (is_lowered && std::has_single_bit(contexts)) config.limits.contexts = contexts;
  return config;
}

void PvrdmaFunction::save(state::Writer& out) {
  thread_.check();
  save_whole(out, active_);
  if (active_) save_parts(out);
  if (lost_) out.flag(kWasLost, true);
}

void PvrdmaFunction::keep(state::Writer& out) {
  thread_.check();
  save_whole(out, false);
  if (active_ || lost_) out.flag(kWasLost, true);
}

void PvrdmaFunction::save_whole(state::Writer& out, bool active) {
  {
    const state::Writer::Group group(out, kIdentity);
    out.number(kHardwareVersion, config_.version);
    out.bytes(kMacAddress, std::as_bytes(std::span(config_.mac)));
    out.choice(kDoorbellMode, config_.doorbells);
    out.number(kDoorbellPages, config_.limits.contexts);
  }
  out.flag(kActive, active);
  out.flag(kLinkUp, link_up_);
  out.flag(kMemoryHasFailed, !fatal_reason_.empty());
  {
    const state::Writer::Group group(out, kRules);
    out.number(kDatagramRule, rules_.datagram_queue_pairs);
    out.flag(kAtomicsRule, rules_.atomics);
  }
  {
    const state::Writer::Group group(out, kRegisters);
    registers_.save(out);
  }
  {
    const state::Writer::Group group(out, kLines);
    lines_.save(out);
  }
  {
    const state::Writer::Group group(out, kDeviceCounters);
    state::save(counters_.set, out);
  }
  if (!region_error_) {
    const state::Writer::Group group(out, kRegion);
    device::save(region_, out);
  }
}

// A device that is not active has no objects, or those that are being buried, which nothing reaches
// any more.
void PvrdmaFunction::save_parts(state::Writer& out) {
  objects_.for_each_cq([](CompletionQueue& cq) { cq.reveal(); });
  {
    const state::Writer::Group group(out, kNotifier);
    notifier_.save(out);
  }
  {
    const state::Writer::Group group(out, kObjects);
    objects_.save(out);
  }
  if (commands_.busy()) {
    const state::Writer::Group group(out, kCommand);
    commands_.save(out);
  }
  if (const auto token = held_reply_.token()) {
    out.number(kHeldAnswer, static_cast<std::uint64_t>(*token));
  }
}

void PvrdmaFunction::load(state::Reader& in) {
  thread_.check();
  state::Reader identity = in.group(kIdentity);
  load_identity(identity);
  const bool active = in.flag(kActive);
  link_up_ = in.flag(kLinkUp);
  if (in.flag(kMemoryHasFailed)) fatal_reason_ = kMemoryFailed;
  state::Reader rules = in.group(kRules);
  rules_.datagram_queue_pairs = static_cast<std::uint32_t>(rules.number(kDatagramRule, UINT32_MAX));
  rules_.atomics = rules.flag(kAtomicsRule);
  rules.end();
  state::Reader registers = in.group(kRegisters);
  registers_.load(registers);
  state::Reader lines = in.group(kLines);
  lines_.load(lines);
  state::Reader counters = in.group(kDeviceCounters);
  state::load(counters_.set, counters);
  if (auto region = in.group_if(kRegion)) {
    region_ = load_saved_region(*region);
    region_error_.reset();
  }
  in.expect(!active || !region_error_, "the device is active without a shared region");
  if (!in.good()) return;
  if (active) load_parts(in);
  lost_ = in.number_if(kWasLost, 1).has_value();
  in.end();
  in.expect(!lost_ || (!active && !region_error_), "an active device cannot be lost");
  if (lost_) load_lost();
}

// A driver that has announced a command and waits for its answer reads ERR as it was.
void PvrdmaFunction::load_lost() {
  registers_.set_error(journal_ != nullptr ? journal_->error() : kErrorNoDevice);
  if (journal_ == nullptr) return;
  lost_queues_.emplace(LostQueues::Parts{.config = config_,
                                         .journal = *journal_,
                                         .memory = memory_,
                                         .region = region_,
                                         .lines = lines_,
                                         .notifier = notifier_,
                                         .effort = effort_,
                                         .counters = counters_});
}

// The driver may be waiting for the response to a command: it gets one to no command, which it
// takes for a failure. All vectors are raised, and what waits looks at its ring.
//
// Vector 0 without a response is safe here alone: a command that follows clears it before it is
// announced, and the register ERR says whether it has a response.
void PvrdmaFunction::tell_lost() {
  thread_.check();
  told_map_ = memory_.generation();
  is_told_ = false;
  runs_in_memory([this] {
    if (journal_ == nullptr || !journal_->has_ended_command()) {
      const Response to_no_command;
      static_cast<void>(memory_.copy_out(region_.response_slot, to_no_command.bytes));
    }
    resume_notices();
  });
  notifier_.async(abi::kEventDeviceFatal, kPort);
  lines_.raise(abi::kVectorResponse);
  lines_.raise(abi::kVectorAsync);
  lines_.raise(abi::kVectorCompletion);
}

void PvrdmaFunction::resume_notices() {
  auto rings = map_device_rings(memory_, region_);
  if (!rings) return;
  notifier_.start(std::move(rings->completion), std::move(rings->async));
  notifier_.resume();
  is_told_ = true;
  if (lost_queues_) lost_queues_->search_again();
}

void PvrdmaFunction::load_identity(state::Reader& in) const {
  const SavedIdentity saved = read_identity(in);
  const bool is_same = saved.version == config_.version && saved.mac == config_.mac &&
                       saved.doorbells == config_.doorbells &&
                       saved.contexts == config_.limits.contexts;
  in.expect(is_same, "it is of another adapter, or of other hardware");
}

void PvrdmaFunction::load_parts(state::Reader& in) {
  objects_.start(region_.effective_version(config_.version));
  active_ = true;
  state::Reader notifier = in.group(kNotifier);
  notifier_.load(notifier, memory_, end_of_handles());
  state::Reader objects = in.group(kObjects);
  if (!in.good()) return;
  objects_.load(objects, {.memory = memory_,
                          .completions = completion_events_,
                          .shared_receives = *this,
                          .broken_rings = counters_.broken_rings});
  if (auto command = in.group_if(kCommand)) commands_.load(*command);
  const auto held = in.number_if(kHeldAnswer);
  in.expect(!held || commands_.busy(), "an answer is held back for no command");
  if (!in.good()) return;
  if (held) held_reply_.hold(vfio_user::ReplyToken{*held}, clock_.now);
  objects_.for_each_context([this](UserContext& context) {
    if (objects_.context_of_page(context.page) == &context) watch_.adopt(context);
  });
  objects_.for_each_cq([this](CompletionQueue& cq) { late_events_.resume(cq); });
}

// Above those of all its objects, and above the number of its port.
std::uint32_t PvrdmaFunction::end_of_handles() const {
  const DeviceLimits& limits = config_.held_limits();
  return 2 + std::max({limits.queue_pairs, limits.completion_queues, limits.shared_receive_queues});
}

// ---- The command that is being executed ----

void CommandChannel::save(state::Writer& out) const {
  out.bytes(kRequestBytes, request_.bytes);
}

void CommandChannel::load(state::Reader& in) {
  in.bytes_into(kRequestBytes, request_.bytes);
  in.end();
  row_ = find_command(request_.as<abi::CommandHeader>().cmd.get());
  if (!in.expect(row_ != nullptr && row_->reply != Reply::kNone && row_->reply != Reply::kRefused,
                 "no command takes so long") ||
      !in.good()) {
    return;
  }
  std::ranges::fill(std::span(request_.bytes).subspan(row_->request_bytes), std::byte{0});
  begins_again_ = true;
}

}  // namespace paravane::device
