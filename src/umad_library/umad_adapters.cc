// The functions of libibumad about adapters, by their C names.

#include <cerrno>
#include <cstring>
#include <string>

#include "umad_library/adapters.h"
#include "umad_library/device_list.h"
#include "umad_library/entry_points.h"
#include "umad_library/notice.h"
#include "umad_library/resolve.h"
#include "umad_library/smi_gsi_pairs.h"
#include "umad_library/umad_abi.h"

namespace paravane::umad_library {
namespace {

// The guide's ibstat needs an interface of IPoIB (3.2); here it shows the ports, and says so. Other
// programs, such as opensm, ask for names instead of a list.
void tell_without_ipoib() {
  if (process().has_looked_for_ipoib.exchange(true) || ipoib_uplinks(process().door) != 0) return;
  warn("umad_get_cas_names",
       "the adapters make no IPoIB uplink. Enable module ib_ipoib with: paravane infiniband module "
       "enable ib_ipoib, then: paravane infiniband restart");
}

}  // namespace

UMAD_EXPORT int umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max) {
  return guarded([&](NotCancelled&) {
    const auto names = adapter_names(process().door);
    if (!names) return failed(names.error());
    int count = 0;
    for (const std::string& name : *names) {
      if (count >= max) break;
      std::memcpy(cas[count++], name.c_str(), name.size() + 1);
    }
    return count;
  });
}

UMAD_EXPORT int umad_get_ca_portguids(const char* ca_name, __be64* portguids, int max) {
  return guarded([&](NotCancelled&) {
    const auto name = resolve(process().door, ca_name, nullptr);
    if (!name) return failed(ENODEV);
    Ca ca;
    if (const int error = ca.load(process().door, *name); error != 0) return failed(error, -1);
    if (portguids == nullptr) return 0;
    if (ca->numports + 1 > max) return failed(ENOMEM);
    for (int number = 0; number <= ca->numports; ++number) {
      portguids[number] = ca.port(number) != nullptr ? ca.port(number)->port_guid : 0;
    }
    return ca->numports + 1;
  });
}

UMAD_EXPORT int umad_get_ca(const char* ca_name, umad_ca_t* ca) {
  return guarded([&](NotCancelled&) {
    const auto name = resolve(process().door, ca_name, nullptr);
    if (!name) return failed(ENODEV);
    const int error = load_ca(process().door, *name, *ca);
    return error != 0 ? failed(error) : 0;
  });
}

UMAD_EXPORT int umad_release_ca(umad_ca_t* ca) {
  if (ca == nullptr) return -ENODEV;
  release_ca(*ca);
  return 0;
}

UMAD_EXPORT int umad_get_port(const char* ca_name, int portnum, umad_port_t* port) {
  return guarded([&](NotCancelled&) {
    const auto name = resolve(process().door, ca_name, &portnum);
    if (!name) return failed(ENODEV);
    const int error = load_port(process().door, *name, portnum, *port);
    return error != 0 ? failed(error, -EIO) : 0;
  });
}

UMAD_EXPORT int umad_release_port(umad_port_t* port) {
  if (port == nullptr) return -ENODEV;
  release_port(*port);
  return 0;
}

UMAD_EXPORT umad_device_node* umad_get_ca_device_list() {
  umad_device_node* list = nullptr;
  guarded([&](NotCancelled&) {
    const auto names = adapter_names(process().door);
    if (!names) return failed(names.error());
    if (!names->empty()) tell_without_ipoib();
    list = make_device_list(*names);
    return 0;
  });
  return list;
}

UMAD_EXPORT void umad_free_ca_device_list(umad_device_node* head) {
  free_device_list(head);
}

UMAD_EXPORT int umad_sort_ca_device_list(umad_device_node** head, size_t size) {
  return guarded([&](NotCancelled&) { return sort_device_list(head, size); }, ENOMEM);
}

UMAD_EXPORT int umad_get_smi_gsi_pairs(umad_ca_pair* cas, size_t max) {
  return guarded(
      [&](NotCancelled&) {
        std::memset(static_cast<void*>(cas), 0, max * sizeof(CaPair));
        const auto pairs = smi_gsi_pairs(process().door, max);
        std::memcpy(static_cast<void*>(cas), pairs.data(), pairs.size() * sizeof(CaPair));
        return static_cast<int>(pairs.size());
      },
      -1);
}

UMAD_EXPORT int umad_get_smi_gsi_pair_by_ca_name(const char* devname, uint8_t portnum,
                                                 umad_ca_pair* ca_pair, unsigned enforce_smi) {
  if (ca_pair == nullptr) return -1;
  return guarded(
      [&](NotCancelled&) {
        const PairSearch search = find_pair(process().door, devname, portnum, enforce_smi != 0);
        std::memcpy(static_cast<void*>(ca_pair), &search.pair, sizeof search.pair);
        return search.is_found || !search.has_pairs ? 0 : failed(ENODEV);
      },
      -1);
}

}  // namespace paravane::umad_library
