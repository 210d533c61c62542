// PageListAccount: how many bytes the page lists of one guest use. A guest decides how scattered
// its lists are: without a limit, a few of its pages, listed again and again, would cost the
// daemon 10 MB for each gigabyte registered.
//
// PageListCharge: the share of one list in that account. The list owns the charge and releases it
// when the list is destroyed, whichever object holds the list by then. The account outlives all
// charges.
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

  // False: the account would hold more than `quota`, and has taken nothing. An account
  // that is above its quota already, because the quota fell, takes nothing more.
  // REQUIRES: made with an account.
  bool add(std::uint64_t bytes, std::uint64_t quota);

 private:
  void give_back();

  PageListAccount* account_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace paravane
