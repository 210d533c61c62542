#include "testing/raw_vfio_client.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <utility>

namespace paravane {

using vfio_user::Command;
using vfio_user::Header;

namespace {

constexpr int kTurnsToAnAnswer = 200;
constexpr int kTurnsOfSilence = 8;
constexpr std::size_t kMostFds = 253;  // the kernel's limit per message

UniqueFd connect_to(const std::filesystem::path& path) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return UniqueFd();
  }
  return socket;
}

}  // namespace

bool RawVfioClient::Reply::is_error() const {
  return (header.flags.get() & Header::kError) != 0;
}

RawVfioClient::RawVfioClient(const std::filesystem::path& path, Pump pump)
    : RawVfioClient(connect_to(path), std::move(pump)) {}

RawVfioClient::RawVfioClient(UniqueFd socket, Pump pump)
    : socket_(std::move(socket)), pump_(std::move(pump)) {}

bool RawVfioClient::send_bytes(std::span<const std::byte> bytes, std::span<const int> fds) {
  iovec part{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * kMostFds)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  const ssize_t sent = sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(bytes.size());
}

std::uint16_t RawVfioClient::send(Command command, std::span<const std::byte> payload,
                                  std::span<const int> fds, std::uint32_t flags) {
  const std::uint16_t id = next_id_++;
  send_bytes(message(command, id, payload, flags), fds);
  return id;
}

bool RawVfioClient::read_socket() {
  std::array<std::byte, 65536> chunk;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * kMostFds)> control{};
  iovec part{.iov_base = chunk.data(), .iov_len = chunk.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got == 0 || (got < 0 && errno != EAGAIN)) closed_ = true;
  if (got <= 0) return false;
  received_.insert(received_.end(), chunk.begin(), chunk.begin() + got);
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      received_fds_.emplace_back(fd);
    }
  }
  return true;
}

std::optional<RawVfioClient::Reply> RawVfioClient::receive_now() {
  while (read_socket()) {
  }
  const auto header = vfio_user::leading<Header>(received_);
  if (!header || header->size.get() < sizeof(Header) || received_.size() < header->size.get()) {
    return std::nullopt;
  }
  const auto end = received_.begin() + static_cast<std::ptrdiff_t>(header->size.get());
  Reply reply{.header = *header,
              .payload = Bytes(received_.begin() + sizeof(Header), end),
              .fds = std::exchange(received_fds_, {})};
  received_.erase(received_.begin(), end);
  return reply;
}

std::optional<RawVfioClient::Reply> RawVfioClient::receive() {
  for (int turn = 0; turn < kTurnsToAnAnswer; ++turn) {
    if (std::optional<Reply> reply = receive_now()) return reply;
    if (closed_) return std::nullopt;
    pump_();
  }
  return std::nullopt;
}

bool RawVfioClient::stays_silent() {
  for (int turn = 0; turn < kTurnsOfSilence; ++turn) pump_();
  read_socket();
  return received_.empty() && !closed_;
}

bool RawVfioClient::is_closed() {
  for (int turn = 0; turn < kTurnsOfSilence; ++turn) pump_();
  while (read_socket()) {
  }
  return closed_;
}

std::optional<RawVfioClient::Reply> RawVfioClient::call(Command command,
                                                        std::span<const std::byte> payload,
                                                        std::span<const int> fds,
                                                        std::uint32_t flags) {
  send(command, payload, fds, flags);
  return receive();
}

std::optional<RawVfioClient::Reply> RawVfioClient::negotiate(std::string_view json,
                                                             std::uint16_t minor) {
  const vfio_user::VersionNumbers numbers{.major = Le16(0), .minor = Le16(minor)};
  const std::byte nul{0};
  return call(Command::kVersion,
              join({bytes_of(numbers), std::as_bytes(std::span(json)), std::span(&nul, 1)}));
}

