// Declares what libibumad.so.3 exports: the header of rdma-core, and what its older versions lack.
// Debian 12 has the one of rdma-core 44, which knows 39 of the 42 functions.

#pragma once

#include <infiniband/umad.h>
#include <infiniband/umad_str.h>

#include <cstddef>
#include <cstdint>

// Newer headers define it. As CaPair (smi_gsi_pairs.h) it is known here, so it may stay incomplete.
struct umad_ca_pair;

extern "C" {
int umad_open_smi_port(const char* ca_name, int portnum);
int umad_get_smi_gsi_pairs(struct umad_ca_pair* cas, std::size_t max);
int umad_get_smi_gsi_pair_by_ca_name(const char* devname, std::uint8_t portnum,
                                     struct umad_ca_pair* ca_pair, unsigned enforce_smi);
}
