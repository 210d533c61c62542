// with_pages(): builds the list of guest pages that a command refers to, and then calls a function
// with the list. The pages are those of a ring or of a memory region.
//
// A page directory can contain up to 262,144 pages, so its tables are copied in slices over several
// turns (time slices of the worker). Other VMs are therefore not delayed. Commands of other vCPUs
// can be executed between the slices, and can destroy objects. The function must therefore look up
// the objects of its command itself, and complete the command in one step.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <functional>

#include "device/command_scope.h"
#include "guestmem/page_list.h"

namespace paravane::device {

struct WantedPages {
  GuestAddr directory;
  std::uint64_t pages = 0;
  Rights need = Rights::kReadWrite;
};

// The function that is called with the complete list. `scope` outlives the command.
using WithPages = std::function<Result<Progress>(PageList pages, Response& response)>;

// Errors: those of PageList::from_directory() and of `then`.
Result<Progress> with_pages(CommandScope& scope, const WantedPages& wanted, Response& response,
                            WithPages then);

}  // namespace paravane::device
