// PageListAccount: the number of bytes that the page lists of one guest occupy in the daemon. A
// guest decides how scattered the pages in a list are. Without a limit, a guest could register the
// same few pages repeatedly, and each registered gigabyte would cost the daemon 10 MB.
//
// PageListCharge: the share of one list in that account. The list owns its charge, and releases it
// when the list is destroyed. The account must outlive all charges.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <utility>

namespace paravane {

class PageListAccount {
 public:
  std::uint64_t used() const { return used_; }

 private:
  friend class PageListCharge;
  std::uint64_t used_ = 0;
};

class PageListCharge {
 public:
  PageListCharge() = default;
  explicit PageListCharge(PageListAccount& account) : account_(&account) {}
  ~PageListCharge() { give_back(); }
  PageListCharge(PageListCharge&& other) noexcept
      : account_(other.account_), bytes_(std::exchange(other.bytes_, 0)) {}
  PageListCharge& operator=(PageListCharge&& other) noexcept {
    if (this == &other) return *this;
    give_back();
    account_ = other.account_;
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  PageListCharge(const PageListCharge&) = delete;
  PageListCharge& operator=(const PageListCharge&) = delete;

  // False: the account would exceed `quota`, and nothing was charged. If the account already
  // exceeds the quota because the quota has decreased, nothing more can be charged. REQUIRES: the
  // charge was created with an account.
  bool add(std::uint64_t bytes, std::uint64_t quota);

 private:
  void give_back();

  PageListAccount* account_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace paravane
