// RawVfioClient: a VMM's side of vfio-user, one message at a time, as right or as
// wrong as a test wants it.
//
// The server runs on the same thread, so whoever waits for an answer has to let
// it work: `pump` runs one turn of its loop.
//
// One thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "vfio_user/protocol.h"

namespace paravane {

class RawVfioClient {
 public:
  using Bytes = std::vector<std::byte>;
  using Pump = std::function<void()>;

  // Byte for byte what QEMU 11.1 and Cloud Hypervisor say of themselves.
  static constexpr std::string_view kQemuJson =
      R"({"capabilities": {"pgsizes": 4096, "max_msg_fds": 16, "max_dma_maps": 65535, )"
      R"("max_data_xfer_size": 1048576, "migration": {"max_bitmap_size": 268435456, )"
      R"("pgsize": 4096}, "write_multiple": true}})";
  static constexpr std::string_view kCloudHypervisorJson =
      R"({"capabilities":{"max_msg_fds":1,"max_data_xfer_size":1048576,)"
      R"("migration":{"pgsize":4096}}})";

  struct Reply {
    vfio_user::Header header;
    Bytes payload;
    std::vector<UniqueFd> fds;

    bool is_error() const;
    int error() const { return static_cast<int>(header.error.get()); }
    // The struct at `offset` of the payload; zeroes when it is too short.
    template <typename T>
    T as(std::size_t offset = 0) const {
      T value{};
      if (offset + sizeof value <= payload.size()) {
        std::memcpy(&value, payload.data() + offset, sizeof value);
      }
      return value;
    }
  };

  // The socket is -1 when nobody listens there; connected() says so.
  RawVfioClient(const std::filesystem::path& path, Pump pump);
  RawVfioClient(UniqueFd socket, Pump pump);

  // Whom it lets work from now on.
  void set_pump(Pump pump) { pump_ = std::move(pump); }

  bool connected() const { return static_cast<bool>(socket_); }
  int socket() const { return socket_.get(); }
  void hang_up() { socket_.reset(); }

  // ---- Raw ----
  // Blocks never; false when the socket did not take it all.
  bool send_bytes(std::span<const std::byte> bytes, std::span<const int> fds = {});
  // A command with its header; returns the id it got.
  std::uint16_t send(vfio_user::Command command, std::span<const std::byte> payload,
                     std::span<const int> fds = {}, std::uint32_t flags = 0);
  // A whole reply if one is there now.
  std::optional<Reply> receive_now();
  // The same, letting the server work a while. nullopt: no answer came.
  std::optional<Reply> receive();
  // Lets the server work; true if not a single byte came and the socket is open.
  bool stays_silent();
  // Lets the server work; true if it has closed the connection.
  bool is_closed();

  std::optional<Reply> call(vfio_user::Command command, std::span<const std::byte> payload,
                            std::span<const int> fds = {}, std::uint32_t flags = 0);
  void set_next_id(std::uint16_t id) { next_id_ = id; }

  // ---- As a VMM ----
  std::optional<Reply> negotiate(std::string_view json = kQemuJson, std::uint16_t minor = 0);
  // `fd` -1: none is sent.
  std::optional<Reply> dma_map(int fd, std::uint64_t file_offset, std::uint64_t iova,
                               std::uint64_t size, std::uint32_t flags = 3);
  std::optional<Reply> dma_unmap(std::uint64_t iova, std::uint64_t size, std::uint32_t flags = 0);
  std::optional<Reply> region_info(std::uint32_t index, std::uint32_t argsz = 32);
  std::optional<Reply> irq_info(std::uint32_t index);
  struct IrqRange {
    std::uint32_t index = 2;
    std::uint32_t start = 0;
    std::uint32_t count = 0;
  };
  std::optional<Reply> set_irqs(std::uint32_t flags, IrqRange range, std::span<const int> fds = {},
                                std::span<const std::byte> data = {});
  std::optional<Reply> reset() { return call(vfio_user::Command::kReset, {}); }

  std::optional<Reply> read(std::uint32_t region, std::uint64_t offset, std::uint32_t count);
  std::optional<Reply> write(std::uint32_t region, std::uint64_t offset,
                             std::span<const std::byte> data, std::uint32_t flags = 0);
  // The value, or all ones when the read fails.
  template <typename T>
  T read_value(std::uint32_t region, std::uint64_t offset) {
    const std::optional<Reply> reply = read(region, offset, sizeof(T));
    if (!reply || reply->payload.size() != sizeof(vfio_user::RegionAccess) + sizeof(T)) {
      return static_cast<T>(~T{0});
    }
    return reply->as<T>(sizeof(vfio_user::RegionAccess));
  }
  template <typename T>
  std::optional<Reply> write_value(std::uint32_t region, std::uint64_t offset, T value,
                                   std::uint32_t flags = 0) {
    return write(region, offset, std::as_bytes(std::span(&value, 1)), flags);
  }
  // Memory decoding and bus mastering, as a driver switches them.
  void set_bus_master(bool enabled) { write_value<std::uint16_t>(7, 4, enabled ? 6 : 0); }

  template <typename T>
  static Bytes bytes_of(const T& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return Bytes(bytes.begin(), bytes.end());
  }
  static Bytes join(std::initializer_list<std::span<const std::byte>> parts);
  // A whole message, header and all.
  static Bytes message(vfio_user::Command command, std::uint16_t id,
                       std::span<const std::byte> payload, std::uint32_t flags = 0);

 private:
  bool read_socket();

  UniqueFd socket_;
  Pump pump_;
  std::uint16_t next_id_ = 0;
  Bytes received_;
  std::vector<UniqueFd> received_fds_;
  bool closed_ = false;
};

}  // namespace paravane
