// Damage: what a bad disk, a full one or a careless hand makes of what was kept, the same at
// each run.

#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>

namespace paravane {

class Damage {
 public:
  enum class Kind : std::uint8_t { kCut, kEmpty, kBit, kGone, kGarbage };

  explicit Damage(unsigned start) : random_(start) {}

  // Another one at each call, in turn. nullopt: it is gone. REQUIRES: there are bytes.
  std::optional<std::string> apply(std::string bytes) {
    kind_ = static_cast<Kind>(rounds_++ % 5);
    switch (kind_) {
      case Kind::kCut: bytes.resize(below(bytes.size())); break;
      case Kind::kEmpty: bytes.clear(); break;
      case Kind::kBit: bytes[below(bytes.size())] ^= static_cast<char>(1U << below(8)); break;
      case Kind::kGone: return std::nullopt;
      case Kind::kGarbage: {
        const std::size_t from = below(bytes.size());
        const std::size_t to = from + 1 + below(bytes.size() - from);
        for (std::size_t i = from; i < to; ++i) bytes[i] = static_cast<char>(below(256));
        break;
      }
    }
    return bytes;
  }
  // What the last call did.
  Kind kind() const { return kind_; }
  std::size_t below(std::size_t end) { return random_() % end; }

 private:
  std::mt19937 random_;
  unsigned rounds_ = 0;
  Kind kind_ = Kind::kCut;
};

}  // namespace paravane
