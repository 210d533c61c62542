#include "storage/device.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <utility>

#include "guestmem/payload.h"

namespace paravane::storage {

using nbd::BlockOperation;
using nbd::BlockResult;
using namespace std::chrono_literals;

// A place of the service's memory, for one request.
class Device::Buffer final : public nbd::BlockBuffer {
 public:
  Buffer(std::shared_ptr<Device*> device, host_verbs::ServiceMemory& memory,
         std::function<void()> freed)
      : device_(std::move(device)), memory_(memory), freed_(std::move(freed)) {}
  ~Buffer() override {
    if (!has_place_) return;
    memory_.payloads().give_back(place_);
    if (*device_ != nullptr) --(*device_)->buffers_;
    freed_();
  }
  bool extents(std::uint32_t offset, std::uint32_t length, ExtentList& out) override {
    return memory_.extents(place_, offset, length, out);
  }
  std::uint32_t place() const { return place_; }
  void take(std::uint32_t place) {
    place_ = place;
    has_place_ = true;
  }

 private:
  const std::shared_ptr<Device*> device_;  // which may be gone
  host_verbs::ServiceMemory& memory_;
  const std::function<void()> freed_;
  std::uint32_t place_ = 0;
  bool has_place_ = false;
};

Device::Device(UnitFacts facts, Surroundings surroundings)
    : facts_(std::move(facts)),
      surroundings_(std::move(surroundings)),
      fence_([this] { surroundings_.wake(); }) {}

Device::~Device() {
  *self_ = nullptr;
  surroundings_.timers.cancel(wait_timer_);
  client_ = nullptr;
  for (auto& [number, request] : requests_) surroundings_.timers.cancel(request.timer);
}

// ---- Paths ----

void Device::add_path(UnitPath path, const UnitFacts& facts) {
  if (client_ == nullptr && requests_.empty()) {
    facts_ = facts;
  } else if (facts.blocks != facts_.blocks || facts.block_bytes != facts_.block_bytes) {
    // A device that is in use keeps its size: its user has read it.
    path.tasks = nullptr;
    path.has_other_size = true;
    path.problem = "the logical unit has another size there than the device";
  } else {
    take_stricter(facts);
  }
  const UnitPath* before = paths_.find(path.place);
  const bool was_dead = before == nullptr || before->tasks == nullptr;
  const std::string name = path.name;
  const bool works = path.tasks != nullptr;
  paths_.add(std::move(path));
  if (was_dead && works) surroundings_.tell({.what = News::What::kPathBack, .path = name});
  surroundings_.wake();
}

// Of a unit that is in use: what its user does must be right for what the unit is now, too.
void Device::take_stricter(const UnitFacts& facts) {
  facts_.has_write_cache |= facts.has_write_cache;
  const auto lower = [](std::uint32_t& limit, std::uint32_t other) {
    if (limit == 0 || (other != 0 && other < limit)) limit = other;
  };
  lower(facts_.most_transfer_blocks, facts.most_transfer_blocks);
  if (facts_.most_unmap_blocks != 0) lower(facts_.most_unmap_blocks, facts.most_unmap_blocks);
}

void Device::lose_path(const UnitPath::Place& place, const std::string& why) {
  if (!paths_.lose(place, why)) return;
  surroundings_.tell({.what = News::What::kPathDead, .path = paths_.find(place)->name, .why = why});
  surroundings_.wake();
}

void Device::remove_path(const UnitPath::Place& place) {
  if (paths_.remove(place)) surroundings_.wake();
}

std::string Device::problem() const {
  if (paths_.best() == nullptr) {
    return paths_.all().empty() ? "no path leads to it" : paths_.all().front().problem;
  }
  return fence_.problem();
}

// ---- nbd::BlockDevice ----

nbd::Geometry Device::geometry() const {
  if (opened_) return *opened_;
  return {.bytes = facts_.blocks * facts_.block_bytes,
          .block_bytes = facts_.block_bytes,
          .preferred_bytes = std::max(4096u, facts_.block_bytes),
          .most_bytes = host_verbs::ServiceMemory::kPayloadBytes,
          .is_read_only = facts_.is_read_only,
          .has_write_cache = facts_.has_write_cache,
          .can_trim = facts_.most_unmap_blocks > 0 && !facts_.is_read_only};
}

bool Device::open(nbd::BlockClient& client) {
  if (client_ != nullptr) return false;
  opened_ = geometry();
  client_ = &client;
  ++client_number_;
  wants_room_ = false;
  is_ready_ = false;
  surroundings_.wake();
  return true;
}

void Device::close(nbd::BlockClient& client) {
  if (client_ != &client) return;
  client_ = nullptr;
  opened_.reset();
  std::erase_if(requests_, [this](auto& entry) {
    if (entry.second.state == State::kUnderWay) return false;
    surroundings_.timers.cancel(entry.second.timer);
    return true;
  });
  waiting_ = 0;
  // The next one may use what there is now.
  for (const UnitPath& path : paths_.all()) {
    if (path.has_other_size) surroundings_.look_again(path.place);
  }
}

std::unique_ptr<Device::Buffer> Device::take_place() {
  host_verbs::Places& places = surroundings_.memory.payloads();
  if (places.free() <= kLeftForScans) return nullptr;
  // It is there, so what may fail comes before it is taken.
  auto buffer = std::make_unique<Buffer>(self_, surroundings_.memory, surroundings_.memory_freed);
  buffer->take(*places.take());
  surroundings_.memory.take_over(buffer->place(), surroundings_.number);
  ++buffers_;
  return buffer;
}

std::unique_ptr<nbd::BlockBuffer> Device::take_buffer([[maybe_unused]] std::uint32_t length) {
  assert(length <= host_verbs::ServiceMemory::kPayloadBytes);
  auto buffer = may_take_buffer() ? take_place() : nullptr;
  if (buffer == nullptr) wants_room_ = true;
  return buffer;
}

bool Device::may_take_buffer() const {
  if (buffers_ >= kMostBuffers) return false;
  return buffers_ < kSureBuffers || surroundings_.memory.payloads().free() > kLeftForOthers;
}

void Device::on_memory() {
  if (wants_room_ && may_take_buffer()) has_room_ = true;
  if (has_room_ || waiting_ > 0) surroundings_.wake();
}

void Device::submit(std::uint64_t tag, nbd::BlockRequest block) {
  assert(client_ != nullptr && is_ready_);
  const std::uint64_t number = next_number_++;
  requests_.emplace(number,
                    Request{.tag = tag, .client = client_number_, .block = std::move(block)});
  ++waiting_;
  surroundings_.wake();
}

void Device::set_state(Request& request, State state) {
  if (request.state == State::kWaiting) --waiting_;
  if (request.state == State::kUnderWay) --under_way_;
  request.state = state;
  if (state == State::kWaiting) ++waiting_;
  if (state == State::kUnderWay) ++under_way_;
}

// ---- Work ----

void Device::pump(Instant now) {
  take_results(now);
  take_path(now);
  send_waiting(now);
  give_up_in_time(now);
  tell_client(now);
}

// The path that commands take, which changes only while none is under way on another.
void Device::take_path(Instant now) {
  const UnitPath* present = paths_.working();
  const UnitPath* best = paths_.best();
  if (best == nullptr) {
    if (no_path_since_ != kNever) return;
    no_path_since_ = now;
    if (waiting_ > 0 || client_ != nullptr) {
      surroundings_.tell({.what = News::What::kNoPath});
    }
    return;
  }
  if (std::exchange(no_path_since_, kNever) != kNever) has_given_up_ = false;
  if (present == best || under_way_ > 0) return;
  paths_.choose();
  if (!std::exchange(had_path_, true)) return;
  counters_.failovers.add();
  surroundings_.tell({.what = News::What::kFailover, .path = best->name});
}

void Device::send_waiting(Instant now) {
  const UnitPath* path = paths_.working();
  // What waits for the preferred path waits until all is over on the present one.
  if (path == nullptr || path != paths_.best() || waiting_ == 0) return;
  if (!fence_.is_open()) {
    if (fence_since_ == kNever) fence_since_ = now;
    if (under_way_ > 0) return;
    fence_.run(*path, now);
    wake_at(fence_.next_look(), now);
    if (!fence_.is_open()) return;
  }
  fence_since_ = kNever;
  has_given_up_ = false;
  // One that has no memory for its list lets others pass: these may have what it waits for.
  for (auto& [number, request] : requests_) {
    if (request.state == State::kWaiting) send(number, request, *path);
  }
}

void Device::send(std::uint64_t number, Request& request, const UnitPath& path) {
  if (request.block.operation == BlockOperation::kFlush && !facts_.has_write_cache) {
    request.piece = 0;
    request.result = TaskResult();
    has_results_ = true;
    set_state(request, State::kUnderWay);
    surroundings_.wake();
    return;
  }
  Task task{.lun = path.lun};
  if (!make_task(request, task)) return;
  path.tasks->execute(task, [self = self_, number](const TaskResult& result) {
    if (*self != nullptr) (*self)->on_result(number, result);
  });
  set_state(request, State::kUnderWay);
}

// Allocates nothing: a result that is lost would leave its request under way for ever.
void Device::on_result(std::uint64_t number, const TaskResult& result) {
  const auto request = requests_.find(number);
  assert(request != requests_.end() && request->second.state == State::kUnderWay);
  request->second.result = result;
  has_results_ = true;
  surroundings_.wake();
}

bool Device::make_task(Request& request, Task& task) {
  const std::uint32_t block = facts_.block_bytes;
  const std::uint32_t left = request.block.length - request.done;
  const std::uint64_t first = (request.block.offset + request.done) / block;
  const auto piece_of = [&](std::uint32_t most_blocks) {
    return most_blocks == 0 ? left / block : std::min(left / block, most_blocks);
  };
  switch (request.block.operation) {
    case BlockOperation::kRead:
    case BlockOperation::kWrite: {
      const scsi::BlockRange range{.block = first, .blocks = piece_of(facts_.most_transfer_blocks)};
      request.piece = range.blocks * block;
      const std::uint32_t place = static_cast<Buffer&>(*request.block.buffer).place();
      if (request.block.operation == BlockOperation::kWrite) {
        surroundings_.memory.note_filled(place, request.block.length);
      } else if (!surroundings_.memory.clear_others(place, request.block.length)) {
        return false;
      }
      task.request = request.block.operation == BlockOperation::kRead
                         ? scsi::read(range, block)
                         : scsi::write(range, block,
                                       request.block.force_unit_access && facts_.has_write_cache
                                           ? scsi::Durability::kOnMedium
                                           : scsi::Durability::kCached);
      task.payload = place;
      task.offset = request.done;
      return true;
    }
    case BlockOperation::kFlush:
      request.piece = 0;
      task.request = scsi::synchronize_cache();
      return true;
    case BlockOperation::kTrim: {
      if (buffers_ >= kMostBuffers + kMostLists) return false;
      auto list = take_place();
      if (list == nullptr) return false;
      const scsi::BlockRange range{.block = first, .blocks = piece_of(facts_.most_unmap_blocks)};
      request.piece = range.blocks * block;
      task.request = scsi::unmap(1);
      std::array<std::byte, scsi::unmap_list_bytes(1)> bytes{};
      scsi::write_unmap_list(std::span(&range, 1), bytes);
      ExtentList extents;
      if (!list->extents(0, bytes.size(), extents) || !scatter_payload(bytes, extents)) {
        return false;
      }
      task.payload = list->place();
      request.list = std::move(list);
      return true;
    }
    case BlockOperation::kWriteZeroes: break;  // not offered
  }
  assert(false);
  return false;
}

void Device::give_up_in_time(Instant now) {
  if (waiting_ == 0) {
    fence_since_ = kNever;
    return;
  }
  if (no_path_since_ != kNever && now >= no_path_since_ + kPathWait) {
    fence_since_ = kNever;
    return fail_waiting(fmt::format("no path has worked for {} s", kPathWait / 1s));
  }
  // A path that leads to a unit which cannot be fenced is as good as none, but the next request may
  // find it mended.
  if (fence_since_ != kNever && now >= fence_since_ + kPathWait) {
    fence_since_ = kNever;
    return fail_waiting(fence_.problem().empty() ? "what was sent before has no answer yet"
                                                 : fence_.problem());
  }
  for (const Instant since : {no_path_since_, fence_since_}) {
    if (since != kNever) wake_at(since + kPathWait, now);
  }
}

void Device::fail_waiting(const std::string& why) {
  if (!std::exchange(has_given_up_, true)) {
    surroundings_.tell({.what = News::What::kFailing, .path = {}, .why = why});
  }
  std::uint64_t number = 0;
  for (auto one = requests_.begin(); one != requests_.end(); one = requests_.upper_bound(number)) {
    number = one->first;
    if (one->second.state == State::kWaiting) finish(one, BlockResult::kIo);
  }
}

void Device::tell_client(Instant /*now*/) {
  if (client_ == nullptr) return;
  if (!is_ready_ && requests_.empty()) {
    is_ready_ = true;
    client_->on_ready();
  }
  if (client_ != nullptr && is_ready_ && std::exchange(has_room_, false)) {
    wants_room_ = false;
    client_->on_room();
  }
}

void Device::wake_at(Instant due, Instant now) {
  if (due >= wait_until_) return;
  surroundings_.timers.cancel(std::exchange(wait_timer_, TimerId::kNone));
  wait_until_ = kNever;
  wait_timer_ = surroundings_.timers.set(std::max(due, now), [this](Instant) {
    wait_timer_ = TimerId::kNone;
    wait_until_ = kNever;
    surroundings_.wake();
  });
  wait_until_ = due;
}

}  // namespace paravane::storage
