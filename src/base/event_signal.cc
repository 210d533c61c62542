#include "base/event_signal.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace paravane {
namespace {

constexpr unsigned kMostCompletions = 32;

}  // namespace

void raise_by_write(int eventfd) {
  const std::uint64_t one = 1;
  // EAGAIN says that there are 2^64-2 events to look at: one more tells nothing.
  while (::write(eventfd, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

EventSignal::~EventSignal() {
  if (context_ != 0) ::syscall(SYS_io_destroy, context_);
}

void EventSignal::set_up() {
  is_set_up_ = true;
  nothing_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing_ || ::syscall(SYS_io_setup, kMostCompletions, &context_) != 0) context_ = 0;
}

void EventSignal::raise(int eventfd) {
  if (!is_set_up_) set_up();
  if (context_ == 0 || !submit(eventfd)) raise_by_write(eventfd);
}

bool EventSignal::submit(int eventfd) {
  if (completed_ == kMostCompletions) forget_completions();
  iocb read{};
  read.aio_lio_opcode = IOCB_CMD_PREAD;
  read.aio_fildes = static_cast<std::uint32_t>(nothing_.get());
  read.aio_flags = IOCB_FLAG_RESFD;
  read.aio_resfd = static_cast<std::uint32_t>(eventfd);
  iocb* list = &read;
  if (::syscall(SYS_io_submit, context_, 1L, &list) != 1) return false;
  ++completed_;
  return true;
}

void EventSignal::forget_completions() {
  std::array<io_event, kMostCompletions> events;
  ::syscall(SYS_io_getevents, context_, 0L, static_cast<long>(events.size()), events.data(),
            nullptr);
  completed_ = 0;
}

}  // namespace paravane
