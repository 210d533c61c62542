#include "privsep/parcel.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <thread>

#include "base/wire_int.h"

namespace paravane::privsep {
namespace {

using Le32 = WireInt<std::uint32_t, std::endian::little>;
using Le64 = WireInt<std::uint64_t, std::endian::little>;

// The kernel takes 253 at a time (SCM_MAX_FD).
constexpr std::size_t kMostAtOnce = 253;
constexpr int kSealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
// Of a host whose descriptors in flight are at their limit.
constexpr std::chrono::milliseconds kTryAgain{5};

enum class PacketKind : std::uint8_t { kParcel = 1, kDescriptors = 2, kEnd = 3 };

// What each packet begins with; a parcel's name follows.
struct PacketHead {
  std::uint8_t kind = 0;
  Le32 count;  // descriptors of a parcel, parcels at the end
  Le64 bytes;  // of a parcel
};
static_assert(sizeof(PacketHead) == 13);

constexpr std::size_t kMaxParcelPacket = sizeof(PacketHead) + Parcel::kMaxName;

std::vector<std::byte> make_packet(PacketKind kind, std::uint32_t count, std::uint64_t bytes,
                                   std::string_view name) {
  const PacketHead head{
      .kind = static_cast<std::uint8_t>(kind), .count = Le32(count), .bytes = Le64(bytes)};
  std::vector<std::byte> packet(sizeof head + name.size());
  std::memcpy(packet.data(), &head, sizeof head);
  std::ranges::copy(std::as_bytes(std::span(name)), packet.begin() + sizeof head);
  return packet;
}

std::unexpected<Error> broken(std::string_view what) {
  return fail(Errc::kInvalidArgument, fmt::format("the estate is refused: {}", what));
}

Result<UniqueFd> make_content(std::span<const std::byte> bytes) {
  UniqueFd file(::memfd_create("paravane-estate", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return fail_by_system(Errc::kResourceExhausted, "cannot create a file", errno);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail_by_system(Errc::kResourceExhausted, "cannot write a file", errno);
    done += static_cast<std::size_t>(count);
  }
  if (::fcntl(file.get(), F_ADD_SEALS, kSealed | F_SEAL_SEAL) != 0) {
    return fail_by_system(Errc::kIo, "cannot seal a file", errno);
  }
  return file;
}

bool is_content(int file, std::uint64_t bytes) {
  const int seals = ::fcntl(file, F_GET_SEALS);
  struct stat status{};
  return seals >= 0 && (seals & kSealed) == kSealed && ::fstat(file, &status) == 0 &&
         status.st_size >= 0 && static_cast<std::uint64_t>(status.st_size) == bytes;
}

bool is_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

Result<std::vector<std::byte>> Parcel::read() const {
  std::vector<std::byte> bytes(bytes_);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count =
        ::pread(content_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail_by_system(Errc::kIo, "cannot read the estate", errno);
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

struct ParcelLine::Packet {
  std::uint8_t kind = 0;
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;
  std::string name{};
  std::vector<UniqueFd> descriptors{};
};

Result<std::array<UniqueFd, 2>> ParcelLine::make() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return fail_by_system(Errc::kIo, "cannot create a socket pair", errno);
  }
  return std::array{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Status ParcelLine::wait(short events, Instant deadline) const {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return fail(Errc::kIo, "the other process did not respond in time");
    pollfd ready{.fd = socket_.get(), .events = events, .revents = 0};
    const int count = ::poll(&ready, 1, static_cast<int>(left.count()));
    if (count > 0) return {};
    if (count < 0 && errno != EINTR) return fail_by_system(Errc::kIo, "poll", errno);
  }
}

Status ParcelLine::send_packet(std::span<const std::byte> packet, std::span<const int> descriptors,
                               Instant deadline) const {
  iovec data{.iov_base = const_cast<std::byte*>(packet.data()), .iov_len = packet.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostAtOnce * sizeof(int))> ancillary{};
  if (!descriptors.empty()) {
    message.msg_control = ancillary.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  for (;;) {
    if (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL) >= 0) return {};
    if (errno == EINTR) continue;
    // Too many descriptors are under way: the other side takes them.
    if (errno == ETOOMANYREFS) std::this_thread::sleep_for(kTryAgain);
    if (errno != EAGAIN && errno != ETOOMANYREFS) {
      return fail_by_system(Errc::kIo, "cannot send to the other process", errno);
    }
    if (Status ready = wait(POLLOUT, deadline); !ready) return ready;
  }
}

Status ParcelLine::send(std::string_view name, std::span<const std::byte> bytes,
                        std::span<const int> descriptors, Instant deadline) {
  if (!is_name(name) || name.size() > Parcel::kMaxName || bytes.size() > Parcel::kMaxBytes ||
      descriptors.size() > Parcel::kMaxDescriptors) {
    return fail(Errc::kResourceExhausted, fmt::format("{} is too large to hand over", name));
  }
  if (bytes.empty()) return send_parcel(name, -1, 0, descriptors, deadline);
  const auto content = make_content(bytes);
  if (!content) return std::unexpected(content.error());
  return send_parcel(name, content->get(), bytes.size(), descriptors, deadline);
}

Status ParcelLine::send(const Parcel& parcel, Instant deadline) {
  std::vector<int> descriptors;
  descriptors.reserve(parcel.descriptors.size());
  for (const UniqueFd& one : parcel.descriptors) descriptors.push_back(one.get());
  return send_parcel(parcel.name(), parcel.content(), parcel.bytes(), descriptors, deadline);
}

Status ParcelLine::send_parcel(std::string_view name, int content, std::uint64_t bytes,
                               std::span<const int> descriptors, Instant deadline) const {
  const auto packet =
      make_packet(PacketKind::kParcel, static_cast<std::uint32_t>(descriptors.size()), bytes, name);
  if (Status sent = send_packet(packet, {&content, bytes == 0 ? 0U : 1U}, deadline); !sent) {
    return sent;
  }
  const auto more = make_packet(PacketKind::kDescriptors, 0, 0, {});
  while (!descriptors.empty()) {
    const auto now = descriptors.first(std::min(descriptors.size(), kMostAtOnce));
    if (Status sent = send_packet(more, now, deadline); !sent) return sent;
    descriptors = descriptors.subspan(now.size());
  }
  return {};
}

Status ParcelLine::end(std::uint32_t parcels, Instant deadline) {
  return send_packet(make_packet(PacketKind::kEnd, parcels, 0, {}), {}, deadline);
}

Status ParcelLine::wait_for_news(Instant deadline) const {
  return wait(POLLIN, deadline);
}

Result<std::optional<ParcelLine::Packet>> ParcelLine::receive_packet() const {
  std::array<char, kMaxParcelPacket + 1> bytes{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostAtOnce * sizeof(int))> ancillary{};
  iovec data{.iov_base = bytes.data(), .iov_len = bytes.size()};
  msghdr message{};
  ssize_t size = -1;
  while (size < 0) {
    message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = ancillary.data();
    message.msg_controllen = ancillary.size();
    size = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
    if (size >= 0 || errno == EINTR) continue;
    if (errno == EAGAIN) return std::nullopt;
    return fail_by_system(Errc::kIo, "cannot read the estate", errno);
  }
  Packet packet;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::array<int, kMostAtOnce> numbers{};
    std::memcpy(numbers.data(), CMSG_DATA(header), count * sizeof(int));
    for (std::size_t i = 0; i < count; ++i) packet.descriptors.emplace_back(numbers[i]);
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    return fail(Errc::kResourceExhausted, "out of descriptors for the estate");
  }
  const auto length = static_cast<std::size_t>(size);
  if (length == 0) return fail(Errc::kIo, "the other process has closed the line");
  PacketHead head;
  if (length < sizeof head || length > kMaxParcelPacket) return broken("the size of a packet");
  std::memcpy(&head, bytes.data(), sizeof head);
  packet.kind = head.kind;
  packet.count = head.count.get();
  packet.bytes = head.bytes.get();
  packet.name.assign(bytes.data() + sizeof head, length - sizeof head);
  return packet;
}

Result<std::optional<ParcelLine::News>> ParcelLine::receive() {
  for (;;) {
    auto packet = receive_packet();
    if (packet && !*packet) return std::nullopt;
    auto news = packet ? take(std::move(**packet)) : std::unexpected(packet.error());
    if (!news) {
      arriving_.reset();
      missing_ = 0;
    }
    if (!news || *news) return news;
  }
}

Result<std::optional<ParcelLine::News>> ParcelLine::take(Packet packet) {
  switch (static_cast<PacketKind>(packet.kind)) {
    case PacketKind::kParcel:
      if (Status begun = begin_parcel(std::move(packet)); !begun) {
        return std::unexpected(begun.error());
      }
      break;
    case PacketKind::kDescriptors:
      if (!packet.name.empty() || packet.count != 0 || packet.bytes != 0) {
        return broken("a packet of descriptors");
      }
      if (packet.descriptors.empty() || packet.descriptors.size() > missing_) {
        return broken("the number of descriptors");
      }
      missing_ -= packet.descriptors.size();
      std::ranges::move(packet.descriptors, std::back_inserter(arriving_->descriptors));
      break;
    case PacketKind::kEnd:
      if (missing_ != 0 || !packet.name.empty() || !packet.descriptors.empty()) {
        return broken("its end");
      }
      return News{.end = packet.count};
    default: return broken("the kind of a packet");
  }
  if (missing_ != 0) return std::nullopt;
  return News{.parcel = std::exchange(arriving_, std::nullopt)};
}

Status ParcelLine::begin_parcel(Packet packet) {
  if (missing_ != 0) return broken("a parcel lacks descriptors");
  if (!is_name(packet.name)) return broken("the name of a parcel");
  if (packet.count > Parcel::kMaxDescriptors) return broken("the number of descriptors");
  if (packet.bytes > Parcel::kMaxBytes) return broken("the size of a parcel");
  if (packet.descriptors.size() != (packet.bytes == 0 ? 0U : 1U)) {
    return broken("a parcel without content");
  }
  if (packet.bytes != 0 && !is_content(packet.descriptors[0].get(), packet.bytes)) {
    return broken("the content of a parcel");
  }
  arriving_.emplace(std::move(packet.name),
                    packet.bytes == 0 ? UniqueFd() : std::move(packet.descriptors[0]),
                    packet.bytes);
  missing_ = packet.count;
  return {};
}

}  // namespace paravane::privsep
