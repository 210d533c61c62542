// NamedFile: a memory file whose mappings in this process a test can count, by its name
// in /proc/self/maps.

#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>

#include "base/unique_fd.h"

namespace paravane {

class NamedFile {
 public:
  NamedFile(std::string name, std::uint64_t bytes)
      : name_(std::move(name)), fd_(memfd_create(name_.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    resize(bytes);
  }

  bool resize(std::uint64_t bytes) const {
    return ftruncate(fd_.get(), static_cast<off_t>(bytes)) == 0;
  }
  // A descriptor of its own, as a VMM sends one.
  UniqueFd fd() const { return UniqueFd(fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0)); }

  std::uint64_t mapped_bytes() const {
    std::ifstream maps("/proc/self/maps");
    std::uint64_t sum = 0;
    for (std::string line; std::getline(maps, line);) {
      if (line.find("/memfd:" + name_ + " ") == std::string::npos) continue;
      std::size_t dash = 0;
      const std::uint64_t start = std::stoull(line, &dash, 16);
      sum += std::stoull(line.substr(dash + 1), nullptr, 16) - start;
    }
    return sum;
  }

 private:
  std::string name_;
  UniqueFd fd_;
};

}  // namespace paravane
