// HostileLanes is the end of a trunk's lanes that a fuzzer plays, beside the channel in which it
// says what goes by them.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "fuzz_bytes.h"
#include "testing/fake_trunk.h"
#include "testing/lanes_stream.h"
#include "wire/lane_frames.h"

namespace paravane::fake {

class HostileLanes {
 public:
  // The engine's stream. The trunks of before live on: their channels end when the new one is open.
  std::unique_ptr<transport_channel::Stream> open(UniqueFd socket) {
    old_trunk_ = std::exchange(trunk_, FakeTrunk::make_pair());
    return std::make_unique<LanesStream>(std::move(socket), *trunk_[0]);
  }

  // Any lane, or one too few or too many.
  static std::uint32_t some_lane(FuzzBytes& input) { return input.below(wire::kLanes + 2); }

  // Opens, closes or breaks a lane; `add` puts a frame into the record.
  template <typename Add>
  void change(FuzzBytes& input, const Add& add) {
    const std::uint32_t which = input.below(4);
    const std::uint32_t number = some_lane(input);
    const wire::Le8 name(static_cast<std::uint8_t>(number));
    const bool is_lane = is_open() && number >= 1 && number <= wire::kLanes;
    switch (which) {
      case 0: return add(wire::LaneOpen{.lane = name, .psn = Le32(hostile_number(input))});
      case 1: {
        const std::uint32_t psn = is_lane ? trunk_[1]->join_lane(number) : 0;
        return add(wire::LaneReady{.lane = name, .psn = Le32(psn)});
      }
      case 2: return add(wire::LaneClosed{.lane = name});
      default:
        if (is_lane) trunk_[0]->fail_lane(number);
        return;
    }
  }

  // Sends a piece of that length on the lane that most was posted for.
  void send(FuzzBytes& input, std::uint64_t bytes) {
    const std::uint32_t number = input.u8() % 32U;
    const bool is_void = input.u8() % 4 == 3;
    if (!is_open() || trunk_[0]->busy_lane() == 0) return;
    lies_.emplace_back(bytes, std::byte{0xEE});
    trunk_[1]->send_on_lane(trunk_[0]->busy_lane(), lies_.back(),
                            number | (is_void ? wire::kVoidPiece : 0));
  }

 private:
  bool is_open() const { return trunk_[0] != nullptr; }

  std::array<std::unique_ptr<FakeTrunk>, 2> old_trunk_;
  std::array<std::unique_ptr<FakeTrunk>, 2> trunk_;
  std::deque<std::vector<std::byte>> lies_;  // that were sent
};

}  // namespace paravane::fake
