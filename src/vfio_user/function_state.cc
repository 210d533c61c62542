// Function: what is saved of it and of its configuration space.

#include <algorithm>
#include <span>

#include "vfio_user/config_space.h"
#include "vfio_user/function.h"

namespace paravane::vfio_user {
namespace {

using state::Reader;
using state::Tag;
using state::Writer;

constexpr Tag kConfigSpace{1};
constexpr Tag kResetting{2};

// Of a configuration space.
constexpr Tag kRegisters{1};

}  // namespace

void Function::save(Writer& out) const {
  {
    const Writer::Group group(out, kConfigSpace);
    config_.save(out);
  }
  out.flag(kResetting, resetting_);
}

void Function::load(Reader& in) {
  Reader config = in.group(kConfigSpace);
  config_.load(config);
  resetting_ = in.flag(kResetting);
  in.end();
  in.expect(memory_.dma_enabled() == config_.bus_master() &&
                interrupts_.enabled() == config_.bus_master(),
            "memory or interrupts do not follow Bus Master Enable");
}

void ConfigSpace::save(Writer& out) const {
  out.bytes(kRegisters, std::as_bytes(std::span(bytes_)));
}

void ConfigSpace::load(Reader& in) {
  Bytes loaded;
  in.bytes_into(kRegisters, std::as_writable_bytes(std::span(loaded)));
  in.end();
  bool is_ours = true;
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    is_ours = is_ours && ((loaded[i] ^ initial_[i]) & ~writable_[i]) == 0;
  }
  if (in.expect(is_ours, "a register that cannot be written has changed")) bytes_ = loaded;
}

}  // namespace paravane::vfio_user
