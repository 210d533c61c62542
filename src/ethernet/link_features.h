// LinkFeatures: what a network interface does with the frames of others, and for them, as
// ethtool(8) shows and sets it: "rx-gro", "tx-udp-segmentation". Which features there are is the
// kernel's to say, and a feature that it does not know is off.
//
// What read() has returned does not change when the interface does. Blocks until the driver
// answers. One thread. set() needs CAP_NET_ADMIN.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paravane::ethernet {

struct FeatureWish {
  std::string name;
  bool on = false;
};

class LinkFeatures {
 public:
  // Errors: kIo.
  static Result<LinkFeatures> read(const std::string& link);

  // All names that the kernel knows.
  const std::vector<std::string>& names() const { return names_; }
  bool is_on(std::string_view name) const;
  // Those that are not so already.
  std::vector<FeatureWish> differences(const std::vector<FeatureWish>& wishes) const;

  // Sets them in one call, then looks again. To turn off what the kernel does not know is nothing.
  // Errors: kIo, kUnsupported (the kernel does not know one that is to be on), kBadState (the
  // driver leaves one as it was; the message names it).
  Status set(const std::vector<FeatureWish>& wishes);

 private:
  explicit LinkFeatures(std::string link) : link_(std::move(link)) {}
  Status read_names();
  Status read_states();
  std::size_t number_of(std::string_view name) const;  // names_.size(): it is not known

  std::string link_;
  std::vector<std::string> names_;       // by their number
  std::vector<std::uint32_t> are_on_{};  // a bit for each number, 32 in one
};

}  // namespace paravane::ethernet
