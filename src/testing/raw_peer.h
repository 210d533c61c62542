// RawPeer: the other end of a channel, played by a test: it says what it likes, in
// records with a right seal or a wrong one, or in bytes that are no records.
//
// Owner thread only.

#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "guestmem/payload_io.h"
#include "transport/tcp/seal.h"
#include "wire/block_reader.h"
#include "wire/block_writer.h"
#include "wire/frames.h"
#include "wire/record.h"

namespace paravane::fake {

class RawPeer {
 public:
  using Bytes = std::vector<std::byte>;

  // `key`: what it seals with; unset: the channel is not sealed.
  RawPeer(UniqueFd socket, const std::optional<transport_tcp::Seal::Key>& key)
      : socket_(std::move(socket)) {
    if (key) seal_ = std::move(*transport_tcp::Seal::create(*key));
  }

  // Into the record that is being made.
  template <typename Frame>
  RawPeer& add(const Frame& frame, std::size_t inside = 0) {
    const std::span<std::byte> payload = block_.add(frame, inside);
    std::memset(payload.data(), kFill, payload.size());
    return *this;
  }
  RawPeer& add_hello() {
    return add(wire::Hello{.magic = Le64(wire::kHelloMagic),
                           .lowest_version = Le16(1),
                           .highest_version = Le16(1),
                           .incarnation = Le64(5)});
  }

  // What a frame may have at most, its header included.
  std::size_t room() const { return block_.room(); }
  // One byte of the record will be another; its seal is right nevertheless.
  void bend(std::size_t at, std::byte value) { bent_.emplace_back(at, value); }

  // The record, with `direct` bytes of payload after it.
  Bytes take(std::size_t direct = 0, std::uint32_t verdict = wire::kGood,
             std::optional<std::uint32_t> digest = std::nullopt) {
    Bytes record = seal(block_.finish(direct));
    block_.clear();
    if (direct == 0) return record;
    const Bytes payload(direct, std::byte{kFill});
    record.insert(record.end(), payload.begin(), payload.end());
    wire::RecordTrailer trailer;
    trailer.verdict.set(verdict);
    trailer.reserved.set(0);
    trailer.digest.set(digest.value_or(digest_bytes(payload, 0)));
    if (seal_) {
      const auto all = std::as_bytes(std::span(&trailer, 1));
      trailer.tag = seal_->next(all.first(sizeof trailer - sizeof trailer.tag), {});
    }
    const auto raw = std::as_bytes(std::span(&trailer, 1));
    record.insert(record.end(), raw.begin(), raw.end());
    return record;
  }
  // False: the socket takes no more, and `bytes` is what is left.
  bool send_some(std::span<const std::byte>& bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
    return true;
  }
  bool send(std::span<const std::byte> bytes) { return send_some(bytes); }
  bool send() { return send(take()); }

  // How many bytes were there.
  std::size_t drain() {
    std::array<std::byte, 65536> bytes;
    std::size_t all = 0;
    for (;;) {
      const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
      if (got <= 0) return all;
      all += static_cast<std::size_t>(got);
    }
  }

  static constexpr std::uint8_t kFill = 0xEE;

 private:
  Bytes seal(std::span<std::byte> record) {
    for (const auto& [at, value] : bent_) record[at % record.size()] = value;
    bent_.clear();
    if (seal_) {
      wire::RecordHeader header;
      std::memcpy(&header, record.data(), sizeof header);
      header.tag =
          seal_->next(std::as_bytes(std::span(&header, 1)).first(sizeof header - sizeof header.tag),
                      record.subspan(sizeof header));
      std::memcpy(record.data(), &header, sizeof header);
    }
    return {record.begin(), record.end()};
  }

  UniqueFd socket_;
  std::unique_ptr<transport_tcp::Seal> seal_;
  wire::BlockWriter block_;
  std::vector<std::pair<std::size_t, std::byte>> bent_;
};

}  // namespace paravane::fake
