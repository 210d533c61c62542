// LinkNews: receives the kernel's notifications about changes of interfaces, of their addresses and
// of their rules of traffic control in this network namespace. The notifications indicate only that
// something has changed, so the receiver must read the current state itself.
//
// LinkFilter: selects the interfaces whose changes matter.
//
// Needs no privileges. Never blocks. One thread.

#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::ethernet {

struct LinkFilter {
  std::set<std::string, std::less<>> names{};  // interfaces that have or get one of these names
  std::set<int> links{};   // indices of interfaces that match, as do their ports and their rules
  bool strangers = false;  // any interface, because a missing one may have appeared
  bool addresses = false;  // addresses of any interface, not only of `links`

  // Matches what `other` matches, too.
  void merge(const LinkFilter& other) {
    names.insert(other.names.begin(), other.names.end());
    links.insert(other.links.begin(), other.links.end());
    strangers = strangers || other.strangers;
    addresses = addresses || other.addresses;
  }

  friend bool operator==(const LinkFilter&, const LinkFilter&) = default;
};

class LinkNews {
 public:
  // Errors: kIo.
  static Result<LinkNews> open();

  // A descriptor that is readable when notifications have arrived. This object owns it.
  int fd() const { return socket_.get(); }

  // Reads the notifications that have arrived, up to a limit. True: one of them matches the filter,
  // or some were lost.
  bool take(const LinkFilter& filter);

 private:
  explicit LinkNews(UniqueFd socket) : socket_(std::move(socket)) {}

  UniqueFd socket_;
};

}  // namespace paravane::ethernet
