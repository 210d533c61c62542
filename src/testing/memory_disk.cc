#include "testing/memory_disk.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "guestmem/memory_failure.h"

namespace paravane::fake {
namespace {

using nbd::BlockOperation;
using nbd::BlockResult;

void insist_of_disk(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "memory disk: %s\n", what);
  std::abort();
}

std::uint64_t whole_pages(std::uint64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

bool needs_buffer(BlockOperation operation) {
  return operation == BlockOperation::kRead || operation == BlockOperation::kWrite;
}

}  // namespace

// Its pieces lie in the pool from the last to the first.
class MemoryDisk::Buffer final : public nbd::BlockBuffer {
 public:
  Buffer(MemoryDisk& disk, std::size_t number, std::uint32_t length)
      : disk_(disk), number_(number), length_(length) {}
  ~Buffer() override { disk_.give_back(number_); }

  std::uint32_t length() const { return length_; }

  bool extents(std::uint32_t offset, std::uint32_t length, ExtentList& out) override {
    insist_of_disk(offset <= length_ && length <= length_ - offset, "bytes beyond a buffer");
    bool is_there = !disk_.memory_.failed();
    each_piece(offset, length, [&](GuestAddr at, std::uint32_t bytes) {
      is_there &= disk_.memory_.resolve(at, bytes, Rights::kReadWrite, out) == Reach::kOk;
    });
    return is_there;
  }

  template <typename Act>
  void each_piece(std::uint32_t offset, std::uint32_t length, Act act) const {
    const std::uint32_t piece = disk_.config_.piece_bytes;
    const std::uint64_t room = whole_pages(disk_.config_.geometry.most_bytes);
    const std::uint64_t begin = disk_.pool_.base().value + number_ * room;
    while (length > 0) {
      const std::uint32_t number = offset / piece;
      const std::uint32_t within = offset % piece;
      const std::uint32_t bytes = std::min(piece - within, length);
      act(GuestAddr{begin + room - std::uint64_t{number + 1} * piece + within}, bytes);
      offset += bytes;
      length -= bytes;
    }
  }

 private:
  MemoryDisk& disk_;
  std::size_t number_;
  std::uint32_t length_;
};

MemoryDisk::MemoryDisk(Config config)
    : config_(std::move(config)),
      storage_(whole_pages(config_.geometry.bytes)),
      pool_(config_.buffers * whole_pages(config_.geometry.most_bytes)) {
  insist_of_disk(whole_pages(config_.geometry.most_bytes) % config_.piece_bytes == 0,
                 "a buffer is not whole pieces");
  static const bool is_handled = install_memory_failure_handler().has_value();
  insist_of_disk(is_handled, "memory that fails would end the program");
  pool_.show(memory_);
  for (std::size_t i = 0; i < config_.buffers; ++i) free_.push_back(i);
}

MemoryDisk::~MemoryDisk() {
  under_way_.clear();
}

bool MemoryDisk::open(nbd::BlockClient& client) {
  if (client_ != nullptr) return false;
  client_ = &client;
  is_ready_ = false;
  tell_ready();
  return true;
}

void MemoryDisk::close(nbd::BlockClient& client) {
  insist_of_disk(client_ == &client, "it is closed by a program that has not opened it");
  const auto in_use = static_cast<std::size_t>(
      std::ranges::count_if(under_way_, [](const UnderWay& one) { return !!one.request.buffer; }));
  insist_of_disk(buffers_taken() == in_use, "a client that closes it has memory of it");
  client_ = nullptr;
  is_ready_ = false;
  wants_room_ = false;
  for (UnderWay& one : under_way_) one.is_of_client = false;
}

bool MemoryDisk::tell_ready() {
  if (client_ == nullptr || is_ready_ || is_ready_delayed_ || !under_way_.empty()) return false;
  is_ready_ = true;
  client_->on_ready();
  return true;
}

std::unique_ptr<nbd::BlockBuffer> MemoryDisk::take_buffer(std::uint32_t length) {
  insist_of_disk(is_ready_, "memory is taken before the device is ready");
  insist_of_disk(length > 0 && length <= config_.geometry.most_bytes, "a buffer of a wrong length");
  if (lacks_memory_) throw std::bad_alloc();
  if (free_.empty()) {
    wants_room_ = true;
    return nullptr;
  }
  auto made = std::make_unique<Buffer>(*this, free_.back(), length);
  free_.pop_back();
  return made;
}

void MemoryDisk::give_back(std::size_t buffer) {
  free_.push_back(buffer);
  if (client_ != nullptr && std::exchange(wants_room_, false)) client_->on_room();
}

void MemoryDisk::submit(std::uint64_t tag, nbd::BlockRequest request) {
  insist_of_disk(is_ready_, "a request before the device is ready");
  const nbd::Geometry& geometry = config_.geometry;
  const bool is_inside =
      request.offset <= geometry.bytes && request.length <= geometry.bytes - request.offset;
  insist_of_disk(is_inside, "a request beyond the end of the device");
  insist_of_disk((request.offset | request.length) % geometry.block_bytes == 0,
                 "a request that is not whole blocks");
  insist_of_disk((request.length == 0) == (request.operation == BlockOperation::kFlush),
                 "a request of a wrong length");
  insist_of_disk((request.buffer != nullptr) == needs_buffer(request.operation),
                 "memory where none belongs, or none where some does");
  if (request.buffer) {
    insist_of_disk(static_cast<Buffer&>(*request.buffer).length() == request.length,
                   "the memory of another request");
  }
  const bool is_possible = !geometry.is_read_only || request.operation == BlockOperation::kRead ||
                           request.operation == BlockOperation::kFlush;
  insist_of_disk(is_possible, "a read-only device is to be changed");
  seen_.push_back({request.operation, request.offset, request.length, request.force_unit_access,
                   request.may_not_unmap});
  under_way_.push_back({true, tag, std::move(request)});
}

bool MemoryDisk::run() {
  bool worked = false;
  // Not those that come meanwhile, or a busy client would have all of the time.
  for (std::size_t left = is_held_ ? 0 : under_way_.size(); left > 0; --left) {
    complete(0);
    worked = true;
  }
  return tell_ready() || worked;
}

void MemoryDisk::complete(std::size_t number) {
  insist_of_disk(number < under_way_.size(), "there is no such request");
  UnderWay one = std::move(under_way_[number]);
  under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(number));
  if (result_ == BlockResult::kDone) carry_out(one.request);
  if (one.is_of_client) client_->on_done(one.tag, result_, std::move(one.request.buffer));
  one.request.buffer.reset();
  tell_ready();
}

void MemoryDisk::carry_out(nbd::BlockRequest& request) {
  std::byte* const at = contents().data() + request.offset;
  if (request.operation == BlockOperation::kTrim ||
      request.operation == BlockOperation::kWriteZeroes)
    std::memset(at, 0, request.length);
  if (!request.buffer || memory_.failed()) return;
  const bool is_read = request.operation == BlockOperation::kRead;
  std::byte* here = at;
  static_cast<Buffer&>(*request.buffer)
      .each_piece(0, request.length, [&](GuestAddr piece, std::uint32_t bytes) {
        const auto copied = is_read ? memory_.copy_out(piece, {here, bytes})
                                    : memory_.copy_in(piece, {here, bytes});
        static_cast<void>(copied.has_value());
        here += bytes;
      });
}

std::span<std::byte> MemoryDisk::contents() const {
  return {storage_.at(storage_.base(), config_.geometry.bytes), config_.geometry.bytes};
}

}  // namespace paravane::fake
