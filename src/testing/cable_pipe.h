// CablePipe: the two ends of a cable's stream in memory, for tests. A test may also read and write
// one end itself, as a host that does what it likes.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cable/byte_stream.h"
#include "cable/frame.h"

namespace paravane::fake {

class CablePipe {
 public:
  struct Way {
    std::deque<std::byte> bytes{};
    std::size_t room = std::size_t{1} << 20U;  // how many bytes it holds
    bool is_closed = false;
  };

  class End final : public cable::ByteStream {
   public:
    End(std::shared_ptr<Way> in, std::shared_ptr<Way> out)
        : in_(std::move(in)), out_(std::move(out)) {}
    ~End() override { in_->is_closed = out_->is_closed = true; }
    int fd() const override { return -1; }
    Moved read(std::span<std::byte> to) override {
      const std::size_t bytes = std::min(to.size(), in_->bytes.size());
      const auto end = in_->bytes.begin() + static_cast<std::ptrdiff_t>(bytes);
      std::copy(in_->bytes.begin(), end, to.begin());
      in_->bytes.erase(in_->bytes.begin(), end);
      return {.bytes = bytes, .is_over = bytes == 0 && in_->is_closed};
    }
    Moved write(std::span<const std::byte> from) override {
      if (out_->is_closed) return {.is_over = true};
      const std::size_t held = std::min(out_->bytes.size(), out_->room);
      const std::size_t bytes = std::min(from.size(), out_->room - held);
      out_->bytes.insert(out_->bytes.end(), from.begin(),
                         from.begin() + static_cast<std::ptrdiff_t>(bytes));
      return {.bytes = bytes};
    }
    std::string problem() const override { return "the pipe is closed"; }

   private:
    std::shared_ptr<Way> in_;
    std::shared_ptr<Way> out_;
  };

  std::unique_ptr<End> one() { return std::make_unique<End>(to_one_, to_other_); }
  std::unique_ptr<End> other() { return std::make_unique<End>(to_other_, to_one_); }
  Way& to_one() { return *to_one_; }
  Way& to_other() { return *to_other_; }

 private:
  std::shared_ptr<Way> to_one_ = std::make_shared<Way>();
  std::shared_ptr<Way> to_other_ = std::make_shared<Way>();
};

inline std::vector<std::byte> cable_frame(cable::FrameKind kind, std::span<const std::byte> body,
                                          std::uint8_t cables = 0) {
  cable::FrameHeader header{.kind = static_cast<std::uint8_t>(kind), .cables = cables};
  header.length.set(static_cast<std::uint16_t>(body.size()));
  std::vector<std::byte> bytes(sizeof header + body.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  std::ranges::copy(body, bytes.begin() + sizeof header);
  return bytes;
}
inline std::vector<std::byte> hello_frame(std::uint64_t guid = 0x0202'0000'0000'0900,
                                          std::uint16_t version = cable::kCableVersion) {
  cable::Hello hello;
  hello.version.set(version);
  hello.port.set(33);
  hello.guid.set(guid);
  return cable_frame(cable::FrameKind::kHello, std::as_bytes(std::span(&hello, 1)));
}
inline std::vector<std::byte> link_frame(cable::LinkWord word) {
  return cable_frame(cable::FrameKind::kLink, std::as_bytes(std::span(&word, 1)));
}
inline std::vector<std::byte> beat_frame() {
  return cable_frame(cable::FrameKind::kBeat, {});
}
inline void put_bytes(CablePipe::Way& way, std::span<const std::byte> bytes) {
  way.bytes.insert(way.bytes.end(), bytes.begin(), bytes.end());
}

}  // namespace paravane::fake