std::optional<RawVfioClient::Reply> RawVfioClient::dma_map(int fd, std::uint64_t file_offset,
                                                           std::uint64_t iova, std::uint64_t size,
                                                           std::uint32_t flags) {
  const vfio_user::DmaMap map{.argsz = Le32(sizeof(vfio_user::DmaMap)),
                              .flags = Le32(flags),
                              .file_offset = Le64(file_offset),
                              .iova = Le64(iova),
                              .size = Le64(size)};
  return call(Command::kDmaMap, bytes_of(map), std::span(&fd, fd >= 0 ? 1 : 0));
}

std::optional<RawVfioClient::Reply> RawVfioClient::dma_unmap(std::uint64_t iova, std::uint64_t size,
                                                             std::uint32_t flags) {
  const vfio_user::DmaUnmap unmap{.argsz = Le32(sizeof(vfio_user::DmaUnmap)),
                                  .flags = Le32(flags),
                                  .iova = Le64(iova),
                                  .size = Le64(size)};
  return call(Command::kDmaUnmap, bytes_of(unmap));
}

std::optional<RawVfioClient::Reply> RawVfioClient::region_info(std::uint32_t index,
                                                               std::uint32_t argsz) {
  const vfio_user::RegionInfo info{.argsz = Le32(argsz),
                                   .flags = {},
                                   .index = Le32(index),
                                   .cap_offset = {},
                                   .size = {},
                                   .offset = {}};
  return call(Command::kGetRegionInfo, bytes_of(info));
}

std::optional<RawVfioClient::Reply> RawVfioClient::irq_info(std::uint32_t index) {
  const vfio_user::IrqInfo info{
      .argsz = Le32(sizeof(vfio_user::IrqInfo)), .flags = {}, .index = Le32(index), .count = {}};
  return call(Command::kGetIrqInfo, bytes_of(info));
}

std::optional<RawVfioClient::Reply> RawVfioClient::set_irqs(std::uint32_t flags, IrqRange range,
                                                            std::span<const int> fds,
                                                            std::span<const std::byte> data) {
  const vfio_user::SetIrqs set{.argsz = Le32(sizeof(vfio_user::SetIrqs)),
                               .flags = Le32(flags),
                               .index = Le32(range.index),
                               .start = Le32(range.start),
                               .count = Le32(range.count)};
  return call(Command::kSetIrqs, join({bytes_of(set), data}), fds);
}

std::optional<RawVfioClient::Reply> RawVfioClient::read(std::uint32_t region, std::uint64_t offset,
                                                        std::uint32_t count) {
  const vfio_user::RegionAccess access{
      .offset = Le64(offset), .region = Le32(region), .count = Le32(count)};
  return call(Command::kRegionRead, bytes_of(access));
}

std::optional<RawVfioClient::Reply> RawVfioClient::write(std::uint32_t region, std::uint64_t offset,
                                                         std::span<const std::byte> data,
                                                         std::uint32_t flags) {
  const vfio_user::RegionAccess access{.offset = Le64(offset),
                                       .region = Le32(region),
                                       .count = Le32(static_cast<std::uint32_t>(data.size()))};
  const Bytes payload = join({bytes_of(access), data});
  if ((flags & Header::kNoReply) == 0) return call(Command::kRegionWrite, payload, {}, flags);
  send(Command::kRegionWrite, payload, {}, flags);
  return std::nullopt;
}

RawVfioClient::Bytes RawVfioClient::join(std::initializer_list<std::span<const std::byte>> parts) {
  Bytes all;
  for (const std::span<const std::byte> part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

RawVfioClient::Bytes RawVfioClient::message(Command command, std::uint16_t id,
                                            std::span<const std::byte> payload,
                                            std::uint32_t flags) {
  const Header header{.id = Le16(id),
                      .command = Le16(static_cast<std::uint16_t>(command)),
                      .size = Le32(static_cast<std::uint32_t>(sizeof(Header) + payload.size())),
                      .flags = Le32(flags),
                      .error = {}};
  return join({bytes_of(header), payload});
}

}  // namespace paravane
