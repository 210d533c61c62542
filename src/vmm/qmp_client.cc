#include "vmm/qmp_client.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "vmm/hot_add.h"
#include "vmm/local_socket.h"
#include "vmm/machine_arguments.h"

namespace paravane::vmm {
namespace {

std::unexpected<Error> qemu_gone(int error) {
  constexpr const char* kGone = "QEMU is gone";
  return error == 0 ? fail(Errc::kIo, kGone) : fail_by_system(Errc::kIo, kGone, error);
}

}  // namespace

Result<QmpClient> QmpClient::connect(const std::string& directory,
                                     std::chrono::milliseconds patience) {
  Result<UniqueFd> line = connect_to(directory, kQmpSocket);
  if (!line) return std::unexpected(line.error());
  QmpClient client(std::move(*line), patience);
  const Result<QmpMessage> greeting = client.receive(Clock::now() + patience);
  if (!greeting) return std::unexpected(greeting.error());
  if (greeting->kind != QmpMessage::Kind::kGreeting) {
    return fail(Errc::kInvalidArgument, "QEMU did not send a QMP greeting");
  }
  if (auto ready = client.execute("qmp_capabilities"); !ready) {
    return std::unexpected(ready.error());
  }
  return client;
}

Result<nlohmann::json> QmpClient::execute(const std::string& name,
                                          const nlohmann::ordered_json& arguments, int descriptor) {
  const auto end = Clock::now() + patience_;
  nlohmann::ordered_json request = {{"execute", name}};
  if (!arguments.is_null()) request["arguments"] = arguments;
  if (Status sent = send(print(request) + "\n", descriptor, end); !sent) {
    return std::unexpected(sent.error());
  }
  Result<QmpMessage> answer = receive(end);
  if (!answer) return std::unexpected(answer.error());
  if (answer->kind == QmpMessage::Kind::kReturn) return std::move(answer->value);
  if (answer->kind == QmpMessage::Kind::kError) {
    return fail(Errc::kBadState, fmt::format("QEMU refuses {}: {}", name, answer->text));
  }
  return fail(Errc::kInvalidArgument, "QEMU greets twice");
}

Status QmpClient::wait(short events, Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  pollfd one{.fd = line_.get(), .events = events, .revents = 0};
  const int ready = left <= 0 ? 0 : ::poll(&one, 1, static_cast<int>(left));
  if (ready > 0 || (ready < 0 && errno == EINTR)) return {};
  return fail(Errc::kIo, "QEMU does not respond");
}

Status QmpClient::send(const std::string& text, int descriptor, Clock::time_point end) {
  for (std::size_t sent = 0; sent < text.size();) {
    iovec part{.iov_base = const_cast<char*>(text.data() + sent), .iov_len = text.size() - sent};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptor >= 0 && sent == 0) {
      message.msg_control = space.data();
      message.msg_controllen = space.size();
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof descriptor);
      std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    const ssize_t count = ::sendmsg(line_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN || errno == EINTR) {
      if (Status ready = wait(POLLOUT, end); !ready) return ready;
    } else {
      return qemu_gone(errno);
    }
  }
  return {};
}

Result<QmpMessage> QmpClient::receive(Clock::time_point end) {
  for (;;) {
    Result<std::optional<QmpMessage>> message = reader_.next();
    if (!message) return std::unexpected(message.error());
    if (*message && (*message)->kind != QmpMessage::Kind::kEvent) return std::move(**message);
    // Also while there are events: a QEMU that sends them endlessly gets no more time.
    if (Clock::now() >= end) return fail(Errc::kIo, "QEMU does not respond");
    if (*message) continue;
    if (Status ready = wait(POLLIN, end); !ready) return std::unexpected(ready.error());
    std::array<char, 4096> bytes;
    const ssize_t count = ::recv(line_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count == 0) return qemu_gone(0);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return qemu_gone(errno);
    const std::size_t length = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    if (Status fed = reader_.feed({bytes.data(), length}); !fed) {
      return std::unexpected(fed.error());
    }
  }
}

}  // namespace paravane::vmm
