#include "vfio_user/exchange.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace paravane::vfio_user {
namespace {

constexpr std::uint64_t kFirstAnswer = 4096;
constexpr std::uint64_t kFileBytes = kFirstAnswer + 2 * Exchange::kMostAnswer;
constexpr int kSize = F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

// Each step is one store, after all that it speaks of.
struct Exchange::Page {
  std::atomic<std::uint32_t> step;
  std::atomic<std::uint32_t> in_turn;
  std::atomic<std::uint32_t> deaths;
  std::atomic<std::int64_t> last_death;  // nanoseconds of the steady clock; 0: none
  std::atomic<std::uint64_t> serial;
  std::atomic<std::uint64_t> needs;
  std::atomic<std::uint64_t> answer_begin;  // offsets in the file
  std::atomic<std::uint64_t> answer_end;
  Header request;
};

Exchange::Exchange(UniqueFd file, Page* page) : file_(std::move(file)), page_(page) {}

Exchange::Exchange(Exchange&& other) noexcept
    : file_(std::move(other.file_)), page_(std::exchange(other.page_, nullptr)) {}

Exchange::~Exchange() {
  if (page_ != nullptr) ::munmap(page_, kFileBytes);
}

Result<Exchange> Exchange::make() {
  UniqueFd file(::memfd_create("paravane-exchange", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return fail_by_system(Errc::kResourceExhausted, "cannot create a file", errno);
  if (::ftruncate(file.get(), kFileBytes) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, kSize | F_SEAL_SEAL) != 0) {
    return fail_by_system(Errc::kIo, "cannot prepare a file", errno);
  }
  return map(std::move(file));
}

// A file that can become shorter would end the process that reads it.
Result<Exchange> Exchange::take_over(UniqueFd file) {
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  struct stat status{};
  if (seals < 0 || (seals & kSize) != kSize || ::fstat(file.get(), &status) != 0 ||
      status.st_size != static_cast<off_t>(kFileBytes)) {
    return fail(Errc::kInvalidArgument, "this is not the file of an exchange");
  }
  return map(std::move(file));
}

Result<Exchange> Exchange::map(UniqueFd file) {
  void* const at = ::mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) return fail_by_system(Errc::kIo, "cannot map a file", errno);
  return Exchange(std::move(file), static_cast<Page*>(at));
}

void Exchange::begin_client() {
  done();
  set_needs(0);
  page_->deaths.store(0, std::memory_order_relaxed);
  page_->last_death.store(0, std::memory_order_relaxed);
}

void Exchange::begin(const Header& request) {
  page_->request = request;
  page_->serial.store(page_->serial.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  page_->step.store(std::to_underlying(Step::kInHand), std::memory_order_release);
}

// The socket refers to the pages of the file until the VMM has read them. Answers therefore follow
// one another, and begin anew when none is on its way. The number may be that of a compromised
// process.
bool Exchange::has_room_for(int socket, std::size_t bytes) {
  const std::uint64_t end = page_->answer_end.load(std::memory_order_relaxed);
  if (end >= kFirstAnswer && end <= kFileBytes && bytes <= kFileBytes - end) return true;
  int unread = 0;
  if (::ioctl(socket, SIOCOUTQ, &unread) != 0 || unread != 0) return false;
  page_->answer_end.store(kFirstAnswer, std::memory_order_relaxed);
  return true;
}

void Exchange::answer(std::span<const std::byte> answer) {
  const std::uint64_t begin = page_->answer_end.load(std::memory_order_relaxed);
  assert(begin >= kFirstAnswer && begin <= kFileBytes && answer.size() <= kFileBytes - begin);
  std::ranges::copy(answer, reinterpret_cast<std::byte*>(page_) + begin);
  ::lseek(file_.get(), static_cast<off_t>(begin), SEEK_SET);
  page_->answer_begin.store(begin, std::memory_order_relaxed);
  page_->answer_end.store(begin + answer.size(), std::memory_order_relaxed);
  page_->step.store(std::to_underlying(Step::kSending), std::memory_order_release);
}

std::ptrdiff_t Exchange::send_rest(int socket) {
  ssize_t sent = -1;
  do {
    sent = ::sendfile(socket, file_.get(), nullptr, rest().size());
  } while (sent < 0 && errno == EINTR);
  return sent;
}

// The numbers may be those of a compromised process.
std::span<const std::byte> Exchange::rest() const {
  const std::uint64_t end = std::min(page_->answer_end.load(std::memory_order_relaxed), kFileBytes);
  const off_t place = ::lseek(file_.get(), 0, SEEK_CUR);
  const std::uint64_t begin =
      std::clamp(static_cast<std::uint64_t>(place), kFirstAnswer, kFileBytes);
  if (place < 0 || begin >= end) return {};
  return {reinterpret_cast<const std::byte*>(page_) + begin, end - begin};
}

void Exchange::answer_otherwise() {
  page_->step.store(std::to_underlying(Step::kUnknown), std::memory_order_release);
}

void Exchange::take_out() {
  page_->step.store(std::to_underlying(Step::kTakingOut), std::memory_order_release);
}

void Exchange::done() {
  page_->step.store(std::to_underlying(Step::kDone), std::memory_order_release);
}

std::uint64_t Exchange::serial() const {
  return page_->serial.load(std::memory_order_relaxed);
}

Exchange::Step Exchange::step() const {
  const std::uint32_t step = page_->step.load(std::memory_order_relaxed);
  return step <= std::to_underlying(Step::kTakingOut) ? Step{step} : Step::kUnknown;
}

Header Exchange::request() const {
  return page_->request;
}

void Exchange::mark_turn(bool begins) {
  page_->in_turn.store(begins ? 1 : 0, std::memory_order_relaxed);
}

bool Exchange::was_in_turn() const {
  return page_->in_turn.load(std::memory_order_relaxed) != 0;
}

std::uint32_t Exchange::deaths() const {
  return page_->deaths.load(std::memory_order_relaxed);
}

void Exchange::count_death(Instant now) {
  const std::int64_t at = now.time_since_epoch() / std::chrono::nanoseconds(1);
  const std::int64_t last = page_->last_death.exchange(at, std::memory_order_relaxed);
  const bool is_another = last != 0 && Duration(at - last) < kApart;
  page_->deaths.store(is_another ? deaths() + 1 : 1, std::memory_order_relaxed);
}

void Exchange::set_needs(std::uint64_t serial) {
  page_->needs.store(serial, std::memory_order_release);
}

std::uint64_t Exchange::needs() const {
  return page_->needs.load(std::memory_order_relaxed);
}

}  // namespace paravane::vfio_user
