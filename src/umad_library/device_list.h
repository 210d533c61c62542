// The list of adapters that libibumad gives to programs: nodes of C, which the program sorts and
// frees through the library. Functions of their arguments; any thread.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "umad_library/umad_abi.h"

namespace paravane::umad_library {

// nullptr: there are no names, or (errno is ENOMEM) no memory; else errno is 0.
umad_device_node* make_device_list(const std::vector<std::string>& names);
void free_device_list(umad_device_node* head);

// By name. `size`: the nodes of the list, 0: not known. Gives 0 or an errno: EINVAL (the list has
// another size), ENOMEM.
int sort_device_list(umad_device_node** head, std::size_t size);

}  // namespace paravane::umad_library
