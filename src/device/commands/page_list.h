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
#include <optional>
#include <utility>

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

// Begins the list and does the first slice. The lists of most rings are complete then; nullopt: it
// is not, and `builder` goes on with it in finish_later().
Result<std::optional<PageList>> start_list(CommandScope& scope, const WantedPages& wanted,
                                           std::optional<PageListBuilder>& builder);
void finish_later(CommandScope& scope, PageListBuilder builder, WithPages then);

// Errors: those of PageList::from_directory() and of `then`, which is as WithPages.
template <typename Then>
Result<Progress> with_pages(CommandScope& scope, const WantedPages& wanted, Response& response,
                            Then then) {
  std::optional<PageListBuilder> builder;
  Result<std::optional<PageList>> list = start_list(scope, wanted, builder);
  if (!list) return std::unexpected(std::move(list).error());
  if (*list) return then(std::move(**list), response);
  finish_later(scope, std::move(*builder), std::move(then));
  return Progress::kLater;
}

}  // namespace paravane::device
