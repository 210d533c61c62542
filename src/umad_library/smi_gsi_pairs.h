// Pairs adapters that share a port: one whose SMPs pass (SMI), one for all other MADs (GSI). An
// adapter of the usual kind is both. The rules are those of rdma-core's libibumad. Any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "umad_library/door.h"
#include "umad_library/umad_abi.h"

namespace paravane::umad_library {

// As `struct umad_ca_pair`, which older headers lack.
struct CaPair {
  char smi_name[UMAD_CA_NAME_LEN];  // empty: none of them lets SMPs pass
  std::uint32_t smi_preferred_port;
  char gsi_name[UMAD_CA_NAME_LEN];
  std::uint32_t gsi_preferred_port;
};
static_assert(sizeof(CaPair) == 48);

// At most `most`, without ports.
std::vector<CaPair> smi_gsi_pairs(Door& door, std::size_t most);

// The first pair that has the adapter `name` (nullptr: any) with that port (0: any), and its ports
// to use. The pair of the error is the last that was looked at, which callers see beside it.
struct PairSearch {
  bool has_pairs = false;  // there are adapters at all
  bool is_found = false;
  CaPair pair{};
};
PairSearch find_pair(Door& door, const char* name, std::uint8_t portnum, bool needs_smi);

}  // namespace paravane::umad_library
