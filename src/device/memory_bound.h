// memory_bound(): calculates how much of the daemon's memory one adapter can use at most, if its
// guest exhausts every quota. The result is a sum over all limits, each multiplied by the cost of
// one object. Pages of the guest's own memory, which the daemon only maps, are not included.
//
// docs/configuration.md lists the results for the default limits, and
// tests/conformance/memory_bound_test.cc compares them with the memory that such a guest really
// uses.
//
// Stateless, any thread.

#pragma once

#include <cstdint>

#include "device/device_config.h"

namespace paravane::device {

struct MemoryBound {
  std::uint64_t objects = 0;     // objects that the guest's commands create
  std::uint64_t held_back = 0;   // completions and events that do not fit into a ring
  std::uint64_t requests = 0;    // send requests that were taken from a ring and are not complete
  std::uint64_t transports = 0;  // state of each queue pair on paths to other hosts
  std::uint64_t fixed = 0;       // the adapter itself, and one registration in progress
  std::uint64_t page_lists = 0;  // GuestMemory::page_list_quota()

  std::uint64_t total() const {
    return objects + held_back + requests + transports + fixed + page_lists;
  }
};

MemoryBound memory_bound(const DeviceLimits& limits, std::uint64_t page_list_quota);

}  // namespace paravane::device
