#include "keeper/holder_process.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "privsep/parcel.h"

namespace paravane::keeper {

Result<HolderProcess> HolderProcess::start(const Body& body) {
  auto line = privsep::ParcelLine::make();
  if (!line) return std::unexpected(line.error());
  auto& [ours, theirs] = *line;
  const pid_t child = ::fork();
  if (child < 0) return fail_by_system(Errc::kIo, "fork", errno);
  if (child == 0) {
    ours.reset();
    ::_exit(body(std::move(theirs)));
  }
  return HolderProcess(child, std::move(ours));
}

Result<std::array<UniqueFd, 2>> HolderProcess::make_engine_line() {
  return privsep::ParcelLine::make();
}

Result<UniqueFd> HolderProcess::new_engine() {
  auto line = make_engine_line();
  if (!line) return std::unexpected(line.error());
  if (!hear_engine((*line)[1])) return fail(Errc::kIo, "the holder has ended");
  return std::move((*line)[0]);
}

bool HolderProcess::hear_engine(const UniqueFd& holders_side) const {
  return tell('e', holders_side.get());
}

bool HolderProcess::give(const UniqueFd& estate) const {
  return tell('g', estate.get());
}

bool HolderProcess::tell(char what, int fd) const {
  iovec data{.iov_base = &what, .iov_len = 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> ancillary{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = ancillary.data();
  message.msg_controllen = ancillary.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return ::sendmsg(line_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

}  // namespace paravane::keeper
