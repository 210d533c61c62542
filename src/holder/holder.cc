#include "holder/holder.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace paravane::holder {
namespace {

// As long as the keeper gives an engine to take everything.
constexpr auto kGiveLimit = std::chrono::seconds(10);

struct Word {
  char what = 0;
  UniqueFd line;
};

// nullopt: the keeper has ended.
std::optional<Word> receive_word(int socket) {
  Word word;
  iovec data{.iov_base = &word.what, .iov_len = 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> ancillary{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = ancillary.data();
  message.msg_controllen = ancillary.size();
  const ssize_t size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return Word{};
  if (size <= 0) return std::nullopt;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    word.line.reset(fd);
  }
  return word;
}

}  // namespace

void Holder::run() {
  for (bool goes_on = true; goes_on;) {
    std::array<pollfd, 2> ready{};
    ready[0] = {.fd = keeper_.get(), .events = POLLIN, .revents = 0};
    ready[1] = {.fd = engine_ ? engine_->fd() : -1, .events = POLLIN, .revents = 0};
    if (::poll(ready.data(), ready.size(), -1) < 0) continue;
    if (ready[1].revents != 0) hear_engine();
    if (ready[0].revents != 0) goes_on = hear_keeper();
  }
}

bool Holder::hear_keeper() {
  auto word = receive_word(keeper_.get());
  if (!word) return false;
  if (word->what == 'e' && word->line) engine_.emplace(std::move(word->line));
  if (word->what == 'g' && word->line) give(std::move(word->line));
  return true;
}

void Holder::hear_engine() {
  while (engine_) {
    auto news = engine_->receive();
    if (!news) {
      engine_.reset();  // it has ended, or says what it should not
    } else if (!*news) {
      return;
    } else if ((*news)->parcel) {
      shelf_.put(std::move(*(*news)->parcel));
    }
  }
}

// The last words of the engine first. What is given stays here: the next engine may be killed
// before it has put anything.
void Holder::give(UniqueFd line) {
  hear_engine();
  privsep::ParcelLine heir(std::move(line));
  const Instant deadline = std::chrono::steady_clock::now() + kGiveLimit;
  std::uint32_t given = 0;
  for (const auto& [name, parcel] : shelf_.parcels()) {
    if (!heir.send(parcel, deadline)) return;
    ++given;
  }
  static_cast<void>(heir.end(given, deadline));
}

}  // namespace paravane::holder
