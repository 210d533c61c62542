// BadWeather loses, repeats, delays and damages frames of a RoceWire, by a seed.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "testing/roce_frames.h"

namespace paravane::fake {

class BadWeather {
 public:
  // Shares of all frames.
  struct Shares {
    double lost = 0;
    double repeated = 0;
    double late = 0;     // it arrives behind some later ones
    double damaged = 0;  // one bit
  };
  BadWeather(const Shares& shares, std::uint64_t seed) : shares_(shares), random_(seed) {}

  std::vector<FrameBytes> operator()(unsigned side, FrameBytes frame) {
    std::vector<FrameBytes> arrives;
    if (happens(shares_.late) && late_[side].size() < kMostLate) {
      late_[side].push_back(std::move(frame));
      return arrives;
    }
    if (happens(shares_.damaged)) {
      const std::size_t bit = random_() % (frame.size() * 8);
      frame[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    if (!happens(shares_.lost)) {
      if (happens(shares_.repeated)) arrives.push_back(frame);
      arrives.push_back(std::move(frame));
    }
    if (!late_[side].empty() && random_() % 4 == 0) {
      for (FrameBytes& one : late_[side]) arrives.push_back(std::move(one));
      late_[side].clear();
    }
    return arrives;
  }

 private:
  static constexpr std::size_t kMostLate = 8;
  bool happens(double share) { return std::uniform_real_distribution<>()(random_) < share; }

  Shares shares_;
  std::mt19937_64 random_;
  std::vector<FrameBytes> late_[2];
};

}  // namespace paravane::fake
