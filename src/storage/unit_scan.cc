#include "storage/unit_scan.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/memory_shortage.h"
#include "guestmem/payload.h"
#include "scsi/block_limits.h"
#include "scsi/capacity.h"
#include "scsi/device_identity.h"
#include "scsi/inquiry.h"
#include "scsi/mode.h"
#include "scsi/request.h"

namespace paravane::storage {
namespace {

constexpr std::uint8_t kSerialPage = 0x80;
constexpr std::uint8_t kIdentityPage = 0x83;
constexpr std::uint8_t kLimitsPage = 0xB0;
constexpr std::uint8_t kProvisioningPage = 0xB2;
constexpr std::uint8_t kCachingMode = 0x08;

}  // namespace

UnitScan::UnitScan(TaskPath& path, host_verbs::ServiceMemory& memory, TimerQueue& timers, Done done)
    : path_(path), memory_(memory), timers_(timers), done_(std::move(done)) {}

UnitScan::~UnitScan() {
  *self_ = nullptr;
  timers_.cancel(timer_);
  if (payload_) memory_.payloads().give_back(*payload_);
}

bool UnitScan::begin(Instant now) {
  payload_ = memory_.payloads().take();
  if (!payload_) return false;
  // A scan is another user each time, which fills with zeros what it asks for.
  memory_.take_over(*payload_, 0);
  now_ = now;
  ask();
  return true;
}

scsi::Request UnitScan::request() const {
  switch (step_) {
    case Step::kReportLuns: return scsi::report_luns(scsi::LunList::kAnswerBytes);
    case Step::kInquiry: return scsi::inquiry();
    case Step::kIdentity: return scsi::inquiry_page(kIdentityPage);
    case Step::kSerial: return scsi::inquiry_page(kSerialPage);
    case Step::kBlockLimits: return scsi::inquiry_page(kLimitsPage);
    case Step::kProvisioning: return scsi::inquiry_page(kProvisioningPage);
    case Step::kCapacity16: return scsi::read_capacity16();
    case Step::kCapacity10: return scsi::read_capacity10();
    case Step::kMode: return scsi::mode_sense6(kCachingMode);
  }
  return {};
}

void UnitScan::ask() {
  if (!path_.is_up()) return end("the login has ended");
  Task task{.lun = step_ == Step::kReportLuns ? scsi::Lun() : luns_[at_],
            .request = request(),
            .payload = payload_};
  // What a target does not write must not be what an earlier answer was.
  ExtentList extents;
  const std::vector<std::byte> zeros(task.request.bytes);
  if (!memory_.extents(*payload_, 0, task.request.bytes, extents) ||
      !scatter_payload(zeros, extents)) {
    return end("the memory of the service failed");
  }
  path_.execute(task, [self = self_](const TaskResult& result) {
    if (*self == nullptr) return;
    (*self)->go_on([&] { (*self)->on_answer(result); });
  });
}

void UnitScan::on_answer(const TaskResult& result) {
  if (result.kind == TaskResult::Kind::kLost) return end("the login has ended");
  if (repeat(result)) return;
  tries_ = 0;
  take(result);
}

// Whether the command is sent again.
bool UnitScan::repeat(const TaskResult& result) {
  bool is_later = result.kind == TaskResult::Kind::kBusy;
  bool is_at_once = result.kind == TaskResult::Kind::kAborted;
  if (result.kind == TaskResult::Kind::kSense) {
    const scsi::Meaning meaning = result.sense.meaning();
    is_later = meaning == scsi::Meaning::kRetryLater;
    is_at_once = meaning == scsi::Meaning::kRetryAtOnce ||
                 meaning == scsi::Meaning::kReportedLunsChanged ||
                 meaning == scsi::Meaning::kCapacityChanged;
  }
  if ((!is_later && !is_at_once) || ++tries_ >= kMostTries) return false;
  if (is_at_once) {
    ask();
  } else {
    timer_ = timers_.set(now_ + kPause, [this](Instant now) {
      now_ = now;
      timer_ = TimerId::kNone;
      go_on([this] { ask(); });
    });
  }
  return true;
}

void UnitScan::take(const TaskResult& result) {
  const bool is_good = result.is_good() || (result.kind == TaskResult::Kind::kSense &&
                                            result.sense.meaning() == scsi::Meaning::kDone);
  const std::uint32_t asked = request().bytes;
  std::vector<std::byte> bytes(asked - std::min(result.missing, asked));
  if (is_good && !bytes.empty()) {
    ExtentList extents;
    if (!memory_.extents(*payload_, 0, static_cast<std::uint32_t>(bytes.size()), extents) ||
        !gather_payload(extents, bytes)) {
      return end("the memory of the service failed");
    }
  }
  if (step_ == Step::kReportLuns) return take_luns(bytes, is_good);
  if (Status taken = take_unit(bytes, is_good); !taken) {
    units_.back().problem = taken.error().message;
    return next_unit();
  }
}

void UnitScan::take_luns(std::span<const std::byte> bytes, bool is_good) {
  if (!is_good) return end("the target does not say which logical units it has");
  auto list = scsi::parse_lun_list(bytes);
  if (!list) return end(list.error().message);
  luns_ = std::move(list->luns);
  at_ = 0;
  if (luns_.empty()) return end({});
  units_.push_back({.lun = luns_[0], .number = luns_[0].number().value_or(0)});
  step_ = Step::kInquiry;
  ask();
}

// An error: the unit is no device, for that reason. Otherwise the next question has been asked.
Status UnitScan::take_unit(std::span<const std::byte> bytes, bool is_good) {
  UnitFacts& unit = units_.back();
  const auto ask_next = [this](Step step) {
    step_ = step;
    ask();
    return Status();
  };
  switch (step_) {
    case Step::kInquiry: {
      if (!is_good) return fail(Errc::kIo, "the logical unit does not answer an inquiry");
      const auto inquiry = scsi::parse_inquiry(bytes);
      if (!inquiry) return std::unexpected(inquiry.error());
      unit.vendor = inquiry->vendor;
      unit.product = inquiry->product;
      unit.revision = inquiry->revision;
      if (!inquiry->is_disk()) return fail(Errc::kUnsupported, "it is not a disk");
      return ask_next(Step::kIdentity);
    }
    case Step::kIdentity: {
      if (!is_good) return ask_next(Step::kSerial);
      auto identity = scsi::parse_identification(bytes);
      if (!identity) return ask_next(Step::kSerial);
      unit.name = std::move(identity->name);
      return ask_next(Step::kBlockLimits);
    }
    case Step::kSerial: {
      const auto serial =
          is_good ? scsi::parse_serial(bytes)
                  : Result<std::string>(fail(Errc::kNotFound, "it has no serial number"));
      if (!serial || serial->empty()) {
        return fail(Errc::kNotFound, "it has no name by which it could be known on another path");
      }
      unit.name = scsi::identity_of_serial(unit.vendor, *serial).name;
      return ask_next(Step::kBlockLimits);
    }
    case Step::kBlockLimits: {
      const auto limits = is_good ? scsi::parse_block_limits(bytes) : scsi::BlockLimits();
      unit.most_transfer_blocks = limits ? limits->most_transfer : 0;
      most_unmap_ = limits ? limits->most_unmap : 0;
      return ask_next(Step::kProvisioning);
    }
    case Step::kProvisioning: {
      const auto provisioning = is_good ? scsi::parse_provisioning(bytes) : scsi::Provisioning();
      has_unmap_ = provisioning && provisioning->has_unmap;
      return ask_next(Step::kCapacity16);
    }
    case Step::kCapacity16:
    case Step::kCapacity10: {
      if (!is_good) {
        if (step_ == Step::kCapacity16) return ask_next(Step::kCapacity10);
        return fail(Errc::kIo, "it does not say how large it is");
      }
      if (step_ == Step::kCapacity16) {
        const auto capacity = scsi::parse_capacity16(bytes);
        if (!capacity) return std::unexpected(capacity.error());
        unit.blocks = capacity->blocks;
        unit.block_bytes = capacity->block_bytes;
        is_thin_ = capacity->is_thin;
      } else {
        const auto capacity = scsi::parse_capacity10(bytes);
        if (!capacity) return std::unexpected(capacity.error());
        if (!*capacity) return fail(Errc::kUnsupported, "it does not say how large it is");
        unit.blocks = (*capacity)->blocks;
        unit.block_bytes = (*capacity)->block_bytes;
        is_thin_ = false;
      }
      unit.most_unmap_blocks = is_thin_ && has_unmap_ ? most_unmap_ : 0;
      return ask_next(Step::kMode);
    }
    case Step::kMode: {
      // A unit that says nothing of its cache may have one.
      const auto mode = is_good ? scsi::parse_mode6(bytes) : scsi::ModeParameters();
      unit.has_write_cache = !mode || mode->has_write_cache.value_or(true);
      unit.is_read_only = mode && mode->is_write_protected;
      next_unit();
      return {};
    }
    case Step::kReportLuns: break;
  }
  return {};
}

void UnitScan::next_unit() {
  is_thin_ = has_unmap_ = false;
  most_unmap_ = 0;
  if (++at_ >= luns_.size()) return end({});
  units_.push_back({.lun = luns_[at_], .number = luns_[at_].number().value_or(0)});
  step_ = Step::kInquiry;
  ask();
}

void UnitScan::go_on(const std::function<void()>& act) {
  const auto self = self_;
  // Otherwise it would never end. The words are short enough to need no memory.
  if (!runs_in_memory(act) && *self != nullptr) end("out of memory");
}

void UnitScan::end(std::string problem) {
  if (!done_) return;
  Outcome outcome{.units = std::move(units_), .problem = std::move(problem)};
  if (!outcome.problem.empty()) outcome.units.clear();
  const Done done = std::move(done_);
  done(std::move(outcome));
}

}  // namespace paravane::storage
