// Loans: the guest memory that RDMA adapters of the host access at the moment, for messages that
// are placed and read without a copy.
//
// All other code finds guest memory anew for each slice of work, so memory that is unmapped or
// deregistered is simply not found any more. An adapter goes on accessing what it was given.
// Therefore each such piece is a loan: before its memory, its memory region or its queue pair ends,
// the loan is recalled, and the adapter has let go of the memory when that returns.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <utility>
#include <vector>

namespace paravane {

class Loans {
 public:
  class Borrower {
   public:
    // Returns the loans of memory that the adapter has let go of already.
    virtual void settle() = 0;
    // Ends the access to all that was lent under this number, and returns those loans.
    virtual void recall(std::uint32_t number) = 0;

   protected:
    ~Borrower() = default;
  };

 private:
  struct Entry {
    Borrower* borrower;
    std::uint32_t number;
    std::uint32_t queue_pair;
    std::vector<std::uint32_t> keys;
  };

 public:
  // Until give_back().
  using Loan = std::list<Entry>::iterator;

  Loans() = default;
  ~Loans() { recall_all(); }
  Loans(const Loans&) = delete;
  Loans& operator=(const Loans&) = delete;

  // `number`: for recall(). `keys`: of the memory regions in which the memory was found.
  // Throws std::bad_alloc.
  Loan lend(Borrower& borrower, std::uint32_t number, std::uint32_t queue_pair,
            std::vector<std::uint32_t> keys) {
    return entries_.insert(entries_.end(), {.borrower = &borrower,
                                            .number = number,
                                            .queue_pair = queue_pair,
                                            .keys = std::move(keys)});
  }
  void give_back(Loan loan) { entries_.erase(loan); }

  bool empty() const { return entries_.empty(); }
  std::size_t count() const { return entries_.size(); }

  // ---- Before memory ends ---- Of bits 31:8 of the key, which name the region.
  void recall_key(std::uint32_t key) {
    recall([key](const Entry& entry) {
      for (const std::uint32_t one : entry.keys) {
        if (one >> 8 == key >> 8) return true;
      }
      return false;
    });
  }
  void recall_queue_pair(std::uint32_t number) {
    recall([number](const Entry& entry) { return entry.queue_pair == number; });
  }
  void recall_all() {
    recall([](const Entry&) { return true; });
  }

 private:
  // Each call of a borrower may return several loans.
  template <typename Matches>
  void recall(Matches matches) {
    if (auto entry = std::ranges::find_if(entries_, matches); entry != entries_.end()) {
      entry->borrower->settle();
    }
    for (;;) {
      const auto entry = std::ranges::find_if(entries_, matches);
      if (entry == entries_.end()) return;
      entry->borrower->recall(entry->number);
    }
  }

  std::list<Entry> entries_;
};

}  // namespace paravane
