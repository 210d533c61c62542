#include "guestmem/page_list_account.h"

namespace paravane {

bool PageListCharge::add(std::uint64_t bytes, std::uint64_t quota) {
  const std::uint64_t used = account_->used_;
  if (used > quota || bytes > quota - used) return false;
  account_->used_ += bytes;
  bytes_ += bytes;
  return true;
}

void PageListCharge::give_back() {
  if (account_ != nullptr) account_->used_ -= std::exchange(bytes_, 0);
}

}  // namespace paravane
