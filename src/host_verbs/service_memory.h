// ServiceMemory is the memory of a service of this host that uses the RDMA engine, such as SRP: one
// file, of which nothing is a VM's. A target that has been lent a part of it can therefore never
// reach a guest's memory.
//
// It has two kinds of places: payloads, which a peer may be lent, and messages, which it never is.
// Each adapter of the service shows the whole file at the same DMA addresses, so a payload can go
// by another adapter without a copy.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "guestmem/extent.h"
#include "guestmem/guest_addr.h"
#include "guestmem/guest_memory.h"

namespace paravane::host_verbs {

// Free places of one kind. Those that were given back last are taken last.
class Places {
 public:
  explicit Places(std::uint32_t count);

  std::optional<std::uint32_t> take();  // nullopt: all are taken
  // REQUIRES: it is taken.
  void give_back(std::uint32_t place);
  std::size_t free() const { return free_count_; }

 private:
  std::vector<std::uint32_t> ring_;
  std::size_t next_ = 0;
  std::size_t free_count_;
};

class ServiceMemory {
 public:
  static constexpr std::uint32_t kPayloadBytes = 1u << 20;
  static constexpr std::uint32_t kMessageBytes = 1024;

  struct Size {
    std::uint32_t payloads = 0;
    std::uint32_t messages = 0;
  };
  // Errors: kIo, kResourceExhausted.
  static Result<std::unique_ptr<ServiceMemory>> make(const Size& size);
  ServiceMemory(const ServiceMemory&) = delete;
  ServiceMemory& operator=(const ServiceMemory&) = delete;

  // Shows the file in the memory of an adapter, with DMA on. Errors: as GuestMemory::map().
  Status show_in(GuestMemory& memory) const;

  Places& payloads() { return payloads_; }
  Places& messages() { return messages_; }

  GuestAddr payload(std::uint32_t place) const;
  // The page directory of a payload's pages.
  GuestAddr payload_directory(std::uint32_t place) const;
  GuestAddr message(std::uint32_t place) const;

  // Appends the extents of a part of a payload, for a copy within this turn. False: the memory has
  // failed. REQUIRES: the payload has these bytes.
  bool extents(std::uint32_t payload, std::uint32_t offset, std::uint32_t length,
               ExtentList& out) const;

  // ---- Whose bytes are in a payload ----
  // A peer may write less than it says, so a user must find nothing there but bytes of its own, and
  // zeros. It takes a payload over before it uses it; its number is not 0.
  void take_over(std::uint32_t payload, std::uint64_t user);
  // The first `length` bytes are the user's own.
  void note_filled(std::uint32_t payload, std::uint32_t length);
  // Zeroes what among the first `length` bytes is not the user's own. False: the memory has failed.
  bool clear_others(std::uint32_t payload, std::uint32_t length);

  // For messages. REQUIRES: at most kMessageBytes. Errors: as GuestMemory's.
  Status write(std::uint32_t message, std::span<const std::byte> bytes);
  Status read(std::uint32_t message, std::span<std::byte> bytes) const;

 private:
  ServiceMemory(const Size& size, UniqueFd file);
  Status write_directories();
  std::uint64_t bytes() const;

  Size size_;
  UniqueFd file_;
  GuestMemory memory_;  // ours, without an adapter
  Places payloads_;
  Places messages_;
  struct Content {
    std::uint64_t user = 0;
    std::uint32_t own = 0;  // so many bytes from the start are the user's, or zeros
  };
  std::vector<Content> contents_;  // of payloads
};

}  // namespace paravane::host_verbs
