// Asks the door for adapters and ports, as libibumad's callers know them. Any thread.

#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "umad_library/adapter_answers.h"
#include "umad_library/door.h"
#include "umad_library/umad_abi.h"

namespace paravane::umad_library {

// Sorted. Errors: errno.
std::expected<std::vector<std::string>, int> adapter_names(Door& door);

// How many IPoIB uplinks the adapters make; nullopt: the daemon does not say.
std::optional<std::uint32_t> ipoib_uplinks(Door& door);

// These give 0 or an errno: ENOENT (there is none), EIO (more ports than umad_ca_t holds), ENOMEM,
// or those of Door::ask(). After 0 the caller releases it.
int load_ca(Door& door, const std::string& name, umad_ca_t& ca);
int load_port(Door& door, const std::string& name, int portnum, umad_port_t& port);

// A umad_ca_t that releases its ports. It is empty if load() gives an error.
class Ca {
 public:
  Ca() = default;
  ~Ca() { release_ca(ca_); }
  Ca(const Ca&) = delete;
  Ca& operator=(const Ca&) = delete;

  int load(Door& door, const std::string& name) {
    release_ca(ca_);
    return load_ca(door, name, ca_);
  }
  const umad_ca_t& operator*() const { return ca_; }
  const umad_ca_t* operator->() const { return &ca_; }
  // nullptr: it has no such port.
  const umad_port_t* port(int number) const {
    return number >= 0 && number < UMAD_CA_MAX_PORTS ? ca_.ports[number] : nullptr;
  }

 private:
  umad_ca_t ca_{};
};

}  // namespace paravane::umad_library
