// Commands that refer to guest pages: the rings of CQs, QPs and SRQs, and memory regions. A page
// directory may list 262,144 pages; its tables are copied in slices, a few per turn, so that they
// delay no other VM. What a command does with the list comes last, in one step, and only then are
// the objects of the command checked: commands from another vCPU may have run in between.

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

// What is done with the finished list; `scope` outlives the command.
using WithPages = std::function<Result<Progress>(PageList pages, Response& response)>;

// Errors: as PageList::from_directory(), and those of `then`.
Result<Progress> with_pages(CommandScope& scope, const WantedPages& wanted, Response& response,
                            WithPages then);

}  // namespace paravane::device
