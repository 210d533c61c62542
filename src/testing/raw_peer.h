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
#include "transport/channel/seal.h"
#include "wire/block_reader.h"
#include "wire/block_writer.h"
#include "wire/frames.h"
#include "wire/record.h"

namespace paravane::fake {

class RawPeer {
 public:
  using Bytes = std::vector<std::byte>;

  // `key`: what it seals with; unset: the channel is not sealed.
  RawPeer(UniqueFd socket, const std::optional<transport_channel::Seal::Key>& key,
          bool seals_payload = true)
      : socket_(std::move(socket)), seals_payload_(seals_payload) {
    if (key) seal_ = std::move(*transport_channel::Seal::create(*key));
  }

  // Into the record that is being made.
  template <typename Frame>
  RawPeer& add(const Frame& frame, std::size_t inside = 0) {
    const std::span<std::byte> payload = block_.add(frame, inside);
    std::memset(payload.data(), kFill, payload.size());
    return *this;
  }
  RawPeer& add_hello(std::uint64_t incarnation = 5) {
    return add(wire::Hello{.magic = Le64(wire::kHelloMagic),
                           .lowest_version = Le16(1),
                           .highest_version = Le16(1),
                           .incarnation = Le64(incarnation)});
  }

  // What a frame may have at most, its header included.
  std::size_t room() const { return block_.room(); }
  // One byte of the record will be another; its seal is right nevertheless.
  void bend(std::size_t at, std::byte value) { bent_.emplace_back(at, value); }

  // The record, with `direct` bytes of payload after it; a byte in their middle is
  // `changed` by who is on the way.
  Bytes take(std::size_t direct = 0, std::uint32_t verdict = wire::kGood,
             std::byte changed = std::byte{0}) {
    Bytes record = seal(block_.finish(direct));
    block_.clear();
    if (direct == 0) return record;
    Bytes payload(direct, std::byte{kFill});
    wire::RecordTrailer trailer{.verdict = Le32(verdict)};
    if (!seals_payload_) trailer.digest.set(digest_bytes(payload, 0));
    if (seal_) {
      trailer.tag = seal_->next(seals_payload_ ? payload : Bytes(), wire::sealed_part(trailer));
    }
    payload[direct / 2] ^= changed;
    record.insert(record.end(), payload.begin(), payload.end());
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

  // All that was there.
  Bytes receive() {
    std::array<std::byte, 65536> bytes;
    Bytes all;
    for (;;) {
      const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
      if (got <= 0) return all;
      all.insert(all.end(), bytes.begin(), bytes.begin() + got);
    }
  }
  // How many bytes that was.
  std::size_t drain() { return receive().size(); }
  // The frames of one kind in whole records without direct payload.
  template <typename Frame>
  std::vector<Frame> receive_frames() {
    const Bytes bytes = receive();
    std::vector<Frame> frames;
    for (std::span<const std::byte> rest = bytes; rest.size() >= sizeof(wire::RecordHeader);) {
      wire::RecordHeader header;
      std::memcpy(&header, rest.data(), sizeof header);
      rest = rest.subspan(sizeof header);
      wire::BlockReader block(rest.first(header.block_bytes.get()));
      while (const auto frame = block.next()) {
        if (frame->kind == Frame::kKind) frames.push_back(*frame->template as<Frame>());
      }
      rest = rest.subspan(header.block_bytes.get());
    }
    return frames;
  }

  // Takes so many of them at most.
  void sip(std::size_t most) {
    std::vector<std::byte> bytes(most);
    static_cast<void>(::recv(socket_.get(), bytes.data(), bytes.size(), 0));
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
  bool seals_payload_;
  std::unique_ptr<transport_channel::Seal> seal_;
  wire::BlockWriter block_;
  std::vector<std::pair<std::size_t, std::byte>> bent_;
};

}  // namespace paravane::fake
