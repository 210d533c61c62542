// Handshake: the server's half of NBD's fixed newstyle handshake (proto.md, "Handshake"), as bytes
// in and bytes out. There is one export, whose name is the device's; the empty name means it too.
//
// The client is a stranger: a message has at most kMostOptionBytes, a handshake kMostOptions
// options, and the replies to one option are bounded. Errors are answered in the protocol; where it
// has no answer, the handshake ends.
//
// Owner thread only. Throws std::bad_alloc: the connection is of no use then.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nbd/block_device.h"
#include "nbd/export_query.h"
#include "nbd/protocol.h"

namespace paravane::nbd {

// What is served, as a handshake tells it.
struct Offer {
  std::string name{};
  std::string description{};
  Geometry geometry{};
};

// What client and server have agreed on.
struct Agreement {
  bool is_structured = false;      // structured replies
  bool knows_block_sizes = false;  // the client asked for them
};

class Handshake {
 public:
  static constexpr unsigned kMostOptions = 64;
  // Of one option, that is understood: the longest name and what is around it.
  static constexpr std::size_t kMostOptionBytes = kMostNameBytes + 256;
  // Of one that is too long, and is answered and skipped.
  static constexpr std::size_t kMostSkippedBytes = std::size_t{64} * 1024;

  enum class State : std::uint8_t {
    kTalking,  // take() is next
    kAsking,   // the client wants the device: grant() or deny()
    kDone,     // transmission follows
    kOver,     // the connection is to be closed, once the replies are sent
  };

  // `offer` outlives us, and may change between calls.
  explicit Handshake(const Offer& offer);

  State state() const { return state_; }
  const Agreement& agreement() const { return agreement_; }
  // Why the handshake is over, as a log line says it; empty: the client ended it as it may, or was
  // denied the device.
  std::string_view problem() const { return problem_; }
  // Whether that is more than an export that does not exist.
  bool has_broken_rules() const { return has_broken_rules_; }
  unsigned refused_options() const { return refused_; }

  // How many bytes take() has to have. REQUIRES: kTalking.
  std::size_t wanted() const;
  void take(std::span<const std::byte> bytes);

  // REQUIRES: kAsking. `why`: for a person; a client by EXPORT_NAME cannot be told.
  void grant();
  void deny(std::string_view why);

  // What is to be sent; the caller empties it.
  std::vector<std::byte>& out() { return out_; }

 private:
  enum class Part : std::uint8_t { kFlags, kHeader, kData, kSkipped };

  void take_flags(std::span<const std::byte> bytes);
  void take_header(std::span<const std::byte> bytes);
  void take_option(std::span<const std::byte> data);
  void take_name(std::string_view name);
  void take_query(std::span<const std::byte> data);
  void list(std::span<const std::byte> data);
  void inform(const ExportQuery& query);
  bool is_our_name(std::string_view name) const { return name.empty() || name == offer_.name; }

  void put(std::span<const std::byte> bytes);
  void reply(OptionReply type, std::span<const std::byte> data = {},
             std::span<const std::byte> more = {});
  void refuse(OptionReply type, std::string_view why);
  void end(std::string_view problem);

  const Offer& offer_;
  State state_ = State::kTalking;
  Part part_ = Part::kFlags;
  Agreement agreement_{};
  bool omits_zeroes_ = false;
  Option option_{};       // that is being answered
  std::size_t left_ = 0;  // of its data
  unsigned options_ = 0;
  unsigned refused_ = 0;  // of them
  ExportQuery query_{};   // of a GO that waits for the device; without the name
  std::string_view problem_;
  bool has_broken_rules_ = false;
  std::vector<std::byte> out_;
};

}  // namespace paravane::nbd
