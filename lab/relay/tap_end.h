// TapEnd: one end of a wire: a NIC that it makes in a network namespace, which is there
// and has a link as long as the wire does. What comes from it is what a cable would carry:
// the kernel has cut segments and filled in checksums.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::lab {

class TapEnd {
 public:
  // "eth1@h1": the name of the NIC, and of the namespace or its file; without one the NIC
  // is made here. REQUIRES: root, one thread. Errors: kInvalidArgument, kIo.
  static Result<TapEnd> make(const std::string& place, unsigned mtu);

  // The next frame into `buffer`; 0: none there. Errors: kIo.
  Result<std::size_t> read(std::span<char> buffer) const;
  // False: the NIC is not up, or full.
  bool write(std::span<const char> frame) const;

  // Whether its owner sees a link.
  Status set_carrier(bool on) const;

  int fd() const { return fd_.get(); }
  const std::string& place() const { return place_; }

 private:
  TapEnd(UniqueFd fd, std::string place) : fd_(std::move(fd)), place_(std::move(place)) {}

  UniqueFd fd_;
  std::string place_;
};

}  // namespace paravane::lab
