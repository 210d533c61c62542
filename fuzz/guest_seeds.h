// Writes the seeds of one of the guest fuzzers into a directory.

#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include "hostile_vm.h"

namespace paravane::fake {

// Usage: NAME_seeds DIRECTORY. Returns the program's exit status.
inline int write_seeds(int argc, char** argv, const std::vector<SeedBytes>& seeds) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  const std::filesystem::path directory = argv[1];
  std::error_code ignored;  // the file below tells
  std::filesystem::create_directories(directory, ignored);
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream file(directory / ("seed" + std::to_string(i)), std::ios::binary);
    for (const std::uint8_t byte : seeds[i].bytes()) file.put(static_cast<char>(byte));
    if (!file.flush()) {
      std::fprintf(stderr, "cannot write to %s\n", directory.c_str());
      return 1;
    }
  }
  return 0;
}

template <typename Act>
SeedBytes& operator<<(SeedBytes& seed, Act act)
  requires std::is_enum_v<Act>
{
  return seed.u8(static_cast<std::uint32_t>(act));
}

}  // namespace paravane::fake
