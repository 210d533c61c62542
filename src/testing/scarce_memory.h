// ScarceMemory: while it lives, one allocation of this program fails, by its number. Programs
// that link it have operator new and delete of this file. Where there is a handler for it
// (std::set_new_handler), that is asked first, and the allocation goes through if it returns.
//
// One at a time. Allocations of all threads are counted.

#pragma once

#include <cstdint>

namespace paravane {

class ScarceMemory {
 public:
  // The allocation of this number fails, counted from 1.
  explicit ScarceMemory(std::uint64_t number);
  ~ScarceMemory();
  ScarceMemory(const ScarceMemory&) = delete;
  ScarceMemory& operator=(const ScarceMemory&) = delete;

  // There were so many.
  bool has_failed() const;
  // How many there have been.
  std::uint64_t seen() const;

 private:
  const std::uint64_t number_;
};

}  // namespace paravane
