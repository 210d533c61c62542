// LinkNews: kernel notifications about interfaces and addresses in this network namespace. They
// say that something changed, never what: the receiver checks for itself. LinkFilter: selects the
// relevant interfaces.
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
  std::set<int> links{};                       // these, whatever they are called, and their ports
  bool strangers = false;                      // any interface: one that is missed may be it
  bool addresses = false;                      // of any interface, not of `links` alone

  friend bool operator==(const LinkFilter&, const LinkFilter&) = default;
};

class LinkNews {
 public:
  // Errors: kIo.
  static Result<LinkNews> open();

  // Readable when there are some. Ours.
  int fd() const { return socket_.get(); }

  // Takes what has come, up to a bound; true: some of it matters, or some was lost.
  bool take(const LinkFilter& filter);

 private:
  explicit LinkNews(UniqueFd socket) : socket_(std::move(socket)) {}

  UniqueFd socket_;
};

}  // namespace paravane::ethernet
